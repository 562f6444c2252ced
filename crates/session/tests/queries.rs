//! Queries and changes of rows: what clients are told.
//!
//! `tests/queries/NAME.batches`, written as `tests/batches.rs` and `support/story.rs` say.
//! `UPDATE_GOLDENFILES=1 cargo test -p extentdb-session --test queries` writes the outputs.

mod support;

use support::story::script;

/// A test for each script.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            script("queries", stringify!($name));
        })*
    };
}

scripts! {
    select
    joins
    groups
    subqueries
    set_operations
    windows
    common_tables
    changes
    constraint_errors
    name_errors
    nested_queries
    pivot
    query_targets
    rows_and_groups
    statements
    table_types
    application_locks
    undeclared_parameters
    system_views
    new_tables
    texts
    procedures
    catalog_functions
    catalog_procedures
    principal_procedures
    identity
    locked_rows
    triggers_fire
    insert_execute
    functions
    open_json
    xml_methods
    xml_texts
    written_parts
    variants
    notices
    more_functions
    references_within
    snapshot_changes
    client_cursors
}
