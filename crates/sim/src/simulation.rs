//! A simulation run: a database is created, used, damaged, recovered and checked, again and again.
//!
//! ```text
//! create ─▶ ┌ recovery of a copy without faults: rows, counters, full check; decides the doubts
//!           │ up to three power cuts during recovery
//!           │ open, compare; a fault is armed; statements          (workload.rs)
//!           │ closed: full check; copies are damaged and opened    (fault/, damaged_copies.rs)
//!           └ or crashed: the disk after a power cut               ─▶ again
//! ```

use std::path::PathBuf;

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::Database;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;
use crate::environment::Environment;
use crate::fault::{Fault, bit_rot, lost_write, misdirected_write};
use crate::kept_files::KeptFiles;
use crate::kind::RunKind;
use crate::model::{Model, with};
use crate::property::detected::{Witness, witness};
use crate::property::rows::Addresses;
use crate::property::{counters, rows, sound};
use crate::trace::Trace;
use crate::workload::{RunState, RunStop, Workload};

/// The parameters of a simulation run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunConfig {
    /// Determines the whole run.
    pub seed: u64,
    /// How often the database is opened.
    pub openings: u64,
    /// Files of the smallest size, which do not grow.
    pub is_tight: bool,
    /// With the statements of the second generation. Without them, seeds give the runs of the
    /// first.
    pub is_rich: bool,
    /// With CREATE INDEX and DROP INDEX.
    pub is_indexed: bool,
    /// With ALTER TABLE of columns, filtered and disabled indexes.
    pub is_altered: bool,
    /// Prints each step when it is done.
    pub is_loud: bool,
    /// The fault of this run beyond those of every run.
    pub kind: RunKind,
}

impl RunConfig {
    /// Five openings, first-generation statements.
    pub fn of(seed: u64) -> RunConfig {
        RunConfig {
            seed,
            openings: 5,
            is_tight: false,
            is_rich: false,
            is_indexed: false,
            is_altered: false,
            is_loud: false,
            kind: RunKind::Plain,
        }
    }

    /// Five openings, every kind of statement, and the fault of `kind`.
    pub fn of_kind(kind: RunKind, seed: u64) -> RunConfig {
        let is_tight = kind.may_be_tight() && seed % 3 == 2;
        RunConfig { kind, is_tight, ..RunConfig::altered(seed) }
    }

    /// Five openings, statements of both generations; every second seed is tight.
    pub fn rich(seed: u64) -> RunConfig {
        RunConfig {
            is_rich: true,
            is_tight: seed % 2 == 1,
            ..RunConfig::of(seed)
        }
    }

    /// The same with indexes; every third seed is tight.
    pub fn indexed(seed: u64) -> RunConfig {
        RunConfig {
            is_rich: true,
            is_indexed: true,
            is_tight: seed % 3 == 2,
            ..RunConfig::of(seed)
        }
    }

    /// The same with every kind of statement; every third seed is tight.
    pub fn altered(seed: u64) -> RunConfig {
        RunConfig { is_altered: true, ..RunConfig::indexed(seed) }
    }

    /// Five openings, tight.
    pub fn tight(seed: u64) -> RunConfig {
        RunConfig { is_tight: true, ..RunConfig::of(seed) }
    }
}

/// What happened in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Steps of all openings together.
    pub steps: u64,
    /// Acknowledged commits that changed something.
    pub commits: u64,
    /// Transactions rolled back.
    pub rollbacks: u64,
    /// Statements refused because the log was full.
    pub full_logs: u64,
    /// Statements refused because a filegroup was full.
    pub full_filegroups: u64,
    /// Statements refused because of a lock.
    pub lock_conflicts: u64,
    /// Power cuts and killed processes.
    pub cuts: u64,
    /// Calls of the disk that a fault let fail.
    pub faults: u64,
    /// Full checks without finding.
    pub checks: u64,
    /// Damaged copies of the files.
    pub damages: u64,
    /// Lost writes that nothing in the files contradicts.
    pub silent_losses: u64,
    /// Every step, line by line.
    pub trace: Vec<String>,
}

