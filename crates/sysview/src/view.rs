//! The views that are filled, each by a function in the file of its subject.

mod allocation;
mod column;
mod constraint;
mod database;
mod dynamic;
mod file;
mod function;
mod index;
mod information_schema;
mod module;
mod object;
mod old;
mod permission;
mod principal;
mod sequence;
mod server;
mod space;
mod statistics;
mod table;
mod type_facets;
mod types;

use extentdb_types::Datum;

pub(crate) use column::columns_of;
pub(crate) use index::indexes_of;
pub(crate) use module::{events_of, mentions};
pub use type_facets::digits;
pub(crate) use type_facets::{Facets, user_type_id};

use crate::error::Error;
use crate::rows::Rows;
use crate::shape::{View, ViewKind};
use crate::source::Source;

/// Adds the rows of a view.
pub(crate) type Fill = fn(&Source<'_>, &mut Rows) -> Result<(), Error>;

/// Those of schema sys by name.
const SYS: &[(&str, Fill)] = &[
    ("all_columns", column::all),
    ("all_objects", object::all),
    ("all_parameters", module::parameters),
    ("all_sql_modules", module::sql_modules),
    ("all_views", table::all_views),
    ("allocation_units", allocation::units),
    ("check_constraints", constraint::checks),
    ("column_type_usages", types::of_columns),
    ("columns", column::of_objects),
    ("computed_columns", column::computed),
    ("configurations", server::configurations),
    ("data_spaces", space::data_spaces),
    ("database_files", file::of_database),
    ("database_mirroring", database::mirroring),
    ("database_permissions", permission::of_database),
    ("database_principals", principal::of_database),
    ("database_recovery_status", database::recovery_status),
    ("database_role_members", principal::role_members),
    ("databases", database::all),
    ("default_constraints", constraint::defaults),
    ("destination_data_spaces", space::destination_data_spaces),
    ("dm_db_file_space_usage", dynamic::space::files),
    ("dm_db_log_space_usage", dynamic::log::space_usage),
    ("dm_db_partition_stats", allocation::partition_stats),
    ("dm_exec_connections", dynamic::connection::all),
    ("dm_exec_requests", dynamic::request::all),
    ("dm_exec_sessions", dynamic::session::all),
    ("dm_os_host_info", dynamic::system::host_info),
    ("dm_os_performance_counters", dynamic::counter::all),
    ("dm_os_sys_info", dynamic::system::info),
    ("dm_os_wait_stats", dynamic::wait::totals),
    ("dm_os_waiting_tasks", dynamic::wait::tasks),
    ("dm_tran_active_snapshot_database_transactions", dynamic::transaction::snapshots),
    ("dm_tran_active_transactions", dynamic::transaction::active),
    ("dm_tran_database_transactions", dynamic::transaction::in_databases),
    ("dm_tran_locks", dynamic::lock::all),
    ("dm_tran_session_transactions", dynamic::transaction::of_sessions),
    ("dm_tran_version_store_space_usage", dynamic::transaction::version_store),
    ("endpoints", server::endpoints),
    ("events", module::events),
    ("extended_properties", object::extended_properties),
    ("filegroups", space::filegroups),
    ("foreign_key_columns", constraint::foreign_key_columns),
    ("foreign_keys", constraint::foreign_keys),
    ("identity_columns", column::identity),
    ("index_columns", index::columns),
    ("indexes", index::all),
    ("internal_tables", table::internal),
    ("key_constraints", constraint::keys),
    ("master_files", file::of_server),
    ("messages", server::messages),
    ("objects", object::of_database),
    ("parameter_type_usages", types::of_parameters),
    ("parameters", module::parameters),
    ("partition_functions", space::partition_functions),
    ("partition_parameters", space::partition_parameters),
    ("partition_range_values", space::partition_range_values),
    ("partition_schemes", space::partition_schemes),
    ("partitions", allocation::partitions),
    ("procedures", module::procedures),
    ("schemas", object::schemas),
    ("securable_classes", permission::securable_classes),
    ("sequences", sequence::all),
    ("server_permissions", permission::of_server),
    ("server_principals", principal::of_server),
    ("server_role_members", principal::server_role_members),
    ("servers", server::servers),
    ("sql_logins", principal::sql_logins),
    ("sql_modules", module::sql_modules),
    ("stats", statistics::all),
    ("stats_columns", statistics::columns),
    ("synonyms", module::synonyms),
    ("sysaltfiles", old::database::all_files),
    ("syscolumns", old::column::all),
    ("syscomments", old::module::comments),
    ("sysconfigures", old::server::configures),
    ("sysconstraints", old::constraint::all),
    ("syscurconfigs", old::server::current_configurations),
    ("sysdatabases", old::database::all),
    ("sysfilegroups", old::database::filegroups),
    ("sysfiles", old::database::files),
    ("sysforeignkeys", old::constraint::foreign_keys),
    ("sysindexes", old::index::all),
    ("sysindexkeys", old::index::keys),
    ("syslockinfo", old::lock::all),
    ("syslogins", old::principal::logins),
    ("sysmembers", old::principal::members),
    ("sysmessages", old::server::messages),
    ("sysobjects", old::object::all),
    ("sysperfinfo", dynamic::counter::all),
    ("sysprocesses", old::process::all),
    ("sysreferences", old::constraint::references),
    ("sysservers", old::server::servers),
    ("system_columns", column::system),
    ("system_internals_allocation_units", allocation::internal_units),
    ("system_internals_partitions", allocation::internal_partitions),
    ("system_objects", object::system),
    ("system_views", table::system_views),
    ("systypes", old::types::all),
    ("sysusers", old::principal::users),
    ("table_types", types::table_types),
    ("tables", table::all),
    ("tcp_endpoints", server::tcp_endpoints),
    ("trigger_events", module::trigger_events),
    ("triggers", module::triggers),
    ("types", types::all),
    ("views", table::views),
    ("xml_schema_collections", types::xml_schema_collections),
];

/// Those of schema INFORMATION_SCHEMA by name.
const INFORMATION_SCHEMA: &[(&str, Fill)] = &[
    ("CHECK_CONSTRAINTS", information_schema::constraint::checks),
    ("COLUMNS", information_schema::column::of_tables),
    ("COLUMN_DOMAIN_USAGE", information_schema::domain::usage),
    ("COLUMN_PRIVILEGES", information_schema::privilege::of_columns),
    ("CONSTRAINT_COLUMN_USAGE", information_schema::constraint::column_usage),
    ("CONSTRAINT_TABLE_USAGE", information_schema::constraint::table_usage),
    ("DOMAINS", information_schema::domain::all),
    ("DOMAIN_CONSTRAINTS", information_schema::domain::constraints),
    ("KEY_COLUMN_USAGE", information_schema::constraint::key_columns),
    ("PARAMETERS", information_schema::routine::parameters),
    ("REFERENTIAL_CONSTRAINTS", information_schema::constraint::referential),
    ("ROUTINES", information_schema::routine::all),
    ("ROUTINE_COLUMNS", information_schema::column::of_routines),
    ("SCHEMATA", information_schema::table::schemata),
    ("SEQUENCES", sequence::of_information_schema),
    ("TABLES", information_schema::table::all),
    ("TABLE_CONSTRAINTS", information_schema::constraint::all),
    ("TABLE_PRIVILEGES", information_schema::privilege::of_tables),
    ("VIEWS", information_schema::table::views),
];

/// Adds the rows of a function for its arguments.
pub(crate) type Call = fn(&Source<'_>, &[Datum<'_>], &mut Rows) -> Result<(), Error>;

