//! Facts for people: a section per fact, a line per value, a table per list.

use serde_json::{Map, Value};

/// All facts. A table that is wider than `columns` is written row by row.
pub(super) fn render(facts: &Map<String, Value>, columns: Option<usize>) -> String {
    let sections =
        facts.iter().map(|(name, value)| format!("{}\n{}", title(name), section(value, columns)));
    sections.collect::<Vec<_>>().join("\n")
}

fn section(value: &Value, columns: Option<usize>) -> String {
    match value {
        Value::Object(facts) => lines(facts),
        Value::Array(rows) if rows.iter().all(Value::is_object) => table(rows, columns),
        other => format!("    {}\n", plain(other)),
    }
}

fn lines(facts: &Map<String, Value>) -> String {
    let width = facts.keys().map(|key| key.chars().count()).max().unwrap_or(0);
    let line = |(key, value): (&String, &Value)| {
        format!("    {:width$}  {}\n", key.replace('_', " "), plain(value))
    };
    facts.iter().filter(|(_, value)| !value.is_null()).map(line).collect()
}

/// Tables of more columns are written row by row, however wide the terminal is.
const COLUMNS_MAX: usize = 11;
/// Blanks before a line, and between columns.
const INDENT: usize = 4;
const GAP: usize = 2;

/// A table with the columns that any of the rows has.
fn table(rows: &[Value], columns_max: Option<usize>) -> String {
    let rows: Vec<&Map<String, Value>> = rows.iter().filter_map(Value::as_object).collect();
    if rows.iter().any(|row| row.values().filter(|value| !value.is_null()).count() > COLUMNS_MAX) {
        return rows.iter().map(|row| lines(row)).collect::<Vec<_>>().join("\n");
    }
    let mut columns: Vec<&String> = Vec::new();
    for (key, value) in rows.iter().flat_map(|row| row.iter()) {
        if !value.is_null() && !columns.contains(&key) {
            columns.push(key);
        }
    }
    let heads: Vec<String> = columns.iter().map(|column| column.replace('_', " ")).collect();
    let mut cells = vec![heads];
    cells.extend(rows.iter().map(|row| {
        columns
            .iter()
            .map(|column| row.get(*column).map(plain).unwrap_or_default())
            .collect::<Vec<String>>()
    }));
    let width = |at: usize| {
        cells.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns.len()).map(|at| width(at).unwrap_or(0)).collect();
    let line_width = INDENT + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    if columns_max.is_some_and(|most| line_width > most) {
        return rows.iter().map(|row| lines(row)).collect::<Vec<_>>().join("\n");
    }
    let mut out = String::new();
    for row in &cells {
        let mut line = String::from("    ");
        for (cell, width) in row.iter().zip(&widths) {
            line += &format!("{cell:width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// `page_types` → `Page types`.
fn title(name: &str) -> String {
    if name == "lsns" {
        return "LSNs".to_owned();
    }
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn facts_become_sections_lines_and_tables() {
        let facts = json!({
            "database": { "name": "x", "page_verify": "NONE", "left_out": null, "clean": true },
            "files": [{ "id": 1, "name": "a" }, { "id": 20, "name": "b", "path": "/b" }],
        });
        let expected = "Database\n    name         x\n    page verify  NONE\n    clean        yes\n\n\
                        Files\n    id  name  path\n    1   a\n    20  b     /b\n";
        assert_eq!(render(facts.as_object().unwrap(), None), expected);
        assert_eq!(render(facts.as_object().unwrap(), Some(22)), expected);
        let narrow = render(facts.as_object().unwrap(), Some(16));
        let vertical =
            "Files\n    id    1\n    name  a\n\n    id    20\n    name  b\n    path  /b\n";
        assert!(narrow.ends_with(vertical), "{narrow}");
    }
}
