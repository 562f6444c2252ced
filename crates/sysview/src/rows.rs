//! Rows of a view in the making: each value in the place and of the type that the shape says.

use std::borrow::Cow;

use extentdb_types::{CharText, CodePage, Collation, Datum, Decimal, NText, SqlType};

use crate::columns::{Columns, Tell};
use crate::error::Error;
use crate::shape::{View, ViewColumn};
use crate::value::Value;

/// Rows of a view.
pub(crate) struct Rows {
    view: &'static View,
    rows: Vec<Vec<Datum<'static>>>,
}

impl Rows {
    pub(crate) fn new(view: &'static View) -> Rows {
        Rows { view, rows: Vec::new() }
    }

    pub(crate) fn into_inner(self) -> Vec<Vec<Datum<'static>>> {
        self.rows
    }

    /// The error of a view that cannot be filled in this database.
    pub(crate) fn refused(&self) -> Error {
        Error::Refused { schema: self.view.schema, view: self.view.name }
    }

    /// Adds a row for each item.
    ///
    /// # Errors
    /// The columns are not those of the view, also when there is no item.
    pub(crate) fn add<T>(
        &mut self,
        columns: &Columns<T>,
        items: impl IntoIterator<Item = T>,
    ) -> Result<(), Error> {
        let tells = self.in_order(columns)?;
        for item in items {
            let row = tells.iter().map(|(column, tell)| {
                fit(tell(&item), column)
                    .ok_or(Error::Value { view: self.view.name, column: column.name })
            });
            self.rows.push(row.collect::<Result<_, _>>()?);
        }
        Ok(())
    }

    fn in_order<T>(
        &self,
        columns: &Columns<T>,
    ) -> Result<Vec<(&'static ViewColumn, Tell<T>)>, Error> {
        let view = self.view.name;
        let is_own = |name: &str| self.view.columns.iter().any(|column| column.name == name);
        if let Some((column, _)) = columns.told().iter().find(|(name, _)| !is_own(name)) {
            return Err(Error::Column { view, column });
        }
        let tell = |column: &'static ViewColumn| {
            let mut named = columns.told().iter().filter(|(name, _)| *name == column.name);
            match (named.next(), named.next()) {
                (Some((_, tell)), None) => Ok((column, *tell)),
                _ => Err(Error::Column { view, column: column.name }),
            }
        };
        self.view.columns.iter().map(tell).collect()
    }
}

/// The value as one of the column; `None` when it is none.
fn fit(value: Value, column: &ViewColumn) -> Option<Datum<'static>> {
    let ty = column.ty.sql_type(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let number = match value.0 {
        Datum::Null => return column.is_nullable.then_some(Datum::Null),
        Datum::BigInt(number) => number,
        Datum::Int(number) => number.into(),
        Datum::SmallInt(number) => number.into(),
        Datum::TinyInt(number) => number.into(),
        Datum::Bit(bit) => bit.into(),
        Datum::NChar(text) => return fit_text(&text, &ty),
        Datum::Binary(bytes) => return fit_bytes(bytes, &ty),
        other => return Some(other),
    };
    fit_number(number, &ty)
}

fn fit_number(number: i64, ty: &SqlType) -> Option<Datum<'static>> {
    Some(match ty {
        SqlType::Bit => Datum::Bit(number != 0),
        SqlType::TinyInt => Datum::TinyInt(number.try_into().ok()?),
        SqlType::SmallInt => Datum::SmallInt(number.try_into().ok()?),
        SqlType::Int => Datum::Int(number.try_into().ok()?),
        SqlType::BigInt => Datum::BigInt(number),
        SqlType::Real => Datum::Real(number as f32),
        SqlType::Float => Datum::Float(number as f64),
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
            Datum::Decimal(Decimal::new(number < 0, number.unsigned_abs().into(), 0)?)
        }
        _ => return None,
    })
}

