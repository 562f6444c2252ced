//! Table-valued parameters: tables that a procedure or text finds under the names of its
//! parameters.
//!
//! ```text
//! EXECUTE p @t         the caller's table variable under another name
//! rows of a client     a new table with these rows
//! nothing, DEFAULT     a new table without rows
//! ```
//!
//! They end with the procedure or text, as its table variables do.

use extentdb_bind::surroundings::MadeRows;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{Name, ObjectName, Target, TargetKind, VariableName};

use crate::bulk_load;
use extentdb_base::sync::Arc;
use extentdb_connection::cause::Cause;
use extentdb_connection::objects::TableType;
use extentdb_connection::pending_load::insert_of_rows;
use extentdb_connection::request::{TableArgument, TableRows};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::trigger::RowsInMemory;

/// A parameter of a table type, and its argument.
pub(super) struct TableParameter {
    pub(super) name: Box<str>,
    pub(super) ty: ObjectName,
    /// From 1.
    pub(super) position: usize,
    pub(super) argument: Option<TableArgument>,
}

/// Makes the tables of parameters; called where the procedure or text is about to run.
pub(super) fn enter(run: &mut Run<'_>, parameters: Vec<TableParameter>) -> Result<(), Stop> {
    for parameter in parameters {
        let TableParameter { name, ty, position, argument } = parameter;
        let Some(found) = run.connection.table_type(&ty) else {
            let name = ty.to_string().replace(['[', ']'], "");
            return Err(Cause::UnknownType { position, name }.into());
        };
        match argument {
            Some(TableArgument::Variable(handed)) => {
                if handed.of_type() != Some(found.table) {
                    return Err(clash("table", &found.name).into());
                }
                run.connection.take_table(&name, handed);
            }
            Some(TableArgument::Rows(rows)) => {
                run.connection.make_table_variable(&name, &found)?;
                insert(run, &name, &found, &rows)?;
            }
            None => run.connection.make_table_variable(&name, &found)?,
        }
        run.connection.make_read_only(&name);
    }
    Ok(())
}

/// 206
pub(super) fn clash(from: &str, to: &str) -> Cause {
    let text = format!("Operand type clash: {from} is incompatible with {to}");
    Cause::Failed { number: 206, severity: 16, text }
}

/// Inserts the rows of a client.
fn insert(run: &mut Run<'_>, name: &str, ty: &TableType, rows: &TableRows) -> Result<(), Stop> {
    // No columns at all are NULL: an empty table.
    if rows.columns.is_empty() {
        return Ok(());
    }
    let columns = ty.columns();
    if rows.columns.len() != columns.len() {
        let text = format!(
            "Trying to pass a table-valued parameter with {} column(s) where the corresponding \
             user-defined table type requires {} column(s).",
            rows.columns.len(),
            columns.len(),
        );
        return Err(Cause::Failed { number: 500, severity: 16, text }.into());
    }
    let span = Span::default();
    let mut names = Vec::new();
    let mut made = Vec::new();
    for (column, sent) in columns.iter().zip(&rows.columns) {
        let Some(sent) = sent else { continue };
        made.push((column.name.clone(), *sent, true));
        if !column.is_made {
            names.push(Name { text: column.name.as_str().into(), span });
        }
    }
    if names.is_empty() || rows.rows.is_empty() {
        return Ok(());
    }
    let target = Target {
        kind: TargetKind::Variable(VariableName { text: name.into(), span }),
        hints: Vec::new(),
        span,
    };
    let provider = Arc::new(RowsInMemory(rows.rows.clone()));
    let rows = MadeRows { schema: None, columns: made, provider };
    bulk_load::insert(run, &insert_of_rows(target, &names), rows, &[])?;
    Ok(())
}
