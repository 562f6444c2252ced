//! `sys.syslockinfo`.

use extentdb_base::{Resource, SessionId};
use extentdb_engine::{LockRow, LockStatus};

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::dynamic::lock::description;
use crate::view::dynamic::transaction::id_of;

/// Modes in the order of their numbers, from 0.
const MODES: [&str; 22] = [
    "NL", "Sch-S", "Sch-M", "S", "U", "X", "IS", "IU", "IX", "SIU", "SIX", "UIX", "BU", "RangeS-S",
    "RangeS-U", "RangeI-N", "RangeI-S", "RangeI-U", "RangeI-X", "RangeX-S", "RangeX-U", "RangeX-X",
];
/// `req_ownertype`: a transaction.
const OWNER_TRANSACTION: i32 = 1;

/// A lock with its session and transaction.
struct Item {
    row: LockRow,
    session: SessionId,
    transaction: i64,
}

impl Item {
    fn mode(&self) -> u8 {
        let name = self.row.mode.name();
        let at = MODES.iter().position(|mode| *mode == name);
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
    }

    fn status(&self) -> u8 {
        match self.row.status {
            LockStatus::Grant => 1,
            LockStatus::Convert => 2,
            LockStatus::Wait => 3,
        }
    }
}

/// `rsc_type`.
fn resource_type(resource: &Resource) -> u8 {
    match resource {
        Resource::Database => 2,
        Resource::Object(_) => 5,
        Resource::Page(_) => 6,
        Resource::Key(..) => 7,
        Resource::Extent(_) => 8,
        Resource::Rid(_) => 9,
        Resource::Metadata { .. } => 11,
        Resource::Hobt(_) => 12,
        Resource::AllocUnit(_) => 13,
    }
}

fn object_of(resource: &Resource) -> i32 {
    if let Resource::Object(id) = resource { id.0 } else { 0 }
}

/// `sys.syslockinfo`.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("rsc_text", |it: &Item| description(&it.row.resource).into())
        .put("rsc_bin", |_| Vec::new().into())
        .put("rsc_valblk", |_| Vec::new().into())
        .put("rsc_dbid", |it| it.row.database.0.into())
        .put("rsc_objid", |it| object_of(&it.row.resource).into())
        .put("rsc_type", |it| resource_type(&it.row.resource).into())
        .put("req_mode", |it| it.mode().into())
        .put("req_status", |it| it.status().into())
        .put("req_refcnt", |it| it.row.count.min(i16::MAX as u32).into())
        .put("req_spid", |it| it.session.0.into())
        .put("req_ownertype", |_| OWNER_TRANSACTION.into())
        .put("req_transactionID", |it| it.transaction.into())
        .zero(&["rsc_indid", "rsc_flag", "req_cryrefcnt", "req_lifetime", "req_ecid"])
        .null(&["req_transactionUOW"]);
    let tasks = source.instance.tasks();
    let locks = source.database.locks().manager().locks();
    let items = locks.into_iter().map(|row| Item {
        session: tasks.session_of(row.owner.id).unwrap_or(SessionId(0)),
        transaction: id_of(source, row.owner.id, row.owner.xact),
        row,
    });
    rows.add(&columns, items)
}
