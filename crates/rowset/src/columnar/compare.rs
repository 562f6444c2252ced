//! Comparisons of a column with a constant, before anything is copied.

use std::cmp::Ordering;

use extentdb_format::record::RecordForm;
use extentdb_format::record::uniform::array;
use extentdb_types::SqlType;
use extentdb_types::native::{self, NativeForm};

use super::plan::{Decoder, Place, Projected, WORD_BITS};
use super::vector::{Form, Values, Vector};
use super::{Located, Rows};
use crate::error::Error;
use crate::layout::RowShape;

/// How a column and a constant compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each variant is the operator it names")]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A comparison of a column with a constant that is not NULL. A NULL satisfies none.
#[derive(Clone, Debug)]
pub struct Comparison {
    decoder: Decoder,
    op: CompareOp,
    constant: Constant,
}

/// The constant as the number that values of its column are.
#[derive(Clone, Copy, Debug)]
enum Constant {
    Int(i64),
    Wide(i128),
    Float(f64),
}

/// What records have in common that were looked at together: one form, and which columns may be
/// NULL in one of them. Records that are left out since then do not matter.
#[derive(Clone, Copy, Debug)]
pub struct Alike {
    form: RecordForm,
    /// The null bits of all of them together.
    nulls: u64,
}

impl Alike {
    /// `None` of records of several forms.
    fn of(bytes: &[u8], rows: &[Located], end: Option<u16>) -> Option<Alike> {
        let form = RecordForm::of(bytes, rows.first()?.start.into(), end)?;
        let mut nulls = 0;
        for row in rows {
            if RecordForm::of(bytes, row.start.into(), end) != Some(form) {
                return None;
            }
            nulls |= form.null_word(bytes, row.start.into());
        }
        Some(Alike { form, nulls })
    }

    /// Is the column of this null bit NULL in one of them, perhaps?
    fn may_be_null(&self, null_bit: u16) -> bool {
        match null_bit {
            0 => false,
            1..=WORD_BITS => self.nulls >> (null_bit - 1) & 1 != 0,
            _ => true,
        }
    }
}

impl CompareOp {
    /// Does a value that compares so with the constant satisfy it?
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            CompareOp::Equal => order.is_eq(),
            CompareOp::NotEqual => order.is_ne(),
            CompareOp::Less => order.is_lt(),
            CompareOp::LessOrEqual => order.is_le(),
            CompareOp::Greater => order.is_gt(),
            CompareOp::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Comparison {
    /// Are columns of a type compared here? Those whose values are numbers or bits.
    pub fn is_native(ty: &SqlType) -> bool {
        ty.is_bit() || NativeForm::of(ty).is_some()
    }

    /// Of a column at a position of the layout with a stored value of its type.
    ///
    /// # Errors
    /// It is not one of the [types that are compared](Self::is_native), or the value not of its
    /// type.
    pub fn new(
        shape: &RowShape,
        column: Projected,
        op: CompareOp,
        stored: &[u8],
    ) -> Result<Comparison, Error> {
        let decoder = Decoder::new(shape, &[Projected { to: 0, ..column }])?;
        let refused = Error::Record { what: "a type that is not compared" };
        let mut value = decoder.vectors().pop().ok_or(refused)?;
        value.push_stored(Some(stored))?;
        let constant = Constant::first(&value);
        let constant = constant.ok_or(Error::Record { what: "a type that is not compared" })?;
        Ok(Comparison { decoder, op, constant })
    }

    /// Keeps the rows that satisfy it. `alike`: what the rows were found to have in common.
    ///
    /// # Errors
    /// A record does not add up.
    pub fn retain(
        &self,
        bytes: &[u8],
        alike: Option<&Alike>,
        rows: &mut Vec<Located>,
    ) -> Result<(), Error> {
        let Some(column) = self.decoder.columns.first() else { return Ok(()) };
        let alike = alike.filter(|alike| {
            column.is_in_runs(&alike.form) && alike.form.has_column(column.null_bit)
        });
        match (alike, column.place) {
            (Some(alike), Place::Fixed { offset, .. }) => {
                let null_bit = column.null_bit;
                if alike.may_be_null(null_bit) {
                    retain(rows, |row| !alike.form.is_null(bytes, row.start.into(), null_bit));
                }
                self.retain_fixed(bytes, offset, column.form(), rows);
                Ok(())
            }
            _ => self.retain_any(bytes, rows),
        }
    }

    /// What rows have in common that are compared.
    pub fn alike(&self, bytes: &[u8], rows: &[Located]) -> Option<Alike> {
        Alike::of(bytes, rows, self.decoder.shape().record_end())
    }

    /// Of records of one form, none of them NULL in the column.
    fn retain_fixed(&self, bytes: &[u8], offset: usize, form: Form, rows: &mut Vec<Located>) {
        let at = |row: &Located| usize::from(row.start) + offset;
        match (form, self.constant) {
            (Form::Native(NativeForm::I32), Constant::Int(constant)) => {
                let constant = constant as i32;
                let value = |row: &Located| i32::from_le_bytes(array(bytes, at(row)));
                retain_compared(rows, self.op, |row| value(row).cmp(&constant));
            }
            (Form::Native(NativeForm::Date), Constant::Int(constant)) => {
                let constant = constant as i32;
                let value = |row: &Located| native::date(array(bytes, at(row)));
                retain_compared(rows, self.op, |row| value(row).cmp(&constant));
            }
            (Form::Native(NativeForm::I64), Constant::Int(constant)) => {
                let value = |row: &Located| i64::from_le_bytes(array(bytes, at(row)));
                retain_compared(rows, self.op, |row| value(row).cmp(&constant));
            }
            (Form::Native(NativeForm::Decimal { bytes: 5 }), Constant::Wide(constant)) => {
                let value = |row: &Located| native::decimal::<5>(array(bytes, at(row)));
                retain_compared(rows, self.op, |row| value(row).cmp(&constant));
            }
            (Form::Native(NativeForm::Decimal { bytes: 9 }), Constant::Wide(constant)) => {
                let value = |row: &Located| native::decimal::<9>(array(bytes, at(row)));
                retain_compared(rows, self.op, |row| value(row).cmp(&constant));
            }
            _ => {
                let mut values = Vector::new(self.decoder.columns[0].ty(), form);
                values.gather(Rows { bytes, rows }, offset, 0);
                self.retain_by(&values, rows);
            }
        }
    }

    /// Of any records, by their values.
    fn retain_any(&self, bytes: &[u8], rows: &mut Vec<Located>) -> Result<(), Error> {
        let mut builder = super::ColumnBuilder::new(self.decoder.vectors());
        self.decoder.decode(Rows { bytes, rows }, &mut builder)?;
        if let Some(values) = builder.finish().first() {
            self.retain_by(values, rows);
        }
        Ok(())
    }

    fn retain_by(&self, values: &Vector, rows: &mut Vec<Located>) {
        let holds = |row: usize| {
            let order = self.constant.compared_with(values, row);
            !values.is_null(row) && order.is_some_and(|order| self.op.holds(order))
        };
        let mut row = 0;
        rows.retain(|_| {
            row += 1;
            holds(row - 1)
        });
    }
}

impl Constant {
    /// The first value of a vector; `None` of one that is not of numbers.
    fn first(values: &Vector) -> Option<Constant> {
        Some(match &values.values {
            Values::Bits(bits) => Constant::Int(bits.get(0).into()),
            Values::U8(values) => Constant::Int((*values.first()?).into()),
            Values::I16(values) => Constant::Int((*values.first()?).into()),
            Values::I32(values) => Constant::Int((*values.first()?).into()),
            Values::I64(values) => Constant::Int(*values.first()?),
            Values::I128(values) => Constant::Wide(*values.first()?),
            Values::F32(values) => Constant::Float((*values.first()?).into()),
            Values::F64(values) => Constant::Float(*values.first()?),
            Values::Fixed { .. } | Values::Variable { .. } => return None,
        })
    }

