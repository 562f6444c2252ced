//! `sys.sysprocesses`.

use extentdb_base::SessionId;
use extentdb_telemetry::CurrentWait;

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;
use crate::view::dynamic::request::wait_of;
use crate::view::dynamic::session::{SessionItem, items as sessions};

/// A session as a process.
struct Item {
    session: SessionItem,
    command: Option<String>,
    wait: Option<CurrentWait>,
    wait_ms: i64,
    blocker: SessionId,
}

impl Item {
    fn status(&self) -> &'static str {
        match (&self.command, self.wait) {
            (Some(_), Some(_)) => "suspended",
            (Some(_), None) => "running",
            (None, _) => "sleeping",
        }
    }

    fn last_wait(&self) -> &'static str {
        self.wait.map_or("MISCELLANEOUS", |wait| wait.wait.name())
    }
}

fn item(source: &Source<'_>, session: SessionItem) -> Item {
    let id = session.handle.id();
    let (wait, wait_ms, blocker) = wait_of(source, id);
    let command = source.facts.request(id).map(|request| request.command);
    Item { session, command, wait, wait_ms, blocker }
}

/// `sys.sysprocesses`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let items = sessions(source).into_iter().map(|session| item(source, session));
    rows.add(&client(process()), items)
}

fn process() -> Columns<Item> {
    Columns::new()
        .put("spid", |it: &Item| it.session.handle.id().0.into())
        .put("blocked", |it| it.blocker.0.into())
        .put("waittime", |it| it.wait_ms.into())
        .put("lastwaittype", |it| it.last_wait().into())
        .put("dbid", |it| it.session.handle.database().0.into())
        .put("cpu", |it| it.session.facts.cpu_time_ms.into())
        .put("open_tran", |it| it.session.facts.open_transaction_count.into())
        .put("status", |it| it.status().into())
        .put("cmd", |it| it.command.as_deref().unwrap_or("AWAITING COMMAND").into())
        .put("waittype", |_| Vec::new().into())
        .put("waitresource", |_| "".into())
        .put("sql_handle", |_| Vec::new().into())
        .put("context_info", |it| {
            Value::from(it.session.facts.context_info.clone().unwrap_or_default())
        })
        .one(&["uid"])
        .zero(&["kpid", "physical_io", "memusage", "ecid", "stmt_start", "stmt_end"])
        .zero(&["request_id"])
        .null(&["page_resource"])
}

fn client(columns: Columns<Item>) -> Columns<Item> {
    columns
        .put("login_time", |it| it.session.facts.login_time.into())
        .put("last_batch", |it| it.session.facts.last_request_start_time.into())
        .put("sid", |it| it.session.sid.as_slice().into())
        .put("hostname", |it| it.session.facts.host_name.as_deref().unwrap_or("").into())
        .put("program_name", |it| it.session.facts.program_name.as_deref().unwrap_or("").into())
        .put("hostprocess", |it| {
            it.session.facts.host_process_id.map_or_else(String::new, |id| id.to_string()).into()
        })
        .put("nt_domain", |_| "".into())
        .put("nt_username", |_| "".into())
        .put("net_address", |_| "".into())
        .put("net_library", |_| "TCP/IP".into())
        .put("loginame", |it| (&it.session.facts.login_name).into())
}
