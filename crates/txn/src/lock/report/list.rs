//! Trace flag 1222: processes, then the resources they wait for, in lines that are indented like
//! XML.
//!
//! ```text
//! deadlock-list
//!  deadlock victim=process3f2
//!   process-list
//!    process id=process3f1 logused=868 waitresource=… waittime=… … lockTimeout=4294967295
//!   resource-list
//!    keylock hobtid=… dbid=… objectname=… indexname=… id=lock1 mode=X associatedObjectId=…
//!     owner-list
//!      owner id=process3f1 mode=X                        requestType=…: it does not hold it, it
//!                                                        waits ahead
//!     waiter-list
//!      waiter id=process3f2 mode=U requestType=wait
//! ```
//!
//! Ids of processes and locks tell them apart within one report, no more. A process is an owner:
//! transactions of several databases may have the same id.

use extentdb_base::{DatabaseId, HobtId, PageId};

use super::{
    DeadlockNode, DeadlockReport, Line, LockNames, LockOwner, LockStatus, ObjectId, Resource,
    number,
};
use crate::lock::Timeout;

pub(super) fn lines(report: &DeadlockReport, names: &dyn LockNames) -> Vec<String> {
    let mut lines = vec![
        "deadlock-list".to_owned(),
        format!(" deadlock victim={}", process(report.victim)),
        "  process-list".to_owned(),
    ];
    lines.extend(report.nodes.iter().map(|node| process_line(node, names)));
    lines.push("  resource-list".to_owned());
    for (at, node) in report.nodes.iter().enumerate() {
        lines.push(resource_line(node, at + 1, names));
        let blocker = node.blocker;
        let request = node.request;
        let owner =
            Line::new("     owner").with("id=", process(blocker.owner)).with("mode=", blocker.mode);
        let waiter = Line::new("     waiter")
            .with("id=", process(request.owner))
            .with("mode=", request.mode);
        lines.extend([
            "    owner-list".to_owned(),
            owner.with_some("requestType=", kind(blocker.status)).0,
        ]);
        lines.extend([
            "    waiter-list".to_owned(),
            waiter.with_some("requestType=", kind(node.status)).0,
        ]);
    }
    lines
}

fn process(owner: LockOwner) -> String {
    format!("process{:x}", owner.id.0)
}

fn kind(status: LockStatus) -> Option<&'static str> {
    match status {
        LockStatus::Grant => None,
        LockStatus::Convert => Some("convert"),
        LockStatus::Wait => Some("wait"),
    }
}

fn process_line(node: &DeadlockNode, names: &dyn LockNames) -> String {
    let request = &node.request;
    let owner = request.owner;
    let database = node.database;
    let line = Line::new("   process").with("id=", process(owner)).with("logused=", request.cost);
    line.with("waitresource=", request.resource.wait_text(database))
        .with("waittime=", node.wait_time.as_millis())
        .with("ownerId=", owner.id)
        .with_some("transactionname=", names.transaction(owner))
        .with("lockMode=", request.mode)
        .with("status=", "suspended")
        .with_some("spid=", names.session(owner))
        .with("priority=", request.priority)
        .with("xactid=", number(owner.xact))
        .with_some("currentdb=", numbered(database))
        .with("lockTimeout=", timeout_ms(request.timeout))
        .0
}

/// A database that has a number.
fn numbered(database: DatabaseId) -> Option<DatabaseId> {
    (database != DatabaseId(0)).then_some(database)
}

/// Milliseconds; the largest number stands for ever.
fn timeout_ms(timeout: Timeout) -> u32 {
    match timeout {
        Timeout::NoWait => 0,
        Timeout::After(time) => u32::try_from(time.as_millis()).unwrap_or(u32::MAX - 1),
        Timeout::Infinite => u32::MAX,
    }
}

fn resource_line(node: &DeadlockNode, at: usize, names: &dyn LockNames) -> String {
    let resource = node.request.resource;
    let table = node.request.table;
    let database = node.database;
    let element = |kind: &str| Element::new(kind, database, names);
    match resource {
        Resource::Key(index, _) => {
            element("keylock").rowset(index).database().table(table).index(index)
        }
        Resource::Hobt(id) => {
            element("hobtlock").rowset(id).whole().database().table(table).index(id)
        }
        Resource::Rid(rid) => element("ridlock").page(rid.page).database().table(table),
        Resource::Page(page) => element("pagelock").page(page).database().table(table),
        Resource::Extent(extent) => element("extentlock").page(extent.first_page()).database(),
        Resource::Object(id) => {
            let element = element("objectlock").with("lockPartition=", 0).with("objid=", id);
            element.whole().database().table(Some(id))
        }
        Resource::Metadata { class, id } => {
            element("metadatalock").with("class=", class).with("id=", id).database()
        }
        Resource::AllocUnit(id) => {
            element("allocunitlock").with("allocunitid=", id).whole().database()
        }
        Resource::Database => element("databaselock").whole().database(),
    }
    .with("id=", format!("lock{at}"))
    .with("mode=", node.granted)
    .of(match resource {
        Resource::Key(id, _) | Resource::Hobt(id) => Some(id.0),
        Resource::Object(id) => Some(i64::from(id.0)),
        Resource::Rid(_) | Resource::Page(_) => names.rowset(database, resource).map(|id| id.0),
        _ => None,
    })
}

/// A line of the list of resources.
struct Element<'n> {
    line: Line,
    database: DatabaseId,
    names: &'n dyn LockNames,
}

impl<'n> Element<'n> {
    fn new(name: &str, database: DatabaseId, names: &'n dyn LockNames) -> Element<'n> {
        Element { line: Line::new(format!("   {name}")), database, names }
    }

    fn with(self, label: &str, value: impl std::fmt::Display) -> Self {
        Element { line: self.line.with(label, value), ..self }
    }

    fn with_some(self, label: &str, value: Option<impl std::fmt::Display>) -> Self {
        Element { line: self.line.with_some(label, value), ..self }
    }

    fn rowset(self, id: HobtId) -> Self {
        self.with("hobtid=", id)
    }

    fn page(self, page: PageId) -> Self {
        self.with("fileid=", page.file).with("pageid=", page.page)
    }

    /// Not a part of the thing.
    fn whole(self) -> Self {
        self.with("subresource=", "FULL")
    }

    fn database(self) -> Self {
        let database = numbered(self.database);
        self.with_some("dbid=", database)
    }

    fn table(self, table: Option<ObjectId>) -> Self {
        let name = table.and_then(|table| self.names.table(self.database, table));
        self.with_some("objectname=", name)
    }

    fn index(self, rowset: HobtId) -> Self {
        let name = self.names.index(self.database, rowset);
        self.with_some("indexname=", name)
    }

    fn of(self, id: Option<i64>) -> String {
        self.line.with_some("associatedObjectId=", id).0
    }
}
