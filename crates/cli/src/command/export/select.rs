//! Which columns and rows of a table are written: `--columns`, `--where`, `--limit`.

use anyhow::bail;
use extentdb_base::Rid;
use extentdb_catalog::{Catalog, Column, Fault, Table};
use extentdb_expr::Batch;
use extentdb_reader::{Row, Value, stored_columns};
use extentdb_types::{Collation, Datum};

use super::formula::{ColumnNames, Computed, Filter, NoResult};
use crate::suggest::did_you_mean;

/// What was asked for, as typed.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Rows and columns")]
pub(super) struct SelectArgs {
    /// Only these columns, in this order: a,b or [a name, with a comma],b. May be repeated
    #[arg(long, value_name = "NAMES")]
    columns: Vec<String>,
    /// Only rows for which this T-SQL condition is true: "[Freight] > 100 AND ShipCity LIKE 'B%'"
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
    /// At most this many rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl SelectArgs {
    /// True when all rows are wanted: then their number is the catalog's.
    pub(super) fn takes_all_rows(&self) -> bool {
        self.condition.is_none() && self.limit.is_none()
    }

    /// True when no column was named: then those that are not there are told.
    pub(super) fn takes_all_columns(&self) -> bool {
        self.columns.is_empty()
    }

    /// What was asked for, for the manifest.
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::json!({ "columns": self.columns, "where": self.condition, "limit": self.limit })
    }
}

/// Columns and rows of one table.
pub(super) struct Selection<'c> {
    columns: Vec<Selected<'c>>,
    filter: Option<Filter>,
    pub(super) limit: Option<u64>,
}

struct Selected<'c> {
    column: &'c Column,
    from: From,
}

enum From {
    /// Position among the columns of the scan.
    Row(usize),
    /// Computed for each row.
    Computed(Computed),
}

impl<'c> Selection<'c> {
    /// Finds columns and compiles expressions for a table.
    ///
    /// # Errors
    /// The table has no such column, or an expression cannot be evaluated.
    pub(super) fn new(
        args: &SelectArgs,
        table: &'c Table,
        catalog: &Catalog,
    ) -> anyhow::Result<Selection<'c>> {
        let names = ColumnNames::of(table, catalog);
        let typed = names_of(&args.columns)?;
        let columns = if args.columns.is_empty() {
            let stored = stored_columns(table).into_iter().enumerate();
            stored
                .map(|(position, column)| Selected { column, from: From::Row(position) })
                .collect()
        } else {
            let ignores_case = Collation(catalog.boot.collation_id).ignores_case();
            let selected = |name: &String| selected(name, table, &names, ignores_case);
            typed.iter().map(selected).collect::<anyhow::Result<Vec<_>>>()?
        };
        let filter =
            args.condition.as_deref().map(|text| Filter::compile(text, &names)).transpose()?;
        Ok(Selection { columns, filter, limit: args.limit })
    }

    /// The columns, in the order of the output.
    pub(super) fn columns(&self) -> Vec<&'c Column> {
        self.columns.iter().map(|selected| selected.column).collect()
    }

    /// A row as it is written; `None` when the condition does not hold for it.
    pub(super) fn take<'r, 's>(
        &'r self,
        row: &'r Row<'s>,
        batch: &mut Batch,
    ) -> Result<Option<OutputRow<'r, 's>>, NoResult> {
        if let Some(filter) = &self.filter
            && !filter.passes(row, batch)?
        {
            return Ok(None);
        }
        let mut computed = Vec::new();
        for selected in &self.columns {
            if let From::Computed(of) = &selected.from {
                computed.push(of.value(row)?);
            }
        }
        Ok(Some(OutputRow::Scanned(ScannedRow { row, columns: &self.columns, computed })))
    }
}

/// A row of the output.
pub(super) enum OutputRow<'r, 's> {
    /// Of a scan.
    Scanned(ScannedRow<'r, 's>),
    /// Of a query: a value for each column.
    Values(&'r [Datum<'static>]),
}

/// A row of a scan, and what was computed from it.
pub(super) struct ScannedRow<'r, 's> {
    row: &'r Row<'s>,
    columns: &'r [Selected<'r>],
    /// The values of computed columns, in their order.
    computed: Vec<Datum<'static>>,
}

