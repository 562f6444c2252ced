//! Which values of a row lie off it.
//!
//! ```text
//! text, ntext, image       always, but for short ones with "text in row"; text pointer
//! (max), xml, large UDT    longer than 8,000 bytes: always; in-row root
//! row longer than 8,060    the longest variable column is pushed off, again and again, until the
//!                          rest fits: a (max) value under an in-row root into the LOB unit, any
//!                          other one under an overflow pointer into the overflow unit
//! ```
//!
//! Every change of a row decides again for all of its columns: a value that was pushed off is
//! pulled back when there is room. Keys of the clustered index stay, and so does what is not longer
//! than its pointer. Only lengths are needed to decide, and only values that move are read.

use std::borrow::Cow;

use extentdb_base::size::ROW_BYTES_MAX;
use extentdb_catalog::layout::{Cell, PhysicalColumn};
use extentdb_rowset::RowShape;
use extentdb_rowset::lob::LobForm;
use extentdb_types::SqlType;

use crate::catalog::off_row::{VALUE_IN_MEMORY_MAX, root_of};
use crate::catalog::storage::OffRowOptions;
use crate::catalog::system_table::owned;
use crate::catalog::{OffRowUnits, Storage};
use crate::dml::off_row::{NewValue, OldPointer, pointers_of};
use crate::error::Error;
use crate::session::StatementContext;

/// The longest value of a (max) column that may lie in its row.
pub(crate) const IN_ROW_BYTES_MAX: usize = 8000;
/// A pointer to a value that a page takes.
const POINTER_BYTES: usize = 24;

/// A row before it changes; empty where nothing needs it.
#[derive(Default)]
pub(crate) struct OldRow<'r> {
    /// As its record has them; empty in a table without values off its rows.
    pub(crate) stored: Vec<Cell<'r>>,
    /// With values off the row, as [`Storage::cells`] gives them.
    pub(crate) cells: Vec<Cell<'r>>,
}

impl<'r> OldRow<'r> {
    pub(crate) fn of(storage: &Storage, record: &'r [u8]) -> Result<OldRow<'r>, Error> {
        let cells = storage.cells(record)?;
        let has_pointers = storage.is_off_row(record);
        let stored = if has_pointers { storage.shape.decode(record)? } else { Vec::new() };
        Ok(OldRow { stored, cells })
    }

    /// The pointer to a value that the row has already.
    fn pointer_to(&self, at: usize, value: &[u8]) -> Option<&[u8]> {
        match (self.stored.get(at), self.cells.get(at)) {
            (Some(Cell::Complex(pointer)), Some(Cell::Bytes(old))) if **old == *value => {
                Some(pointer)
            }
            _ => None,
        }
    }
}

/// A row that replaces another one.
pub(crate) struct PlacedRow {
    /// As its record is to have them; `None` for those of the row.
    pub(crate) cells: Option<Vec<Cell<'static>>>,
    /// Values that the row leads to no more.
    pub(crate) left: Vec<OldPointer>,
}

impl PlacedRow {
    /// The cells of the record.
    pub(crate) fn row<'c>(
        &'c self,
        storage: &Storage,
        row: &'c [Cell<'static>],
    ) -> &'c [Cell<'static>] {
        self.cells.as_deref().unwrap_or_else(|| storage.stored(row))
    }
}

/// Rows of one shape, and where their values may lie.
#[derive(Clone, Copy)]
pub(crate) struct Placing<'s> {
    pub(crate) storage: &'s Storage,
    pub(crate) shape: &'s RowShape,
    pub(crate) units: &'s OffRowUnits,
    pub(crate) options: OffRowOptions,
}

