//! A life: a database is made, used, hurt, recovered and checked, again and again.
//!
//! ```text
//! create ─▶ ┌ a copy is recovered in peace: rows, counters, full check   (also the judge of what was in doubt)
//!           │ the power goes during recovery, up to three times
//!           │ open, compare; a fault is armed; work                       (work.rs)
//!           │ closed: full check; a copy is damaged and must not lie      (fault/, ordeal.rs)
//!           └ or dead: what a power cut leaves                            ─▶ again
//! ```

use std::path::PathBuf;

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::Database;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;
use crate::fault::{Fault, bit_rot, lost_write, misdirected_write};
use crate::keep::Kept;
use crate::kind::Kind;
use crate::model::{Model, with};
use crate::property::detected::{Witness, witness};
use crate::property::{counters, rows, sound};
use crate::trace::Trace;
use crate::work::{State, Stop, Work};
use crate::world::World;

/// How a life is to be lived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Everything follows from it.
    pub seed: u64,
    /// How often the database is opened.
    pub openings: u64,
    /// In the smallest files there can be, which do not grow.
    pub is_tight: bool,
    /// With statements that the first lives did not have: those of old seeds shall stay what they
    /// were.
    pub is_rich: bool,
    /// With indexes: statements that the lives before did not have.
    pub is_indexed: bool,
    /// With columns that come, go and change, filtered indexes, and those that are switched off.
    pub is_altered: bool,
    /// Print each step when it is done.
    pub is_loud: bool,
    /// What goes wrong beyond what goes wrong in every one.
    pub kind: Kind,
}

impl Life {
    /// Of usual length.
    pub fn of(seed: u64) -> Life {
        Life {
            seed,
            openings: 5,
            is_tight: false,
            is_rich: false,
            is_indexed: false,
            is_altered: false,
            is_loud: false,
            kind: Kind::Plain,
        }
    }

    /// Of usual length, with every kind of statement, and with what goes wrong in this kind of it.
    pub fn of_kind(kind: Kind, seed: u64) -> Life {
        let is_tight = kind.may_be_tight() && seed % 3 == 2;
        Life { kind, is_tight, ..Life::altered(seed) }
    }

    /// The device writes sectors of 512 or 4,096 bytes, so that power cuts tear pages.
    pub fn torn(seed: u64) -> Life {
        Life::of_kind(Kind::Torn, seed)
    }

    /// The process is killed where others lose power.
    pub fn killed(seed: u64) -> Life {
        Life::of_kind(Kind::Killed, seed)
    }

    /// The disk is full, at openings and during statements.
    pub fn full_disk(seed: u64) -> Life {
        Life::of_kind(Kind::FullDisk, seed)
    }

    /// DDL in explicit transactions, rolled back for the most part, and checkpoints between any two
    /// statements.
    pub fn ddl(seed: u64) -> Life {
        Life::of_kind(Kind::Ddl, seed)
    }

    /// Used sectors of the log are damaged after each crash.
    pub fn log_damage(seed: u64) -> Life {
        Life::of_kind(Kind::LogDamage, seed)
    }

    /// Files are swapped with those of another database, or of another age.
    pub fn swapped(seed: u64) -> Life {
        Life::of_kind(Kind::Swapped, seed)
    }

    /// One allocated page is bad, in closed databases and in crashed ones.
    pub fn bad_page(seed: u64) -> Life {
        Life::of_kind(Kind::BadPage, seed)
    }

    /// After each close no free page of a mixed extent is out of reach.
    pub fn mixed_extents(seed: u64) -> Life {
        Life::of_kind(Kind::MixedExtents, seed)
    }

    /// Of usual length, and with every kind of statement; half of them are short of space.
    pub fn rich(seed: u64) -> Life {
        Life { is_rich: true, is_tight: seed % 2 == 1, ..Life::of(seed) }
    }

    /// Of usual length, with every kind of statement and with indexes; a third of them are short of
    /// space.
    pub fn indexed(seed: u64) -> Life {
        Life {
            is_rich: true,
            is_indexed: true,
            is_tight: seed % 3 == 2,
            ..Life::of(seed)
        }
    }

    /// Of usual length, with everything there is; a third of them are short of space.
    pub fn altered(seed: u64) -> Life {
        Life { is_altered: true, ..Life::indexed(seed) }
    }

    /// Of usual length, and always short of space.
    pub fn tight(seed: u64) -> Life {
        Life { is_tight: true, ..Life::of(seed) }
    }
}

/// What a life was like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// Steps done.
    pub steps: u64,
    /// Commits acknowledged.
    pub commits: u64,
    /// Transactions rolled back.
    pub rollbacks: u64,
    /// Statements refused because the log was full.
    pub full_logs: u64,
    /// Statements refused because a filegroup was full.
    pub full_filegroups: u64,
    /// Statements refused because of a lock.
    pub lock_conflicts: u64,
    /// Times the power went.
    pub cuts: u64,
    /// Calls that failed by plan.
    pub faults: u64,
    /// Full checks without finding.
    pub checks: u64,
    /// Damage done to closed files.
    pub damages: u64,
    /// Lost writes that the files themselves cannot tell.
    pub silent_losses: u64,
    /// Every step, line by line.
    pub trace: Vec<String>,
}

