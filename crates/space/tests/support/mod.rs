//! Data files without a catalog: maps, a log, and units that own nothing yet.

use std::path::{Path, PathBuf};

use extentdb_base::Lsn;
use extentdb_base::env::SystemClock;
use extentdb_base::size::{PAGE_HEADER_BYTES, PAGES_PER_EXTENT};
use extentdb_base::sync::Arc;
use extentdb_base::{AllocUnitId, FileId, HobtId, PageId, XactId};
use extentdb_buffer::{Pool, PoolOptions, WriteAhead, WriteAheadError};
use extentdb_format::PageBuf;
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::allocation::file_header::{
    FileHeader, FileHeaderPage, Growth, write_file_header,
};
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_io::{Disk, Fill, MemDisk};
use extentdb_space::{
    FileDescription, Options, Space, Unit, UnitCounts, UnitDescription, write_new_file,
};
use extentdb_txn::{Manager, Owners, Transaction, TransactionKind};
use extentdb_wal::{Log, LogSpec};

const LOG_FILE: FileId = FileId(2);
/// Columns of the file header in versions 655 and 661.
const HEADER_COLUMNS: u16 = 44;

struct Ahead(Arc<Log>);

impl WriteAhead for Ahead {
    fn flush_to(&self, lsn: Lsn) -> Result<(), WriteAheadError> {
        self.0.flush(lsn).map_err(WriteAheadError::new)
    }
}

/// A data file of filegroup 1: its id, its pages, and what it grows by.
pub(crate) fn file(id: u16, pages: u32, growth: u32) -> FileDescription {
    FileDescription {
        id: FileId(id),
        group: 1,
        name: format!("file_{id}"),
        pages,
        growth: Growth::Pages(growth),
        pages_max: None,
    }
}

pub(crate) struct Bench {
    pub(crate) space: Space,
    pub(crate) log: Arc<Log>,
}

/// The space of these files, which are made here.
pub(crate) fn bench(files: &[FileDescription], mixed_pages: bool) -> Bench {
    let disk = MemDisk::new();
    let clock = Arc::new(SystemClock::new());
    let log = Arc::new(new_log(&disk));
    let last = XactId { high: 0, low: 1000 };
    let manager = Arc::new(Manager::new(log.clone(), clock.clone(), Arc::new(Owners::new()), last));
    let pool = Arc::new(Pool::new(PoolOptions::new(200), Arc::new(Ahead(log.clone())), clock));
    for file in files {
        let path = PathBuf::from(format!("{}.ndf", file.name));
        let handle = disk.create(&path).unwrap();
        handle.extend(u64::from(file.pages) * 8192, Fill::Hole).unwrap();
        write_new_file(&*handle, file.id, file.pages, &header_page(file), Lsn::ZERO).unwrap();
        pool.add_file(file.id, handle);
    }
    let options = Options {
        database: "lab".into(),
        mixed_pages,
        extents_per_turn: 1,
        compatible: false,
    };
    let space = Space::open(pool, manager, options, files, Arc::new(())).unwrap();
    Bench { space, log }
}

fn header_page(file: &FileDescription) -> PageBuf {
    let header = FileHeader {
        column_count: HEADER_COLUMNS,
        file_id: Some(file.id.0),
        size: Some(file.pages),
        ..FileHeader::default()
    };
    let content = FileHeaderPage {
        id: PageId { file: file.id, page: 0 },
        header: &header,
        offset: PAGE_HEADER_BYTES as u16,
        boot: None,
    };
    let mut page = PageBuf::zeroed();
    write_file_header(&mut page, &content, &PageStamp::default());
    page
}

fn new_log(disk: &MemDisk) -> Log {
    let spec = LogSpec {
        file_id: LOG_FILE,
        logical_name: "lab_log".into(),
        bytes: 2 << 20,
        growth: extentdb_wal::Growth::Pages(2048),
        max_bytes: None,
        binding_id: Default::default(),
        fork_guid: Default::default(),
        file_guid: Default::default(),
        first_sequence: 0x1000,
        sector_bytes: 512,
    };
    let file = disk.create(Path::new("lab.ldf")).unwrap();
    Log::create(file, &spec, Arc::new(SystemClock::new())).unwrap()
}

/// A unit of a table with this number, which owns nothing.
pub(crate) fn unit(number: i64) -> Unit {
    Unit::new(&UnitDescription {
        id: AllocUnitId(1 << 48 | number << 16),
        hobt: HobtId(number),
        group: 1,
        first: PageId::NONE,
        root: PageId::NONE,
        first_iam: PageId::NONE,
        counts: UnitCounts::default(),
    })
}

impl Bench {
    pub(crate) fn begin(&self) -> Transaction {
        self.space.transactions().begin(TransactionKind::User, "test")
    }

    pub(crate) fn begin_system(&self) -> Transaction {
        self.space.transactions().begin(TransactionKind::System, "test")
    }

    /// Pages for a unit, by a transaction that commits.
    pub(crate) fn allocate(&self, unit: &Unit, count: usize) -> Vec<PageId> {
        let mut tx = self.begin();
        let pages = (0..count).map(|_| self.space.allocate_page(&mut tx, unit).unwrap()).collect();
        tx.commit().unwrap();
        pages
    }

    pub(crate) fn pfs(&self, page: PageId) -> PfsByte {
        self.space.pfs_bytes(page.file, page.page..page.page + 1).unwrap()[0]
    }

    /// The bit of the page's extent.
    pub(crate) fn bit(&self, kind: MapKind, page: PageId) -> bool {
        let map = self.space.pool().read(kind.page_of(page)).unwrap();
        let interval = page.gam_interval().extent().index;
        MapView::new(&map, kind).bitmap().get(page.extent().index - interval)
    }

    /// Extents of a file that have a page of a mixed extent.
    pub(crate) fn mixed_extents(&self, file: FileId) -> u32 {
        let pages = self.space.file(file).unwrap().pages();
        let states = self.space.pfs_bytes(file, 0..pages).unwrap();
        let is_mixed = |extent: &&[PfsByte]| extent.iter().any(|state| state.is_mixed());
        states.chunks(PAGES_PER_EXTENT as usize).filter(is_mixed).count() as u32
    }

    pub(crate) fn free_extents(&self) -> u32 {
        self.space.files().iter().map(|file| file.free_extents()).sum()
    }
}
