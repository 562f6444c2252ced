//! The environment of a run: files, options, number of sessions.

use std::path::Path;

use extentdb_base::env::Rng;
use extentdb_base::sync::Arc;
use extentdb_engine::{
    DataFileSpec, DatabaseSpec, FileGrowth, LogFileSpec, LogGrowth, Options, Paths, Placement,
};

use crate::clock::SimClock;
use crate::disk::FaultDisk;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// Files, options and sessions of a run; follow from the seed.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) spec: DatabaseSpec,
    pub(crate) sessions: usize,
    pub(crate) filegroups: Vec<String>,
    frames: usize,
    mixed_pages: bool,
    extents_per_turn: u32,
    placement: Placement,
    checkpoint_log_bytes: Option<u64>,
    /// Number of row sizes in use; the first ones are the long ones.
    pub(crate) row_sizes: u64,
    pub(crate) is_tight: bool,
}

impl Environment {
    /// The smallest files and log, which fill up and do not grow.
    pub(crate) fn tight(rng: &mut dyn Rng, seed: u64) -> Environment {
        let mut environment = Environment {
            row_sizes: 4,
            frames: 32,
            is_tight: true,
            ..Environment::new(rng, seed)
        };
        if environment.spec.filegroups.is_empty() {
            environment
                .spec
                .filegroups
                .push(("SMALL".to_owned(), vec![any_file(rng, "small.ndf")]));
            environment.filegroups.push("SMALL".to_owned());
        }
        let spec = &mut environment.spec;
        for file in spec
            .filegroups
            .iter_mut()
            .flat_map(|(_, files)| files)
            .chain(spec.files.iter_mut().skip(1))
        {
            file.bytes = 512 * KB;
        }
        spec.files[0].bytes = 3 * MB;
        for file in spec.filegroups.iter_mut().flat_map(|(_, files)| files).chain(&mut spec.files) {
            (file.growth, file.bytes_max) = (FileGrowth::Pages(0), None);
        }
        // Half of the seeds have a log large enough to fill the files.
        (spec.log.bytes, spec.log.growth, spec.log.bytes_max) = match seed % 2 {
            0 => (2 * MB, LogGrowth::Pages(128), None),
            _ => (520 * KB, LogGrowth::None, None),
        };
        environment
    }

    pub(crate) fn new(rng: &mut dyn Rng, seed: u64) -> Environment {
        let mut spec = DatabaseSpec::new("life", "", 3 * MB + rng.below(4) * 512 * KB);
        spec.seed = seed;
        for number in 0..rng.below(4) {
            spec.files.push(any_file(rng, &format!("more{number}.ndf")));
        }
        limit(rng, &mut spec.files);
        let mut filegroups = Vec::new();
        if rng.below(3) == 0 {
            let mut files = vec![any_file(rng, "small.ndf")];
            limit(rng, &mut files);
            spec.filegroups.push(("SMALL".to_owned(), files));
            filegroups.push("SMALL".to_owned());
        }
        spec.log = any_log(rng);
        let pick = |rng: &mut dyn Rng, from: &[usize]| from[rng.below(from.len() as u64) as usize];
        Environment {
            spec,
            sessions: 1 + rng.below(4) as usize,
            filegroups,
            frames: pick(rng, &[32, 48, 64, 128, 256, 512]),
            mixed_pages: rng.below(2) == 0,
            extents_per_turn: if rng.below(4) == 0 { 64 } else { 1 },
            placement: if rng.below(3) == 0 { Placement::ByPfs } else { Placement::Packed },
            checkpoint_log_bytes: (rng.below(3) != 0).then(|| (32 * KB) << rng.below(5)),
            row_sizes: 12,
            is_tight: false,
        }
    }

    pub(crate) fn options(&self, disk: &FaultDisk) -> Options {
        Options {
            clock: Arc::new(SimClock::default()),
            frames: self.frames,
            mixed_pages: self.mixed_pages,
            extents_per_turn: self.extents_per_turn,
            placement: self.placement,
            checkpoint_log_bytes: self.checkpoint_log_bytes,
            ..Options::on(Arc::new(disk.clone()))
        }
    }

    pub(crate) fn paths(&self) -> Paths {
        self.spec.paths()
    }

    /// Bytes that a device writes atomically: pages, and sectors of the log.
    pub(crate) fn unit_of(path: &Path) -> usize {
        if path.extension().is_some_and(|extension| extension == "ldf") { 512 } else { 8192 }
    }
}

fn any_file(rng: &mut dyn Rng, path: &str) -> DataFileSpec {
    DataFileSpec::new(path, 512 * KB + rng.below(6) * 256 * KB)
}

fn limit(rng: &mut dyn Rng, files: &mut [DataFileSpec]) {
    for file in files {
        file.growth = match rng.below(4) {
            0 => FileGrowth::Percent(10),
            1 => FileGrowth::Pages(0),
            _ => FileGrowth::Pages(8 << rng.below(4)),
        };
        file.bytes_max = (rng.below(3) != 0).then(|| file.bytes + rng.below(8) * 128 * KB);
    }
}

fn any_log(rng: &mut dyn Rng) -> LogFileSpec {
    let bytes = 520 * KB + rng.below(3) * 256 * KB;
    let growth = match rng.below(4) {
        0 => LogGrowth::Percent(10),
        1 => LogGrowth::Pages(64),
        _ => LogGrowth::None,
    };
    let bytes_max = (rng.below(2) == 0).then(|| bytes + rng.below(4) * 256 * KB);
    LogFileSpec { path: "life_log.ldf".into(), bytes, growth, bytes_max }
}
