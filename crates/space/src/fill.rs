//! Round robin with proportional fill: which file of a filegroup the next extent is allocated from.
//!
//! ```text
//! visit(file):  skip == 1   allocate one extent (64 with -E), skip := target, next file
//!               otherwise   skip := skip - 1, next file
//! target(file) = free extents of the file that has most : free extents of this file, at least 1
//! ```
//!
//! Recalculated when a file joins or leaves the filegroup and after 8192 allocations; every counter
//! then starts at its new target. The walk of the next 8192 allocations is made at once, as a
//! [`Schedule`]: drawing from it is one atomic addition, whatever the sizes of the files, where SQL
//! Server has a spinlock, `FGCB_PRP_FILL`.
//!
//! Source of the rule and of the lines: the published account of trace flag 1165.

use std::fmt;

use extentdb_base::FileId;
use extentdb_base::sync::atomic::{AtomicU32, Ordering};

/// Allocations between two recalculations.
pub const ALLOCATIONS: u32 = 8192;

/// A file as recalculation sees it, in list order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFill {
    /// Id of the data file.
    pub file: FileId,
    /// Logical name of the file.
    pub name: String,
    /// Number of free extents.
    pub free: u32,
    /// Skip target: the file gives an extent at every `target`-th visit of the round robin.
    pub target: u32,
}

/// A recalculation of the skip targets. Prints as trace flag 1165 does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recalculation {
    /// Name of the database.
    pub database: String,
    /// The files in list order.
    pub files: Vec<FileFill>,
    /// The file with most free extents: the first of several.
    pub most_free: FileId,
}

impl Recalculation {
    /// Targets for files by their free extents: id, name and number, in list order.
    pub fn new(
        database: &str,
        files: impl IntoIterator<Item = (FileId, String, u32)>,
    ) -> Recalculation {
        let files =
            files.into_iter().map(|(file, name, free)| FileFill { file, name, free, target: 1 });
        let mut files: Vec<FileFill> = files.collect();
        let most = files.iter().map(|file| file.free).max().unwrap_or(0);
        let most_free =
            files.iter().find(|file| file.free == most).map_or(FileId(0), |file| file.file);
        for file in &mut files {
            file.target = (most / file.free.max(1)).max(1);
        }
        Recalculation { database: database.to_owned(), files, most_free }
    }

    /// The lines of the error log, without time stamp.
    pub fn lines(&self) -> Vec<String> {
        let database = &self.database;
        let mut lines = vec![
            format!(
                "Proportional Fill Recalculation Starting for DB {database} with m_cAllocs {ALLOCATIONS}."
            ),
            format!(
                "Proportional Fill Recalculation Completed for DB {database} new m_cAllocs {ALLOCATIONS}, most free file \
                 is file {}.",
                self.most_free.0
            ),
        ];
        let line = |file: &FileFill| {
            let name = &file.name;
            let id = file.file.0;
            format!(
                "\tFile [{name}] ({id}) has {} free extents and skip target of {}. ",
                file.free, file.target
            )
        };
        lines.extend(self.files.iter().map(line));
        lines
    }
}

impl fmt::Display for Recalculation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// The files of the next [`ALLOCATIONS`] extents, in order.
pub struct Schedule {
    files: Box<[u16]>,
    next: AtomicU32,
}

/// What was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    /// Place of the file in the list.
    pub file: usize,
    /// The schedule is used up: the caller makes the next one. True for exactly one draw of a
    /// schedule.
    pub is_last: bool,
}

impl Schedule {
    /// The walk over files with these skip targets, every counter at its target; `batch`
    /// consecutive extents per turn: 1, or 64 with `-E`.
    pub fn new(targets: &[u32], batch: u32) -> Schedule {
        let mut skips = targets.to_vec();
        let mut files = Vec::with_capacity(ALLOCATIONS as usize);
        while files.len() < ALLOCATIONS as usize && !targets.is_empty() {
            for (at, skip) in skips.iter_mut().enumerate() {
                if *skip <= 1 {
                    files.extend(std::iter::repeat_n(at as u16, batch.max(1) as usize));
                    *skip = targets[at];
                } else {
                    *skip -= 1;
                }
            }
        }
        files.truncate(ALLOCATIONS as usize);
        Schedule { files: files.into(), next: AtomicU32::new(0) }
    }

