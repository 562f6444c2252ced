//! What a result does not hold of what was asked for: the reasons why an export is not complete.
//!
//! An export is complete when every row that was asked for is written with the values that are
//! stored. Everything else is a [`Reason`], told on stderr and in the manifest, and none of them
//! ends with exit code 0.

use std::fmt;

use extentdb_types::Datum;
use serde_json::{Value, json};

use crate::exit::Exit;

/// Values of one column that are not written as they are stored.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Loss {
    /// Characters written as U+FFFD or as an escape.
    pub(super) characters: u64,
    /// Times that lost digits other than zero.
    pub(super) times: u64,
    /// Values written as NULL, because the format has nothing else for them.
    pub(super) values: u64,
}

impl Loss {
    pub(super) fn is_none(self) -> bool {
        self == Loss::default()
    }

    pub(super) fn characters(characters: u64) -> Loss {
        Loss { characters, ..Loss::default() }
    }

    /// What a value lost: of a text characters, of others the value.
    pub(super) fn of(datum: &Datum<'_>, count: u64) -> Loss {
        match datum {
            Datum::Char(_) | Datum::NChar(_) => Loss::characters(count),
            Datum::Variant(variant) => Loss::of(&variant.value, count),
            _ => Loss { values: count, ..Loss::default() },
        }
    }

    pub(super) fn add(&mut self, other: Loss) {
        self.characters += other.characters;
        self.times += other.times;
        self.values += other.values;
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.characters, "characters replaced"),
            (self.times, "times truncated to microseconds"),
            (self.values, "values written as NULL"),
        ];
        let mut separator = "";
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{separator}{count} {what}")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Why a result is not complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// The user stopped the export.
    Interrupted { exit: Exit, rows: u64 },
    /// Damage: rows, or pages with the rows on them.
    Unreadable { records: u64 },
    /// Pages and off-row values that are not in the files or the backup.
    Absent { pages: u64, rows: u64 },
    /// Rows left out because of `--surrogates error`.
    Refused { rows: u64 },
    /// Rows left out because `--where` or a computed column cannot be evaluated for them.
    Undecided { rows: u64 },
    /// Values of a column that are not written as they are stored.
    Changed { column: String, loss: Loss },
    /// The catalog counts other rows.
    Count { rows: u64, catalog_rows: i64 },
    /// The log was not replayed to its end, or the files were in use: these may not be the rows of
    /// the database.
    Doubtful { why: String },
    /// Tables and columns may be missing.
    DamagedCatalog { faults: usize },
}

impl Reason {
    /// How the command ends.
    fn exit(&self) -> Exit {
        match self {
            Reason::Interrupted { exit, .. } => *exit,
            Reason::Unreadable { .. } | Reason::Count { .. } | Reason::DamagedCatalog { .. } => {
                Exit::Found
            }
            Reason::Absent { .. }
            | Reason::Refused { .. }
            | Reason::Undecided { .. }
            | Reason::Doubtful { .. }
            | Reason::Changed { .. } => Exit::Incomplete,
        }
    }

    /// The reason in one word, for programs.
    fn code(&self) -> &'static str {
        match self {
            Reason::Interrupted { .. } => "interrupted",
            Reason::Unreadable { .. } => "unreadable",
            Reason::Absent { .. } => "absent_pages",
            Reason::Refused { .. } => "refused",
            Reason::Undecided { .. } => "undecided",
            Reason::Changed { .. } => "changed",
            Reason::Count { .. } => "count",
            Reason::Doubtful { .. } => "doubtful",
            Reason::DamagedCatalog { .. } => "damaged_catalog",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Interrupted { rows, .. } => {
                write!(f, "interrupted after {rows} rows: incomplete")
            }
            Reason::Unreadable { records } => {
                write!(f, "{records} places could not be read; their rows are missing")
            }
            Reason::Absent { pages, rows: 0 } => {
                write!(
                    f,
                    "{pages} pages are not in the files given or cannot be read; their rows are missing"
                )
            }
            Reason::Absent { pages: 0, rows } => write!(
                f,
                "{rows} rows are left out: parts of them are not in the files given or cannot be read"
            ),
            Reason::Absent { pages, rows } => write!(
                f,
                "{pages} pages are not in the files given or cannot be read; their rows are missing, and {rows} rows \
                 with parts there"
            ),
            Reason::Refused { rows } => write!(
                f,
                "{rows} rows are left out: they hold unpaired surrogates, which the format cannot hold \
                 (--surrogates replace writes U+FFFD, --surrogates escape \\uXXXX)"
            ),
            Reason::Undecided { rows } => {
                write!(f, "{rows} rows are left out: an expression cannot be evaluated for them")
            }
            Reason::Changed { column, loss } => write!(f, "column {column}: {loss}"),
            Reason::Count { rows, catalog_rows } => {
                write!(f, "{rows} rows were read, the catalog says {catalog_rows}")
            }
            Reason::Doubtful { why } => write!(f, "{why}"),
            Reason::DamagedCatalog { faults } => {
                write!(
                    f,
                    "the catalog is damaged in {faults} places: tables and rows may be missing"
                )
            }
        }
    }
}

/// All reasons, of a table or of the whole export.
#[derive(Clone, Default, Debug)]
pub(crate) struct ExportOutcome {
    pub(crate) reasons: Vec<Reason>,
}

impl ExportOutcome {
    pub(crate) fn add(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.reasons.is_empty()
    }

    /// How the command ends if this was all.
    pub(crate) fn exit(&self) -> Exit {
        self.reasons.iter().fold(Exit::Done, |exit, reason| exit.and(reason.exit()))
    }

    /// `incomplete_because` of the manifest.
    pub(super) fn json(&self) -> Value {
        let reason =
            |reason: &Reason| json!({ "reason": reason.code(), "text": reason.to_string() });
        self.reasons.iter().map(reason).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_value_is_incomplete_and_damage_outranks_it() {
        let mut outcome = ExportOutcome::default();
        assert_eq!((outcome.is_complete(), outcome.exit()), (true, Exit::Done));
        let loss = Loss { characters: 2, values: 1, ..Loss::default() };
        outcome.add(Reason::Changed { column: "a".to_owned(), loss });
        assert_eq!((outcome.is_complete(), outcome.exit()), (false, Exit::Incomplete));
        let text = "column a: 2 characters replaced, 1 values written as NULL";
        assert_eq!(outcome.json(), json!([{ "reason": "changed", "text": text }]));
        outcome.add(Reason::Unreadable { records: 1 });
        assert_eq!(outcome.exit(), Exit::Found);
    }
}
