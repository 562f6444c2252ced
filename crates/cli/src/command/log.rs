//! `log`: the records of a transaction log as fn_dblog shows them, and its VLFs as DBCC LOGINFO
//! lists them.
//!
//! Records stream from the first block to the last: nothing is kept. What is damaged or missing on
//! the way is told on stderr with its place, and the log goes on after it. Records that hold more
//! than is known of their operation are shown and counted.

mod carried;
mod filter;
mod residue;
mod vlfs;
mod write;

use std::error::Error as StdError;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_format::log::fault::NoBlock;
use extentdb_format::log::reader::{Gap, LogEnd};
use extentdb_format::log::{ChainItem, LogBlock, LogBytes, LogReader};
use extentdb_reader::{OpenedFiles, Origin};

use crate::context::Context;
use crate::exit::Exit;
use crate::options::{CommonOptions, FormatArgs};
use crate::output::Output;

use filter::{Filter, OpPattern};
use residue::Residues;
use write::Writer;

/// Faults that are told one by one; a damaged file can have millions.
const FAULTS_TOLD: u64 = 100;

/// Options of `log`.
#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    /// A log file (.ldf), or the files of a backup of any kind, for the log that it carries
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The VLFs of the log, as DBCC LOGINFO lists them
    #[arg(long)]
    vlfs: bool,
    /// First record: 00000031:000000b4:0003, 0x31:b4:3, or decimal 49:180:3
    #[arg(long, value_name = "LSN", value_parser = filter::lsn)]
    from: Option<Lsn>,
    /// Last record
    #[arg(long, value_name = "LSN", value_parser = filter::lsn)]
    to: Option<Lsn>,
    /// Only these operations: LOP_INSERT_ROWS, or a part of the name such as delete
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = filter::operation)]
    op: Vec<OpPattern>,
    /// Only this transaction, such as 0000:000003f1
    #[arg(long, value_name = "ID")]
    xact: Option<String>,
    /// Only changes of this page, such as 1:153
    #[arg(long, value_name = "F:P")]
    page: Option<PageId>,
    /// Stop after so many records
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &LogArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = context.output(&args.files)?;
    let opened = context.open_for_log(&args.files)?;
    let residues = Residues::default();
    let mut job = Job {
        args,
        context,
        faults: 0,
        shown: 0,
        residues,
        is_stopped: None,
        exit: Exit::Done,
    };
    let done = job.all_logs(&opened, &mut output);
    if let Some(summary) = job.residues.summary() {
        context.note(&summary);
    }
    if job.faults > FAULTS_TOLD {
        context.warn(&format!("{} more faults", job.faults - FAULTS_TOLD));
    }
    match (&done, job.is_stopped) {
        (Ok(()), None) => output.finish()?,
        _ => {
            if let Some(path) = output.finish_incomplete()? {
                context.warn(&format!("incomplete: {}", path.display()));
            }
        }
    }
    done?;
    let exit = if job.faults > 0 { job.exit.and(Exit::Found) } else { job.exit };
    Ok(job.is_stopped.map_or(exit, |stop| exit.and(stop)))
}

/// What is asked for, and how far it is.
struct Job<'a> {
    args: &'a LogArgs,
    context: &'a Context,
    faults: u64,
    shown: u64,
    residues: Residues,
    is_stopped: Option<Exit>,
    /// How the command ends when there are no faults.
    exit: Exit,
}

