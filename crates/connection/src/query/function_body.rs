//! What the body of a function of users may do: it changes nothing but its own variables.
//!
//! A function runs in the middle of the statement that calls it. A change of rows, or the end of a
//! transaction, would reach what that statement has read and done: such bodies are refused when
//! they are made, and again when they are called, since files of other origins hold functions too.

use extentdb_tsql::syntax::{
    CursorOption, Dml, Executed, FunctionBody, Query, QueryBody, Select, SelectItem, Set,
    Statement, StatementKind, TableSource, TableSourceKind, Target, TargetKind,
};

use crate::cause::Cause;

/// Verifies the statements of a body; an inline function has none.
///
/// # Errors
/// 443, 557: a statement that changes something else; 444: one that sends rows to the client; 455:
/// the last one is no RETURN.
pub fn verify_function_body(body: &FunctionBody) -> Result<(), Cause> {
    match body {
        FunctionBody::Scalar { statements, .. } | FunctionBody::Table { statements, .. } => {
            statements.iter().try_for_each(verify)?;
            if ends_with_return(statements) { Ok(()) } else { Err(no_return()) }
        }
        _ => Ok(()),
    }
}

/// A RETURN in both branches of an IF at the end is not enough.
fn ends_with_return(statements: &[Statement]) -> bool {
    match statements.last().map(|last| &last.kind) {
        Some(StatementKind::Return(_)) => true,
        Some(StatementKind::Block(own)) => ends_with_return(own),
        _ => false,
    }
}

fn no_return() -> Cause {
    let text = "The last statement included within a function must be a return statement.";
    Cause::Query { number: 455, severity: 16, text: text.to_owned() }
}

fn verify(statement: &Statement) -> Result<(), Cause> {
    match &statement.kind {
        StatementKind::Block(own) => own.iter().try_for_each(verify),
        StatementKind::If(choice) => {
            choice.branches.iter().try_for_each(|branch| verify(&branch.statement))?;
            choice.otherwise.iter().try_for_each(|otherwise| verify(otherwise))
        }
        StatementKind::While(turn) => verify(&turn.statement),
        StatementKind::Select(select) => verify_select(&select.query),
        StatementKind::Dml(dml) => verify_dml(dml),
        StatementKind::Set(set) if !matches!(**set, Set::Variable(_)) => {
            Err(side_effect("SET OPTION ON"))
        }
        StatementKind::DeclareCursor(declare)
            if declare.definition.options.contains(&CursorOption::Global) =>
        {
            Err(side_effect("DECLARE CURSOR"))
        }
        StatementKind::Fetch(fetch) if fetch.into.is_empty() => Err(sends_rows()),
        StatementKind::DeclareCursor(_)
        | StatementKind::Open(_)
        | StatementKind::Fetch(_)
        | StatementKind::Close(_)
        | StatementKind::Deallocate(_)
        | StatementKind::Set(_)
        | StatementKind::Declare(_)
        | StatementKind::Return(_)
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Goto(_)
        | StatementKind::Label(_) => Ok(()),
        StatementKind::Execute(execute) => Err(match execute.what {
            Executed::Text { .. } => side_effect("EXECUTE STRING"),
            Executed::Procedure { .. } => only_functions(),
        }),
        StatementKind::Print(_) => Err(side_effect("PRINT")),
        StatementKind::RaiseError(_) => Err(side_effect("RAISERROR")),
        StatementKind::Throw(_) => Err(side_effect("THROW")),
        StatementKind::TryCatch(_) => Err(side_effect("BEGIN TRY")),
        StatementKind::WaitFor(_) => Err(side_effect("WAITFOR")),
        StatementKind::BeginTransaction(_) => Err(side_effect("BEGIN TRANSACTION")),
        StatementKind::Commit(_) => Err(side_effect("COMMIT TRANSACTION")),
        StatementKind::Rollback(_) => Err(side_effect("ROLLBACK TRANSACTION")),
        StatementKind::SaveTransaction(_) => Err(side_effect("SAVEPOINT")),
        _ => Err(side_effect("CONDITIONAL")),
    }
}

/// A SELECT gives values to variables.
fn verify_select(query: &Query) -> Result<(), Cause> {
    let assigns = |select: &Select| {
        select.into.is_none() && select.items.iter().all(|it| matches!(it, SelectItem::Assign(_)))
    };
    match &query.body {
        QueryBody::Select(select) if select.into.is_some() => Err(side_effect("SELECT INTO")),
        QueryBody::Select(select) if assigns(select) => Ok(()),
        _ => Err(sends_rows()),
    }
}

fn sends_rows() -> Cause {
    let text = "Select statements included within a function cannot return data to a client.";
    Cause::Query { number: 444, severity: 16, text: text.to_owned() }
}

/// A change is one of a table variable.
fn verify_dml(dml: &Dml) -> Result<(), Cause> {
    let (word, target, from) = match dml {
        Dml::Insert(insert) => ("INSERT", &insert.target, [].as_slice()),
        Dml::Update(update) => ("UPDATE", &update.target, update.from.as_slice()),
        Dml::Delete(delete) => ("DELETE", &delete.target, delete.from.as_slice()),
        Dml::Merge(merge) => ("MERGE", &merge.target, [].as_slice()),
    };
    if is_variable(target, from) { Ok(()) } else { Err(side_effect(word)) }
}

/// Is the target a table variable, by itself or by its alias in FROM?
fn is_variable(target: &Target, from: &[TableSource]) -> bool {
    match &target.kind {
        TargetKind::Variable(_) => true,
        TargetKind::Object(name) => {
            name.is_simple() && from.iter().any(|own| names_variable(own, &name.name.text))
        }
        TargetKind::Rowset(_) => false,
    }
}

fn names_variable(source: &TableSource, alias: &str) -> bool {
    match &source.kind {
        TableSourceKind::Variable { .. } => {
            source.alias.as_ref().is_some_and(|own| own.name.text.eq_ignore_ascii_case(alias))
        }
        TableSourceKind::Joined { first, joins } => {
            names_variable(first, alias)
                || joins.iter().any(|join| names_variable(&join.right, alias))
        }
        _ => false,
    }
}

fn side_effect(operator: &str) -> Cause {
    let text = format!("Invalid use of a side-effecting operator '{operator}' within a function.");
    Cause::Query { number: 443, severity: 16, text }
}

fn only_functions() -> Cause {
    let text = "Only functions and some extended stored procedures can be executed from within a \
                function.";
    Cause::Query { number: 557, severity: 16, text: text.to_owned() }
}
