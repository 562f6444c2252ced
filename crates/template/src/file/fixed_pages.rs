//! The pages at fixed addresses: file headers, boot page, maps.

use extentdb_base::env::Rng;
use extentdb_base::size::PAGES_PER_GAM;
use extentdb_base::{AllocUnitId, FileId, Lsn, PageId};
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::bitmap::{MapKind, write_map};
use extentdb_format::allocation::boot::{BootRecord, DatabaseStatus, EngineBuild, write_boot};
use extentdb_format::allocation::field::{ForkPoint, StoredName, StoredTime};
use extentdb_format::allocation::file_header::{
    EncryptionKey, FileHeader, FileHeaderPage, Growth, MAX_SIZE_UNLIMITED, STATUS_GROWTH_PERCENT,
    write_file_header,
};
use extentdb_format::allocation::pfs::write_pfs;
use extentdb_format::page::{PageMut, PageType};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_types::Guid;

use crate::Error;
use crate::file::allocation::{ExtentUse, FileSpace, Space, fixed_address};
use crate::file::sink::PageSink;

/// Version of the databases made here: SQL Server 2008 R2.
pub(crate) const VERSION: u16 = 661;
const BOOT_RECORD_BYTES: u16 = 1444;
/// The LSN of every page.
pub(crate) const LSN: Lsn = Lsn::new(0x14, 0x100, 1);
/// The checkpoint of the clean shutdown: later than every page.
const CHECKPOINT_LSN: Lsn = Lsn::new(0x15, 0x18, 1);
/// Header fields of map pages.
pub(crate) const STAMP: PageStamp = PageStamp { lsn: LSN, flag_bits: 0, type_flag_bits: 0 };
/// The creation time in the boot page: 2011-01-01 12:00, a constant so that equal seeds give equal
/// files. It identifies databases made here, too: see [`has_creation_mark`].
pub(crate) const CREATED: StoredTime = StoredTime { ticks: 12 * 3600 * 300, days: 40_542 };
/// Pages a file grows by.
const GROWTH_PAGES: u32 = 128;
const SIMPLE_RECOVERY: u32 = 0x8;
const LEVEL_2008: u16 = 100;
/// `dbcc_flags`: column values of a new database are pure.
const DATA_PURITY: u16 = 2;
/// The value of `unknown_400` in databases created by 2008 and later.
const CREATED_BY_2008: u32 = 0x6100_0000;

/// Names, times and GUIDs that identify a database.
pub(crate) struct Identity {
    pub(crate) created: StoredTime,
    pub(crate) name: String,
    pub(crate) collation: u32,
    pub(crate) binding: Guid,
    pub(crate) family: Guid,
    pub(crate) broker: Guid,
    pub(crate) files: Vec<FileIdentity>,
    /// Of the log file that the catalog names.
    pub(crate) log: FileIdentity,
}

/// How a file may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileGrowth {
    /// Pages or percent of each growth.
    pub by: Growth,
    /// Largest size in pages; `None` = unlimited.
    pub pages_max: Option<u32>,
}

impl Default for FileGrowth {
    fn default() -> Self {
        FileGrowth { by: Growth::Pages(GROWTH_PAGES), pages_max: None }
    }
}

impl FileGrowth {
    /// Largest size of a log file in pages: 2 TB.
    pub const LOG_PAGES_MAX: u32 = 0x1000_0000;

    /// Of a log file, if nothing else is said.
    pub const LOG: FileGrowth = FileGrowth {
        by: Growth::Percent(10),
        pages_max: Some(FileGrowth::LOG_PAGES_MAX),
    };

    /// The number stored in header and catalog, and whether it is a percentage.
    pub(crate) fn number(self) -> (u32, bool) {
        match self.by {
            Growth::Pages(pages) => (pages, false),
            Growth::Percent(percent) => (percent, true),
        }
    }
}

/// A file as catalog and header describe it.
#[derive(Clone, Debug)]
pub struct FileIdentity {
    /// File id: 1, then 3 and up; 2 is the log.
    pub id: FileId,
    /// Filegroup id, 0 for a log file.
    pub group: i16,
    /// Logical name in the catalog.
    pub name: String,
    /// Physical path in the catalog.
    pub path: String,
    /// GUID of the file.
    pub guid: Guid,
    /// Autogrowth of the file.
    pub growth: FileGrowth,
    /// The GUID of the opening for writing in its header; zero before the first one.
    pub first_update_lsn: Lsn,
}

