//! What a sound page says about forwarded rows and off-row data. The scan and every second pass
//! read pages through this one door, so that they see the same facts.

use std::collections::HashMap;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::AllocUnitKind;
use extentdb_format::page::PageType;
use extentdb_format::record::lob::InlineRoot;
use extentdb_format::record::row::BACK_POINTER_TAG;
use extentdb_format::record::sparse::SparseVector;
use extentdb_format::record::status::GHOST_FORWARDED;
use extentdb_format::record::{Record, RecordKind, VarColumn};

use super::facts::{Fact, of_forwarded, of_node, of_reference, of_stub};
use super::node::{Node, NodeRole, nodes};
use super::part::Gap;
use super::pointer::{Complex, PointerClass, resembles_pointer};
use crate::plan::Plan;
use crate::sound::SoundPage;
use crate::unit::{Structure, UnitIndex};

/// Who refers to a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Referrer {
    /// A column of a row, or of an index entry. A ghost's nodes may be deleted already, and their
    /// slots taken by others.
    Row { column: i32, is_entry: bool, is_ghost: bool },
    /// A node above.
    Node,
}

/// The text id that a reference expects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum ExpectedId {
    /// All of it: text pointers, nodes.
    Whole(u64),
    /// A root in a row keeps its bits 16 to 47.
    Part(u64),
}

/// Bits of a text id that every reference knows.
const KNOWN_BITS: u64 = 0x0000_ffff_ffff_ffff;

impl ExpectedId {
    pub(super) fn value(self) -> u64 {
        let (ExpectedId::Whole(id) | ExpectedId::Part(id)) = self;
        id
    }

    /// True for the id of the node that is meant.
    pub(super) fn agrees(self, id: u64) -> bool {
        match self {
            ExpectedId::Whole(own) => own == id,
            ExpectedId::Part(own) => (own ^ id) & KNOWN_BITS == 0,
        }
    }
}

/// The bits of an id that two nodes of one value have in common in any case.
pub(super) fn common_id(id: u64) -> u64 {
    id & KNOWN_BITS
}

/// What a link states of its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Stated {
    /// Level of the referrer: 0 = it refers to data, otherwise to nodes of the level below.
    pub(super) level: u16,
    pub(super) size: u64,
}

/// A reference to a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Reference {
    pub(super) target: Rid,
    /// The slot it is in: a row, an index entry, or a node.
    pub(super) from: Rid,
    pub(super) by: Referrer,
    pub(super) id: ExpectedId,
    /// Nothing is stated by text pointers.
    pub(super) stated: Option<Stated>,
    pub(super) from_unit: UnitIndex,
    /// The unit it is filed under: the one that owns the target, or the one that should.
    pub(super) filed: UnitIndex,
}

impl Reference {
    pub(super) fn is_ghost(&self) -> bool {
        matches!(self.by, Referrer::Row { is_ghost: true, .. })
    }
}

/// A forwarding stub.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Stub {
    pub(super) rid: Rid,
    pub(super) target: Rid,
    pub(super) unit: UnitIndex,
}

/// A forwarded record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Forwarded {
    pub(super) rid: Rid,
    /// Its stub; all zero when the record does not say.
    pub(super) back: Rid,
    pub(super) unit: UnitIndex,
    /// Deleted: with or without a stub.
    pub(super) is_ghost: bool,
}

/// Receives what pages state.
pub(super) trait Sink {
    /// The highest text id to expect.
    fn id_max(&self) -> u64;
    /// One side of a relation, as the methods below state it.
    fn fact(&mut self, fact: Fact);

    #[inline]
    fn reference(&mut self, reference: &Reference) {
        of_reference(reference).for_each(|fact| self.fact(fact));
    }

    #[inline]
    fn node(&mut self, node: &Node) {
        of_node(node, self.id_max()).for_each(|fact| self.fact(fact));
    }

    #[inline]
    fn stub(&mut self, stub: &Stub) {
        self.fact(of_stub(stub));
    }

    #[inline]
    fn forwarded(&mut self, record: &Forwarded) {
        of_forwarded(record).into_iter().for_each(|fact| self.fact(fact));
    }

    /// A complex column that is none: 8960.
    fn invalid_column(&mut self, _: UnitIndex, _: Rid, _: i32) {}

    /// Something of the unit cannot be read.
    fn gap(&mut self, _: UnitIndex, _: Gap) {}
}

/// What is known of a rowset's variable columns.
#[derive(Default)]
struct Columns {
    /// By variable column: its id and what it may be.
    variable: Vec<(i32, PointerClass)>,
    /// Sparse columns by id.
    sparse: HashMap<i32, PointerClass>,
    /// Where its off-row data should be.
    lob: Option<UnitIndex>,
    overflow: Option<UnitIndex>,
}

/// Reads pages; caches the catalog of the units read so far.
pub(super) struct PageReader<'p> {
    plan: &'p Plan,
    /// `None`: nothing is known of the unit's columns.
    columns: HashMap<UnitIndex, Option<Columns>>,
}

