//! Rows with versions: sessions side by side over a heap and a clustered table with indexes; each
//! snapshot is compared with what was committed when it was taken, by every way of reading.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, Options as CheckOptions, Verdict};
use extentdb_io::MemDisk;
use extentdb_reader::rows::TableScan;
use extentdb_reader::{Database as Reader, OpenOptions, OpenedFiles};
use extentdb_txn::lock::Timeout;
use extentdb_types::{Collation, Datum, SqlType};

use crate::{
    Access, Address, ColumnBatch, ColumnSpec, DatabaseChange, DatabaseSpec, Error, IndexSpec,
    Instance, InstanceOptions, Isolation, Options, ParallelScan, Range, ReadHints, ScanSpec,
    Session, Table, TableHint, TableSpec, Termination, Values,
};

type Model = BTreeMap<i32, (i32, String)>;

const TABLES: [&str; 2] = ["heap", "clustered"];
const IDS: u64 = 120;

fn start(disk: &MemDisk) -> Arc<Instance> {
    let options = InstanceOptions {
        tempdb_files: 1,
        tempdb_file_bytes: 2 << 20,
        ..InstanceOptions::new("data", Options::on(Arc::new(disk.clone())))
    };
    Instance::start(options).unwrap()
}

fn varchar() -> SqlType {
    SqlType::VarChar { len: Some(4000), collation: Collation(0x3400_d008) }
}

fn text(value: &str) -> Datum<'static> {
    Datum::decode(&varchar(), value.as_bytes()).unwrap().into_owned()
}

/// A server with database `shop`: a heap and a clustered table, with rows from before it had
/// versions.
fn shop(disk: &MemDisk) -> (Arc<Instance>, Model) {
    let instance = start(disk);
    instance.create_database(&DatabaseSpec::new("shop", "data", 4 << 20)).unwrap();
    let mut session = instance.session("shop").unwrap();
    let ty = varchar();
    let columns = || {
        vec![
            ColumnSpec::new("id", SqlType::Int).not_null(),
            ColumnSpec::new("grp", SqlType::Int),
            ColumnSpec::new("name", ty),
        ]
    };
    let by_id = || IndexSpec::new("by_id", &["id"]).unique();
    let heap = session.create_table(&TableSpec::heap("heap", columns())).unwrap();
    session.create_index(&heap, &by_id()).unwrap();
    let clustered = TableSpec::heap("clustered", columns()).clustered(by_id());
    let clustered = session.create_table(&clustered).unwrap();
    let mut model = Model::new();
    for table in [&heap, &clustered] {
        let by_group = IndexSpec {
            included: vec!["id".to_owned()],
            ..IndexSpec::new("by_group", &["grp"])
        };
        session.create_index(table, &by_group).unwrap();
        for id in (0..IDS as i32).step_by(2) {
            let row = (id % 7, "old".repeat(1 + id as usize % 5));
            let values = [Datum::Int(id), Datum::Int(row.0), text(&row.1)];
            session.insert(table, &values).unwrap();
            model.insert(id, row);
        }
    }
    for change in
        [DatabaseChange::AllowSnapshotIsolation(true), DatabaseChange::ReadCommittedSnapshot(true)]
    {
        drop(std::mem::replace(&mut session, instance.session("master").unwrap()));
        instance.change_database("shop", change, Termination::Wait, None).unwrap();
    }
    (instance, model)
}

