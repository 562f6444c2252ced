//! Group 5: values off the row.
//!
//! ```text
//! row: pointer or inline root -> node -> … -> data  a Site is a row with such a column, a Link one
//!                                                   step down
//! ```

use std::ops::Range;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::RecordKind;
use extentdb_format::record::lob::{LobContent, LobPointer, LobRecord};
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates, reseal};
use crate::edit::Edit;
use crate::fault::{Fault, Owner};
use crate::kind::header::changed;
use crate::kind::link::free_page;
use crate::kind::raw::{header_of, is_lob_unit};
use crate::row::{key_text, null_bit, pointer_span, replace, with_var};

/// Steps down from a row.
const DEPTH_MAX: usize = 16;
/// The messages about a damaged value, on the row that owns it.
const OWNED: u32 = 8929;

/// A row with a value off it.
struct Site<'t> {
    found: CandidatePage,
    slot: u16,
    column: &'t PhysicalColumn,
    /// The pointer or inline root on the row's page.
    range: Range<usize>,
    is_inline: bool,
    is_overflow: bool,
    /// The first node.
    links: Vec<Rid>,
}

/// A reference to a node, and where it is written.
#[derive(Clone, Copy, Debug)]
struct Link {
    page: PageId,
    /// The 8 bytes of the slot pointer on that page.
    rid_at: usize,
    /// The recorded end, and how many bytes it has; none in a text pointer.
    end: Option<(usize, usize)>,
    target: Rid,
}

impl Site<'_> {
    /// The references stored in the row.
    fn own_links(&self) -> Vec<Link> {
        let at = self.range.start;
        let link = |(index, target): (usize, &Rid)| {
            if self.is_inline {
                let entry = at + 12 + 12 * index;
                Link {
                    page: self.found.id,
                    rid_at: entry + 4,
                    end: Some((entry, 4)),
                    target: *target,
                }
            } else {
                Link {
                    page: self.found.id,
                    rid_at: at + 8,
                    end: None,
                    target: *target,
                }
            }
        };
        self.links.iter().enumerate().map(link).collect()
    }

    fn fault(&self, db: &Candidates<'_>, edit: Edit<'_>, expected: &[u32]) -> Option<Fault> {
        let fault = edit.fault(&self.found, expected)?;
        Some(fault.of_key(key_text(db, &self.found, self.slot)).at_slot(self.slot))
    }
}

/// Offset of a LOB record on its page, with the record.
fn node(page: &PageBuf, rid: Rid) -> Option<(usize, LobRecord<'_>)> {
    let view = PageRef::new(page);
    let at = usize::from(view.slot_offset(rid.slot.0)?);
    let record = LobRecord::parse(view.record_bytes(rid.slot.0)?);
    record.fault().is_none().then_some((at, record))
}

/// The references that a node holds.
fn links_of(db: &Candidates<'_>, rid: Rid) -> Option<Vec<Link>> {
    let page = db.page(rid.page)?;
    let (at, record) = node(&page, rid)?;
    let LobContent::Links(links) = record.content() else { return None };
    let (first, step, wide) = if links.internal { (20, 16, 8) } else { (24, 12, 4) };
    let link = |(index, link): (usize, extentdb_format::record::lob::LobLink)| {
        let entry = at + first + step * index;
        Link {
            page: rid.page,
            rid_at: entry + wide,
            end: Some((entry, wide)),
            target: link.target,
        }
    };
    Some(links.links().enumerate().map(link).collect())
}

/// A row with a value off it, for which `choose` returns a change.
fn site<'t, T>(
    db: &'t Candidates<'_>,
    mut choose: impl FnMut(&Site<'t>) -> Option<T>,
) -> Option<(Site<'t>, T)> {
    let pages = db.base_pages();
    let (_, _, chosen) = db.pick_row(&pages, |found, slot, record| {
        let columns = &db.catalog.rowsets.get(&found.partition.rowset)?.layout.columns;
        columns.iter().filter(|column| !column.is_dropped()).find_map(|column| {
            let Cell::Complex(bytes) = cell(record, column, Level::Leaf).ok()? else { return None };
            let range = pointer_span(&found.page, slot, column)?;
            let (is_inline, is_overflow, links) =
                match LobPointer::parse(&bytes, column.ty?.may_have_text_pointer()) {
                    LobPointer::Text { root, .. } => (false, false, vec![root]),
                    LobPointer::Inline(root) => {
                        (true, root.is_overflow(), root.links().map(|it| it.target).collect())
                    }
                    _ => return None,
                };
            let is_sound = links
                .iter()
                .all(|rid| db.page(rid.page).is_some_and(|page| node(&page, *rid).is_some()));
            let found =
                db.found(found.id, &found.partition).filter(|_| is_sound && !links.is_empty())?;
            let site = Site { found, slot, column, range, is_inline, is_overflow, links };
            let chosen = choose(&site)?;
            Some((site, chosen))
        })
    })?;
    Some(chosen)
}

