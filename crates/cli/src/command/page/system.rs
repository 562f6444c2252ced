//! Maps as runs; the boot page and the file header by field, named as DBCC names them.

use std::fmt::Display;

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_EXTENT};
use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBytes;
use extentdb_format::allocation::bitmap::AllocationBitmap;
use extentdb_format::allocation::boot::{BootRecord, BootView, EngineBuild};
use extentdb_format::allocation::field::{ForkPoint, StoredTime};
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView, Growth};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{PfsByte, PfsView};
use extentdb_types::{Collation, Guid};
use serde_json::{Value, json};

use super::fields::{Fields, lsn, page};

/// Pages or extents in a row of which a map says the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageRun {
    pub(super) first: PageId,
    /// Last page; for extents, the first page of the last one, as DBCC prints it.
    pub(super) last: PageId,
    /// What the map says.
    pub(super) status: String,
}

/// The pages of a PFS page that the file has. `first` is the place of the page, not what its header
/// says.
pub(super) fn pfs_runs(bytes: &PageBytes, at: PageId, file_pages: u32) -> Vec<PageRun> {
    let first = if at.page == 1 { 0 } else { at.page };
    let mut runs: Vec<PageRun> = Vec::new();
    let mut before = None;
    for (number, byte) in (first..file_pages).zip(PfsView::new(bytes).entries()) {
        let here = PageId { page: number, ..at };
        match runs.last_mut() {
            Some(run) if before == Some(byte) => run.last = here,
            _ => runs.push(PageRun { first: here, last: here, status: pfs_words(byte) }),
        }
        before = Some(byte);
    }
    runs
}

fn pfs_words(byte: PfsByte) -> String {
    let fullness = match byte.fullness() {
        Some(fullness) => format!("{}_PCT_FULL", fullness.percent()),
        None => format!("fullness {}", byte.0 & 7),
    };
    let mut words = if byte.is_allocated() { "ALLOCATED " } else { "NOT ALLOCATED " }.to_owned();
    words += &fullness;
    let flags = [
        (byte.is_iam(), " IAM Page"),
        (byte.is_mixed(), " Mixed Ext"),
        (byte.has_ghosts(), " Has Ghost"),
    ];
    flags.into_iter().filter(|(is_set, _)| *is_set).for_each(|(_, word)| words += word);
    words
}

/// The extents of an interval that the file has. `words` are those for a bit of 0 and of 1.
pub(super) fn extent_runs(
    bitmap: AllocationBitmap<'_>,
    interval: PageId,
    file_pages: u32,
    words: [&str; 2],
) -> Vec<PageRun> {
    let extents =
        file_pages.saturating_sub(interval.page).div_ceil(PAGES_PER_EXTENT).min(EXTENTS_PER_GAM);
    let page_of = |extent: u32| PageId {
        page: interval.page.saturating_add(extent * PAGES_PER_EXTENT),
        ..interval
    };
    let run = |(extents, bit): (std::ops::Range<u32>, bool)| PageRun {
        first: page_of(extents.start),
        last: page_of(extents.end - 1),
        status: words[usize::from(bit)].to_owned(),
    };
    bitmap.runs(extents).filter(|(extents, _)| !extents.is_empty()).map(run).collect()
}

/// What an IAM page says besides its bits.
pub(super) fn iam_fields(view: IamView<'_>) -> Fields {
    let head = view.head();
    let mut fields = vec![
        ("sequenceNumber".to_owned(), json!(head.sequence)),
        ("AllocUnitId".to_owned(), json!(head.unit.0)),
        ("start_pg".to_owned(), page(head.interval)),
    ];
    fields.extend(
        (0..)
            .zip(head.single_pages)
            .map(|(slot, single): (u32, _)| (format!("Slot {slot}"), page(single))),
    );
    fields
}

/// The boot page by field.
pub(super) fn boot_fields(bytes: &PageBytes) -> Option<Fields> {
    let boot = BootView::new(bytes).record()?;
    let mut fields = boot_identity(&boot);
    fields.extend(boot_history(&boot));
    Some(fields)
}

