//! DBCC: identities, caches, options. Checks of databases are refused by name: `extentdb check`
//! makes them over files and backups.
//!
//! | command | here |
//! |---|---|
//! | CHECKIDENT | shows and sets the last value of an identity |
//! | FREEPROCCACHE, FREESYSTEMCACHE, FREESESSIONCACHE, DROPCLEANBUFFERS | kept plans are forgotten |
//! | TRACEON, TRACEOFF, TRACESTATUS | there are no trace flags |
//! | UPDATEUSAGE | counts are always exact |
//! | USEROPTIONS | options of the session |

use extentdb_engine::model::ObjectBody;
use extentdb_tsql::syntax::{Column, Dbcc, Expr, ExprKind};
use extentdb_tsql::{Options, parse_query};
use extentdb_types::{Datum, SqlType};

use super::capture::rows_of;
use super::{Compiled, Context};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::objects::object_name;
use extentdb_connection::output::{ColumnInfo, StatementCode};
use extentdb_connection::request::Isolation;
use extentdb_connection::scalar::Scalar;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant::{self, nchar};

/// Ends every DBCC.
const COMPLETED: i32 = 2_528;
const COMPLETED_TEXT: &str = "DBCC execution completed. If DBCC printed error messages, contact \
                              your system administrator.";
/// There is no such command; no such table; a table without identity; what an identity is.
const UNKNOWN: i32 = 2_526;
const NO_TABLE: i32 = 2_501;
const NO_IDENTITY: i32 = 7_997;
const IDENTITY: i32 = 7_998;

/// Commands of the product that are not here.
const REFUSED: [&str; 24] = [
    "CHECKALLOC",
    "CHECKCATALOG",
    "CHECKCONSTRAINTS",
    "CHECKDB",
    "CHECKFILEGROUP",
    "CHECKTABLE",
    "CLEANTABLE",
    "CLONEDATABASE",
    "DBREINDEX",
    "HELP",
    "IND",
    "INDEXDEFRAG",
    "INPUTBUFFER",
    "LOGINFO",
    "MEMORYSTATUS",
    "OPENTRAN",
    "OUTPUTBUFFER",
    "PAGE",
    "PROCCACHE",
    "SHOWCONTIG",
    "SHOW_STATISTICS",
    "SHRINKDATABASE",
    "SHRINKFILE",
    "SQLPERF",
];

enum Command {
    CheckIdentity(CheckIdentity),
    /// Kept plans are forgotten.
    ForgetPlans,
    /// There is nothing to do.
    Nothing,
    TraceStatus,
    UserOptions,
}

struct CheckIdentity {
    table: Argument,
    reseed: Reseed,
}

/// What CHECKIDENT does with a last value.
enum Reseed {
    /// It is raised to the greatest value of the column.
    Raise,
    No,
    To(Box<Scalar>),
}

/// A name, or a text with it.
enum Argument {
    Word(String),
    Value(Box<Scalar>),
}

struct DbccStep {
    command: Command,
    is_silent: bool,
}

pub(super) fn compile(context: &Context<'_>, dbcc: &Dbcc) -> Compiled {
    let name = dbcc.command.text.to_uppercase();
    let arguments = dbcc.arguments.as_deref().unwrap_or_default();
    let command = match name.as_str() {
        "CHECKIDENT" => Command::CheckIdentity(check_identity(context, arguments)?),
        "FREEPROCCACHE" | "FREESYSTEMCACHE" | "FREESESSIONCACHE" | "DROPCLEANBUFFERS" => {
            Command::ForgetPlans
        }
        "TRACEON" | "TRACEOFF" | "UPDATEUSAGE" => Command::Nothing,
        "TRACESTATUS" => Command::TraceStatus,
        "USEROPTIONS" => Command::UserOptions,
        known if REFUSED.contains(&known) => {
            return Err(Cause::not_supported(format!("DBCC {known}")));
        }
        _ => return Err(incorrect()),
    };
    let is_silent = dbcc.options.iter().any(|it| it.name.text.eq_ignore_ascii_case("NO_INFOMSGS"));
    Ok(Box::new(DbccStep { command, is_silent }))
}

fn incorrect() -> Cause {
    let text = "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and \
                options.";
    Cause::Failed { number: UNKNOWN, severity: 16, text: text.to_owned() }
}