/// A data node below a row, with the reference to it.
fn data_link(db: &Candidates<'_>, site: &Site<'_>) -> Option<Link> {
    let mut link = *site.own_links().first()?;
    for _ in 0..DEPTH_MAX {
        match links_of(db, link.target) {
            Some(links) => link = *links.first()?,
            None => return Some(link),
        }
    }
    None
}

/// The references of one node with two children at least: of an inner node if there is one, else of
/// the row.
fn siblings(db: &Candidates<'_>, site: &Site<'_>) -> Option<Vec<Link>> {
    let mut links = site.own_links();
    for _ in 0..DEPTH_MAX {
        match links_of(db, links.first()?.target) {
            Some(below) => links = below,
            None => break,
        }
    }
    (links.len() >= 2).then_some(links)
}

/// A LOB page that a row refers to, with its owner.
pub(crate) fn lob_pages(
    db: &Candidates<'_>,
    suits: impl Fn(&PageHeader) -> bool,
) -> Option<(PageId, Owner)> {
    let (_, (id, owner)) = site(db, |site| {
        let mut links = site.own_links();
        for _ in 0..DEPTH_MAX {
            let id = links.first()?.target.page;
            let header = header_of(db, id)?;
            if suits(&header) && is_lob_unit(db, header.alloc_unit()) {
                return Some((id, owner_of(site, &header)));
            }
            links = links_of(db, links.first()?.target)?;
        }
        None
    })?;
    Some((id, owner))
}

fn owner_of(site: &Site<'_>, header: &PageHeader) -> Owner {
    Owner {
        unit: Some(header.alloc_unit()),
        ..Owner::of(&site.found.partition)
    }
}

/// A change of a LOB page; the fault is about the node.
fn on_node(
    db: &Candidates<'_>,
    site: &Site<'_>,
    rid: Rid,
    change: impl FnOnce(&mut PageBuf, usize) -> Option<()>,
    expected: &[u32],
) -> Option<Fault> {
    let mut page = db.page(rid.page)?;
    let owner = owner_of(site, PageHeader::of(&page));
    let (at, _) = node(&page, rid)?;
    change(&mut page, at)?;
    reseal(db.image, rid.page, &mut page)?;
    Some(Fault::new(rid.page, owner, vec![(rid.page, page)], expected).at_slot(rid.slot.0))
}

fn put(page: &mut PageBuf, at: usize, bytes: &[u8]) -> Option<()> {
    page.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    Some(())
}

/// Row 92: a pointer in a row refers to a slot that does not exist.
pub(crate) fn slot_unused(db: &Candidates<'_>) -> Option<Fault> {
    let (site, (link, slots)) = site(db, |site| {
        let link = *site.own_links().first()?;
        Some((link, PageRef::new(&*db.page(link.target.page)?).slot_count()))
    })?;
    let unused = Rid::new(link.target.page, slots + 5);
    let mut edit = Edit::new(db);
    put(edit.page(link.page)?, link.rid_at, &unused.to_bytes())?;
    site.fault(db, edit, &[8965, 8964, OWNED])
}

/// Row 93: the id of the value in the row.
pub(crate) fn text_id(db: &Candidates<'_>) -> Option<Fault> {
    let (site, ()) = site(db, |_| Some(()))?;
    let at = site.range.start + if site.is_inline { 8 } else { 4 };
    let fault = changed(
        db,
        &site.found,
        |page| {
            *page.get_mut(at)? ^= 0x40;
            Some(())
        },
        &[8961, OWNED],
    )?;
    Some(
        fault.permit(&[8964, 8965]).of_key(key_text(db, &site.found, site.slot)).at_slot(site.slot),
    )
}

/// Row 94: the id of the value in a node.
pub(crate) fn node_text_id(db: &Candidates<'_>) -> Option<Fault> {
    let (site, link) = site(db, |site| data_link(db, site))?;
    let flip = |page: &mut PageBuf, at: usize| {
        *page.get_mut(at + 6)? ^= 0x40;
        Some(())
    };
    on_node(db, &site, link.target, flip, &[8961, OWNED]).map(|fault| fault.permit(&[8964, 8965]))
}

/// Row 95: a node of a value has a type that does not exist.
pub(crate) fn node_type(db: &Candidates<'_>) -> Option<Fault> {
    let (site, link) = site(db, |site| data_link(db, site))?;
    let set = |page: &mut PageBuf, at: usize| put(page, at + 12, &9u16.to_le_bytes());
    on_node(db, &site, link.target, set, &[8962, OWNED]).map(|fault| fault.permit(&[8961]))
}

