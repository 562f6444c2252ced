//! Selects the backup sets that form a database, by their headers alone.
//!
//! ```text
//! full ──────────┬──────────────────────────────────── the newest that fits the stop
//! differential   └──▶ has the set GUID of the full     the newest that fits the stop
//! log, log, …         first LSN <= where the chain ends < last LSN, on the fork where the chain is
//! ```
//!
//! `last_lsn` is exclusive: a log backup that begins there follows. Sets that are not needed are
//! left out and listed; a set that cannot follow is an error that names both sides.

pub(crate) mod stop;

use std::path::PathBuf;

use extentdb_format::log::LogTime;
use extentdb_format::mtf::{BackupKind, MtfDate};
use extentdb_types::Guid;

use crate::backup::chain::stop::StopAt;
use crate::backup::error::{Error, SetName};
use crate::backup::media::header::SetHeader;

/// A given set that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// A file of it.
    pub path: PathBuf,
    /// Its number on its media.
    pub position: u32,
    /// Why the set is not used, as a sentence.
    pub why: String,
}

/// A given set.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// A file of it.
    pub(crate) path: PathBuf,
    /// Index of its media set.
    pub(crate) media: usize,
    pub(crate) header: SetHeader,
}

impl Candidate {
    fn name(&self) -> Box<SetName> {
        let SetHeader { position, kind, first_lsn, last_lsn, .. } = self.header;
        Box::new(SetName { path: self.path.clone(), position, kind, first_lsn, last_lsn })
    }

    /// The fork on which its log begins.
    fn first_fork(&self) -> Guid {
        let SetHeader { first_lsn, last_lsn, recovery_fork_id, .. } = self.header;
        match (self.header.fork_point_lsn, self.header.first_recovery_fork_id) {
            (Some(point), Some(fork)) if (first_lsn..last_lsn).contains(&point) => fork,
            _ => recovery_fork_id,
        }
    }

    /// True when all that it holds happened before the stop.
    fn fits(&self, stop: Option<StopAt>) -> bool {
        match stop {
            None => true,
            Some(StopAt::Lsn(lsn)) => self.header.last_lsn <= lsn,
            Some(StopAt::Time(time)) => {
                let finished =
                    self.header.backup_finish_date.unwrap_or(self.header.backup_start_date);
                log_time(finished).is_none_or(|finished| finished <= time)
            }
        }
    }

    /// True when the stop lies before its end for certain.
    fn reaches(&self, stop: Option<StopAt>) -> bool {
        match stop {
            None => false,
            Some(StopAt::Lsn(lsn)) => lsn < self.header.last_lsn,
            Some(StopAt::Time(time)) => {
                log_time(self.header.backup_start_date).is_some_and(|started| started > time)
            }
        }
    }
}

/// The time of a backup as log records have it.
pub(crate) fn log_time(date: MtfDate) -> Option<LogTime> {
    if date.is_none() { None } else { date.to_string().parse().ok() }
}

/// Which candidates are used, by their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChainPlan {
    pub(crate) base: usize,
    pub(crate) differential: Option<usize>,
    pub(crate) logs: Vec<usize>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Kinds that a chain begins with.
pub(crate) fn is_base(kind: BackupKind) -> bool {
    matches!(
        kind,
        BackupKind::Database | BackupKind::Partial | BackupKind::File | BackupKind::Other(_)
    )
}

/// The required start of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainStart {
    /// A full backup: a database is wanted.
    Full,
    /// Any set: only its log is needed.
    Any,
}

/// Plans a chain. `skipped`: candidates that turned out to reach beyond the stop.
///
/// # Errors
/// No full backup, or a set that does not follow the others.
pub(crate) fn plan(
    sets: &[Candidate],
    begin: ChainStart,
    stop: Option<StopAt>,
    skipped: &[usize],
) -> Result<ChainPlan, Error> {
    let mut planner = Planner { sets, stop, skipped, plan: ChainPlan::default() };
    planner.choose_base(begin)?;
    planner.refuse_foreign()?;
    planner.choose_differential()?;
    planner.choose_logs()?;
    Ok(planner.plan)
}

struct Planner<'c> {
    sets: &'c [Candidate],
    stop: Option<StopAt>,
    skipped: &'c [usize],
    plan: ChainPlan,
}

impl<'c> Planner<'c> {
    fn of_kind(&self, is_kind: fn(BackupKind) -> bool) -> Vec<(usize, &'c Candidate)> {
        let all = self.sets.iter().enumerate();
        all.filter(|(_, set)| is_kind(set.header.kind)).collect()
    }

    fn leave_out(&mut self, set: &Candidate, why: String) {
        let path = set.path.clone();
        let position = set.header.position;
        self.plan.left_out.push(LeftOut { path, position, why });
    }

