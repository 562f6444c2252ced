//! `sys.data_spaces`, `sys.filegroups`.

use crate::base::{DataSpace, data_spaces as all};
use crate::code;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;

fn shared() -> Columns<DataSpace> {
    Columns::new()
        .put("name", |it: &DataSpace| (&it.name).into())
        .put("data_space_id", |it| it.id.into())
        .put("type", |it| it.kind.as_str().into())
        .put("type_desc", |it| code::data_space(&it.kind).into())
        .put("is_default", |it| it.is_default.into())
        .zero(&["is_system"])
}

/// `sys.data_spaces`.
pub(super) fn data_spaces(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    rows.add(&shared(), all(source.database)?)
}

/// `sys.filegroups`.
pub(super) fn filegroups(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = shared()
        .put("filegroup_guid", |it| it.guid.into())
        .zero(&["is_read_only", "is_autogrow_all_files"])
        .null(&["log_filegroup_id"]);
    let is_group = |space: &DataSpace| space.kind != "PS";
    rows.add(&columns, all(source.database)?.into_iter().filter(is_group))
}
