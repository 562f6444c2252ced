//! Backups: sets, files and media, under the column names of RESTORE HEADERONLY, FILELISTONLY and
//! LABELONLY.
//!
//! Only headers are needed for this: it works for kinds of backups that cannot be opened as a
//! database, for one set among several, and with stripes missing.

use std::path::PathBuf;

use clap::Args;
use extentdb_base::Lsn;
use extentdb_base::sync::Arc;
use extentdb_format::mtf::config::FileKind;
use extentdb_format::mtf::{BackupKind, MtfDate, SetFlags};
use extentdb_io::{File, ReadAt};
use extentdb_reader::Backup;
use extentdb_reader::backup::{BackupFile, BackupMedia, Error, MediaFamily, SetHeader};
use extentdb_types::Guid;
use serde_json::{Map, Value, json};

use super::Facts;
use crate::context::Context;
use crate::exit::{Exit, chain};

/// Which list of a backup is wanted alone.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct List {
    /// Backups: only the sets, as RESTORE HEADERONLY lists them
    #[arg(long, group = "list")]
    headeronly: bool,
    /// Backups: only the files, as RESTORE FILELISTONLY lists them
    #[arg(long, group = "list")]
    filelistonly: bool,
    /// Backups: only the media, as RESTORE LABELONLY lists it
    #[arg(long, group = "list")]
    labelonly: bool,
}

impl List {
    /// True when one list is wanted and nothing else.
    pub(super) fn is_wanted(self) -> bool {
        self.headeronly || self.filelistonly || self.labelonly
    }
}

/// Opens the files as backups of any kind, by media set.
pub(super) fn open(paths: &[PathBuf]) -> Result<Vec<BackupMedia>, Error> {
    let open = |path: &PathBuf| File::open_read(path).map(|file| Arc::new(file) as Arc<dyn ReadAt>);
    BackupMedia::open_all(paths.iter().map(open).collect::<Result<_, _>>()?)
}

/// Which of several sets make the database, in order, and which are left out.
pub(super) fn add_chain(backup: &Backup, facts: &mut Facts) {
    if backup.chain().count() + backup.left_out.len() < 2 {
        return;
    }
    let used = backup.chain().map(|set| {
        let header = set.header();
        json!({
            "path": set.path().map(|path| path.display().to_string()),
            "Position": header.position,
            "BackupTypeDescription": header.kind.description(),
            "FirstLSN": lsn(header.first_lsn),
            "LastLSN": lsn(header.last_lsn),
        })
    });
    facts.add("backup_chain", used.collect());
    let left_out = backup.left_out.iter().map(
        |set| json!({ "path": set.path.display().to_string(), "Position": set.position, "why": set.why }),
    );
    if !backup.left_out.is_empty() {
        facts.add("backup_left_out", left_out.collect());
    }
}

/// The lists that are wanted.
pub(super) fn add(all_media: &[BackupMedia], list: List, context: &Context, facts: &mut Facts) {
    let sets: Vec<SetHeader> = all_media.iter().flat_map(BackupMedia::sets).collect();
    let wanted = |set: &&SetHeader| context.common.set.is_none_or(|wanted| wanted == set.position);
    let all = !list.is_wanted();
    if all || list.labelonly {
        let labels = all_media.iter().map(|media| label(&media.family()));
        facts.add("backup_media", labels.collect());
    }
    if all || list.headeronly {
        facts.add("backup_sets", sets.iter().filter(wanted).map(header).collect());
    }
    if all || list.filelistonly {
        // RESTORE takes the first set when none is chosen. Of several media that of the full
        // backup.
        let is_full =
            |media: &&BackupMedia| media.sets().iter().any(|set| set.kind == BackupKind::Database);
        if let Some(media) = all_media.iter().find(is_full).or(all_media.first()) {
            let first = media.sets().first().map(|set| set.position);
            let set = context.common.set.or(first).unwrap_or(1);
            facts.add("backup_files", media.files(set).iter().map(file).collect());
        }
    }
    for finding in all_media.iter().flat_map(|media| media.findings().kept()) {
        context.warn(&finding.to_string());
        facts.end(Exit::Found);
    }
}

/// Says why the backup cannot be opened as a database, although its headers can be read.
pub(super) fn explain(error: &Error, context: &Context, facts: &mut Facts) {
    // That there is a choice is no fault: the list of sets is the answer.
    if let Error::SeveralSets(sets) = error {
        context.note(&format!("{} backup sets: choose one with --set N", sets.len()));
        return;
    }
    context.warn(&chain(error));
    facts.end(Exit::Incomplete);
}

fn label(family: &MediaFamily) -> Value {
    json!({
        "MediaName": text(&family.name),
        "MediaSetId": family.media_set.map(|guid| guid.to_string()),
        "FamilyCount": family.families,
        "FamilySequenceNumber": family.given,
        "missing_families": family.missing,
        "MediaDescription": text(&family.description),
        "SoftwareName": text(&family.software_name),
    })
}

