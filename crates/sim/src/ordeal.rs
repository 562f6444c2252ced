//! What is done to copies of the files between two openings, by the kind of the life: damage, and
//! files that are not the right ones.
//!
//! The files themselves stay as they are. A copy is opened, and what must be true of it is looked
//! at.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use extentdb_base::env::Rng;
use extentdb_engine::{Cause, ColumnSpec, Database, Error, TableSpec};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

use crate::disk::FaultDisk;
use crate::fault::bad_page::{self, BadPage, Role};
use crate::fault::swapped_files::{Foreign, swap};
use crate::fault::{full_disk, log_damage};
use crate::kind::Kind;
use crate::life::{Held, Living, Older};
use crate::model::Model;
use crate::property::{reach, rows};

/// Copies with a damaged log, after each crash.
const LOG_DAMAGES: u64 = 8;
/// Copies with a bad page, after each opening.
const BAD_PAGES: u64 = 4;

/// What came of an opening.
enum Opened {
    /// It was refused.
    Refused(String),
    /// It has the rows of the model.
    Right(Box<Database>),
    /// It has others.
    Wrong(String),
}

impl Living {
    /// Before an opening: now and then the disk is full.
    pub(crate) fn fill_disk(&mut self) {
        if self.state.kind != Kind::FullDisk {
            return;
        }
        match self.state.rng.below(2) {
            0 => full_disk::clear(&self.state.disk),
            _ => full_disk::fill(&self.state.disk, &mut self.state.rng),
        }
    }

    /// Copies of a database that was closed cleanly.
    pub(crate) fn torment_closed(&mut self, older: &Older) -> Held {
        match self.state.kind {
            Kind::Swapped => self.swap_closed(older),
            Kind::BadPage => self.spoil_pages(),
            _ => Ok(()),
        }
    }

    /// Copies of a database that crashed. What was in doubt has been decided; `undecided` is the
    /// model without it.
    pub(crate) fn torment_crashed(
        &mut self,
        older: &Older,
        undecided: &Model,
        writes: &[Range<u64>],
    ) -> Held {
        match self.state.kind {
            Kind::LogDamage => self.damage_log(older, undecided, writes),
            Kind::Swapped => self.swap_crashed(older),
            Kind::BadPage => self.spoil_pages(),
            _ => Ok(()),
        }
    }

    /// In lives that look at it: no free page of a mixed extent is out of reach.
    pub(crate) fn verify_reach(&self, memory: &MemDisk, when: &str) -> Held {
        if self.state.kind != Kind::MixedExtents {
            return Ok(());
        }
        match reach::complaint(memory, &self.state.world.paths()) {
            Some(complaint) => Err(format!("{when}: {complaint}")),
            None => Ok(()),
        }
    }

    /// Opens a copy and compares its rows with any of these models.
    fn open_copy(&self, memory: &MemDisk, models: &[&Model]) -> Held<Opened> {
        let world = &self.state.world;
        let disk = FaultDisk::over(memory.clone());
        let open = || {
            let db = Database::open(&world.paths(), world.options(&disk))?;
            let found = rows::read(&db)?;
            let differences: Vec<Option<String>> =
                models.iter().map(|model| rows::difference(model, &found, false)).collect();
            Ok::<_, Error>((db, differences))
        };
        let (db, mut differences) = match catch_unwind(AssertUnwindSafe(open)) {
            Err(_) => return Err("a panic".to_owned()),
            Ok(Err(error)) => return Ok(Opened::Refused(format!("{error}"))),
            Ok(Ok(opened)) => opened,
        };
        if differences.iter().any(Option::is_none) {
            Ok(Opened::Right(Box::new(db)))
        } else {
            Ok(Opened::Wrong(differences.swap_remove(0).unwrap_or_default()))
        }
    }