/// A random GUID of version 4.
pub fn guid(rng: &mut impl Rng) -> Guid {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&rng.next_u64().to_le_bytes());
    bytes[8..].copy_from_slice(&rng.next_u64().to_le_bytes());
    bytes[7] = bytes[7] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Guid(bytes)
}

/// True when this crate built the database, also for the engine: its creation time is exactly
/// the constant; another product writes its clock, in ticks of 1/300 s.
pub fn has_creation_mark(boot: &BootRecord) -> bool {
    boot.created == CREATED
}

/// Counters that the boot page keeps.
pub(crate) struct Counters {
    pub(crate) next_object_id: i32,
    pub(crate) next_unit: u64,
    pub(crate) max_timestamp: u64,
}

/// Writes every fixed page. Called last: the maps describe all other pages.
pub(crate) fn write_fixed(
    identity: &Identity,
    counters: &Counters,
    space: &Space,
    sink: &mut dyn PageSink,
) -> Result<(), Error> {
    let mut header = PageBuf::zeroed();
    for (file, own) in space.files.iter().zip(&identity.files) {
        write_header(identity.binding, own, file.pages(), &mut header);
        sink.put(&header)?;
        write_maps(file, sink)?;
    }
    let mut page = PageBuf::zeroed();
    write_boot(&mut page, PageId::BOOT, &boot_record(identity, counters), &STAMP);
    sink.put(&page)
}

/// Writes the page of the server configuration. Its content is not published; a check reads
/// only the page structure.
pub(crate) fn write_configuration(sink: &mut dyn PageSink) -> Result<(), Error> {
    let mut page = PageBuf::zeroed();
    let mut edit =
        PageMut::format(&mut page, PageId::CONFIGURATION, PageType::Config, AllocUnitId(0));
    edit.header_mut().lsn_bytes = LSN.to_bytes();
    sink.put(&page)
}

/// The header page of a data file of `pages` pages of this database. Without a checksum yet.
pub fn write_header(binding: Guid, own: &FileIdentity, pages: u32, page: &mut PageBytes) {
    let header = FileHeader {
        column_count: 47,
        binding_id: Some(binding),
        file_id: Some(own.id.0),
        filegroup_id: Some(own.group as u16),
        size: Some(pages),
        max_size: Some(own.growth.pages_max.unwrap_or(MAX_SIZE_UNLIMITED)),
        growth: Some(own.growth.number().0),
        perf: Some(0),
        backup_lsn: Some(Lsn::ZERO),
        first_update_lsn: Some(own.first_update_lsn),
        oldest_restored_lsn: Some(Lsn::ZERO),
        min_size: Some(pages),
        status: Some(if own.growth.number().1 { STATUS_GROWTH_PERCENT } else { 0 }),
        user_shrink_size: Some(u32::MAX),
        sector_size: Some(512),
        max_lsn: Some(Lsn::ZERO),
        redo_start_fork: Some(ForkPoint::default()),
        first_lsn: Some(Lsn::ZERO),
        create_lsn: Some(Lsn::ZERO),
        diff_base_lsn: Some(Lsn::ZERO),
        diff_base_guid: Some(Guid([0; 16])),
        offline_lsn: Some(Lsn::ZERO),
        file_guid: Some(own.guid),
        restore_status: Some(0),
        restore_redo_start_lsn: Some(Lsn::ZERO),
        restore_source_guid: Some(Guid([0; 16])),
        fork_guid: Some(Guid([0; 16])),
        read_only_lsn: Some(Lsn::ZERO),
        read_write_lsn: Some(Lsn::ZERO),
        unknown_fork: Some(ForkPoint::default()),
        restore_diff_base_lsn: Some(Lsn::ZERO),
        restore_diff_base_guid: Some(Guid([0; 16])),
        restore_path_origin: Some(ForkPoint::default()),
        encryption_state: Some(0),
        encryption_key: Some(EncryptionKey([0; 600])),
        logical_name: Some(own.name.encode_utf16().collect()),
        ..FileHeader::default()
    };
    let content = FileHeaderPage {
        id: PageId { file: own.id, page: 0 },
        header: &header,
        offset: 96,
        boot: None,
    };
    page.fill(0);
    write_file_header(page, &content, &STAMP);
}

