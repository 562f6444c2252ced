//! The columns of RESTORE HEADERONLY and FILELISTONLY, from the blocks of a set.

use std::ops::Range;

use extentdb_base::size::{EXTENT_BYTES, PAGE_BYTES};
use extentdb_base::{FileId, Lsn};
use extentdb_format::mtf::{
    BackupKind, Configuration, FileInfo, MtfDate, SetFlags, SetInfo, config::FileKind,
    config::GROWTH_IS_PERCENT, config::NO_LIMIT, layout::DiskGuid, set::SET_COPY,
    set::SET_DIFFERENTIAL, set::SET_LOG, set::SET_NORMAL,
};
use extentdb_types::Guid;

use crate::backup::media::scan::SetScan;
use crate::backup::media::summary::SetSummary;

/// A backup set as RESTORE HEADERONLY shows it; names are its columns in our spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the HEADERONLY column of the same name")]
pub struct SetHeader {
    pub position: u32,
    pub backup_set_guid: Guid,
    pub backup_name: String,
    pub backup_description: String,
    pub kind: BackupKind,
    pub flags: SetFlags,
    pub is_copy_only: bool,
    pub is_compressed: bool,
    pub expiration_date: MtfDate,
    pub user_name: String,
    pub server_name: String,
    pub machine_name: String,
    pub database_name: String,
    pub database_version: u16,
    pub database_creation_date: MtfDate,
    pub compatibility_level: u8,
    /// All stripes; about right, never an exact length.
    pub backup_size: u64,
    /// As `backup_size`; 0 before 2008.
    pub compressed_backup_size: u64,
    pub first_lsn: Lsn,
    /// Exclusive: the next block, not yet written.
    pub last_lsn: Lsn,
    pub checkpoint_lsn: Lsn,
    pub database_backup_lsn: Lsn,
    pub fork_point_lsn: Option<Lsn>,
    pub backup_start_date: MtfDate,
    /// `None` when the set is truncated before its end.
    pub backup_finish_date: Option<MtfDate>,
    /// Quarter hours from UTC; 127 unknown.
    pub time_zone: i8,
    pub sort_order: u8,
    pub unicode_locale_id: u32,
    pub unicode_comparison_style: u32,
    /// u32 locale and flags, u8 sort id: the form a login response uses.
    pub collation: [u8; 5],
    pub software_vendor_id: u16,
    pub software_version: (u8, u8, u16),
    pub binding_id: Guid,
    pub family_guid: Guid,
    pub recovery_fork_id: Guid,
    pub first_recovery_fork_id: Option<Guid>,
    pub differential_base_lsn: Option<Lsn>,
    pub differential_base_guid: Option<Guid>,
}

impl SetHeader {
    /// The set in one line.
    pub(crate) fn summary(&self) -> SetSummary {
        SetSummary {
            position: self.position,
            kind: self.kind,
            database_name: self.database_name.clone(),
            backup_name: self.backup_name.clone(),
            backup_start_date: self.backup_start_date,
            backup_set_guid: self.backup_set_guid,
        }
    }

    /// The header of the set at `position` of the media.
    pub(crate) fn of(set: &SetScan, position: u32, is_compressed: bool) -> Self {
        let start = &set.start;
        let empty = SetInfo::new("", "");
        let info = set.configuration().and_then(|config| config.set.as_ref());
        let is_known = info.is_some();
        let info = info.unwrap_or(&empty);
        let fields = &info.fields;
        let flags = if is_known { info.flags() } else { SetFlags(0) };
        let base = differential_base(set, info.kind());
        SetHeader {
            position,
            backup_set_guid: start.set_guid,
            backup_name: start.name.clone(),
            backup_description: start.description.clone(),
            kind: if is_known {
                info.kind()
            } else {
                kind_by_attributes(start.fields.attributes.get())
            },
            flags,
            is_copy_only: flags.has(SetFlags::COPY_ONLY)
                || start.fields.attributes.get() & SET_COPY != 0,
            is_compressed,
            expiration_date: start.expires,
            user_name: start.user.clone(),
            server_name: info.server_name.clone(),
            machine_name: set
                .volume
                .as_ref()
                .map_or_else(String::new, |volume| volume.machine.clone()),
            database_name: info.database_name.clone(),
            database_version: fields.database_version.get(),
            database_creation_date: fields.database_created,
            compatibility_level: fields.compatibility_level,
            backup_size: fields.backup_bytes.get(),
            compressed_backup_size: fields.compressed_bytes.get(),
            first_lsn: fields.first_lsn.get(),
            last_lsn: fields.last_lsn.get(),
            checkpoint_lsn: fields.checkpoint_lsn.get(),
            database_backup_lsn: fields.database_backup_lsn.get(),
            fork_point_lsn: some_lsn(fields.fork.lsn.get()),
            backup_start_date: fields.started,
            backup_finish_date: (!fields.finished.is_none()).then_some(fields.finished),
            time_zone: start.fields.time_zone,
            sort_order: fields.sort_order,
            unicode_locale_id: fields.locale_id.get(),
            unicode_comparison_style: fields.comparison_style.get(),
            collation: fields.collation,
            software_vendor_id: start.fields.vendor.get(),
            software_version: info.product_version(),
            binding_id: fields.binding_id.get(),
            family_guid: fields.family_guid.get(),
            recovery_fork_id: fields.end.fork.get(),
            first_recovery_fork_id: some_guid(fields.fork.fork),
            differential_base_lsn: base.and_then(|(lsn, _)| some_lsn(lsn)),
            differential_base_guid: base
                .map(|(_, guid)| guid)
                .or_else(|| some_guid(fields.differential_base)),
        }
    }
}

