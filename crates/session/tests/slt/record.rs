//! Records of an `.slt` file.

/// A batch and what it must give.
pub(crate) struct Record {
    /// Line of its head, from 1.
    pub(crate) line: usize,
    /// Which connection runs it; empty for the first.
    pub(crate) connection: String,
    /// The batch.
    pub(crate) sql: String,
    /// What it must give.
    pub(crate) expected: Expected,
}

/// What a batch must give.
pub(crate) enum Expected {
    /// No error.
    Ok,
    /// No error, and so many changed rows.
    Count(u64),
    /// A first error of this number, or with this in its text.
    Error(String),
    /// One result set.
    Rows {
        /// I, R or T for each column.
        types: String,
        /// Rows are sorted as texts before they are compared.
        is_sorted: bool,
        /// Values of a row separated by tabs.
        rows: Vec<String>,
    },
}

/// The records of a file's text. Panics where the text is none.
pub(crate) fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let mut connection = String::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, head)) = lines.next() {
        if head.is_empty() || head.starts_with('#') {
            continue;
        }
        if let Some(name) = head.strip_prefix("connection ") {
            connection = name.to_owned();
            continue;
        }
        let mut sql = Vec::new();
        let mut rows = Vec::new();
        let mut has_rows = false;
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
            match line {
                "----" if !has_rows => has_rows = true,
                line if has_rows => rows.push(line.to_owned()),
                line => sql.push(line),
            }
        }
        let expected = expected(head, rows).unwrap_or_else(|| panic!("line {}: {head}", at + 1));
        let connection = std::mem::take(&mut connection);
        records.push(Record { line: at + 1, connection, sql: sql.join("\n"), expected });
    }
    records
}

fn expected(head: &str, mut rows: Vec<String>) -> Option<Expected> {
    if let Some(wanted) = head.strip_prefix("statement error ") {
        return Some(Expected::Error(wanted.to_owned()));
    }
    if let Some(count) = head.strip_prefix("statement count ") {
        return Some(Expected::Count(count.parse().ok()?));
    }
    if head == "statement ok" {
        return Some(Expected::Ok);
    }
    let (types, mode) = head.strip_prefix("query ")?.split_once(' ')?;
    let is_sorted = match mode {
        "nosort" => false,
        "rowsort" => true,
        _ => return None,
    };
    if is_sorted {
        rows.sort();
    }
    Some(Expected::Rows { types: types.to_owned(), is_sorted, rows })
}
