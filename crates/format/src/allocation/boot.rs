//! The boot page, (1:9): what the database is and where its catalog begins. DBCC DBINFO prints
//! it.
//!
//! ```text
//! offset size field                 offset size field
//!      0    2 00 00                    408   16 family_guid
//!      2    2 length of the record     424    8 max_log_space_used
//!      4    2 version                  444   28 recovery_fork
//!      6    2 create_version           472   28 recovery_fork_previous
//!     20    8 next_seq_num             500   16 diff_base_guid
//!     36    4 status                   516    6 first_sys_indexes: the catalog begins here
//!     40    4 next_object_id           522    2 template_version
//!     44    8 created                  536   10 version_change_lsn
//!     52  256 name                     546    2 unknown_546
//!    308    4 unknown_308              640   10 log_backup_chain_origin
//!    312    2 database_id              652    8 last_known_good
//!    314    2 compatibility_level      660    4 role_sequence
//!    316    8 max_timestamp            664   10 mirror_hardened_lsn
//!    324   10 restore_lsn              674    1 local_state
//!    336   10 backup_lsn               675    1 safety
//!    348   10 checkpoint_lsn           676    8 modified
//!    358    2 dbcc_flags               684    4 engine_build
//!    372   10 checkpoint_lsn_copy      688    4 lazy_commit
//!    384    8 unknown_384              692   16 broker_guid
//!    392    4 collation_id             708    4 broker_options
//!    400    4 unknown_400              736    8 alloc_unit_next, absent in 611
//!                                     1452   10 template_lsn, 706 and later
//! ```
//!
//! One record in slot 0, offsets from its start, the same in all versions. Its length grows with
//! the version: 732 (611), 1444 (655, 661), 1504 (706), 1554 (782), 1644 (869), 1768 (904), 1832
//! (998). All other bytes were zero in new databases; what is not is kept as
//! [`residue`](BootRecord::residue). Page 0 of a log file holds a copy of this record.
//!
//! What a crash can tear: the page is written in sectors of 512 bytes, whose borders lie at 416,
//! 928 and 1440 of the record. Everything before 416 lies in the sector of the page header, and so
//! of the checksum: a write that changes nothing else leaves the old page or the new one. A write
//! that changes a field past 416 as well can be torn: the checksum tells, and the page was copied
//! before (`buffer::double_write`).
//!
//! Observed in real files of versions 611 to 998; DBCC's names for the fields are public. Marked
//! below where a meaning is only published or unknown.

mod status;
mod version;

use std::ops::Range;

use extentdb_base::size::{PAGE_BODY_BYTES, PAGE_HEADER_BYTES};
use extentdb_base::{AllocUnitId, Lsn, PageId};
use extentdb_types::Guid;

use super::field::{Field, ForkPoint, Residue, StoredName, StoredTime};
use super::{PageStamp, put, write_header, write_slots};
use crate::PageBytes;
use crate::page::header::{PageHeader, PageType};
use crate::page::view::PageRef;

pub use status::DatabaseStatus;
pub use version::{DatabaseVersion, EngineBuild};

/// Bytes of a record before its first field.
const RECORD_HEADER_BYTES: usize = 4;
/// The shortest record that has all fields of version 611.
pub const RECORD_BYTES_MIN: u16 = 732;

/// Name and place of a field, for listings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldLayout {
    /// Name of the field.
    pub name: &'static str,
    /// Offset from the start of the record.
    pub offset: usize,
    /// Size in bytes.
    pub bytes: usize,
}

