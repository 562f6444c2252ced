//! Emergency mode: a crashed database whose log is damaged is opened with what its log still has.
//!
//! ```text
//! 1  examine    what a cut would erase; nothing is changed, and a log without a sound beginning is
//!               refused
//! 2  boot page  emergency mode, durable: from here on `open` refuses the database
//! 3  log        cut before the damage
//! 4  redo       of the log that is left; pages that are newer than it stay, and get the LSN of its
//!               end, durably
//! 5  undo       of open transactions; the mark in sysxprops; checkpoint
//! 6  boot page  closed cleanly at a checkpoint past everything that is lost, no emergency mode:
//!               one write
//! 7  open       as usual: the log does not hold that checkpoint, is set aside, and a new one
//!               begins past it
//! ```
//!
//! Step 4 is needed by step 5, step 6 by everything after it: a record must never get an LSN that a
//! page has already, or redo takes it for applied. Within the cut log no page is newer than its end
//! when the first record is appended; the LSNs of the new log lie past all that were ever handed
//! out.
//!
//! Example. The log is damaged at 33:80; page 1:200 carries the LSN 33:90:4 of a lost commit, and a
//! transaction that is open at 33:80 has changed it before. Its undo is logged as 33:81:2. The
//! power goes before page 1:200 is written. Without step 4 the next redo finds the page at 33:90:4,
//! passes over 33:81:2, and the change of a transaction that was rolled back is there for good.
//!
//! Invariants
//! - Until step 6 the database is refused by `open`; emergency mode may be tried again, and repeats
//!   what is not done. A cut that was interrupted after step 5 is counted twice.
//! - A transaction that the cut has left without its end is undone. One of which nothing is left
//!   but pages that a lazy writer had written stays on these pages: they are reported, and the
//!   database must be checked.

use std::ops::ControlFlow;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_catalog::table::values::RowValues;
use extentdb_change::in_own_system;
use extentdb_format::PageBuf;
use extentdb_format::log::{Op, Payload, RecordRef};
use extentdb_format::page::PageHeader;
use extentdb_io::DiskFile;
use extentdb_telemetry::Event;
use extentdb_wal::{Damage, Examined, Log, OnDamage, OpenOptions};

use crate::catalog::system_table::{Cells, byte, bytes, cells_of, int, text};
use crate::database::Database;
use crate::database::boot::{begin_emergency, end_emergency};
use crate::database::checkpoint::Shutdown;
use crate::database::files::{DataFile, DataFiles, Restart, owner_of};
use crate::database::open::is_of_log;
use crate::database::opening::OpenedFiles;
use crate::database::options::Options;
use crate::database::services::Membership;
use crate::database::spec::Paths;
use crate::error::{Cause, Error};
use crate::recovery::redo::{NewerPage, NewerPages, Recovery};

/// Extended property of a database whose log was cut: how often.
const LOG_CUT: &str = "ExtentDB_log_cut";
/// Columns of `sysxprops`: name and value come after class, id and sub-id.
const NAME: usize = 3;
const VALUE: usize = 4;
const COLUMNS: usize = 5;
/// `sysxprops.class` of the database.
const DATABASE_CLASS: u8 = 0;
/// The bytes before the number in a sql_variant that holds an int: type and version.
const VARIANT_OF_INT: [u8; 2] = [56, 1];

/// What an emergency opening could not bring back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostLog {
    /// The log ends here: this record and all after it are lost. After an opening that was
    /// interrupted, where it ended then.
    pub from: Lsn,
    /// The log had been durable up to here at least. `None` when nothing says that anything durable
    /// is lost.
    pub proven_to: Option<Lsn>,
    /// What was wrong with the log. `None` when it is whole as far as it goes: pages are newer, or
    /// an opening that was interrupted has cut it.
    pub damage: Option<LogDamage>,
    /// Pages with changes whose records are lost, by file and number. They may contradict others.
    pub newer_pages: Vec<NewerPage>,
}

/// The damage of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// Offset in the log file.
    pub offset: u64,
    /// What was wrong there.
    pub what: Damage,
}

/// How a damaged log is to be cut.
struct Cut {
    /// From the oldest record that a restart needs on.
    log: Examined,
    /// No page, no record and no file is newer, but for pages that are found later.
    newest_vlf: u32,
}

