//! CHECKPOINT, KILL, RECONFIGURE and SHUTDOWN.

use extentdb_base::SessionId;
use extentdb_tsql::syntax::{Checkpoint, Kill, Killed};
use extentdb_types::SqlType;

use super::{Compiled, Context};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::hooks::ShutdownMode;
use extentdb_connection::output::StatementCode;
use extentdb_connection::scalar::Scalar;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// Sessions up to this one are the system's own.
const LAST_OF_SYSTEM: i64 = 50;

struct CheckpointStep;
/// RECONFIGURE: `sp_configure` leaves nothing that waits for it.
struct ReconfigureStep;
struct KillStep(Scalar);
struct ShutdownStep(ShutdownMode);

pub(super) fn checkpoint(_: &Context<'_>, checkpoint: &Checkpoint) -> Compiled {
    if checkpoint.duration.is_some() {
        return Err(Cause::not_supported("CHECKPOINT with a duration"));
    }
    Ok(Box::new(CheckpointStep))
}

impl Step for CheckpointStep {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        let made = run.connection.session.database().checkpoint();
        made.map_err(|error| run.connection.engine_cause(&error))?;
        Ok(RowCount::Rows(0))
    }
}

pub(super) fn reconfigure() -> Box<dyn Step> {
    Box::new(ReconfigureStep)
}

impl Step for ReconfigureStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        run.done(frame.scope, StatementCode::Other, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

pub(super) fn kill(context: &Context<'_>, kill: &Kill) -> Compiled {
    let Killed::Session(session) = &kill.what else { return Err(context.refused()) };
    if kill.is_status_only || kill.outcome.is_some() {
        return Err(Cause::not_supported("KILL with options"));
    }
    Ok(Box::new(KillStep(context.compiler.assigned(session, SqlType::Int)?)))
}

impl Step for KillStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let id = self.0.integer(run.values(frame))?.unwrap_or(0);
        if id == i64::from(run.connection.spid()) {
            return Err(Cause::KillSelf.into());
        }
        let session = u16::try_from(id).ok().filter(|_| id > LAST_OF_SYSTEM);
        let session = SessionId(session.ok_or(Cause::SessionId { id })?);
        let server = run.connection.server.clone();
        server.instance.kill(session).map_err(|_| Cause::NoProcess { id })?;
        server.hooks.killed(session);
        Ok(RowCount::Rows(0))
    }
}

pub(super) fn shutdown(is_nowait: bool) -> Box<dyn Step> {
    Box::new(ShutdownStep(if is_nowait { ShutdownMode::NoWait } else { ShutdownMode::Wait }))
}

impl Step for ShutdownStep {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        run.connection.server.hooks.shutdown(self.0);
        Ok(RowCount::Rows(0))
    }
}
