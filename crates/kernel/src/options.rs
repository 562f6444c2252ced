//! The options of a session that values depend on.

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
        let all = [
            DateFormat::Mdy,
            DateFormat::Dmy,
            DateFormat::Ymd,
            DateFormat::Ydm,
            DateFormat::Myd,
            DateFormat::Dym,
        ];
        all.into_iter().find(|format| name.as_bytes().eq_ignore_ascii_case(&format.order()))
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
    /// `SET ANSI_NULLS`. When off, `=` and `<>` with NULL or a variable that is NULL compare it as
    /// a value.
    pub ansi_nulls: bool,
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
            ansi_nulls: true,
        }
    }
}