/// Texts that are too long lose their ends, as in a conversion.
fn fit_text(text: &NText<'static>, ty: &SqlType) -> Option<Datum<'static>> {
    match *ty {
        SqlType::NVarChar { len, .. } => {
            let mut bytes = text.bytes.to_vec();
            bytes.truncate(len.map_or(bytes.len(), usize::from));
            Some(nchar(bytes))
        }
        SqlType::NChar { len, .. } => {
            let mut bytes = text.bytes.to_vec();
            bytes.truncate(len.into());
            let blanks = (usize::from(len) - bytes.len()) / 2;
            bytes.extend([b' ', 0].repeat(blanks));
            Some(nchar(bytes))
        }
        SqlType::NText { .. } => Some(nchar(text.bytes.to_vec())),
        SqlType::VarChar { len, .. } => {
            let mut bytes = single_bytes(text);
            bytes.truncate(len.map_or(bytes.len(), usize::from));
            Some(char_text(bytes))
        }
        SqlType::Char { len, .. } => {
            let mut bytes = single_bytes(text);
            bytes.resize(len.into(), b' ');
            Some(char_text(bytes))
        }
        SqlType::SqlVariant => {
            let len = Some(u16::try_from(text.bytes.len()).ok()?.max(2));
            let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
            let value = nchar(text.bytes.to_vec());
            Some(Value::variant(SqlType::NVarChar { len, collation }, value).0)
        }
        _ => None,
    }
}

fn fit_bytes(bytes: Cow<'static, [u8]>, ty: &SqlType) -> Option<Datum<'static>> {
    let mut bytes = bytes.into_owned();
    match *ty {
        SqlType::VarBinary { len } => bytes.truncate(len.map_or(bytes.len(), usize::from)),
        SqlType::Binary { len } => bytes.resize(len.into(), 0),
        SqlType::Image => {}
        _ => return None,
    }
    Some(Datum::Binary(bytes.into()))
}

fn nchar(bytes: Vec<u8>) -> Datum<'static> {
    Datum::NChar(NText { bytes: bytes.into() })
}

fn char_text(bytes: Vec<u8>) -> Datum<'static> {
    Datum::Char(CharText { bytes: bytes.into(), code_page: CodePage::Cp1252 })
}

/// The texts of char columns are words of the system: ASCII.
fn single_bytes(text: &NText<'_>) -> Vec<u8> {
    text.units().map(|unit| u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(b'?')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view;

    fn rows_of(columns: &Columns<i64>, items: &[i64]) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        let mut rows = Rows::new(view("sys", "securable_classes").unwrap());
        rows.add(columns, items.iter().copied())?;
        Ok(rows.into_inner())
    }

    #[test]
    fn values_get_the_type_of_their_column() {
        let columns = Columns::new()
            .put("class", |it: &i64| (*it).into())
            .put("class_desc", |_| "SCHEMA".into());
        let rows = rows_of(&columns, &[3]).unwrap();
        assert_eq!(rows, [[nchar(NText::from_text("SCHEMA").bytes.into_owned()), Datum::Int(3)]]);
        assert!(matches!(rows_of(&columns, &[i64::MAX]), Err(Error::Value { .. })));
    }

    #[test]
    fn a_column_that_is_missing_or_unknown_is_an_error() {
        let missing = Columns::new().put("class", |it: &i64| (*it).into());
        assert!(matches!(rows_of(&missing, &[]), Err(Error::Column { column: "class_desc", .. })));
        let unknown = missing.null(&["class_desc", "nobody"]);
        assert!(matches!(rows_of(&unknown, &[]), Err(Error::Column { column: "nobody", .. })));
    }

    #[test]
    fn texts_are_padded_and_cut_to_the_length_of_their_column() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let fit = |ty: SqlType| fit_text(&NText::from_text("abc"), &ty).unwrap();
        assert_eq!(fit(SqlType::Char { len: 4, collation }), char_text(b"abc ".to_vec()));
        assert_eq!(fit(SqlType::VarChar { len: Some(2), collation }), char_text(b"ab".to_vec()));
        let Datum::NChar(text) = fit(SqlType::NChar { len: 8, collation }) else { panic!() };
        assert_eq!(text.decode().0, "abc ");
    }
}
