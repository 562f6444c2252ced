//! ALTER DATABASE … SET: states, access, row versions. Other options are refused by their names.

use std::time::Duration;

use extentdb_engine::{DatabaseChange, Error, Termination, UserAccess};
use extentdb_tsql::syntax::{AdminStatement, Clause, Literal, Part};

use super::Compiled;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

struct AlterDatabase {
    /// `None` for CURRENT.
    name: Option<String>,
    changes: Vec<DatabaseChange>,
    termination: Termination,
}

pub(super) fn compile(admin: &AdminStatement) -> Compiled {
    let name = admin.clause.names().next().map(|name| name.text.to_string());
    let refused = |what: &str| Cause::not_supported(format!("ALTER DATABASE {what}"));
    let action = admin.clause.first("alter_database_action").ok_or_else(|| refused("this way"))?;
    if let Some(files) = super::alter_files::compile(name.clone(), action) {
        return files;
    }
    let set = action.first("database_set").ok_or_else(|| refused(&words(action)))?;
    let changes: Result<Vec<DatabaseChange>, Cause> =
        set.all("database_option").map(change).collect();
    let termination = match set.first("termination") {
        Some(clause) => termination(clause),
        None => Termination::Wait,
    };
    Ok(Box::new(AlterDatabase { name, changes: changes?, termination }))
}

/// The first words of a clause.
fn words(clause: &Clause) -> String {
    let mut all = Vec::new();
    for part in &clause.parts {
        match part {
            Part::Word(word) => all.push((*word).to_owned()),
            Part::Clause(inner) => all.push(words(inner)),
            _ => break,
        }
    }
    all.join(" ")
}

fn change(option: &Clause) -> Result<DatabaseChange, Cause> {
    let text = words(option);
    let is_on = option.first("switch").map(|switch| switch.has("ON"));
    Ok(match (text.split(' ').next().unwrap_or_default(), is_on) {
        ("ALLOW_SNAPSHOT_ISOLATION", Some(is_on)) => DatabaseChange::AllowSnapshotIsolation(is_on),
        ("READ_COMMITTED_SNAPSHOT", Some(is_on)) => DatabaseChange::ReadCommittedSnapshot(is_on),
        ("ONLINE", _) => DatabaseChange::Online,
        ("OFFLINE", _) => DatabaseChange::Offline,
        ("READ_ONLY", _) => DatabaseChange::ReadOnly(true),
        ("READ_WRITE", _) => DatabaseChange::ReadOnly(false),
        ("SINGLE_USER", _) => DatabaseChange::Access(UserAccess::Single),
        ("RESTRICTED_USER", _) => DatabaseChange::Access(UserAccess::Restricted),
        ("MULTI_USER", _) => DatabaseChange::Access(UserAccess::Multi),
        _ => return Err(Cause::not_supported(format!("ALTER DATABASE SET {text}"))),
    })
}

fn termination(clause: &Clause) -> Termination {
    if clause.has("NO_WAIT") {
        return Termination::NoWait;
    }
    let seconds = clause.literals().find_map(|literal| match literal {
        Literal::Integer(digits) => digits.parse().ok(),
        _ => None,
    });
    Termination::RollbackAfter(Duration::from_secs(seconds.unwrap_or(0)))
}

/// 5011
pub(super) fn no_database(name: &str) -> Cause {
    Cause::Failed {
        number: 5011,
        severity: 14,
        text: format!(
            "User does not have permission to alter database '{name}', the database does not \
             exist, or the database is not in a state that allows access checks."
        ),
    }
}

impl Step for AlterDatabase {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        if run.connection.is_in_transaction() {
            return Err(Cause::InTransaction { statement: "ALTER DATABASE" }.into());
        }
        run.connection.server.forget_plans();
        let instance = run.connection.server.instance.clone();
        let name = self.name.clone().unwrap_or_else(|| run.connection.database.clone());
        for change in &self.changes {
            let by = Some(&*run.connection.session);
            let changed = instance.change_database(&name, *change, self.termination, by);
            changed.map_err(|error| match error {
                Error::NoDatabase { name } => no_database(&name),
                other => run.connection.engine_cause(&other),
            })?;
        }
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}
