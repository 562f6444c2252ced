//! The rows of a query in the formats of `export`.

use std::io::{self, Write};

use extentdb_types::Datum;

use super::counted::Counted;
use super::head::ColumnHead;
use super::outcome::{ExportOutcome, Reason};
use super::select::OutputRow;
use super::sink::RowStop;
use super::style::Style;
use super::table::RowWriter;
use crate::interrupt::Interrupt;

/// Takes the rows of a query.
pub(crate) struct ResultRows<'a> {
    writer: Box<dyn RowWriter + 'a>,
    columns: Vec<String>,
    rows: u64,
    /// Rows left out because of `--surrogates`.
    refused: u64,
}

impl<'a> ResultRows<'a> {
    /// # Errors
    /// The format does not take the columns.
    pub(crate) fn new(
        style: &'a Style,
        columns: &[ColumnHead],
        interrupt: &'a Interrupt,
        out: &'a mut (dyn Write + Send),
    ) -> anyhow::Result<ResultRows<'a>> {
        let writer = style.writer("", columns, interrupt, Counted::new(out, false))?;
        let columns = columns.iter().map(|column| column.name.clone()).collect();
        Ok(ResultRows { writer, columns, rows: 0, refused: 0 })
    }

    /// Writes a row, or leaves it out.
    pub(crate) fn push(&mut self, row: &[Datum<'static>]) -> io::Result<()> {
        match self.writer.write_row(&OutputRow::Values(row), self.rows + 1) {
            Ok(()) => self.rows += 1,
            Err(RowStop::Refused { .. }) => self.refused += 1,
            Err(RowStop::Io(error)) => return Err(error),
            Err(RowStop::Fault(fault)) => return Err(io::Error::other(fault)),
            Err(RowStop::TooLong | RowStop::Interrupted) => {}
        }
        Ok(())
    }

    /// Ends the output, and says what the rows lack.
    pub(crate) fn finish(self, is_complete: bool) -> io::Result<(u64, ExportOutcome)> {
        let written = self.writer.finish(self.rows, is_complete)?;
        let mut outcome = ExportOutcome::default();
        if self.refused > 0 {
            outcome.add(Reason::Refused { rows: self.refused });
        }
        let losses = self.columns.into_iter().zip(written.losses);
        for (column, loss) in losses.filter(|(_, loss)| !loss.is_none()) {
            outcome.add(Reason::Changed { column, loss });
        }
        Ok((self.rows, outcome))
    }
}
