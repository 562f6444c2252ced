//! What an executor does with vectors: rows taken from them, values computed into them.
//!
//! Invariant: a vector that is built here is like one that a scan fills: the same type has the same
//! form.

use extentdb_types::SqlType;

use super::vector::{Values, Vector};

impl Vector {
    /// A vector of `rows` NULLs.
    pub fn nulls(ty: SqlType, rows: usize) -> Vector {
        let mut vector = Vector::computed(ty);
        vector.push_nulls(rows);
        vector
    }

    /// Appends a NULL.
    pub fn push_null(&mut self) {
        self.push_nulls(1);
    }

    /// Some of its values, in this order; a row may come twice.
    pub fn take(&self, rows: &[u32]) -> Vector {
        let mut taken = Vector::computed(self.ty);
        taken.append_rows(self, rows);
        taken
    }

    /// Some of its values, in this order; rows past the end give NULL.
    pub fn take_or_null(&self, rows: &[u32]) -> Vector {
        let is_own = |row: &u32| (*row as usize) < self.len();
        if rows.iter().all(is_own) {
            return self.take(rows);
        }
        let mut taken = Vector::computed(self.ty);
        for run in rows.chunk_by(|a, b| is_own(a) == is_own(b)) {
            if run.first().is_some_and(is_own) {
                taken.append_rows(self, run);
            } else {
                taken.push_nulls(run.len());
            }
        }
        taken
    }

    /// Appends some of the values of a vector of the same type, in this order.
    pub fn append_rows(&mut self, from: &Vector, rows: &[u32]) {
        if self.form() != from.form() {
            // The type has one form for fixed columns, another for those in the variable part.
            return self.append_stored(from, rows.iter().map(|row| *row as usize));
        }
        let at = |row: &u32| *row as usize;
        match (&mut self.values, &from.values) {
            (Values::Bits(out), Values::Bits(own)) => out.push_all(rows, |row| own.get(at(row))),
            (Values::U8(out), Values::U8(own)) => gather(out, own, rows),
            (Values::I16(out), Values::I16(own)) => gather(out, own, rows),
            (Values::I32(out), Values::I32(own)) => gather(out, own, rows),
            (Values::I64(out), Values::I64(own)) => gather(out, own, rows),
            (Values::I128(out), Values::I128(own)) => gather(out, own, rows),
            (Values::F32(out), Values::F32(own)) => gather(out, own, rows),
            (Values::F64(out), Values::F64(own)) => gather(out, own, rows),
            (Values::Fixed { bytes, .. }, _) => {
                rows.iter().for_each(|row| bytes.extend_from_slice(from.bytes(at(row))));
            }
            (Values::Variable { offsets, bytes }, _) => {
                for row in rows {
                    if !from.is_null(at(row)) {
                        bytes.extend_from_slice(from.bytes(at(row)));
                    }
                    offsets.push(bytes.len() as i32);
                }
            }
            _ => {}
        }
        match &from.validity {
            None => self.note_valid(rows.len()),
            Some(validity) => self.note_validity(rows, |row| validity.get(at(row))),
        }
    }

    /// Appends all values of a vector of the same type.
    pub fn append(&mut self, from: &Vector) {
        if self.form() != from.form() {
            return self.append_stored(from, 0..from.len());
        }
        match (&mut self.values, &from.values) {
            (Values::U8(out), Values::U8(own)) => out.extend_from_slice(own),
            (Values::I16(out), Values::I16(own)) => out.extend_from_slice(own),
            (Values::I32(out), Values::I32(own)) => out.extend_from_slice(own),
            (Values::I64(out), Values::I64(own)) => out.extend_from_slice(own),
            (Values::I128(out), Values::I128(own)) => out.extend_from_slice(own),
            (Values::F32(out), Values::F32(own)) => out.extend_from_slice(own),
            (Values::F64(out), Values::F64(own)) => out.extend_from_slice(own),
            (Values::Fixed { bytes, .. }, Values::Fixed { bytes: own, .. }) => {
                bytes.extend_from_slice(own);
            }
            _ => {
                let rows: Vec<u32> = (0..from.len() as u32).collect();
                return self.append_rows(from, &rows);
            }
        }
        match &from.validity {
            None => self.note_valid(from.len()),
            Some(validity) => {
                let rows: Vec<usize> = (0..from.len()).collect();
                self.note_validity(&rows, |row| validity.get(*row));
            }
        }
    }

