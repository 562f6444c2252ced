//! A database on a disk in memory, or on a real one, with a log, a pool, a space and the two units
//! of a table for values off its rows.

use std::ops::ControlFlow;
use std::path::Path;

use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, OnceLock};
use extentdb_base::{FileId, Lsn, PageId, XactId};
use extentdb_buffer::{PageWriteGuard, Pool, PoolOptions};
use extentdb_catalog::model::{AllocUnitKind, Catalog, Rowset};
use extentdb_change::undo_record;
use extentdb_format::allocation::file_header;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::replay::page_of;
use extentdb_format::log::{Op, RecordRef};
use extentdb_io::{Disk, MemDisk};
use extentdb_space::{FileDescription, Options, Space, Unit, UnitRows};
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, TableSpec};
use extentdb_txn::{Manager, Owners, Transaction, TransactionKind};
use extentdb_types::{Guid, SqlType};
use extentdb_wal::{Growth, Log, LogSpec};

use crate::Error;
use crate::btree::tests::bench::{Ahead, Image, LoggedRecord, UnitRow, description_of, unit_row};
use crate::heap::{Heap, HeapShape, Placement};
use crate::lob::{LobChange, LobForm, LobRoot, LobSplice, LobUnit, PendingSpace};

pub(super) const DATA: &str = "lab.mdf";
pub(super) const LOG: &str = "lab.ldf";
const FIRST_SEQUENCE: u32 = 0x1000;

/// How a bench differs from the usual one.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    pub(super) frames: usize,
    pub(super) mixed_pages: bool,
    pub(super) kind: AllocUnitKind,
    pub(super) log_bytes: u64,
    /// Maximum size of the log in bytes.
    pub(super) log_bytes_max: Option<u64>,
    /// Maximum size of the data file in pages.
    pub(super) pages_max: Option<u32>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            frames: 400,
            mixed_pages: true,
            kind: AllocUnitKind::Lob,
            log_bytes: 2 << 20,
            log_bytes_max: None,
            pages_max: None,
        }
    }
}

/// A database with the values of one table.
pub(super) struct Bench {
    pub(super) log: Arc<Log>,
    pub(super) manager: Arc<Manager>,
    pub(super) space: Arc<Space>,
    pub(super) lob: LobUnit,
    pub(super) heap: Heap,
    next_blob: AtomicU64,
}

/// A transaction and what waits for its end.
pub(super) struct Open {
    pub(super) tx: Transaction,
    pub(super) pending: PendingSpace,
}

impl Open {
    pub(super) fn change(&mut self) -> LobChange<'_> {
        LobChange { tx: &mut self.tx, pending: &mut self.pending }
    }
}

/// The rows of the units of the table in `sysallocunits`.
struct Rows(Vec<UnitRow>);

impl UnitRows for Rows {
    fn with_row(
        &self,
        unit: &Unit,
        f: &mut dyn FnMut(&mut PageWriteGuard, u16) -> Result<(), extentdb_space::Error>,
    ) -> Result<(), extentdb_space::Error> {
        self.0.iter().try_for_each(|row| row.with_row(unit, f))
    }
}

/// The data file that every bench begins with.
pub(super) fn fresh() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let columns = vec![
            ColumnSpec::new("id", SqlType::Int),
            ColumnSpec::nullable("big", SqlType::VarBinary { len: None }),
            ColumnSpec::nullable("old", SqlType::Image),
            ColumnSpec::nullable("wide", SqlType::VarBinary { len: Some(8000) }),
            ColumnSpec::nullable("broad", SqlType::VarBinary { len: Some(8000) }),
        ];
        let table = TableSpec::heap("values", columns, FnRows::new(0, |_, _| {}));
        let disk = MemDisk::new();
        let builder = DatabaseBuilder::new("lab").table(table);
        builder.build_on(&disk, &[Path::new(DATA)]).expect("an empty database");
        Image(disk.contents(Path::new(DATA)).expect("it was built"))
    })
}

fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::load(fresh()).expect("a sound catalog"))
}

