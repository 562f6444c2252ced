//! A row as JSON, CSV or SQL. Single values are written by `extentdb_types`; here they become rows, and long values come in
//! pieces.
//!
//! | format | row | NULL |
//! | --- | --- | --- |
//! | jsonl | `{"a":1,"b":"x"}` | `null` |
//! | csv | `1,x` CR LF; quoted where RFC 4180 says so | empty; an empty string is `""` |
//! | sql | `INSERT INTO [dbo].[T] ([a], [b]) VALUES (1, N'x');`, GO after some hundred rows | `NULL` |

use std::fmt::Write;

use extentdb_catalog::{Column, Fault, Table};
use extentdb_reader::{LobValue, Row, Value};
use extentdb_types::json::{write_escaped, write_hex, write_json, write_json_str, write_piece};
use extentdb_types::literal::write_literal;
use extentdb_types::plain::write_plain;
use extentdb_types::text::{CharDecoder, NCharDecoder, Piece};
use extentdb_types::{CodePage, Datum, SqlType};

use super::Format;
use super::sink::{Sink, Stop};
use crate::interrupt::Interrupt;
use crate::names::{Quoted, quoted};

/// Values that cannot be written in pieces are read up to this length.
pub(super) const WHOLE_BYTES_MAX: usize = 64 << 20;
/// Rows between two GO.
const BATCH_ROWS: u64 = 500;

/// Writes the rows of one table.
pub(super) struct Encoder<'a> {
    format: Format,
    table: &'a Table,
    columns: Vec<EncodedColumn>,
    after_row: &'static str,
    has_identity: bool,
    interrupt: &'a Interrupt,
    scratch: String,
    /// Characters and values that could not be kept.
    pub(super) lost: u64,
}

/// A column that is written.
struct EncodedColumn {
    /// Its place among the columns of the scan.
    position: usize,
    name: String,
    /// What stands before its value.
    before: String,
}