fn header(set: &SetHeader) -> Value {
    let mut all = Map::new();
    for part in [what(set), environment(set), flags(set), base(set)] {
        if let Value::Object(part) = part {
            all.extend(part);
        }
    }
    Value::Object(all)
}

fn what(set: &SetHeader) -> Value {
    json!({
        "BackupName": text(&set.backup_name),
        "BackupDescription": text(&set.backup_description),
        "BackupType": set.kind.header_only_number(),
        "ExpirationDate": date(set.expiration_date),
        "Compressed": set.is_compressed,
        "Position": set.position,
        "UserName": text(&set.user_name),
        "ServerName": text(&set.server_name),
        "DatabaseName": set.database_name,
        "DatabaseVersion": set.database_version,
        "DatabaseCreationDate": date(set.database_creation_date),
        "BackupSize": set.backup_size,
        "FirstLSN": lsn(set.first_lsn),
        "LastLSN": lsn(set.last_lsn),
        "CheckpointLSN": lsn(set.checkpoint_lsn),
        "DatabaseBackupLSN": lsn(set.database_backup_lsn),
        "BackupStartDate": date(set.backup_start_date),
        "BackupFinishDate": set.backup_finish_date.and_then(date),
    })
}

fn environment(set: &SetHeader) -> Value {
    let (major, minor, build) = set.software_version;
    json!({
        "SortOrder": set.sort_order,
        "UnicodeLocaleId": set.unicode_locale_id,
        "UnicodeComparisonStyle": set.unicode_comparison_style,
        "CompatibilityLevel": set.compatibility_level,
        "SoftwareVendorId": set.software_vendor_id,
        "SoftwareVersionMajor": major,
        "SoftwareVersionMinor": minor,
        "SoftwareVersionBuild": build,
        "MachineName": text(&set.machine_name),
        "Flags": set.flags.0,
        "BindingID": set.binding_id.to_string(),
        "RecoveryForkID": set.recovery_fork_id.to_string(),
        "FamilyGUID": set.family_guid.to_string(),
    })
}

fn flags(set: &SetHeader) -> Value {
    let flag = |bit: u32| set.flags.has(bit);
    json!({
        "HasBulkLoggedData": flag(SetFlags::BULK_LOGGED),
        "IsSnapshot": flag(SetFlags::SNAPSHOT),
        "IsReadOnly": flag(SetFlags::READ_ONLY),
        "IsSingleUser": flag(SetFlags::SINGLE_USER),
        "HasBackupChecksums": flag(SetFlags::CHECKSUMS),
        "IsDamaged": flag(SetFlags::DAMAGED),
        "BeginsLogChain": flag(SetFlags::TAIL_LOG),
        "HasIncompleteMetaData": flag(SetFlags::INCOMPLETE_METADATA),
        "IsForceOffline": flag(SetFlags::FORCE_OFFLINE),
        "IsCopyOnly": set.is_copy_only,
    })
}

fn base(set: &SetHeader) -> Value {
    json!({
        "FirstRecoveryForkID": guid(set.first_recovery_fork_id),
        "ForkPointLSN": set.fork_point_lsn.map(lsn),
        "DifferentialBaseLSN": set.differential_base_lsn.map(lsn),
        "DifferentialBaseGUID": guid(set.differential_base_guid),
        "BackupTypeDescription": set.kind.description(),
        "BackupSetGUID": set.backup_set_guid.to_string(),
        "CompressedBackupSize": set.compressed_backup_size,
    })
}

fn file(file: &BackupFile) -> Value {
    let kind = match file.kind {
        FileKind::Data => "D".to_owned(),
        FileKind::Log => "L".to_owned(),
        FileKind::Other(other) => other.to_string(),
    };
    json!({
        "LogicalName": file.logical_name,
        "PhysicalName": file.physical_name,
        "Type": kind,
        "FileGroupName": text(&file.filegroup_name),
        "Size": file.size,
        "MaxSize": file.max_size,
        "FileId": file.id.0,
        "UniqueId": file.unique_id.to_string(),
        "BackupSizeInBytes": file.backup_size_in_bytes,
        "SourceBlockSize": file.source_block_size,
        "FileGroupId": file.filegroup_id,
        "DifferentialBaseLSN": file.differential_base_lsn.map(lsn),
        "DifferentialBaseGUID": guid(file.differential_base_guid),
    })
}

/// As RESTORE prints it: one decimal number, longer than JSON's numbers are exact.
fn lsn(lsn: Lsn) -> String {
    lsn.to_decimal().to_string()
}

fn guid(guid: Option<Guid>) -> Option<String> {
    guid.map(|guid| guid.to_string())
}

fn date(date: MtfDate) -> Option<String> {
    (!date.is_none()).then(|| date.to_string())
}

/// Texts that were not given are NULL in RESTORE's lists.
fn text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