pub(super) fn rowset() -> &'static Rowset {
    let catalog = catalog();
    let object = catalog.tables.values().find(|it| it.name == "values").expect("it was built").id;
    catalog.rowsets.values().find(|rowset| rowset.object == object).expect("it was built")
}

fn new_log(disk: &dyn Disk, folder: &Path, setup: &Setup) -> Log {
    let spec = LogSpec {
        file_id: FileId(2),
        logical_name: "lab_log".into(),
        bytes: setup.log_bytes,
        growth: Growth::Pages(8192),
        max_bytes: setup.log_bytes_max,
        binding_id: Guid([1; 16]),
        fork_guid: Guid([0; 16]),
        file_guid: Guid([2; 16]),
        first_sequence: FIRST_SEQUENCE,
        sector_bytes: 512,
    };
    let file = disk.create(&folder.join(LOG)).expect("an empty disk");
    Log::create(file, &spec, Arc::new(SystemClock::new())).expect("a log")
}

impl Bench {
    pub(super) fn new() -> Bench {
        Bench::on(fresh(), &Setup::default())
    }

    /// On a data file that is there, with a log of its own.
    pub(super) fn on(image: &Image, setup: &Setup) -> Bench {
        let disk = MemDisk::new();
        disk.put(Path::new(DATA), image.0.clone());
        Bench::on_disk(image, &disk, Path::new(""), setup)
    }

    pub(super) fn on_disk(image: &Image, disk: &dyn Disk, folder: &Path, setup: &Setup) -> Bench {
        let log = Arc::new(new_log(disk, folder, setup));
        let clock = Arc::new(SystemClock::new());
        let manager = Arc::new(Manager::new(
            log.clone(),
            clock.clone(),
            Arc::new(Owners::default()),
            XactId { high: 0, low: 1000 },
        ));
        let ahead = Arc::new(Ahead(log.clone()));
        let pool = Arc::new(Pool::new(PoolOptions::new(setup.frames), ahead, clock));
        pool.add_file(FileId(1), disk.open(&folder.join(DATA)).expect("it was put there"));
        let description = FileDescription {
            id: FileId(1),
            group: 1,
            name: "lab".into(),
            pages: (image.0.len() / 8192) as u32,
            growth: file_header::Growth::Pages(256),
            pages_max: setup.pages_max,
        };
        let options = Options {
            database: "lab".into(),
            mixed_pages: setup.mixed_pages,
            extents_per_turn: 1,
            compatible: false,
        };
        let space =
            Space::open(pool.clone(), manager.clone(), options, &[description], Arc::new(()));
        let space = Arc::new(space.expect("sound maps"));
        let rowset = rowset();
        let row = |kind| {
            let unit = rowset.unit(kind).expect("the table has them all").id;
            UnitRow { pool: pool.clone(), unit, at: unit_row(image, unit) }
        };
        let kinds = [AllocUnitKind::InRow, AllocUnitKind::Lob, AllocUnitKind::RowOverflow];
        let rows: Vec<UnitRow> = kinds.map(row).into();
        let id = rowset.unit(setup.kind).expect("the table has them all").id;
        let at = unit_row(image, id);
        let unit = Arc::new(Unit::new(&description_of(image, at, rowset, id)));
        space.set_unit_rows(Arc::new(Rows(rows)));
        let lob = LobUnit::new(space.clone(), unit);
        let base = rowset.unit(AllocUnitKind::InRow).expect("every table has one").id;
        let base = description_of(image, unit_row(image, base), rowset, base);
        let shape = HeapShape { pminlen: 8, variable_columns: 4 };
        let unit = Arc::new(Unit::new(&base));
        let heap = Heap::new(space.clone(), unit, shape, Placement::Packed);
        Bench {
            log,
            manager,
            space,
            lob,
            heap,
            next_blob: AtomicU64::new(0x7d1),
        }
    }

    pub(super) fn begin(&self) -> Open {
        let tx = self.manager.begin(TransactionKind::User, "test");
        Open { tx, pending: PendingSpace::default() }
    }