    fn choose_base(&mut self, begin: ChainStart) -> Result<(), Error> {
        let mut bases = self.of_kind(is_base);
        if bases.is_empty() && begin == ChainStart::Any {
            let oldest = self.sets.iter().enumerate().min_by_key(|(_, set)| set.header.first_lsn);
            self.plan.base = oldest.ok_or(Error::NothingGiven)?.0;
            return Ok(());
        }
        bases.sort_by_key(|(_, set)| set.header.last_lsn);
        let fits = |(index, set): &&(usize, &Candidate)| {
            set.fits(self.stop) && !self.skipped.contains(index)
        };
        let chosen = bases.iter().rev().find(fits).or(bases.first());
        let Some((base, chosen)) = chosen.copied() else {
            let first = self.sets.first().ok_or(Error::NothingGiven)?;
            return Err(crate::backup::set::not_a_full_backup(&first.header));
        };
        self.plan.base = base;
        for (index, set) in bases {
            if index != base {
                let why = format!("the full backup of {} is used", chosen.path.display());
                self.leave_out(set, why);
            }
        }
        Ok(())
    }

    /// All sets are of one database.
    fn refuse_foreign(&self) -> Result<(), Error> {
        let Some(base) = self.sets.get(self.plan.base) else { return Ok(()) };
        let family = base.header.family_guid;
        let foreign = self.sets.iter().find(|set| {
            let guids = [family, set.header.family_guid];
            family != set.header.family_guid && !guids.contains(&Guid([0; 16]))
        });
        foreign.map_or(Ok(()), |set| {
            Err(Error::SetOfOtherDatabase {
                set: set.name(),
                database: set.header.database_name.clone(),
                family: set.header.family_guid,
                base: base.name(),
                base_database: base.header.database_name.clone(),
                base_family: family,
            })
        })
    }

    fn choose_differential(&mut self) -> Result<(), Error> {
        let Some(base) = self.sets.get(self.plan.base) else { return Ok(()) };
        if !is_base(base.header.kind) {
            return Ok(());
        }
        let guid = base.header.backup_set_guid;
        let mut differentials = self.of_kind(BackupKind::is_differential);
        differentials.sort_by_key(|(_, set)| set.header.last_lsn);
        let mut chosen: Option<&Candidate> = None;
        for (index, set) in differentials.into_iter().rev() {
            let builds_on = set.header.differential_base_guid;
            if builds_on != Some(guid) {
                let other = self.sets.iter().find(|other| {
                    is_base(other.header.kind) && Some(other.header.backup_set_guid) == builds_on
                });
                let Some(other) = other else {
                    return Err(Error::BaseMissing {
                        set: set.name(),
                        wanted: builds_on,
                        wanted_lsn: set.header.differential_base_lsn,
                        base: base.name(),
                        found: guid,
                    });
                };
                self.leave_out(set, format!("it builds on {}", other.path.display()));
            } else if self.skipped.contains(&index) || !set.fits(self.stop) {
                self.leave_out(set, "it was made after the stop".to_owned());
            } else if let Some(newer) = chosen {
                self.leave_out(set, format!("{} is newer", newer.path.display()));
            } else {
                chosen = Some(set);
                self.plan.differential = Some(index);
            }
        }
        Ok(())
    }

    fn choose_logs(&mut self) -> Result<(), Error> {
        let start = self.plan.differential.unwrap_or(self.plan.base);
        let Some(mut last) = self.sets.get(start) else { return Ok(()) };
        let mut fork = last.header.recovery_fork_id;
        let mut logs = self.of_kind(|kind| kind == BackupKind::Log);
        logs.retain(|(index, _)| *index != start);
        logs.sort_by_key(|(_, set)| (set.header.first_lsn, set.header.last_lsn));
        for (index, set) in logs {
            let end = last.header.last_lsn;
            if last.reaches(self.stop) {
                self.leave_out(set, format!("{} reaches the stop", last.path.display()));
                continue;
            }
            if set.header.last_lsn <= end {
                let why =
                    format!("it ends at {}, {} at {end}", set.header.last_lsn, last.path.display());
                self.leave_out(set, why);
                continue;
            }
            if set.header.first_lsn > end {
                return Err(Error::Gap { before: last.name(), after: set.name() });
            }
            if ![set.first_fork(), set.header.recovery_fork_id].contains(&fork) {
                let found = set.first_fork();
                return Err(Error::OtherFork {
                    before: last.name(),
                    fork,
                    after: set.name(),
                    found,
                });
            }
            self.plan.logs.push(index);
            fork = set.header.recovery_fork_id;
            last = set;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