macro_rules! boot_record {
    ($($(#[$doc:meta])* $offset:literal $name:ident: $ty:ty,)*) => {
        /// The boot record by its fields.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct BootRecord {
            /// Length of the record.
            pub len: u16,
            $($(#[$doc])* pub $name: $ty,)*
            /// Bytes of unknown meaning, by their offset in the record.
            pub residue: Vec<Residue>,
        }

        impl BootRecord {
            /// All fields in the order of their places.
            pub const FIELDS: &'static [FieldLayout] = &[
                $(FieldLayout {
                    name: stringify!($name),
                    offset: $offset,
                    bytes: <$ty as Field>::BYTES,
                },)*
            ];

            fn read_fields(record: &[u8], len: u16) -> Option<BootRecord> {
                Some(BootRecord {
                    len,
                    $($name: <$ty as Field>::read(record.get($offset..).unwrap_or_default())?,)*
                    residue: Vec::new(),
                })
            }

            fn write_fields(&self, record: &mut [u8]) {
                $(if let Some(target) = record.get_mut($offset..) {
                    self.$name.write(target);
                })*
            }
        }
    };
}

boot_record! {
    /// `dbi_version`: version of the format, see [`DatabaseVersion`].
    4 version: u16,
    /// `dbi_createVersion`: version of the engine that created the database.
    6 create_version: u16,
    /// `dbi_nextseqnum`: never, unless restored.
    20 next_seq_num: StoredTime,
    /// `dbi_status`: options, see [`DatabaseStatus`]. Never torn from `checkpoint_lsn`: a database
    /// cannot be clean with the checkpoint of another shutdown.
    36 status: DatabaseStatus,
    /// `dbi_nextid`: next object id to try. Logged, so that redo repeats a write that was lost.
    40 next_object_id: i32,
    /// `dbi_crdate`: when it was created.
    44 created: StoredTime,
    /// `dbi_dbname`. A database attached by file name is called by its path.
    52 name: StoredName,
    /// A small counter of unknown meaning.
    308 unknown_308: u32,
    /// `dbi_dbid`: its id when it was last open.
    312 database_id: u16,
    /// `dbi_cmptlevel`: 80, 90, 100 …
    314 compatibility_level: u16,
    /// `dbi_maxDbTimestamp`: upper bound of the rowversion values handed out.
    316 max_timestamp: u64,
    /// Zero unless restored, then the LSN of the fork.
    324 restore_lsn: Lsn,
    /// `dbi_dbbackupLSN`: the last full backup.
    336 backup_lsn: Lsn,
    /// `dbi_checkptLSN`: the last checkpoint. In a file closed cleanly no page is newer. Not
    /// logged; never torn: the old checkpoint or the new one, and the log has both.
    348 checkpoint_lsn: Lsn,
    /// `dbi_dbccFlags`: 2 = column values have been checked (data purity).
    358 dbcc_flags: u16,
    /// The checkpoint again, 706 and later.
    372 checkpoint_lsn_copy: Lsn,
    /// A counter of unknown meaning; this engine keeps the last transaction id in it. In the first
    /// sector, with the checkpoint that it belongs to.
    384 unknown_384: u64,
    /// `dbi_collation`: id of the default collation of new columns.
    392 collation_id: u32,
    /// 0x61000000 (created by 2008 and later) or 0x41000000; meaning unknown.
    400 unknown_400: u32,
    /// `dbi_familyGUID`: shared by a database and everything restored from its backups.
    408 family_guid: Guid,
    /// `dbi_maxLogSpaceUsed` in bytes.
    424 max_log_space_used: u64,
    /// `dbi_recoveryForkNameStack`, entry 0.
    444 recovery_fork: ForkPoint,
    /// `dbi_recoveryForkNameStack`, entry 1; zero until the database was forked.
    472 recovery_fork_previous: ForkPoint,
    /// `dbi_differentialBaseGuid`: the full backup that differential backups are based on.
    500 diff_base_guid: Guid,
    /// `dbi_firstSysIndexes`: first page of sysallocunits, where reading the catalog begins.
    516 first_sys_indexes: PageId,
    /// Version of the template that the database came from.
    522 template_version: u16,
    /// `dbi_versionChangeLSN`: not zero in upgraded databases.
    536 version_change_lsn: Lsn,
    /// 4 in 706 and later, else 0; meaning unknown.
    546 unknown_546: u16,
    /// `dbi_LogBackupChainOrigin`: where the chain of log backups begins.
    640 log_backup_chain_origin: Lsn,
    /// `dbi_dbccLastKnownGood`: the last DBCC CHECKDB without findings.
    652 last_known_good: StoredTime,
    /// `dbi_roleSequence` (published): role changes of a mirrored database.
    660 role_sequence: u32,
    /// `dbi_dbmHardenedLSN` (published): what the mirror has made durable.
    664 mirror_hardened_lsn: Lsn,
    /// `dbi_localState` (published): state of the mirroring session on this side.
    674 local_state: u8,
    /// `dbi_safety` (published): safety level of the mirroring session.
    675 safety: u8,
    /// `dbi_modDate`: when the database was last altered.
    676 modified: StoredTime,
    /// `dbi_verRDB`: the engine that opened it last.
    684 engine_build: EngineBuild,
    /// `dbi_lazyCommitOption` (published): delayed durability.
    688 lazy_commit: u32,
    /// `dbi_svcBrokerGUID`: the database as Service Broker addresses it.
    692 broker_guid: Guid,
    /// `dbi_svcBrokerOptions`: 0 or 1.
    708 broker_options: u32,
    /// `dbi_AuIdNext`: the next allocation unit id, shifted right by 16. Absent in 611.
    /// In the second sector: a write that changes it can tear the page. Logged, as
    /// `next_object_id`.
    736 alloc_unit_next: Option<u64>,
    /// A constant of the template, 706 and later.
    1452 template_lsn: Option<Lsn>,
}

impl BootRecord {
    /// Reads a record. `bytes` begin at the record and may reach beyond it. `None` when it is too
    /// short for the fields that every version has.
    pub fn parse(bytes: &[u8]) -> Option<BootRecord> {
        let stated = u16::read(bytes.get(2..)?)?;
        let record = bytes.get(..usize::from(stated)).unwrap_or(bytes);
        let mut boot = BootRecord::read_fields(record, record.len() as u16)?;
        boot.residue = residue_of(record);
        Some(boot)
    }

    /// Writes the record over all of `out`, which should be [`len`](Self::len) bytes.
    pub fn write(&self, out: &mut [u8]) {
        out.fill(0);
        if let Some(target) = out.get_mut(2..) {
            self.len.write(target);
        }
        for run in &self.residue {
            let start = usize::from(run.index);
            if let Some(target) = out.get_mut(start..start + run.bytes.len()) {
                target.copy_from_slice(&run.bytes);
            }
        }
        self.write_fields(out);
    }

    /// The version by name.
    pub fn database_version(&self) -> DatabaseVersion {
        DatabaseVersion(self.version)
    }
}

/// The bytes between the fields that are not zero.
fn residue_of(record: &[u8]) -> Vec<Residue> {
    let mut runs = Vec::new();
    let mut at = RECORD_HEADER_BYTES;
    // A field that the record ends in was not read.
    for field in
        BootRecord::FIELDS.iter().filter(|field| field.offset + field.bytes <= record.len())
    {
        runs.extend(runs_of(record.get(at..field.offset).unwrap_or_default(), at));
        at = field.offset + field.bytes;
    }
    runs.extend(runs_of(record.get(at..).unwrap_or_default(), at));
    // The two status bytes are zero on every page seen.
    let status = record.get(..2).unwrap_or_default();
    runs.extend(runs_of(status, 0));
    runs
}

/// The runs of bytes that are not zero in `gap`, which begins at `offset`.
fn runs_of(gap: &[u8], offset: usize) -> impl Iterator<Item = Residue> {
    let mut at = offset;
    gap.split(|byte| *byte == 0).filter_map(move |bytes| {
        let index = at as u16;
        at += bytes.len() + 1;
        (!bytes.is_empty()).then(|| Residue { index, bytes: bytes.to_vec() })
    })
}

/// Something about a boot page that cannot be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BootFault {
    /// The header names another kind of page.
    PageType {
        /// Kind in the header.
        found: PageType,
    },
    /// Slot 0 does not point at a place on the page.
    Slot {
        /// Where it points; 0 when there is no slot.
        found: u16,
    },
    /// The record is shorter than the shortest one known, or ends past the page.
    RecordLength {
        /// Its stated length.
        found: u16,
        /// Room from its start to the slot array.
        limit: usize,
    },
    /// A time of the record is out of range.
    Time {
        /// Name of the field.
        field: &'static str,
    },
}

/// A boot page that is read.
#[derive(Clone, Copy)]
pub struct BootView<'a> {
    page: &'a PageBytes,
}

