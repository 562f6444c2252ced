//! What the tests run on: a database on a disk in memory with a log, a pool, a space and one tree.
//!
//! The database is built by `template` and has three tables without rows: one with a clustered
//! index, a heap with a nonclustered one that includes the value, and a clustered one of numbers.
//! The keys of the first two may have 900 bytes. The pointers of the unit are kept in its real row
//! of `sysallocunits`, so that they are logged, redone and undone as in a whole database.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use extentdb_base::env::SystemClock;
use extentdb_base::sync::{Arc, OnceLock};
use extentdb_base::{AllocUnitId, FileId, Lsn, PageId, Rid, XactId};
use extentdb_buffer::{PageWriteGuard, Pool, PoolOptions, WriteAhead, WriteAheadError};
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::{AllocUnitKind, Catalog, Rowset};
use extentdb_catalog::{PageError, PageGetter};
use extentdb_format::PageBytes;
use extentdb_format::allocation::file_header;
use extentdb_format::log::payload::Payload;
use extentdb_format::log::replay::page_of;
use extentdb_format::log::{BlockFormat, Context, Op, RecordHeader, RecordRef};
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_io::{Disk, MemDisk};
use extentdb_space::{
    FileDescription, Options, Space, Unit, UnitCounts, UnitDescription, UnitRows,
};
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, TableSpec};
use extentdb_txn::{Manager, Owners, Transaction, TransactionKind};
use extentdb_types::{Guid, SqlType};
use extentdb_wal::{Growth, Log, LogSpec};

use crate::{Error, RowShape, Tree};

/// The most bytes of a key here.
pub(super) const KEY_BYTES: usize = 850;
const DATA: &str = "lab.mdf";
const LOG: &str = "lab.ldf";
/// Above the LSNs of the pages that are there.
const FIRST_SEQUENCE: u32 = 0x1000;
/// First byte of the first IAM page in a row of `sysallocunits`; first page and root lie before it.
const FIRST_AT: usize = 0x1b;
const UNIT_ID_AT: usize = 4;

/// How a bench differs from the usual one.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    pub(super) is_base: bool,
    /// The key is a number; the index is a clustered one.
    pub(super) has_numbers: bool,
    /// Maximum size of the data file in pages.
    pub(super) pages_max: Option<u32>,
    /// The log does not grow.
    pub(super) has_small_log: bool,
    /// Pages in memory.
    pub(super) frames: usize,
    /// The unit is called so, and has no row.
    pub(super) unit: Option<AllocUnitId>,
}

impl Setup {
    pub(super) fn of(is_base: bool) -> Setup {
        Setup {
            is_base,
            has_numbers: false,
            pages_max: None,
            has_small_log: false,
            frames: 600,
            unit: None,
        }
    }
}

/// A database with one tree.
pub(super) struct Bench {
    pub(super) disk: MemDisk,
    pub(super) log: Arc<Log>,
    pub(super) manager: Arc<Manager>,
    pub(super) space: Arc<Space>,
    pub(super) tree: Tree,
    is_base: bool,
}

/// A log record that can be kept.
pub(crate) struct LoggedRecord {
    pub(crate) lsn: Lsn,
    bytes: Vec<u8>,
}

impl LoggedRecord {
    pub(crate) fn of(lsn: Lsn, record: &RecordRef<'_>) -> LoggedRecord {
        LoggedRecord { lsn, bytes: record.bytes().to_vec() }
    }

    pub(super) fn copy(&self) -> LoggedRecord {
        LoggedRecord { lsn: self.lsn, bytes: self.bytes.clone() }
    }

    pub(crate) fn record(&self) -> RecordRef<'_> {
        RecordRef::parse(BlockFormat::V4, &self.bytes).expect("it was one")
    }
}

/// The pages of a file in memory.
pub(crate) struct Image(pub(crate) Vec<u8>);

