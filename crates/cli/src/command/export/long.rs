//! Values off their rows, piece by piece: they may be longer than memory.

use extentdb_catalog::Fault;
use extentdb_reader::LobValue;
use extentdb_types::json::{write_escaped, write_hex, write_piece};
use extentdb_types::literal::{TextLiteral, close_udt, open_udt};
use extentdb_types::text::{CharDecoder, NCharDecoder, TextPiece};
use extentdb_types::{CodePage, Datum, SqlType};

use super::csv::push_quoted;
use super::encode::{EncodedColumn, Encoder, WHOLE_BYTES_MAX};
use super::format::RowFormat;
use super::outcome::Loss;
use super::select::OutputRow;
use super::sink::{RowStop, Sink};
use super::style::Style;
use super::surrogate::Unpaired;

/// A text between its quotes.
struct LongText<'a> {
    style: &'a Style,
    unpaired: Unpaired,
    literal: TextLiteral,
}

impl<'a> LongText<'a> {
    fn new(style: &'a Style) -> LongText<'a> {
        LongText {
            style,
            unpaired: Unpaired::default(),
            literal: TextLiteral::default(),
        }
    }

    /// CSV quotes it in any case: its characters are not known when it begins.
    fn quotes(&self) -> (&'static str, &'static str) {
        if self.style.format == RowFormat::Sql { ("N'", "'") } else { ("\"", "\"") }
    }

    fn push(&mut self, text: &str, out: &mut String) {
        // A String takes everything.
        let _ = match self.style.format {
            RowFormat::Csv => {
                push_quoted(text, out);
                Ok(())
            }
            RowFormat::Sql => self.literal.push_text(text, out),
            _ => write_escaped(text, out),
        };
    }

    fn push_piece(&mut self, piece: TextPiece<'_>, out: &mut String) {
        let unit = match piece {
            TextPiece::Text(text) => return self.push(text, out),
            TextPiece::Unpaired(unit) => unit,
        };
        if !self.style.keeps_surrogates() {
            let mut text = String::new();
            self.unpaired.replace(unit, self.style, &mut text);
            return self.push(&text, out);
        }
        // A String takes everything.
        let _ = match self.style.format {
            RowFormat::Sql => self.literal.push(piece, out),
            _ => write_piece(piece, out),
        };
    }
}

impl Encoder<'_> {
    pub(super) fn write_lob(
        &mut self,
        value: LobValue<'_>,
        column: &EncodedColumn,
        row: &OutputRow<'_, '_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), RowStop> {
        match value.ty {
            SqlType::Text { collation } | SqlType::VarChar { collation, .. } => {
                let code_page = collation.code_page().unwrap_or(CodePage::Unknown);
                self.write_char(value, CharDecoder::new(code_page), column, sink)
            }
            SqlType::NText { .. } | SqlType::NVarChar { .. } => {
                self.write_nchar(value, column, row, sink)
            }
            SqlType::Xml => {
                let bytes = value.reader.read_to_vec(WHOLE_BYTES_MAX)?;
                self.write_datum(&Datum::Xml(bytes.into()), column, sink.text())?;
                sink.piece()
            }
            _ => self.write_binary(value, sink),
        }
    }

    fn write_char(
        &mut self,
        mut value: LobValue<'_>,
        mut decoder: CharDecoder,
        column: &EncodedColumn,
        sink: &mut Sink<'_>,
    ) -> Result<(), RowStop> {
        let mut long = LongText::new(self.style);
        sink.text().push_str(long.quotes().0);
        let mut bytes = Vec::new();
        while self.next_piece(&mut value, &mut bytes)? {
            self.scratch.clear();
            decoder.push(&bytes, &mut self.scratch);
            long.push(&self.scratch, sink.text());
            sink.piece()?;
        }
        self.scratch.clear();
        let lost = decoder.finish(&mut self.scratch) as u64;
        long.push(&self.scratch, sink.text());
        sink.text().push_str(long.quotes().1);
        self.lose(column.position, Loss::characters(lost));
        Ok(())
    }

    fn write_nchar(
        &mut self,
        mut value: LobValue<'_>,
        column: &EncodedColumn,
        row: &OutputRow<'_, '_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), RowStop> {
        let mut long = LongText::new(self.style);
        sink.text().push_str(long.quotes().0);
        let mut bytes = Vec::new();
        let mut decoder = NCharDecoder::new();
        while self.next_piece(&mut value, &mut bytes)? {
            let out = sink.text();
            decoder.push(&bytes, &mut |piece| long.push_piece(piece, out));
            long.unpaired.refuse(self.style)?;
            sink.piece()?;
        }
        let out = sink.text();
        if decoder.finish(&mut |piece| long.push_piece(piece, out)).is_some() {
            let what = format!("column {}: Unicode text of an odd number of bytes", column.name);
            return Err(Fault::Lob { rid: row.rid(), what }.into());
        }
        long.unpaired.refuse(self.style)?;
        sink.text().push_str(long.quotes().1);
        self.lose(column.position, Loss::characters(long.unpaired.count));
        Ok(())
    }

    fn write_binary(
        &mut self,
        mut value: LobValue<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), RowStop> {
        let (open, close) = match (self.style.format, value.ty) {
            (RowFormat::Jsonl, _) => ("\"0x", "\""),
            (RowFormat::Sql, SqlType::Udt { kind, .. }) => (open_udt(kind), close_udt(kind)),
            _ => ("0x", ""),
        };
        sink.text().push_str(open);
        let mut bytes = Vec::new();
        while self.next_piece(&mut value, &mut bytes)? {
            let _ = write_hex(&bytes, sink.text());
            sink.piece()?;
        }
        sink.text().push_str(close);
        Ok(())
    }

    fn next_piece(&self, value: &mut LobValue<'_>, bytes: &mut Vec<u8>) -> Result<bool, RowStop> {
        if self.interrupt.stopped().is_some() {
            return Err(RowStop::Interrupted);
        }
        bytes.clear();
        Ok(value.reader.read_chunk(bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::style::{CsvStyle, Surrogates, Timestamps};
    use super::*;

    fn written(format: RowFormat, surrogates: Surrogates) -> (String, u64) {
        let csv = CsvStyle { delimiter: ',', null: String::new() };
        let style = Style { format, surrogates, csv, timestamps: Timestamps::Text };
        let mut long = LongText::new(&style);
        let mut out = String::new();
        long.push_piece(TextPiece::Text("a\"'"), &mut out);
        long.push_piece(TextPiece::Unpaired(0xD800), &mut out);
        (out, long.unpaired.count)
    }

    #[test]
    fn pieces_of_text_are_escaped_by_their_format() {
        let cases = [
            (RowFormat::Jsonl, Surrogates::Escape, "a\\\"'\\uD800", 0),
            (RowFormat::Jsonl, Surrogates::Replace, "a\\\"'\u{FFFD}", 1),
            (RowFormat::Csv, Surrogates::Replace, "a\"\"'\u{FFFD}", 1),
            (RowFormat::Csv, Surrogates::Escape, "a\"\"'\\uD800", 1),
            (RowFormat::Sql, Surrogates::Escape, "a\"''' + CONVERT(nvarchar(max), 0x00D8) + N'", 0),
        ];
        for (format, surrogates, expected, count) in cases {
            assert_eq!(written(format, surrogates), (expected.to_owned(), count));
        }
    }
}
