//! The writer of finished pages: gathers them into runs, seals and writes them on its own thread.
//!
//! ```text
//! builder thread                      writer thread
//! page, page, page -> run of a file -> seal every page -> one write per run
//! ```
//!
//! Pages of a file arrive nearly in order; a run ends where the next page is not adjacent, or at 1
//! MiB. At most [`RUNS_WAITING`] runs wait, so memory is bounded and a slow disk slows the builder
//! down.

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
    /// Takes a page; it is written at the address in its header, with a checksum.
    fn put(&mut self, page: &PageBytes) -> Result<(), Error>;

    /// Takes a page that carries neither checksum nor torn-page signature.
    fn put_bare(&mut self, page: &PageBytes) -> Result<(), Error>;
}

/// Discards pages: for a trial that only counts which pages are allocated.
pub(crate) struct NoSink;

impl PageSink for NoSink {
    fn put(&mut self, _page: &PageBytes) -> Result<(), Error> {
        Ok(())
    }

    fn put_bare(&mut self, _page: &PageBytes) -> Result<(), Error> {
        Ok(())
    }
}

struct PageRun {
    first: PageId,
    pages: Vec<PageBytes>,
    is_bare: bool,
}

/// Writes pages to files.
pub(crate) struct FileSink {
    sender: SyncSender<PageRun>,
    /// The open run, by file.
    open: Vec<PageRun>,
}

/// A data file that is being written.
pub(crate) enum OutputFile {
    /// In the file system.
    File(File),
    /// On a disk of any kind.
    Disk(Arc<dyn DiskFile>),
}

impl OutputFile {
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), extentdb_io::Error> {
        match self {
            OutputFile::File(file) => file.write_all_at(offset, bytes),
            OutputFile::Disk(file) => file.write_at(offset, &[bytes], Durability::Deferred),
        }
    }

    /// Extends the file to at least this length; on a disk, makes all of it durable.
    pub(crate) fn finish(&self, bytes: u64) -> Result<(), extentdb_io::Error> {
        match self {
            OutputFile::File(file) if file.len() < bytes => file.set_len(bytes),
            OutputFile::File(_) => Ok(()),
            OutputFile::Disk(file) => {
                file.extend(bytes.max(file.len()), Fill::Allocated)?;
                file.sync()
            }
        }
    }
}

/// The data files by their ids.
pub(crate) struct DataFiles<'a>(pub(crate) &'a [(FileId, OutputFile)]);

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
        // The writer ends when the last sender is dropped.
        drop(sink);
        let written = match writer.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // The writer's error is the cause of a stopped builder.
        written.and(built)
    })
}

fn write_runs(receiver: &Receiver<PageRun>, files: &DataFiles<'_>) -> Result<(), Error> {
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
    /// Hands over the open runs.
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
        let run = PageRun { first: id, pages, is_bare };
        match at.and_then(|at| self.open.get_mut(at)) {
            Some(open) => send(&self.sender, std::mem::replace(open, run)),
            None => {
                self.open.push(run);
                Ok(())
            }
        }
    }
}

fn send(sender: &SyncSender<PageRun>, run: PageRun) -> Result<(), Error> {
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
