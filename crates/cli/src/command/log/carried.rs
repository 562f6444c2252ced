//! The log that a backup carries: from its stripe, and to the end that the backup states.

use anyhow::bail;
use extentdb_base::Lsn;
use extentdb_format::log::reader::LogEnd;
use extentdb_format::log::{LogBytes, LogReader};
use extentdb_reader::Backup;
use extentdb_reader::backup::{LogPart, carried_logs};

use super::Job;
use super::write::Writer;
use crate::exit::Exit;

/// Bytes that are looked at in one step.
const STEP_BYTES: usize = 1 << 16;
/// First byte of a sector that was initialised and never written, from SQL Server 2016 on.
const FILL: u8 = 0xc0;

impl Job<'_> {
    /// Shows the logs of a backup, file by file.
    pub(super) fn each_carried_log(
        &mut self,
        backup: &Backup,
        writer: &mut Writer<'_>,
    ) -> anyhow::Result<()> {
        self.name_missing_stripes(backup)?;
        if backup.chain().count() > 1 {
            let part = backup.log_sets().flat_map(|set| set.log()).next();
            let file = part.map(|part| part.file).unwrap_or_default();
            self.one_log(file, &backup.log(), writer)?;
            return Ok(());
        }
        let logs = carried_logs(&backup.set);
        if logs.is_empty() {
            bail!("the backup carries no log");
        }
        for (file, log, map) in logs {
            let reader = LogReader::with_map(&log, map);
            if let Some(end) = self.one_log(file, &reader, writer)? {
                let parts = backup.set.log().iter();
                let newest = parts
                    .filter(|part| part.file == file && part.vlf.sequence.get() == end.lsn.vlf);
                for part in newest {
                    self.compare_end(part, backup.set.header().last_lsn, &log, &end)?;
                }
            }
        }
        Ok(())
    }

    /// The log lies in one stripe: without it there is nothing to show.
    fn name_missing_stripes(&mut self, backup: &Backup) -> anyhow::Result<()> {
        if backup.set.missing_families().is_empty() {
            return Ok(());
        }
        let missing = backup.family.describe_missing();
        let parts = backup.set.log();
        if parts.iter().all(LogPart::is_complete) {
            self.context.note(&format!(
                "{missing}: its pages are not needed for the log, which is complete"
            ));
            return Ok(());
        }
        if parts.iter().all(|part| part.stored_bytes() == 0) {
            bail!("{missing}: the log of the backup lies there");
        }
        self.context.warn(&format!("{missing}: a part of the log lies there"));
        self.exit = self.exit.and(Exit::Incomplete);
        Ok(())
    }

    /// The backup states which bytes it carries, and the LSN after its last block: a log that ends
    /// before both has lost blocks. Without that LSN, a rest that was never written is none.
    fn compare_end(
        &mut self,
        part: &LogPart,
        last_lsn: Lsn,
        log: &impl LogBytes<Error = extentdb_reader::backup::ReadError>,
        end: &LogEnd,
    ) -> anyhow::Result<()> {
        let from = end.file_offset.max(part.carried.start);
        let to = part.carried.start.saturating_add(part.stored_bytes());
        let is_whole =
            if last_lsn.is_zero() { is_unwritten(log, from, to)? } else { end.lsn >= last_lsn };
        if from < to && !is_whole {
            let reason = end.reason;
            self.fault(&format!(
                "no log block {} at byte {from}: {reason}; {} bytes that the backup carries are not read",
                end.lsn,
                to - from
            ));
        }
        Ok(())
    }
}

/// True when the bytes are zeros or the fill byte.
fn is_unwritten<S: LogBytes>(log: &S, from: u64, to: u64) -> Result<bool, S::Error> {
    let mut buffer = vec![0; STEP_BYTES];
    let mut at = from;
    while at < to {
        let len = usize::try_from(to - at).unwrap_or(STEP_BYTES).min(STEP_BYTES);
        let bytes = &mut buffer[..len];
        log.read_at(at, bytes)?;
        if bytes.iter().any(|byte| !matches!(*byte, 0 | FILL)) {
            return Ok(false);
        }
        at += len as u64;
    }
    Ok(true)
}