fn boot_record(identity: &Identity, counters: &Counters) -> BootRecord {
    // An empty record has every field zero; those of a new database are few.
    let empty = vec![0; usize::from(BOOT_RECORD_BYTES)];
    let mut bytes = empty;
    bytes[2..4].copy_from_slice(&BOOT_RECORD_BYTES.to_le_bytes());
    let Some(mut boot) = BootRecord::parse(&bytes) else {
        unreachable!("a record of the length of version 661 has all fields");
    };
    boot.version = VERSION;
    boot.create_version = VERSION;
    boot.status =
        DatabaseStatus(DatabaseStatus::CLEAN_SHUTDOWN | DatabaseStatus::CHECKSUM | SIMPLE_RECOVERY);
    boot.next_object_id = counters.next_object_id;
    boot.created = identity.created;
    boot.modified = identity.created;
    if let Some(name) = StoredName::new(&identity.name) {
        boot.name = name;
    }
    boot.database_id = 5;
    boot.compatibility_level = LEVEL_2008;
    boot.max_timestamp = counters.max_timestamp;
    boot.checkpoint_lsn = CHECKPOINT_LSN;
    boot.dbcc_flags = DATA_PURITY;
    boot.collation_id = identity.collation;
    boot.unknown_400 = CREATED_BY_2008;
    boot.family_guid = identity.family;
    boot.recovery_fork.guid = identity.family;
    boot.first_sys_indexes = fixed_address::SYSALLOCUNITS_FIRST;
    boot.template_version = VERSION;
    boot.engine_build = EngineBuild::new(10, 50, 1600);
    boot.broker_guid = identity.broker;
    boot.alloc_unit_next = Some(counters.next_unit);
    boot
}

fn write_maps(file: &FileSpace, sink: &mut dyn PageSink) -> Result<(), Error> {
    let mut page = PageBuf::zeroed();
    for id in file.pfs_pages() {
        page.fill(0);
        let mut entries = write_pfs(&mut page, id, &STAMP);
        let first = id.page - id.page % extentdb_base::size::PAGES_PER_PFS;
        let end = file.pages().min(first.saturating_add(extentdb_base::size::PAGES_PER_PFS));
        (first..end).for_each(|page| entries.set(page, file.page_state(page)));
        sink.put(&page)?;
    }
    for kind in MapKind::ALL {
        for id in file.maps(kind) {
            page.fill(0);
            write_map_bits(file, kind, id, &mut page);
            // The first ML map of every real database still has the bytes of the template, which
            // have no checksum.
            if kind == MapKind::Ml && id == PageId::new(1, 7) {
                sink.put_bare(&page)?;
            } else {
                sink.put(&page)?;
            }
        }
    }
    Ok(())
}

fn write_map_bits(file: &FileSpace, kind: MapKind, id: PageId, page: &mut PageBuf) {
    let interval = id.page - id.page % PAGES_PER_GAM;
    let first = interval / extentdb_base::size::PAGES_PER_EXTENT;
    let mut bits = write_map(page, id, kind, &STAMP);
    for extent in 0..extentdb_base::size::EXTENTS_PER_GAM {
        let index = first + extent;
        let use_as = file.extent_use(index);
        let value = match kind {
            MapKind::Gam => use_as == ExtentUse::Free,
            MapKind::Sgam => use_as == ExtentUse::Mixed && file.has_free_page(index),
            // Never backed up: everything written counts as changed, and every future PFS page.
            MapKind::Diff => use_as != ExtentUse::Free || holds_pfs_page(index),
            MapKind::Ml => false,
        };
        if value {
            bits.set(extent, true);
        }
    }
}

/// True for the extents that hold, or will hold, a PFS page.
fn holds_pfs_page(extent: u32) -> bool {
    let first = u64::from(extent) * u64::from(extentdb_base::size::PAGES_PER_EXTENT);
    first % u64::from(extentdb_base::size::PAGES_PER_PFS) == 0
}
