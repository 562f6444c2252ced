//! USE, DROP DATABASE, and the other statements of the grammar tables.

use extentdb_engine::Error;
use extentdb_tsql::syntax::{AdminStatement, DropClass, DropObjects, Use};

use super::{Compiled, Context, login};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::output::StatementCode;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// A statement that is a hint for plans: it changes nothing here.
struct Hint;
struct UseStep(String);
struct Drop {
    names: Vec<String>,
    if_exists: bool,
}

pub(super) fn use_database(target: &Use) -> Compiled {
    Ok(Box::new(UseStep(target.database.text.to_string())))
}

pub(super) fn admin(context: &Context<'_>, admin: &AdminStatement) -> Compiled {
    let name = admin.clause.names().next().map(|name| name.text.to_string());
    match (admin.head, name) {
        ("CREATE DATABASE", Some(name)) => super::create_database::compile(admin, name),
        ("ALTER DATABASE", _) => super::alter_database::compile(admin),
        ("ALTER DATABASE SCOPED CONFIGURATION", _) => Ok(Box::new(Hint)),
        ("CREATE LOGIN" | "ALTER LOGIN" | "DROP LOGIN", Some(name)) => login::compile(admin, name),
        (
            "CREATE USER"
            | "ALTER USER"
            | "DROP USER"
            | "CREATE ROLE"
            | "ALTER ROLE"
            | "DROP ROLE"
            | "ALTER SERVER ROLE"
            | "CREATE APPLICATION ROLE"
            | "ALTER APPLICATION ROLE"
            | "DROP APPLICATION ROLE",
            _,
        ) => super::principal::compile(admin),
        _ => Err(context.refused()),
    }
}

pub(super) fn drop_objects(context: &Context<'_>, drop: &DropObjects) -> Compiled {
    if drop.class != DropClass::Database {
        return Err(context.refused());
    }
    let names = drop.names.iter().map(|name| name.name.text.to_string()).collect();
    Ok(Box::new(Drop { names, if_exists: drop.if_exists }))
}

impl Step for Hint {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        run.connection.server.forget_plans();
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

impl Step for UseStep {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        run.change_database(&self.0)?;
        let text = format!("Changed database context to '{}'.", run.connection.database);
        run.output.message(&Message::info(5701, 1, 1, text), false)?;
        Ok(RowCount::Rows(0))
    }
}

pub(super) fn verify_outside(run: &Run<'_>, statement: &'static str) -> Result<(), Stop> {
    if run.connection.is_in_transaction() {
        return Err(Cause::InTransaction { statement }.into());
    }
    Ok(())
}

impl Step for Drop {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        verify_outside(run, "DROP DATABASE")?;
        for name in &self.names {
            self.drop_one(run, name)?;
        }
        run.done(frame.scope, StatementCode::DropDatabase, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

impl Drop {
    fn drop_one(&self, run: &Run<'_>, name: &str) -> Result<(), Stop> {
        let termination = no_wait();
        run.connection.server.forget_plans();
        match run.connection.server.instance.drop_database(name, termination) {
            Ok(()) => Ok(()),
            Err(Error::NoDatabase { .. }) if self.if_exists => Ok(()),
            Err(Error::NoDatabase { name }) => Err(Cause::NoDatabaseToDrop { name }.into()),
            Err(Error::SessionsOpen { .. }) => {
                Err(Cause::DatabaseInUse { name: name.to_owned() }.into())
            }
            Err(error) => Err(run.connection.engine_cause(&error).into()),
        }
    }
}

/// Nobody is thrown out.
fn no_wait() -> extentdb_engine::Termination {
    extentdb_engine::Termination::NoWait
}
