//! A table with all its indexes, from rows that are generated.
//!
//! ```text
//! heap or clustered index   row after row in its order; where each row ended up is kept (8 or 4 bytes a row) when an
//!                           index needs it
//! each nonclustered index   the rows once more, in the order of the index
//! ```

use extentdb_base::Rid;
use extentdb_catalog::model::{AllocUnitKind, IndexKind};
use extentdb_catalog::table::{ColumnDefinition, IndexDefinition, TableDefinition};
use extentdb_types::SqlType;

use super::database::Results;
use super::heap::{HeapBuilder, HeapForm};
use super::lob::{LobBuilder, VALUE_BYTES_MAX};
use super::record::{Entry, RecordWriter};
use super::sink::PageSink;
use super::space::Space;
use super::spec::{RowOrder, Rows};
use super::tree::{EntryError, TreeBuilder};
use super::unit::UnitPages;
use super::values::{Cell, RowValues};
use crate::Error;

/// More rows than this are not sorted in memory.
const SORTED_ROWS_MAX: u64 = 16 << 20;
/// Entries between two reports of progress.
const TICK: u64 = 1 << 14;
const SYSFILES1: i32 = 8;

/// Builds a table whose rows are at hand.
pub(super) fn build_table(
    table: &TableDefinition,
    rows: &Vec<RowValues>,
    space: &mut Space,
    sink: &mut dyn PageSink,
    results: &mut Results,
) -> Result<(), Error> {
    TableBuild::new(table, rows, space, sink, results, &mut |_| {}).run()
}

/// How indexes find a row, by its number.
enum Locators {
    /// By its clustered key, which is unique, or nobody asks.
    Key,
    /// By clustered key and uniquifier.
    Uniquifiers(Vec<u32>),
    /// By its place in the heap.
    Rids(Vec<Rid>),
}

impl Locators {
    fn entry<'r>(&self, number: u64, row: &'r RowValues) -> Entry<'r> {
        let at = number as usize;
        let mut entry = Entry::new(row);
        match self {
            Locators::Key => {}
            Locators::Uniquifiers(numbers) => entry.uniquifier = numbers[at].to_le_bytes(),
            Locators::Rids(rids) => entry.rid = rids[at].to_bytes(),
        }
        entry
    }
}

/// The work on one table.
pub(super) struct TableBuild<'a> {
    table: &'a TableDefinition,
    rows: &'a dyn Rows,
    space: &'a mut Space,
    sink: &'a mut dyn PageSink,
    results: &'a mut Results,
    tick: &'a mut dyn FnMut(u64),
    row: RowValues,
}

impl<'a> TableBuild<'a> {
    pub(super) fn new(
        table: &'a TableDefinition,
        rows: &'a dyn Rows,
        space: &'a mut Space,
        sink: &'a mut dyn PageSink,
        results: &'a mut Results,
        tick: &'a mut dyn FnMut(u64),
    ) -> Self {
        TableBuild { table, rows, space, sink, results, tick, row: RowValues::new() }
    }

    /// Builds heap or clustered index, then the nonclustered ones.
    pub(super) fn run(mut self) -> Result<(), Error> {
        let mut locators = Locators::Key;
        let table = self.table;
        for (at, index) in table.indexes.iter().enumerate() {
            match index.kind {
                IndexKind::Heap => locators = self.heap(index)?,
                IndexKind::Clustered => locators = self.clustered(index)?,
                _ => self.nonclustered(at, index, &locators)?,
            }
            self.results.rows.insert(index.rowset, self.rows.count());
        }
        Ok(())
    }