impl<'a> Encoder<'a> {
    /// Prepares everything about a row that does not change.
    pub(super) fn new(
        format: Format,
        table: &'a Table,
        scanned: &[&Column],
        interrupt: &'a Interrupt,
    ) -> Encoder<'a> {
        let written = scanned.iter().enumerate().filter(|(_, column)| why_left_out(format, column).is_none());
        let columns = written.map(|(position, column)| EncodedColumn {
            position,
            name: column.name.clone(),
            before: String::new(),
        });
        let has_identity = table.columns.iter().any(|column| column.identity.is_some());
        let after_row = match format {
            Format::Csv => "\r\n",
            Format::Sql => ");\n",
            _ => "}\n",
        };
        let scratch = String::new();
        let columns = columns.collect();
        let mut encoder =
            Encoder { format, table, columns, after_row, has_identity, interrupt, scratch, lost: 0 };
        encoder.prepare();
        encoder
    }

    fn prepare(&mut self) {
        let names: Vec<String> = self.columns.iter().map(|column| Quoted(&column.name).to_string()).collect();
        let insert = format!("INSERT INTO {} ({}) VALUES (", self.target(), names.join(", "));
        for (i, column) in self.columns.iter_mut().enumerate() {
            column.before = match (self.format, i) {
                (Format::Csv, 0) => String::new(),
                (Format::Csv, _) => ",".to_owned(),
                (Format::Sql, 0) => insert.clone(),
                (Format::Sql, _) => ", ".to_owned(),
                (_, i) => {
                    let mut before = String::from(if i == 0 { "{" } else { "," });
                    // A String takes everything.
                    let _ = write_json_str(&column.name, &mut before);
                    before + ":"
                }
            };
        }
    }

    fn target(&self) -> String {
        quoted(&self.table.schema, &self.table.name)
    }

    /// What stands before all rows.
    pub(super) fn write_head(&self, out: &mut String) {
        match self.format {
            Format::Csv => {
                for (i, column) in self.columns.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { "," });
                    push_field(&column.name, out);
                }
                out.push_str(self.after_row);
            }
            Format::Sql if self.has_identity => {
                out.push_str(&format!("SET IDENTITY_INSERT {} ON;\nGO\n", self.target()));
            }
            _ => {}
        }
    }

    /// What stands behind `rows` rows, which are all.
    pub(super) fn write_foot(&self, rows: u64, out: &mut String) {
        if self.format != Format::Sql {
            return;
        }
        if !rows.is_multiple_of(BATCH_ROWS) {
            out.push_str("GO\n");
        }
        if self.has_identity {
            out.push_str(&format!("SET IDENTITY_INSERT {} OFF;\nGO\n", self.target()));
        }
    }

    /// Writes a row, the `number`th from 1.
    pub(super) fn write_row(&mut self, row: &Row<'_>, number: u64, sink: &mut Sink<'_>) -> Result<(), Stop> {
        if self.columns.is_empty() {
            self.write_empty(sink.text());
        }
        let columns = std::mem::take(&mut self.columns);
        let result = self.write_values(row, &columns, sink);
        self.columns = columns;
        result?;
        sink.text().push_str(self.after_row);
        if self.format == Format::Sql && number.is_multiple_of(BATCH_ROWS) {
            sink.text().push_str("GO\n");
        }
        Ok(())
    }

    /// The beginning of a row none of whose columns is written.
    fn write_empty(&self, out: &mut String) {
        match self.format {
            Format::Csv => {}
            // The only column there can be; the server numbers it or stamps it by itself.
            Format::Sql => out.push_str(&format!("INSERT INTO {} DEFAULT VALUES; -- (", self.target())),
            _ => out.push('{'),
        }
    }

    fn write_values(
        &mut self,
        row: &Row<'_>,
        columns: &[EncodedColumn],
        sink: &mut Sink<'_>,
    ) -> Result<(), Stop> {
        for column in columns {
            sink.text().push_str(&column.before);
            match row.value(column.position)? {
                Value::Datum(datum) => self.write_datum(&datum, sink.text()),
                Value::Lob(value) => {
                    sink.piece()?;
                    self.write_lob(value, &column.name, row, sink)?;
                }
            }
        }
        Ok(())
    }

    fn write_datum(&mut self, datum: &Datum<'_>, out: &mut String) {
        // Writing into a String does not fail.
        let lost = match self.format {
            Format::Csv if datum.is_null() => Ok(0),
            Format::Csv => {
                self.scratch.clear();
                let lost = write_plain(datum, &mut self.scratch);
                push_field(&self.scratch, out);
                lost
            }
            Format::Sql => write_literal(datum, out),
            _ => write_json(datum, out),
        };
        self.lost += lost.unwrap_or(0) as u64;
    }

    fn write_lob(
        &mut self,
        value: LobValue<'_>,
        column: &str,
        row: &Row<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Stop> {
        match value.ty {
            SqlType::Text { collation } | SqlType::VarChar { collation, .. } => {
                let code_page = collation.code_page().unwrap_or(CodePage::Unknown);
                self.write_char(value, CharDecoder::new(code_page), sink)
            }
            SqlType::NText { .. } | SqlType::NVarChar { .. } => self.write_nchar(value, column, row, sink),
            SqlType::Xml => {
                let bytes = value.reader.read_to_vec(WHOLE_BYTES_MAX)?;
                self.write_datum(&Datum::Xml(bytes.into()), sink.text());
                sink.piece()
            }
            _ => self.write_binary(value, sink),
        }
    }

    fn write_char(
        &mut self,
        mut value: LobValue<'_>,
        mut decoder: CharDecoder,
        sink: &mut Sink<'_>,
    ) -> Result<(), Stop> {
        sink.text().push_str(self.open_text());
        let mut bytes = Vec::new();
        while self.next_piece(&mut value, &mut bytes)? {
            self.scratch.clear();
            decoder.push(&bytes, &mut self.scratch);
            push_text(self.format, &self.scratch, sink.text());
            sink.piece()?;
        }
        self.scratch.clear();
        self.lost += decoder.finish(&mut self.scratch) as u64;
        push_text(self.format, &self.scratch, sink.text());
        sink.text().push_str(self.close_text());
        Ok(())
    }

    fn write_nchar(
        &mut self,
        mut value: LobValue<'_>,
        column: &str,
        row: &Row<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Stop> {
        sink.text().push_str(self.open_text());
        let (mut bytes, mut decoder, mut lost) = (Vec::new(), NCharDecoder::new(), 0);
        let format = self.format;
        while self.next_piece(&mut value, &mut bytes)? {
            let out = sink.text();
            decoder.push(&bytes, &mut |piece| lost += push_piece(format, piece, out));
            sink.piece()?;
        }
        let out = sink.text();
        if decoder.finish(&mut |piece| lost += push_piece(format, piece, out)).is_some() {
            let what = format!("column {column}: Unicode text of an odd number of bytes");
            return Err(Fault::Lob { rid: row.rid, what }.into());
        }
        self.lost += lost;
        sink.text().push_str(self.close_text());
        Ok(())
    }

    fn write_binary(&mut self, mut value: LobValue<'_>, sink: &mut Sink<'_>) -> Result<(), Stop> {
        let (open, close) = if matches!(self.format, Format::Jsonl) { ("\"0x", "\"") } else { ("0x", "") };
        sink.text().push_str(open);
        let mut bytes = Vec::new();
        while self.next_piece(&mut value, &mut bytes)? {
            let _ = write_hex(&bytes, sink.text());
            sink.piece()?;
        }
        sink.text().push_str(close);
        Ok(())
    }

    fn next_piece(&self, value: &mut LobValue<'_>, bytes: &mut Vec<u8>) -> Result<bool, Stop> {
        if self.interrupt.stopped().is_some() {
            return Err(Stop::Interrupted);
        }
        bytes.clear();
        Ok(value.reader.read_chunk(bytes)?)
    }

    /// A text whose characters are not known yet: CSV quotes it in any case.
    fn open_text(&self) -> &'static str {
        if self.format == Format::Sql { "N'" } else { "\"" }
    }

    fn close_text(&self) -> &'static str {
        if self.format == Format::Sql { "'" } else { "\"" }
    }
}

