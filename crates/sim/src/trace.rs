//! The trace of a run, one line per step.

/// The steps of a run. Equal seeds give equal traces.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: Vec<String>,
    is_loud: bool,
}

impl Trace {
    /// A loud trace prints each line at once, so that the steps before a hang are visible.
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
