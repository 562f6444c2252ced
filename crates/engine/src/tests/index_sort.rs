//! Index builds that sort in tempdb what memory is not to hold.

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

use crate::{
    ColumnSpec, DatabaseSpec, Error, IndexSpec, Instance, InstanceOptions, Options, Range,
    TableSpec,
};

const ROWS: i32 = 6000;

/// A server with a table of numbers in no order, and how many bytes an index build sorts in memory.
fn server(sort_memory: usize) -> Arc<Instance> {
    let disk = MemDisk::new();
    let database = Options { frames: 256, sort_memory, ..Options::on(Arc::new(disk)) };
    let options = InstanceOptions {
        tempdb_files: 1,
        tempdb_file_bytes: 2 << 20,
        ..InstanceOptions::new("data", database)
    };
    let instance = Instance::start(options).unwrap();
    instance.create_database(&DatabaseSpec::new("shop", "data", 4 << 20)).unwrap();
    let mut session = instance.session("shop").unwrap();
    let int = |name: &str| ColumnSpec::new(name, SqlType::Int).not_null();
    let table = session.create_table(&TableSpec::heap("t", vec![int("a"), int("b")])).unwrap();
    session.begin();
    for number in 0..ROWS {
        let row = vec![Datum::Int(number * 7919 % ROWS), Datum::Int(number / 2)];
        session.insert(&table, &row).unwrap();
    }
    session.commit().unwrap();
    instance
}

fn free_extents(instance: &Instance) -> u32 {
    let tempdb = instance.database("tempdb").unwrap();
    tempdb.space().files().iter().map(|file| file.free_extents()).sum()
}

/// Extents of tempdb in use are seen by the pages that have been formatted there.
fn pages_of_sorts(instance: &Instance) -> usize {
    let tempdb = instance.database("tempdb").unwrap();
    let pages = tempdb.space().files().iter().map(|file| file.pages()).sum::<u32>();
    (1..pages)
        .filter(|page| {
            let id = extentdb_base::PageId::new(1, *page);
            let guard = tempdb.pool.read(id);
            guard.is_ok_and(|page| {
                extentdb_format::page::PageHeader::of(&page).index_id.get() == 0xFFFE
            })
        })
        .count()
}

#[test]
fn an_index_that_is_sorted_in_tempdb_has_all_rows_in_order() {
    for (sort_memory, spills) in [(20_000, true), (64 << 20, false)] {
        let instance = server(sort_memory);
        let free = free_extents(&instance);
        let mut session = instance.session("shop").unwrap();
        let table = session.table("t").unwrap();
        session.create_index(&table, &IndexSpec::new("by_a", &["a"]).unique()).unwrap();
        assert_eq!(free_extents(&instance), free, "what the sort has used is free again");
        assert_eq!(pages_of_sorts(&instance) > 0, spills, "{sort_memory} bytes");
        let table = session.table("t").unwrap();
        let mut found = Vec::new();
        session
            .range(&table, &Range::of("by_a", &[]), &mut |_, row| {
                found.push(row[0].clone());
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(found.iter().cloned().eq((0..ROWS).map(Datum::Int)), "{} rows", found.len());
    }
}

#[test]
fn a_duplicate_key_in_two_runs_refuses_the_index_and_frees_the_sort() {
    let instance = server(20_000);
    let free = free_extents(&instance);
    let mut session = instance.session("shop").unwrap();
    let table = session.table("t").unwrap();
    let refused = session.create_index(&table, &IndexSpec::new("by_b", &["b"]).unique());
    assert!(matches!(refused, Err(Error::DuplicateKey { .. })), "{refused:?}");
    assert_eq!(free_extents(&instance), free);
    session.create_index(&table, &IndexSpec::new("by_b", &["b"])).unwrap();
}