    /// Either all acknowledged rows, or no opening.
    fn damage_log(&mut self, older: &Older, undecided: &Model, writes: &[Range<u64>]) -> Held {
        let log = self.state.world.paths().log;
        for _ in 0..LOG_DAMAGES {
            let memory = self.state.disk.memory().copy();
            let damaged =
                log_damage::damage(&memory, &older.disk, &log, writes, &mut self.state.rng);
            let Some(damaged) = damaged else { continue };
            self.state.story.damages += 1;
            self.state.trace.note(format!("damaged: {damaged}"));
            let committed = &self.state.committed;
            match self.open_copy(&memory, &[committed, undecided]) {
                Ok(Opened::Refused(_) | Opened::Right(_)) => {}
                Ok(Opened::Wrong(what)) | Err(what) => return Err(format!("{damaged}: {what}")),
            }
        }
        Ok(())
    }

    fn foreign(&mut self) -> Held<Foreign> {
        let state = &mut self.state;
        Foreign::of(&state.world, &mut state.rng)
            .map_err(|error| format!("another database: {error:?}"))
    }

    /// Opens a copy in which a file was swapped; `None` when it is the same file.
    fn open_swapped(&mut self, what: &str, path: &Path, from: &MemDisk) -> Held<Option<Opened>> {
        let memory = self.state.disk.memory().copy();
        if !swap(&memory, path, from) {
            return Ok(None);
        }
        self.state.story.damages += 1;
        self.state.trace.note(format!("swapped: {} {what}", path.display()));
        self.open_copy(&memory, &[&self.state.committed]).map(Some)
    }

