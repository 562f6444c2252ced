//! A row as JSON, CSV or SQL. Single values are written by `extentdb_types`; here they become rows.
//!
//! | format | row | NULL |
//! | --- | --- | --- |
//! | jsonl | `{"a":1,"b":"x"}` | `null` |
//! | csv | `1,x` CR LF; quoted where RFC 4180 says so | empty or the text of `--null`; an empty string is `""` |
//! | sql | `INSERT INTO [dbo].[T] ([a], [b]) VALUES (1, N'x');`, GO after some hundred rows | `NULL` |

use extentdb_reader::Value;
use extentdb_types::json::{write_json, write_json_str};
use extentdb_types::literal::write_literal;
use extentdb_types::plain::write_plain;
use extentdb_types::{Datum, SqlType};

use super::csv::push_field;
use super::format::RowFormat;
use super::head::ColumnHead;
use super::outcome::Loss;
use super::select::OutputRow;
use super::sink::{RowStop, Sink};
use super::style::Style;
use super::surrogate::settle;
use crate::interrupt::Interrupt;
use crate::names::Quoted;

/// Values that cannot be written in pieces are read up to this length.
pub(super) const WHOLE_BYTES_MAX: usize = 64 << 20;
/// Rows between two GO.
const BATCH_ROWS: u64 = 500;

/// Writes the rows of one table.
pub(super) struct Encoder<'a> {
    pub(super) style: &'a Style,
    /// The table that SQL inserts into.
    target: &'a str,
    columns: Vec<EncodedColumn>,
    after_row: &'static str,
    has_identity: bool,
    pub(super) interrupt: &'a Interrupt,
    pub(super) scratch: String,
    /// What the rows written so far lost, by the position of the column.
    losses: Vec<Loss>,
    /// What the row at hand lost.
    row_losses: Vec<(usize, Loss)>,
}

/// A column that is written.
pub(super) struct EncodedColumn {
    /// Its place among the columns of the selection.
    pub(super) position: usize,
    pub(super) name: String,
    /// What stands before its value.
    before: String,
}

