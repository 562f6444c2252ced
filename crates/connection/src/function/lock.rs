//! APPLOCK_MODE, APPLOCK_TEST.

use extentdb_types::Datum;

use super::catalog::text;
use super::{Definition, Kind};
use crate::app_lock::{AppLock, AppLockMode, AppLockOwner};
use crate::cause::Cause;
use crate::frame::Values;
use crate::variant::nchar;

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

fn invalid(parameter: &str) -> Cause {
    let text = format!(
        "An invalid parameter \"{parameter}\" was passed to the application lock function or \
         procedure."
    );
    Cause::Failed { number: 1228, severity: 16, text }
}

/// The lock that the arguments name; the principal is not looked at, as by the procedures.
fn named(at: Values<'_>, resource: &str, owner: Option<String>) -> Result<AppLock, Cause> {
    let owner = match owner.map(|owner| owner.to_lowercase()).as_deref() {
        Some("transaction") | None => AppLockOwner::Transaction,
        Some("session") => AppLockOwner::Session,
        Some(_) => return Err(invalid("LockOwner")),
    };
    Ok(AppLock {
        database: at.connection.database.clone(),
        resource: resource.to_owned(),
        session: at.connection.spid(),
        owner,
    })
}

fn mode(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(resource) = text(it, 1) else { return Ok(Datum::Null) };
    let own = named(at, &resource, text(it, 2))?;
    let held = at.connection.server.app_locks.mode(&own);
    Ok(nchar(held.map_or("NoLock", AppLockMode::name)))
}

fn test(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(resource) = text(it, 1) else { return Ok(Datum::Null) };
    let mode = text(it, 2).and_then(|mode| AppLockMode::named(&mode));
    let mode = mode.ok_or_else(|| invalid("LockMode"))?;
    let own = named(at, &resource, text(it, 3))?;
    Ok(Datum::Int(at.connection.server.app_locks.is_free(&own, mode).into()))
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("applock_mode", Kind::Text(32), mode).nullable().of(&[
        Kind::Name,
        Kind::Text(255),
        Kind::Name,
    ]),
    Definition::new("applock_test", Kind::Int, test).nullable().of(&[
        Kind::Name,
        Kind::Text(255),
        Kind::Name,
        Kind::Name,
    ]),
];