impl PageGetter for Image {
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        let start = id.page as usize * 8192;
        page.copy_from_slice(
            self.0.get(start..start + 8192).ok_or(PageError::NotStored { page: id })?,
        );
        Ok(())
    }

    fn page_count(&self, _file: FileId) -> u32 {
        (self.0.len() / 8192) as u32
    }

    fn total_pages(&self) -> u64 {
        self.0.len() as u64 / 8192
    }
}

/// The data file that every bench begins with.
pub(super) fn fresh() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let columns = || {
            let value = SqlType::VarBinary { len: Some(8000) };
            vec![
                ColumnSpec::new("k", SqlType::VarBinary { len: Some(900) }),
                ColumnSpec::new("v", value),
            ]
        };
        let none = || FnRows::new(0, |_, _| {});
        let clustered =
            TableSpec::heap("c", columns(), none()).clustered(IndexSpec::primary_key("pk", &["k"]));
        let heap = TableSpec::heap("h", columns(), none());
        let heap = heap.index(IndexSpec::new("i", &["k"]).unique().include(&["v"]));
        let value = SqlType::VarBinary { len: Some(8000) };
        let numbers = vec![ColumnSpec::new("k", SqlType::Int), ColumnSpec::new("v", value)];
        let numbers =
            TableSpec::heap("n", numbers, none()).clustered(IndexSpec::primary_key("pn", &["k"]));
        let disk = MemDisk::new();
        let builder = DatabaseBuilder::new("lab").table(clustered).table(heap).table(numbers);
        builder.build_on(&disk, &[Path::new(DATA)]).expect("an empty database");
        Image(disk.contents(Path::new(DATA)).expect("it was built"))
    })
}

fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::load(fresh()).expect("a sound catalog"))
}

fn rowset<'c>(catalog: &'c Catalog, setup: &Setup) -> &'c Rowset {
    let (table, index) = match (setup.has_numbers, setup.is_base) {
        (true, _) => ("n", 1),
        (false, true) => ("c", 1),
        (false, false) => ("h", 2),
    };
    let object = catalog.tables.values().find(|it| it.name == table).expect("it was built").id;
    let is_it = |rowset: &&Rowset| rowset.object == object && rowset.index.0 == index;
    catalog.rowsets.values().find(is_it).expect("it was built")
}

/// The row of a unit in `sysallocunits`, which stays where it is.
pub(crate) struct UnitRow {
    pub(crate) pool: Arc<Pool>,
    pub(crate) unit: AllocUnitId,
    pub(crate) at: Rid,
}

impl UnitRows for UnitRow {
    fn with_row(
        &self,
        unit: &Unit,
        f: &mut dyn FnMut(&mut PageWriteGuard, u16) -> Result<(), extentdb_space::Error>,
    ) -> Result<(), extentdb_space::Error> {
        if unit.id() != self.unit {
            return Ok(());
        }
        f(&mut self.pool.write(self.at.page)?, self.at.slot.0)
    }
}

/// Where the row of a unit lies.
pub(crate) fn unit_row(image: &Image, unit: AllocUnitId) -> Rid {
    let pages = image.0.as_chunks::<8192>().0;
    for page in pages {
        let header = PageHeader::of(page);
        if header.alloc_unit().header_object_id() != 7 || header.page_type != 1 {
            continue;
        }
        let view = PageRef::new(page);
        for (slot, row) in view.records() {
            if row.get(UNIT_ID_AT..UNIT_ID_AT + 8) == Some(&unit.0.to_le_bytes()[..]) {
                return Rid::new(header.page_id(), slot);
            }
        }
    }
    panic!("unit {unit} has no row");
}

/// The log as the pool sees it.
pub(crate) struct Ahead(pub(crate) Arc<Log>);

impl WriteAhead for Ahead {
    fn flush_to(&self, lsn: Lsn) -> Result<(), WriteAheadError> {
        if lsn <= self.0.durable() {
            Ok(())
        } else {
            self.0.flush(lsn).map_err(WriteAheadError::new)
        }
    }
}

