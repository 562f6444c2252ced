//! Stories of sessions, as scripts with their output: `scripts/<area>/<name>.script`. How to read
//! and add one: README.md of this crate.

mod script;
mod support;

/// A test for every script: what is not listed here fails `every_script_is_listed`.
macro_rules! scripts {
    ($($area:ident: $($name:ident)*;)*) => {
        const LISTED: &[&str] = &[$($(concat!(stringify!($area), "/", stringify!($name)),)*)*];

        $(mod $area {
            $(#[test]
            fn $name() {
                crate::script::run(concat!(stringify!($area), "/", stringify!($name)));
            })*
        })*
    };
}

scripts! {
    constraints: cascade cascade_cycles cascade_moves_rows check disabled_index
        disabled_index_dependents foreign_key foreign_key_in_clustered_key foreign_key_of_heaps
        foreign_key_waits foreign_key_with_index no_action_after_cascade not_null_and_defaults
        primary_key self_reference set_default set_null unique unique_index_of_heap;
    ddl: add_column alter_column alter_heap computed_columns drop_column filtered_and_included
        identity reused_name rollback schema_locks triggers truncate;
    deadlock: conversion cost doomed_victim foreign_key priority three_sessions two_sessions;
    hints: cursors exclusive_rows nolock nowait readpast table_locks;
    isolation: dirty_read duplicate_keys end_of_index heap_with_index key_range_locks lost_update
        nonclustered_ranges nonrepeatable_read other_clustered_key own_inserts phantom
        serializable_heap uncommitted_key upgraded_reads write_skew;
    locks: escalation intent_locks one_key queue timeout update_locks values_off_the_row;
    versions: constraints crash ddl dirty_read heaps levels lost_update nonrepeatable_read other_keys
        own_changes phantom read_only_anomaly readers_and_writers reused_keys values_off_row
        write_skew;
    transactions: crash forwarded_rows ghost_records rollback savepoints scans statement_rollback;
}

#[test]
fn every_script_is_listed() {
    let mut found = Vec::new();
    for area in std::fs::read_dir(script::folder()).unwrap() {
        let area = area.unwrap();
        for script in std::fs::read_dir(area.path()).unwrap() {
            let name = script.unwrap().path().with_extension("");
            let name = name.strip_prefix(script::folder()).unwrap().to_owned();
            found.push(name.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    let mut listed = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}
