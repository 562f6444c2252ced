//! Parts of values: read at any offset, and changed in place.
//!
//! ```text
//! read_lob    the row is locked while the reader is used
//! write_lob   .WRITE (data, offset, length): bytes of the value are replaced by others, of another
//!             number perhaps; a tree is cut and continued, and what stays of it is not copied
//! ```

use std::borrow::Cow;
use std::io::Read;

use extentdb_catalog::layout::Cell;
use extentdb_rowset::lob::{LobCursor, LobRoot, LobSplice};
use extentdb_rowset::version::Versions;
use extentdb_types::SqlType;

use crate::catalog::off_row::root_of;
use crate::catalog::system_table::owned;
use crate::catalog::{Address, Storage, Table, TableColumn};
use crate::dml::off_row::{copy_stream, verify_len};
use crate::dml::placing::OldRow;
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::scan::hints::ReadHints;
use crate::scan::reading::{Extent, Reading};
use crate::session::{SeenVersions, Session, StatementContext};

/// A value as a stream of its stored bytes: of its code page, or two for a UTF-16 unit.
#[derive(Debug)]
pub struct LobReader<'r> {
    body: Body<'r>,
}

#[derive(Debug)]
enum Body<'r> {
    InRow { bytes: Cow<'r, [u8]>, offset: u64 },
    Tree(LobCursor<'r>),
}

impl<'r> LobReader<'r> {
    pub(crate) fn open(
        storage: &'r Storage,
        column: &TableColumn,
        cell: Cell<'r>,
        versions: Option<Versions<'r>>,
    ) -> Result<Option<LobReader<'r>>, Error> {
        let body = match cell {
            Cell::Null | Cell::Missing => return Ok(None),
            Cell::Bit(_) => return Err(column.refused("a bit has no bytes of its own")),
            Cell::Bytes(bytes) => Body::InRow { bytes, offset: 0 },
            Cell::Complex(pointer) => {
                let root = root_of(&column.ty, &pointer)?;
                Body::Tree(storage.off_row.cursor_seen(&root, versions)?)
            }
        };
        Ok(Some(LobReader { body }))
    }

    /// Bytes of the value.
    #[expect(clippy::len_without_is_empty, reason = "a value is a stream, not a collection")]
    pub fn len(&self) -> u64 {
        match &self.body {
            Body::InRow { bytes, .. } => bytes.len() as u64,
            Body::Tree(cursor) => cursor.len(),
        }
    }

    /// The next read begins at this offset; past the end it reads nothing.
    pub fn seek(&mut self, to: u64) {
        match &mut self.body {
            Body::InRow { offset, .. } => *offset = to,
            Body::Tree(cursor) => cursor.seek(to),
        }
    }

    /// Fills `out` from the current offset on; fewer bytes at the end of the value.
    ///
    /// # Errors
    /// A record of the value is damaged or cannot be read.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        match &mut self.body {
            Body::InRow { bytes, offset } => {
                let start = usize::try_from(*offset).unwrap_or(usize::MAX).min(bytes.len());
                let count = out.len().min(bytes.len() - start);
                out[..count].copy_from_slice(&bytes[start..start + count]);
                *offset += count as u64;
                Ok(count)
            }
            Body::Tree(cursor) => Ok(cursor.read(out)?),
        }
    }
}

/// The part of a value that is replaced.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LobPart {
    /// Its first byte; `None` for the end of the value, to append.
    pub offset: Option<u64>,
    /// Its length in bytes; `None` for all up to the end of the value.
    pub length: Option<u64>,
    /// Bytes that replace it, when that is known: as many as before change the value in place.
    pub data_len: Option<u64>,
}