    /// After a clean close: a foreign log is not replayed, an older data file is refused.
    fn swap_closed(&mut self, older: &Older) -> Held {
        let foreign = self.foreign()?;
        let paths = self.state.world.paths();
        let mut refusal = None;
        for (what, from) in foreign.logs() {
            match self.open_swapped(what, &paths.log, from)? {
                None => {}
                Some(Opened::Right(db)) => self.close_copy(*db, what)?,
                Some(Opened::Wrong(difference)) => {
                    return Err(format!("a log {what}: {difference}"));
                }
                // What loses rows is told first.
                Some(Opened::Refused(why)) => {
                    refusal = Some(format!("closed, with a log {what}, and not opened: {why}"));
                }
            }
        }
        if let Some(Opened::Wrong(difference)) =
            self.open_swapped("of before", &paths.log, &older.disk)?
        {
            return Err(format!("a log of before: {difference}"));
        }
        // One data file by itself is the other database.
        for path in paths.data.iter().filter(|_| paths.data.len() > 1) {
            let opened = self.open_swapped("of another database", path, &foreign.closed)?;
            refuse(&format!("{} of another database", path.display()), opened, true)?;
        }
        if older.was_closed && paths.data.len() > 1 {
            // The log may have all that an older primary file lacks, and says so.
            for (number, path) in paths.data.iter().enumerate().rev() {
                let opened = self.open_swapped("of before", path, &older.disk)?;
                let is_secondary = number > 0;
                refuse(&format!("{} of before", path.display()), opened, is_secondary)?;
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    fn close_copy(&self, db: Database, what: &str) -> Held {
        db.close().map_err(|error| format!("close, with a log {what}: {error:?}"))
    }

    /// After a crash: a foreign log is refused, and no other file costs a row.
    fn swap_crashed(&mut self, older: &Older) -> Held {
        let foreign = self.foreign()?;
        let paths = self.state.world.paths();
        for (what, from) in foreign.logs() {
            let opened = self.open_swapped(what, &paths.log, from)?;
            refuse(&format!("crashed, and a log {what}"), opened, true)?;
        }
        for path in paths.data.iter().skip(1).chain([&paths.log]) {
            if let Some(Opened::Wrong(difference)) =
                self.open_swapped("of before", path, &older.disk)?
            {
                return Err(format!("crashed, and {} of before: {difference}", path.display()));
            }
        }
        Ok(())
    }

    /// Copies with one bad page each.
    fn spoil_pages(&mut self) -> Held {
        let files = self.state.world.paths().data;
        for _ in 0..BAD_PAGES {
            let memory = self.state.disk.memory().copy();
            let Some(bad) = bad_page::damage(&memory, &files, &mut self.state.rng) else {
                continue;
            };
            self.state.story.damages += 1;
            self.state.trace.note(format!("bad: {bad:?}"));
            let lived = catch_unwind(AssertUnwindSafe(|| self.live_with(&memory, &bad)));
            lived
                .unwrap_or_else(|_| Err("a panic".to_owned()))
                .map_err(|what| format!("{bad:?}: {what}"))?;
        }
        Ok(())
    }

    /// Two openings of a database with a bad page, with work in each, and a clean close.
    fn live_with(&self, memory: &MemDisk, bad: &BadPage) -> Held {
        let world = &self.state.world;
        for round in 0..2 {
            let disk = FaultDisk::over(memory.clone());
            let db = match Database::open(&world.paths(), world.options(&disk)) {
                Ok(db) => db,
                Err(error) if bad.role == Role::Catalog && names(&error, bad) => return Ok(()),
                Err(error) => return Err(format!("opening {round}: {error:?}")),
            };
            self.read_with(&db, bad)?;
            self.write_with(&db, bad, round)?;
            match db.close() {
                Err(error) if bad.role == Role::Catalog && names(&error, bad) => return Ok(()),
                closed => closed.map_err(|error| format!("close {round}: {error:?}"))?,
            }
        }
        Ok(())
    }

    /// Every row is right or an error names the page; of the tables one at most is concerned.
    fn read_with(&self, db: &Database, bad: &BadPage) -> Held {
        let mut session = db.session();
        let mut unreadable = Vec::new();
        for (name, model) in &self.state.committed {
            let read = session.table(name).and_then(|table| rows::read_table(&mut session, &table));
            match read {
                Ok(found) => {
                    if let Some(difference) = rows::table_difference(name, model, &found, false) {
                        return Err(difference);
                    }
                }
                Err(error) if names(&error, bad) => unreadable.push(name),
                Err(error) => return Err(format!("reading {name}: {error:?}")),
            }
        }
        // A transaction whose rollback is deferred keeps all its tables locked.
        if bad.role == Role::Table && unreadable.len() > 1 && db.deferred_transactions() == 0 {
            Err(format!("one page, and these cannot be read: {unreadable:?}"))
        } else {
            Ok(())
        }
    }

    /// Work on other objects goes on.
    fn write_with(&self, db: &Database, bad: &BadPage, round: i32) -> Held {
        let mut session = db.session();
        let columns = vec![ColumnSpec::new("id", SqlType::Int).not_null()];
        let created = session.create_table(&TableSpec::heap(&format!("fresh{round}"), columns));
        let inserted = created.and_then(|table| session.insert(&table, &[Datum::Int(round)]));
        match inserted {
            Ok(_) => Ok(()),
            Err(error) if bad.role != Role::Table && names(&error, bad) => Ok(()),
            Err(error) if matches!(error.cause(), Cause::LogFull | Cause::FilegroupFull) => Ok(()),
            Err(error) => Err(format!("work on another table: {error:?}")),
        }
    }
}

/// A file that is not the right one costs no row; some must be refused.
fn refuse(what: &str, opened: Option<Opened>, must_be: bool) -> Held {
    match opened {
        Some(Opened::Right(_)) if must_be => {
            Err(format!("{what}: opened, and its rows are right by luck"))
        }
        Some(Opened::Wrong(difference)) => Err(format!("{what}: {difference}")),
        _ => Ok(()),
    }
}

/// Does the error say which page it is?
fn names(error: &Error, bad: &BadPage) -> bool {
    // Before the files have their numbers, errors name the path.
    let forms = [bad.page.to_string(), format!("page {} ", bad.page.page)];
    let said = format!("{error} {error:?}");
    forms.iter().any(|form| said.contains(form))
}
