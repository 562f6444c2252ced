//! Decoders: where the columns of a projection lie in the records of a rowset, compiled once for
//! each layout.

use std::borrow::Cow;

use extentdb_catalog::layout::{Cell, PhysicalColumn};
use extentdb_format::record::RecordForm;
use extentdb_types::SqlType;

use super::Rows;
use super::vector::{Form, Vector};
use crate::error::Error;
use crate::layout::RowShape;

/// Columns whose null bits are read as one word.
pub(super) const WORD_BITS: u16 = 64;

/// A column that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Projected {
    /// Its position in the layout of the rowset.
    pub at: usize,
    /// Its type in the table.
    pub ty: SqlType,
    /// The vector that gets its values.
    pub to: usize,
}

/// Makes vectors of the leaf records of one rowset.
#[derive(Clone, Debug)]
pub struct Decoder {
    pub(super) columns: Vec<Column>,
    shape: RowShape,
}

/// A column of a decoder.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) place: Place,
    /// From 1; 0 = it has none, and is never NULL.
    pub(super) null_bit: u16,
    pub(super) to: usize,
    physical: PhysicalColumn,
    ty: SqlType,
    /// Records that do not have the column have a value in it all the same.
    has_older_value: bool,
}

/// Where a column lies in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// At an offset, as many bytes.
    Fixed {
        offset: usize,
        bytes: usize,
    },
    Bit {
        offset: usize,
        mask: u8,
    },
    /// A variable column, from 0.
    Variable(u16),
    /// In the sparse vector: read alone.
    Sparse,
}

impl Decoder {
    /// Reads some columns of a rowset.
    ///
    /// # Errors
    /// A column is stored in a form that is not read here.
    pub fn new(shape: &RowShape, columns: &[Projected]) -> Result<Decoder, Error> {
        let column = |projected: &Projected| Column::of(shape, *projected);
        let columns = columns.iter().map(column).collect::<Result<_, Error>>()?;
        Ok(Decoder { columns, shape: shape.clone() })
    }

    /// Empty vectors of its columns, in their order.
    pub fn vectors(&self) -> Vec<Vector> {
        self.columns.iter().map(|column| Vector::new(column.ty, column.form())).collect()
    }

    /// Number of its columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Does it read none?
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The shape of the records.
    pub fn shape(&self) -> &RowShape {
        &self.shape
    }

    /// Appends the stored bytes of a column in all rows; `None` for NULL. A bit is one byte.
    ///
    /// # Errors
    /// A record does not add up, or the value lies off its row.
    pub fn stored<'b>(
        &'b self,
        column: usize,
        rows: Rows<'b>,
        out: &mut Vec<Option<&'b [u8]>>,
    ) -> Result<(), Error> {
        let found = self.columns.len();
        let column = self.columns.get(column).ok_or(Error::Columns { expected: column, found })?;
        for row in rows.rows {
            let start = usize::from(row.start);
            out.push(column.stored(&self.shape, rows.bytes, start)?);
        }
        Ok(())
    }
}

impl Column {
    fn of(shape: &RowShape, projected: Projected) -> Result<Column, Error> {
        let columns = &shape.layout().columns;
        let missing = Error::Columns { expected: columns.len(), found: projected.at };
        let physical = columns.get(projected.at).ok_or(missing)?.clone();
        let form = |what| Error::Form { column_id: physical.column_id, what };
        let place = match physical.leaf.offset {
            _ if physical.is_sparse() => Place::Sparse,
            0 => return Err(form("not in its rows")),
            offset if offset < 0 => Place::Variable(offset.unsigned_abs() - 1),
            offset if projected.ty.is_bit() => Place::Bit {
                offset: usize::from(offset.unsigned_abs()),
                mask: 1 << (physical.leaf.bit & 7),
            },
            offset => Place::Fixed {
                offset: usize::from(offset.unsigned_abs()),
                bytes: projected.ty.fixed_bytes().ok_or(form("no fixed length"))?,
            },
        };
        let is_same = physical.ty.is_none_or(|ty| ty.fixed_bytes() == projected.ty.fixed_bytes());
        if !is_same && !matches!(place, Place::Variable(_) | Place::Sparse) {
            return Err(form("of another length than the table says"));
        }
        let null_bit = physical.leaf.null_bit;
        Ok(Column {
            place,
            null_bit,
            to: projected.to,
            ty: projected.ty,
            has_older_value: shape.older_value(&physical).is_some(),
            physical,
        })
    }

    pub(super) fn ty(&self) -> SqlType {
        self.ty
    }

    /// How its values are held.
    pub(super) fn form(&self) -> Form {
        Form::of(&self.ty, !matches!(self.place, Place::Variable(_)))
    }

    /// Is it read in a run of records of a form? Their fixed part reaches to its end, or they do
    /// not have it.
    pub(super) fn is_in_runs(&self, form: &RecordForm) -> bool {
        if self.has_older_value && !form.has_column(self.null_bit) {
            return false;
        }
        let end = match self.place {
            Place::Sparse => return false,
            Place::Fixed { offset, bytes } => offset + bytes,
            Place::Bit { offset, .. } => offset + 1,
            Place::Variable(_) if self.form() == Form::Variable => 0,
            // Some old tables have fixed types there.
            Place::Variable(_) => return false,
        };
        end <= form.fixed_end() || !form.has_column(self.null_bit)
    }

    /// The value of a record as the catalog describes it, whatever its form; missing where the
    /// record is from before the column.
    pub(super) fn cell<'b>(
        &self,
        shape: &RowShape,
        bytes: &'b [u8],
        start: usize,
    ) -> Result<Cell<'b>, Error> {
        let record = shape.sound_leaf(bytes.get(start..).unwrap_or_default())?;
        shape.stored_cell(&record, &self.physical)
    }

    /// What records have in it that are from before the column; `None` for NULL.
    pub(super) fn older_value<'s>(&self, shape: &'s RowShape) -> Result<Option<&'s [u8]>, Error> {
        match shape.older_value(&self.physical) {
            None | Some(Cell::Null | Cell::Missing) => Ok(None),
            Some(Cell::Bit(bit)) => Ok(Some(if *bit { &[1] } else { &[0] })),
            Some(Cell::Bytes(value)) => Ok(Some(value)),
            Some(Cell::Complex(_)) => Err(Error::OffRow { column_id: self.physical.column_id }),
        }
    }

    fn stored<'b>(
        &self,
        shape: &'b RowShape,
        bytes: &'b [u8],
        start: usize,
    ) -> Result<Option<&'b [u8]>, Error> {
        if let Some(form) = RecordForm::of(bytes, start, shape.record_end())
            && form.has_column(self.null_bit)
            && let Place::Fixed { offset, bytes: len } = self.place
            && offset + len <= form.fixed_end()
        {
            let is_null = form.is_null(bytes, start, self.null_bit);
            let value = bytes.get(start + offset..start + offset + len);
            return Ok(value.filter(|_| !is_null));
        }
        match self.cell(shape, bytes, start)? {
            Cell::Missing => self.older_value(shape),
            Cell::Null => Ok(None),
            Cell::Bit(true) => Ok(Some(&[1])),
            Cell::Bit(false) => Ok(Some(&[0])),
            Cell::Bytes(Cow::Borrowed(value)) => Ok(Some(value)),
            Cell::Bytes(_) | Cell::Complex(_) => {
                Err(Error::OffRow { column_id: self.physical.column_id })
            }
        }
    }
}
