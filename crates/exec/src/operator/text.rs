//! FOR JSON and FOR XML: all rows of the input as one text.
//!
//! ```text
//! JSON  [{"a":1,"b":{"c":"x"}}, …]     names with points are objects within objects
//! XML   see `xml`
//! ```

use extentdb_bind::logical::TextForm;
use extentdb_engine::Vector;
use extentdb_types::{Datum, NText, SqlType, plain};

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::evaluate::datum;
use crate::operator::{Operator, poll};

mod explicit;
mod levels;
mod xml;

use xml::XmlWriter;

/// A column of the text.
#[derive(Clone, Debug)]
pub(crate) struct TextColumn {
    pub(crate) name: String,
    pub(crate) column: usize,
    pub(crate) is_raw: bool,
}

/// The rows of the input as a text.
pub(crate) struct Text {
    input: Box<dyn Operator>,
    columns: Vec<TextColumn>,
    form: TextForm,
    ty: SqlType,
    /// Of FOR XML: writes its rows.
    xml: Option<XmlWriter>,
    is_over: bool,
}

impl Text {
    pub(crate) fn new(
        input: Box<dyn Operator>,
        columns: Vec<TextColumn>,
        form: &TextForm,
        ty: SqlType,
    ) -> Text {
        Text {
            input,
            columns,
            form: form.clone(),
            ty,
            xml: None,
            is_over: false,
        }
    }

    /// The text; `None` without rows.
    fn text(&mut self, context: &mut Context<'_>) -> Result<Option<String>, Error> {
        let mut out = String::new();
        let mut rows = 0;
        self.xml = match &self.form {
            TextForm::Xml(form) => Some(XmlWriter::new(form)),
            TextForm::Json { .. } => None,
        };
        while let Some(batch) = self.input.next(context)? {
            poll(context)?;
            for row in 0..batch.rows {
                if rows > 0 && matches!(self.form, TextForm::Json { .. }) {
                    out.push(',');
                }
                rows += 1;
                self.push_row(&batch, row, &mut out)?;
            }
        }
        if let Some(xml) = &mut self.xml {
            xml.end(&mut out);
        }
        Ok((rows > 0).then(|| self.wrapped(&out)))
    }

    fn push_row(&mut self, batch: &Batch, row: usize, out: &mut String) -> Result<(), Error> {
        let mut values = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let value = match batch.columns.get(column.column) {
                Some(vector) => datum(vector, row)?,
                None => Datum::Null,
            };
            values.push(value);
        }
        match (&self.form, &mut self.xml) {
            (TextForm::Json { includes_nulls, .. }, _) => {
                push_json_row(&self.columns, &values, *includes_nulls, out);
            }
            (TextForm::Xml(_), Some(xml)) => xml.push_row(&self.columns, &values, out)?,
            (TextForm::Xml(_), None) => {}
        }
        Ok(())
    }

    fn wrapped(&self, rows: &str) -> String {
        match &self.form {
            TextForm::Json { root, has_array, .. } => {
                let rows = if *has_array { format!("[{rows}]") } else { rows.to_owned() };
                match root {
                    Some(root) => format!("{{\"{}\":{rows}}}", json_escaped(root)),
                    None => rows,
                }
            }
            TextForm::Xml(form) => match &form.root {
                Some(root) => {
                    format!("<{root}{}>{rows}</{root}>", xml::declarations(form))
                }
                None => rows.to_owned(),
            },
        }
    }
}

impl Operator for Text {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.is_over = false;
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(None);
        }
        let Some(text) = self.text(context)? else { return Ok(None) };
        let mut column = Vector::computed(self.ty);
        let mut bytes = Vec::new();
        let encoded = Datum::NChar(NText::from_text(&text)).encode(&self.ty, &mut bytes);
        encoded.map_err(|error| Error::NotSupported(error.to_string()))?;
        let pushed = column.push_stored(Some(&bytes));
        pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
        Ok(Some(Batch { rows: 1, columns: vec![column] }))
    }
}

