//! Between rows and the output: holds a row back until it is whole.
//!
//! A row can turn out unreadable in its last column, and must then leave no trace. Rows are
//! therefore gathered in memory, and handed on some hundred kilobytes at a time. A row that is too
//! long for that is read twice: once for nothing, to see that all of it can be read, and once for
//! the output.

use std::io::{self, Write};

use super::counted::Counted;
use extentdb_catalog::Fault;

/// Gathered before it is written.
const WRITE_BYTES: usize = 256 << 10;
/// A row longer than this is not held back.
const HELD_BYTES_MAX: usize = 4 << 20;

/// What to do with the row at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Keep it until it is whole.
    Hold,
    /// Throw it away: it is only read to see that it can be.
    Discard,
    /// Pass it on piece by piece.
    Flow,
}

/// Why a row did not come to its end.
pub(super) enum RowStop {
    /// It cannot be read.
    Fault(Fault),
    /// It is too long to be held back.
    TooLong,
    /// An unpaired surrogate that the options refuse.
    Refused {
        /// The UTF-16 code unit.
        unit: u16,
    },
    /// The user wants to stop.
    Interrupted,
    /// The output does not take it.
    Io(io::Error),
}

impl From<Fault> for RowStop {
    fn from(fault: Fault) -> RowStop {
        RowStop::Fault(fault)
    }
}

impl From<io::Error> for RowStop {
    fn from(error: io::Error) -> RowStop {
        RowStop::Io(error)
    }
}

/// Takes rows as text.
pub(super) struct Sink<'o> {
    out: Counted<'o>,
    text: String,
    /// Where the current row begins in `text`.
    row: usize,
    mode: Mode,
}

impl<'o> Sink<'o> {
    pub(super) fn new(out: Counted<'o>) -> Sink<'o> {
        let text = String::with_capacity(WRITE_BYTES + (WRITE_BYTES >> 2));
        Sink { out, text, row: 0, mode: Mode::Hold }
    }

    /// Where text of the current row is appended.
    pub(super) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Begins a row.
    pub(super) fn begin_row(&mut self, mode: Mode) {
        (self.row, self.mode) = (self.text.len(), mode);
    }

    /// True when parts of the row may already be written.
    pub(super) fn is_flowing(&self) -> bool {
        self.mode == Mode::Flow
    }

    /// Called between the pieces of a long value.
    pub(super) fn piece(&mut self) -> Result<(), RowStop> {
        match self.mode {
            Mode::Hold if self.text.len() - self.row > HELD_BYTES_MAX => Err(RowStop::TooLong),
            Mode::Hold => Ok(()),
            Mode::Discard => {
                self.text.truncate(self.row);
                Ok(())
            }
            Mode::Flow => Ok(self.write_when_long()?),
        }
    }

    /// The row is whole.
    pub(super) fn end_row(&mut self) -> io::Result<()> {
        if self.mode == Mode::Discard {
            self.text.truncate(self.row);
        }
        self.write_when_long()
    }

    /// The row is not to be written.
    pub(super) fn drop_row(&mut self) {
        self.text.truncate(self.row);
    }

    /// Writes what is still held, and gives the number of bytes and their hash.
    pub(super) fn finish(mut self) -> io::Result<(u64, Option<String>)> {
        self.write()?;
        self.out.finish()
    }

    fn write_when_long(&mut self) -> io::Result<()> {
        if self.text.len() < WRITE_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        // One row of megabytes is no reason to keep megabytes.
        self.text.shrink_to(2 * WRITE_BYTES);
        self.row = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_row_leaves_no_trace() {
        let mut out = Vec::new();
        let mut sink = Sink::new(Counted::new(&mut out, true));
        for (text, whole) in [("one\n", true), ("half", false), ("two\n", true)] {
            sink.begin_row(Mode::Hold);
            sink.text().push_str(text);
            if whole { sink.end_row().unwrap() } else { sink.drop_row() }
        }
        let (bytes, hash) = sink.finish().unwrap();
        assert_eq!(out, b"one\ntwo\n");
        assert_eq!(bytes, 8);
        // What sha256sum says of the same bytes.
        let expected = "c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8";
        assert_eq!(hash.unwrap(), expected);
    }

    #[test]
    fn a_long_row_is_not_held_but_flows() {
        let mut out = Vec::new();
        let mut sink = Sink::new(Counted::new(&mut out, false));
        let piece = "x".repeat(HELD_BYTES_MAX / 2 + 1);
        sink.begin_row(Mode::Hold);
        sink.text().push_str(&piece);
        assert!(sink.piece().is_ok());
        sink.text().push_str(&piece);
        assert!(matches!(sink.piece(), Err(RowStop::TooLong)));
        sink.drop_row();
        for mode in [Mode::Discard, Mode::Flow] {
            sink.begin_row(mode);
            for _ in 0..3 {
                sink.text().push_str(&piece);
                assert!(sink.piece().is_ok());
                assert!(sink.text().is_empty());
            }
            sink.end_row().unwrap();
        }
        assert_eq!(sink.finish().unwrap().0, 3 * piece.len() as u64);
    }
}
