//! What the terminal can show: its width, and colours.
//!
//! Text that goes to a file or a pipe is never cut and never coloured, unless `COLUMNS` or
//! `--color always` ask for it.

use std::io::{self, IsTerminal};

use clap::ValueEnum;

/// When reports have colours, `--color`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// Where a text goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reader {
    /// A person at a terminal, perhaps.
    Stdout,
    /// A file or device that was named.
    Elsewhere,
}

impl Color {
    /// Whether to colour.
    pub(crate) fn is_on(self, to: Reader) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_refused = std::env::var_os("NO_COLOR")
                    .is_some_and(|value| !value.is_empty())
                    || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
                to == Reader::Stdout && !is_refused && io::stdout().is_terminal()
            }
        }
    }
}

/// Columns that a line may have; `None` where nothing limits it.
pub(crate) fn columns(to: Reader) -> Option<usize> {
    if to != Reader::Stdout {
        return None;
    }
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    asked.filter(|columns| *columns > 0).or_else(|| {
        let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(usize::from(width.0)).filter(|columns| *columns > 0)
    })
}

/// Verdicts as they begin a line, and their colours.
const VERDICTS: [(&str, &str); 5] = [
    ("clean", "32"),
    ("damaged", "31"),
    ("incomplete", "33"),
    ("in use", "33"),
    ("not checked", "33"),
];

/// A report whose verdict, the first that begins a line, is coloured.
pub(crate) fn with_coloured_verdict(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.split_inclusive('\n');
    for line in rest.by_ref() {
        let Some((verdict, color)) = VERDICTS.iter().find(|(verdict, _)| is_verdict(line, verdict))
        else {
            out.push_str(line);
            continue;
        };
        let after = line.get(verdict.len()..).unwrap_or_default();
        out += &format!("\x1b[1;{color}m{verdict}\x1b[0m{after}");
        break;
    }
    out.extend(rest);
    out
}

fn is_verdict(line: &str, verdict: &str) -> bool {
    line.strip_prefix(verdict).is_some_and(|after| after.starts_with([':', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_alone_is_coloured() {
        assert_eq!(with_coloured_verdict("clean: all\n"), "\x1b[1;32mclean\x1b[0m: all\n");
        assert_eq!(with_coloured_verdict("damaged: 2"), "\x1b[1;31mdamaged\x1b[0m: 2");
        assert_eq!(with_coloured_verdict("cleaner: x"), "cleaner: x");
        let report = "DBCC results\nclean: a\nclean: b\n";
        let coloured = "DBCC results\n\x1b[1;32mclean\x1b[0m: a\nclean: b\n";
        assert_eq!(with_coloured_verdict(report), coloured);
    }

    #[test]
    fn what_goes_elsewhere_has_no_width_and_no_colour_of_itself() {
        assert_eq!(columns(Reader::Elsewhere), None);
        assert!(!Color::Auto.is_on(Reader::Elsewhere) && Color::Always.is_on(Reader::Elsewhere));
    }
}
