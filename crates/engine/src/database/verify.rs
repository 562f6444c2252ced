//! What options and specifications must satisfy before anything is made.

use std::collections::BTreeSet;
use std::time::Duration;

use extentdb_base::size::PAGE_BYTES;
use extentdb_format::allocation::file_header::Growth;
use extentdb_wal::MIN_LOG_BYTES;

use crate::database::options::Options;
use crate::database::spec::{DataFileSpec, DatabaseSpec, LogFileSpec};
use crate::error::invalid::{InvalidOption, verify_name, verify_path, verify_range, verify_text};

/// UTF-16 units of a database's name: those of its files are made of it.
const DATABASE_NAME_UNITS_MAX: usize = 100;
/// Data files and the log have the ids 1 to 32,767.
const DATA_FILES_MAX: usize = 32_766;
/// Filegroups have the ids 1 to 32,767; PRIMARY is the first.
const FILEGROUPS_MAX: usize = 32_766;
/// The primary file of a new database has room for the catalog. A test compares it with the
/// template.
pub(crate) const PRIMARY_BYTES_MIN: u64 = 2 << 20;
/// Any other data file: a page of each map, and an extent to give.
pub(crate) const FILE_BYTES_MIN: u64 = 16 * PAGE_BYTES as u64;
/// File sizes are stored as signed numbers of pages; whole extents of 16 TB.
const FILE_BYTES_MAX: u64 = ((i32::MAX as u64) / 8 * 8) * PAGE_BYTES as u64;
const LOG_BYTES_MAX: u64 = 2 << 40;
const GROWTH_PERCENT_MAX: u64 = 100;
const GROWTH_PAGES_MAX: u64 = i32::MAX as u64;
/// A split latches a page on every level of a tree, its neighbours and maps.
const FRAMES_MIN: u64 = 16;
/// 16 TB: as much as a file can have. Machines with less memory have a lower limit.
const FRAMES_MAX: u64 = 1 << 31;
/// `-E` takes 64 extents in a turn.
const EXTENTS_PER_TURN_MAX: u64 = 64;
const PRIMARY: &str = "PRIMARY";

/// Names of one kind that have been seen; they compare without regard to the case of ASCII letters.
#[derive(Default)]
struct SeenNames(BTreeSet<String>);

impl SeenNames {
    fn add(&mut self, option: &str, name: &str) -> Result<(), InvalidOption> {
        if self.0.insert(name.to_ascii_lowercase()) {
            Ok(())
        } else {
            Err(InvalidOption::Duplicate { option: option.to_owned(), name: name.to_owned() })
        }
    }
}

impl Options {
    /// Refuses what the database could not be run with.
    pub(crate) fn verify(&self) -> Result<(), InvalidOption> {
        let frames = self.frames as u64;
        verify_range("frames", frames, FRAMES_MIN, FRAMES_MAX)?;
        if let Some(memory_bytes) = extentdb_io::memory_bytes()
            && frames.saturating_mul(PAGE_BYTES as u64) > memory_bytes
        {
            return Err(InvalidOption::BeyondMemory {
                option: "frames".to_owned(),
                frames,
                memory_bytes,
            });
        }
        verify_range("extents_per_turn", self.extents_per_turn.into(), 1, EXTENTS_PER_TURN_MAX)?;
        if let Some(bytes) = self.checkpoint_log_bytes {
            verify_range("checkpoint_log_bytes", bytes, 1, u64::MAX)?;
        }
        match self.target_recovery {
            Some(Duration::ZERO) => verify_range("target_recovery", 0, 1, u64::MAX),
            _ => Ok(()),
        }
    }
}

impl DatabaseSpec {
    /// Refuses what no database can be made of.
    pub(crate) fn verify(&self) -> Result<(), InvalidOption> {
        verify_text("name", &self.name, DATABASE_NAME_UNITS_MAX)?;
        verify_range("files", self.files.len() as u64, 1, DATA_FILES_MAX as u64)?;
        verify_range("filegroups", self.filegroups.len() as u64, 0, FILEGROUPS_MAX as u64)?;
        let files: usize = self.filegroups.iter().map(|(_, files)| files.len()).sum();
        verify_range(
            "filegroups.files",
            files as u64,
            0,
            (DATA_FILES_MAX - self.files.len()) as u64,
        )?;
        self.verify_filegroups()?;
        self.log.verify()?;
        self.verify_files()
    }

