//! Records to vectors.
//!
//! Its speed comes from runs of records of one [`RecordForm`]: a column of fixed length is at the
//! same offset in all of them, and all have a column or none has, so that a run is decoded column
//! by column, each in one loop. The rows of a page are one run when the table was not altered
//! between them. A record without a form is decoded alone, cell by cell, and so is one whose fixed
//! part does not reach to a wanted column.

use extentdb_catalog::layout::Cell;
use extentdb_format::record::RecordForm;

use super::plan::{Column, Decoder, Place, WORD_BITS};
use super::vector::{Values, Vector};
use super::{Located, Rows};
use crate::error::Error;

/// Bytes of the values of variable length of one column from which on a builder is full: offsets
/// are `i32`, and one more page must fit.
const VARIABLE_BYTES_MAX: usize = 1 << 30;

/// Vectors that grow together.
#[derive(Clone, Debug)]
pub struct ColumnBuilder {
    vectors: Vec<Vector>,
    rows: usize,
    /// Null bits of the rows of a run.
    null_words: Vec<u64>,
}

impl ColumnBuilder {
    /// Over empty vectors.
    pub fn new(vectors: Vec<Vector>) -> ColumnBuilder {
        ColumnBuilder { vectors, rows: 0, null_words: Vec::new() }
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Must the batch end here?
    pub fn is_full(&self) -> bool {
        self.vectors.iter().any(|vector| vector.variable_bytes() >= VARIABLE_BYTES_MAX)
    }

    /// A vector, for values that are not in records.
    pub fn vector(&mut self, at: usize) -> Option<&mut Vector> {
        self.vectors.get_mut(at)
    }

    /// The vectors.
    pub fn finish(self) -> Vec<Vector> {
        self.vectors.into_iter().map(Vector::finish).collect()
    }
}

impl Decoder {
    /// Appends rows.
    ///
    /// # Errors
    /// A record does not add up. The builder is of no use then.
    pub fn decode(&self, rows: Rows<'_>, to: &mut ColumnBuilder) -> Result<(), Error> {
        let mut rest = rows.rows;
        while let Some(first) = rest.first() {
            let form = self.form_of(rows.bytes, first);
            let run = match form {
                Some(form) => self.run_of(form, rows.bytes, rest),
                None => 1,
            };
            let (run, after) = rest.split_at(run);
            let run = Rows { bytes: rows.bytes, rows: run };
            match form {
                Some(form) => self.decode_run(form, run, to)?,
                None => self.decode_alone(rows.bytes, first, to)?,
            }
            rest = after;
        }
        to.rows += rows.rows.len();
        Ok(())
    }

    /// Appends the row of a record.
    ///
    /// # Errors
    /// As of [`decode`](Self::decode).
    pub fn decode_record(&self, record: &[u8], to: &mut ColumnBuilder) -> Result<(), Error> {
        let rows = &[Located { start: 0, slot: 0 }];
        self.decode(Rows { bytes: record, rows }, to)
    }

    /// The form of a record; `None` of one that is read alone.
    fn form_of(&self, bytes: &[u8], row: &Located) -> Option<RecordForm> {
        let form = RecordForm::of(bytes, row.start.into(), self.shape().record_end())?;
        self.columns.iter().all(|column| column.is_in_runs(&form)).then_some(form)
    }

    /// How many of the rows have a form.
    fn run_of(&self, form: RecordForm, bytes: &[u8], rows: &[Located]) -> usize {
        let end = self.shape().record_end();
        let is_other = |row: &Located| RecordForm::of(bytes, row.start.into(), end) != Some(form);
        rows.iter().position(is_other).unwrap_or(rows.len())
    }

    fn decode_run(
        &self,
        form: RecordForm,
        run: Rows<'_>,
        to: &mut ColumnBuilder,
    ) -> Result<(), Error> {
        to.null_words.clear();
        let words = run.rows.iter().map(|row| form.null_word(run.bytes, row.start.into()));
        to.null_words.extend(words);
        let any = to.null_words.iter().fold(0, |any, word| any | word);
        for column in &self.columns {
            let Some(vector) = to.vectors.get_mut(column.to) else { continue };
            if !form.has_column(column.null_bit) {
                vector.push_nulls(run.rows.len());
                continue;
            }
            let run = ColumnRun { form, run, null_words: &to.null_words, any };
            run.decode(column, vector)?;
        }
        Ok(())
    }

    fn decode_alone(
        &self,
        bytes: &[u8],
        row: &Located,
        to: &mut ColumnBuilder,
    ) -> Result<(), Error> {
        for column in &self.columns {
            let Some(vector) = to.vectors.get_mut(column.to) else { continue };
            match column.cell(self.shape(), bytes, row.start.into())? {
                Cell::Null => vector.push_nulls(1),
                Cell::Missing => vector.push_stored(column.older_value(self.shape())?)?,
                Cell::Bit(bit) => vector.push_stored(Some(&[u8::from(bit)]))?,
                Cell::Bytes(value) => vector.push_stored(Some(&value))?,
                Cell::Complex(pointer) => vector.push_off_row(&pointer)?,
            }
        }
        Ok(())
    }
}

/// Records of one form, and their null bits.
struct ColumnRun<'r> {
    form: RecordForm,
    run: Rows<'r>,
    null_words: &'r [u64],
    /// Those of all rows together.
    any: u64,
}

impl ColumnRun<'_> {
    fn decode(&self, column: &Column, vector: &mut Vector) -> Result<(), Error> {
        let first = vector.len();
        let null_bit = column.null_bit;
        let mut has_nulls = false;
        if (1..=WORD_BITS).contains(&null_bit) {
            let bit = null_bit - 1;
            has_nulls = self.any >> bit & 1 != 0;
            if has_nulls {
                vector.note_validity(self.null_words, |word| word >> bit & 1 == 0);
            }
        } else if null_bit > WORD_BITS {
            let is_null =
                |row: &Located| self.form.is_null(self.run.bytes, row.start.into(), null_bit);
            has_nulls = self.run.rows.iter().any(is_null);
            if has_nulls {
                vector.note_validity(self.run.rows, |row| !is_null(row));
            }
        }
        if !has_nulls {
            vector.note_valid(self.run.rows.len());
        }
        match column.place {
            Place::Fixed { offset, .. } => vector.gather(self.run, offset, 0),
            Place::Bit { offset, mask } => vector.gather(self.run, offset, mask),
            Place::Variable(number) => self.gather_variable(number, vector, first)?,
            // Its records are read alone.
            Place::Sparse => {}
        }
        Ok(())
    }

    /// Appends the values of a variable column; `first` is the row of the first one.
    fn gather_variable(&self, column: u16, vector: &mut Vector, first: usize) -> Result<(), Error> {
        let mut off_row = Vec::new();
        let validity = vector.validity.as_ref();
        let is_null = |row: usize| validity.is_some_and(|bits| !bits.get(row));
        if let Values::Variable { offsets, bytes } = &mut vector.values {
            offsets.reserve(self.run.rows.len());
            for (at, row) in (first..).zip(self.run.rows) {
                let value = if is_null(at) {
                    None
                } else {
                    let value = self.form.variable(self.run.bytes, row.start.into(), column);
                    value.map_err(|_| Error::Record { what: "its parts do not fit together" })?
                };
                if let Some(value) = value {
                    bytes.extend_from_slice(value.bytes);
                    if value.complex {
                        off_row.push(at);
                    }
                }
                offsets.push(bytes.len() as i32);
            }
        }
        off_row.into_iter().for_each(|row| vector.note_off_row(row));
        Ok(())
    }
}