/// A run in which a property does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The parameters of the run.
    pub config: RunConfig,
    /// The property that does not hold.
    pub what: String,
    /// Every step until the failure.
    pub trace: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RunConfig {
            seed,
            openings,
            is_tight,
            is_rich,
            is_indexed,
            is_altered,
            kind,
            ..
        } = self.config;
        writeln!(f, "seed {seed}: {}", self.what)?;
        let from = self.trace.len().saturating_sub(12);
        self.trace[from..].iter().try_for_each(|line| writeln!(f, "    {line}"))?;
        let tight = if is_tight { " --tight" } else { "" };
        let rich = if is_rich { " --rich" } else { "" };
        let indexed = if is_indexed { " --indexed" } else { "" };
        let altered = if is_altered { " --altered" } else { "" };
        let kind =
            if kind == RunKind::Plain { String::new() } else { format!(" --kind {}", kind.name()) };
        write!(
            f,
            "  again: cargo x sim --seed {seed} --openings {openings}{tight}{rich}{indexed}{altered}{kind} --trace"
        )
    }
}

/// Runs a simulation.
///
/// # Errors
/// A property does not hold.
pub fn run(config: &RunConfig) -> Result<RunReport, Box<Failure>> {
    run_and_keep(config).0
}

/// Runs a simulation; returns the files at its end, too.
pub fn run_and_keep(config: &RunConfig) -> (Result<RunReport, Box<Failure>>, KeptFiles) {
    let mut rng = SplitMix64::new(config.seed);
    let environment = if config.is_tight {
        Environment::tight(&mut rng, config.seed)
    } else {
        Environment::new(&mut rng, config.seed)
    };
    let state = RunState {
        rng,
        environment,
        disk: FaultDisk::default(),
        committed: Model::new(),
        in_doubt: Vec::new(),
        trace: Trace::new(config.is_loud),
        report: RunReport::default(),
        next_id: 1,
        next_table: 1,
        is_rich: config.is_rich,
        is_indexed: config.is_indexed,
        is_altered: config.is_altered,
        kind: config.kind,
    };
    let mut simulation = Simulation { state };
    let outcome = simulation.run(config.openings).and_then(|()| simulation.end());
    let RunState { disk, environment, committed, mut report, trace, .. } = simulation.state;
    let kept = KeptFiles::of(disk.memory(), &environment, &committed);
    report.faults += disk.fired();
    let trace = trace.into_lines();
    let outcome = match outcome {
        Ok(()) => Ok(RunReport { trace, ..report }),
        Err(what) => Err(Box::new(Failure { config: *config, what, trace })),
    };
    (outcome, kept)
}

pub(crate) struct Simulation {
    pub(crate) state: RunState,
}

/// The files as they were when the database was last opened.
pub(crate) struct EarlierFiles {
    pub(crate) disk: MemDisk,
    /// True when the database was closed cleanly then.
    pub(crate) was_closed: bool,
}

impl Simulation {
    fn run(&mut self, openings: u64) -> Result<(), String> {
        let environment = &self.state.environment;
        self.state.trace.note(format!("{environment:?}"));
        let made = Database::create(&environment.spec, environment.options(&self.state.disk));
        made.and_then(Database::close).map_err(|error| format!("create: {error:?}"))?;
        self.sound(&self.state.disk.memory().clone(), "after creation")?;
        let mut was_closed = true;
        for _ in 0..openings {
            let older = EarlierFiles { disk: self.state.disk.memory().copy(), was_closed };
            let fault = self.state.kind.any_fault(&mut self.state.rng);
            self.state.trace.note(format!("opened: {fault:?}"));
            self.fill_disk();
            was_closed = self.opening(fault, was_closed)?;
            if was_closed {
                self.damage_copies(&older.disk)?
            } else {
                self.crash(&older)?
            }
            if was_closed {
                self.damage_closed_copies(&older)?;
            }
        }
        Ok(())
    }