fn new_log(disk: &MemDisk, setup: &Setup) -> Log {
    let spec = LogSpec {
        file_id: FileId(2),
        logical_name: "lab_log".into(),
        bytes: 2 << 20,
        growth: if setup.has_small_log { Growth::None } else { Growth::Pages(2048) },
        max_bytes: None,
        binding_id: Guid([1; 16]),
        fork_guid: Guid([0; 16]),
        file_guid: Guid([2; 16]),
        first_sequence: FIRST_SEQUENCE,
        sector_bytes: 512,
    };
    let file = disk.create(Path::new(LOG)).expect("an empty disk");
    Log::create(file, &spec, Arc::new(SystemClock::new())).expect("a log")
}

impl Bench {
    pub(super) fn new(is_base: bool) -> Bench {
        Bench::with(&Setup::of(is_base))
    }

    pub(super) fn with(setup: &Setup) -> Bench {
        Bench::on(fresh(), setup)
    }

    /// A tree on a data file that is there, with a log of its own.
    pub(super) fn on(image: &Image, setup: &Setup) -> Bench {
        let disk = MemDisk::new();
        disk.put(Path::new(DATA), image.0.clone());
        let log = Arc::new(new_log(&disk, setup));
        let clock = Arc::new(SystemClock::new());
        let manager = Arc::new(Manager::new(
            log.clone(),
            clock.clone(),
            Arc::new(Owners::new()),
            XactId { high: 0, low: 1000 },
        ));
        let pool = Arc::new(Pool::new(
            PoolOptions::new(setup.frames),
            Arc::new(Ahead(log.clone())),
            clock,
        ));
        pool.add_file(FileId(1), disk.open(Path::new(DATA)).expect("it was put there"));
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
            mixed_pages: true,
            extents_per_turn: 1,
            compatible: false,
        };
        let space =
            Space::open(pool.clone(), manager.clone(), options, &[description], Arc::new(()));
        let space = Arc::new(space.expect("sound maps"));
        let rowset = rowset(catalog(), setup);
        let unit = rowset.unit(AllocUnitKind::InRow).expect("every index has one").id;
        let at = unit_row(image, unit);
        space.set_unit_rows(Arc::new(UnitRow { pool, unit, at }));
        let unit =
            Arc::new(Unit::new(&description_of(image, at, rowset, setup.unit.unwrap_or(unit))));
        let shape = RowShape::of_rowset(rowset).expect("a usual table");
        let tree = Tree::new(space.clone(), unit, shape);
        Bench { disk, log, manager, space, tree, is_base: setup.is_base }
    }

    pub(super) fn begin(&self) -> Transaction {
        self.manager.begin(TransactionKind::User, "test")
    }

    pub(super) fn counts(&self) -> UnitCounts {
        self.tree.unit().counts().0
    }

    /// Pages that the maps call the unit's.
    pub(super) fn pages(&self) -> BTreeSet<PageId> {
        self.space.pages_of(self.tree.unit()).expect("sound maps").into_iter().collect()
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

    /// Operations and contexts of the records about pages of the tree that follow on the first
    /// `from` records.
    pub(super) fn changes_from(&self, from: usize) -> Vec<(Op, Context)> {
        let is_own = |logged: &&LoggedRecord| {
            let record = logged.record();
            let part = page_of(&record);
            part.is_some_and(|part| {
                // Formatting a page is the first that it says of itself.
                part.alloc_unit() == self.tree.unit().id()
                    && record.header().context != Context::IAM
            })
        };
        let records = self.records();
        let own = records[from..].iter().filter(is_own);
        own.map(|logged| (logged.record().header().op, logged.record().header().context)).collect()
    }

    pub(super) fn record(&self, lsn: Lsn) -> LoggedRecord {
        self.log
            .with_record(lsn, |record| LoggedRecord::of(lsn, record))
            .expect("a record there is")
    }

    /// Takes everything back that a transaction did after `to`, newest first.
    pub(super) fn roll_back_to(&self, tx: &mut Transaction, to: Lsn) {
        undo_with(&self.tree, tx, to, &|lsn| self.record(lsn));
    }

    pub(super) fn roll_back(&self, mut tx: Transaction) {
        let begin = tx.begin_lsn();
        self.roll_back_to(&mut tx, begin);
        tx.abort().expect("it was reserved");
    }

    /// Overwrites a page without a log record.
    pub(super) fn put(&self, id: PageId, page: &PageBytes) {
        let mut guard = self.space.pool().write(id).expect("a page of the file");
        *guard.bytes_mut() = *page;
        guard.set_dirty(self.log.last());
    }

    pub(super) fn page(&self, id: PageId) -> PageBytes {
        *self.space.pool().read(id).expect("a page of the file")
    }

    /// The values of a row.
    pub(super) fn cells<'a>(&self, key: &'a [u8], value: &'a [u8]) -> Vec<Cell<'a>> {
        let mut cells = vec![bytes(key), bytes(value)];
        if !self.is_base {
            cells.push(bytes(&[0; 8]));
        }
        cells
    }

    pub(super) fn insert(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        self.tree.insert(tx, &self.cells(key, value))
    }

    pub(super) fn replace(
        &self,
        tx: &mut Transaction,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        self.tree.replace(tx, &self.cells(key, value))
    }

    pub(super) fn delete(&self, tx: &mut Transaction, key: &[u8]) -> bool {
        self.tree.delete(tx, &[bytes(key)]).expect("a sound tree").is_some()
    }
}

