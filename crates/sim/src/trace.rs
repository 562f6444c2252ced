//! What happened in a life, line by line.

/// The steps of a life. Equal seeds leave equal traces.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: Vec<String>,
    is_loud: bool,
}

impl Trace {
    /// A loud trace prints each line as it comes: what was done before a hang can be read.
    pub(crate) fn new(is_loud: bool) -> Trace {
        Trace { lines: Vec::new(), is_loud }
    }

    pub(crate) fn note(&mut self, line: impl Into<String>) {
        let line = line.into();
        if self.is_loud {
            println!("{line}");
        }
        self.lines.push(line);
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines
    }
}