    fn writer(&self, index: &IndexDefinition) -> RecordWriter {
        RecordWriter::new(self.table.layout(index), index.is_base())
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

    /// Generates a row for heap or clustered index, and stores what lies off it.
    fn base_row(&mut self, number: u64, lobs: &mut Option<LobBuilder>) -> Result<(), Error> {
        self.generate(0, number);
        self.check_row(number)?;
        match lobs {
            Some(lobs) => self.row.store_lobs(|value| lobs.push(value, self.space, self.sink)),
            None => Ok(()),
        }
    }

    fn lobs(&self, index: &IndexDefinition) -> Option<LobBuilder> {
        let unit = index.units.iter().find(|unit| unit.kind == AllocUnitKind::Lob)?;
        Some(LobBuilder::new(UnitPages::new(unit.id), self.results.next_blob))
    }

    fn finish_lobs(&mut self, index: &IndexDefinition, lobs: Option<LobBuilder>) -> Result<(), Error> {
        let unit = index.units.iter().find(|unit| unit.kind == AllocUnitKind::Lob);
        if let (Some(unit), Some(lobs)) = (unit, lobs) {
            let (result, next_blob) = lobs.finish(self.space, self.sink)?;
            self.results.units.insert(unit.id, result);
            self.results.next_blob = next_blob;
        }
        Ok(())
    }

    fn heap(&mut self, index: &IndexDefinition) -> Result<Locators, Error> {
        let mut lobs = self.lobs(index);
        let form = if self.table.id.0 == SYSFILES1 { HeapForm::SysFiles } else { HeapForm::Usual };
        let unit = UnitPages::new(index.units[0].id);
        let mut heap = HeapBuilder::new(self.writer(index), unit, form);
        let keeps_rids = self.table.indexes.len() > 1;
        let mut rids = Vec::new();
        for number in 0..self.rows.count() {
            self.base_row(number, &mut lobs)?;
            let is_forwarded = self.rows.is_forwarded(number);
            let placed = heap.push(&Entry::new(&self.row), is_forwarded, self.space, self.sink);
            let rid = placed.map_err(|error| self.explain(error, index, number))?;
            if keeps_rids {
                rids.push(rid);
            }
        }
        self.finish_lobs(index, lobs)?;
        let result = heap.finish(self.space, self.sink)?;
        self.results.units.insert(index.units[0].id, result);
        Ok(if keeps_rids { Locators::Rids(rids) } else { Locators::Key })
    }

    fn clustered(&mut self, index: &IndexDefinition) -> Result<Locators, Error> {
        let mut tree = TreeBuilder::new(self.writer(index), UnitPages::new(index.units[0].id));
        let order = self.order(0, index, &Locators::Key)?;
        let mut lobs = self.lobs(index);
        if index.is_unique() {
            for number in order {
                self.base_row(number, &mut lobs)?;
                let pushed = tree.push(&Entry::new(&self.row), self.space, self.sink);
                pushed.map_err(|error| self.explain(error, index, number))?;
            }
        } else {
            return self.clustered_with_duplicates(index, order, tree);
        }
        self.finish_lobs(index, lobs)?;
        let result = tree.finish(self.sink)?;
        self.results.units.insert(index.units[0].id, result);
        Ok(Locators::Key)
    }

    /// Rows with the same key are numbered in the order they come: 0, which is stored as nothing, 1, 2 …
    fn clustered_with_duplicates(
        &mut self,
        index: &IndexDefinition,
        order: RowOrder<'_>,
        mut tree: TreeBuilder,
    ) -> Result<Locators, Error> {
        let keys = self.writer(index);
        let mut lobs = self.lobs(index);
        let mut uniquifiers =
            vec![0; if self.table.indexes.len() > 1 { self.rows.count() as usize } else { 0 }];
        let (mut key, mut previous, mut uniquifier) = (Vec::new(), Vec::new(), 0u32);
        for number in order {
            self.base_row(number, &mut lobs)?;
            let mut entry = Entry::new(&self.row);
            keys.sort_key(&entry, &mut key);
            uniquifier = if key == previous { uniquifier + 1 } else { 0 };
            std::mem::swap(&mut key, &mut previous);
            entry.uniquifier = uniquifier.to_le_bytes();
            if let Some(kept) = uniquifiers.get_mut(number as usize) {
                *kept = uniquifier;
            }
            let pushed = tree.push(&entry, self.space, self.sink);
            pushed.map_err(|error| self.explain(error, index, number))?;
        }
        self.finish_lobs(index, lobs)?;
        let result = tree.finish(self.sink)?;
        self.results.units.insert(index.units[0].id, result);
        Ok(Locators::Uniquifiers(uniquifiers))
    }

    fn nonclustered(&mut self, at: usize, index: &IndexDefinition, locators: &Locators) -> Result<(), Error> {
        let mut tree = TreeBuilder::new(self.writer(index), UnitPages::new(index.units[0].id));
        for number in self.order(at, index, locators)? {
            self.generate(at, number);
            let entry = locators.entry(number, &self.row);
            let pushed = tree.push(&entry, self.space, self.sink);
            pushed.map_err(|error| self.explain(error, index, number))?;
        }
        let result = tree.finish(self.sink)?;
        self.results.units.insert(index.units[0].id, result);
        Ok(())
    }

    /// The numbers of the rows in key order: as their generator says, or sorted.
    fn order(&self, at: usize, index: &IndexDefinition, locators: &Locators) -> Result<RowOrder<'a>, Error> {
        let rows = self.rows;
        if let Some(order) = rows.order(at) {
            return Ok(order);
        }
        let count = rows.count();
        if count > SORTED_ROWS_MAX {
            let index = index.name.clone().unwrap_or_default();
            return Err(Error::TooManyToSort { table: self.table.name.clone(), index, rows: count });
        }
        let writer = self.writer(index);
        let mut row = RowValues::new();
        let mut keys: Vec<(Box<[u8]>, u64)> = (0..count)
            .map(|number| {
                row.clear();
                match at {
                    0 => rows.row(number, &mut row),
                    _ => rows.entry(at, number, &mut row),
                }
                let mut key = Vec::new();
                writer.sort_key(&locators.entry(number, &row), &mut key);
                (key.into_boxed_slice(), number)
            })
            .collect();
        keys.sort_unstable();
        Ok(Box::new(keys.into_iter().map(|(_, number)| number)))
    }

