//! How expressions are read: with the caution that stored ones need, or as a session's statements.
//!
//! ```text
//! Stored     computed columns, filters, checks: what depends on the session, on tables of Windows
//!            or on anything unpublished does not compile, or leaves its row undecided
//! Statement  what a session runs: everything has the value that is documented
//! ```

/// The order of day, month and year in a text of three numbers (`SET DATEFORMAT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the variants are the values of DATEFORMAT")]
pub enum DateFormat {
    #[default]
    Mdy,
    Dmy,
    Ymd,
    Ydm,
    Myd,
    Dym,
}

impl DateFormat {
    /// By its name in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<DateFormat> {
        Some(match name.to_ascii_lowercase().as_str() {
            "mdy" => DateFormat::Mdy,
            "dmy" => DateFormat::Dmy,
            "ymd" => DateFormat::Ymd,
            "ydm" => DateFormat::Ydm,
            "myd" => DateFormat::Myd,
            "dym" => DateFormat::Dym,
            _ => return None,
        })
    }

    /// Which part stands first, second, third: `y`, `m`, `d`.
    pub(crate) fn order(self) -> [u8; 3] {
        *match self {
            DateFormat::Mdy => b"mdy",
            DateFormat::Dmy => b"dmy",
            DateFormat::Ymd => b"ymd",
            DateFormat::Ydm => b"ydm",
            DateFormat::Myd => b"myd",
            DateFormat::Dym => b"dym",
        }
    }
}

/// The options of a session that values depend on. Names of months and days are those of
/// us_english.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementOptions {
    /// `SET DATEFORMAT`.
    pub date_format: DateFormat,
    /// `SET DATEFIRST`: 1 is Monday, 7 is Sunday.
    pub first_day: u8,
    /// `SET ANSI_WARNINGS`. With it and [`arith_abort`](Self::arith_abort) off, an overflow or a
    /// division by zero is NULL.
    pub ansi_warnings: bool,
    /// `SET ARITHABORT`.
    pub arith_abort: bool,
    /// `SET CONCAT_NULL_YIELDS_NULL`. When off, NULL counts as the empty text in `+`.
    pub concat_null_yields_null: bool,
}

impl Default for StatementOptions {
    /// What a client of ODBC or SqlClient begins with, in us_english.
    fn default() -> StatementOptions {
        StatementOptions {
            date_format: DateFormat::Mdy,
            first_day: 7,
            ansi_warnings: true,
            arith_abort: false,
            concat_null_yields_null: true,
        }
    }
}

/// How an expression is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settings {
    /// As the catalog stores it.
    Stored,
    /// As a statement of a session has it.
    Statement(StatementOptions),
}

impl Settings {
    /// For expressions that the catalog stores.
    #[must_use]
    pub const fn stored() -> Settings {
        Settings::Stored
    }

    /// For expressions of statements.
    #[must_use]
    pub const fn statement(options: StatementOptions) -> Settings {
        Settings::Statement(options)
    }

    pub(crate) fn is_statement(self) -> bool {
        matches!(self, Settings::Statement(_))
    }

    /// The options of the session; those of a new one for stored expressions, which do not ask.
    pub(crate) fn options(self) -> StatementOptions {
        match self {
            Settings::Stored => StatementOptions::default(),
            Settings::Statement(options) => options,
        }
    }
}
