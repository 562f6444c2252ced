//! `sys.dm_exec_sessions`.

use extentdb_base::sync::Arc;
use extentdb_engine::SessionHandle;

use crate::base::SID_OF_SA;
use crate::columns::Columns;
use crate::error::Error;
use crate::facts::SessionFacts;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;

/// A session of the engine, with what its connection says.
pub(in crate::view) struct SessionItem {
    pub(in crate::view) handle: Arc<SessionHandle>,
    pub(in crate::view) facts: SessionFacts,
    /// Is there a connection behind it?
    is_user: bool,
    pub(in crate::view) sid: Vec<u8>,
}

/// All sessions, by id.
pub(in crate::view) fn items(source: &Source<'_>) -> Vec<SessionItem> {
    let logins = source.logins();
    let item = |handle: Arc<SessionHandle>| {
        let own = source.facts.session(handle.id());
        let is_user = own.is_some();
        let facts = own.unwrap_or_default();
        let login = logins.iter().find(|login| login.name.eq_ignore_ascii_case(&facts.login_name));
        let sid = login.map_or_else(|| SID_OF_SA.to_vec(), |login| login.sid.clone());
        SessionItem { handle, facts, is_user, sid }
    };
    source.sessions().into_iter().map(item).collect()
}

/// `sys.dm_exec_sessions`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = settings(client())
        .put("session_id", |it: &SessionItem| it.handle.id().0.into())
        .put("status", |it| if it.facts.is_running { "running" } else { "sleeping" }.into())
        .put("cpu_time", |it| it.facts.cpu_time_ms.into())
        .put("last_request_start_time", |it| it.facts.last_request_start_time.into())
        .put("last_request_end_time", |it| it.facts.last_request_end_time.into())
        .put("is_user_process", |it| it.is_user.into())
        .put("row_count", |it| it.facts.row_count.into())
        .put("prev_error", |it| it.facts.prev_error.into())
        .put("open_transaction_count", |it| it.facts.open_transaction_count.into())
        .put("database_id", |it| it.handle.database().0.into())
        .one(&["endpoint_id", "group_id", "authenticating_database_id"])
        .zero(&["memory_usage", "total_scheduled_time", "total_elapsed_time", "reads"])
        .zero(&["writes", "logical_reads", "page_server_reads"])
        .null(&["last_successful_logon", "last_unsuccessful_logon", "unsuccessful_logons"])
        .null(&["contained_availability_group_id", "nt_domain", "nt_user_name"]);
    rows.add(&columns, items(source))
}

fn client() -> Columns<SessionItem> {
    Columns::new()
        .put("login_time", |it: &SessionItem| it.facts.login_time.into())
        .put("host_name", |it| it.facts.host_name.as_ref().into())
        .put("program_name", |it| it.facts.program_name.as_ref().into())
        .put("host_process_id", |it| it.facts.host_process_id.into())
        .put("client_version", |_| CLIENT_VERSION.into())
        .put("client_interface_name", |it| it.facts.client_interface_name.as_ref().into())
        .put("security_id", |it| it.sid.as_slice().into())
        .put("login_name", |it| (&it.facts.login_name).into())
        .put("original_security_id", |it| it.sid.as_slice().into())
        .put("original_login_name", |it| (&it.facts.original_login_name).into())
        .put("context_info", |it| {
            // A session that has set none shows no bytes.
            Value::from(it.facts.context_info.clone().unwrap_or_default())
        })
}

/// Of TDS 7.x, as the product shows clients that use it.
const CLIENT_VERSION: i32 = 7;

/// What requests show of the session, too.
pub(in crate::view) trait HasFacts {
    fn facts(&self) -> &SessionFacts;
}

impl HasFacts for SessionItem {
    fn facts(&self) -> &SessionFacts {
        &self.facts
    }
}

/// The columns of SET options.
pub(in crate::view) fn settings<T: HasFacts>(columns: Columns<T>) -> Columns<T> {
    columns
        .put("text_size", |it: &T| it.facts().text_size.into())
        .put("language", |it| (&it.facts().language).into())
        .put("date_format", |it| (&it.facts().date_format).into())
        .put("date_first", |it| it.facts().date_first.into())
        .put("quoted_identifier", |it| it.facts().quoted_identifier.into())
        .put("arithabort", |it| it.facts().arithabort.into())
        .put("ansi_null_dflt_on", |it| it.facts().ansi_null_dflt_on.into())
        .put("ansi_defaults", |it| it.facts().ansi_defaults.into())
        .put("ansi_warnings", |it| it.facts().ansi_warnings.into())
        .put("ansi_padding", |it| it.facts().ansi_padding.into())
        .put("ansi_nulls", |it| it.facts().ansi_nulls.into())
        .put("concat_null_yields_null", |it| it.facts().concat_null_yields_null.into())
        .put("transaction_isolation_level", |it| it.facts().isolation_level.into())
        .put("lock_timeout", |it| it.facts().lock_timeout.into())
        .put("deadlock_priority", |it| i32::from(it.facts().deadlock_priority).into())
}
