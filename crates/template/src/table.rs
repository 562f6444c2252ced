//! A table with all its indexes, from rows that are generated.
//!
//! ```text
//! heap or clustered index  row after row in its order; the RID or uniquifier of each row is kept
//!                          (8 or 4 bytes)
//!                          when an index needs it
//! each nonclustered index  the rows once more, in the order of the index
//! ```
//!
//! An index in several partitions is built as several, each of its own rows. A fragmented index is
//! built twice: once to count its pages, which are then allocated in random order.

use extentdb_base::Rid;
use extentdb_base::env::SplitMix64;
use extentdb_catalog::model::IndexKind;
use extentdb_catalog::table::{ColumnDefinition, IndexDefinition, TableDefinition};
use extentdb_types::SqlType;

use crate::Error;
use crate::database::Results;
use crate::file::allocation::Space;
use crate::file::sink::{NoSink, PageSink};
use crate::off_row::lob_tree::VALUE_BYTES_MAX;
use crate::off_row::{OffRow, StoreError};
use crate::plan::index::IndexPlan;
use crate::plan::members::{Members, Membership, PartitionNumbers};
use crate::record::{Entry, RecordWriter};
use crate::spec::alteration::{History, RowState};
use crate::spec::{RowOrder, Rows};
use crate::unit::fragmented_tree::FragmentedTree;
use crate::unit::heap::{HeapBuilder, HeapForm};
use crate::unit::tree::{EntryError, TreeBuilder};
use crate::unit::{UnitPages, UnitResult};
use extentdb_catalog::table::values::{Cell, RowValues};

/// More rows than this are not sorted in memory.
const SORTED_ROWS_MAX: u64 = 16 << 20;
/// Entries between two reports of progress.
const TICK: u64 = 1 << 14;
const SYSFILES1: i32 = 8;

/// Builds a table with all its indexes.
pub(crate) fn build_table(
    table: &TableDefinition,
    rows: &Vec<RowValues>,
    space: &mut Space,
    sink: &mut dyn PageSink,
    results: &mut Results,
) -> Result<(), Error> {
    TableBuild::new(table, rows, &History::default(), space, sink, results, &mut |_| {}).run()
}

/// The row locators of indexes, by row number.
#[derive(Clone)]
enum Locators {
    /// A unique clustered key, or a table without indexes.
    Key,
    /// Clustered key and uniquifier.
    Uniquifiers(Vec<u32>),
    /// RID in the heap.
    Rids(Vec<Rid>),
}

impl Locators {
    fn entry<'r>(&self, state: RowState, row: &'r RowValues) -> Entry<'r> {
        let at = state.number as usize;
        let mut entry = Entry::with_state(row, state);
        match self {
            Locators::Key => {}
            Locators::Uniquifiers(numbers) => entry.uniquifier = numbers[at].to_le_bytes(),
            Locators::Rids(rids) => entry.rid = rids[at].to_bytes(),
        }
        entry
    }
}

/// A tree of either kind.
enum Tree {
    Packed(TreeBuilder),
    Fragmented(FragmentedTree),
}

impl Tree {
    fn push(
        &mut self,
        entry: &Entry<'_>,
        is_live: bool,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), EntryError> {
        match self {
            Tree::Packed(tree) if is_live => tree.push(entry, space, sink),
            Tree::Packed(_) => Ok(()),
            Tree::Fragmented(tree) => tree.push(entry, is_live, space, sink),
        }
    }

    fn finish(self, sink: &mut dyn PageSink) -> Result<UnitResult, Error> {
        match self {
            Tree::Packed(tree) => tree.finish(sink),
            Tree::Fragmented(tree) => tree.finish(sink),
        }
    }
}

/// The work on one table.
pub(crate) struct TableBuild<'a> {
    table: &'a TableDefinition,
    rows: &'a dyn Rows,
    history: &'a History<'a>,
    space: &'a mut Space,
    sink: &'a mut dyn PageSink,
    results: &'a mut Results,
    tick: &'a mut dyn FnMut(u64),
    plans: &'a [IndexPlan],
    row: RowValues,
}

impl<'a> TableBuild<'a> {
    pub(crate) fn new(
        table: &'a TableDefinition,
        rows: &'a dyn Rows,
        history: &'a History<'a>,
        space: &'a mut Space,
        sink: &'a mut dyn PageSink,
        results: &'a mut Results,
        tick: &'a mut dyn FnMut(u64),
    ) -> Self {
        TableBuild {
            table,
            rows,
            history,
            space,
            sink,
            results,
            tick,
            plans: &[],
            row: RowValues::new(),
        }
    }

