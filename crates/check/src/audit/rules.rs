//! What may stand on a page, by the structure it belongs to.

use extentdb_base::AllocUnitId;
use extentdb_catalog::layout::Compression;
use extentdb_format::page::edit::DATA_FOOTPRINT_MIN;
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::record::status::RESERVED_BITS;
use extentdb_format::record::{Record, RecordKind};

use crate::unit::{Structure, Unit};

/// Kinds of records, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RecordKinds(u8);

impl RecordKinds {
    const fn of(kinds: &[RecordKind]) -> RecordKinds {
        let mut bits = 0;
        let mut rest = kinds;
        while let [kind, others @ ..] = rest {
            bits |= 1 << (*kind as u8);
            rest = others;
        }
        RecordKinds(bits)
    }

    /// The status of a record, when its reserved bits are 0 and its kind is one of these.
    #[inline(always)]
    pub(super) fn sound_status(self, status: u8) -> Option<u8> {
        (status & RESERVED_BITS == 0 && self.0 >> (status >> 1 & 7) & 1 != 0).then_some(status)
    }

    #[inline]
    pub(super) const fn has(self, kind: RecordKind) -> bool {
        self.0 >> (kind as u8) & 1 != 0
    }
}

/// Rows in a heap; a slot may hold a stub, or nothing.
const HEAP: RecordKinds = RecordKinds::of(&[
    RecordKind::Primary,
    RecordKind::Forwarded,
    RecordKind::ForwardingStub,
    RecordKind::GhostData,
    RecordKind::GhostVersion,
]);
/// Rows in a clustered index are never forwarded.
const CLUSTERED: RecordKinds =
    RecordKinds::of(&[RecordKind::Primary, RecordKind::GhostData, RecordKind::GhostVersion]);
const INDEX_LEAF: RecordKinds =
    RecordKinds::of(&[RecordKind::Index, RecordKind::GhostIndex, RecordKind::GhostVersion]);
const INDEX_UPPER: RecordKinds = RecordKinds::of(&[RecordKind::Index, RecordKind::GhostIndex]);
/// What no unit is known of.
const ANY_DATA: RecordKinds = HEAP;

/// The rules for the records of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) form: Form,
    pub(super) kinds: RecordKinds,
    /// Slots may be empty: their numbers are still taken.
    pub(super) may_have_empty_slots: bool,
    /// Most columns a row can have; `u16::MAX` when not known.
    pub(super) columns_max: u16,
    /// The fixed part of every row ends here or later; 0 when rows may be older than the page's
    /// `pminlen`.
    pub(super) fixed_end_min: u16,
    /// Minimum bytes of a record …
    pub(super) footprint_min: usize,
    /// … rounded up so that these bits are 0.
    pub(super) footprint_mask: usize,
    /// Rows of a leaf are counted.
    pub(super) is_leaf: bool,
    /// Records may be compressed: their unit says so, or is not known.
    pub(super) is_compressed: bool,
}

/// How records of a page are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Data,
    Index,
    Text,
}

/// The data page of sysfiles1 rounds its 789-byte rows up to 792 (observed in every file); nothing
/// else does.
pub(super) const SYSFILES1: AllocUnitId = AllocUnitId::SYSFILES1;

impl Rules {
    /// The rules for a page of a unit; `None` when a page of this type has no place in it. `named`
    /// is the unit of the page's header, which counts when the catalog does not know it.
    pub(super) fn of(page: PageRef<'_>, unit: Option<&Unit>, named: AllocUnitId) -> Option<Rules> {
        let header = page.header();
        let kind = header.kind();
        let structure = unit.map(|unit| unit.structure);
        let form = match kind {
            PageType::Data => Form::Data,
            PageType::Index => Form::Index,
            PageType::TextMix | PageType::TextTree => Form::Text,
            _ => return None,
        };
        let is_legal = match structure {
            Some(Structure::Heap) => form == Form::Data,
            Some(Structure::Clustered) => {
                form == Form::Data || (form == Form::Index && !holds_rows(page))
            }
            Some(Structure::Nonclustered) => form == Form::Index,
            Some(Structure::Text) => form == Form::Text,
            Some(Structure::Other) | None => true,
        };
        // An index page of a clustered index is never a leaf, even at level 0: see `tree::links`.
        let is_leaf = match form {
            Form::Data => true,
            Form::Index => structure != Some(Structure::Clustered) && header.level == 0,
            Form::Text => false,
        };
        let kinds = match (form, structure) {
            (Form::Data, Some(Structure::Clustered)) => CLUSTERED,
            (Form::Data, Some(Structure::Heap)) => HEAP,
            (Form::Data, _) => ANY_DATA,
            (Form::Index, _) if is_leaf => INDEX_LEAF,
            (Form::Index, _) => INDEX_UPPER,
            (Form::Text, _) => RecordKinds(0),
        };
        let columns_max = unit.map_or(0, |unit| unit.columns_max);
        let fixed_end = unit.map_or(0, |unit| unit.fixed_end);
        let pminlen = header.fixed_len.get();
        is_legal.then_some(Rules {
            form,
            kinds,
            may_have_empty_slots: !structure.is_some_and(Structure::is_tree),
            columns_max: if is_leaf && columns_max > 0 { columns_max } else { u16::MAX },
            // A page that promises more than the table has now is wrong; one that promises as much
            // may hold older rows.
            fixed_end_min: if form == Form::Data && fixed_end > 0 && pminlen > fixed_end {
                pminlen
            } else {
                0
            },
            footprint_min: if form == Form::Data { DATA_FOOTPRINT_MIN } else { 0 },
            footprint_mask: if unit.map_or(named, Unit::id) == SYSFILES1 { 3 } else { 0 },
            is_leaf,
            is_compressed: unit.is_none_or(|unit| unit.compression != Compression::None),
        })
    }
}

impl Rules {
    /// The rules for a page most of whose rows have more columns than their table: SQL Server 2000
    /// dropped them, and left no trace in the catalog.
    #[cold]
    pub(super) fn wider(&self, page: PageRef<'_>, unit: &Unit) -> Option<Rules> {
        if !unit.is_from_2000() || self.form != Form::Data || self.columns_max == u16::MAX {
            return None;
        }
        let rows = page.records().map(|(_, bytes)| Record::parse_data(bytes));
        let rows: Vec<u16> =
            rows.filter(|row| row.fault().is_none()).map(|row| row.column_count()).collect();
        let wide = rows.iter().filter(|columns| **columns > self.columns_max).count();
        (wide > 1 && wide * 2 > rows.len()).then_some(Rules { columns_max: u16::MAX, ..*self })
    }
}

/// True for an index page of level 0 that begins with a row. A clustered index has index pages of
/// level 0 only as roots above data pages; a data page whose type changed looks like one, but for
/// its records.
fn holds_rows(page: PageRef<'_>) -> bool {
    let first = page.record_bytes(0).and_then(<[u8]>::first);
    let is_row = |status: &u8| {
        CLUSTERED.has(RecordKind::of(*status))
            && RecordKind::of(*status) != RecordKind::GhostVersion
    };
    page.header().level == 0 && first.is_some_and(is_row)
}
