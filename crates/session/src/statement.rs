//! Statements, one file for each family. A family compiles its syntax to a [`Step`].
//!
//! A statement that is not here is refused by its name when it is reached.

mod alter_database;
mod alter_files;
pub(crate) mod capture;
mod change;
mod create_database;
pub(crate) mod cursor;
mod database;
mod dbcc;
pub(crate) mod execute;
mod file_spec;
mod guard;
mod hints;
pub(crate) mod impersonate;
mod insert_bulk;
mod login;
mod message;
mod name;
mod principal;
mod query;
mod select;
mod select_into;
mod server;
mod set;
pub(crate) mod table_variable;
mod throw;
mod transaction;
pub(crate) mod variable;
mod wait;

use extentdb_tsql::syntax::{Script, Statement, StatementKind};

use extentdb_connection::cause::Cause;
use extentdb_connection::scalar::Compiler;
use extentdb_connection::step::Step;

pub(crate) use change::{Event, TriggerTarget, insert_rows};
pub(crate) use hints::recursion_limit;

/// What a statement is compiled with.
pub(crate) struct Context<'c> {
    pub(crate) compiler: Compiler<'c>,
    pub(crate) script: &'c Script,
    pub(crate) statement: &'c Statement,
}

impl Context<'_> {
    /// The statement is refused.
    pub(crate) fn refused(&self) -> Cause {
        let name = match &self.statement.kind {
            StatementKind::Admin(admin) => admin.head.to_owned(),
            _ => name::of(self.script.source(self.statement.span)),
        };
        Cause::StatementNotSupported { name }
    }
}

/// A statement that runs.
type Compiled = Result<Box<dyn Step>, Cause>;

/// Compiles a statement that is no control flow.
pub(crate) fn compile(context: &Context<'_>) -> Compiled {
    if let Some(step) = extentdb_definition::compile(context.script, context.statement) {
        return Ok(step);
    }
    let step = compiled(context)?;
    Ok(guard::guarded(&context.statement.kind, step))
}

fn compiled(context: &Context<'_>) -> Compiled {
    match &context.statement.kind {
        StatementKind::Select(select) => match select_into::into_of(&select.query) {
            Some(into) => select_into::compile(&select.query, into, &select.option),
            None => select::compile(context, select),
        },
        StatementKind::Dml(dml) => change::compile(context, dml),
        StatementKind::InsertBulk(bulk) => insert_bulk::compile(bulk),
        StatementKind::Set(set) => set::compile(context, set),
        StatementKind::Print(print) => message::print(context, print),
        StatementKind::RaiseError(raise) => message::raise(context, raise),
        StatementKind::Throw(throw) => throw::compile(context, throw),
        StatementKind::WaitFor(wait) => wait::compile(context, wait),
        StatementKind::Execute(execute) => execute::compile(context, execute),
        StatementKind::BeginTransaction(begin) => transaction::begin(context, begin),
        StatementKind::Commit(commit) => transaction::commit(context, commit),
        StatementKind::Rollback(rollback) => transaction::roll_back(context, rollback),
        StatementKind::SaveTransaction(save) => transaction::save(context, save),
        StatementKind::ExecuteAs(execute_as) => impersonate::execute_as(context, execute_as),
        StatementKind::Revert(revert) => impersonate::revert(context, revert),
        StatementKind::Use(target) => database::use_database(target),
        StatementKind::Admin(admin) => database::admin(context, admin),
        StatementKind::DropObjects(drop) => database::drop_objects(context, drop),
        StatementKind::Kill(kill) => server::kill(context, kill),
        StatementKind::Reconfigure(_) => Ok(server::reconfigure()),
        StatementKind::Checkpoint(checkpoint) => server::checkpoint(context, checkpoint),
        StatementKind::Shutdown(shutdown) => Ok(server::shutdown(shutdown.is_nowait)),
        StatementKind::Dbcc(dbcc) => dbcc::compile(context, dbcc),
        StatementKind::DeclareCursor(declare) => cursor::declare(declare),
        StatementKind::Open(name) => cursor::open(name),
        StatementKind::Fetch(fetch) => cursor::fetch(context, fetch),
        StatementKind::Close(name) => cursor::close(name),
        StatementKind::Deallocate(name) => cursor::deallocate(name),
        _ => Err(context.refused()),
    }
}