/// A life in which something was as it must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which one.
    pub life: Life,
    /// What was wrong.
    pub what: String,
    /// Every step until then.
    pub trace: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Life {
            seed,
            openings,
            is_tight,
            is_rich,
            is_indexed,
            is_altered,
            kind,
            ..
        } = self.life;
        writeln!(f, "seed {seed}: {}", self.what)?;
        let from = self.trace.len().saturating_sub(12);
        self.trace[from..].iter().try_for_each(|line| writeln!(f, "    {line}"))?;
        let tight = if is_tight { " --tight" } else { "" };
        let rich = if is_rich { " --rich" } else { "" };
        let indexed = if is_indexed { " --indexed" } else { "" };
        let altered = if is_altered { " --altered" } else { "" };
        let kind =
            if kind == Kind::Plain { String::new() } else { format!(" --kind {}", kind.name()) };
        write!(
            f,
            "  again: cargo x sim --seed {seed} --openings {openings}{tight}{rich}{indexed}{altered}{kind} --trace"
        )
    }
}

/// Lives a life.
///
/// # Errors
/// A property does not hold.
pub fn live(life: &Life) -> Result<Story, Box<Failure>> {
    live_and_keep(life).0
}

/// Lives a life; returns what it leaves behind, too.
pub fn live_and_keep(life: &Life) -> (Result<Story, Box<Failure>>, Kept) {
    let mut rng = SplitMix64::new(life.seed);
    let world = if life.is_tight {
        World::tight(&mut rng, life.seed)
    } else {
        World::new(&mut rng, life.seed)
    };
    let state = State {
        rng,
        world,
        disk: FaultDisk::default(),
        committed: Model::new(),
        in_doubt: Vec::new(),
        trace: Trace::new(life.is_loud),
        story: Story::default(),
        next_id: 1,
        next_table: 1,
        is_rich: life.is_rich,
        is_indexed: life.is_indexed,
        is_altered: life.is_altered,
        kind: life.kind,
    };
    let mut living = Living { state };
    let lived = living.live(life.openings).and_then(|()| living.end());
    let State { disk, world, committed, mut story, trace, .. } = living.state;
    let kept = Kept::of(disk.memory(), &world, &committed);
    story.faults += disk.fired();
    let trace = trace.into_lines();
    let lived = match lived {
        Ok(()) => Ok(Story { trace, ..story }),
        Err(what) => Err(Box::new(Failure { life: *life, what, trace })),
    };
    (lived, kept)
}

pub(crate) struct Living {
    pub(crate) state: State,
}

/// The files as they were when the database was last opened.
pub(crate) struct Older {
    pub(crate) disk: MemDisk,
    /// Had it been closed then?
    pub(crate) was_closed: bool,
}

/// A property that does not hold, in words.
pub(crate) type Held<T = ()> = Result<T, String>;