    pub(super) fn commit(&self, open: Open) -> Result<Lsn, Error> {
        let lsn = open.tx.commit()?;
        self.space.release(open.pending.freed)?;
        self.lob.end(open.pending.reserved)?;
        Ok(lsn)
    }

    pub(super) fn roll_back(&self, mut open: Open) -> Result<(), Error> {
        let begin = open.tx.begin_lsn();
        self.undo_to(&mut open.tx, begin)?;
        open.tx.abort()?;
        self.lob.end(open.pending.reserved)
    }

    /// Undoes what a transaction did after `to`, newest first.
    pub(super) fn undo_to(&self, tx: &mut Transaction, to: Lsn) -> Result<(), Error> {
        tx.begin_undo();
        while tx.undo_next() > to {
            let lsn = tx.undo_next();
            let logged = self.log.with_record(lsn, |record| LoggedRecord::of(lsn, record));
            self.undo_one(tx, &logged.map_err(extentdb_change::Error::from)?)?;
        }
        tx.end_undo();
        Ok(())
    }

    pub(super) fn undo_one(
        &self,
        tx: &mut Transaction,
        logged: &LoggedRecord,
    ) -> Result<(), Error> {
        let record = logged.record();
        let header = record.header();
        if header.flags.is_compensation()
            || header.op == Op::BEGIN_XACT
            || matches!(record.payload(), Payload::Savepoint(_))
        {
            tx.skip_to(header.previous);
            return Ok(());
        }
        let part = page_of(&record);
        if part.is_some_and(|part| part.alloc_unit() == self.lob.unit().id()) {
            return self.lob.undo(tx, &record);
        }
        Ok(undo_record(&*self.space, tx, &record)?)
    }

    pub(super) fn next_blob(&self) -> u64 {
        self.next_blob.fetch_add(1, Ordering::Relaxed) << 16
    }

    pub(super) fn create(
        &self,
        open: &mut Open,
        form: LobForm,
        value: &[u8],
        chunk: usize,
    ) -> Result<LobRoot, Error> {
        let mut writer = self.lob.create(open.change(), form, self.next_blob());
        value.chunks(chunk.max(1)).try_for_each(|chunk| writer.write(chunk))?;
        writer.finish()
    }

    pub(super) fn edit(
        &self,
        open: &mut Open,
        root: &LobRoot,
        splice: LobSplice,
        data: &[u8],
    ) -> Result<LobRoot, Error> {
        let mut writer = self.lob.edit(open.change(), root, splice)?;
        data.chunks(5000).try_for_each(|chunk| writer.write(chunk))?;
        writer.finish()
    }

    pub(super) fn value(&self, root: &LobRoot) -> Result<Vec<u8>, Error> {
        let mut cursor = self.lob.read(root)?;
        let mut out = Vec::new();
        while cursor.read_chunk(&mut out)? {}
        assert_eq!(out.len() as u64, cursor.len());
        Ok(out)
    }

    pub(super) fn records(&self) -> Vec<LoggedRecord> {
        let mut out = Vec::new();
        if self.log.last().is_zero() {
            return out;
        }
        let keep = &mut |lsn, record: &RecordRef<'_>| {
            out.push(LoggedRecord::of(lsn, record));
            ControlFlow::Continue(())
        };
        self.log.scan(self.log.minimum(), keep).expect("a sound log");
        out
    }

    /// Pages that the maps call the unit's.
    pub(super) fn pages(&self) -> Vec<PageId> {
        self.space.pages_of(self.lob.unit()).expect("sound maps")
    }
}

/// A splice of known length.
pub(super) fn splice(offset: usize, length: usize, data: &[u8]) -> LobSplice {
    LobSplice {
        offset: offset as u64,
        length: length as u64,
        data_len: Some(data.len() as u64),
    }
}

/// Bytes that differ from place to place.
pub(super) fn bytes(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 11 ^ seed ^ at) as u8).collect()
}
