//! ALTER DATABASE … SET: states, access, row versions.
//!
//! | option | here |
//! |---|---|
//! | states, access, READ_COMMITTED_SNAPSHOT, ALLOW_SNAPSHOT_ISOLATION | kept in the catalog |
//! | what the server has or does in one way only (PAGE_VERIFY CHECKSUM, TRUSTWORTHY OFF …) | accepted with this value, refused with others |
//! | defaults of sessions that do not say (ANSI_NULLS …), hints (AUTO_UPDATE_STATISTICS_ASYNC, QUERY_STORE …) | accepted, without effect |
//! | RECOVERY | that of the server; another is told of and changes nothing |
//! | all else | refused by its name |

use std::time::Duration;

use extentdb_engine::{DatabaseChange, Error, RecoveryModel, Termination, UserAccess};
use extentdb_tsql::syntax::{AdminStatement, Clause, Literal, Part};

use super::Compiled;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::output::StatementCode;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

struct AlterDatabase {
    /// `None` for CURRENT.
    name: Option<String>,
    changes: Vec<DatabaseChange>,
    termination: Termination,
    /// The recovery model that is asked for.
    recovery: Option<&'static str>,
}

/// Options that are accepted with any value and change nothing: defaults of sessions that do not
/// set them, which all drivers do, and hints.
const WITHOUT_EFFECT: [&str; 28] = [
    "ANSI_NULL_DEFAULT",
    "ANSI_NULLS",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "AUTO_CLOSE",
    "AUTO_CREATE_STATISTICS",
    "AUTO_SHRINK",
    "AUTO_UPDATE_STATISTICS",
    "AUTO_UPDATE_STATISTICS_ASYNC",
    "COMPATIBILITY_LEVEL",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "CURSOR_DEFAULT",
    "DATE_CORRELATION_OPTIMIZATION",
    "DISABLE_BROKER",
    "ENABLE_BROKER",
    "NEW_BROKER",
    "HONOR_BROKER_PRIORITY",
    "MIXED_PAGE_ALLOCATION",
    "NUMERIC_ROUNDABORT",
    "PARAMETERIZATION",
    "QUERY_STORE",
    "QUOTED_IDENTIFIER",
    "RECURSIVE_TRIGGERS",
    "TARGET_RECOVERY_TIME",
    "TEMPORAL_HISTORY_RETENTION",
    "VARDECIMAL_STORAGE_FORMAT",
];

/// Options with the one value that they have here.
const FIXED: [(&str, &str); 15] = [
    ("ACCELERATED_DATABASE_RECOVERY", "OFF"),
    ("ACCELERATED_DATABASE_RECOVERY", "ON"),
    ("CHANGE_TRACKING", "OFF"),
    ("CONTAINMENT", "NONE"),
    ("DATA_RETENTION", "OFF"),
    ("DB_CHAINING", "OFF"),
    ("DELAYED_DURABILITY", "DISABLED"),
    ("ENCRYPTION", "OFF"),
    ("FILESTREAM", "OFF"),
    ("HADR", "OFF"),
    ("MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT", "OFF"),
    ("OPTIMIZED_LOCKING", "OFF"),
    ("OPTIMIZED_LOCKING", "ON"),
    ("PAGE_VERIFY", "CHECKSUM"),
    ("TRUSTWORTHY", "OFF"),
];

/// What an option asks for.
enum Asked {
    Change(DatabaseChange),
    Recovery(&'static str),
    Nothing,
}

pub(super) fn compile(admin: &AdminStatement) -> Compiled {
    let name = admin.clause.names().next().map(|name| name.text.to_string());
    let refused = |what: &str| Cause::not_supported(format!("ALTER DATABASE {what}"));
    let action = admin.clause.first("alter_database_action").ok_or_else(|| refused("this way"))?;
    if let Some(files) = super::alter_files::compile(name.clone(), action) {
        return files;
    }
    let set = action.first("database_set").ok_or_else(|| refused(&words(action)))?;
    let mut changes = Vec::new();
    let mut recovery = None;
    for option in set.all("database_option") {
        match asked(option)? {
            Asked::Change(change) => changes.push(change),
            Asked::Recovery(model) => recovery = Some(model),
            Asked::Nothing => {}
        }
    }
    let termination = match set.first("termination") {
        Some(clause) => termination(clause),
        None => Termination::Wait,
    };
    Ok(Box::new(AlterDatabase { name, changes, termination, recovery }))
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

/// All words of a clause.
fn all_words(clause: &Clause) -> Vec<&'static str> {
    let mut all = Vec::new();
    for part in &clause.parts {
        match part {
            Part::Word(word) => all.push(*word),
            Part::Clause(inner) => all.extend(all_words(inner)),
            _ => {}
        }
    }
    all
}

fn asked(option: &Clause) -> Result<Asked, Cause> {
    let all = all_words(option);
    let first = all.first().copied().unwrap_or_default();
    let is_on = all.get(1).map(|word| *word == "ON");
    let change = match (first, is_on) {
        ("ALLOW_SNAPSHOT_ISOLATION", Some(is_on)) => DatabaseChange::AllowSnapshotIsolation(is_on),
        ("READ_COMMITTED_SNAPSHOT", Some(is_on)) => DatabaseChange::ReadCommittedSnapshot(is_on),
        ("ONLINE", _) => DatabaseChange::Online,
        ("OFFLINE", _) => DatabaseChange::Offline,
        ("READ_ONLY", _) => DatabaseChange::ReadOnly(true),
        ("READ_WRITE", _) => DatabaseChange::ReadOnly(false),
        ("SINGLE_USER", _) => DatabaseChange::Access(UserAccess::Single),
        ("RESTRICTED_USER", _) => DatabaseChange::Access(UserAccess::Restricted),
        ("MULTI_USER", _) => DatabaseChange::Access(UserAccess::Multi),
        ("RECOVERY", _) => return Ok(Asked::Recovery(all.get(1).copied().unwrap_or_default())),
        _ if WITHOUT_EFFECT.contains(&first) => return Ok(Asked::Nothing),
        _ if FIXED.iter().any(|(name, value)| *name == first && all.contains(value)) => {
            return Ok(Asked::Nothing);
        }
        _ => return Err(Cause::not_supported(format!("ALTER DATABASE SET {}", all.join(" ")))),
    };
    Ok(Asked::Change(change))
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
        self.tell_recovery(run, &name)?;
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

impl AlterDatabase {
    /// Tells of a recovery model that databases here do not have.
    fn tell_recovery(&self, run: &mut Run<'_>, name: &str) -> Result<(), Stop> {
        let Some(asked) = self.recovery else { return Ok(()) };
        let instance = &run.connection.server.instance;
        if instance.databases().iter().all(|it| !it.name.eq_ignore_ascii_case(name)) {
            return Err(no_database(name).into());
        }
        let own = match instance.options().database.recovery_model {
            RecoveryModel::Simple => "SIMPLE",
            RecoveryModel::Full => "FULL",
        };
        if own == asked {
            return Ok(());
        }
        let text = format!(
            "The recovery model of database '{name}' is {own}, that of the server: {asked} is not \
             kept."
        );
        run.output.message(&Message::info(0, 1, 0, text), false)?;
        Ok(())
    }
}