    /// How a value of a vector compares with it.
    fn compared_with(self, values: &Vector, row: usize) -> Option<Ordering> {
        match (&values.values, self) {
            (Values::Bits(bits), Constant::Int(own)) => Some(i64::from(bits.get(row)).cmp(&own)),
            (Values::U8(values), Constant::Int(own)) => {
                Some(i64::from(*values.get(row)?).cmp(&own))
            }
            (Values::I16(values), Constant::Int(own)) => {
                Some(i64::from(*values.get(row)?).cmp(&own))
            }
            (Values::I32(values), Constant::Int(own)) => {
                Some(i64::from(*values.get(row)?).cmp(&own))
            }
            (Values::I64(values), Constant::Int(own)) => Some(values.get(row)?.cmp(&own)),
            (Values::I128(values), Constant::Wide(own)) => Some(values.get(row)?.cmp(&own)),
            (Values::F32(values), Constant::Float(own)) => {
                f64::from(*values.get(row)?).partial_cmp(&own)
            }
            (Values::F64(values), Constant::Float(own)) => values.get(row)?.partial_cmp(&own),
            _ => None,
        }
    }
}

/// The operator is settled before the loop begins.
fn retain_compared(rows: &mut Vec<Located>, op: CompareOp, order: impl Fn(&Located) -> Ordering) {
    match op {
        CompareOp::Equal => retain(rows, |row| order(row).is_eq()),
        CompareOp::NotEqual => retain(rows, |row| order(row).is_ne()),
        CompareOp::Less => retain(rows, |row| order(row).is_lt()),
        CompareOp::LessOrEqual => retain(rows, |row| order(row).is_le()),
        CompareOp::Greater => retain(rows, |row| order(row).is_gt()),
        CompareOp::GreaterOrEqual => retain(rows, |row| order(row).is_ge()),
    }
}

/// `Vec::retain` without a branch for each row.
#[inline(always)]
fn retain(rows: &mut Vec<Located>, holds: impl Fn(&Located) -> bool) {
    let mut kept = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        rows[kept] = row;
        kept += usize::from(holds(&row));
    }
    rows.truncate(kept);
}
