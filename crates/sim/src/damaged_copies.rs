//! Copies of the files between two openings, damaged or with swapped files by the kind of the run.
//!
//! The files themselves stay as they are. A copy is opened and its properties are checked.

use extentdb_base::sync::Arc;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use extentdb_base::env::Rng;
use extentdb_engine::{Cause, ColumnSpec, Database, Error, TableSpec};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

use crate::disk::FaultDisk;
use crate::fault::bad_page::{self, BadPage, PageRole};
use crate::fault::swapped_files::{Foreign, swap};
use crate::fault::{full_disk, log_damage};
use crate::kind::RunKind;
use crate::model::Model;
use crate::property::rows::Addresses;
use crate::property::{reach, rows};
use crate::simulation::{EarlierFiles, Simulation};

/// Copies with a damaged log, after each crash.
const LOG_DAMAGES: u64 = 8;
/// Copies with a bad page, after each opening.
const BAD_PAGES: u64 = 4;

/// The result of an opening.
enum OpenResult {
    /// Refused, with the error.
    Refused(String),
    /// It has the rows of the model.
    Right(Arc<Database>),
    /// It has other rows: the first difference.
    Wrong(String),
}

impl Simulation {
    /// Fills the disk before an opening, now and then.
    pub(crate) fn fill_disk(&mut self) {
        if self.state.kind != RunKind::FullDisk {
            return;
        }
        match self.state.rng.below(2) {
            0 => full_disk::clear(&self.state.disk),
            _ => full_disk::fill(&self.state.disk, &mut self.state.rng),
        }
    }

    /// Checks copies of a database that was closed cleanly.
    pub(crate) fn damage_closed_copies(&mut self, older: &EarlierFiles) -> Result<(), String> {
        match self.state.kind {
            RunKind::Swapped => self.swap_closed(older),
            RunKind::BadPage => self.check_bad_pages(),
            _ => Ok(()),
        }
    }

    /// Checks copies of a database that crashed. `undecided` is the model without the transactions
    /// that were in doubt.
    pub(crate) fn damage_crashed_copies(
        &mut self,
        older: &EarlierFiles,
        undecided: &Model,
        writes: &[Range<u64>],
    ) -> Result<(), String> {
        match self.state.kind {
            RunKind::LogDamage => self.damage_log(older, undecided, writes),
            RunKind::Swapped => self.swap_crashed(older),
            RunKind::BadPage => self.check_bad_pages(),
            _ => Ok(()),
        }
    }

    /// In runs of kind `mixed-extents`: SGAM marks every mixed extent with a free page.
    pub(crate) fn verify_reach(&self, memory: &MemDisk, when: &str) -> Result<(), String> {
        if self.state.kind != RunKind::MixedExtents {
            return Ok(());
        }
        match reach::complaint(memory, &self.state.environment.paths()) {
            Some(complaint) => Err(format!("{when}: {complaint}")),
            None => Ok(()),
        }
    }

    /// Opens a copy and compares its rows with any of these models.
    fn open_copy(&self, memory: &MemDisk, models: &[&Model]) -> Result<OpenResult, String> {
        let environment = &self.state.environment;
        let disk = FaultDisk::over(memory.clone());
        let open = || {
            let db = Database::open(&environment.paths(), environment.options(&disk))?;
            let found = rows::read(&db)?;
            let differences: Vec<Option<String>> = models
                .iter()
                .map(|model| rows::difference(model, &found, Addresses::Ignored))
                .collect();
            Ok::<_, Error>((db, differences))
        };
        let (db, mut differences) = match catch_unwind(AssertUnwindSafe(open)) {
            Err(_) => return Err("a panic".to_owned()),
            Ok(Err(error)) => return Ok(OpenResult::Refused(format!("{error}"))),
            Ok(Ok(opened)) => opened,
        };
        if differences.iter().any(Option::is_none) {
            Ok(OpenResult::Right(db))
        } else {
            Ok(OpenResult::Wrong(differences.swap_remove(0).unwrap_or_default()))
        }
    }

