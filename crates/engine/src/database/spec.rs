//! A database to be created: its files and its log.

use std::path::{Path, PathBuf};

use extentdb_base::env::{Clock, Rng, SplitMix64};
use extentdb_base::size::PAGE_BYTES;
use extentdb_format::allocation::file_header::Growth;
use extentdb_template::FileGrowth;

use crate::error::{Error, Unsupported};

/// Where the files of a database are.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The data files, the primary one first.
    pub data: Vec<PathBuf>,
    /// The log file.
    pub log: PathBuf,
}

/// A data file of a new database.
#[derive(Clone, Debug)]
pub struct DataFileSpec {
    /// Path; the file must not exist.
    pub path: PathBuf,
    /// Logical name; `None` = after the database.
    pub name: Option<String>,
    /// Size, in whole extents: at least 2 MB of the primary file, which holds the catalog, and
    /// 128 KB of any other.
    pub bytes: u64,
    /// What it grows by; at most 100 percent.
    pub growth: Growth,
    /// What it may grow to, not less than its size; `None` = without a limit.
    pub bytes_max: Option<u64>,
}

/// The log file of a new database.
#[derive(Clone, Debug)]
pub struct LogFileSpec {
    /// Path; the file must not exist.
    pub path: PathBuf,
    /// Size at creation, bytes.
    pub bytes: u64,
    /// What it grows by.
    pub growth: extentdb_wal::Growth,
    /// What it may grow to; `None` = without a limit.
    pub bytes_max: Option<u64>,
}

impl LogFileSpec {
    /// A log of usual size and growth.
    pub(crate) fn usual(path: &Path) -> LogFileSpec {
        let path = path.to_path_buf();
        LogFileSpec {
            path,
            bytes: 1 << 20,
            growth: extentdb_wal::Growth::Percent(10),
            bytes_max: None,
        }
    }
}

impl LogFileSpec {
    /// The growth as the catalog names it.
    pub(crate) fn file_growth(&self) -> FileGrowth {
        let pages_max = self.bytes_max.and_then(|bytes| pages_of(bytes).ok());
        FileGrowth {
            by: match self.growth {
                extentdb_wal::Growth::Pages(pages) => Growth::Pages(pages),
                extentdb_wal::Growth::Percent(percent) => Growth::Percent(percent),
                extentdb_wal::Growth::None => Growth::Pages(0),
            },
            pages_max: Some(pages_max.unwrap_or(FileGrowth::LOG_PAGES_MAX)),
        }
    }
}

/// A new database.
#[derive(Clone, Debug)]
pub struct DatabaseSpec {
    /// Name: 1 to 100 UTF-16 units.
    pub name: String,
    /// Files of filegroup PRIMARY; the first one holds the catalog.
    pub files: Vec<DataFileSpec>,
    /// Further filegroups with their files, one at least. The name PRIMARY is taken.
    pub filegroups: Vec<(String, Vec<DataFileSpec>)>,
    /// The log; a database has one file of it.
    pub log: LogFileSpec,
    /// Seed of the random parts of ids.
    pub seed: u64,
}

impl DataFileSpec {
    /// A file of this size that grows by 1 MB.
    pub fn new(path: impl Into<PathBuf>, bytes: u64) -> DataFileSpec {
        DataFileSpec {
            path: path.into(),
            name: None,
            bytes,
            growth: Growth::Pages(128),
            bytes_max: None,
        }
    }
}

impl DataFileSpec {
    pub(crate) fn file_growth(&self) -> FileGrowth {
        FileGrowth {
            by: self.growth,
            pages_max: self.bytes_max.map(|bytes| pages_of(bytes).unwrap_or(u32::MAX - 1)),
        }
    }
}

/// Pages of a file of `bytes` bytes.
pub(crate) fn pages_of(bytes: u64) -> Result<u32, Error> {
    u32::try_from(bytes / PAGE_BYTES as u64).map_err(|_| Unsupported::FileBytes { bytes }.into())
}

/// A path as the catalog keeps it.
pub(crate) fn physical_name(path: &Path) -> String {
    path.display().to_string()
}

impl DatabaseSpec {
    /// One data file and a log in one folder: `name.mdf`, `name_log.ldf` in this folder.
    pub fn new(name: &str, folder: impl Into<PathBuf>, bytes: u64) -> DatabaseSpec {
        let folder: PathBuf = folder.into();
        let log = LogFileSpec::usual(&folder.join(format!("{name}_log.ldf")));
        let files = vec![DataFileSpec::new(folder.join(format!("{name}.mdf")), bytes)];
        DatabaseSpec {
            name: name.to_owned(),
            files,
            filegroups: Vec::new(),
            log,
            seed: 0,
        }
    }

    /// The seed of the ids of the database: no two databases have the same ones, though they be
    /// made with the same seed.
    pub(crate) fn identity_seed(&self, clock: &dyn Clock) -> u64 {
        let moment = clock.since_epoch().as_nanos().to_le_bytes();
        let paths = self.data_files().map(|file| file.path.as_os_str().as_encoded_bytes());
        let parts = [self.name.as_bytes(), &moment].into_iter().chain(paths);
        let mut seed = self.seed;
        for byte in parts.flatten() {
            seed = SplitMix64::new(seed ^ u64::from(*byte)).next_u64();
        }
        seed
    }

    /// All data files, in the order of their ids.
    pub(crate) fn data_files(&self) -> impl Iterator<Item = &DataFileSpec> {
        self.files.iter().chain(self.filegroups.iter().flat_map(|(_, files)| files))
    }

    /// Where the files are.
    pub fn paths(&self) -> Paths {
        let data = self.data_files().map(|file| file.path.clone()).collect();
        Paths { data, log: self.log.path.clone() }
    }
}
