//! Values off their rows: written before the row that gets their pointers, freed after the row that
//! had them.
//!
//! ```text
//! INSERT   trees are written, then the row with their pointers
//! UPDATE   new trees are written, the row is replaced, trees that it leads to no more are freed.
//!          A value that stays keeps its tree, and only its pointer is copied
//! DELETE   the row is deleted, then its trees are freed: their pages are free after the commit
//! ```
//!
//! Each tree belongs to one row, and the row's lock protects it. A ghost keeps the pointers of the
//! row that it was, which nobody follows: a rollback restores row and trees together.

use std::io::Read;

use extentdb_base::cancel::Cancellation;
use extentdb_catalog::layout::Cell;
use extentdb_rowset::lob::{LobForm, LobRoot, LobWriter};
use extentdb_types::SqlType;

use crate::catalog::off_row::root_of;
use crate::catalog::{OffRowUnits, Storage};
use crate::error::Error;
use crate::session::StatementContext;

/// Bytes that are read from a stream at once.
const CHUNK_BYTES: usize = 256 << 10;

/// A value that is to be written off its row.
pub(crate) struct NewValue<'v> {
    /// Name of the column, for errors.
    pub(crate) column: &'v str,
    pub(crate) ty: SqlType,
    pub(crate) form: LobForm,
    pub(crate) bytes: &'v mut dyn Read,
}

impl StatementContext<'_> {
    /// Writes a value into a unit; returns its pointer.
    pub(crate) fn write_value(
        &mut self,
        units: &OffRowUnits,
        value: NewValue<'_>,
    ) -> Result<Vec<u8>, Error> {
        let blob_id = self.db().next_timestamp()? << 16;
        let unit = units.of_form(value.form)?;
        let cancellation = self.cancellation().clone();
        self.change_lob(unit, |change| {
            let mut writer = unit.create(change, value.form, blob_id);
            copy_stream(value.bytes, value.column, &cancellation, &mut writer)?;
            verify_len(&value.ty, writer.value_len(), value.column)?;
            Ok(writer.finish()?.to_bytes())
        })
    }

    /// A value is about to be freed, or changed in place. In a database with row versions the
    /// record that leads to it has been kept before it is freed; before it is changed in place, it
    /// will be kept by the update that follows. Here the value is kept for readers of that record.
    pub(crate) fn keep_value(&mut self, units: &OffRowUnits, root: &LobRoot) -> Result<(), Error> {
        // From here on the transaction is one that writes.
        self.tx()?;
        match self.versioning() {
            Some(versions) => Ok(units.of_form(root.form())?.keep(root, versions)?),
            None => Ok(()),
        }
    }

    /// Frees the trees that these pointers of a column lead to.
    pub(crate) fn free_values(
        &mut self,
        units: &OffRowUnits,
        pointers: &[OldPointer],
    ) -> Result<(), Error> {
        for OldPointer { ty, bytes } in pointers {
            self.keep_value(units, &root_of(ty, bytes)?)?;
        }
        self.free_unkept_values(units, pointers)
    }

    /// The same of a table that DDL changes: no older snapshot reads it any more.
    fn free_unkept_values(
        &mut self,
        units: &OffRowUnits,
        pointers: &[OldPointer],
    ) -> Result<(), Error> {
        for OldPointer { ty, bytes } in pointers {
            let root = root_of(ty, bytes)?;
            let unit = units.of_form(root.form())?;
            self.change_lob(unit, |change| Ok(unit.free(change, &root)?))?;
        }
        Ok(())
    }

    /// Frees the trees of columns that were dropped, when their rows are rewritten without
    /// them. Those of the overflow unit go with it.
    pub(crate) fn free_dropped_values(
        &mut self,
        storage: &Storage,
        row: &[Cell<'_>],
    ) -> Result<(), Error> {
        let mut left = pointers_of(storage, row, |column| column.is_dropped())?;
        left.retain(|pointer| {
            root_of(&pointer.ty, &pointer.bytes).is_ok_and(|root| root.form() != LobForm::Overflow)
        });
        self.free_unkept_values(&storage.off_row, &left)
    }
}

/// A pointer that a row had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OldPointer {
    pub(crate) ty: SqlType,
    pub(crate) bytes: Vec<u8>,
}

/// The pointers in a row, of the columns that `is_wanted` says.
pub(crate) fn pointers_of(
    storage: &Storage,
    row: &[Cell<'_>],
    is_wanted: impl Fn(&extentdb_catalog::layout::PhysicalColumn) -> bool,
) -> Result<Vec<OldPointer>, Error> {
    let mut found = Vec::new();
    for (cell, column) in row.iter().zip(&storage.shape.layout().columns) {
        if let Cell::Complex(bytes) = cell
            && is_wanted(column)
        {
            let unknown = || Error::catalog("a value off its row in a column of unknown type");
            let ty = column.ty.ok_or_else(unknown)?;
            found.push(OldPointer { ty, bytes: bytes.to_vec() });
        }
    }
    Ok(found)
}

/// Writes all that a stream has. A statement that is cancelled ends between two chunks.
pub(crate) fn copy_stream(
    stream: &mut dyn Read,
    column: &str,
    cancellation: &Cancellation,
    writer: &mut LobWriter<'_, '_>,
) -> Result<(), Error> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        cancellation.verify().map_err(|_| Error::Cancelled)?;
        let count = read_chunk(stream, &mut chunk, column)?;
        if count == 0 {
            return Ok(());
        }
        writer.write(&chunk[..count])?;
    }
}

/// Fills a buffer from a stream; fewer bytes at its end.
pub(crate) fn read_chunk(
    stream: &mut dyn Read,
    chunk: &mut [u8],
    column: &str,
) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < chunk.len() {
        match stream.read(&mut chunk[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(Error::Stream { column: column.to_owned(), source }),
        }
    }
    Ok(filled)
}

/// A text of two bytes per unit has an even length.
pub(crate) fn verify_len(ty: &SqlType, len: u64, column: &str) -> Result<(), Error> {
    let is_wide = matches!(ty, SqlType::NVarChar { .. } | SqlType::NText { .. });
    if is_wide && len % 2 == 1 {
        let what = format!("{len} bytes are no text of two bytes per character");
        return Err(Error::Value { column: column.to_owned(), what });
    }
    Ok(())
}