    /// The file of the next extent. Never waits.
    pub fn draw(&self) -> Draw {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let file = self.files.get((ticket % ALLOCATIONS) as usize).copied().unwrap_or(0);
        Draw { file: file.into(), is_last: ticket == ALLOCATIONS - 1 }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({} drawn)", self.next.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files as `(id, free)` in list order.
    fn recalculation(files: &[(u16, u32)]) -> Recalculation {
        let name = |id: u16| match id {
            1 => "Company_data",
            3 => "SecondFile",
            _ => "ThirdFile",
        };
        Recalculation::new(
            "Company",
            files.iter().map(|(id, free)| (FileId(*id), name(*id).to_owned(), *free)),
        )
    }

    #[test]
    fn skip_targets_are_those_of_the_published_examples() {
        type Example<'a> = (&'a [(u16, u32)], u16, &'a [u32]);
        let examples: [Example<'_>; 7] = [
            (&[(1, 44)], 1, &[1]),
            (&[(1, 44), (3, 79)], 3, &[1, 1]),
            (&[(1, 44), (4, 3995), (3, 79)], 4, &[90, 1, 50]),
            (&[(1, 0), (4, 0), (3, 74)], 3, &[74, 74, 1]),
            (&[(1, 1000), (4, 1000), (3, 1000)], 1, &[1, 1, 1]),
            (&[(1, 0)], 1, &[1]),
            (&[(1, 1600), (3, 3200)], 3, &[2, 1]),
        ];
        for (files, most_free, targets) in examples {
            let got = recalculation(files);
            assert_eq!(got.most_free, FileId(most_free));
            assert_eq!(got.files.iter().map(|file| file.target).collect::<Vec<_>>(), targets);
        }
    }

    #[test]
    fn lines_are_those_of_trace_flag_1165_to_the_last_blank() {
        let lines = recalculation(&[(1, 44), (3, 79)]).lines();
        assert_eq!(
            lines,
            [
                "Proportional Fill Recalculation Starting for DB Company with m_cAllocs 8192.",
                "Proportional Fill Recalculation Completed for DB Company new m_cAllocs 8192, most free file is file 3.",
                "\tFile [Company_data] (1) has 44 free extents and skip target of 1. ",
                "\tFile [SecondFile] (3) has 79 free extents and skip target of 1. ",
            ]
        );
    }

    /// Extents per file of the first `count` allocations.
    fn shares(targets: &[u32], count: usize) -> Vec<usize> {
        let schedule = Schedule::new(targets, 1);
        let mut shares = vec![0; targets.len()];
        (0..count).for_each(|_| shares[schedule.draw().file] += 1);
        shares
    }

    #[test]
    fn unequal_files_fill_up_together() {
        assert_eq!(shares(&[90, 1, 50], 100), [1, 98, 1]);
        assert_eq!(shares(&[90, 1, 50], 1000), [10, 971, 19]);
        let all = shares(&[90, 1, 50], 4118);
        for (share, free) in all.iter().zip([44usize, 3995, 79]) {
            assert!(share.abs_diff(free) <= 2, "{all:?}");
        }
    }

    #[test]
    fn a_batch_comes_from_one_file() {
        let schedule = Schedule::new(&[1, 1], 64);
        let drawn: Vec<usize> = (0..256).map(|_| schedule.draw().file).collect();
        assert!(drawn.chunks(64).all(|batch| batch.iter().all(|file| *file == batch[0])));
        assert_eq!((drawn[0], drawn[64], drawn[128]), (0, 1, 0));
    }

    #[test]
    fn exactly_one_draw_is_the_last() {
        let schedule = Schedule::new(&[1, 2], 1);
        let last = (0..3 * ALLOCATIONS).filter(|_| schedule.draw().is_last).count();
        assert_eq!(last, 1);
    }
}
