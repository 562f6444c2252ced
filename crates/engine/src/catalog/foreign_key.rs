//! A foreign key as the catalog describes it.

use extentdb_base::{IndexId, ObjectId};
use extentdb_catalog::model::{self, ReferentialActions};

/// `sysschobjs.status` of a constraint that is disabled.
pub(crate) const DISABLED: u32 = 0x100;

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ForeignKey {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    /// The table with the referencing rows.
    pub(crate) child: ObjectId,
    /// The table of the rows that are named.
    pub(crate) parent: ObjectId,
    /// The unique index they are found by.
    pub(crate) index: IndexId,
    /// Columns that name, and the columns they name, by id.
    pub(crate) columns: Vec<(i32, i32)>,
    pub(crate) actions: ReferentialActions,
    /// A disabled key keeps its parent, and is not checked.
    pub(crate) is_enabled: bool,
}

impl ForeignKey {
    pub(crate) fn of(key: &model::ForeignKey) -> ForeignKey {
        ForeignKey {
            id: key.object.id,
            name: key.object.name.clone(),
            child: key.object.parent,
            parent: key.referenced,
            index: key.referenced_index,
            columns: key.columns.clone(),
            actions: ReferentialActions { on_delete: key.on_delete, on_update: key.on_update },
            is_enabled: key.object.status & DISABLED == 0,
        }
    }
}