impl<'a> Encoder<'a> {
    /// Prepares everything about a row that does not change.
    pub(super) fn new(
        style: &'a Style,
        target: &'a str,
        selected: &[ColumnHead],
        interrupt: &'a Interrupt,
    ) -> Encoder<'a> {
        let is_written = |column: &ColumnHead| why_left_out(style.format, column).is_none();
        let written = selected.iter().enumerate().filter(|(_, column)| is_written(column));
        let columns = written.clone().map(|(position, column)| EncodedColumn {
            position,
            name: column.name.clone(),
            before: String::new(),
        });
        let after_row = match style.format {
            RowFormat::Csv => "\r\n",
            RowFormat::Sql => ");\n",
            _ => "}\n",
        };
        let mut encoder = Encoder {
            style,
            target,
            columns: columns.collect(),
            after_row,
            has_identity: written.clone().any(|(_, column)| column.has_identity),
            interrupt,
            scratch: String::new(),
            losses: vec![Loss::default(); selected.len()],
            row_losses: Vec::new(),
        };
        encoder.prepare();
        encoder
    }

    fn prepare(&mut self) {
        let names: Vec<String> =
            self.columns.iter().map(|column| Quoted(&column.name).to_string()).collect();
        let insert = format!("INSERT INTO {} ({}) VALUES (", self.target, names.join(", "));
        for (i, column) in self.columns.iter_mut().enumerate() {
            column.before = match (self.style.format, i) {
                (RowFormat::Csv, 0) => String::new(),
                (RowFormat::Csv, _) => self.style.csv.delimiter.to_string(),
                (RowFormat::Sql, 0) => insert.clone(),
                (RowFormat::Sql, _) => ", ".to_owned(),
                (_, i) => {
                    let mut before = String::from(if i == 0 { "{" } else { "," });
                    // A String takes everything.
                    let _ = write_json_str(&column.name, &mut before);
                    before + ":"
                }
            };
        }
    }

    /// What stands before all rows.
    pub(super) fn write_head(&self, out: &mut String) {
        match self.style.format {
            RowFormat::Csv => {
                for column in &self.columns {
                    out.push_str(&column.before);
                    push_field(&column.name, &self.style.csv, out);
                }
                out.push_str(self.after_row);
            }
            RowFormat::Sql if self.has_identity => {
                out.push_str(&format!("SET IDENTITY_INSERT {} ON;\nGO\n", self.target));
            }
            _ => {}
        }
    }

    /// What stands after `rows` rows, which are all.
    pub(super) fn write_foot(&self, rows: u64, out: &mut String) {
        if self.style.format != RowFormat::Sql {
            return;
        }
        if !rows.is_multiple_of(BATCH_ROWS) {
            out.push_str("GO\n");
        }
        if self.has_identity {
            out.push_str(&format!("SET IDENTITY_INSERT {} OFF;\nGO\n", self.target));
        }
    }

    /// Writes a row, the `number`th from 1. What it loses counts once it is [kept](Self::keep_row).
    pub(super) fn write_row(
        &mut self,
        row: &OutputRow<'_, '_>,
        number: u64,
        sink: &mut Sink<'_>,
    ) -> Result<(), RowStop> {
        self.row_losses.clear();
        if self.columns.is_empty() {
            self.write_empty(sink.text());
        }
        let columns = std::mem::take(&mut self.columns);
        let result = self.write_values(row, &columns, sink);
        self.columns = columns;
        result?;
        sink.text().push_str(self.after_row);
        if self.style.format == RowFormat::Sql && number.is_multiple_of(BATCH_ROWS) {
            sink.text().push_str("GO\n");
        }
        Ok(())
    }

    /// The row written last stays.
    pub(super) fn keep_row(&mut self) {
        for (position, loss) in self.row_losses.drain(..) {
            if let Some(total) = self.losses.get_mut(position) {
                total.add(loss);
            }
        }
    }

    /// What the rows lost, by the position of the column.
    pub(super) fn into_losses(self) -> Vec<Loss> {
        self.losses
    }

    /// Notes that a value of the row at hand is not written as it is stored.
    pub(super) fn lose(&mut self, position: usize, loss: Loss) {
        if !loss.is_none() {
            self.row_losses.push((position, loss));
        }
    }

    /// The beginning of a row none of whose columns is written.
    fn write_empty(&self, out: &mut String) {
        match self.style.format {
            RowFormat::Csv => {}
            // The only column there can be; the server numbers it or stamps it by itself.
            RowFormat::Sql => {
                out.push_str(&format!("INSERT INTO {} DEFAULT VALUES; -- (", self.target))
            }
            _ => out.push('{'),
        }
    }

    fn write_values(
        &mut self,
        row: &OutputRow<'_, '_>,
        columns: &[EncodedColumn],
        sink: &mut Sink<'_>,
    ) -> Result<(), RowStop> {
        for column in columns {
            sink.text().push_str(&column.before);
            match row.value(column.position)? {
                Value::Datum(datum) => self.write_datum(&datum, column, sink.text())?,
                Value::Lob(value) => {
                    sink.piece()?;
                    self.write_lob(value, column, row, sink)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a value that is in memory as a whole.
    pub(super) fn write_datum(
        &mut self,
        datum: &Datum<'_>,
        column: &EncodedColumn,
        out: &mut String,
    ) -> Result<(), RowStop> {
        let settled = settle(datum, self.style)?;
        let datum = &*settled.datum;
        // Writing into a String does not fail.
        let lost = match self.style.format {
            RowFormat::Csv if datum.is_null() => {
                out.push_str(&self.style.csv.null);
                Ok(0)
            }
            RowFormat::Csv => {
                self.scratch.clear();
                let lost = write_plain(datum, &mut self.scratch);
                push_field(&self.scratch, &self.style.csv, out);
                lost
            }
            RowFormat::Sql => write_literal(datum, out),
            _ => write_json(datum, out),
        };
        let mut loss = Loss::characters(settled.changed);
        loss.add(Loss::of(datum, lost.unwrap_or(0) as u64));
        self.lose(column.position, loss);
        Ok(())
    }
}

/// Why a column that has values in the rows is not written.
pub(super) fn why_left_out(format: RowFormat, column: &ColumnHead) -> Option<&'static str> {
    match (format, &column.ty, column.is_computed) {
        (RowFormat::Sql, _, true) => Some("computed: the server computes it again"),
        (RowFormat::Sql, Some(SqlType::RowVersion), _) => {
            Some("rowversion: the server gives new values")
        }
        _ => None,
    }
}
