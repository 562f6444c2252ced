//! Where finished pages go: gathered into runs, sealed and written on a thread of their own.
//!
//! ```text
//! builder thread                      writer thread
//! page, page, page -> run of a file -> seal every page -> one write per run
//! ```
//!
//! Pages of a file come nearly in order; a run ends where the next page does not follow the last,
//! or at 1 MiB. At most [`RUNS_WAITING`] runs wait, so memory is bounded and a slow disk slows the
//! builder down.

use extentdb_base::sync::mpsc::{Receiver, SyncSender, sync_channel};
use extentdb_base::sync::{Arc, thread};
use extentdb_base::{FileId, PageId};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, checksum};
use extentdb_io::{DiskFile, Durability, File, Fill};

use crate::Error;

/// Pages of a run: 1 MiB.
const RUN_PAGES: usize = 128;
/// Runs between the threads.
const RUNS_WAITING: usize = 16;

/// Takes finished pages.
pub(crate) trait PageSink {
    /// Takes a page; it goes where its header says, and gets a checksum.
    fn put(&mut self, page: &PageBytes) -> Result<(), Error>;

    /// Takes a page that carries neither checksum nor torn-page signature.
    fn put_bare(&mut self, page: &PageBytes) -> Result<(), Error>;
}

/// Counts on a page being written by nobody: for a trial that only wants to know which pages are
/// taken.
pub(crate) struct NoSink;

impl PageSink for NoSink {
    fn put(&mut self, _page: &PageBytes) -> Result<(), Error> {
        Ok(())
    }

    fn put_bare(&mut self, _page: &PageBytes) -> Result<(), Error> {
        Ok(())
    }
}

struct Run {
    first: PageId,
    pages: Vec<PageBytes>,
    is_bare: bool,
}

/// Writes pages to files.
pub(crate) struct FileSink {
    sender: SyncSender<Run>,
    /// The run that is being gathered, by file.
    open: Vec<Run>,
}

/// A data file that is being made.
pub(crate) enum Target {
    /// In the file system.
    File(File),
    /// On whatever disk.
    Disk(Arc<dyn DiskFile>),
}

impl Target {
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), extentdb_io::Error> {
        match self {
            Target::File(file) => file.write_all_at(offset, bytes),
            Target::Disk(file) => file.write_at(offset, &[bytes], Durability::Deferred),
        }
    }

    /// Makes the file this long, at least; on a disk, all of it durable.
    pub(crate) fn finish(&self, bytes: u64) -> Result<(), extentdb_io::Error> {
        match self {
            Target::File(file) if file.len() < bytes => file.set_len(bytes),
            Target::File(_) => Ok(()),
            Target::Disk(file) => {
                file.extend(bytes.max(file.len()), Fill::Allocated)?;
                file.sync()
            }
        }
    }
}

/// The data files by their ids.
pub(crate) struct DataFiles<'a>(pub(crate) &'a [(FileId, Target)]);

/// Runs `build` with a sink that writes to `files`; returns when every page is written.
pub(crate) fn with_sink<T>(
    files: &DataFiles<'_>,
    build: impl FnOnce(&mut FileSink) -> Result<T, Error>,
) -> Result<T, Error> {
    let (sender, receiver) = sync_channel(RUNS_WAITING);
    thread::scope(|scope| {
        let writer = scope.spawn(move || write_runs(&receiver, files));
        let mut sink = FileSink { sender, open: Vec::new() };
        let built = build(&mut sink).and_then(|built| sink.flush().map(|()| built));
        // The writer ends when the last sender is gone.
        drop(sink);
        let written = match writer.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // The writer's error is the cause of a stopped builder.
        written.and(built)
    })
}

fn write_runs(receiver: &Receiver<Run>, files: &DataFiles<'_>) -> Result<(), Error> {
    for mut run in receiver {
        if !run.is_bare {
            run.pages.iter_mut().for_each(checksum::seal);
        }
        let file = files.0.iter().find(|(id, _)| *id == run.first.file);
        let (_, file) = file.ok_or(Error::WriterStopped)?;
        let offset = u64::from(run.first.page) * extentdb_base::size::PAGE_BYTES as u64;
        file.write(offset, run.pages.as_flattened())?;
    }
    Ok(())
}

impl FileSink {
    /// Hands over what is still being gathered.
    fn flush(&mut self) -> Result<(), Error> {
        for run in self.open.drain(..) {
            send(&self.sender, run)?;
        }
        Ok(())
    }

    fn add(&mut self, page: &PageBytes, is_bare: bool) -> Result<(), Error> {
        let id = PageHeader::of(page).page_id();
        let at = self.open.iter().position(|run| run.first.file == id.file);
        if let Some(run) = at.and_then(|at| self.open.get_mut(at)) {
            let next = u64::from(run.first.page) + run.pages.len() as u64;
            if next == u64::from(id.page) && run.is_bare == is_bare && run.pages.len() < RUN_PAGES {
                run.pages.push(*page);
                return Ok(());
            }
        }
        let mut pages = Vec::with_capacity(RUN_PAGES);
        pages.push(*page);
        let run = Run { first: id, pages, is_bare };
        match at.and_then(|at| self.open.get_mut(at)) {
            Some(open) => send(&self.sender, std::mem::replace(open, run)),
            None => {
                self.open.push(run);
                Ok(())
            }
        }
    }
}

fn send(sender: &SyncSender<Run>, run: Run) -> Result<(), Error> {
    sender.send(run).map_err(|_| Error::WriterStopped)
}

impl PageSink for FileSink {
    fn put(&mut self, page: &PageBytes) -> Result<(), Error> {
        self.add(page, false)
    }

    fn put_bare(&mut self, page: &PageBytes) -> Result<(), Error> {
        self.add(page, true)
    }
}
