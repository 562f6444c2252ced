//! `sys.data_spaces`, `sys.filegroups`, and partition functions and schemes, of which new databases
//! have none: the views of a database that has some are refused.

use crate::base::{DataSpace, data_spaces as all, has_partition_functions};
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
        .put("is_autogrow_all_files", |it| it.is_autogrow_all_files.into())
        .put("is_read_only", |it| it.is_read_only.into())
        .null(&["log_filegroup_id"]);
    let is_group = |space: &DataSpace| space.kind != "PS";
    rows.add(&columns, all(source.database)?.into_iter().filter(is_group))
}

/// The names of columns of a view without rows.
fn no_rows(source: &Source<'_>, rows: &mut Rows, columns: &[&'static str]) -> Result<(), Error> {
    if has_partition_functions(source.database)? {
        return Err(rows.refused());
    }
    rows.add(&Columns::<()>::new().null(columns), [])
}

/// `sys.partition_functions`.
pub(super) fn partition_functions(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = [
        "name",
        "function_id",
        "type",
        "type_desc",
        "fanout",
        "boundary_value_on_right",
        "is_system",
        "create_date",
        "modify_date",
    ];
    no_rows(source, rows, &columns)
}

/// `sys.partition_schemes`.
pub(super) fn partition_schemes(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns =
        ["name", "data_space_id", "type", "type_desc", "is_default", "is_system", "function_id"];
    no_rows(source, rows, &columns)
}

/// `sys.partition_parameters`.
pub(super) fn partition_parameters(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = [
        "function_id",
        "parameter_id",
        "system_type_id",
        "max_length",
        "precision",
        "scale",
        "collation_name",
        "user_type_id",
    ];
    no_rows(source, rows, &columns)
}

/// `sys.partition_range_values`.
pub(super) fn partition_range_values(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    no_rows(source, rows, &["function_id", "boundary_id", "parameter_id", "value"])
}

/// `sys.destination_data_spaces`.
pub(super) fn destination_data_spaces(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    no_rows(source, rows, &["partition_scheme_id", "destination_id", "data_space_id"])
}