    fn verify_filegroups(&self) -> Result<(), InvalidOption> {
        let mut names = SeenNames::default();
        for (at, (name, files)) in self.filegroups.iter().enumerate() {
            let option = format!("filegroups[{at}].name");
            verify_name(&option, name)?;
            if name.eq_ignore_ascii_case(PRIMARY) {
                return Err(InvalidOption::Reserved { option, name: name.clone() });
            }
            names.add(&option, name)?;
            verify_range(
                &format!("filegroups[{at}].files"),
                files.len() as u64,
                1,
                DATA_FILES_MAX as u64,
            )?;
        }
        Ok(())
    }

    /// Every file by itself, and that no two have a name or path in common.
    fn verify_files(&self) -> Result<(), InvalidOption> {
        let primary =
            self.files.iter().enumerate().map(|(at, file)| (format!("files[{at}]"), file));
        let others = self.filegroups.iter().enumerate().flat_map(|(group, (_, files))| {
            let option = move |at| format!("filegroups[{group}].files[{at}]");
            files.iter().enumerate().map(move |(at, file)| (option(at), file))
        });
        let mut names = SeenNames::default();
        let mut paths = BTreeSet::from([self.log.path.clone()]);
        names.add("log.name", &format!("{}_log", self.name))?;
        for (at, (option, file)) in primary.chain(others).enumerate() {
            let least = if at == 0 { PRIMARY_BYTES_MIN } else { FILE_BYTES_MIN };
            file.verify(&option, least)?;
            let default =
                if at == 0 { self.name.clone() } else { format!("{}_{}", self.name, at + 1) };
            names.add(&format!("{option}.name"), file.name.as_deref().unwrap_or(&default))?;
            if !paths.insert(file.path.clone()) {
                let name = file.path.display().to_string();
                return Err(InvalidOption::Duplicate { option: format!("{option}.path"), name });
            }
        }
        Ok(())
    }
}

impl DataFileSpec {
    /// Refuses what is no data file of at least `least` bytes. `of` is put before the names of its
    /// fields.
    pub(crate) fn verify(&self, of: &str, least: u64) -> Result<(), InvalidOption> {
        let option =
            |field: &str| if of.is_empty() { field.to_owned() } else { format!("{of}.{field}") };
        verify_path(&option("path"), &self.path)?;
        if let Some(name) = &self.name {
            verify_name(&option("name"), name)?;
        }
        verify_range(&option("bytes"), self.bytes, least, FILE_BYTES_MAX)?;
        verify_maximum(&option("bytes_max"), self.bytes, self.bytes_max)?;
        let (growth, most) = match self.growth {
            Growth::Pages(pages) => (pages, GROWTH_PAGES_MAX),
            Growth::Percent(percent) => (percent, GROWTH_PERCENT_MAX),
        };
        verify_range(&option("growth"), growth.into(), 0, most)
    }
}

impl LogFileSpec {
    fn verify(&self) -> Result<(), InvalidOption> {
        verify_path("log.path", &self.path)?;
        verify_range("log.bytes", self.bytes, MIN_LOG_BYTES, LOG_BYTES_MAX)?;
        verify_maximum("log.bytes_max", self.bytes, self.bytes_max)?;
        match self.growth {
            extentdb_wal::Growth::Pages(pages) => {
                verify_range("log.growth", pages.into(), 0, GROWTH_PAGES_MAX)
            }
            extentdb_wal::Growth::Percent(percent) => {
                verify_range("log.growth", percent.into(), 0, GROWTH_PERCENT_MAX)
            }
            extentdb_wal::Growth::None => Ok(()),
        }
    }
}

fn verify_maximum(option: &str, bytes: u64, bytes_max: Option<u64>) -> Result<(), InvalidOption> {
    match bytes_max {
        Some(bytes_max) if bytes_max < bytes => {
            Err(InvalidOption::MaximumBelowSize { option: option.to_owned(), bytes, bytes_max })
        }
        _ => Ok(()),
    }
}
