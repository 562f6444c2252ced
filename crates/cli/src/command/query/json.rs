//! JSON lines as one JSON array.

use std::io::{self, Write};

/// Puts an array around JSON lines, and commas between them. A line end is never part of a value.
pub(super) struct JsonArray<W> {
    out: W,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was written.
    Empty,
    /// Within a line.
    Line,
    /// A line has ended; another may follow.
    Ended,
}

impl<W: Write> JsonArray<W> {
    pub(super) fn new(out: W) -> JsonArray<W> {
        JsonArray { out, state: State::Empty }
    }

    /// Ends the array; one that was not read to its end stays open.
    pub(super) fn finish(mut self, is_complete: bool) -> io::Result<()> {
        if is_complete {
            let end: &[u8] = if self.state == State::Empty { b"[]\n" } else { b"\n]\n" };
            self.out.write_all(end)?;
        }
        self.out.flush()
    }

    fn line(&mut self, part: &[u8]) -> io::Result<()> {
        match self.state {
            State::Empty => self.out.write_all(b"[\n")?,
            State::Line => {}
            State::Ended => self.out.write_all(b",\n")?,
        }
        self.state = State::Line;
        self.out.write_all(part)
    }
}

impl<W: Write> Write for JsonArray<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                None => self.line(line)?,
                Some(rest) => {
                    self.line(rest)?;
                    self.state = State::Ended;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_elements() {
        for (parts, expected) in [
            (&[][..], "[]\n"),
            (&["{\"a\":1}\n"], "[\n{\"a\":1}\n]\n"),
            (&["{\"a\"", ":1}\n{\"a\":2}", "\n"], "[\n{\"a\":1},\n{\"a\":2}\n]\n"),
        ] {
            let mut out = Vec::new();
            let mut array = JsonArray::new(&mut out);
            for part in parts {
                array.write_all(part.as_bytes()).unwrap();
            }
            array.finish(true).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
