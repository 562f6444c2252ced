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
//! Ids of processes and locks tell them apart within one report, no more.

use extentdb_base::{HobtId, PageId, XactId};

use super::{
    DeadlockNode, DeadlockReport, Line, LockNames, LockStatus, ObjectId, Resource, number,
    resource_text,
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

fn process(owner: XactId) -> String {
    format!("process{:x}", number(owner))
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
    let database = names.database();
    let line = Line::new("   process").with("id=", process(owner)).with("logused=", request.cost);
    line.with("waitresource=", resource_text(request.resource, database))
        .with("waittime=", node.wait_time.as_millis())
        .with("ownerId=", number(owner))
        .with_some("transactionname=", names.transaction(owner))
        .with("lockMode=", request.mode)
        .with("status=", "suspended")
        .with_some("spid=", names.session(owner))
        .with("priority=", request.priority)
        .with("xactid=", number(owner))
        .with_some("currentdb=", database)
        .with("lockTimeout=", timeout_ms(request.timeout))
        .0
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
    let rowset = |names: &dyn LockNames| names.rowset(resource);
    match resource {
        Resource::Key(index, _) => Element::new("keylock")
            .rowset(index)
            .database(names)
            .table(table, names)
            .index(index, names),
        Resource::Hobt(id) => Element::new("hobtlock")
            .rowset(id)
            .whole()
            .database(names)
            .table(table, names)
            .index(id, names),
        Resource::Rid(rid) => {
            Element::new("ridlock").page(rid.page).database(names).table(table, names)
        }
        Resource::Page(page) => {
            Element::new("pagelock").page(page).database(names).table(table, names)
        }
        Resource::Extent(extent) => {
            Element::new("extentlock").page(extent.first_page()).database(names)
        }
        Resource::Object(id) => {
            let element = Element::new("objectlock").with("lockPartition=", 0).with("objid=", id);
            element.whole().database(names).table(Some(id), names)
        }
        Resource::Metadata { class, id } => {
            Element::new("metadatalock").with("class=", class).with("id=", id).database(names)
        }
        Resource::AllocUnit(id) => {
            Element::new("allocunitlock").with("allocunitid=", id).whole().database(names)
        }
        Resource::Database => Element::new("databaselock").whole().database(names),
    }
    .with("id=", format!("lock{at}"))
    .with("mode=", node.granted)
    .of(match resource {
        Resource::Key(id, _) | Resource::Hobt(id) => Some(id.0),
        Resource::Object(id) => Some(i64::from(id.0)),
        Resource::Rid(_) | Resource::Page(_) => rowset(names).map(|id| id.0),
        _ => None,
    })
}

/// A line of the list of resources.
struct Element(Line);

impl Element {
    fn new(name: &str) -> Element {
        Element(Line::new(format!("   {name}")))
    }

    fn with(self, label: &str, value: impl std::fmt::Display) -> Element {
        Element(self.0.with(label, value))
    }

    fn rowset(self, id: HobtId) -> Element {
        self.with("hobtid=", id)
    }

    fn page(self, page: PageId) -> Element {
        self.with("fileid=", page.file).with("pageid=", page.page)
    }

    /// Not a part of the thing.
    fn whole(self) -> Element {
        self.with("subresource=", "FULL")
    }

    fn database(self, names: &dyn LockNames) -> Element {
        Element(self.0.with_some("dbid=", names.database()))
    }

    fn table(self, table: Option<ObjectId>, names: &dyn LockNames) -> Element {
        Element(self.0.with_some("objectname=", table.and_then(|table| names.table(table))))
    }

    fn index(self, rowset: HobtId, names: &dyn LockNames) -> Element {
        Element(self.0.with_some("indexname=", names.index(rowset)))
    }

    fn of(self, id: Option<i64>) -> String {
        self.0.with_some("associatedObjectId=", id).0
    }
}
