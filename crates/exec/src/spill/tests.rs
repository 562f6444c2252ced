//! Runs, partitions, and what becomes of work files.

use std::path::Path;

use extentdb_base::sync::Arc;
use extentdb_io::{Disk, DurabilityMode, MemDisk, RealDisk};
use extentdb_types::SqlType;

use super::partitions::PARTITIONS;
use super::*;
use crate::batch::Batch;
use crate::testing::{Cell, CellRow, batch, cells, varchar};

fn types() -> Arc<[SqlType]> {
    Arc::from([SqlType::Int, varchar(20)])
}

fn rows(count: i64) -> Vec<CellRow> {
    let text = |row: i64| {
        let text = format!("{}{row}", if row % 2 == 0 { "a" } else { "A" });
        if row % 7 == 0 { Cell::Null } else { Cell::Text(text) }
    };
    (0..count).map(|row| vec![Cell::Int(row), text(row)]).collect()
}

fn file() -> Arc<WorkFile> {
    WorkArea::new(Arc::new(MemDisk::new()), "/work").create().unwrap()
}

fn read(run: Run) -> Vec<CellRow> {
    let mut reader = RunReader::new(Some(run));
    let mut all = Vec::new();
    while let Some(batch) = reader.read().unwrap() {
        assert!(batch.rows > 0);
        all.extend(cells(&batch));
    }
    all
}

#[test]
fn a_run_gives_its_rows_in_their_order() {
    let file = file();
    let mut one = RunWriter::new(&file, &types());
    let mut other = RunWriter::new(&file, &types());
    let all = rows(5000);
    for part in all.chunks(777) {
        let part = batch(&types(), part);
        one.push(&part).unwrap();
        let even: Vec<u32> = (0..part.rows as u32).filter(|row| row % 2 == 0).collect();
        other.push_rows(&part, &even).unwrap();
    }
    assert_eq!(read(one.finish().unwrap().unwrap()), all);
    let even = all.chunks(777).flat_map(|part| part.iter().step_by(2)).cloned();
    assert_eq!(read(other.finish().unwrap().unwrap()), even.collect::<Vec<_>>());
    assert!(RunWriter::new(&file, &types()).finish().unwrap().is_none());
}

#[test]
fn long_rows_are_written_in_small_blocks() {
    let ty = varchar(8000);
    let long: Vec<CellRow> = (0..100).map(|_| vec![Cell::Text("x".repeat(8000))]).collect();
    let mut writer = RunWriter::new(&file(), &Arc::from([ty]));
    writer.push(&batch(&[ty], &long)).unwrap();
    let mut reader = RunReader::new(writer.finish().unwrap());
    let mut blocks = 0;
    while let Some(batch) = reader.read().unwrap() {
        assert!(batch.memory() < 64 * 1024, "{}", batch.memory());
        blocks += 1;
    }
    assert!(blocks > 10);
}

#[test]
fn equal_keys_are_in_the_same_partition() {
    let parts = |depth| {
        let scatter = Scatter::new(&[1], depth);
        let mut parts = Partitions::new(&file(), &types(), scatter);
        let lower = |row: i64| vec![Cell::Int(row), Cell::Text(format!("key {}", row % 50))];
        let upper = |row: i64| vec![Cell::Int(row), Cell::Text(format!("KEY {}  ", row % 50))];
        let both: Vec<CellRow> = (0..500).flat_map(|row| [lower(row), upper(row)]).collect();
        parts.push(&batch(&types(), &both)).unwrap();
        let runs = parts.finish().unwrap().into_iter().flatten();
        runs.map(read).collect::<Vec<Vec<CellRow>>>()
    };
    let first = parts(0);
    assert!(first.len() > PARTITIONS / 2, "{}", first.len());
    assert_eq!(first.iter().map(Vec::len).sum::<usize>(), 1000);
    for key in 0..50 {
        let name = format!("key {key}");
        let is_it = |text: &str| text.to_lowercase().trim_end() == name;
        let is_of = |row: &CellRow| matches!(&row[1], Cell::Text(it) if is_it(it));
        assert_eq!(first.iter().filter(|part| part.iter().any(is_of)).count(), 1, "{name}");
    }
    assert_ne!(parts(1), first, "other depths part otherwise");
}

#[test]
fn a_work_file_has_no_name() {
    let folder = std::env::temp_dir().join(format!("extentdb-work-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let area = WorkArea::new(Arc::new(RealDisk::new(DurabilityMode::ForcedFlush)), &folder);
    let mut writer = RunWriter::new(&area.create().unwrap(), &types());
    let all = rows(3000);
    writer.push(&batch(&types(), &all)).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(read(writer.finish().unwrap().unwrap()), all);
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_name_that_is_taken_is_passed_over() {
    let disk = Arc::new(MemDisk::new());
    let _other = disk.create(Path::new("area/work-0.tmp")).unwrap();
    WorkArea::new(disk, "area").create().unwrap();
}

#[test]
fn a_full_disk_is_an_error() {
    let disk = Arc::new(MemDisk::new());
    disk.set_capacity(Some(160 * 1024));
    let file = WorkArea::new(disk, "/work").create().unwrap();
    let mut writer = RunWriter::new(&file, &types());
    let part: Batch = batch(&types(), &rows(1000));
    let failed = (0..100).find_map(|_| writer.push(&part).err());
    assert!(matches!(failed, Some(crate::error::Error::WorkFile(_))), "{failed:?}");
}