impl Cut {
    /// Finds out what a cut leaves, without changing anything.
    fn plan(files: &DataFiles, log: &dyn DiskFile) -> Result<Cut, Error> {
        let checkpoint = files.boot.checkpoint_lsn;
        let known = files.log_durable();
        let examine = |from, visit: &mut dyn FnMut(Lsn, &RecordRef<'_>) -> ControlFlow<()>| {
            let options = OpenOptions { from, durable_at_least: known, ..OpenOptions::default() };
            Log::examine(log, &options, visit)
        };
        let mut minimum = None;
        let tail = examine(checkpoint, &mut |_, record| {
            minimum = minimum_by(record, checkpoint);
            if minimum.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        // The boot page names a checkpoint that was complete. When its end is lost, all that the
        // log has is redone: more than is needed, and what the pages have is passed over.
        let from = minimum.unwrap_or(Lsn::ZERO);
        let whole = examine(from, &mut |_, _| ControlFlow::Break(()))?;
        if let (true, Some(lost)) = (whole.end < tail.end, whole.lost) {
            return Err(
                extentdb_wal::Error::Corrupt { offset: lost.offset, what: lost.what }.into()
            );
        }
        let proven = whole.lost.and_then(|lost| lost.proven_to).unwrap_or(Lsn::ZERO);
        let newest_vlf = whole.newest_vlf.max(proven.vlf).max(known.vlf);
        Ok(Cut { log: whole, newest_vlf })
    }

    fn lost(&self, newer_pages: Vec<NewerPage>) -> LostLog {
        let proven = self.log.lost.and_then(|lost| lost.proven_to);
        let damage = self.log.lost.map(|lost| LogDamage { offset: lost.offset, what: lost.what });
        let proven_to = newer_pages.iter().map(|newer| newer.lsn).chain(proven).max();
        LostLog { from: self.log.end, proven_to, damage, newer_pages }
    }

    fn event(&self) -> Event {
        let LostLog { from, proven_to, damage, .. } = self.lost(Vec::new());
        Event::LogCut { from, proven_to, offset: damage.map(|damage| damage.offset) }
    }
}

/// The oldest record that a checkpoint needs, if this record is its end.
fn minimum_by(record: &RecordRef<'_>, checkpoint: Lsn) -> Option<Lsn> {
    let is_end = record.header().op == Op::END_CKPT && record.header().previous == checkpoint;
    match record.payload() {
        Payload::EndCheckpoint(end) if is_end => Some(end.minimum),
        _ => None,
    }
}

impl Database {
    /// Opens a database as [`open`](Self::open) does; when its log is damaged, with what the log
    /// has before the damage. Committed transactions are lost then, and pages may contradict each
    /// other: the database must be checked. It is marked for good, see
    /// [`emergency_cuts`](Self::emergency_cuts). The damaged log is cut, and kept under another
    /// name.
    ///
    /// Returns what was lost; `None` when the database opened as usual.
    ///
    /// # Errors
    /// As for [`open`](Self::open). [`Error::LogMissing`] stays an error; so does a log that is
    /// damaged before the end of the last checkpoint, where nothing has been changed. When a record
    /// that is left can be neither redone nor undone, the error says so, and the database stays in
    /// emergency mode.
    pub fn open_emergency(
        paths: &Paths,
        options: Options,
    ) -> Result<(Arc<Database>, Option<LostLog>), Error> {
        match Database::open(paths, options.clone()) {
            Ok(database) => return Ok((database, None)),
            Err(error) if is_of_damaged_log(&error) => {}
            Err(error) => return Err(error),
        }
        let lost = cut_log(paths, &options)?;
        Ok((Database::open(paths, options)?, Some(lost)))
    }

    /// How often the log of this database was cut in an emergency: committed transactions may be
    /// lost, and pages may contradict each other.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub fn emergency_cuts(&self) -> Result<u32, Error> {
        Ok(self.log_cut_property()?.map_or(0, |row| cuts_of(&row)))
    }

    fn log_cut_property(&self) -> Result<Option<Cells>, Error> {
        let of_database = [byte(DATABASE_CLASS), int(0), int(0)];
        let rows = self.catalog.system("sysxprops")?.rows(&of_database)?;
        Ok(rows.into_iter().find(|row| text(row.get(NAME)) == LOG_CUT))
    }

    /// Counts a cut in the extended property of the database.
    fn mark_log_cut(&self) -> Result<(), Error> {
        let _ddl = lock(&self.ddl);
        let known = self.log_cut_property()?;
        let cuts = known.as_ref().map_or(0, cuts_of).saturating_add(1);
        let row = property(cuts);
        let table = self.catalog.system("sysxprops")?;
        in_own_system(&*self.space, "LogCut", |system| match known {
            None => table.insert(system, &row),
            Some(_) => table.replace(system, &cells_of(&row, COLUMNS)),
        })
    }

    /// Closes a database whose log was cut, so that the next opening gives it a new log past
    /// `newest_vlf`. One whose pages cannot all be read needs its log, and continues it.
    fn close_after_cut(&self, newest_vlf: u32) -> Result<(), Error> {
        if self.write_all()? == Shutdown::NeedsLog {
            return end_emergency(&self.pool);
        }
        let newest = newest_vlf.max(self.log.next().vlf);
        self.mark_closed(Lsn::new(newest.saturating_add(1), 0, 0), Shutdown::Clean)
    }
}

/// Does the error say that the log of a crashed database is damaged, or that emergency mode was
/// interrupted?
fn is_of_damaged_log(error: &Error) -> bool {
    match error {
        Error::ForeignLog { .. } => false,
        Error::LogEndsBefore { .. } | Error::EmergencyUnfinished => true,
        error => is_of_log(error),
    }
}

/// Cuts the log of a crashed database, recovers, and closes it.
fn cut_log(paths: &Paths, options: &Options) -> Result<LostLog, Error> {
    let files = DataFiles::open(paths, options)?;
    let log = options.disk.open(&paths.log)?;
    let found = owner_of(&*log)?;
    let expected = files.owner();
    if found != expected {
        return Err(Error::ForeignLog { path: paths.log.clone(), found, expected });
    }
    let cut = Cut::plan(&files, &*log)?;
    options.events.event(&cut.event());
    let database = recover_cut(files, &cut, log, options)?;
    database.mark_log_cut()?;
    let lost = cut.lost(database.recovered.newer_pages.clone());
    let newest_page = lost.proven_to.map_or(0, |lsn| lsn.vlf);
    database.close_after_cut(cut.newest_vlf.max(newest_page))?;
    Ok(lost)
}

fn recover_cut(
    files: DataFiles,
    cut: &Cut,
    log: Arc<dyn DiskFile>,
    options: &Options,
) -> Result<Arc<Database>, Error> {
    let primary = files.files.first().ok_or(Error::MissingFile { file: FileId(1) })?;
    begin_emergency(&*primary.disk)?;
    let asked = OpenOptions {
        from: cut.log.from,
        durable_at_least: files.log_durable(),
        on_damage: OnDamage::CutHere,
    };
    let opened = Log::open_with(log, &asked, options.clock.clone())?;
    let restart = Restart {
        checkpoint: files.boot.checkpoint_lsn,
        minimum: cut.log.from,
        newer_pages: NewerPages::Keep,
    };
    let member = Membership::alone(options)?;
    OpenedFiles {
        files,
        log: opened.log,
        options: options.clone(),
        restart,
        member,
    }
    .recover()
}

impl Recovery {
    /// Gives pages that are newer than the log the LSN of its end, durably: before the first record
    /// is appended. Pages that cannot be read are passed over, as by redo.
    pub(crate) fn lower_newer_pages(&mut self, files: &[DataFile]) -> Result<(), Error> {
        for file in files {
            for page in newer_pages(&*file.disk, file.id(), self.log_end)? {
                self.lower(page)?;
            }
        }
        self.pool.write_dirty()?;
        Ok(())
    }