/// Why a column that has values in the rows is not written.
pub(super) fn why_left_out(format: Format, column: &Column) -> Option<&'static str> {
    match (format, &column.ty, &column.computed) {
        (Format::Sql, _, Some(_)) => Some("computed: the server computes it again"),
        (Format::Sql, Some(SqlType::RowVersion), _) => Some("rowversion: the server gives new values"),
        _ => None,
    }
}

/// A field of CSV that is not NULL.
fn push_field(text: &str, out: &mut String) {
    let plain = !text.is_empty() && !text.bytes().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n'));
    if plain {
        out.push_str(text);
        return;
    }
    out.push('"');
    push_doubled(text, '"', out);
    out.push('"');
}

/// Text with every `quote` in it doubled.
fn push_doubled(text: &str, quote: char, out: &mut String) {
    let mut parts = text.split(quote);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.extend([quote, quote]);
        out.push_str(part);
    }
}

/// A part of a text between its quotes.
fn push_text(format: Format, text: &str, out: &mut String) {
    match format {
        Format::Csv => push_doubled(text, '"', out),
        Format::Sql => push_doubled(text, '\'', out),
        // A String takes everything.
        _ => drop(write_escaped(text, out)),
    }
}

/// A part of a Unicode text; gives the number of characters that were replaced.
fn push_piece(format: Format, piece: Piece<'_>, out: &mut String) -> u64 {
    match (format, piece) {
        (Format::Jsonl, piece) => {
            let _ = write_piece(piece, out);
            0
        }
        (Format::Sql, Piece::Unpaired(unit)) => {
            let _ = write!(out, "' + NCHAR({unit}) + N'");
            0
        }
        (_, Piece::Unpaired(_)) => {
            out.push(char::REPLACEMENT_CHARACTER);
            1
        }
        (format, Piece::Text(text)) => {
            push_text(format, text, out);
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_are_quoted_only_where_they_must_be() {
        let cases = [
            ("plain text", "plain text"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
        ];
        for (text, field) in cases {
            let mut out = String::new();
            push_field(text, &mut out);
            assert_eq!(out, field);
        }
    }

    #[test]
    fn pieces_of_text_are_escaped_by_their_format() {
        let cases = [
            (Format::Jsonl, "a\\\"'\\uD800", 0),
            (Format::Csv, "a\"\"'\u{FFFD}", 1),
            (Format::Sql, "a\"''' + NCHAR(55296) + N'", 0),
        ];
        for (format, expected, lost) in cases {
            let mut out = String::new();
            let mut count = push_piece(format, Piece::Text("a\"'"), &mut out);
            count += push_piece(format, Piece::Unpaired(0xD800), &mut out);
            assert_eq!((out.as_str(), count), (expected, lost));
        }
    }
}