fn check_identity(context: &Context<'_>, arguments: &[Expr]) -> Result<CheckIdentity, Cause> {
    let [table, rest @ ..] = arguments else { return Err(incorrect()) };
    let word = |expr: &Expr| match argument(context, expr) {
        Ok(Argument::Word(word)) => Some(word.to_uppercase()),
        _ => None,
    };
    let reseed = match (rest.first().and_then(word).as_deref(), rest) {
        (None, []) | (Some("RESEED"), [_]) => Reseed::Raise,
        (Some("NORESEED"), [_]) => Reseed::No,
        (Some("RESEED"), [_, value]) => {
            let ty = SqlType::Numeric { precision: 38, scale: 0 };
            Reseed::To(Box::new(context.compiler.assigned(value, ty)?))
        }
        _ => return Err(incorrect()),
    };
    Ok(CheckIdentity { table: argument(context, table)?, reseed })
}

fn argument(context: &Context<'_>, expr: &Expr) -> Result<Argument, Cause> {
    if let ExprKind::Column(column) = &expr.kind
        && let Column::Named(name) = &column.column
    {
        let written = match &column.qualifier {
            Some(qualifier) => format!("{qualifier}.[{}]", name.text.replace(']', "]]")),
            None => name.text.to_string(),
        };
        return Ok(Argument::Word(written));
    }
    Ok(Argument::Value(Box::new(context.compiler.value(expr)?)))
}

impl Argument {
    fn text(&self, run: &Run<'_>, frame: &Frame) -> Result<String, Stop> {
        match self {
            Argument::Word(word) => Ok(word.clone()),
            Argument::Value(scalar) => {
                Ok(variant::text(&scalar.value(run.values(frame))?).unwrap_or_default())
            }
        }
    }
}

impl Step for DbccStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        match &self.command {
            Command::CheckIdentity(check) => check.run(run, frame, self.is_silent)?,
            Command::ForgetPlans => run.connection.server.forget_plans(),
            Command::Nothing => {}
            Command::TraceStatus => {
                let names = ["TraceFlag", "Status", "Global", "Session"];
                let columns: Vec<ColumnInfo> =
                    names.iter().map(|name| info(name, SqlType::SmallInt)).collect();
                send(run, frame, &columns, &[])?;
            }
            Command::UserOptions => user_options(run, frame)?,
        }
        if !self.is_silent {
            run.output.message(&Message::info(COMPLETED, 1, 0, COMPLETED_TEXT), false)?;
        }
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

fn info(name: &str, ty: SqlType) -> ColumnInfo {
    ColumnInfo {
        name: name.to_owned(),
        ty,
        is_nullable: true,
        is_computed: true,
        is_identity: false,
    }
}

