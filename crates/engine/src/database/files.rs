//! The files of a database that is about to be opened: data files, and the log from the oldest
//! record that a restart needs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::Arc;
use extentdb_base::{FileId, Lsn};
use extentdb_buffer::DoubleWrite;
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::BootRecord;
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView, MAX_SIZE_UNLIMITED};
use extentdb_format::page::{PageHeader, checksum};
use extentdb_io::DiskFile;
use extentdb_space::FileDescription;
use extentdb_types::Guid;
use extentdb_wal::Log;

use crate::database::boot::{VERSION, WRITTEN, read_boot};
use crate::database::options::{Options, Purpose};
use crate::database::spec::Paths;
use crate::error::{Error, LogOwner};
use crate::recovery::redo::NewerPages;
use crate::recovery::torn_pages::{self, Leftover};

/// A data file that is open, and what its header says.
pub(crate) struct DataFile {
    pub(crate) disk: Arc<dyn DiskFile>,
    header: FileHeader,
    /// LSN of page 0.
    page_lsn: Lsn,
}

/// The data files of a database that is being opened.
pub(crate) struct DataFiles {
    /// The primary one first.
    pub(crate) files: Vec<DataFile>,
    pub(crate) boot: BootRecord,
    /// What a crash had left in the double-write area.
    leftover: Leftover,
    /// Is it opened for [`Purpose::Read`]? Then nothing of its log is to be applied.
    is_read: bool,
}

impl DataFiles {
    pub(crate) fn open(paths: &Paths, options: &Options) -> Result<DataFiles, Error> {
        let disks: Vec<Arc<dyn DiskFile>> =
            paths.data.iter().map(|path| options.disk.open(path)).collect::<Result<_, _>>()?;
        let leftover = torn_pages::repair(&disks, options)?;
        let files: Vec<DataFile> =
            disks.into_iter().map(DataFile::read).collect::<Result<_, _>>()?;
        let primary = files.first().filter(|file| file.header.file_id == Some(1));
        let primary = primary.ok_or(Error::MissingFile { file: FileId(1) })?;
        let mut ids = BTreeSet::new();
        if let Some(again) = files.iter().find(|file| !ids.insert(file.id())) {
            return Err(again.wrong("another file that was given has its number"));
        }
        if let Some(other) =
            files.iter().find(|file| file.header.binding_id != primary.header.binding_id)
        {
            return Err(other.wrong("it belongs to another database"));
        }
        let boot = read_boot(&*primary.disk)?;
        if options.purpose == Purpose::Change && !WRITTEN.contains(&boot.version) {
            return Err(Error::Version { found: boot.version, expected: VERSION });
        }
        let is_read = options.purpose == Purpose::Read;
        Ok(DataFiles { files, boot, leftover, is_read })
    }

    /// What the log must name as its database.
    pub(crate) fn owner(&self) -> LogOwner {
        let zero = Guid([0; 16]);
        let fork = self.files.first().and_then(|file| file.header.fork_guid);
        LogOwner { binding_id: self.binding(), fork_guid: fork.unwrap_or(zero) }
    }

    /// The log from the oldest record that a restart needs on, and that record; zero when the power
    /// went before the first checkpoint with this log.
    pub(crate) fn open_log(
        &self,
        log: &Arc<dyn DiskFile>,
        options: &Options,
    ) -> Result<(Log, Restart), Error> {
        let checkpoint = self.boot.checkpoint_lsn;
        let open = |from| {
            let asked = extentdb_wal::OpenOptions {
                from,
                durable_at_least: self.log_durable(),
                ..extentdb_wal::OpenOptions::default()
            };
            Log::open_with(log.clone(), &asked, options.clock.clone()).map(|opened| opened.log)
        };
        let opened = open(checkpoint)?;
        if checkpoint.is_zero() {
            let minimum = opened.minimum();
            return Ok((opened, Restart { minimum, ..Restart::default() }));
        }
        let minimum = minimum_of(&opened, checkpoint)?;
        let opened = if minimum < checkpoint { open(minimum)? } else { opened };
        Ok((opened, Restart { checkpoint, minimum, ..Restart::default() }))
    }

    /// The log was durable at least up to here: pages and copies of pages are written after it.
    pub(crate) fn log_durable(&self) -> Lsn {
        let pages = self.files.iter().map(|file| file.page_lsn);
        pages.chain([self.leftover.log_durable]).max().unwrap_or(Lsn::ZERO)
    }

    /// A log that was made for this database, whose last checkpoint it does not hold because it was
    /// never used: the power went before.
    pub(crate) fn unused_log(&self, log: &Arc<dyn DiskFile>, options: &Options) -> Option<Log> {
        if owner_of(&**log).ok()? != self.owner() {
            return None;
        }
        let opened = Log::open(log.clone(), Lsn::ZERO, options.clock.clone()).ok()?;
        (opened.next().vlf > self.boot.checkpoint_lsn.vlf).then_some(opened)
    }