impl Living {
    fn live(&mut self, openings: u64) -> Held {
        let world = &self.state.world;
        self.state.trace.note(format!("{world:?}"));
        let made = Database::create(&world.spec, world.options(&self.state.disk));
        made.and_then(Database::close).map_err(|error| format!("create: {error:?}"))?;
        self.sound(&self.state.disk.memory().clone(), "after creation")?;
        let mut was_closed = true;
        for _ in 0..openings {
            let older = Older { disk: self.state.disk.memory().copy(), was_closed };
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
                self.torment_closed(&older)?;
            }
        }
        Ok(())
    }

    /// Whatever came last, the files are those of a database that was closed.
    fn end(&mut self) -> Held {
        self.state.disk.memory().set_capacity(None);
        let db = self.open()?;
        self.compare(&db, true)?;
        db.close().map_err(|error| format!("the last close: {error:?}"))?;
        self.sound(&self.state.disk.memory().clone(), "at the end")
    }

    /// From an opening to a clean close, or not: false.
    fn opening(&mut self, fault: Fault, was_closed: bool) -> Held<bool> {
        let db = self.open()?;
        if was_closed && !db.recovered().was_clean() {
            return Err(format!("closed, and not clean: {:?}", db.recovered()));
        }
        self.compare(&db, true)?;
        fault.arm(&self.state.disk.clone(), &mut self.state.rng);
        let steps = 20 + self.state.rng.below(400);
        let mut work = Work::new(&db, &mut self.state);
        let lived = work.run(steps).and_then(|()| work.change_room()).and_then(|()| match fault {
            Fault::Abandoned => Err(Stop::Dead),
            Fault::CutCheckpoint => work.die_in_checkpoint(),
            _ => work.finish(),
        });
        drop(work);
        match lived {
            Ok(()) => self.close(db),
            Err(Stop::Dead) => Ok(false),
            Err(Stop::Wrong(what)) => Err(what),
        }
    }

    fn open(&mut self) -> Held<Database> {
        let world = &self.state.world;
        let opened = Database::open(&world.paths(), world.options(&self.state.disk));
        opened.map_err(|error| format!("open: {error:?}"))
    }

    fn close(&mut self, db: Database) -> Held<bool> {
        let fired = self.state.disk.fired();
        let closed = db.close();
        self.state.trace.note(format!("close: {}", closed.is_ok()));
        let is_faulty = fired > self.state.story.faults || self.state.disk.fired() > fired;
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

    /// The same bytes, and nothing fails any more.
    fn renew(&mut self, memory: MemDisk) {
        self.state.story.faults += self.state.disk.fired();
        memory.fail_after(u64::MAX);
        self.state.disk = FaultDisk::over(memory);
    }

    /// The power goes now, or the process dies, and up to three times more while the database
    /// recovers.
    fn crash(&mut self, older: &Older) -> Held {
        let mut memory = self.state.kind.crash(&self.state.disk, &mut self.state.rng);
        self.state.story.cuts += 1;
        let writes = self.state.disk.log_writes();
        self.renew(memory);
        let undecided = self.state.committed.clone();
        self.recover_copy()?;
        self.torment_crashed(older, &undecided, &writes)?;
        for _ in 0..self.state.rng.below(4) {
            let calls = self.state.rng.below(250);
            self.state.trace.note(format!("the power goes after {calls} calls of the recovery"));
            self.state.disk.memory().fail_after(calls);
            match Database::open(
                &self.state.world.paths(),
                self.state.world.options(&self.state.disk),
            ) {
                Ok(db) => drop(db),
                Err(_) if self.state.disk.memory().is_dark() => {}
                Err(error) => return Err(format!("open, cut after {calls} calls: {error:?}")),
            }
            memory = self.state.kind.crash(&self.state.disk, &mut self.state.rng);
            self.state.story.cuts += 1;
            self.renew(memory);
        }
        Ok(())
    }

    /// Recovers a copy of the disk, compares, closes and checks it.
    fn recover_copy(&mut self) -> Held {
        let memory = self.state.disk.memory().copy();
        let disk = FaultDisk::over(memory.clone());
        let opened = Database::open(&self.state.world.paths(), self.state.world.options(&disk));
        let db = opened.map_err(|error| format!("recovery: {error:?}"))?;
        self.state.trace.note(format!("recovered: {:?}", db.recovered()));
        self.compare(&db, false)?;
        db.close().map_err(|error| format!("close after recovery: {error:?}"))?;
        self.sound(&memory, "after recovery")
    }

    /// Rows and counters against the model. What was in doubt is decided here.
    fn compare(&mut self, db: &Database, is_second: bool) -> Held {
        let found = rows::read(db).map_err(|error| format!("scan: {error:?}"))?;
        let state = &mut self.state;
        let in_doubt = std::mem::take(&mut state.in_doubt);
        // Every subset of what was in doubt, all of it first. What is not there is in no subset.
        for subset in (1..1u32 << in_doubt.len()).rev() {
            let chosen = in_doubt.iter().enumerate().filter(|(at, _)| subset >> at & 1 == 1);
            let doubtful =
                chosen.fold(state.committed.clone(), |model, (_, changes)| with(&model, changes));
            if rows::difference(&doubtful, &found, false).is_none() {
                state.committed = doubtful;
                for (name, table) in &mut state.committed {
                    for (id, stored) in &mut table.rows {
                        stored.at = found[name].rows[id].0.clone();
                    }
                }
                break;
            }
        }
        let when = if is_second { "after opening" } else { "after recovery" };
        match rows::difference(&state.committed, &found, true)
            .or_else(|| counters::difference(db, &found))
        {
            Some(what) => Err(format!("{what}, {when}")),
            None => Ok(()),
        }
    }

    fn sound(&mut self, memory: &MemDisk, when: &str) -> Held {
        self.state.story.checks += 1;
        self.verify_reach(memory, when)?;
        match sound::complaint(memory, &self.state.world.paths()) {
            Some(complaint) => Err(format!("{when}: {complaint}")),
            None => Ok(()),
        }
    }

    /// Damages copies of the closed database: whoever reads them gets errors or the right rows.
    fn damage_copies(&mut self, older: &MemDisk) -> Held {
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
            self.state.story.damages += 1;
            match (witness(&self.state.world, memory, &self.state.committed), kind) {
                (Witness::Check, _) | (Witness::Harmless, 2) => {}
                // See the fault: a stale page that contradicts nothing.
                (Witness::Nobody, 2) => self.state.story.silent_losses += 1,
                (witness, _) => return Err(format!("{damaged:?}: {witness:?}")),
            }
        }
        Ok(())
    }

    /// Pages that hold rows.
    fn targets(&mut self) -> Held<Vec<(PathBuf, u32)>> {
        let memory = self.state.disk.memory().copy();
        let paths = self.state.world.paths();
        let opened = Database::open(&paths, self.state.world.options(&FaultDisk::over(memory)));
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
