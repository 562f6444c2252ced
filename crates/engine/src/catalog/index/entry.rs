//! The entries that an index has for rows.
//!
//! ```text
//! cells of a row      filter ── no ──▶ none
//! or its record                └ yes ─▶ one cell for each column of the entry, as the row has it
//!                              or can compute it
//! ```

use std::borrow::Cow;

use extentdb_catalog::layout::Cell;
use extentdb_expr::EvalError;

use super::{Index, ValueSource};
use crate::catalog::definition::has_column;
use crate::catalog::{Address, Storage, TableColumn};
use crate::error::{Error, Unsupported};

impl Index {
    /// The entry of a row; `None` when its filter leaves the row out.
    ///
    /// # Errors
    /// The filter leaves open whether, or a computed column has no value.
    pub(crate) fn entry<'c>(
        &self,
        row: &[Cell<'c>],
        columns: &[TableColumn],
        at: &Address,
    ) -> Result<Option<Vec<Cell<'c>>>, Error> {
        if let Some(filter) = self.filter() {
            let truth = filter.truth(columns, row, None).map_err(|error| self.open_row(error))?;
            if truth != Some(true) {
                return Ok(None);
            }
        }
        let is_of =
            |column: &TableColumn| !column.is_stored() && has_column(&self.definition, column.id);
        for column in columns.iter().filter(|column| is_of(column)) {
            if let (Some(Cell::Missing) | None, Some(formula)) =
                (row.get(column.at), &column.formula)
            {
                formula.evaluate(column, columns, row)?;
            }
        }
        self.plain_entry(columns, at, |at| Ok(row.get(at).cloned().unwrap_or(Cell::Missing)))
            .map(Some)
    }

    /// The same from the row's record, of which no more is taken apart than the index needs.
    ///
    /// # Errors
    /// As of [`entry`](Self::entry), and the record does not add up.
    pub(crate) fn entry_of_record<'c>(
        &self,
        storage: &Storage,
        record: &'c [u8],
        at: &Address,
    ) -> Result<Option<Vec<Cell<'c>>>, Error> {
        let columns = &storage.columns;
        let is_stored = |from: &ValueSource| match from {
            ValueSource::Column(number) => columns.get(*number).is_some_and(TableColumn::is_stored),
            ValueSource::Row(_) | ValueSource::Rid => true,
        };
        let is_off_row = storage.is_off_row(record);
        if is_off_row || self.filter().is_some() || !self.from.iter().all(is_stored) {
            return self.entry(&storage.cells(record)?, columns, at);
        }
        let record = storage.shape.sound_leaf(record)?;
        self.plain_entry(columns, at, |at| Ok(storage.shape.cell(&record, at)?)).map(Some)
    }

    fn plain_entry<'c>(
        &self,
        columns: &[TableColumn],
        at: &Address,
        of_row: impl Fn(usize) -> Result<Cell<'c>, Error>,
    ) -> Result<Vec<Cell<'c>>, Error> {
        let mut entry = Vec::with_capacity(self.from.len());
        for from in &self.from {
            let cell = match (from, at) {
                (ValueSource::Rid, Address::Rid(rid)) => {
                    Cell::Bytes(Cow::Owned(rid.to_bytes().to_vec()))
                }
                (ValueSource::Rid, Address::Key(_)) => Cell::Null,
                (ValueSource::Row(at), _) => of_row(*at)?,
                (ValueSource::Column(number), _) => match columns.get(*number) {
                    Some(column) => of_row(column.at)?,
                    None => Cell::Null,
                },
            };
            entry.push(if matches!(cell, Cell::Missing) { Cell::Null } else { cell });
        }
        Ok(entry)
    }

    fn open_row(&self, error: EvalError) -> Error {
        let index = self.name().to_owned();
        if error.is_undecided() {
            Unsupported::UndecidedFilter { index, why: error }.into()
        } else {
            let what = format!("this row under the filter of index {index}: {error}");
            Error::Value { column: index, what }
        }
    }
}