    /// Leaves the files of a cleanly closed database, whatever happened last.
    fn end(&mut self) -> Result<(), String> {
        self.state.disk.memory().set_capacity(None);
        let db = self.open()?;
        self.compare(&db, "after opening")?;
        db.close().map_err(|error| format!("the last close: {error:?}"))?;
        self.sound(&self.state.disk.memory().clone(), "at the end")
    }

    /// From an opening to a close; false when the database was not closed cleanly.
    fn opening(&mut self, fault: Fault, was_closed: bool) -> Result<bool, String> {
        let db = self.open()?;
        if was_closed && !db.recovered().was_clean() {
            return Err(format!("closed, and not clean: {:?}", db.recovered()));
        }
        self.compare(&db, "after opening")?;
        fault.arm(&self.state.disk.clone(), &mut self.state.rng);
        let steps = 20 + self.state.rng.below(400);
        let mut work = Workload::new(&db, &mut self.state);
        let outcome =
            work.run(steps).and_then(|()| work.change_room()).and_then(|()| match fault {
                Fault::Abandoned => Err(RunStop::Dead),
                Fault::CutCheckpoint => work.die_in_checkpoint(),
                _ => work.finish(),
            });
        drop(work);
        match outcome {
            Ok(()) => self.close(db),
            Err(RunStop::Dead) => Ok(false),
            Err(RunStop::Wrong(what)) => Err(what),
        }
    }

    fn open(&mut self) -> Result<Database, String> {
        let environment = &self.state.environment;
        let opened = Database::open(&environment.paths(), environment.options(&self.state.disk));
        opened.map_err(|error| format!("open: {error:?}"))
    }

    fn close(&mut self, db: Database) -> Result<bool, String> {
        let fired = self.state.disk.fired();
        let closed = db.close();
        self.state.trace.note(format!("close: {}", closed.is_ok()));
        let is_faulty = fired > self.state.report.faults || self.state.disk.fired() > fired;
        match closed {
            Ok(()) => {
                self.renew(self.state.disk.memory().clone());
                self.sound(&self.state.disk.memory().clone(), "after a close")?;
                Ok(true)
            }
            Err(_) if is_faulty || self.state.disk.memory().is_dark() => Ok(false),
            Err(error) => Err(format!("close: {error:?}")),
        }
    }

    /// Replaces the disk by one of the same bytes without faults.
    fn renew(&mut self, memory: MemDisk) {
        self.state.report.faults += self.state.disk.fired();
        memory.fail_after(u64::MAX);
        self.state.disk = FaultDisk::over(memory);
    }

    /// A power cut or the death of the process now, and up to three more during recovery.
    fn crash(&mut self, older: &EarlierFiles) -> Result<(), String> {
        let mut memory = self.state.kind.crash(&self.state.disk, &mut self.state.rng);
        self.state.report.cuts += 1;
        let writes = self.state.disk.log_writes();
        self.renew(memory);
        let undecided = self.state.committed.clone();
        self.recover_copy()?;
        self.damage_crashed_copies(older, &undecided, &writes)?;
        for _ in 0..self.state.rng.below(4) {
            let calls = self.state.rng.below(250);
            self.state.trace.note(format!("power cut after {calls} calls of the recovery"));
            self.state.disk.memory().fail_after(calls);
            match Database::open(
                &self.state.environment.paths(),
                self.state.environment.options(&self.state.disk),
            ) {
                Ok(db) => drop(db),
                Err(_) if self.state.disk.memory().is_dark() => {}
                Err(error) => return Err(format!("open, cut after {calls} calls: {error:?}")),
            }
            memory = self.state.kind.crash(&self.state.disk, &mut self.state.rng);
            self.state.report.cuts += 1;
            self.renew(memory);
        }
        Ok(())
    }

    /// Recovers a copy of the disk, compares, closes and checks it.
    fn recover_copy(&mut self) -> Result<(), String> {
        let memory = self.state.disk.memory().copy();
        let disk = FaultDisk::over(memory.clone());
        let opened =
            Database::open(&self.state.environment.paths(), self.state.environment.options(&disk));
        let db = opened.map_err(|error| format!("recovery: {error:?}"))?;
        self.state.trace.note(format!("recovered: {:?}", db.recovered()));
        self.compare(&db, "after recovery")?;
        db.close().map_err(|error| format!("close after recovery: {error:?}"))?;
        self.sound(&memory, "after recovery")
    }