fn send(
    run: &mut Run<'_>,
    frame: &Frame,
    columns: &[ColumnInfo],
    rows: &[Vec<Datum<'static>>],
) -> Result<(), Stop> {
    run.output.columns(columns)?;
    for row in rows {
        run.output.row(row)?;
    }
    run.done(frame.scope, StatementCode::Select, Some(rows.len() as u64), false)
}

/// Options in the words of the product.
fn user_options(run: &mut Run<'_>, frame: &Frame) -> Result<(), Stop> {
    let options = &run.connection.options;
    let isolation = match options.isolation {
        Isolation::ReadUncommitted => "read uncommitted",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
        Isolation::Snapshot => "snapshot",
        _ => "read committed",
    };
    let mut rows = vec![
        ("textsize", options.textsize.to_string()),
        ("language", options.language.clone()),
        ("dateformat", options.dateformat.to_owned()),
        ("datefirst", options.datefirst.to_string()),
        ("lock_timeout", options.lock_timeout.to_string()),
    ];
    let switches = [
        ("quoted_identifier", options.quoted_identifier),
        ("arithabort", options.arithabort),
        ("ansi_null_dflt_on", options.ansi_null_dflt_on),
        ("ansi_warnings", options.ansi_warnings),
        ("ansi_padding", options.ansi_padding),
        ("ansi_nulls", options.ansi_nulls),
        ("concat_null_yields_null", options.concat_null_yields_null),
        ("nocount", options.nocount),
        ("xact_abort", options.xact_abort),
    ];
    let on = switches.iter().filter(|(_, is_on)| *is_on);
    rows.extend(on.map(|(name, _)| (*name, "SET".to_owned())));
    rows.push(("isolation level", isolation.to_owned()));
    let rows: Vec<_> = rows.iter().map(|(name, value)| vec![nchar(name), nchar(value)]).collect();
    let collation = run.connection.collation();
    let ty = SqlType::NVarChar { len: Some(2 * 128), collation };
    send(run, frame, &[info("Set Option", ty), info("Value", ty)], &rows)
}

/// A table with an identity column.
struct IdentityTable {
    table: extentdb_base::sync::Arc<extentdb_engine::Table>,
    database: extentdb_base::sync::Arc<extentdb_engine::Database>,
    /// Name of the column.
    column: String,
    /// As queries name the table.
    written: String,
}

impl CheckIdentity {
    fn run(&self, run: &mut Run<'_>, frame: &Frame, is_silent: bool) -> Result<(), Stop> {
        let own = self.found(run, frame)?;
        let last = own.database.identity(own.table.id()).and_then(|identity| identity.last);
        if let Reseed::To(value) = &self.reseed {
            let value = value.value(run.values(frame))?;
            let value = variant::text(&value).and_then(|text| text.parse().ok());
            let value: i128 = value.ok_or_else(incorrect)?;
            set(run, &own, value)?;
            let text =
                format!("Checking identity information: current identity value '{}'.", shown(last));
            return tell(run, text, is_silent);
        }
        let greatest = greatest(run, frame, &own)?;
        if matches!(self.reseed, Reseed::Raise)
            && let Some(greatest) = greatest
            && last.is_none_or(|last| last < greatest)
        {
            set(run, &own, greatest)?;
        }
        let text = format!(
            "Checking identity information: current identity value '{}', current column value \
             '{}'.",
            shown(last),
            shown(greatest)
        );
        tell(run, text, is_silent)
    }

    fn found(&self, run: &mut Run<'_>, frame: &Frame) -> Result<IdentityTable, Stop> {
        let written = self.table.text(run, frame)?;
        let name = object_name(&written);
        let found = match run.connection.readable(&name)? {
            Some(found) => found.into_table()?,
            None => None,
        };
        let found = found.ok_or_else(|| Cause::Failed {
            number: NO_TABLE,
            severity: 16,
            text: format!(
                "Cannot find a table or object with the name \"{written}\". Check the system \
                 catalog."
            ),
        })?;
        let column = match &found.object.body {
            ObjectBody::Table(table) => table.columns.iter().find(|it| it.identity.is_some()),
            _ => None,
        };
        let column = column.map(|column| column.name.clone()).ok_or_else(|| Cause::Failed {
            number: NO_IDENTITY,
            severity: 16,
            text: format!("'{written}' does not contain an identity column."),
        })?;
        Ok(IdentityTable {
            table: found.table,
            database: found.database,
            column,
            written: name.to_string(),
        })
    }
}

fn shown(value: Option<i128>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

fn tell(run: &mut Run<'_>, text: String, is_silent: bool) -> Result<(), Stop> {
    if !is_silent {
        run.output.message(&Message::info(IDENTITY, 1, 0, text), false)?;
    }
    Ok(())
}

/// The values go on after this one.
fn set(run: &mut Run<'_>, own: &IdentityTable, value: i128) -> Result<(), Stop> {
    let done = run.connection.in_database(&own.database, |connection| {
        connection.session.reseed_identity(&own.table, value)
    });
    Ok(done.map_err(|error| run.connection.engine_cause(&error))?)
}

/// The greatest value of the column.
fn greatest(run: &mut Run<'_>, frame: &Frame, own: &IdentityTable) -> Result<Option<i128>, Stop> {
    let column = own.column.replace(']', "]]");
    let text = format!("SELECT MAX([{column}]) FROM {}", own.written);
    let query =
        parse_query(&text, Options::default()).map_err(|error| Cause::Syntax(error.cause))?;
    let rows = rows_of(run, frame, &query)?.rows;
    let value = rows.first().and_then(|row| row.first());
    Ok(value.and_then(variant::text).and_then(|text| text.parse().ok()))
}
