//! sp_getapplock, sp_releaseapplock.

use std::time::Duration;

use super::Finished;
use super::given::Given;
use extentdb_connection::app_lock::{AppLock, AppLockMode, AppLockOutcome, AppLockOwner};
use extentdb_connection::cause::Cause;
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

const GET: &str = "sp_getapplock";
const RELEASE: &str = "sp_releaseapplock";
/// Characters of a resource that count.
const RESOURCE_MAX: usize = 255;
/// Status of a call that is refused.
const INVALID: i32 = -999;

pub(super) fn get(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: GET, arguments };
    let resource = given.text(0, "@Resource").ok_or_else(|| given.missing("@Resource"))?;
    let mode = given.text(1, "@LockMode").ok_or_else(|| given.missing("@LockMode"))?;
    let mode = AppLockMode::named(&mode).ok_or_else(|| invalid("LockMode"))?;
    let owner = owner_of(given.text(2, "@LockOwner").as_deref())?;
    let timeout = match given.number(3, "@LockTimeout") {
        Some(time) if time < -1 => return Err(invalid("LockTimeout").into()),
        Some(time) => i32::try_from(time).unwrap_or(i32::MAX),
        None => run.connection.options.lock_timeout,
    };
    if owner == AppLockOwner::Transaction && run.connection.transaction.count == 0 {
        return Ok(Finished { status: INVALID, ..Finished::default() });
    }
    let timeout = u64::try_from(timeout).ok().map(Duration::from_millis);
    let wanted = wanted(run, &resource, owner);
    let cancellation = run.connection.session.cancellation();
    let server = run.connection.server.clone();
    let status = match server.app_locks.acquire(&wanted, mode, timeout, &cancellation) {
        AppLockOutcome::Granted => 0,
        AppLockOutcome::GrantedAfterWait => 1,
        AppLockOutcome::TimedOut => -1,
        AppLockOutcome::Cancelled if run.connection.is_killed() => return Err(Stop::Close),
        AppLockOutcome::Cancelled => return Err(Stop::Interrupted),
    };
    Ok(Finished { status, ..Finished::default() })
}

pub(super) fn release(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: RELEASE, arguments };
    let resource = given.text(0, "@Resource").ok_or_else(|| given.missing("@Resource"))?;
    let owner = owner_of(given.text(1, "@LockOwner").as_deref())?;
    let own = wanted(run, &resource, owner);
    if run.connection.server.app_locks.release(&own) {
        return Ok(Finished::default());
    }
    let text = format!(
        "Cannot release the application lock (Database Principal: 'public', Resource: \
         '{resource}') because it is not currently held."
    );
    Err(Cause::Failed { number: 1223, severity: 16, text }.into())
}

fn wanted(run: &Run<'_>, resource: &str, owner: AppLockOwner) -> AppLock {
    AppLock {
        database: run.connection.database.clone(),
        resource: resource.chars().take(RESOURCE_MAX).collect(),
        session: run.connection.spid(),
        owner,
    }
}

fn owner_of(name: Option<&str>) -> Result<AppLockOwner, Cause> {
    match name.map(str::to_lowercase).as_deref() {
        None | Some("transaction") => Ok(AppLockOwner::Transaction),
        Some("session") => Ok(AppLockOwner::Session),
        Some(_) => Err(invalid("LockOwner")),
    }
}

fn invalid(parameter: &str) -> Cause {
    let text = format!(
        "An invalid parameter \"{parameter}\" was passed to the application lock function or \
         procedure."
    );
    Cause::Failed { number: 1228, severity: 16, text }
}