fn boot_identity(boot: &BootRecord) -> Fields {
    let collation = Collation(boot.collation_id).to_string();
    own([
        ("dbi_version", json!(boot.version)),
        ("product", text(boot.database_version())),
        ("dbi_createVersion", json!(boot.create_version)),
        ("dbi_dbname", text(boot.name)),
        ("dbi_dbid", json!(boot.database_id)),
        ("dbi_cmptlevel", json!(boot.compatibility_level)),
        ("dbi_status", json!(format!("{:#010x}", boot.status.0))),
        ("status", text(boot.status)),
        ("dbi_nextid", json!(boot.next_object_id)),
        ("dbi_collation", json!(boot.collation_id)),
        ("collation", json!(collation)),
        ("dbi_maxDbTimestamp", json!(boot.max_timestamp)),
        ("dbi_familyGUID", guid(boot.family_guid)),
        ("dbi_firstSysIndexes", page(boot.first_sys_indexes)),
        ("dbi_AuIdNext", json!(boot.alloc_unit_next)),
        ("dbi_verRDB", text(EngineBuild(boot.engine_build.0))),
        ("dbi_svcBrokerGUID", guid(boot.broker_guid)),
        ("dbi_svcBrokerOptions", json!(boot.broker_options)),
        ("dbi_lazyCommitOption", json!(boot.lazy_commit)),
        ("record length", json!(boot.len)),
    ])
}

fn boot_history(boot: &BootRecord) -> Fields {
    own([
        ("dbi_crdate", time(boot.created)),
        ("dbi_modDate", time(boot.modified)),
        ("dbi_nextseqnum", time(boot.next_seq_num)),
        ("dbi_dbccLastKnownGood", time(boot.last_known_good)),
        ("dbi_dbccFlags", json!(boot.dbcc_flags)),
        ("dbi_checkptLSN", lsn(boot.checkpoint_lsn)),
        ("dbi_dbbackupLSN", lsn(boot.backup_lsn)),
        ("dbi_LogBackupChainOrigin", lsn(boot.log_backup_chain_origin)),
        ("dbi_versionChangeLSN", lsn(boot.version_change_lsn)),
        ("dbi_differentialBaseGuid", guid(boot.diff_base_guid)),
        ("dbi_recoveryForkNameStack 0", fork(boot.recovery_fork)),
        ("dbi_recoveryForkNameStack 1", fork(boot.recovery_fork_previous)),
        ("dbi_maxLogSpaceUsed", json!(boot.max_log_space_used)),
        ("dbi_dbmHardenedLsn", lsn(boot.mirror_hardened_lsn)),
        ("dbi_roleSequence", json!(boot.role_sequence)),
        ("dbi_localState", json!(boot.local_state)),
        ("dbi_safety", json!(boot.safety)),
    ])
}

/// The file header by field.
pub(super) fn file_header_fields(bytes: &PageBytes) -> Fields {
    let header = FileHeaderView::new(bytes).header();
    let mut fields = file_identity(&header);
    fields.extend(file_history(&header));
    fields
}

fn file_identity(header: &FileHeader) -> Fields {
    let growth = header.growth().map(|growth| match growth {
        Growth::Pages(pages) => format!("{pages} pages"),
        Growth::Percent(percent) => format!("{percent} %"),
    });
    own([
        ("FileId", json!(header.file_id)),
        ("LogicalName", json!(header.name())),
        ("FileGroupId", json!(header.filegroup_id)),
        ("BindingId", maybe(header.binding_id, guid)),
        ("FileIdGUID", maybe(header.file_guid, guid)),
        ("Size", json!(header.size)),
        ("MaxSize", json!(header.max_size)),
        ("MinSize", json!(header.min_size)),
        ("UserShrinkSize", json!(header.user_shrink_size)),
        ("Growth", json!(growth)),
        ("Status", json!(header.status.map(|status| format!("{status:#010x}")))),
        ("SectorSize", json!(header.sector_size)),
        ("Perf", json!(header.perf)),
        ("RestoreStatus", json!(header.restore_status)),
        ("DatabaseEncryptionFileState", json!(header.encryption_state)),
        ("columns", json!(header.column_count)),
    ])
}