    fn append_stored(&mut self, from: &Vector, rows: impl Iterator<Item = usize>) {
        let mut bytes = Vec::new();
        for row in rows {
            if from.is_null(row) {
                self.push_null();
                continue;
            }
            bytes.clear();
            from.stored_bytes(row, &mut bytes);
            // The bytes are those of the type: they come from a vector of it.
            if self.push_stored(Some(&bytes)).is_err() {
                self.push_null();
            }
        }
    }

    /// Appends values of a type that is held as integers of up to 64 bits, in the units of
    /// [`native`](extentdb_types::native); bits are 0 and 1. `None` is NULL.
    pub fn extend_integers(&mut self, values: &[i64], is_valid: &dyn Fn(usize) -> bool) {
        match &mut self.values {
            Values::Bits(out) => out.push_all(values, |value| *value != 0),
            Values::U8(out) => out.extend(values.iter().map(|value| *value as u8)),
            Values::I16(out) => out.extend(values.iter().map(|value| *value as i16)),
            Values::I32(out) => out.extend(values.iter().map(|value| *value as i32)),
            Values::I64(out) => out.extend_from_slice(values),
            _ => return self.push_nulls(values.len()),
        }
        self.note_rows(values.len(), is_valid);
    }

    /// The same of decimals: their unscaled values.
    pub fn extend_wide(&mut self, values: &[i128], is_valid: &dyn Fn(usize) -> bool) {
        match &mut self.values {
            Values::I128(out) => out.extend_from_slice(values),
            _ => return self.push_nulls(values.len()),
        }
        self.note_rows(values.len(), is_valid);
    }

    /// The same of float and real.
    pub fn extend_floats(&mut self, values: &[f64], is_valid: &dyn Fn(usize) -> bool) {
        match &mut self.values {
            Values::F64(out) => out.extend_from_slice(values),
            Values::F32(out) => out.extend(values.iter().map(|value| *value as f32)),
            _ => return self.push_nulls(values.len()),
        }
        self.note_rows(values.len(), is_valid);
    }

    fn note_rows(&mut self, rows: usize, is_valid: &dyn Fn(usize) -> bool) {
        if (0..rows).all(is_valid) {
            self.note_valid(rows);
        } else {
            let rows: Vec<usize> = (0..rows).collect();
            self.note_validity(&rows, |row| is_valid(*row));
        }
    }

    /// The values where they are held as integers of up to 64 bits; 0 for NULL.
    pub fn integers(&self) -> Option<Vec<i64>> {
        Some(match &self.values {
            Values::Bits(own) => (0..self.len()).map(|row| i64::from(own.get(row))).collect(),
            Values::U8(own) => own.iter().map(|value| i64::from(*value)).collect(),
            Values::I16(own) => own.iter().map(|value| i64::from(*value)).collect(),
            Values::I32(own) => own.iter().map(|value| i64::from(*value)).collect(),
            Values::I64(own) => own.clone(),
            _ => return None,
        })
    }

    /// Bytes that its values take in memory, about.
    pub fn memory(&self) -> usize {
        let values = match &self.values {
            Values::Bits(own) => own.bytes().len(),
            Values::U8(own) => own.len(),
            Values::I16(own) => 2 * own.len(),
            Values::I32(own) => 4 * own.len(),
            Values::F32(own) => 4 * own.len(),
            Values::I64(own) => 8 * own.len(),
            Values::F64(own) => 8 * own.len(),
            Values::I128(own) => 16 * own.len(),
            Values::Fixed { bytes, .. } => bytes.len(),
            Values::Variable { offsets, bytes } => 4 * offsets.len() + bytes.len(),
        };
        values + self.validity.as_ref().map_or(0, |bits| bits.bytes().len())
    }

