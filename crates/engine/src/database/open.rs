//! Opening a database: its files, its log, recovery, its catalog.

use std::path::{Path, PathBuf};

use extentdb_base::FileId;
use extentdb_base::sync::Arc;
use extentdb_format::allocation::boot::DatabaseStatus;
use extentdb_io::Disk;
use extentdb_telemetry::Event;
use extentdb_types::Guid;
use extentdb_wal::{Log, LogSpec};

use crate::database::Database;
use crate::database::files::{DataFiles, Restart, owner_of};
use crate::database::opening::OpenedFiles;
use crate::database::options::Options;
use crate::database::services::Membership;
use crate::database::spec::{LogFileSpec, Paths};
use crate::error::Error;

impl Database {
    /// Opens a database, and brings it to the state of its last committed transaction.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn open(paths: &Paths, options: Options) -> Result<Arc<Database>, Error> {
        let member = Membership::alone(&options)?;
        let database = OpenedFiles::find(paths, options, member)?.recover()?;
        database.space.recalculate();
        Ok(database)
    }

    /// Opens a database that was closed cleanly, with a log that it has not got yet.
    pub(crate) fn open_with_new_log(
        paths: &Paths,
        log: &LogFileSpec,
        options: Options,
        member: Membership,
    ) -> Result<Arc<Database>, Error> {
        let files = DataFiles::open(paths, &options)?;
        OpenedFiles::with_new_log(files, log, options, member)?.recover()
    }
}

impl OpenedFiles {
    /// The files of a database and the log that belongs to them.
    pub(crate) fn find(
        paths: &Paths,
        options: Options,
        member: Membership,
    ) -> Result<OpenedFiles, Error> {
        options.verify()?;
        let files = DataFiles::open(paths, &options)?;
        match (options.disk.exists(&paths.log), files.is_clean()) {
            (false, false) => Err(Error::LogMissing),
            (false, true) => {
                OpenedFiles::with_new_log(files, &LogFileSpec::usual(&paths.log), options, member)
            }
            (true, false) => OpenedFiles::of_crashed(files, &paths.log, options, member),
            (true, true) => OpenedFiles::of_closed(files, &paths.log, options, member),
        }
    }

    /// Opens a database that was not closed cleanly: without its own log, whole, it cannot be
    /// brought to a state.
    fn of_crashed(
        files: DataFiles,
        path: &Path,
        options: Options,
        member: Membership,
    ) -> Result<OpenedFiles, Error> {
        let log = options.disk.open(path)?;
        let found = owner_of(&*log)?;
        let expected = files.owner();
        if found != expected {
            return Err(Error::ForeignLog { path: path.to_path_buf(), found, expected });
        }
        if files.boot.status.has(DatabaseStatus::EMERGENCY) {
            return Err(Error::EmergencyUnfinished);
        }
        let (log, restart) = files.open_log(&log, &options)?;
        Ok(OpenedFiles { files, log, options, restart, member })
    }

    /// Opens a database that was closed cleanly. It needs nothing of its log, and continues it when
    /// it belongs to the database; any other file at its path is kept under another name, and never
    /// replayed.
    fn of_closed(
        files: DataFiles,
        path: &Path,
        options: Options,
        member: Membership,
    ) -> Result<OpenedFiles, Error> {
        let log = options.disk.open(path)?;
        let why = match owner_of(&*log) {
            Ok(found) if found == files.owner() => match files.open_log(&log, &options) {
                Ok((log, restart)) => {
                    return Ok(OpenedFiles { files, log, options, restart, member });
                }
                Err(error) => error,
            },
            Ok(found) => {
                Error::ForeignLog { path: path.to_path_buf(), found, expected: files.owner() }
            }
            Err(error) => error,
        };
        if !is_of_log(&why) {
            return Err(why);
        }
        if let Some(unused) = files.unused_log(&log, &options) {
            let restart = Restart::default();
            return Ok(OpenedFiles { files, log: unused, options, restart, member });
        }
        drop(log);
        let kept_as = set_log_aside(&*options.disk, path)?;
        options.events.event(&Event::LogReplaced { kept_as, why: why.to_string() });
        OpenedFiles::with_new_log(files, &LogFileSpec::usual(path), options, member)
    }

    fn with_new_log(
        files: DataFiles,
        log: &LogFileSpec,
        options: Options,
        member: Membership,
    ) -> Result<OpenedFiles, Error> {
        let file = options.disk.create(&log.path)?;
        let Guid(mut guid) = files.binding();
        // The id of the file itself: another one than the database's, and the same whenever this is
        // done again.
        guid[15] ^= 0x5a;
        let spec = LogSpec {
            file_id: FileId(2),
            logical_name: format!("{}_log", files.boot.name),
            bytes: log.bytes,
            growth: log.growth,
            max_bytes: log.bytes_max,
            binding_id: files.owner().binding_id,
            fork_guid: files.owner().fork_guid,
            file_guid: Guid(guid),
            first_sequence: files.above_all_pages(),
            sector_bytes: 512,
        };
        let opened = Log::create(file, &spec, options.clock.clone())?;
        Ok(OpenedFiles {
            files,
            log: opened,
            options,
            restart: Restart::default(),
            member,
        })
    }
}

/// Does the error say that the log cannot be continued, as opposed to a disk that refuses?
pub(crate) fn is_of_log(error: &Error) -> bool {
    matches!(
        error,
        Error::ForeignLog { .. }
            | Error::NoCheckpoint { .. }
            | Error::Log(
                extentdb_wal::Error::Corrupt { .. } | extentdb_wal::Error::NoRecord { .. }
            )
    )
}

/// Renames a file at the path of the log: it may still be wanted.
fn set_log_aside(disk: &dyn Disk, path: &Path) -> Result<PathBuf, Error> {
    for number in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".old{number}"));
        let aside = PathBuf::from(name);
        if !disk.exists(&aside) {
            disk.rename(path, &aside)?;
            return Ok(aside);
        }
    }
    Err(Error::LogMissing)
}
