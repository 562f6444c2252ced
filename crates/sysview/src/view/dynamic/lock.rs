//! `sys.dm_tran_locks`.

use extentdb_base::{Resource, SessionId};
use extentdb_engine::{LockRow, LockStatus};
use extentdb_types::Guid;

use super::transaction::id_of;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

/// A lock that is held or requested, and by which session.
struct Item {
    row: LockRow,
    session: Option<SessionId>,
    transaction: i64,
}

impl Item {
    fn status(&self) -> &'static str {
        match self.row.status {
            LockStatus::Grant => "GRANT",
            LockStatus::Convert => "CONVERT",
            LockStatus::Wait => "WAIT",
        }
    }
}

/// What is locked within its table or database.
pub(in crate::view) fn description(resource: &Resource) -> String {
    match resource {
        Resource::Page(page) => format!("{}:{}", page.file, page.page),
        Resource::Rid(rid) => format!("{}:{}:{}", rid.page.file, rid.page.page, rid.slot),
        Resource::Extent(extent) => {
            let first = extent.first_page();
            format!("{}:{}", first.file, first.page)
        }
        Resource::Key(_, hash) => format!("({:012x})", hash & 0xffff_ffff_ffff),
        Resource::Metadata { class, id } => format!("class = {class}, id = {id}"),
        _ => String::new(),
    }
}

/// The object, heap, index or unit that the resource is, or is a part of; 0 where the lock does not
/// tell.
fn associated_entity(resource: &Resource) -> i64 {
    match resource {
        Resource::Object(id) => id.0.into(),
        Resource::Hobt(id) | Resource::Key(id, _) => id.0,
        Resource::AllocUnit(id) => id.0,
        _ => 0,
    }
}

/// `sys.dm_tran_locks`: of all databases.
pub(in crate::view) fn all(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("resource_type", |it: &Item| it.row.resource.type_name().into())
        .put("resource_subtype", |_| "".into())
        .put("resource_database_id", |it| it.row.database.0.into())
        .put("resource_description", |it| description(&it.row.resource).into())
        .put("resource_associated_entity_id", |it| associated_entity(&it.row.resource).into())
        .put("request_mode", |it| it.row.mode.name().into())
        .put("request_type", |_| "LOCK".into())
        .put("request_status", |it| it.status().into())
        .put("request_reference_count", |it| it.row.count.min(MOST_REFERENCES).into())
        .put("request_session_id", |it| it.session.map(|session| session.0).into())
        .put("request_owner_type", |_| "TRANSACTION".into())
        .put("request_owner_id", |it| it.transaction.into())
        .put("request_owner_guid", |_| Guid::default().into())
        .put("request_owner_lockspace_id", |it| format!("{:x}", it.row.owner.id.0).into())
        .zero(&["resource_lock_partition", "request_lifetime", "request_exec_context_id"])
        .zero(&["request_request_id"])
        .null(&["lock_owner_address"]);
    let tasks = source.instance.tasks();
    let locks = source.database.locks().manager().locks();
    let items = locks.into_iter().map(|row| Item {
        row,
        session: tasks.session_of(row.owner.id),
        transaction: id_of(source, row.owner.id, row.owner.xact),
    });
    rows.add(&columns, items)
}

/// A smallint.
const MOST_REFERENCES: u32 = i16::MAX as u32;

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_base::{HobtId, ObjectId, PageId, Rid};

    #[test]
    fn resources_are_described_as_in_the_product() {
        let cases = [
            (Resource::Database, "", 0),
            (Resource::Object(ObjectId(21_575_115)), "", 21_575_115),
            (Resource::Page(PageId::new(1, 77)), "1:77", 0),
            (Resource::Rid(Rid::new(PageId::new(1, 77), 3)), "1:77:3", 0),
            (Resource::Key(HobtId(5), 0xab), "(0000000000ab)", 5),
        ];
        for (resource, text, entity) in cases {
            assert_eq!(
                (description(&resource).as_str(), associated_entity(&resource)),
                (text, entity)
            );
        }
    }
}
