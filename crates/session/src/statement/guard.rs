//! What statements of administration need: asked of everybody but members of sysadmin.
//!
//! Statements over rows are asked when they are bound, definitions by `extentdb_definition`; what
//! is not in the table here is for sysadmin alone.

use extentdb_tsql::syntax::{AdminStatement, Dbcc, DropClass, StatementKind};

use crate::principal::{denied, not_permitted};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::options::SetOptions;
use extentdb_connection::security::permission::code;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// A statement, and what it needs.
struct Guarded {
    step: Box<dyn Step>,
    need: Need,
}

/// What a statement needs.
enum Need {
    /// Membership of sysadmin.
    Sysadmin,
    /// One of these on the server; the number and text without it.
    Server(&'static [&'static str], i32, &'static str),
    /// This in the current database; how 262 calls the statement.
    Database(&'static str, &'static str),
    /// CREATE DATABASE.
    CreateDatabase,
    /// ALTER DATABASE of these names.
    AlterDatabase(Option<String>),
    /// DROP DATABASE.
    DropDatabase(Vec<String>),
    /// DBCC of this name.
    Dbcc(String),
}

/// The statement with what it needs before it runs.
pub(super) fn guarded(kind: &StatementKind, step: Box<dyn Step>) -> Box<dyn Step> {
    match need_of(kind) {
        Some(need) => Box::new(Guarded { step, need }),
        None => step,
    }
}

fn need_of(kind: &StatementKind) -> Option<Need> {
    match kind {
        StatementKind::Admin(admin) => of_admin(admin),
        StatementKind::DropObjects(drop) if drop.class == DropClass::Database => {
            let names = drop.names.iter().map(|name| name.name.text.to_string());
            Some(Need::DropDatabase(names.collect()))
        }
        StatementKind::Kill(_) => Some(Need::Server(
            &[code::ALTER_ANY_CONNECTION],
            6102,
            "User does not have permission to use the KILL statement.",
        )),
        StatementKind::Reconfigure(_) => Some(Need::Server(
            &[code::ALTER_SETTINGS],
            5812,
            "You do not have permission to run the RECONFIGURE statement.",
        )),
        StatementKind::Shutdown(_) => Some(Need::Server(
            &[code::SHUTDOWN],
            6004,
            "User does not have permission to perform this action.",
        )),
        StatementKind::Checkpoint(_) => Some(Need::Database(code::CHECKPOINT, "CHECKPOINT")),
        StatementKind::Dbcc(dbcc) => Some(Need::Dbcc(name_of(dbcc))),
        _ => None,
    }
}

fn name_of(dbcc: &Dbcc) -> String {
    dbcc.command.text.to_uppercase()
}

fn of_admin(admin: &AdminStatement) -> Option<Need> {
    let name = admin.clause.names().next().map(|name| name.text.to_string());
    Some(match admin.head {
        // These ask themselves: for the principal that they are about.
        "CREATE LOGIN" | "ALTER LOGIN" | "DROP LOGIN" | "CREATE USER" | "ALTER USER"
        | "DROP USER" | "CREATE ROLE" | "ALTER ROLE" | "DROP ROLE" | "ALTER SERVER ROLE" => {
            return None;
        }
        "CREATE DATABASE" => Need::CreateDatabase,
        "ALTER DATABASE" => Need::AlterDatabase(name),
        "ALTER DATABASE SCOPED CONFIGURATION" => Need::Database(code::ALTER, "ALTER DATABASE"),
        _ => Need::Sysadmin,
    })
}

impl Need {
    fn verify(&self, run: &Run<'_>) -> Result<(), Cause> {
        let connection = &run.connection;
        match self {
            Need::Sysadmin => Err(not_permitted()),
            Need::Server(kinds, number, text) => {
                let has = kinds.iter().any(|kind| connection.has_on_server(kind));
                if has { Ok(()) } else { Err(denied(*number, *text)) }
            }
            Need::Database(kind, statement) => {
                let database = connection.session.database().clone();
                if connection.rights(&database)?.has_on_database(kind) {
                    return Ok(());
                }
                let name = database.name();
                let text = format!("{statement} permission denied in database '{name}'.");
                Err(denied(262, text))
            }
            Need::CreateDatabase => {
                let master = connection.server.instance.database("master");
                let master = master.map_err(|error| connection.engine_cause(&error))?;
                let may = connection.has_on_server(code::CREATE_DATABASE)
                    || connection.has_on_server(code::ALTER_ANY_DATABASE)
                    || connection.rights(&master)?.has_on_database(code::CREATE_DATABASE);
                let text = "CREATE DATABASE permission denied in database 'master'.";
                if may { Ok(()) } else { Err(denied(262, text)) }
            }
            Need::AlterDatabase(name) => {
                let name = name.clone().unwrap_or_else(|| connection.database.clone());
                if may_change(run, &name, code::ALTER)? {
                    return Ok(());
                }
                let text = format!(
                    "User does not have permission to alter database '{name}', the database does \
                     not exist, or the database is not in a state that allows access checks."
                );
                Err(denied(5011, text))
            }
            Need::DropDatabase(names) => {
                for name in names {
                    if !may_change(run, name, code::CONTROL)? {
                        return Err(Cause::NoDatabaseToDrop { name: name.clone() });
                    }
                }
                Ok(())
            }
            Need::Dbcc(name) => verify_dbcc(run, name),
        }
    }
}

/// May the session change a database as a whole?
fn may_change(run: &Run<'_>, name: &str, kind: &str) -> Result<bool, Cause> {
    let connection = &run.connection;
    if connection.has_on_server(code::ALTER_ANY_DATABASE) {
        return Ok(true);
    }
    match connection.server.instance.database(name) {
        Ok(database) => Ok(connection.rights(&database)?.has_on_database(kind)),
        Err(_) => Ok(false),
    }
}

fn verify_dbcc(run: &Run<'_>, name: &str) -> Result<(), Cause> {
    let connection = &run.connection;
    let database = connection.session.database().clone();
    let rights = connection.rights(&database)?;
    let may = match name {
        "USEROPTIONS" => true,
        "CHECKIDENT" => rights.has_on_database(code::ALTER_ANY_SCHEMA),
        "FREEPROCCACHE" | "FREESYSTEMCACHE" | "FREESESSIONCACHE" => {
            connection.has_on_server(code::ALTER_SERVER_STATE)
        }
        _ => false,
    };
    if may {
        return Ok(());
    }
    let user = connection.user_name();
    Err(denied(
        2571,
        format!("User '{user}' does not have permission to run DBCC {}.", name.to_lowercase()),
    ))
}

impl Step for Guarded {
    fn is_run(&self, options: &SetOptions) -> bool {
        self.step.is_run(options)
    }

    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        if !run.connection.is_sysadmin() {
            self.need.verify(run)?;
        }
        self.step.run(run, frame)
    }
}