    /// Damages the log: a copy has all acknowledged rows, or its opening is refused.
    fn damage_log(
        &mut self,
        older: &EarlierFiles,
        undecided: &Model,
        writes: &[Range<u64>],
    ) -> Result<(), String> {
        let log = self.state.environment.paths().log;
        for _ in 0..LOG_DAMAGES {
            let memory = self.state.disk.memory().copy();
            let damaged =
                log_damage::damage(&memory, &older.disk, &log, writes, &mut self.state.rng);
            let Some(damaged) = damaged else { continue };
            self.state.report.damages += 1;
            self.state.trace.note(format!("damaged: {damaged}"));
            let committed = &self.state.committed;
            match self.open_copy(&memory, &[committed, undecided]) {
                Ok(OpenResult::Refused(_) | OpenResult::Right(_)) => {}
                Ok(OpenResult::Wrong(what)) | Err(what) => {
                    return Err(format!("{damaged}: {what}"));
                }
            }
        }
        Ok(())
    }

    fn foreign(&mut self) -> Result<Foreign, String> {
        let state = &mut self.state;
        Foreign::of(&state.environment, &mut state.rng)
            .map_err(|error| format!("another database: {error:?}"))
    }

    /// Opens a copy in which a file was swapped; `None` when it is the same file.
    fn open_swapped(
        &mut self,
        what: &str,
        path: &Path,
        from: &MemDisk,
    ) -> Result<Option<OpenResult>, String> {
        let memory = self.state.disk.memory().copy();
        if !swap(&memory, path, from) {
            return Ok(None);
        }
        self.state.report.damages += 1;
        self.state.trace.note(format!("swapped: {} {what}", path.display()));
        self.open_copy(&memory, &[&self.state.committed]).map(Some)
    }

