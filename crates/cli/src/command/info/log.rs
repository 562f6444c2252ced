//! Log files: whose they are, and their VLFs.

use extentdb_format::log::VlfMap;
use extentdb_reader::LogFile;
use serde_json::{Value, json};

/// Faults that are listed; a damaged file can have millions.
const FAULTS_MAX: usize = 20;

/// What a log file says about itself.
pub(super) fn facts(log: &LogFile) -> Result<Value, extentdb_io::Error> {
    let map = VlfMap::read(log)?;
    let header = log.header();
    let used: Vec<u32> = map
        .vlfs()
        .iter()
        .map(|vlf| vlf.header.sequence)
        .filter(|sequence| *sequence != 0)
        .collect();
    let faults =
        map.faults().iter().take(FAULTS_MAX).map(|(at, fault)| format!("at byte {at}: {fault:?}"));
    Ok(json!({
        "path": log.path().display().to_string(),
        "bytes": log.file().len(),
        "file_id": log.id().map(|id| id.0),
        "name": header.and_then(|header| header.name()),
        "vlfs": map.vlfs().len(),
        "vlfs_used": used.len(),
        "format": map.vlfs().iter().map(|vlf| vlf.header.format).max(),
        "oldest_sequence": used.iter().min(),
        "newest_sequence": used.iter().max(),
        "faults": faults.collect::<Vec<_>>(),
    }))
}
