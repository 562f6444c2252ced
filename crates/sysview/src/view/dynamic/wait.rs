//! `sys.dm_os_wait_stats`, `sys.dm_os_waiting_tasks`.

use std::time::Duration;

use extentdb_base::SessionId;
use extentdb_telemetry::{WaitResource, WaitTotals, WaitType, WaitingTask};

use super::request::wait_of;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// `sys.dm_os_wait_stats`: of the wait types that there are.
pub(in crate::view) fn totals(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("wait_type", |it: &(WaitType, WaitTotals)| it.0.name().into())
        .put("waiting_tasks_count", |it| it.1.waiting_tasks_count.into())
        .put("wait_time_ms", |it| ms(it.1.wait_time).into())
        .put("max_wait_time_ms", |it| ms(it.1.max_wait_time).into())
        .put("signal_wait_time_ms", |it| ms(it.1.signal_wait_time).into());
    rows.add(&columns, source.instance.options().database.waits.snapshot())
}

/// A task that waits, for how long, and the session that blocks it.
struct Item {
    task: WaitingTask,
    waited_ms: i64,
    blocker: SessionId,
}

impl Item {
    fn blocker(&self) -> Option<SessionId> {
        (self.blocker != SessionId(0)).then_some(self.blocker)
    }

    fn resource(&self) -> Option<String> {
        match self.task.wait.resource {
            WaitResource::Lock { database, resource } => Some(resource.wait_text(database)),
            _ => None,
        }
    }
}

/// `sys.dm_os_waiting_tasks`.
pub(in crate::view) fn tasks(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("session_id", |it: &Item| it.task.id.session.0.into())
        .put("exec_context_id", |it| it.task.id.context.into())
        .put("wait_duration_ms", |it| it.waited_ms.into())
        .put("wait_type", |it| it.task.wait.wait.name().into())
        .put("blocking_session_id", |it| it.blocker().map(|session| session.0).into())
        .put("blocking_exec_context_id", |it| it.blocker().map(|_| 0).into())
        .put("resource_description", |it| it.resource().into())
        .null(&["waiting_task_address", "resource_address", "blocking_task_address"]);
    let items = source.instance.tasks().waiting().into_iter().map(|task| {
        let (_, waited_ms, blocker) = wait_of(source, task.id.session);
        Item { task, waited_ms, blocker }
    });
    rows.add(&columns, items)
}