/// An object; columns whose names begin alike up to a point are in one object within it.
fn push_json_row(
    columns: &[TextColumn],
    values: &[Datum<'_>],
    includes_nulls: bool,
    out: &mut String,
) {
    let mut open: Vec<&str> = Vec::new();
    let mut is_first = vec![true];
    out.push('{');
    for (column, value) in columns.iter().zip(values) {
        if value.is_null() && !includes_nulls {
            continue;
        }
        let mut path: Vec<&str> = column.name.split('.').collect();
        let Some(name) = path.pop() else { continue };
        let common = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        while open.len() > common {
            open.pop();
            is_first.pop();
            out.push('}');
        }
        for part in path.iter().skip(common) {
            push_comma(&mut is_first, out);
            out.push_str(&format!("\"{}\":{{", json_escaped(part)));
            open.push(part);
            is_first.push(true);
        }
        push_comma(&mut is_first, out);
        out.push_str(&format!("\"{}\":", json_escaped(name)));
        push_json_value(value, column.is_raw, out);
    }
    (0..=open.len()).for_each(|_| out.push('}'));
}

fn push_comma(is_first: &mut [bool], out: &mut String) {
    if let Some(first) = is_first.last_mut()
        && !std::mem::replace(first, false)
    {
        out.push(',');
    }
}

fn push_json_value(value: &Datum<'_>, is_raw: bool, out: &mut String) {
    match value {
        Datum::Null => out.push_str("null"),
        Datum::Bit(value) => out.push_str(if *value { "true" } else { "false" }),
        Datum::TinyInt(_)
        | Datum::SmallInt(_)
        | Datum::Int(_)
        | Datum::BigInt(_)
        | Datum::Decimal(_)
        | Datum::Money(_)
        | Datum::SmallMoney(_)
        | Datum::Float(_)
        | Datum::Real(_) => out.push_str(&value_text(value)),
        _ if is_raw => out.push_str(&value_text(value)),
        _ => out.push_str(&format!("\"{}\"", json_escaped(&value_text(value)))),
    }
}

/// A value as JSON and XML write it.
fn value_text(value: &Datum<'_>) -> String {
    match value {
        Datum::NChar(text) => text.decode().0,
        Datum::Char(text) => text.decode().0.into_owned(),
        Datum::Float(value) => scientific(*value, 15),
        Datum::Real(value) => scientific(f64::from(*value), 7),
        Datum::Binary(bytes) => base64(bytes),
        Datum::Variant(inner) => value_text(&inner.value),
        other => {
            let mut text = String::new();
            // What cannot be shown whole is shown as far as it can be.
            let _ = plain::write_plain(other, &mut text);
            without_empty_fraction(other, text)
        }
    }
}

/// A moment without parts of a second shows none.
fn without_empty_fraction(value: &Datum<'_>, text: String) -> String {
    let is_moment = matches!(
        value,
        Datum::DateTime(_) | Datum::DateTime2(_) | Datum::Time(_) | Datum::SmallDateTime(_)
    );
    if !is_moment {
        return text;
    }
    let text = text.replacen(' ', "T", 1);
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        _ => text,
    }
}

/// `1.500000000000000e+000`
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (number, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{number}e{sign}{:03}", exponent.unsigned_abs())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut word = [0; 3];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        let [a, b, c] = word.map(u32::from);
        let bits = a << 16 | b << 8 | c;
        for at in 0..4 {
            if at > chunk.len() {
                text.push('=');
                continue;
            }
            let letter = (bits >> (18 - 6 * at) & 63) as usize;
            text.push(LETTERS.get(letter).copied().unwrap_or(b'=') as char);
        }
    }
    text
}

fn json_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn columns(names: &[&str]) -> Vec<TextColumn> {
        let column = |(column, name): (usize, &&str)| TextColumn {
            name: (*name).to_owned(),
            column,
            is_raw: false,
        };
        names.iter().enumerate().map(column).collect()
    }

    pub(super) fn nchar(text: &str) -> Datum<'static> {
        Datum::NChar(NText::from_text(text))
    }

    #[test]
    fn names_with_points_are_objects() {
        let mut out = String::new();
        let values = [Datum::Int(1), nchar("a/\"b"), Datum::Null, Datum::Bit(true)];
        push_json_row(&columns(&["id", "x.y", "x.z", "w"]), &values, false, &mut out);
        assert_eq!(out, r#"{"id":1,"x":{"y":"a\/\"b"},"w":true}"#);
        out.clear();
        push_json_row(&columns(&["a"]), &[Datum::Null], true, &mut out);
        assert_eq!(out, r#"{"a":null}"#);
    }

    #[test]
    fn bytes_are_base64() {
        for (bytes, text) in [(&b"a"[..], "YQ=="), (b"ab", "YWI="), (b"abc", "YWJj"), (b"", "")] {
            assert_eq!(base64(bytes), text);
        }
        assert_eq!(scientific(1.5, 15), "1.500000000000000e+000");
        assert_eq!(scientific(-2.5e-10, 7), "-2.5000000e-010");
    }
}
