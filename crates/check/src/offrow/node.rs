//! Nodes of off-row values: the records of text pages.
//!
//! ```text
//! row column                    text page of the table's LOB or row-overflow unit
//!
//! text pointer ── text id ───>  root   kind 5 (4 in 2000)   level 1 ─┐   kind 0: small root, the value itself
//! root in row  ── text id, size of each part, level ──┐              │   kind 8: an empty value
//!                                                     ├─ size, id ─> inner  kind 2  level 0 ─┐
//!                                                     └─ size, id ─> data   kind 3  <────────┘
//! ```
//!
//! Every node is referenced exactly once. All nodes of a value have its text id; the low 16 bits of
//! all ids are 0. A link says where its part of the value ends, so the part's size is known from
//! the link before. Level 0 refers to data.
//!
//! A page of type 4 belongs to one value and holds inner nodes, and PFS calls it full; all other
//! nodes lie on pages of type 3. The samples are few and descriptions differ, so that a node is
//! called misplaced only when something else says so, too: for inner nodes, PFS calls their page
//! full although it is not; for others, their page holds several values.
//!
//! Kinds 1, 6 and 7 are older or larger roots without a known form: what they refer to is unknown.
//! Roots they are all the same: one that a link refers to, which says how large its part is, has
//! lost its kind (8962).

use extentdb_base::Rid;
use extentdb_base::size::PAGE_BODY_BYTES;
use extentdb_format::allocation::pfs::{Fullness, PfsByte};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::RecordKind;
use extentdb_format::record::lob::{LobContent, LobFault, LobNode, LobRecord};
use extentdb_format::record::row::VERSION_TAG_BYTES;
use extentdb_format::record::status::HAS_VERSION_TAG;

use crate::sound::{Entry, SoundPage};
use crate::unit::UnitIndex;

/// Kinds by their numbers, as far as they are asked for.
mod kind {
    pub(super) const OLD_ROOT: u16 = 1;
    pub(super) const INNER: u16 = 2;
    pub(super) const SUPER_ROOT: u16 = 6;
    pub(super) const UNUSED: u16 = 7;
}

/// What a node is, as far as relations go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeRole {
    /// Text pointers lead here; no size is stated.
    Root,
    /// Between a root and the data.
    Inner,
    /// A part of the value.
    Data,
    /// The content contradicts the record's length or itself: what it refers to is unknown.
    Broken,
    /// There is no such kind: 8962.
    NoKind,
    /// A kind whose form is not known.
    Older,
}

/// A node that is not a ghost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) rid: Rid,
    pub(super) unit: UnitIndex,
    pub(super) id: u64,
    pub(super) kind: u16,
    pub(super) role: NodeRole,
    /// Of nodes with links.
    pub(super) level: u16,
    /// Bytes of its part of the value.
    pub(super) size: u64,
    pub(super) page_type: u8,
    /// It cannot be placed on a page of this type: 8963.
    pub(super) is_misplaced: bool,
}

