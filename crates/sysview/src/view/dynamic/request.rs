//! `sys.dm_exec_requests`.

use extentdb_base::SessionId;
use extentdb_telemetry::{CurrentWait, TaskId, WaitResource};

use super::session::{HasFacts, SessionItem, items as sessions, settings};
use crate::columns::Columns;
use crate::error::Error;
use crate::facts::{RequestFacts, SessionFacts, TransactionFacts};
use crate::rows::Rows;
use crate::source::Source;

/// A request that runs, its session, and what it waits for.
pub(in crate::view) struct RequestItem {
    session: SessionItem,
    request: RequestFacts,
    pub(in crate::view) wait: Option<CurrentWait>,
    wait_ms: i64,
    blocker: SessionId,
    transaction: Option<TransactionFacts>,
}

impl HasFacts for RequestItem {
    fn facts(&self) -> &SessionFacts {
        &self.session.facts
    }
}

impl RequestItem {
    fn wait_resource(&self) -> String {
        match self.wait.map(|wait| wait.resource) {
            Some(WaitResource::Lock { database, resource }) => resource.wait_text(database),
            _ => String::new(),
        }
    }
}

/// What a session waits for: the wait, its milliseconds so far, and the session that blocks it, 0
/// for none.
pub(in crate::view) fn wait_of(
    source: &Source<'_>,
    session: SessionId,
) -> (Option<CurrentWait>, i64, SessionId) {
    let tasks = source.instance.tasks();
    let wait = tasks.wait_of(TaskId { session, context: 0 });
    let now = source.instance.options().database.clock.monotonic();
    let waited = wait.map_or(0, |wait| now.saturating_sub(wait.since).as_millis());
    let blocker = wait.and_then(|wait| wait.blocker).and_then(|owner| tasks.session_of(owner));
    (wait, i64::try_from(waited).unwrap_or(i64::MAX), blocker.unwrap_or(SessionId(0)))
}

fn items(source: &Source<'_>) -> Vec<RequestItem> {
    let item = |session: SessionItem| {
        let id = session.handle.id();
        let request = source.facts.request(id)?;
        let (wait, wait_ms, blocker) = wait_of(source, id);
        let transaction = source.facts.transaction(id);
        Some(RequestItem { session, request, wait, wait_ms, blocker, transaction })
    };
    sessions(source).into_iter().filter_map(item).collect()
}

/// `sys.dm_exec_requests`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&unknown(waits(settings(request()))), items(source))
}

fn request() -> Columns<RequestItem> {
    Columns::new()
        .put("session_id", |it: &RequestItem| it.session.handle.id().0.into())
        .put("start_time", |it| it.request.start_time.into())
        .put("status", |it| if it.wait.is_some() { "suspended" } else { "running" }.into())
        .put("command", |it| (&it.request.command).into())
        .put("statement_start_offset", |it| it.request.statement_offsets.map(|it| it.0).into())
        .put("statement_end_offset", |it| it.request.statement_offsets.map(|it| it.1).into())
        .put("database_id", |it| it.session.handle.database().0.into())
        .put("context_info", |it| it.session.facts.context_info.clone().into())
        .put("cpu_time", |it| it.request.cpu_time_ms.into())
        .put("total_elapsed_time", |it| it.request.elapsed_ms.into())
        .put("row_count", |it| it.request.row_count.into())
        .put("prev_error", |it| it.session.facts.prev_error.into())
        .put("nest_level", |it| it.request.nest_level.into())
        .put("open_transaction_count", |it| it.session.facts.open_transaction_count.into())
        .put("transaction_id", |it| it.transaction.as_ref().map_or(0, |it| it.id).into())
        .one(&["user_id", "open_resultset_count", "group_id", "dop"])
}

fn waits(columns: Columns<RequestItem>) -> Columns<RequestItem> {
    columns
        .put("blocking_session_id", |it| it.blocker.0.into())
        .put("wait_type", |it| it.wait.map(|wait| wait.wait.name()).into())
        .put("wait_time", |it| it.wait_ms.min(i32::MAX.into()).into())
        .put("last_wait_type", |it| it.wait.map_or("MISCELLANEOUS", |it| it.wait.name()).into())
        .put("wait_resource", |it| it.wait_resource().into())
}

/// What is not known of a request.
fn unknown(columns: Columns<RequestItem>) -> Columns<RequestItem> {
    columns
        .zero(&["request_id", "percent_complete", "estimated_completion_time", "scheduler_id"])
        .zero(&["reads", "writes", "logical_reads", "granted_query_memory"])
        .zero(&["executing_managed_code", "parallel_worker_count", "is_resumable"])
        .zero(&["page_server_reads"])
        .null(&["sql_handle", "plan_handle", "connection_id", "task_address", "query_hash"])
        .null(&["query_plan_hash", "statement_sql_handle", "statement_context_id"])
        .null(&["external_script_request_id", "page_resource", "dist_statement_id", "label"])
}
