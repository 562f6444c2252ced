//! The records of a data or index page, slot by slot.

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::{Compression, Level};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::compressed::{CdKind, CdRecord, CiView};
use extentdb_format::record::lob::LobRecord;
use extentdb_format::record::status::{HAS_NULL_BITMAP, HAS_VARIABLE, HAS_VERSION_TAG};
use extentdb_format::record::{Record, RecordKind};

use super::columns::{AnyRecord, ColumnShown, ShownValue, decode};
use super::faults::PageFault;
use super::names::Owner;

/// A record of a page.
pub(super) struct RecordShown {
    pub(super) slot: u16,
    /// Its first byte on the page; 0 for an empty slot.
    pub(super) offset: usize,
    /// Its bytes, as far as they can be told.
    pub(super) bytes: Vec<u8>,
    /// What it is; `None` for an empty slot.
    pub(super) kind: Option<&'static str>,
    /// What its status bits say.
    pub(super) attributes: Vec<&'static str>,
    /// The child page of an upper index level.
    pub(super) child: Option<PageId>,
    /// Where a stub points, or where a forwarded row came from.
    pub(super) other_end: Option<(&'static str, Rid)>,
    /// Its columns; `None` when they were not asked for or the catalog does not know them.
    pub(super) columns: Option<Vec<ColumnShown>>,
}

/// All slots of a page. With an owner, the columns of its rows as well.
pub(super) fn of_page(page: &PageBytes, owner: Option<&Owner<'_>>) -> Vec<RecordShown> {
    let view = PageRef::new(page);
    let owner = owner.filter(|owner| owner.has_rows());
    let ci = CiView::of(page);
    (0u16..)
        .zip(view.slot_offsets())
        .map(|(slot, offset)| of_slot(view, slot, offset, ci, owner))
        .collect()
}

/// Values that are none: the page lies, or the catalog does.
pub(super) fn faults(records: &[RecordShown]) -> Vec<PageFault> {
    let mut faults = Vec::new();
    for record in records {
        for column in record.columns.iter().flatten() {
            if let ShownValue::Broken(why, _) = &column.value {
                let at = column.offset.map(|offset| record.offset + offset);
                faults.push(PageFault::of_slot(
                    record.slot,
                    at,
                    format!("column {}: {why}", column.name),
                ));
            }
        }
    }
    faults
}

fn of_slot(
    view: PageRef<'_>,
    slot: u16,
    offset: u16,
    ci: Option<CiView<'_>>,
    owner: Option<&Owner<'_>>,
) -> RecordShown {
    let empty = RecordShown {
        slot,
        offset: usize::from(offset),
        bytes: Vec::new(),
        kind: None,
        attributes: Vec::new(),
        child: None,
        other_end: None,
        columns: None,
    };
    let Some(bytes) = view.record_bytes(slot).filter(|bytes| !bytes.is_empty()) else {
        return empty;
    };
    match view.header().kind() {
        PageType::Data | PageType::Index
            if bytes.first().is_some_and(|status| CdRecord::is_one(*status)) =>
        {
            compressed(view.header(), bytes, ci, owner, empty)
        }
        PageType::Data | PageType::Index => plain(view.header(), bytes, owner, empty),
        PageType::TextMix | PageType::TextTree => {
            let record = LobRecord::parse(bytes);
            RecordShown {
                bytes: record.bytes().to_vec(),
                kind: Some(RecordKind::Blob.name()),
                ..empty
            }
        }
        PageType::FileHeader => plain_parts(Record::parse_data(bytes), empty),
        _ => system(bytes, empty),
    }
}

fn plain(
    header: &PageHeader,
    bytes: &[u8],
    owner: Option<&Owner<'_>>,
    empty: RecordShown,
) -> RecordShown {
    let record = match header.kind() {
        PageType::Index => Record::parse_index(bytes, header.fixed_len.get()),
        _ => Record::parse_data(bytes),
    };
    let level = level_of(header, owner);
    let mut shown = plain_parts(record, empty);
    shown.child = if level == Level::Interior { record.child() } else { None };
    if record.kind() != RecordKind::ForwardingStub {
        shown.columns = owner.map(|owner| decode(owner, AnyRecord::Plain(record), bytes, level));
    }
    // The first entry of an upper level stands for everything before the second: what lies in its
    // key means nothing.
    if shown.slot == 0 && level == Level::Interior && header.prev().is_none() {
        shown.columns.iter_mut().flatten().for_each(|column| column.value = ShownValue::Null);
    }
    shown
}

fn plain_parts(record: Record<'_>, empty: RecordShown) -> RecordShown {
    let attributes = [
        (HAS_NULL_BITMAP, "NULL_BITMAP"),
        (HAS_VARIABLE, "VARIABLE_COLUMNS"),
        (HAS_VERSION_TAG, "VERSIONING_INFO"),
    ];
    let set = |(bit, name): (u8, &'static str)| (record.status_a() & bit != 0).then_some(name);
    let to = record.stub_target().map(|rid| ("Forwarding to", rid));
    RecordShown {
        bytes: record.bytes().to_vec(),
        kind: Some(record.kind().name()),
        attributes: attributes.into_iter().filter_map(set).collect(),
        other_end: to.or_else(|| record.back_pointer().map(|rid| ("Forwarded from", rid))),
        ..empty
    }
}

/// Leaf or upper level. The page above the leaves of a clustered index may say level 0: its type
/// tells.
fn level_of(header: &PageHeader, owner: Option<&Owner<'_>>) -> Level {
    let is_clustered = owner.is_some_and(|owner| owner.rowset.index.0 <= 1);
    let is_interior = header.kind() == PageType::Index && (header.level > 0 || is_clustered);
    if is_interior { Level::Interior } else { Level::Leaf }
}

fn compressed(
    header: &PageHeader,
    bytes: &[u8],
    ci: Option<CiView<'_>>,
    owner: Option<&Owner<'_>>,
    empty: RecordShown,
) -> RecordShown {
    let record = CdRecord::parse(bytes);
    let is_leaf = level_of(header, owner) == Level::Leaf;
    // How the columns of upper levels are stored is not certain.
    let owner =
        owner.filter(|owner| is_leaf && owner.rowset.layout.compression != Compression::None);
    let is_stub = record.kind() == CdKind::ForwardingStub;
    RecordShown {
        bytes: bytes.get(..record.len()).unwrap_or_default().to_vec(),
        kind: Some(compressed_kind(record.kind())),
        attributes: vec!["COMPRESSED"],
        child: if is_leaf { None } else { record.child() },
        other_end: record.stub_target().map(|rid| ("Forwarding to", rid)),
        columns: owner
            .filter(|_| !is_stub)
            .map(|owner| decode(owner, AnyRecord::Compressed(record, ci), bytes, Level::Leaf)),
        ..empty
    }
}

fn compressed_kind(kind: CdKind) -> &'static str {
    match kind {
        CdKind::Primary => "PRIMARY_RECORD",
        CdKind::GhostEmpty => "GHOST_EMPTY",
        CdKind::ForwardingStub => "FORWARDING_STUB",
        CdKind::GhostData => "GHOST_DATA_RECORD",
        CdKind::Forwarded => "FORWARDED_RECORD",
        CdKind::GhostForwarded => "GHOST_FORWARDED_RECORD",
        CdKind::Index => "INDEX_RECORD",
        CdKind::GhostIndex => "GHOST_INDEX_RECORD",
    }
}

/// Records of maps and of the boot page begin with two status bytes and their length.
fn system(bytes: &[u8], empty: RecordShown) -> RecordShown {
    let stored = bytes.get(2..4).and_then(|len| len.try_into().ok()).map_or(0, u16::from_le_bytes);
    let own = bytes.get(..usize::from(stored)).unwrap_or(bytes);
    RecordShown { bytes: own.to_vec(), kind: Some("SYSTEM_RECORD"), ..empty }
}