/// Functions of schema sys that return tables, by name.
const FUNCTIONS: &[(&str, Call)] = &[
    ("fn_builtin_permissions", function::builtin::permissions),
    ("fn_helpcollations", function::collation::all),
    ("fn_listextendedproperty", function::property::list),
];

/// What a function returns its rows by; `None` of views, and while nothing does.
pub(crate) fn called(view: &View) -> Option<Call> {
    let is_function = view.kind == ViewKind::Function;
    let mut functions = FUNCTIONS.iter().filter(|_| is_function);
    functions.find(|(name, _)| *name == view.name).map(|(_, call)| *call)
}

/// What fills a view; `None` while nothing does.
pub(crate) fn filled(view: &View) -> Option<Fill> {
    let table = if view.schema == "sys" { SYS } else { INFORMATION_SCHEMA };
    table.iter().find(|(name, _)| *name == view.name).map(|(_, fill)| *fill)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    #[test]
    fn every_filled_view_is_one_of_the_product() {
        for (schema, table) in [("sys", SYS), ("INFORMATION_SCHEMA", INFORMATION_SCHEMA)] {
            for (name, _) in table {
                let view = shape::view(schema, name).unwrap_or_else(|| panic!("no view {name}"));
                assert_eq!(view.name, *name);
            }
        }
        for (name, _) in FUNCTIONS {
            assert!(shape::function("sys", name).is_some(), "no function {name}");
        }
    }
}
