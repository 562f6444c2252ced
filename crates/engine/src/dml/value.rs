//! Values that a row gets: in memory, as a stream, or as the row has them.

use std::borrow::Cow;
use std::io::Read;

use extentdb_catalog::layout::Cell;
use extentdb_rowset::lob::LobForm;
use extentdb_txn::lock::LockMode;
use extentdb_types::Datum;

use crate::catalog::off_row::VALUE_IN_MEMORY_MAX;
use crate::catalog::system_table::owned;
use crate::catalog::{Address, Storage, Table, TableColumn, TableRef};
use crate::dml::off_row::{NewValue, read_chunk};
use crate::dml::placing::{IN_ROW_BYTES_MAX, OldRow};
use crate::error::Error;
use crate::session::{Session, StatementContext};

/// A value that a row gets.
pub enum Value<'v> {
    /// One in memory.
    Datum(Datum<'v>),
    /// The stored bytes of a character or binary value as a stream, whose length need not be
    /// known: of its code page, or two for a UTF-16 unit.
    Stream(&'v mut dyn Read),
    /// What the column has: an update does not touch it. An inserted row has the default.
    Unchanged,
    /// The default of the column, the next identity value, or NULL.
    Default,
}

impl<'v> From<Datum<'v>> for Value<'v> {
    fn from(value: Datum<'v>) -> Value<'v> {
        Value::Datum(value)
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Datum(value) => value.fmt(f),
            Value::Stream(_) => f.write_str("Stream"),
            Value::Unchanged => f.write_str("Unchanged"),
            Value::Default => f.write_str("Default"),
        }
    }
}

impl Session {
    /// Inserts a row of values in column order; returns its address. Streams are read once, to
    /// their end, and never held in memory as a whole.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert); [`Error::Stream`]: a stream has failed.
    pub fn insert_values(
        &mut self,
        table: &Table,
        values: Vec<Value<'_>>,
    ) -> Result<Address, Error> {
        self.statement("INSERT", |context| {
            context.lock_table(table, LockMode::Ix)?;
            context.begin_change(table)?;
            let storage = table.storage();
            context.verify_writable(table, &storage)?;
            let of = table.with(&storage);
            let mut row = context.cells_of_values(of, values, None)?;
            context.insert_at(of, &mut row)
        })
    }

    /// Gives a row other values, in column order; returns its address from then on. Values that are
    /// [`Value::Unchanged`] are neither read nor written.
    ///
    /// # Errors
    /// As for [`update`](Self::update); [`Error::Stream`]: a stream has failed.
    pub fn update_values(
        &mut self,
        table: &Table,
        at: &Address,
        values: Vec<Value<'_>>,
    ) -> Result<Address, Error> {
        self.statement("UPDATE", |context| {
            let storage = context.lock_row(table, at)?;
            let record = storage.row_at(at)?.ok_or_else(|| Error::NoRow(at.clone()))?;
            let old = OldRow::of(&storage, &record)?;
            let of = table.with(&storage);
            let mut row = context.cells_of_values(of, values, Some(&old))?;
            context.update_at(of, at, old, &mut row)
        })
    }
}

impl StatementContext<'_> {
    fn cells_of_values(
        &mut self,
        of: TableRef<'_>,
        values: Vec<Value<'_>>,
        old: Option<&OldRow<'_>>,
    ) -> Result<Vec<Cell<'static>>, Error> {
        let storage = of.storage;
        if values.len() != storage.columns.len() {
            let expected = storage.columns.len();
            return Err(Error::Columns { expected, found: values.len() });
        }
        let mut cells = vec![Cell::Null; storage.shape.layout().columns.len()];
        for (column, value) in storage.columns.iter().zip(values) {
            let is_open =
                matches!(value, Value::Datum(Datum::Null) | Value::Unchanged | Value::Default);
            if storage.is_generated(column, is_open)? {
                continue;
            }
            let kept = old.and_then(|old| old.cells.get(column.at));
            cells[column.at] = match (value, kept) {
                (Value::Datum(value), _) => column.cell(&value)?,
                (Value::Stream(stream), _) => self.stream_cell(storage, column, stream)?,
                (Value::Unchanged, Some(kept)) => owned(kept.clone()),
                (Value::Unchanged | Value::Default, _) => {
                    column.cell(&self.missing(of, column)?)?
                }
            };
        }
        self.stamp(storage, &mut cells)?;
        storage.compute(&mut cells)?;
        Ok(cells)
    }

    /// The cell of a value that is read from a stream: one that may lie in a row is read into
    /// memory, a longer one is written off the row at once.
    pub(crate) fn stream_cell(
        &mut self,
        storage: &Storage,
        column: &TableColumn,
        stream: &mut dyn Read,
    ) -> Result<Cell<'static>, Error> {
        let most = column.ty.max_bytes().unwrap_or(IN_ROW_BYTES_MAX);
        let mut head = vec![0; most + 1];
        let len = read_chunk(stream, &mut head, &column.name)?;
        head.truncate(len);
        if len <= most {
            Datum::decode(&column.ty, &head).map_err(|error| column.refused(error.to_string()))?;
            return match head.as_slice() {
                [bit] if column.ty.is_bit() => Ok(Cell::Bit(*bit != 0)),
                _ => Ok(Cell::Bytes(Cow::Owned(head))),
            };
        }
        if column.ty.max_bytes().is_some() {
            return Err(column.refused(format!("a value of more than {most} bytes")));
        }
        if storage.is_evaluated(column.id) {
            return whole_value(column, head, stream);
        }
        let is_text = column.ty.is_lob() || storage.off_row_options.large_values_out_of_row;
        let form = if is_text { LobForm::Text } else { LobForm::InRow };
        let value = NewValue {
            column: &column.name,
            ty: column.ty,
            form,
            bytes: &mut head.as_slice().chain(stream),
        };
        Ok(Cell::Complex(Cow::Owned(self.write_value(&storage.off_row, value)?)))
    }
}

/// A value that an expression of the table needs: it is held in memory.
fn whole_value(
    column: &TableColumn,
    mut head: Vec<u8>,
    stream: &mut dyn Read,
) -> Result<Cell<'static>, Error> {
    let most = VALUE_IN_MEMORY_MAX;
    let mut rest = stream.take(most + 1 - head.len() as u64);
    rest.read_to_end(&mut head)
        .map_err(|source| Error::Stream { column: column.name.clone(), source })?;
    let bytes = head.len() as u64;
    if bytes > most {
        return Err(Error::ValueTooLong { bytes, most });
    }
    Datum::decode(&column.ty, &head).map_err(|error| column.refused(error.to_string()))?;
    Ok(Cell::Bytes(Cow::Owned(head)))
}