impl Session {
    /// Calls `read` with a column of a row as a stream, or with `None` for NULL. The row is locked
    /// as by any read, and while `read` runs.
    ///
    /// # Errors
    /// There is no such row or column; those of `read`.
    pub fn read_lob<T>(
        &mut self,
        table: &Table,
        at: &Address,
        column: &str,
        read: impl FnOnce(Option<LobReader<'_>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.statement("SELECT", |context| {
            let hints = ReadHints::default();
            context.lock_to_read(table, hints, Extent::Part)?;
            let storage = table.storage();
            let number = column_number(&storage, column)?;
            let seen = context.seen(hints);
            let versions = seen.as_ref().map(SeenVersions::versions);
            let reading = Reading { table, storage: &storage, hints, versions };
            let found = context.read_row(reading, at)?.ok_or_else(|| Error::NoRow(at.clone()))?;
            read(RowRef::at(&storage, &found.record, at)?.seen_by(versions).lob(number)?)
        })
    }

    /// Replaces a part of a value of a LOB type by the bytes of a stream, as `.WRITE` does. The
    /// rest of the value stays where it is.
    ///
    /// # Errors
    /// The value is NULL, or shorter than where the part begins; the column is of another type.
    pub fn write_lob(
        &mut self,
        table: &Table,
        at: &Address,
        column: &str,
        part: LobPart,
        data: &mut dyn Read,
    ) -> Result<Address, Error> {
        self.statement("UPDATE", |context| {
            let storage = context.lock_row(table, at)?;
            let number = column_number(&storage, column)?;
            let record = storage.row_at(at)?.ok_or_else(|| Error::NoRow(at.clone()))?;
            let mut old = OldRow::of(&storage, &record)?;
            let column = &storage.columns[number];
            verify_has_parts(column)?;
            let cell = context.splice(&storage, column, &mut old, part, data)?;
            let mut row: Vec<Cell<'static>> = old.cells.iter().cloned().map(owned).collect();
            row[column.at] = cell;
            context.stamp(&storage, &mut row)?;
            storage.compute(&mut row)?;
            context.update_at(table.with(&storage), at, old, &mut row)
        })
    }
}

impl StatementContext<'_> {
    /// Replaces a part of a value. A tree is changed at once, and `old` leads to what it is then.
    fn splice(
        &mut self,
        storage: &Storage,
        column: &TableColumn,
        old: &mut OldRow<'_>,
        part: LobPart,
        data: &mut dyn Read,
    ) -> Result<Cell<'static>, Error> {
        let pointer = match old.stored.get(column.at) {
            Some(Cell::Complex(pointer)) => Some(pointer.to_vec()),
            _ => None,
        };
        let Some(pointer) = pointer else {
            let Some(Cell::Bytes(bytes)) = old.cells.get(column.at) else {
                return Err(column.refused("it is NULL, and has no part that could be replaced"));
            };
            let end = bytes.len() as u64;
            let offset = verify_offset(column, part, end)?;
            let rest = offset.saturating_add(part.length.unwrap_or(end)).min(end);
            let mut whole = bytes[..offset as usize].chain(data).chain(&bytes[rest as usize..]);
            return self.stream_cell(storage, column, &mut whole);
        };
        let root = root_of(&column.ty, &pointer)?;
        let new = self.edit(storage, column, &root, part, data)?;
        let is_empty = new.is_empty_in_row();
        let new = if is_empty { Cell::Bytes(Cow::Borrowed(&[])) } else { complex(&new) };
        // What the tree is now belongs to the row already; nothing is left of an empty one.
        old.stored[column.at] = if is_empty { Cell::Null } else { new.clone() };
        let value = storage.evaluated(column, new)?;
        old.cells[column.at] = value.clone();
        Ok(value)
    }

    fn edit(
        &mut self,
        storage: &Storage,
        column: &TableColumn,
        root: &LobRoot,
        part: LobPart,
        data: &mut dyn Read,
    ) -> Result<LobRoot, Error> {
        let units = &storage.off_row;
        self.keep_value(units, root)?;
        let end = units.value_len(root)?;
        let offset = verify_offset(column, part, end)?;
        let length = part.length.unwrap_or(end - offset);
        let splice = LobSplice { offset, length, data_len: part.data_len };
        let unit = units.of_form(root.form())?;
        let cancellation = self.cancellation().clone();
        self.change_lob(unit, |change| {
            let mut writer = unit.edit(change, root, splice)?;
            copy_stream(data, &column.name, &cancellation, &mut writer)?;
            verify_len(&column.ty, writer.value_len(), &column.name)?;
            Ok(writer.finish()?)
        })
    }
}

fn complex(root: &LobRoot) -> Cell<'static> {
    Cell::Complex(Cow::Owned(root.to_bytes()))
}

/// Where a part begins in a value of `end` bytes.
fn verify_offset(column: &TableColumn, part: LobPart, end: u64) -> Result<u64, Error> {
    let offset = part.offset.unwrap_or(end);
    if offset > end {
        return Err(column.refused(format!("offset {offset} is past its {end} bytes")));
    }
    Ok(offset)
}

fn column_number(storage: &Storage, name: &str) -> Result<usize, Error> {
    let found = storage.columns.iter().position(|own| own.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| storage.no_column(name))
}

/// Refuses a column whose values are replaced as a whole only.
fn verify_has_parts(column: &TableColumn) -> Result<(), Error> {
    let is_whole = matches!(column.ty, SqlType::Xml | SqlType::Udt { .. });
    if column.formula.is_none() && !is_whole && (column.ty.is_lob() || column.ty.is_max()) {
        Ok(())
    } else {
        Err(column.refused("its values have no parts"))
    }
}