/// The nodes of a text page with their links, ghosts left out.
pub(super) fn nodes<'a>(
    page: &SoundPage<'a>,
    state: Option<PfsByte>,
) -> impl Iterator<Item = (Node, Option<LobNode<'a>>)> + use<'a> {
    let header = page.header();
    let tag_bytes = if counts_tags(page) { VERSION_TAG_BYTES as u64 } else { 0 };
    let is_wrong_type = match header.kind() {
        PageType::TextMix => state.is_some_and(|state| contradicts(state, header)),
        _ => is_shared(page),
    };
    let id = page.id;
    let unit = page.index;
    page.entries().filter(|entry| entry.kind() == RecordKind::Blob).map(move |entry| {
        let record = LobRecord::parse(entry.bytes);
        let (role, level, size) = describe(&record, &entry, tag_bytes);
        let is_inner = record.kind() == kind::INNER;
        let is_on_mix = header.kind() == PageType::TextMix;
        let node = Node {
            rid: Rid::new(id, entry.slot),
            unit,
            id: record.blob_id(),
            kind: record.kind(),
            role,
            level,
            size,
            page_type: header.page_type,
            is_misplaced: is_wrong_type && is_inner == is_on_mix && role != NodeRole::Older,
        };
        let links = match record.content() {
            LobContent::Links(links) if role != NodeRole::Broken => Some(links),
            _ => None,
        };
        (node, links)
    })
}

/// Role, level and size.
fn describe(record: &LobRecord<'_>, entry: &Entry<'_>, tag_bytes: u64) -> (NodeRole, u16, u64) {
    let is_tagged = entry.bytes.first().is_some_and(|status| status & HAS_VERSION_TAG != 0);
    let tag_bytes = if is_tagged { tag_bytes } else { 0 };
    match (record.fault(), record.content(), record.kind()) {
        (_, _, kind::OLD_ROOT | kind::SUPER_ROOT | kind::UNUSED) => (NodeRole::Older, 0, 0),
        (Some(LobFault::Kind(_)), _, _) => (NodeRole::NoKind, 0, 0),
        (Some(_), _, _) => (NodeRole::Broken, 0, 0),
        (None, LobContent::Links(links), _) if !ascends(&links) => {
            (NodeRole::Broken, links.level, 0)
        }
        (None, LobContent::Data(data), _) => {
            (NodeRole::Data, 0, (data.len() as u64).saturating_sub(tag_bytes))
        }
        (None, LobContent::SmallRoot(data), _) => (NodeRole::Root, 0, data.len() as u64),
        (None, LobContent::Links(links), number) => {
            let size = links
                .len()
                .checked_sub(1)
                .and_then(|last| links.link(last))
                .map_or(0, |link| link.end);
            let role = if number == kind::INNER { NodeRole::Inner } else { NodeRole::Root };
            (role, links.level, size)
        }
        (None, LobContent::Null, _) => (NodeRole::Root, 0, 0),
        (None, LobContent::Unknown, _) => (NodeRole::Broken, 0, 0),
    }
}

/// True when the parts of a value end back to back: every link says where its part does.
fn ascends(links: &LobNode<'_>) -> bool {
    links.links().map(|link| link.end).is_sorted()
}

/// True when the length of tagged fragments counts the tag: then the records fill the page to the
/// byte without it.
fn counts_tags(page: &SoundPage<'_>) -> bool {
    let is_tagged =
        |entry: &Entry<'_>| entry.bytes.first().is_some_and(|s| s & HAS_VERSION_TAG != 0);
    if !page.entries().any(|entry| is_tagged(&entry)) {
        return false;
    }
    let used: usize = page.entries().map(|entry| entry.bytes.len()).sum();
    let header = page.header();
    let slots = 2 * usize::from(header.slot_count.get());
    used + slots + usize::from(header.free_bytes.get()) == PAGE_BODY_BYTES
}

/// True when PFS calls a mix page full, as it does with tree pages, although much of it is free.
fn contradicts(state: PfsByte, header: &PageHeader) -> bool {
    let is_full = state.fullness() == Some(Fullness::UpTo100);
    is_full && Fullness::of_free_bytes(header.free_bytes.get()) < Fullness::UpTo95
}

/// True for a page with nodes of several values.
fn is_shared(page: &SoundPage<'_>) -> bool {
    let mut ids = page.entries().map(|entry| LobRecord::parse(entry.bytes).blob_id());
    let first = ids.next();
    ids.any(|id| Some(id) != first)
}

/// True for a mix page that holds inner nodes only: a tree page whose type changed. PFS calls tree
/// pages full, so that its state contradicts a mix page; that is said of the nodes (8963), not of
/// PFS.
pub(crate) fn is_tree_page_in_disguise(page: PageRef<'_>) -> bool {
    let mut records = page.records().map(|(_, bytes)| LobRecord::parse(bytes).kind()).peekable();
    page.header().kind() == PageType::TextMix
        && records.peek().is_some()
        && records.all(|it| it == kind::INNER)
}