    /// Replaces the value of a row that lies off it by its bytes, which have been read.
    ///
    /// # Errors
    /// A value of this form does not lie off its row.
    pub fn with_values_of(
        &self,
        read: &mut dyn FnMut(usize) -> Option<Vec<u8>>,
    ) -> Result<Vector, crate::Error> {
        let mut whole = Vector::computed(self.ty);
        for row in 0..self.len() {
            if self.is_null(row) {
                whole.push_null();
            } else if self.is_off_row(row) {
                whole.push_stored(read(row).as_deref())?;
            } else {
                whole.push_stored(Some(self.bytes(row)))?;
            }
        }
        Ok(whole)
    }
}

/// Appends the values of some rows.
fn gather<T: Copy + Default>(out: &mut Vec<T>, own: &[T], rows: &[u32]) {
    out.extend(rows.iter().map(|row| own.get(*row as usize).copied().unwrap_or_default()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::{Bits, Form};

    fn ints(values: &[Option<i32>]) -> Vector {
        let mut vector = Vector::computed(SqlType::Int);
        for value in values {
            vector.push_stored(value.map(i32::to_le_bytes).as_ref().map(|it| &it[..])).unwrap();
        }
        vector
    }

    fn texts(values: &[Option<&str>]) -> Vector {
        let collation = extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let mut vector = Vector::computed(SqlType::VarChar { len: Some(10), collation });
        for value in values {
            vector.push_stored(value.map(str::as_bytes)).unwrap();
        }
        vector
    }

    #[test]
    fn rows_are_taken_with_their_nulls() {
        let all = ints(&[Some(1), None, Some(3)]);
        assert_eq!(all.take(&[2, 1, 2]), ints(&[Some(3), None, Some(3)]));
        let all = texts(&[Some("a"), None, Some("ccc"), Some("")]);
        assert_eq!(all.take(&[3, 2, 1]), texts(&[Some(""), Some("ccc"), None]));
        assert_eq!(ints(&[Some(1), Some(2)]).take(&[1]).validity, None::<Bits>);
    }

    #[test]
    fn rows_past_the_end_are_null() {
        let all = ints(&[Some(1), None]);
        assert_eq!(all.take_or_null(&[9, 0, u32::MAX, 1]), ints(&[None, Some(1), None, None]));
        let all = texts(&[Some("a"), Some("bb")]);
        assert_eq!(all.take_or_null(&[1, 2, 0]), texts(&[Some("bb"), None, Some("a")]));
        assert_eq!(all.take_or_null(&[1, 0]), texts(&[Some("bb"), Some("a")]));
    }

    #[test]
    fn vectors_are_appended() {
        let mut all = ints(&[Some(1)]);
        all.append(&ints(&[None, Some(2)]));
        all.append(&ints(&[Some(3)]));
        assert_eq!(all, ints(&[Some(1), None, Some(2), Some(3)]));
        let mut all = texts(&[None]);
        all.append(&texts(&[Some("x"), None]));
        assert_eq!(all, texts(&[None, Some("x"), None]));
    }

    #[test]
    fn computed_values_have_the_form_of_stored_ones() {
        let mut vector = Vector::computed(SqlType::Int);
        vector.extend_integers(&[1, 0, 3], &|row| row != 1);
        assert_eq!(vector, ints(&[Some(1), None, Some(3)]));
        assert_eq!(vector.integers(), Some(vec![1, 0, 3]));
        assert_eq!(vector.form(), Form::Native(extentdb_types::native::NativeForm::I32));
    }
}