/// The kind of a set by SSET alone, when its configuration is lost.
fn kind_by_attributes(attributes: u32) -> BackupKind {
    match attributes {
        bits if bits & SET_LOG != 0 => BackupKind::Log,
        bits if bits & SET_DIFFERENTIAL != 0 => BackupKind::Differential,
        bits if bits & SET_NORMAL != 0 => BackupKind::Database,
        _ => BackupKind::Other(b'?'),
    }
}

fn some_lsn(lsn: Lsn) -> Option<Lsn> {
    (!lsn.is_zero()).then_some(lsn)
}

fn some_guid(guid: DiskGuid) -> Option<Guid> {
    (!guid.is_none()).then_some(guid.get())
}

/// The base of a differential set. Only MSCI has it: MSLS names the base that this set
/// will be.
fn differential_base(set: &SetScan, kind: BackupKind) -> Option<(Lsn, Guid)> {
    if !kind.is_differential() {
        return None;
    }
    let files = &set.first.as_ref().or(set.last.as_ref())?.files;
    let file = files.iter().find(|file| !file.fields.differential_base.is_none())?;
    Some((file.fields.differential_base_lsn.get(), file.fields.differential_base.get()))
}

/// A file of the database as RESTORE FILELISTONLY shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the FILELISTONLY column of the same name")]
pub struct BackupFile {
    pub id: FileId,
    pub kind: FileKind,
    pub logical_name: String,
    pub physical_name: String,
    pub filegroup_id: u32,
    /// Empty for a log.
    pub filegroup_name: String,
    /// Bytes of the file when it was backed up.
    pub size: u64,
    /// `None`: may grow without limit.
    pub max_size: Option<u64>,
    /// Bytes, or percent.
    pub growth: u32,
    pub growth_is_percent: bool,
    pub unique_id: Guid,
    pub source_block_size: u32,
    pub backup_size_in_bytes: u64,
    /// Pages of the set by its configuration, all stripes.
    pub backup_pages: u32,
    pub differential_base_lsn: Option<Lsn>,
    pub differential_base_guid: Option<Guid>,
}

impl BackupFile {
    fn of(file: &FileInfo, config: &Configuration) -> Option<Self> {
        let fields = &file.fields;
        let group = fields.filegroup.get();
        let id = u16::try_from(fields.id.get()).ok().filter(|id| *id != 0)?;
        Some(BackupFile {
            id: FileId(id),
            kind: file.kind(),
            logical_name: file.logical_name.clone(),
            physical_name: file.physical_name.clone(),
            filegroup_id: group,
            filegroup_name: config.filegroup_name(group).unwrap_or_default().to_owned(),
            size: fields.size.get(),
            max_size: Some(fields.max_size.get()).filter(|max| *max != NO_LIMIT),
            growth: fields.growth.get(),
            growth_is_percent: fields.flags.get() & GROWTH_IS_PERCENT != 0,
            unique_id: fields.unique_id.get(),
            source_block_size: fields.sector_bytes.get(),
            backup_size_in_bytes: fields.backup_bytes.get(),
            backup_pages: fields.pages.get(),
            differential_base_lsn: some_lsn(fields.differential_base_lsn.get()),
            differential_base_guid: some_guid(fields.differential_base),
        })
    }

    /// A data file that the configuration does not list, but pages name.
    pub(crate) fn unlisted(id: FileId, extents: Range<u32>) -> Self {
        BackupFile {
            id,
            kind: FileKind::Data,
            logical_name: String::new(),
            physical_name: String::new(),
            filegroup_id: 0,
            filegroup_name: String::new(),
            size: u64::from(extents.end) * EXTENT_BYTES as u64,
            max_size: None,
            growth: 0,
            growth_is_percent: false,
            unique_id: Guid([0; 16]),
            source_block_size: 0,
            backup_size_in_bytes: 0,
            backup_pages: 0,
            differential_base_lsn: None,
            differential_base_guid: None,
        }
    }

    /// Whole pages of the file.
    pub fn pages(&self) -> u32 {
        u32::try_from(self.size / PAGE_BYTES as u64).unwrap_or(u32::MAX)
    }

    /// Extents of the file, a last partial one included.
    pub fn extents(&self) -> u32 {
        u32::try_from(self.size.div_ceil(EXTENT_BYTES as u64)).unwrap_or(u32::MAX)
    }
}

/// The files of a set, each id once, ordered by id.
pub(crate) fn files_of(set: &SetScan) -> Vec<BackupFile> {
    let Some(config) = set.configuration() else { return Vec::new() };
    let mut files: Vec<_> =
        config.files.iter().filter_map(|file| BackupFile::of(file, config)).collect();
    files.sort_by_key(|file| file.id);
    files.dedup_by_key(|file| file.id);
    files
}