/// Row 97: two references to one child, none to its neighbour.
pub(crate) fn children_equal(db: &Candidates<'_>) -> Option<Fault> {
    let (site, links) = site(db, |site| siblings(db, site))?;
    let [first, second, ..] = links[..] else { return None };
    let mut edit = Edit::new(db);
    put(edit.page(second.page)?, second.rid_at, &first.target.to_bytes())?;
    let fault = site.fault(db, edit, &[8974, 8964, OWNED])?;
    Some(inner(site, fault, second).permit(&[8961]))
}

/// Row 98: the recorded end of the last part is one byte too high.
pub(crate) fn child_size(db: &Candidates<'_>) -> Option<Fault> {
    let (site, (link, (at, bytes))) = site(db, |site| {
        let link = *siblings(db, site).or_else(|| Some(site.own_links()))?.last()?;
        Some((link, link.end?))
    })?;
    let mut edit = Edit::new(db);
    let end = edit.page(link.page)?.get_mut(at..at + bytes)?;
    let mut number = [0; 8];
    number.get_mut(..bytes)?.copy_from_slice(end);
    let longer = u64::from_le_bytes(number) + 1;
    end.copy_from_slice(longer.to_le_bytes().get(..bytes)?);
    let fault = site.fault(db, edit, &[8961, OWNED])?;
    Some(inner(site, fault, link))
}

/// The fault is in an inner node and not in the row.
fn inner(site: Site<'_>, fault: Fault, link: Link) -> Fault {
    if link.page == site.found.id { fault } else { Fault { slot: None, ..fault.about(link.page) } }
}

/// Row 99: the column becomes NULL, with no bytes; its value has no owner.
pub(crate) fn value_null(db: &Candidates<'_>) -> Option<Fault> {
    let (site, record) = site(db, |site| {
        let column = site.column;
        let is_nullable = db.table(&site.found.partition)?.column(column.column_id)?.nullable;
        let record = site.found.record(site.slot)?;
        let index = column
            .leaf
            .offset
            .checked_neg()?
            .checked_sub(1)
            .and_then(|index| u16::try_from(index).ok())?;
        (is_nullable && !db.is_indexed(&site.found.partition, column.column_id))
            .then(|| with_var(&record, index, &[], false))?
    })?;
    let mut edit = Edit::new(db);
    let page = edit.page(site.found.id)?;
    replace(page, site.slot, &record)?;
    let (at, mask) = null_bit(page, site.slot, site.column)?;
    *page.get_mut(at)? |= mask;
    edit.sync_fullness(site.found.id)?;
    site.fault(db, edit, &[8964])
}

/// Row 100: a row-overflow pointer leads to a free page.
pub(crate) fn overflow_free_page(db: &Candidates<'_>) -> Option<Fault> {
    let (site, link) =
        site(db, |site| site.is_overflow.then(|| site.own_links().first().copied())?)?;
    let nowhere = Rid::new(free_page(db)?, 0);
    let mut edit = Edit::new(db);
    put(edit.page(link.page)?, link.rid_at, &nowhere.to_bytes())?;
    site.fault(db, edit, &[8965, 8964, OWNED])
}

/// Row 101: a node of a value became a ghost.
pub(crate) fn node_ghost(db: &Candidates<'_>) -> Option<Fault> {
    let (site, link) = site(db, |site| data_link(db, site))?;
    let ghost = |page: &mut PageBuf, at: usize| put(page, at, &[RecordKind::GhostData.bits()]);
    on_node(db, &site, link.target, ghost, &[8965, OWNED]).map(|fault| fault.permit(&[8927]))
}

/// Row 102: a check cannot know what a value should be.
pub(crate) fn payload(db: &Candidates<'_>) -> Option<Fault> {
    let (site, (link, len)) = site(db, |site| {
        let is_bytes = matches!(
            site.column.ty?,
            SqlType::VarChar { .. }
                | SqlType::VarBinary { .. }
                | SqlType::Text { .. }
                | SqlType::Image
        );
        let link = data_link(db, site).filter(|_| is_bytes)?;
        let page = db.page(link.target.page)?;
        let (_, record) = node(&page, link.target)?;
        matches!(record.content(), LobContent::Data(data) if !data.is_empty())
            .then(|| (link, record.len()))
    })?;
    let first = extentdb_format::record::lob::HEADER_BYTES;
    let at = first + db.below(len.checked_sub(first)? as u64) as usize;
    let flip = |page: &mut PageBuf, start: usize| {
        *page.get_mut(start + at)? ^= 1;
        Some(())
    };
    on_node(db, &site, link.target, flip, &[])
}