impl<'s> Placing<'s> {
    pub(crate) fn of(storage: &'s Storage) -> Placing<'s> {
        Placing {
            storage,
            shape: &storage.shape,
            units: &storage.off_row,
            options: storage.off_row_options,
        }
    }

    /// Does a value of a LOB type never lie in the row? Then under which pointer?
    fn form_off_row(&self, ty: &SqlType, len: usize) -> Option<LobForm> {
        let limit = usize::from(self.options.text_in_row);
        if ty.is_lob() {
            return (len > limit || limit == 0).then_some(LobForm::Text);
        }
        if !ty.is_max() {
            return None;
        }
        if self.options.large_values_out_of_row {
            return Some(LobForm::Text);
        }
        (len > IN_ROW_BYTES_MAX).then_some(LobForm::InRow)
    }

    fn name(&self, column: &PhysicalColumn) -> &'s str {
        let own = self.storage.columns.iter().find(|own| own.id == column.column_id);
        own.map_or("", |own| &own.name)
    }
}

/// A variable column while it is decided where its value lies.
#[derive(Clone, Copy, Default, Debug)]
struct Choice {
    /// Bytes of the value.
    value: usize,
    /// Bytes of its pointer.
    pointer: usize,
    is_off: bool,
    may_move: bool,
}

impl Choice {
    fn len(&self) -> usize {
        if self.is_off { self.pointer } else { self.value }
    }
}

impl StatementContext<'_> {
    /// The row as its record is to have it. Values that have to lie off it are written.
    ///
    /// # Errors
    /// The row is too long whatever is pushed off it.
    pub(crate) fn place<'c>(
        &mut self,
        of: Placing<'_>,
        row: &'c [Cell<'_>],
        old: Option<&'c OldRow<'_>>,
    ) -> Result<Vec<Cell<'c>>, Error> {
        let mut placed: Vec<Cell<'c>> = row.iter().map(borrowed).collect();
        if of.units.is_empty() {
            return Ok(placed);
        }
        let columns = &of.shape.layout().columns;
        for (at, column) in columns.iter().enumerate() {
            if let (Some(Cell::Bytes(value)), Some(ty)) = (row.get(at), column.ty)
                && let Some(form) = of.form_off_row(&ty, value.len())
            {
                placed[at] = match old.and_then(|old| old.pointer_to(at, value)) {
                    Some(pointer) => Cell::Complex(Cow::Borrowed(pointer)),
                    None => self.write_cell(of, column, form, value)?,
                };
            }
        }
        let mut choices = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            choices.push(choice(of, column, placed.get(at), old.map(|old| (old, at)))?);
        }
        push_off(of.shape, &mut choices)?;
        for (at, (column, choice)) in columns.iter().zip(choices).enumerate() {
            if !choice.may_move {
                continue;
            }
            match (&placed[at], column.ty) {
                (Cell::Bytes(value), Some(ty)) if choice.is_off => {
                    let form = if ty.is_max() { LobForm::InRow } else { LobForm::Overflow };
                    placed[at] = match old.and_then(|old| old.pointer_to(at, value)) {
                        Some(pointer) => Cell::Complex(Cow::Borrowed(pointer)),
                        None => {
                            let value = value.clone();
                            self.write_cell(of, column, form, &value)?
                        }
                    };
                }
                (Cell::Complex(pointer), Some(ty)) if !choice.is_off => {
                    let value = of.units.value(&ty, pointer, VALUE_IN_MEMORY_MAX)?;
                    placed[at] = Cell::Bytes(Cow::Owned(value));
                }
                _ => {}
            }
        }
        Ok(placed)
    }

    /// The same of a row that replaces `old`.
    pub(crate) fn place_update(
        &mut self,
        storage: &Storage,
        old: &OldRow<'_>,
        row: &[Cell<'static>],
    ) -> Result<PlacedRow, Error> {
        if storage.off_row.is_empty() {
            return Ok(PlacedRow { cells: None, left: Vec::new() });
        }
        let placed = self.place(Placing::of(storage), storage.stored(row), Some(old))?;
        let left = left_pointers(storage, &old.stored, &placed)?;
        let cells = placed.into_iter().map(owned).collect();
        Ok(PlacedRow { cells: Some(cells), left })
    }

    fn write_cell(
        &mut self,
        of: Placing<'_>,
        column: &PhysicalColumn,
        form: LobForm,
        mut value: &[u8],
    ) -> Result<Cell<'static>, Error> {
        let ty = column.ty.unwrap_or(SqlType::Image);
        let value = NewValue { column: of.name(column), ty, form, bytes: &mut value };
        Ok(Cell::Complex(Cow::Owned(self.write_value(of.units, value)?)))
    }
}