    /// With the plans of the indexes.
    pub(crate) fn with_plans(mut self, plans: &'a [IndexPlan]) -> Self {
        self.plans = plans;
        self
    }

    /// Builds heap or clustered index, then the nonclustered ones, each partition by partition.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let mut locators = self.no_locators();
        let mut numbers = PartitionNumbers::default();
        for (at, index) in self.table.indexes.iter().enumerate() {
            let plan = self.plans.get(at);
            numbers.settle(plan.and_then(|plan| plan.partitioning.as_ref()), self.rows);
            for part in index.partitions() {
                let members = Members::new(self.rows, plan, &numbers, part.partition);
                let rows = match part.kind {
                    IndexKind::Heap => self.heap(&part, &members, &mut locators)?,
                    _ => self.tree(at, &part, &members, &mut locators)?,
                };
                self.results.rows.insert(part.rowset, rows);
            }
        }
        Ok(())
    }

    /// Reserves memory for the locators that indexes need.
    fn no_locators(&self) -> Locators {
        let rows = self.rows.count() as usize;
        match self.table.indexes.first() {
            Some(base) if self.table.indexes.len() > 1 => match base.kind {
                IndexKind::Heap => Locators::Rids(vec![Rid::default(); rows]),
                IndexKind::Clustered if !base.is_unique() => Locators::Uniquifiers(vec![0; rows]),
                _ => Locators::Key,
            },
            _ => Locators::Key,
        }
    }

    fn writer(&self, index: &IndexDefinition) -> RecordWriter {
        RecordWriter::new(self.table.layout(index), index.is_base(), self.history)
    }

    fn generate(&mut self, index: usize, number: u64) {
        self.row.clear();
        match index {
            0 => self.rows.row(number, &mut self.row),
            _ => self.rows.entry(index, number, &mut self.row),
        }
        if number % TICK == TICK - 1 {
            (self.tick)(TICK);
        }
    }

    /// Generates a row for heap or clustered index, and stores its off-row values.
    fn base_row(
        &mut self,
        number: u64,
        members: &Members<'_>,
        off_row: &mut Option<OffRow<'a>>,
    ) -> Result<(Membership, RowState), Error> {
        self.generate(0, number);
        self.check_row(number)?;
        let standing = members.standing(number, &self.row);
        let state = self.history.state(number, self.rows.is_forwarded(number));
        if let Some(column) = self.history.settle(number, &mut self.row) {
            return Err(self.bad_value(number, column as usize));
        }
        if let Some(off_row) = off_row.as_mut().filter(|_| standing == Membership::Live) {
            let stored = off_row.store(&mut self.row, &state, self.space, self.sink);
            stored.map_err(|error| match error {
                StoreError::Ghost { column } => self.bad_value(number, column),
                StoreError::Other(error) => error,
            })?;
        }
        Ok((standing, state))
    }

    fn off_row(&self, index: &IndexDefinition) -> Option<OffRow<'a>> {
        OffRow::of(
            self.table,
            self.history.large_values(),
            index,
            self.writer(index),
            self.results.next_blob,
        )
    }

    fn finish_off_row(
        &mut self,
        index: &IndexDefinition,
        off_row: Option<OffRow<'a>>,
    ) -> Result<(), Error> {
        let Some(off_row) = off_row else { return Ok(()) };
        let (results, next_blob) = off_row.finish(self.space, self.sink)?;
        for (kind, result) in results {
            if let Some(unit) = index.units.iter().find(|unit| unit.kind == kind) {
                self.results.units.insert(unit.id, result);
            }
        }
        self.results.next_blob = next_blob;
        Ok(())
    }

    /// Builds a heap; returns the number of its rows.
    fn heap(
        &mut self,
        index: &IndexDefinition,
        members: &Members<'_>,
        locators: &mut Locators,
    ) -> Result<u64, Error> {
        let mut off_row = self.off_row(index);
        let form = if self.table.id.0 == SYSFILES1 { HeapForm::SysFiles } else { HeapForm::Usual };
        let unit = UnitPages::new(index.units[0].id).in_group(index.filegroup);
        let mut heap = HeapBuilder::new(self.writer(index), unit, form);
        let mut rows = 0;
        for number in (0..self.rows.count()).filter(|number| !members.is_elsewhere(*number)) {
            let (standing, state) = self.base_row(number, members, &mut off_row)?;
            if standing != Membership::Live {
                continue;
            }
            let placed = heap.push(&Entry::with_state(&self.row, state), self.space, self.sink);
            let rid = placed.map_err(|error| self.explain(error, index, number))?;
            if let Locators::Rids(rids) = locators {
                rids[number as usize] = rid;
            }
            rows += u64::from(state.is_live());
        }
        self.finish_off_row(index, off_row)?;
        let result = heap.finish(self.space, self.sink)?;
        self.results.units.insert(index.units[0].id, result);
        Ok(rows)
    }

    /// Builds one partition of a clustered or nonclustered index; returns the number of its
    /// entries.
    fn tree(
        &mut self,
        at: usize,
        index: &IndexDefinition,
        members: &Members<'_>,
        locators: &mut Locators,
    ) -> Result<u64, Error> {
        let mut unit = UnitPages::new(index.units[0].id).in_group(index.filegroup);
        let mut tree = match self.plans.get(at).and_then(|plan| plan.scatter) {
            None => Tree::Packed(TreeBuilder::new(self.writer(index), unit)),
            Some(seed) => {
                let seed = seed ^ index.rowset.0 as u64;
                let pages = self.count_pages(at, index, members, locators, seed)?;
                unit.shuffle(pages, &mut SplitMix64::new(!seed), self.space)?;
                Tree::Fragmented(FragmentedTree::new(self.writer(index), unit, seed))
            }
        };
        let mut off_row = self.off_row(index);
        let entries = match at {
            0 => self.fill_clustered(&mut tree, index, members, locators, &mut off_row)?,
            _ => self.fill_nonclustered(&mut tree, at, index, members, locators)?,
        };
        self.finish_off_row(index, off_row)?;
        let result = tree.finish(self.sink)?;
        self.results.units.insert(index.units[0].id, result);
        Ok(entries)
    }

    /// Builds a fragmented tree on trial.
    fn count_pages(
        &self,
        at: usize,
        index: &IndexDefinition,
        members: &Members<'_>,
        locators: &Locators,
        seed: u64,
    ) -> Result<u64, Error> {
        let mut space = self.space.clone();
        let mut results = self.results.clone();
        let mut locators = locators.clone();
        let mut tick = |_| {};
        let mut sink = NoSink;
        let mut trial = TableBuild::new(
            self.table,
            self.rows,
            self.history,
            &mut space,
            &mut sink,
            &mut results,
            &mut tick,
        );
        let unit = UnitPages::new(index.units[0].id).in_group(index.filegroup);
        let mut tree = Tree::Fragmented(FragmentedTree::new(self.writer(index), unit, seed));
        match at {
            0 => {
                let mut off_row = trial.off_row(index);
                trial.fill_clustered(&mut tree, index, members, &mut locators, &mut off_row)?
            }
            _ => trial.fill_nonclustered(&mut tree, at, index, members, &locators)?,
        };
        match tree {
            Tree::Fragmented(tree) => Ok(tree.page_count()),
            Tree::Packed(_) => Ok(0),
        }
    }

    /// Rows with the same key are numbered in their order: 0, which is stored as nothing,
    /// 1, 2 …
    fn fill_clustered(
        &mut self,
        tree: &mut Tree,
        index: &IndexDefinition,
        members: &Members<'_>,
        locators: &mut Locators,
        off_row: &mut Option<OffRow<'a>>,
    ) -> Result<u64, Error> {
        let numbers = (!index.is_unique()).then(|| self.writer(index));
        let mut key = Vec::new();
        let mut previous = Vec::new();
        let mut uniquifier = 0u32;
        let mut rows = 0;
        for number in self.order(0, index, members, &Locators::Key)? {
            let (standing, state) = self.base_row(number, members, off_row)?;
            if standing == Membership::Foreign {
                continue;
            }
            let mut entry = Entry::with_state(&self.row, state);
            if let Some(keys) = &numbers {
                keys.sort_key(&entry, &mut key);
                uniquifier = if key == previous { uniquifier + 1 } else { 0 };
                std::mem::swap(&mut key, &mut previous);
                entry.uniquifier = uniquifier.to_le_bytes();
            }
            if let Locators::Uniquifiers(kept) = locators {
                kept[number as usize] = uniquifier;
            }
            let is_live = standing == Membership::Live;
            let pushed = tree.push(&entry, is_live, self.space, self.sink);
            pushed.map_err(|error| self.explain(error, index, number))?;
            rows += u64::from(is_live && state.is_live());
        }
        Ok(rows)
    }

    fn fill_nonclustered(
        &mut self,
        tree: &mut Tree,
        at: usize,
        index: &IndexDefinition,
        members: &Members<'_>,
        locators: &Locators,
    ) -> Result<u64, Error> {
        let mut entries = 0;
        for number in self.order(at, index, members, locators)? {
            self.generate(at, number);
            let standing = members.standing(number, &self.row);
            if standing == Membership::Foreign {
                continue;
            }
            let is_live = standing == Membership::Live;
            let state = self.history.state(number, false);
            let entry = locators.entry(state, &self.row);
            let pushed = tree.push(&entry, is_live, self.space, self.sink);
            pushed.map_err(|error| self.explain(error, index, number))?;
            entries += u64::from(is_live && state.is_live());
        }
        Ok(entries)
    }

    /// The numbers of the rows in key order: from their generator, or sorted. Rows of other
    /// partitions are left out.
    fn order<'m>(
        &self,
        at: usize,
        index: &IndexDefinition,
        members: &'m Members<'_>,
        locators: &Locators,
    ) -> Result<RowOrder<'m>, Error>
    where
        'a: 'm,
    {
        let rows = self.rows;
        if let Some(order) = rows.order(at) {
            return Ok(if members.is_one_of_several() {
                Box::new(order.filter(|number| !members.is_elsewhere(*number)))
            } else {
                order
            });
        }
        let count = rows.count();
        if count > SORTED_ROWS_MAX {
            let index = index.name.clone().unwrap_or_default();
            return Err(Error::TooManyToSort {
                table: self.table.name.clone(),
                index,
                rows: count,
            });
        }
        let writer = self.writer(index);
        let mut row = RowValues::new();
        let mut keys = Vec::new();
        for number in (0..count).filter(|number| !members.is_elsewhere(*number)) {
            row.clear();
            match at {
                0 => rows.row(number, &mut row),
                _ => rows.entry(at, number, &mut row),
            }
            if members.standing(number, &row) == Membership::Foreign {
                continue;
            }
            let mut key = Vec::new();
            let state = RowState { number, ..RowState::default() };
            writer.sort_key(&locators.entry(state, &row), &mut key);
            keys.push((key.into_boxed_slice(), number));
        }
        keys.sort_unstable();
        Ok(Box::new(keys.into_iter().map(|(_, number)| number)))
    }

    /// Refuses a wrong order of the generator, which would damage the database.
    fn check_row(&self, number: u64) -> Result<(), Error> {
        let columns = &self.table.columns;
        let bad =
            columns.iter().enumerate().position(|(at, column)| !fits(column, self.row.cell(at)));
        let bad = bad.or((self.row.len() != columns.len()).then_some(columns.len()));
        match bad {
            None => Ok(()),
            Some(at) => Err(self.bad_value(number, at + 1)),
        }
    }

    fn bad_value(&self, row: u64, column: usize) -> Error {
        Error::BadValue { table: self.table.name.clone(), row, column }
    }

    fn explain(&self, error: EntryError, index: &IndexDefinition, number: u64) -> Error {
        let table = self.table.name.clone();
        match error {
            EntryError::Order => Error::Order {
                table,
                index: index.name.clone().unwrap_or_default(),
                row: number,
            },
            EntryError::TooLong(bytes) => Error::RowTooLong { table, row: number, bytes },
            EntryError::Other(error) => error,
        }
    }
}

/// True when the column can hold this value in its row.
fn fits(column: &ColumnDefinition, cell: Cell<'_>) -> bool {
    match cell {
        Cell::Lob(bytes) => can_lie_off_row(column, bytes.len() as u64),
        Cell::Stream(stream) => can_lie_off_row(column, stream.byte_len()),
        Cell::Pointer(_) => false,
        Cell::Null => column.nullable,
        Cell::Bit(_) => column.ty == SqlType::Bit,
        Cell::Bytes(bytes) => match (column.ty.fixed_bytes(), column.ty.max_bytes()) {
            (Some(fixed), _) => bytes.len() == fixed,
            (None, Some(max)) => !column.ty.is_bit() && bytes.len() <= max,
            // A (max) value in the row, or one of text, ntext or image, which goes off it.
            (None, None) => bytes.len() as u64 <= VALUE_BYTES_MAX,
        },
    }
}

fn can_lie_off_row(column: &ColumnDefinition, len: u64) -> bool {
    (column.ty.is_lob() || (column.ty.is_max() && len > 0)) && len <= VALUE_BYTES_MAX
}
