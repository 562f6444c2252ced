//! Rows as text: what the encoder makes of a row goes through the sink, whole or not at all.

use std::io;

use super::counted::Counted;
use super::encode::Encoder;
use super::head::ColumnHead;
use super::select::OutputRow;
use super::sink::{Mode, RowStop, Sink};
use super::style::Style;
use super::table::{RowWriter, WrittenTable};
use crate::interrupt::Interrupt;

/// Writes the rows of one table as JSON lines, CSV or SQL.
pub(super) struct TextRows<'a> {
    encoder: Encoder<'a>,
    sink: Sink<'a>,
}

impl<'a> TextRows<'a> {
    pub(super) fn new(
        style: &'a Style,
        target: &'a str,
        selected: &[ColumnHead],
        interrupt: &'a Interrupt,
        out: Counted<'a>,
    ) -> TextRows<'a> {
        let encoder = Encoder::new(style, target, selected, interrupt);
        let mut sink = Sink::new(out);
        encoder.write_head(sink.text());
        TextRows { encoder, sink }
    }
}

impl RowWriter for TextRows<'_> {
    /// A row that is too long to be held back is first read to its end for nothing.
    fn write_row(&mut self, row: &OutputRow<'_, '_>, number: u64) -> Result<(), RowStop> {
        let mut result = Ok(());
        for mode in [Mode::Hold, Mode::Discard, Mode::Flow] {
            self.sink.begin_row(mode);
            result = self.encoder.write_row(row, number, &mut self.sink);
            match (mode, &result) {
                (Mode::Hold, Err(RowStop::TooLong)) => self.sink.drop_row(),
                (Mode::Discard, Ok(())) => self.sink.end_row()?,
                _ => break,
            }
        }
        match result {
            Ok(()) => {
                self.encoder.keep_row();
                Ok(self.sink.end_row()?)
            }
            // It could be read a moment ago, and part of it is written.
            Err(RowStop::Fault(fault)) if self.sink.is_flowing() => {
                Err(RowStop::Io(io::Error::other(fault)))
            }
            Err(stop) => {
                self.sink.drop_row();
                Err(stop)
            }
        }
    }

    fn finish(mut self: Box<Self>, rows: u64, is_complete: bool) -> io::Result<WrittenTable> {
        if is_complete {
            self.encoder.write_foot(rows, self.sink.text());
        }
        let (bytes, sha256) = self.sink.finish()?;
        Ok(WrittenTable { bytes, sha256, losses: self.encoder.into_losses() })
    }
}
