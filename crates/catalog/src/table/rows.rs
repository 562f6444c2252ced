//! Reads `rows.tsv`: the rows that every new database has.

use super::DefinitionError;

const FILE: &str = "rows.tsv";
const TEXT: &str = include_str!("rows.tsv");

/// The rows of one base table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateTable {
    /// Name of the table.
    pub name: &'static str,
    /// Its rows, values by column id.
    pub rows: Vec<Vec<TemplateValue>>,
}

/// A value of a template row. What the text means follows from the column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateValue {
    /// The column is NULL.
    Null,
    /// The time at which the database is created.
    CreationTime,
    /// The collation of the database.
    Collation,
    /// The SID of role public, whose last 16 bytes are random.
    PublicSid,
    /// A decimal number, hexadecimal digits or text; `\0` stands for a zero byte.
    Text(&'static str),
}

/// All template rows.
///
/// # Errors
/// The embedded table is damaged.
pub fn template_rows() -> Result<Vec<TemplateTable>, DefinitionError> {
    let mut tables: Vec<TemplateTable> = Vec::new();
    for (line, text) in (1..).zip(TEXT.lines()).filter(|(_, text)| !text.starts_with('#')) {
        if let Some(name) = text.strip_prefix('@') {
            tables.push(TemplateTable { name, rows: Vec::new() });
            continue;
        }
        let error = DefinitionError { file: FILE, line, what: "before the first table" };
        tables.last_mut().ok_or(error)?.rows.push(text.split('\t').map(value).collect());
    }
    Ok(tables)
}

fn value(text: &'static str) -> TemplateValue {
    match text {
        "~" => TemplateValue::Null,
        "*" => TemplateValue::CreationTime,
        "$" => TemplateValue::Collation,
        "?public" => TemplateValue::PublicSid,
        other => TemplateValue::Text(other),
    }
}