    /// Compares rows and counters with the model; decides the transactions in doubt.
    fn compare(&mut self, db: &Database, when: &str) -> Result<(), String> {
        let found = rows::read(db).map_err(|error| format!("scan: {error:?}"))?;
        let state = &mut self.state;
        let in_doubt = std::mem::take(&mut state.in_doubt);
        // Every subset of the transactions in doubt, all of them first; then none.
        for subset in (1..1u32 << in_doubt.len()).rev() {
            let chosen = in_doubt.iter().enumerate().filter(|(at, _)| subset >> at & 1 == 1);
            let doubtful =
                chosen.fold(state.committed.clone(), |model, (_, changes)| with(&model, changes));
            if rows::difference(&doubtful, &found, Addresses::Ignored).is_none() {
                state.committed = doubtful;
                for (name, table) in &mut state.committed {
                    for (id, stored) in &mut table.rows {
                        stored.at = found[name].rows[id].0.clone();
                    }
                }
                break;
            }
        }
        match rows::difference(&state.committed, &found, Addresses::Compared)
            .or_else(|| counters::difference(db, &found))
        {
            Some(what) => Err(format!("{what}, {when}")),
            None => Ok(()),
        }
    }

    fn sound(&mut self, memory: &MemDisk, when: &str) -> Result<(), String> {
        self.state.report.checks += 1;
        self.verify_reach(memory, when)?;
        match sound::complaint(memory, &self.state.environment.paths()) {
            Some(complaint) => Err(format!("{when}: {complaint}")),
            None => Ok(()),
        }
    }

    /// Damages copies of the closed database: reads give errors or the right rows.
    fn damage_copies(&mut self, older: &MemDisk) -> Result<(), String> {
        let targets = self.targets()?;
        if targets.is_empty() {
            return Ok(());
        }
        for kind in 0..3 {
            let memory = self.state.disk.memory().copy();
            let rng = &mut self.state.rng;
            let (path, page) = targets[rng.below(targets.len() as u64) as usize].clone();
            let other = targets.iter().find(|(file, other)| *file == path && *other != page);
            let damaged = match kind {
                0 => bit_rot::damage(&memory, &path, page, rng),
                1 => other
                    .and_then(|(_, from)| misdirected_write::damage(&memory, &path, *from, page)),
                _ => lost_write::damage(&memory, older, &path, page),
            };
            let Some(damaged) = damaged else { continue };
            self.state.trace.note(format!("damaged: {damaged:?}"));
            self.state.report.damages += 1;
            match (witness(&self.state.environment, memory, &self.state.committed), kind) {
                (Witness::Check, _) | (Witness::Harmless, 2) => {}
                // A stale page that nothing contradicts; see `lost_write`.
                (Witness::Nobody, 2) => self.state.report.silent_losses += 1,
                (witness, _) => return Err(format!("{damaged:?}: {witness:?}")),
            }
        }
        Ok(())
    }

    /// Pages that hold rows.
    fn targets(&mut self) -> Result<Vec<(PathBuf, u32)>, String> {
        let memory = self.state.disk.memory().copy();
        let paths = self.state.environment.paths();
        let opened =
            Database::open(&paths, self.state.environment.options(&FaultDisk::over(memory)));
        let db = opened.map_err(|error| format!("open: {error:?}"))?;
        let mut targets = Vec::new();
        for table in db.tables() {
            let pages = match table.heap() {
                Some(heap) => {
                    heap.formatted_pages().map_err(|error| format!("pages: {error:?}"))?
                }
                None => db
                    .space()
                    .pages_of(&table.unit())
                    .map_err(|error| format!("pages: {error:?}"))?,
            };
            targets.extend(pages.into_iter().filter_map(|page: PageId| {
                let number =
                    usize::from(page.file.0).saturating_sub(if page.file.0 > 1 { 2 } else { 1 });
                Some((paths.data.get(number)?.clone(), page.page))
            }));
        }
        Ok(targets)
    }
}