impl<'p> PageReader<'p> {
    pub(super) fn new(plan: &'p Plan) -> PageReader<'p> {
        PageReader { plan, columns: HashMap::new() }
    }

    /// Hands everything that the page says to `sink`.
    #[inline]
    pub(super) fn read(&mut self, page: &SoundPage<'_>, sink: &mut impl Sink) {
        if page.unit.compression != Compression::None {
            return;
        }
        match page.unit.structure {
            Structure::Text => self.text_page(page, sink),
            Structure::Heap | Structure::Clustered | Structure::Nonclustered if page.is_leaf => {
                if page.unit.structure == Structure::Heap {
                    heap_page(page, sink);
                }
                if page.traits.has_complex {
                    self.row_page(page, sink);
                }
            }
            _ => {}
        }
    }

    fn text_page(&mut self, page: &SoundPage<'_>, sink: &mut impl Sink) {
        if !matches!(page.header().kind(), PageType::TextMix | PageType::TextTree) {
            return;
        }
        let state = self.plan.maps_of(page.id.file).and_then(|maps| maps.state(page.id.page));
        for (node, links) in nodes(page, state) {
            if node.role == NodeRole::Older {
                sink.gap(page.index, Gap::Node);
            }
            sink.node(&node);
            let Some(links) = links else { continue };
            let mut start = 0;
            for link in links.links() {
                let stated = Stated { level: links.level, size: link.end.wrapping_sub(start) };
                start = link.end;
                sink.reference(&Reference {
                    target: link.target,
                    from: node.rid,
                    by: Referrer::Node,
                    id: ExpectedId::Whole(node.id),
                    stated: Some(stated),
                    from_unit: page.index,
                    filed: filed_under(self.plan, link.target.page, page.index),
                });
            }
        }
    }

    #[cold]
    fn row_page(&mut self, page: &SoundPage<'_>, sink: &mut impl Sink) {
        let plan = self.plan;
        let columns =
            self.columns.entry(page.index).or_insert_with(|| Columns::of(plan, page.index));
        let Some(columns) = columns else { return sink.gap(page.index, Gap::Pointer) };
        for entry in page.entries() {
            let record = entry.record();
            if record.fault().is_none() && entry.kind() != RecordKind::ForwardingStub {
                Row { plan, page, columns, rid: page.rid(entry.slot), record }.read(sink);
            }
        }
    }
}

impl Columns {
    fn of(plan: &Plan, unit: UnitIndex) -> Option<Columns> {
        let layout = plan.layout(unit)?;
        let owner = plan.units.get(unit)?.owner;
        let table = plan.catalog.as_ref().and_then(|catalog| catalog.tables.get(&owner.object));
        let is_file = |id: i32| {
            let column = table.filter(|_| owner.index.0 <= 1).and_then(|table| table.column(id));
            column.is_some_and(|column| column.filestream)
        };
        let mut columns = Columns::default();
        for column in &layout.columns {
            let class = if is_file(column.column_id) {
                PointerClass::Unknown
            } else {
                PointerClass::of(column)
            };
            if column.is_sparse() {
                columns.sparse.insert(column.column_id, class);
            } else if column.leaf.offset < 0 {
                let at = usize::from(column.leaf.offset.unsigned_abs() - 1);
                let unknown = (0, PointerClass::Unknown);
                columns.variable.resize(columns.variable.len().max(at + 1), unknown);
                if let Some(place) = columns.variable.get_mut(at) {
                    *place = (column.column_id, class);
                }
            }
        }
        for (index, other) in
            plan.units.iter().filter(|(_, it)| it.owner.partition == owner.partition)
        {
            match other.kind {
                AllocUnitKind::Lob => columns.lob = Some(index),
                AllocUnitKind::RowOverflow => columns.overflow = Some(index),
                _ => {}
            }
        }
        Some(columns)
    }

