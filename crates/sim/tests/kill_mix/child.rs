//! The process that is killed.

use std::io::Write;
use std::path::Path;
use std::thread;

use extentdb_engine::{Cause, Database, Error, Session};

use crate::plan::{End, Mix, Statement, plan};
use crate::rows::{Addresses, Own, index_spec, options, read, row, spec, table_spec};

/// What the parent tells it.
pub(crate) const FOLDER: &str = "EXTENTDB_KILL_MIX_FOLDER";
pub(crate) const FIRST: &str = "EXTENTDB_KILL_MIX_FIRST";
pub(crate) const MIX: &str = "EXTENTDB_KILL_MIX_MIX";
/// Transactions of the first session from one checkpoint to the next.
const CHECKPOINT_EVERY: i64 = 8;

/// Works until it is killed, or until something fails.
pub(crate) fn run() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let first: i64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let mix = Mix::of_name(&std::env::var(MIX).unwrap());
    let db = Database::open(&spec(Path::new(&folder)).paths(), options()).unwrap();
    let owns = read(&db).unwrap();
    tell("ready");
    db.run(|| {
        thread::scope(|scope| {
            for (number, own) in owns.into_iter().enumerate() {
                let db = &db;
                scope.spawn(move || work(db, mix, (number as u64, first), own));
            }
        });
    });
}

/// A line of its own, whatever else is written.
fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    // The parent may be gone.
    let _ = out.write_all(format!("\n{line}\n").as_bytes());
    let _ = out.flush();
}

fn work(db: &Database, mix: Mix, (number, first): (u64, i64), mut own: Own) {
    let mut session = db.session();
    for transaction in first.. {
        let outcome = run_one(&mut session, mix, (number, transaction), &mut own);
        match outcome {
            Ok(End::Commit) => tell(&format!("ack {number} {transaction} commit")),
            Ok(End::Rollback) => tell(&format!("ack {number} {transaction} rollback")),
            Err(error) => return fail(&error),
        }
        if number == 0 && transaction % CHECKPOINT_EVERY == 0 {
            tell("checkpoint");
            if let Err(error) = db.checkpoint() {
                return fail(&error);
            }
        }
    }
}

fn fail(error: &Error) {
    tell(&format!("fail {error}: {error:?}"));
    // Nobody cleans up after a process that is killed.
    std::process::abort();
}

/// One transaction; says how it ended. A victim of a deadlock has been rolled back.
fn run_one(
    session: &mut Session<'_>,
    mix: Mix,
    (number, transaction): (u64, i64),
    own: &mut Own,
) -> Result<End, Error> {
    let plan = plan(mix, number, transaction, &own.parts);
    let mut addresses = own.addresses.clone();
    session.begin();
    let done = execute(session, &plan.statements, &mut addresses);
    match (done, plan.end) {
        (Ok(()), End::Commit) => {
            session.commit()?;
            own.parts = plan.after;
            own.addresses = addresses;
            Ok(End::Commit)
        }
        (Err(error), _) if error.cause() != Cause::Lock => Err(error),
        _ => {
            session.rollback()?;
            Ok(End::Rollback)
        }
    }
}

fn execute(
    session: &mut Session<'_>,
    statements: &[Statement],
    addresses: &mut Addresses,
) -> Result<(), Error> {
    let mut saved = Addresses::new();
    for statement in statements {
        match statement {
            Statement::Save => {
                session.save("s")?;
                saved.clone_from(addresses);
            }
            Statement::RollBackToSave => {
                session.rollback_to("s")?;
                addresses.clone_from(&saved);
            }
            statement => change(session, statement, addresses)?,
        }
    }
    Ok(())
}

fn change(
    session: &mut Session<'_>,
    statement: &Statement,
    addresses: &mut Addresses,
) -> Result<(), Error> {
    match statement {
        Statement::Insert { table, id, values } => {
            let opened = session.table(table)?;
            let at = session.insert(&opened, &row(*id, *values))?;
            addresses.insert((table.clone(), *id), at);
        }
        Statement::Update { table, id, values } => {
            let opened = session.table(table)?;
            let key = (table.clone(), *id);
            let at = session.update(&opened, &addresses[&key], &row(*id, *values))?;
            addresses.insert(key, at);
        }
        Statement::Delete { table, id } => {
            let opened = session.table(table)?;
            let at = addresses.remove(&(table.clone(), *id)).unwrap();
            session.delete(&opened, &at)?;
        }
        other => return change_table(session, other, addresses),
    }
    Ok(())
}

fn change_table(
    session: &mut Session<'_>,
    statement: &Statement,
    addresses: &mut Addresses,
) -> Result<(), Error> {
    match statement {
        Statement::CreateTable { table, is_clustered } => {
            session.create_table(&table_spec(table, *is_clustered))?;
        }
        Statement::DropTable { table } => {
            let opened = session.table(table)?;
            session.drop_table(&opened)?;
            addresses.retain(|(other, _), _| other != table);
        }
        Statement::Truncate { table } => {
            let opened = session.table(table)?;
            session.truncate_table(&opened)?;
            addresses.retain(|(other, _), _| other != table);
        }
        Statement::CreateIndex { table, index } => {
            let opened = session.table(table)?;
            session.create_index(&opened, &index_spec(index))?;
        }
        Statement::DropIndex { table, index } => {
            let opened = session.table(table)?;
            session.drop_index(&opened, index)?;
        }
        Statement::Rebuild { table, index } => {
            let opened = session.table(table)?;
            session.rebuild_index(&opened, index)?;
        }
        other => unreachable!("{other:?} changes no table"),
    }
    Ok(())
}
