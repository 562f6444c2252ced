//! The formats that rows are written in.

use clap::ValueEnum;

/// How rows are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum RowFormat {
    /// One JSON object per line
    #[default]
    #[value(alias = "json")]
    Jsonl,
    /// RFC 4180 with a header line; NULL is an empty field, an empty string is ""
    Csv,
    /// INSERT statements
    Sql,
    /// Apache Parquet
    Parquet,
}

impl RowFormat {
    /// What files of this format end in.
    pub(super) fn extension(self) -> &'static str {
        match self {
            RowFormat::Jsonl => "jsonl",
            RowFormat::Csv => "csv",
            RowFormat::Sql => "sql",
            RowFormat::Parquet => "parquet",
        }
    }
}