    /// After a clean close: a foreign log is not replayed, an older data file is refused.
    fn swap_closed(&mut self, older: &EarlierFiles) -> Result<(), String> {
        let foreign = self.foreign()?;
        let paths = self.state.environment.paths();
        let mut refusal = None;
        for (what, from) in foreign.logs() {
            match self.open_swapped(what, &paths.log, from)? {
                None => {}
                Some(OpenResult::Right(db)) => self.close_copy(db, what)?,
                Some(OpenResult::Wrong(difference)) => {
                    return Err(format!("a log {what}: {difference}"));
                }
                // A copy that loses rows is reported first.
                Some(OpenResult::Refused(why)) => {
                    refusal = Some(format!("closed, with a log {what}, and not opened: {why}"));
                }
            }
        }
        if let Some(OpenResult::Wrong(difference)) =
            self.open_swapped("of before", &paths.log, &older.disk)?
        {
            return Err(format!("a log of before: {difference}"));
        }
        // One data file by itself is the other database.
        for path in paths.data.iter().filter(|_| paths.data.len() > 1) {
            let opened = self.open_swapped("of another database", path, &foreign.closed)?;
            refuse(&format!("{} of another database", path.display()), opened, Expected::Refused)?;
        }
        if older.was_closed && paths.data.len() > 1 {
            // The log may hold everything that an older primary file lacks.
            for (number, path) in paths.data.iter().enumerate().rev() {
                let opened = self.open_swapped("of before", path, &older.disk)?;
                let expected = if number > 0 { Expected::Refused } else { Expected::RightRows };
                refuse(&format!("{} of before", path.display()), opened, expected)?;
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    fn close_copy(&self, db: Arc<Database>, what: &str) -> Result<(), String> {
        db.close().map_err(|error| format!("close, with a log {what}: {error:?}"))
    }

    /// After a crash: a foreign log is refused, and no other file loses a row.
    fn swap_crashed(&mut self, older: &EarlierFiles) -> Result<(), String> {
        let foreign = self.foreign()?;
        let paths = self.state.environment.paths();
        for (what, from) in foreign.logs() {
            let opened = self.open_swapped(what, &paths.log, from)?;
            refuse(&format!("crashed, and a log {what}"), opened, Expected::Refused)?;
        }
        for path in paths.data.iter().skip(1).chain([&paths.log]) {
            if let Some(OpenResult::Wrong(difference)) =
                self.open_swapped("of before", path, &older.disk)?
            {
                return Err(format!("crashed, and {} of before: {difference}", path.display()));
            }
        }
        Ok(())
    }

    /// Copies with one bad page each.
    fn check_bad_pages(&mut self) -> Result<(), String> {
        let files = self.state.environment.paths().data;
        for _ in 0..BAD_PAGES {
            let memory = self.state.disk.memory().copy();
            let Some(bad) = bad_page::damage(&memory, &files, &mut self.state.rng) else {
                continue;
            };
            self.state.report.damages += 1;
            self.state.trace.note(format!("bad: {bad:?}"));
            let outcome = catch_unwind(AssertUnwindSafe(|| self.run_with_bad_page(&memory, &bad)));
            outcome
                .unwrap_or_else(|_| Err("a panic".to_owned()))
                .map_err(|what| format!("{bad:?}: {what}"))?;
        }
        Ok(())
    }

    /// Two openings of a database with a bad page, with work in each, and a clean close.
    fn run_with_bad_page(&self, memory: &MemDisk, bad: &BadPage) -> Result<(), String> {
        let environment = &self.state.environment;
        for round in 0..2 {
            let disk = FaultDisk::over(memory.clone());
            let db = match Database::open(&environment.paths(), environment.options(&disk)) {
                Ok(db) => db,
                Err(error) if bad.role == PageRole::Catalog && names(&error, bad) => return Ok(()),
                // The catalog must be whole.
                Err(error @ Error::CatalogRollback { .. }) if names(&error, bad) => return Ok(()),
                Err(error) => return Err(format!("opening {round}: {error:?}")),
            };
            self.read_with(&db, bad)?;
            self.write_with(&db, bad, round)?;
            match db.close() {
                Err(error) if bad.role == PageRole::Catalog && names(&error, bad) => return Ok(()),
                closed => closed.map_err(|error| format!("close {round}: {error:?}"))?,
            }
        }
        Ok(())
    }

    /// Every row is right or an error names the page; at most one table is affected.
    fn read_with(&self, db: &Arc<Database>, bad: &BadPage) -> Result<(), String> {
        let mut session = db.session();
        let mut unreadable = Vec::new();
        for (name, model) in &self.state.committed {
            let read = session.table(name).and_then(|table| rows::read_table(&mut session, &table));
            match read {
                Ok(found) => {
                    if let Some(difference) =
                        rows::table_difference(name, model, &found, Addresses::Ignored)
                    {
                        return Err(difference);
                    }
                }
                Err(error) if names(&error, bad) => unreadable.push(name),
                Err(error) => return Err(format!("reading {name}: {error:?}")),
            }
        }
        // A transaction whose rollback is deferred keeps all its tables locked.
        if bad.role == PageRole::Table && unreadable.len() > 1 && db.deferred_transactions() == 0 {
            Err(format!("one page, and these cannot be read: {unreadable:?}"))
        } else {
            Ok(())
        }
    }

    /// Statements on other objects succeed.
    fn write_with(&self, db: &Arc<Database>, bad: &BadPage, round: i32) -> Result<(), String> {
        let mut session = db.session();
        let columns = vec![ColumnSpec::new("id", SqlType::Int).not_null()];
        let created = session.create_table(&TableSpec::heap(&format!("fresh{round}"), columns));
        let inserted = created.and_then(|table| session.insert(&table, &[Datum::Int(round)]));
        match inserted {
            Ok(_) => Ok(()),
            Err(error) if bad.role != PageRole::Table && names(&error, bad) => Ok(()),
            Err(error) if matches!(error.cause(), Cause::LogFull | Cause::FilegroupFull) => Ok(()),
            Err(error) => Err(format!("work on another table: {error:?}")),
        }
    }
}

/// What an opening with a swapped file must give.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Refused,
    /// The rows of the model, or a refusal.
    RightRows,
}

/// Checks an opening with a swapped file.
fn refuse(what: &str, opened: Option<OpenResult>, expected: Expected) -> Result<(), String> {
    match opened {
        Some(OpenResult::Right(_)) if expected == Expected::Refused => {
            Err(format!("{what}: opened, and its rows happen to be right"))
        }
        Some(OpenResult::Wrong(difference)) => Err(format!("{what}: {difference}")),
        _ => Ok(()),
    }
}

/// True when the error names the page.
fn names(error: &Error, bad: &BadPage) -> bool {
    // Before the files have their numbers, errors name the path.
    let forms = [bad.page.to_string(), format!("page {} ", bad.page.page)];
    let said = format!("{error} {error:?}");
    forms.iter().any(|form| said.contains(form))
}