/// The unit with the pointers that its row has.
pub(crate) fn description_of(
    image: &Image,
    at: Rid,
    rowset: &Rowset,
    id: AllocUnitId,
) -> UnitDescription {
    let page = &image.0.as_chunks::<8192>().0[at.page.page as usize];
    let row = PageRef::new(page).record_bytes(at.slot.0).expect("a row");
    let [first, root, first_iam] = [0, 1, 2].map(|number| {
        let start = FIRST_AT + 6 * number;
        PageId::from_bytes(row[start..start + 6].try_into().expect("six bytes"))
    });
    UnitDescription {
        id,
        hobt: rowset.id,
        group: 1,
        first,
        root,
        first_iam,
        counts: UnitCounts::default(),
    }
}

/// Undoes records of a transaction, the newest first, down to `to`.
pub(super) fn undo_with(
    tree: &Tree,
    tx: &mut Transaction,
    to: Lsn,
    fetch: &dyn Fn(Lsn) -> LoggedRecord,
) {
    while tx.undo_next() > to {
        let logged = fetch(tx.undo_next());
        if logged.record().header().op == Op::BEGIN_XACT {
            return;
        }
        undo_one_with(tree, tx, &logged);
    }
}

/// Undoes the next record of a transaction.
pub(super) fn undo_one_with(tree: &Tree, tx: &mut Transaction, logged: &LoggedRecord) {
    let record = logged.record();
    let header: RecordHeader = *record.header();
    match record.payload() {
        _ if header.flags.is_compensation() => tx.skip_to(header.previous),
        Payload::Savepoint(_) => tx.skip_to(header.previous),
        payload => tree.undo(tx, header.previous, &header, &payload).expect("it can be undone"),
    }
}

pub(super) fn bytes(bytes: &[u8]) -> Cell<'_> {
    Cell::Bytes(Cow::Borrowed(bytes))
}

/// Key and value of a row.
pub(super) fn key_and_value(tree: &Tree, row: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let cells = tree.shape().decode(row).expect("a sound record");
    let [Cell::Bytes(key), Cell::Bytes(value), ..] = cells.as_slice() else { panic!("{cells:?}") };
    (key.to_vec(), value.to_vec())
}

/// A key of a number: short, or as long as keys get here.
pub(super) fn key(number: u64, is_wide: bool) -> Vec<u8> {
    let mut key = (number as u32).to_be_bytes().to_vec();
    key.resize(if is_wide { KEY_BYTES } else { 4 }, 7);
    key
}