impl<'a> BootView<'a> {
    /// Reads a page as a boot page.
    pub fn new(page: &'a PageBytes) -> Self {
        BootView { page }
    }

    /// The page header, bytes 0 to 95.
    pub fn header(self) -> &'a PageHeader {
        PageHeader::of(self.page)
    }

    /// Where the record lies: slot 0, or right after the header when the slot points nowhere.
    pub fn record_offset(self) -> usize {
        PageRef::new(self.page).only_record_offset()
    }

    fn record_bytes(self) -> &'a [u8] {
        PageRef::new(self.page).only_record_bytes()
    }

    /// The record; `None` when it is too short to be one.
    pub fn record(self) -> Option<BootRecord> {
        BootRecord::parse(self.record_bytes())
    }

    /// Everything about the page that cannot be right.
    pub fn faults(self) -> Vec<BootFault> {
        let mut faults = Vec::new();
        let found = self.header().kind();
        if found != PageType::Boot {
            faults.push(BootFault::PageType { found });
        }
        let slot = PageRef::new(self.page).slot_offset(0).unwrap_or(0);
        if usize::from(slot) != self.record_offset() {
            faults.push(BootFault::Slot { found: slot });
        }
        let bytes = self.record_bytes();
        let found = bytes.get(2..).and_then(u16::read).unwrap_or(0);
        if found < RECORD_BYTES_MIN || usize::from(found) > bytes.len() {
            faults.push(BootFault::RecordLength { found, limit: bytes.len() });
        }
        if let Some(record) = self.record() {
            let times = [
                ("next_seq_num", record.next_seq_num),
                ("created", record.created),
                ("last_known_good", record.last_known_good),
                ("modified", record.modified),
            ];
            let bad = times.into_iter().filter(|(_, time)| time.value().is_none());
            faults.extend(bad.map(|(field, _)| BootFault::Time { field }));
        }
        faults
    }

    /// Bytes that mean nothing: before the record, and from its end to the slot array.
    pub fn undefined(self) -> [Range<usize>; 2] {
        let limit = PageRef::new(self.page).slot_array_start();
        let start = self.record_offset().min(limit);
        let len = self.record().map_or(0, |record| usize::from(record.len));
        [PAGE_HEADER_BYTES..start, start + len..limit]
    }
}

/// Makes the page a boot page with its record right after the header.
pub fn write_boot(page: &mut PageBytes, id: PageId, record: &BootRecord, stamp: &PageStamp) {
    write_header(page, PageType::Boot, id, AllocUnitId::SYSTEM_PAGES, stamp);
    write_slots(page, &[PAGE_HEADER_BYTES as u16]);
    let len = usize::from(record.len).min(PAGE_BODY_BYTES - 2);
    let mut bytes = vec![0; len];
    record.write(&mut bytes);
    put(page, PAGE_HEADER_BYTES, &bytes);
    let header = PageHeader::of_mut(page);
    header.free_bytes.set((PAGE_BODY_BYTES - 2 - len) as u16);
    header.free_offset.set((PAGE_HEADER_BYTES + len) as u16);
}

#[cfg(test)]
mod tests;