    /// The number of a VLF that no LSN of a page has reached.
    pub(crate) fn above_all_pages(&self) -> u32 {
        let checkpoint = self.boot.checkpoint_lsn.vlf;
        // Pages that were brought up to the end of their log are past the checkpoint: by the VLFs
        // of a log between two checkpoints, which are some thousands at most.
        let past = if self.is_read { 1 << 20 } else { 1 };
        checkpoint.saturating_add(past)
    }

    /// The double-write area of an opening that is called `stamp`.
    pub(crate) fn begin_use(
        &mut self,
        stamp: Lsn,
        options: &Options,
    ) -> Result<Option<Arc<DoubleWrite>>, Error> {
        let binding = self.binding();
        let Some(primary) = self.files.first().map(DataFile::path) else { return Ok(None) };
        let stamps = || self.files.iter().map(|file| file.header.first_update_lsn);
        let oldest = torn_pages::oldest_stamp(stamps());
        // A log that was cut may end before the last opening.
        let newest = stamps().flatten().fold(stamp, Lsn::max);
        std::mem::take(&mut self.leftover).begin_use(&primary, binding, oldest, newest, options)
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.boot.status.is_clean() || self.is_read
    }

    pub(crate) fn binding(&self) -> Guid {
        self.files.first().and_then(|file| file.header.binding_id).unwrap_or(Guid([0; 16]))
    }

    /// In the order of a filegroup's list: the primary file, then from the newest to the oldest.
    pub(crate) fn descriptions(&self) -> Result<Vec<FileDescription>, Error> {
        let mut all: Vec<FileDescription> =
            self.files.iter().map(DataFile::description).collect::<Result<_, _>>()?;
        all.sort_by_key(
            |file| if file.id == FileId(1) { (0, 0) } else { (1, u16::MAX - file.id.0) },
        );
        Ok(all)
    }
}

impl DataFile {
    pub(crate) fn read(disk: Arc<dyn DiskFile>) -> Result<DataFile, Error> {
        let mut page = PageBuf::zeroed();
        disk.read_exact_at(0, &mut page[..])?;
        let path = disk.path().to_path_buf();
        let is_intact = checksum::verify(&page).is_intact();
        checksum::restore_torn(&mut page);
        if !FileHeaderView::new(&page).faults().is_empty() || !is_intact {
            return Err(Error::Unreadable { path, page: 0, kind: "file header" });
        }
        let header = FileHeaderView::new(&page).header();
        if header.file_id.is_none() || header.size.is_none() {
            return Err(Error::WrongFile { path, what: "the file header names no file" });
        }
        let page_lsn = PageHeader::of(&page).lsn();
        Ok(DataFile { disk, header, page_lsn })
    }

    /// The id that all files of its database share.
    pub(crate) fn binding_id(&self) -> Option<Guid> {
        self.header.binding_id
    }

    pub(crate) fn id(&self) -> FileId {
        FileId(self.header.file_id.unwrap_or(0))
    }

    pub(crate) fn wrong(&self, what: &'static str) -> Error {
        Error::WrongFile { path: self.path(), what }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.disk.path().to_path_buf()
    }

    pub(crate) fn description(&self) -> Result<FileDescription, Error> {
        let pages = self.header.size.unwrap_or(0);
        if self.disk.len() < u64::from(pages) * PAGE_BYTES as u64 {
            return Err(self.wrong("it is shorter than its header says"));
        }
        Ok(FileDescription {
            id: self.id(),
            group: self.header.filegroup_id.unwrap_or(1) as i16,
            name: self.header.name().unwrap_or_default(),
            pages,
            growth: self
                .header
                .growth()
                .unwrap_or(extentdb_format::allocation::file_header::Growth::Pages(0)),
            pages_max: self.header.max_size.filter(|max| *max != MAX_SIZE_UNLIMITED),
        })
    }
}

/// Which database a log names.
pub(crate) fn owner_of(log: &dyn DiskFile) -> Result<LogOwner, Error> {
    let identity = Log::identity(log)?;
    Ok(LogOwner {
        binding_id: identity.binding_id,
        fork_guid: identity.fork_guid,
    })
}

/// The oldest record that the checkpoint needs, by its end record.
pub(crate) fn minimum_of(log: &Log, checkpoint: Lsn) -> Result<Lsn, Error> {
    use extentdb_format::log::{Op, Payload};
    use std::ops::ControlFlow;
    let mut minimum = None;
    log.scan(checkpoint, &mut |_, record| match record.payload() {
        Payload::EndCheckpoint(end)
            if record.header().op == Op::END_CKPT && record.header().previous == checkpoint =>
        {
            minimum = Some(end.minimum);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    minimum.ok_or(Error::NoCheckpoint { checkpoint })
}

/// Where a restart begins, and what it accepts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Restart {
    /// The last checkpoint; zero when there is none in this log.
    pub(crate) checkpoint: Lsn,
    /// The oldest record that is needed; zero when none is.
    pub(crate) minimum: Lsn,
    pub(crate) newer_pages: NewerPages,
}