impl OutputRow<'_, '_> {
    /// The value of a column, by its position among those of the output.
    pub(super) fn value(&self, position: usize) -> Result<Value<'_>, Fault> {
        match self {
            OutputRow::Scanned(row) => row.value(position),
            OutputRow::Values(values) => {
                Ok(Value::Datum(values.get(position).cloned().unwrap_or(Datum::Null)))
            }
        }
    }

    /// Where the row is stored; of a query it is stored nowhere.
    pub(super) fn rid(&self) -> Rid {
        match self {
            OutputRow::Scanned(row) => row.row.rid,
            OutputRow::Values(_) => Rid::default(),
        }
    }
}

impl ScannedRow<'_, '_> {
    fn value(&self, position: usize) -> Result<Value<'_>, Fault> {
        match self.columns.get(position).map(|selected| &selected.from) {
            Some(From::Row(position)) => self.row.value(*position),
            Some(From::Computed(_)) => Ok(Value::Datum(self.computed(position))),
            None => Ok(Value::Datum(Datum::Null)),
        }
    }

    fn computed(&self, position: usize) -> Datum<'static> {
        let before = self.columns.iter().take(position);
        let index = before.filter(|selected| matches!(selected.from, From::Computed(_))).count();
        self.computed.get(index).cloned().unwrap_or(Datum::Null)
    }
}

fn selected<'c>(
    name: &str,
    table: &'c Table,
    names: &ColumnNames<'_>,
    ignores_case: bool,
) -> anyhow::Result<Selected<'c>> {
    let fold = |name: &str| name.chars().flat_map(char::to_lowercase).collect::<String>();
    let exact = table.columns.iter().find(|column| column.name == name);
    let folded = || table.columns.iter().find(|column| fold(&column.name) == fold(name));
    let Some(column) = exact.or_else(|| folded().filter(|_| ignores_case)) else {
        let known = table.columns.iter().map(|column| column.name.as_str());
        bail!("{} has no column {name}{}", table.full_name(), did_you_mean(name, known));
    };
    if column.column_set {
        bail!("not supported: {} is a column set: name the sparse columns", column.name);
    }
    let position = stored_columns(table).iter().position(|stored| stored.id == column.id);
    let from = match position {
        Some(position) => From::Row(position),
        None => From::Computed(Computed::compile(column, names)?),
    };
    Ok(Selected { column, from })
}

/// `a,[b,c],"d"` as names.
fn names_of(typed: &[String]) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for list in typed {
        let mut rest = Some(list.as_str());
        while let Some(text) = rest {
            let (name, after) = first_name(text.trim_start(), list)?;
            names.push(name);
            rest = after;
        }
    }
    Ok(names)
}

/// The first name of a list, and what follows its comma.
fn first_name<'t>(text: &'t str, list: &str) -> anyhow::Result<(String, Option<&'t str>)> {
    let close = match text.chars().next() {
        Some('[') => ']',
        Some('"') => '"',
        _ => {
            let (name, after) =
                text.split_once(',').map_or((text, None), |(name, after)| (name, Some(after)));
            if name.trim().is_empty() {
                bail!("--columns {list}: a name is empty");
            }
            return Ok((name.trim().to_owned(), after));
        }
    };
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != close {
            name.push(c);
        } else if chars.next_if(|(_, next)| *next == close).is_some() {
            name.push(close);
        } else {
            let after = text.get(at + 1..).unwrap_or_default().trim_start();
            return match after.strip_prefix(',') {
                Some(after) => Ok((name, Some(after))),
                None if after.is_empty() => Ok((name, None)),
                None => bail!("--columns {list}: a comma is missing after {close}"),
            };
        }
    }
    bail!("--columns {list}: {close} is missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_commas_outside_of_brackets() {
        let names = |typed: &str| names_of(&[typed.to_owned()]);
        assert_eq!(names("a, b").unwrap(), ["a", "b"]);
        assert_eq!(names("[a,b],\"c \"\"d\"").unwrap(), ["a,b", "c \"d"]);
        assert_eq!(names("Unit Price,[x]]y]").unwrap(), ["Unit Price", "x]y"]);
        for typed in ["", "a,", ",a", "[a", "[a]b"] {
            assert!(names(typed).is_err(), "{typed}");
        }
    }
}
