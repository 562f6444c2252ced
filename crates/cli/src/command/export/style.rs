//! How values are written: the format and its options.

use clap::{Args, ValueEnum};

use super::format::RowFormat;

/// What is written for an unpaired surrogate: half of a character beyond U+FFFF, which nchar types
/// may hold.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Surrogates {
    /// U+FFFD; counted as changed
    Replace,
    /// Its code: \uXXXX in JSON, CONVERT(…, 0x…) in SQL, which are exact; the text \uXXXX in csv
    /// and parquet, counted
    Escape,
    /// The row is left out and named
    Error,
}

/// Parquet type of datetime2(7), datetimeoffset(7) and time(7).
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Timestamps {
    /// datetime2(7) and datetimeoffset(7) as text, time(7) in nanoseconds: nothing is lost
    #[default]
    Text,
    /// Microseconds; a last digit other than 0 is lost and counted
    Us,
}

/// Options of the formats.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of formats")]
pub(crate) struct StyleArgs {
    /// Unpaired surrogates (default: escape for jsonl and sql, error for csv and parquet)
    #[arg(long, value_enum, value_name = "HOW")]
    surrogates: Option<Surrogates>,
    /// csv: what stands between fields: one character, or \t
    #[arg(long, value_name = "C", default_value = ",", value_parser = parse_delimiter)]
    delimiter: char,
    /// csv: what stands for NULL; the same text as a value is quoted
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    null: String,
    /// parquet: times of 100 nanoseconds
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    timestamps: Timestamps,
}

/// How values are written.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(super) format: RowFormat,
    pub(super) surrogates: Surrogates,
    pub(super) csv: CsvStyle,
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "for parquet alone"))]
    pub(super) timestamps: Timestamps,
}

/// How fields of CSV are written.
#[derive(Clone, Debug)]
pub(super) struct CsvStyle {
    pub(super) delimiter: char,
    pub(super) null: String,
}

impl Style {
    pub(crate) fn new(format: RowFormat, args: &StyleArgs) -> anyhow::Result<Style> {
        let csv = CsvStyle { delimiter: args.delimiter, null: args.null.clone() };
        if csv.null.contains([csv.delimiter, '"', '\r', '\n']) {
            anyhow::bail!(
                "--null {:?}: a quote, a line end or the delimiter cannot be part of it",
                csv.null
            );
        }
        let is_exact = matches!(format, RowFormat::Jsonl | RowFormat::Sql);
        let default = if is_exact { Surrogates::Escape } else { Surrogates::Error };
        let surrogates = args.surrogates.unwrap_or(default);
        Ok(Style { format, surrogates, csv, timestamps: args.timestamps })
    }

    /// True when an escape of the format keeps unpaired surrogates as they are.
    pub(super) fn keeps_surrogates(&self) -> bool {
        self.surrogates == Surrogates::Escape
            && matches!(self.format, RowFormat::Jsonl | RowFormat::Sql)
    }
}

fn parse_delimiter(text: &str) -> Result<char, String> {
    let text = if text == "\\t" { "\t" } else { text };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some('"' | '\r' | '\n'), None) => {
            Err("a quote or a line end cannot separate fields".to_owned())
        }
        // Numbers and hexadecimal digits are not quoted.
        (Some(c), None) if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+') => {
            Err("letters, digits and signs are parts of values".to_owned())
        }
        (Some(delimiter), None) => Ok(delimiter),
        _ => Err("one character is needed, or \\t".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_character() {
        for (text, delimiter) in [(",", ','), ("\\t", '\t'), ("\t", '\t'), ("§", '§'), ("\\", '\\')]
        {
            assert_eq!(parse_delimiter(text), Ok(delimiter));
        }
        for text in ["", ";;", "\"", "\n", "1", "A", "-"] {
            assert!(parse_delimiter(text).is_err(), "{text:?}");
        }
    }
}
