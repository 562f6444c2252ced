//! What a query fails of, as messages.

use extentdb_bind::{Cause as BindCause, Error as BindError};
use extentdb_exec::Error as ExecError;
use extentdb_plan::Error as PlanError;

use crate::cause::Cause;
use crate::connection::Connection;
use crate::query::Change;
use crate::scalar;

/// The cause of a query that has no meaning.
pub fn bind_cause(error: BindError) -> Cause {
    match error.cause {
        BindCause::Expression(cause) => scalar::cause_of(cause),
        BindCause::NotSupported { what } => Cause::NotSupported { what },
        cause => Cause::Query {
            number: cause.number(),
            severity: cause.severity(),
            text: cause.to_string(),
        },
    }
}

/// The cause of a query that has no plan.
pub fn plan_cause(error: PlanError) -> Cause {
    match error {
        PlanError::Expression(cause) => scalar::cause_of(cause),
    }
}

/// The cause of an execution that has failed; `change` is what the statement does to rows.
pub fn exec_cause(error: ExecError, connection: &Connection, change: Option<&Change>) -> Cause {
    match error {
        ExecError::Engine(error) | ExecError::Change { error, .. } => match change {
            Some(change) => super::change_failure::cause_of(&error, change, connection),
            None => connection.engine_cause(&error),
        },
        other => operator_cause(other, change.map_or("INSERT", |change| change.verb)),
    }
}

/// The same without an engine; `verb` is what the statement does to rows.
pub fn operator_cause(error: ExecError, verb: &str) -> Cause {
    let other = |number: i32, severity: u8, text: String| Cause::Failed { number, severity, text };
    match error {
        ExecError::Engine(error) | ExecError::Change { error, .. } => {
            Cause::Engine { text: error.to_string() }
        }
        ExecError::Null { table, column } => other(
            515,
            16,
            format!(
                "Cannot insert the value NULL into column '{column}', table '{table}'; column does \
                 not allow nulls. {verb} fails."
            ),
        ),
        ExecError::Truncated { table, column, value } => other(
            2628,
            16,
            format!(
                "String or binary data would be truncated in table '{table}', column '{column}'. \
                 Truncated value: '{value}'."
            ),
        ),
        ExecError::Expression(failure) => scalar::failure_cause(&failure),
        ExecError::Function(error) => match error.downcast::<Cause>() {
            Ok(cause) => *cause,
            Err(error) => Cause::not_supported(error.to_string()),
        },
        ExecError::Overflow { ty } => Cause::overflow(&ty),
        ExecError::SubqueryRows => other(
            512,
            16,
            "Subquery returned more than 1 value. This is not permitted when the subquery follows \
             =, !=, <, <= , >, >= or when the subquery is used as an expression."
                .to_owned(),
        ),
        ExecError::WindowArgument { number } => {
            other(number, 16, "An argument of a window function is out of its range.".to_owned())
        }
        ExecError::RowCount { number } => other(number, 15, row_count_text(number).to_owned()),
        ExecError::Message { number, text } => other(number, 16, text),
        ExecError::Json { number } => other(
            number,
            16,
            match number {
                13607 => "JSON path is not properly formatted.",
                13608 => "Property cannot be found on the specified JSON path.",
                _ => "JSON text is not properly formatted.",
            }
            .to_owned(),
        ),
        ExecError::Recursion { most } => other(
            530,
            16,
            format!(
                "The statement terminated. The maximum recursion {most} has been exhausted before \
                 statement completion."
            ),
        ),
        ExecError::StringAggLength => other(
            9829,
            16,
            "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to \
             avoid result truncation."
                .to_owned(),
        ),
        ExecError::WorkFile(error) => work_file_cause(&error),
        ExecError::WorkFileChanged => {
            Cause::Engine { text: ExecError::WorkFileChanged.to_string() }
        }
        ExecError::NotSupported(what) => Cause::NotSupported { what },
    }
}

/// The folder of tempdb is full, or work files cannot be made there.
fn work_file_cause(error: &dyn std::error::Error) -> Cause {
    let text = format!(
        "Could not allocate space for object 'dbo.SORT temporary run storage' in database 'tempdb' \
         because the 'PRIMARY' filegroup is full. Create disk space by deleting unneeded files, \
         dropping objects in the filegroup, adding additional files to the filegroup, or setting \
         autogrowth on for existing files in the filegroup. ({error})"
    );
    Cause::Failed { number: 1105, severity: 17, text }
}

fn row_count_text(number: i32) -> &'static str {
    match number {
        127 => "A TOP N or FETCH rowcount value may not be negative.",
        1031 => "Percent values must be between 0 and 100.",
        10742 => "The offset specified in a OFFSET clause may not be negative.",
        10744 => "The number of rows provided for a FETCH clause must be greater then zero.",
        _ => {
            "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer."
        }
    }
}