/// What is known of a column before anything is pushed off.
fn choice(
    of: Placing<'_>,
    column: &PhysicalColumn,
    cell: Option<&Cell<'_>>,
    old: Option<(&OldRow<'_>, usize)>,
) -> Result<Choice, Error> {
    let is_variable = column.leaf.offset < 0;
    let Some(ty) = column.ty.filter(|_| is_variable) else { return Ok(Choice::default()) };
    let is_free = column.key_ordinal == 0 && !column.is_uniquifier() && !ty.is_lob();
    match cell {
        Some(Cell::Bytes(value)) => {
            let kept = old.and_then(|(old, at)| old.pointer_to(at, value));
            Ok(Choice {
                value: value.len(),
                pointer: kept.map_or(POINTER_BYTES, <[u8]>::len),
                is_off: false,
                may_move: is_free,
            })
        }
        Some(Cell::Complex(pointer)) => {
            let root = root_of(&ty, pointer)?;
            let is_in_row = matches!(root.form(), LobForm::InRow | LobForm::Overflow);
            let value = of.units.value_len(&root)?;
            let may_move = is_free && is_in_row && value <= IN_ROW_BYTES_MAX as u64;
            Ok(Choice {
                value: if may_move { value as usize } else { 0 },
                pointer: pointer.len(),
                is_off: !may_move,
                may_move,
            })
        }
        _ => Ok(Choice::default()),
    }
}

/// Pushes the longest columns off until the others fit.
fn push_off(shape: &RowShape, choices: &mut [Choice]) -> Result<(), Error> {
    loop {
        let bytes = shape.leaf_bytes(|at| choices.get(at).map_or(0, Choice::len));
        if bytes <= ROW_BYTES_MAX {
            return Ok(());
        }
        let is_candidate =
            |choice: &Choice| choice.may_move && !choice.is_off && choice.value > choice.pointer;
        let longest = choices.iter().filter(|choice| is_candidate(choice)).map(Choice::len).max();
        let pushed = choices.iter_mut().find(|own| is_candidate(own) && Some(own.len()) == longest);
        match pushed {
            Some(choice) => choice.is_off = true,
            None => {
                let most = ROW_BYTES_MAX;
                return Err(extentdb_rowset::Error::RowTooLong { bytes, most }.into());
            }
        }
    }
}

/// The pointers of the old row that the new one has not.
fn left_pointers(
    storage: &Storage,
    old: &[Cell<'_>],
    new: &[Cell<'_>],
) -> Result<Vec<OldPointer>, Error> {
    let kept: Vec<&[u8]> = new
        .iter()
        .filter_map(|cell| if let Cell::Complex(bytes) = cell { Some(&**bytes) } else { None })
        .collect();
    let mut left = pointers_of(storage, old, |_| true)?;
    left.retain(|pointer| !kept.contains(&pointer.bytes.as_slice()));
    Ok(left)
}

/// A cell that borrows its bytes.
fn borrowed<'c>(cell: &'c Cell<'_>) -> Cell<'c> {
    match cell {
        Cell::Null => Cell::Null,
        Cell::Missing => Cell::Missing,
        Cell::Bit(bit) => Cell::Bit(*bit),
        Cell::Bytes(bytes) => Cell::Bytes(Cow::Borrowed(bytes)),
        Cell::Complex(bytes) => Cell::Complex(Cow::Borrowed(bytes)),
    }
}