    fn lower(&mut self, id: PageId) -> Result<(), Error> {
        let mut page = match self.pool.write(id).map_err(Error::from) {
            Err(error) if error.cause() == Cause::BadPage => return Ok(()),
            page => page?,
        };
        let lsn = PageHeader::of(&page).lsn();
        // Redo may have formatted it again.
        if lsn > self.log_end {
            PageHeader::of_mut(page.bytes_mut()).lsn_bytes = self.log_end.to_bytes();
            page.set_dirty(Lsn::ZERO);
            self.facts.newer_pages.push(NewerPage { page: id, lsn });
        }
        Ok(())
    }
}

/// The pages of a file whose LSN is greater than `end`.
fn newer_pages(disk: &dyn DiskFile, file: FileId, end: Lsn) -> Result<Vec<PageId>, Error> {
    let mut newer = Vec::new();
    let mut image = PageBuf::zeroed();
    for page in 0..(disk.len() / PAGE_BYTES as u64) as u32 {
        disk.read_exact_at(u64::from(page) * PAGE_BYTES as u64, &mut image[..])?;
        if PageHeader::of(&image).lsn() > end {
            newer.push(PageId { file, page });
        }
    }
    Ok(newer)
}

fn property(cuts: u32) -> RowValues {
    let mut value = VARIANT_OF_INT.to_vec();
    value.extend_from_slice(&cuts.to_le_bytes());
    let mut row = RowValues::new();
    row.tinyint(DATABASE_CLASS).int(0).int(0).ntext(LOG_CUT).raw(&value);
    row
}

/// The number in the value of the property; 1 when it has another type.
fn cuts_of(row: &Cells) -> u32 {
    let value = row.get(VALUE).map_or(&[][..], |cell| bytes(cell));
    let number = value.strip_prefix(&VARIANT_OF_INT).and_then(|rest| rest.first_chunk());
    number.map_or(1, |bytes| u32::from_le_bytes(*bytes))
}