fn row_of(values: &[Datum<'_>]) -> (i32, (i32, String)) {
    let [Datum::Int(id), Datum::Int(group), Datum::Char(name)] = values else {
        panic!("{values:?}")
    };
    (*id, (*group, name.decode().0.into_owned()))
}

fn ints(batch: &ColumnBatch, column: usize) -> Vec<i32> {
    match &batch.columns[column].values {
        Values::I32(values) => values.clone(),
        other => panic!("{other:?}"),
    }
}

/// The address of a row as it is now, locked to be changed.
fn address(session: &mut Session, table: &Table, id: i32) -> Result<Option<Address>, Error> {
    let mut found = None;
    let values = [Datum::Int(id)];
    let range = Range::of("by_id", &values);
    let range =
        if session_isolation(session) == Isolation::Snapshot { range } else { range.for_update() };
    session.range(table, &range, &mut |at, _| {
        found = Some(at);
        ControlFlow::Break(())
    })?;
    Ok(found)
}

fn session_isolation(session: &mut Session) -> Isolation {
    session.statement("SELECT", |context| Ok(context.isolation())).unwrap()
}

/// What a session sees, by every way of reading.
fn verify(session: &mut Session, table: &Arc<Table>, model: &Model, rng: &mut SplitMix64) {
    let what = format!("{} {:?}", table.name(), session_isolation(session));
    let mut rows = Model::new();
    session
        .scan(table, &mut |_, row| {
            let (id, row) = row_of(&row);
            assert_eq!(rows.insert(id, row), None, "{what}: {id} twice");
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(&rows, model, "{what}: scan");
    for backward in [false, true] {
        let range = Range::all("by_id");
        let range = if backward { range.backward() } else { range };
        let mut read = Vec::new();
        session
            .range(table, &range, &mut |_, row| {
                read.push(row_of(&row));
                ControlFlow::Continue(())
            })
            .unwrap();
        if backward {
            read.reverse();
        }
        assert_eq!(read, model.clone().into_iter().collect::<Vec<_>>(), "{what}: range");
    }
    let group = rng.below(7) as i32;
    let values = [Datum::Int(group)];
    let of_group = model.iter().filter(|(_, row)| row.0 == group).map(|(id, _)| *id);
    let of_group: BTreeSet<i32> = of_group.collect();
    let mut read = BTreeSet::new();
    session
        .range(table, &Range::of("by_group", &values), &mut |at, row| {
            let (id, row) = row_of(&row);
            assert_eq!(row.0, group);
            assert!(read.insert(id));
            assert!(!matches!(at, Address::Rid(rid) if rid.page.is_none()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(read, of_group, "{what}: seek");
    // Columnar: the table, a covering index, many keys at once.
    let ids: Vec<i32> = model.keys().copied().collect();
    let groups: Vec<i32> = model.values().map(|row| row.0).collect();
    let accesses = [Access::Table(ReadHints::default()), Access::Range(Range::all("by_group"))];
    for access in accesses {
        let spec = ScanSpec { access, ..ScanSpec::new(&[0, 1]) };
        let mut scan = session.open_scan(table, &spec).unwrap();
        let mut read = Vec::new();
        while let Some(batch) = scan.next_batch(session, 10).unwrap() {
            read.extend(ints(&batch, 0).into_iter().zip(ints(&batch, 1)));
        }
        read.sort_unstable();
        let expected: Vec<_> = ids.iter().copied().zip(groups.iter().copied()).collect();
        assert_eq!(read, expected, "{what}: columns of {:?}", spec.access);
        if session.is_in_transaction() {
            let scan = session.open_parallel_scan(table, &spec).unwrap();
            assert_eq!(parallel(scan, session), ids, "{what}: parallel");
        }
    }
    let sought: Vec<[Datum<'_>; 1]> = (0..5).map(|_| [Datum::Int(rng.below(IDS) as i32)]).collect();
    let sought: Vec<&[Datum<'_>]> = sought.iter().map(|key| &key[..]).collect();
    let access = Access::Range(Range::all("by_id"));
    let spec = ScanSpec { access, ..ScanSpec::new(&[0, 1]) };
    let seek = session.open_seek(table, &spec).unwrap();
    let found = seek.rows_of(session, &sought).unwrap();
    let mut found: Vec<_> = found.keys.iter().copied().zip(ints(&found.batch, 0)).collect();
    found.sort_unstable();
    let is_there = |(_, key): &(u32, &&[Datum<'_>])| match key {
        [Datum::Int(id)] => model.contains_key(id),
        _ => false,
    };
    let expected = (0..).zip(&sought).filter(is_there).map(|(number, key)| match key {
        [Datum::Int(id)] => (number, *id),
        other => panic!("{other:?}"),
    });
    assert_eq!(found, expected.collect::<Vec<_>>(), "{what}: seeks");
    // A cursor, batch by batch, and a row by its address.
    let mut cursor = session.open_cursor(table, &Access::Range(Range::all("by_id"))).unwrap();
    let mut read = Vec::new();
    while let Some(batch) = cursor.next_batch(session, 7).unwrap() {
        for row in batch.iter() {
            read.push(row_of(&row.unwrap().values().unwrap()).0);
        }
    }
    assert_eq!(read, ids, "{what}: cursor");
}

fn parallel(mut scan: ParallelScan, session: &mut Session) -> Vec<i32> {
    let mut worker = scan.worker();
    let mut ids = Vec::new();
    while let Some(batch) = worker.next_batch(50).unwrap() {
        ids.extend(ints(&batch, 0));
    }
    while let Some(batch) = scan.next_batch(session, 50).unwrap() {
        ids.extend(ints(&batch, 0));
    }
    ids.sort_unstable();
    ids
}

struct Writer {
    session: Session,
    is_snapshot: bool,
    /// What was committed when the snapshot was taken, and the number of the commit.
    seen: Option<(Model, u64)>,
    own: BTreeMap<i32, Option<(i32, String)>>,
}

struct Reader1 {
    session: Session,
    model: Model,
}

struct Run {
    instance: Arc<Instance>,
    name: &'static str,
    rng: SplitMix64,
    committed: Model,
    changed: BTreeMap<i32, u64>,
    commits: u64,
    writers: Vec<Writer>,
    readers: Vec<Reader1>,
    conflicts: usize,
}

impl Run {
    fn table(&self, session: &Session) -> Arc<Table> {
        session.table(self.name).unwrap()
    }

    fn begin_writer(&mut self) {
        let mut session = self.instance.session("shop").unwrap();
        session.set_lock_timeout(Timeout::NoWait);
        let is_snapshot = self.rng.below(3) == 0;
        let mut seen = None;
        if is_snapshot {
            session.set_isolation(Isolation::Snapshot);
        }
        session.begin();
        if is_snapshot {
            // The snapshot is taken by the first reading.
            let table = self.table(&session);
            verify(&mut session, &table, &self.committed, &mut self.rng);
            seen = Some((self.committed.clone(), self.commits));
        }
        self.writers.push(Writer { session, is_snapshot, seen, own: BTreeMap::new() });
    }

    fn row(&mut self) -> (i32, String) {
        let len = if self.rng.below(8) == 0 { self.rng.below(1500) } else { self.rng.below(20) };
        let letter = char::from(b'a' + self.rng.below(26) as u8);
        (self.rng.below(7) as i32, letter.to_string().repeat(len as usize))
    }

    fn change(&mut self, number: usize) {
        let id = self.rng.below(IDS) as i32;
        let new = self.row();
        let roll = self.rng.below(3);
        let name = self.name;
        let writer = &mut self.writers[number];
        let session = &mut writer.session;
        let table = session.table(name).unwrap();
        let is_newer = writer
            .seen
            .as_ref()
            .is_some_and(|(_, at)| self.changed.get(&id).is_some_and(|changed| changed > at))
            && !writer.own.contains_key(&id);
        let values = [Datum::Int(id), Datum::Int(new.0), text(&new.1)];
        let done = address(session, &table, id).and_then(|at| match (at, roll) {
            (None, _) => session.insert(&table, &values).map(|_| Some(new)),
            (Some(at), 0) => session.delete(&table, &at).map(|()| None),
            (Some(at), _) => session.update(&table, &at, &values).map(|_| Some(new)),
        });
        match done {
            Ok(value) => {
                // A heap has no key that an insert could be in conflict with.
                let is_new_key = name == "heap" && value.is_some();
                assert!(!is_newer || is_new_key, "{name} {id}: a conflict was not noticed");
                writer.own.insert(id, value);
            }
            Err(Error::Lock(_) | Error::DuplicateKey { .. }) => {}
            Err(Error::UpdateConflict { .. }) => {
                assert!(writer.is_snapshot && is_newer, "{name} {id}: no conflict");
                self.conflicts += 1;
                self.end_writer(number, false);
            }
            Err(error) => panic!("{name} {id}: {error} {error:?}"),
        }
    }

    fn end_writer(&mut self, number: usize, commits: bool) {
        let mut writer = self.writers.swap_remove(number);
        if !commits {
            writer.session.rollback().unwrap();
            return;
        }
        writer.session.commit().unwrap();
        self.commits += 1;
        for (id, value) in writer.own {
            self.changed.insert(id, self.commits);
            match value {
                Some(value) => self.committed.insert(id, value),
                None => self.committed.remove(&id),
            };
        }
    }

    fn begin_reader(&mut self) {
        let mut session = self.instance.session("shop").unwrap();
        session.set_lock_timeout(Timeout::NoWait);
        session.set_isolation(Isolation::Snapshot);
        session.begin();
        let table = self.table(&session);
        verify(&mut session, &table, &self.committed, &mut self.rng);
        self.readers.push(Reader1 { session, model: self.committed.clone() });
    }

    fn verify(&mut self) {
        for reader in &mut self.readers {
            let table = reader.session.table(self.name).unwrap();
            verify(&mut reader.session, &table, &reader.model, &mut self.rng);
        }
        for writer in &mut self.writers {
            let table = writer.session.table(self.name).unwrap();
            let seen = writer.seen.as_ref().map_or(&self.committed, |(seen, _)| seen);
            let mut model = seen.clone();
            for (id, value) in &writer.own {
                match value {
                    Some(value) => model.insert(*id, value.clone()),
                    None => model.remove(id),
                };
            }
            verify(&mut writer.session, &table, &model, &mut self.rng);
        }
        // READ_COMMITTED_SNAPSHOT, outside of a transaction.
        let mut session = self.instance.session("shop").unwrap();
        session.set_lock_timeout(Timeout::NoWait);
        let table = self.table(&session);
        verify(&mut session, &table, &self.committed, &mut self.rng);
    }

    fn step(&mut self) {
        let any = |rng: &mut SplitMix64, len: usize| rng.below(len as u64) as usize;
        match self.rng.below(40) {
            0 | 1 if self.writers.len() < 3 => self.begin_writer(),
            2 | 3 if !self.writers.is_empty() => {
                let number = any(&mut self.rng, self.writers.len());
                let commits = self.rng.below(3) > 0;
                self.end_writer(number, commits);
            }
            4 if self.readers.len() < 3 => self.begin_reader(),
            5 if !self.readers.is_empty() => {
                let number = any(&mut self.rng, self.readers.len());
                drop(self.readers.swap_remove(number));
            }
            6 => {
                let session = self.instance.session("shop").unwrap();
                session.database().clean_some_ghosts().unwrap();
                let tempdb = self.instance.session("tempdb").unwrap();
                tempdb.database().clean_some_ghosts().unwrap();
            }
            7 => self.verify(),
            _ if !self.writers.is_empty() => {
                let number = any(&mut self.rng, self.writers.len());
                self.change(number);
            }
            _ => {}
        }
    }
}

fn run(instance: &Arc<Instance>, name: &'static str, committed: Model, seed: u64) -> Run {
    let mut run = Run {
        instance: instance.clone(),
        name,
        rng: SplitMix64::new(seed),
        committed,
        changed: BTreeMap::new(),
        commits: 0,
        writers: Vec::new(),
        readers: Vec::new(),
        conflicts: 0,
    };
    for _ in 0..2500 {
        run.step();
    }
    assert!(run.conflicts > 0);
    run.verify();
    run
}

/// The full check accepts the files, and the offline reader reads them.
fn assert_sound(disk: &MemDisk, models: &[(&str, Model)]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.mdf");
    std::fs::write(&file, disk.contents(Path::new("data/shop.mdf")).unwrap()).unwrap();
    let files = [file];
    let opened = OpenedFiles::open(&files, &OpenOptions::default()).unwrap();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let control = Control::new(&clock, &cancel);
    let report = extentdb_check::run(opened.source(), &CheckOptions::default(), &control);
    let findings: Vec<String> = report.findings.iter().take(20).map(|f| format!("{f:?}")).collect();
    assert!(findings.is_empty() && report.verdict == Verdict::Clean, "{findings:#?}");
    let reader = Reader::open(&files, &OpenOptions::default()).unwrap();
    for (name, model) in models {
        let tables = reader.catalog().user_tables();
        let table = tables.into_iter().find(|table| table.name == *name).unwrap();
        let pages = reader.pages();
        let mut scan = TableScan::new(&pages, reader.catalog(), table).unwrap();
        let mut rows = 0;
        while let Some(row) = scan.next_row() {
            row.unwrap();
            rows += 1;
        }
        assert_eq!(rows, model.len(), "{name}");
    }
}

#[test]
fn every_reader_sees_the_rows_of_its_snapshot() {
    for seed in 0..2 {
        let disk = MemDisk::new();
        let (instance, model) = shop(&disk);
        let mut models = Vec::new();
        for name in TABLES {
            let mut run = run(&instance, name, model.clone(), seed);
            while !run.writers.is_empty() {
                run.end_writer(0, true);
            }
            run.readers.clear();
            models.push((name, run.committed));
        }
        instance.shutdown(Termination::NoWait).unwrap();
        drop(instance);
        assert_sound(&disk, &models);
    }
}

#[test]
fn after_a_crash_the_committed_rows_are_there_and_pointers_of_old_tags_are_not_read() {
    for seed in 10..12 {
        let disk = MemDisk::new();
        let (instance, model) = shop(&disk);
        let mut models = Vec::new();
        let mut open = Vec::new();
        for name in TABLES {
            let mut run = run(&instance, name, model.clone(), seed);
            models.push((name, run.committed.clone()));
            open.push((run.writers.drain(..).collect::<Vec<_>>(), run.readers));
        }
        let after = disk.crash(&mut SplitMix64::new(seed));
        let instance = start(&after);
        let mut rng = SplitMix64::new(seed);
        for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
            let mut session = instance.session("shop").unwrap();
            session.set_isolation(isolation);
            for (name, model) in &models {
                let table = session.table(name).unwrap();
                session.begin();
                verify(&mut session, &table, model, &mut rng);
                session.commit().unwrap();
            }
        }
        // Changes over old tags.
        for (name, model) in &mut models {
            let mut run = run(&instance, name, model.clone(), seed + 5);
            while !run.writers.is_empty() {
                run.end_writer(0, false);
            }
            run.readers.clear();
            *model = run.committed;
        }
        instance.shutdown(Termination::NoWait).unwrap();
        drop(instance);
        assert_sound(&after, &models);
    }
}

#[test]
fn a_locking_hint_reads_what_is_there_now() {
    let (instance, _) = shop(&MemDisk::new());
    let mut reader = instance.session("shop").unwrap();
    reader.set_isolation(Isolation::Snapshot);
    reader.begin();
    let table = reader.table("clustered").unwrap();
    let count = |session: &mut Session, hints: &[TableHint]| {
        let mut rows = 0;
        let hints = ReadHints::of(hints).unwrap();
        session
            .scan_with(&table, hints, &mut |_, _| {
                rows += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    };
    let before = count(&mut reader, &[]);
    let mut writer = instance.session("shop").unwrap();
    writer.insert(&table, &[Datum::Int(1001), Datum::Int(0), text("new")]).unwrap();
    assert_eq!(count(&mut reader, &[]), before);
    assert_eq!(count(&mut reader, &[TableHint::UpdLock]), before + 1);
}