fn file_history(header: &FileHeader) -> Fields {
    own([
        ("BackupLSN", maybe(header.backup_lsn, lsn)),
        ("FirstUpdateLSN", maybe(header.first_update_lsn, lsn)),
        ("OldestRestoredLSN", maybe(header.oldest_restored_lsn, lsn)),
        ("FirstLSN", maybe(header.first_lsn, lsn)),
        ("MaxLSN", maybe(header.max_lsn, lsn)),
        ("CreateLSN", maybe(header.create_lsn, lsn)),
        ("DifferentialBaseLSN", maybe(header.diff_base_lsn, lsn)),
        ("DifferentialBaseGUID", maybe(header.diff_base_guid, guid)),
        ("FileOfflineLSN", maybe(header.offline_lsn, lsn)),
        ("RestoreRedoStartLSN", maybe(header.restore_redo_start_lsn, lsn)),
        ("RestoreSourceGUID", maybe(header.restore_source_guid, guid)),
        ("RedoStartLSN", maybe(header.redo_start_fork, fork)),
        ("MaxLSNBranchId", maybe(header.fork_guid, guid)),
        ("ReadOnlyLSN", maybe(header.read_only_lsn, lsn)),
        ("ReadWriteLSN", maybe(header.read_write_lsn, lsn)),
        ("RestoreDifferentialBaseLSN", maybe(header.restore_diff_base_lsn, lsn)),
        ("RestoreDifferentialBaseGUID", maybe(header.restore_diff_base_guid, guid)),
        ("RestorePathOrigin", maybe(header.restore_path_origin, fork)),
    ])
}

fn own<const N: usize>(fields: [(&str, Value); N]) -> Fields {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn maybe<T>(value: Option<T>, show: impl Fn(T) -> Value) -> Value {
    value.map_or(Value::Null, show)
}

fn text(value: impl Display) -> Value {
    json!(value.to_string())
}

fn guid(guid: Guid) -> Value {
    text(guid)
}

fn time(time: StoredTime) -> Value {
    match time.value() {
        Some(value) => text(value),
        None => json!(format!("out of range ({} days, {} ticks)", time.days, time.ticks)),
    }
}

fn fork(fork: ForkPoint) -> Value {
    let Lsn { vlf, block, slot } = fork.lsn;
    json!(format!("({vlf}:{block}:{slot}) {}", fork.guid))
}

#[cfg(test)]
mod tests {
    use extentdb_format::allocation::PageStamp;
    use extentdb_format::allocation::pfs::write_pfs;

    use super::*;

    #[test]
    fn pfs_runs_end_with_the_file() {
        let mut page = [0; 8192];
        let mut entries = write_pfs(&mut page, PageId::new(1, 1), &PageStamp::default());
        for (number, byte) in
            [(0, 0x44), (1, 0x44), (2, 0x44), (3, 0x44), (6, 0x70), (7, 0x68), (9, 0x40)]
        {
            entries.set(number, PfsByte(byte));
        }
        let runs = pfs_runs(&page, PageId::new(1, 1), 9);
        let shown: Vec<String> = runs
            .iter()
            .map(|run| format!("{} - {} = {}", run.first, run.last, run.status))
            .collect();
        assert_eq!(
            shown,
            [
                "(1:0) - (1:3) = ALLOCATED 100_PCT_FULL",
                "(1:4) - (1:5) = NOT ALLOCATED 0_PCT_FULL",
                "(1:6) - (1:6) = ALLOCATED 0_PCT_FULL IAM Page Mixed Ext",
                "(1:7) - (1:7) = ALLOCATED 0_PCT_FULL Mixed Ext Has Ghost",
                "(1:8) - (1:8) = NOT ALLOCATED 0_PCT_FULL",
            ]
        );
    }

    #[test]
    fn extent_runs_name_the_first_page_of_their_last_extent() {
        let mut bytes = [0; 7988];
        bytes[0] = 0b0001_1100;
        let runs = extent_runs(AllocationBitmap::new(&bytes), PageId::new(1, 0), 61, ["NO", "YES"]);
        let shown: Vec<_> =
            runs.iter().map(|run| (run.first.page, run.last.page, run.status.as_str())).collect();
        assert_eq!(shown, [(0, 8, "NO"), (16, 32, "YES"), (40, 56, "NO")]);
    }
}
