//! Where the rows of a query go: a text table, or a format of `export`.

use std::io::{self, Write};

use anyhow::bail;
use extentdb_session::offline::Query;
use extentdb_types::Datum;

use super::QueryFormat;
use crate::command::export::format::RowFormat;
use crate::command::export::{ColumnHead, ExportOutcome, ResultRows, Style};
use crate::context::Context;
use crate::grid::{Grid, GridColumn, GridStyle, is_number, shown};

impl QueryFormat {
    /// The format of `export` that rows are written in; a table has none.
    pub(super) fn rows(self) -> RowFormat {
        match self {
            QueryFormat::Csv => RowFormat::Csv,
            QueryFormat::Parquet => RowFormat::Parquet,
            QueryFormat::Table | QueryFormat::Json | QueryFormat::Jsonl => RowFormat::Jsonl,
        }
    }
}

/// Takes the rows of a query.
pub(super) enum Rows<'a> {
    Table(TableRows<'a>),
    Written(ResultRows<'a>),
}

/// A text table, with the number of its rows below.
pub(super) struct TableRows<'a> {
    grid: Grid,
    count: u64,
    is_quiet: bool,
    out: &'a mut (dyn Write + Send),
}

impl<'a> Rows<'a> {
    /// # Errors
    /// The format does not take the columns.
    pub(super) fn new(
        format: QueryFormat,
        style: &'a Style,
        query: &Query,
        width: Option<usize>,
        context: &'a Context,
        out: &'a mut (dyn Write + Send),
    ) -> anyhow::Result<Rows<'a>> {
        if format == QueryFormat::Table {
            let column = |own: &extentdb_session::ColumnInfo| GridColumn {
                name: own.name.clone(),
                is_number: is_number(&own.ty),
            };
            let columns = query.columns().iter().map(column).collect();
            let grid = Grid::new(columns, GridStyle { most: width, ..GridStyle::default() });
            let is_quiet = context.common.quiet;
            return Ok(Rows::Table(TableRows { grid, count: 0, is_quiet, out }));
        }
        let heads = heads(query, format)?;
        Ok(Rows::Written(ResultRows::new(style, &heads, &context.interrupt, out)?))
    }

    pub(super) fn push(&mut self, row: &[Datum<'static>]) -> io::Result<()> {
        match self {
            Rows::Table(table) => {
                table.count += 1;
                table.grid.push(row.iter().map(shown).collect(), table.out)
            }
            Rows::Written(rows) => rows.push(row),
        }
    }

    /// Ends the result; the number of its rows, and what they lack.
    pub(super) fn finish(self, is_whole: bool) -> io::Result<(u64, ExportOutcome)> {
        match self {
            Rows::Table(TableRows { grid, count, is_quiet, out }) => {
                grid.finish(out)?;
                if !is_quiet {
                    writeln!(out, "\n({count} {})", if count == 1 { "row" } else { "rows" })?;
                }
                Ok((count, ExportOutcome::default()))
            }
            Rows::Written(rows) => rows.finish(is_whole),
        }
    }
}

/// Heads of the columns: those without a name get one, and in formats whose rows have names no two
/// may be the same.
fn heads(query: &Query, format: QueryFormat) -> anyhow::Result<Vec<ColumnHead>> {
    let mut heads: Vec<ColumnHead> = Vec::new();
    for (at, column) in query.columns().iter().enumerate() {
        let name = match column.name.as_str() {
            "" => format!("column{}", at + 1),
            name => name.to_owned(),
        };
        if format != QueryFormat::Csv && heads.iter().any(|head| head.name == name) {
            bail!("two columns are called {name}: give one an alias, or use --format csv");
        }
        heads.push(ColumnHead::of_query(name, column.ty));
    }
    Ok(heads)
}