    fn variable(&self, at: u16) -> (i32, PointerClass) {
        self.variable.get(usize::from(at)).copied().unwrap_or((0, PointerClass::Unknown))
    }
}

/// The unit that a reference to a page is filed under: the text unit that owns it; otherwise the
/// reference leads nowhere, and the unit that should own it misses a node.
fn filed_under(plan: &Plan, target: PageId, expected: UnitIndex) -> UnitIndex {
    let owner = plan.owner_of(target);
    let is_text = |unit: &UnitIndex| {
        plan.units
            .get(*unit)
            .is_some_and(|unit| unit.structure == Structure::Text && !unit.is_skipped)
    };
    owner.filter(is_text).unwrap_or(expected)
}

/// Stubs and forwarded records.
#[inline]
fn heap_page(page: &SoundPage<'_>, sink: &mut impl Sink) {
    let kinds = [RecordKind::ForwardingStub, RecordKind::Forwarded, RecordKind::GhostData];
    if kinds.into_iter().any(|kind| page.traits.has(kind)) {
        forwarding(page, sink);
    }
}

fn forwarding(page: &SoundPage<'_>, sink: &mut impl Sink) {
    let unit = page.index;
    for entry in page.entries() {
        let rid = page.rid(entry.slot);
        let record = entry.record();
        match entry.kind() {
            RecordKind::ForwardingStub => {
                let target = record.stub_target().unwrap_or_default();
                sink.stub(&Stub { rid, target, unit });
            }
            RecordKind::Forwarded => {
                let back = record.back_pointer().unwrap_or_default();
                // A mark that only a ghost should have.
                let is_ghost =
                    record.status_b().is_some_and(|status| status & GHOST_FORWARDED != 0);
                sink.forwarded(&Forwarded { rid, back, unit, is_ghost });
            }
            RecordKind::GhostData if record.is_ghost_forwarded() => {
                sink.forwarded(&Forwarded { rid, back: Rid::default(), unit, is_ghost: true });
            }
            _ => {}
        }
    }
}

fn is_back_pointer(bytes: &[u8]) -> bool {
    bytes.len() == BACK_POINTER_TAG.len() + Rid::BYTES && bytes.starts_with(&BACK_POINTER_TAG)
}

/// A row with a complex column.
struct Row<'r> {
    plan: &'r Plan,
    page: &'r SoundPage<'r>,
    columns: &'r Columns,
    rid: Rid,
    record: Record<'r>,
}

impl Row<'_> {
    fn read(&self, sink: &mut impl Sink) {
        for at in 0..self.record.var_count() {
            let Some(value) = self.record.var(at).filter(|value| value.complex) else { continue };
            if !self.is_back_pointer(at, value) {
                let (column, class) = self.columns.variable(at);
                self.complex(column, class, value.bytes, sink);
            }
        }
    }

    /// The last column of a forwarded record points to its stub. One that is left in another record
    /// leads nowhere.
    fn is_back_pointer(&self, at: u16, value: VarColumn<'_>) -> bool {
        let is_last = at + 1 == self.record.var_count();
        is_last && self.page.unit.structure == Structure::Heap && is_back_pointer(value.bytes)
    }

    fn complex(&self, column: i32, class: PointerClass, bytes: &[u8], sink: &mut impl Sink) {
        match Complex::read(bytes, class) {
            Complex::Text { id, root } => {
                self.reference(column, root, ExpectedId::Whole(id), None, self.columns.lob, sink);
            }
            Complex::Root(root) => self.root(column, root, sink),
            Complex::Sparse(bytes) => self.sparse(SparseVector::parse(bytes), sink),
            Complex::Empty => {}
            // What a ghost says is not judged.
            Complex::Invalid if self.record.kind().is_ghost() => {}
            Complex::Invalid => sink.invalid_column(self.page.index, self.rid, column),
            Complex::Unread => sink.gap(self.page.index, Gap::Pointer),
        }
    }

    fn root(&self, column: i32, root: InlineRoot<'_>, sink: &mut impl Sink) {
        let expected = if root.is_overflow() { self.columns.overflow } else { self.columns.lob };
        let mut start = 0;
        for link in root.links() {
            let stated = Stated { level: root.level(), size: link.end.wrapping_sub(start) };
            start = link.end;
            let id = ExpectedId::Part(root.blob_id());
            self.reference(column, link.target, id, Some(stated), expected, sink);
        }
    }

    /// Sparse columns may hold pointers like others; that bit 15 says so there, too, is not
    /// certain.
    fn sparse(&self, vector: SparseVector<'_>, sink: &mut impl Sink) {
        if vector.fault().is_some() {
            return sink.gap(self.page.index, Gap::Pointer);
        }
        for (column, value) in vector.entries() {
            let column = i32::from(column);
            let class = self.columns.sparse.get(&column).copied().unwrap_or(PointerClass::Unknown);
            if value.complex && !SparseVector::is_one(value.bytes) {
                self.complex(column, PointerClass::Unknown, value.bytes, sink);
            } else {
                let may_point = matches!(
                    class,
                    PointerClass::Large | PointerClass::Text | PointerClass::Unknown
                );
                if value.complex || (may_point && resembles_pointer(value.bytes)) {
                    sink.gap(self.page.index, Gap::Pointer);
                }
            }
        }
    }

    fn reference(
        &self,
        column: i32,
        target: Rid,
        id: ExpectedId,
        stated: Option<Stated>,
        expected: Option<UnitIndex>,
        sink: &mut impl Sink,
    ) {
        let own = self.page.index;
        let is_entry = self.page.unit.structure == Structure::Nonclustered;
        let is_ghost = self.record.kind().is_ghost() || self.record.is_ghost_forwarded();
        sink.reference(&Reference {
            target,
            from: self.rid,
            by: Referrer::Row { column, is_entry, is_ghost },
            id,
            stated,
            from_unit: own,
            filed: filed_under(self.plan, target.page, expected.unwrap_or(own)),
        });
    }
}