    /// A generator's mistake shows here and not as a damaged database.
    fn check_row(&self, number: u64) -> Result<(), Error> {
        let columns = &self.table.columns;
        let bad = columns.iter().enumerate().position(|(at, column)| !fits(column, self.row.cell(at)));
        let bad = bad.or((self.row.len() != columns.len()).then_some(columns.len()));
        match bad {
            None => Ok(()),
            Some(at) => Err(Error::BadValue { table: self.table.name.clone(), row: number, column: at + 1 }),
        }
    }

    fn explain(&self, error: EntryError, index: &IndexDefinition, number: u64) -> Error {
        let table = self.table.name.clone();
        match error {
            EntryError::Order => {
                Error::Order { table, index: index.name.clone().unwrap_or_default(), row: number }
            }
            EntryError::TooLong(bytes) => Error::RowTooLong { table, row: number, bytes },
            EntryError::Other(error) => error,
        }
    }
}

/// Is this a value the column can hold in its row?
fn fits(column: &ColumnDefinition, cell: Cell<'_>) -> bool {
    match cell {
        Cell::Lob(bytes) => column.ty.is_max() && (1..=VALUE_BYTES_MAX).contains(&bytes.len()),
        Cell::Pointer(_) => false,
        Cell::Null => column.nullable,
        Cell::Bit(_) => column.ty == SqlType::Bit,
        Cell::Bytes(bytes) => match (column.ty.fixed_bytes(), column.ty.max_bytes()) {
            (Some(fixed), _) => bytes.len() == fixed,
            (None, Some(max)) => !column.ty.is_bit() && bytes.len() <= max,
            (None, None) => !column.ty.is_lob(),
        },
    }
}