impl Job<'_> {
    fn all_logs(&mut self, opened: &OpenedFiles, output: &mut Output) -> anyhow::Result<()> {
        let mut writer = Writer::new(output, self.args.format.is_json());
        let done = self.each_log(opened, &mut writer);
        // Whatever happened, what was written is a whole document.
        writer.finish()?;
        done
    }

    fn each_log(&mut self, opened: &OpenedFiles, writer: &mut Writer<'_>) -> anyhow::Result<()> {
        match opened.origin() {
            Origin::Backup(backup) => self.each_carried_log(backup, writer)?,
            Origin::Files => {
                if opened.logs().is_empty() {
                    bail!("this is a data file, not a log: give the .ldf file");
                }
                for log in opened.logs() {
                    let file = log.id().unwrap_or_default();
                    self.one_log(file, &LogReader::open(log)?, writer)?;
                }
            }
        }
        Ok(())
    }

    fn one_log<S: LogBytes>(
        &mut self,
        file: FileId,
        reader: &LogReader<S>,
        writer: &mut Writer<'_>,
    ) -> anyhow::Result<Option<LogEnd>>
    where
        S::Error: StdError + Send + Sync + 'static,
    {
        for (offset, fault) in reader.map().faults() {
            self.fault(&format!("VLF at byte {offset}: {fault}"));
        }
        if self.args.vlfs {
            vlfs::write(file, reader, writer)?;
            return Ok(None);
        }
        self.records(reader, writer)
    }

    /// Shows the records; the end of the log when it was reached.
    fn records<S: LogBytes>(
        &mut self,
        reader: &LogReader<S>,
        writer: &mut Writer<'_>,
    ) -> anyhow::Result<Option<LogEnd>>
    where
        S::Error: StdError + Send + Sync + 'static,
    {
        let filter = Filter::new(self.args)?;
        let bytes: u64 = reader.map().by_sequence().iter().map(|vlf| vlf.header.size).sum();
        let progress = self.context.progress("log", bytes);
        self.context.interrupt.stop_gracefully();
        for item in reader.chain() {
            self.is_stopped = self.context.interrupt.stopped();
            if self.is_stopped.is_some() {
                break;
            }
            match item? {
                ChainItem::Block(block) if filter.is_past(block.lsn) => break,
                ChainItem::Block(block) => {
                    let size = block.buf.as_bytes().len() as u64;
                    if !self.block(&block, &filter, writer)? {
                        break;
                    }
                    progress.add(size, size);
                }
                ChainItem::Gap(gap) => self.gap(&gap),
                ChainItem::End(end) => {
                    self.end(&end);
                    return Ok(Some(end));
                }
            }
        }
        Ok(None)
    }

    /// Writes the records of a block that are wanted; false when the limit is reached.
    fn block(
        &mut self,
        block: &LogBlock,
        filter: &Filter,
        writer: &mut Writer<'_>,
    ) -> anyhow::Result<bool> {
        let view = block.buf.view();
        if !filter.reaches(block.lsn) {
            return Ok(true);
        }
        for fault in block.buf.faults() {
            self.fault(&format!("log block {} at byte {}: {fault}", block.lsn, block.file_offset));
        }
        for (lsn, record) in view.records().filter(|(lsn, record)| filter.takes(*lsn, record)) {
            if self.args.limit.is_some_and(|limit| self.shown >= limit) {
                return Ok(false);
            }
            writer.record(lsn, &record)?;
            self.residues.add(&record);
            self.shown += 1;
        }
        Ok(true)
    }

    fn gap(&mut self, gap: &Gap) {
        match gap {
            // A shrink of the log leaves such gaps in what is no longer needed.
            Gap::Vlfs { after, next } => {
                self.context.note(&format!(
                    "VLFs {} to {} are not in the file",
                    after.saturating_add(1),
                    next - 1
                ));
            }
            Gap::Blocks { lsn, from, to, reason } => {
                self.fault(&format!(
                    "no log block {lsn} at byte {from}: {reason}; {} bytes are missing",
                    to - from
                ));
            }
        }
    }

    fn end(&self, end: &LogEnd) {
        let why = match end.reason {
            NoBlock::NeverWritten | NoBlock::VlfFull | NoBlock::Parity { .. } => String::new(),
            other => format!(" ({other})"),
        };
        let LogEnd { lsn, file_offset, .. } = end;
        self.context.note(&format!(
            "the log ends before {lsn}, at byte {file_offset}{why}; {} records shown",
            self.shown
        ));
    }

    fn fault(&mut self, text: &str) {
        self.faults += 1;
        if self.faults <= FAULTS_TOLD {
            self.context.warn(text);
        }
    }
}
