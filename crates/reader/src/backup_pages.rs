//! Backups as a [`PageSource`]: one set, or a chain of them.
//!
//! ```text
//! page ─▶ newest set that stores its extent: bulk-logged pages of log backups, differential, full
//! ```
//!
//! Log records are replayed over these pages by [`recover`](crate::recover).

use std::path::{Path, PathBuf};

use extentdb_base::size::{PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::sync::Arc;
use extentdb_base::{Extent, Lsn, PageId};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::{ChainItem, LogReader, Op};
use extentdb_format::mtf::config::FileKind;
use extentdb_io::{File, ReadAt};

use crate::backup::chain::{Candidate, ChainPlan, ChainStart, is_base, log_time, plan};
use crate::backup::{
    self, BackupFile, BackupMedia, BackupSet, CombinedLog, LeftOut, MediaFamily, SetHeader,
    SetOptions, StopAt,
};
use crate::source::{PageSource, ReadError, SourceFile};

/// A backup that was opened: the sets that make the database together.
pub struct Backup {
    /// The stripes of the full backup.
    pub family: MediaFamily,
    /// All sets on its media.
    pub sets: Vec<SetHeader>,
    /// The full backup.
    pub set: Arc<BackupSet>,
    /// The differential backup over it.
    pub differential: Option<Arc<BackupSet>>,
    /// The log backups after those, in order.
    pub logs: Vec<Arc<BackupSet>>,
    /// Given sets that are not needed.
    pub left_out: Vec<LeftOut>,
    /// Where the chain was asked to end.
    pub stop: Option<ChainStop>,
}

/// A stop, as the log knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainStop {
    /// The requested stop.
    pub at: StopAt,
    /// The first record that does not count; `None` where the log ends before.
    pub until: Option<Lsn>,
    /// Why it is not certain that the log reaches the stop.
    pub not_reached: Option<String>,
}

impl Backup {
    /// The sets in the order in which they are restored.
    pub fn chain(&self) -> impl Iterator<Item = &Arc<BackupSet>> {
        [&self.set].into_iter().chain(&self.differential).chain(&self.logs)
    }

    /// The sets whose log is replayed, in order; the first holds the checkpoint to begin with.
    pub fn log_sets(&self) -> impl Iterator<Item = &Arc<BackupSet>> {
        let first = self.differential.as_ref().unwrap_or(&self.set);
        [first].into_iter().chain(&self.logs)
    }

    /// The log that is replayed over the pages.
    pub fn log(&self) -> LogReader<CombinedLog> {
        let (log, map) = CombinedLog::new(self.log_sets().cloned().collect());
        LogReader::with_map(log, map)
    }
}

/// How to put a chain together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChainOptions {
    /// Number of the set, for media with several.
    pub(crate) set: Option<u32>,
    /// Where to end.
    pub(crate) stop: Option<StopAt>,
}

/// The pages of backup sets, one over the other.
pub(crate) struct BackupPages {
    /// The newest first.
    layers: Vec<Arc<BackupSet>>,
    files: Vec<SourceFile>,
}

impl BackupPages {
    /// Opens backup files of any number of media sets, and the chain that their sets make.
    pub(crate) fn open(
        files: Vec<File>,
        chain: ChainOptions,
        options: &SetOptions,
    ) -> Result<(BackupPages, Backup), backup::Error> {
        let sources = files.into_iter().map(|file| Arc::new(file) as Arc<dyn ReadAt>).collect();
        let media = BackupMedia::open_all(sources)?;
        let sets = candidates(&media, chain.set)?;
        let backup = Assembly { media: &media, sets: &sets, options }.assemble(chain.stop)?;
        let path = |set: &SetHeader| {
            let candidate = sets.iter().find(|candidate| candidate.header == *set);
            candidate.map(|candidate| candidate.path.clone()).unwrap_or_default()
        };
        Ok((BackupPages::of(&backup, &path(backup.set.header())), backup))
    }

    fn of(backup: &Backup, path: &Path) -> BackupPages {
        let newest = backup.differential.as_ref().unwrap_or(&backup.set);
        let bulk = backup.logs.iter().filter(|log| log.stored_images() > 0).rev();
        let layers: Vec<_> =
            bulk.chain(&backup.differential).chain([&backup.set]).cloned().collect();
        let data = newest.files().iter().filter(|file| file.kind == FileKind::Data);
        let mut files: Vec<SourceFile> =
            data.map(|file| source_file(&layers, file, path)).collect();
        files.sort_by_key(|file| file.id);
        BackupPages { layers, files }
    }

    /// The newest set that stores an extent.
    fn layer(&self, extent: Extent) -> Option<&Arc<BackupSet>> {
        self.layers.iter().find(|set| set.is_stored(extent))
    }
}

/// The candidate sets. Of media with several sets, `wanted` is one; without it there must be
/// one full backup to begin with.
fn candidates(media: &[BackupMedia], wanted: Option<u32>) -> Result<Vec<Candidate>, backup::Error> {
    let mut all = Vec::new();
    for (number, one) in media.iter().enumerate() {
        let sets = one.sets();
        let is_choice = sets.len() > 1 || media.len() == 1;
        if let Some(wanted) = wanted.filter(|_| is_choice)
            && !sets.iter().any(|set| set.position == wanted)
        {
            return Err(backup::Error::NoSuchSet { wanted, sets: sets.len() });
        }
        let bases = sets.iter().filter(|set| is_base(set.kind)).count();
        if wanted.is_none() && sets.len() > 1 && bases > 1 {
            return Err(backup::Error::SeveralSets(one.summaries()));
        }
        let path = one.first_path();
        let chosen = sets
            .into_iter()
            .filter(|set| !is_choice || wanted.is_none_or(|wanted| set.position == wanted));
        all.extend(chosen.map(|header| Candidate { path: path.clone(), media: number, header }));
    }
    Ok(all)
}

/// Sets on their way to a chain.
struct Assembly<'m> {
    media: &'m [BackupMedia],
    sets: &'m [Candidate],
    options: &'m SetOptions,
}

impl Assembly<'_> {
    /// Finds the newest sets that do not reach beyond the stop. Headers have times in seconds,
    /// so the log decides: a set that reaches too far is skipped.
    fn assemble(&self, stop: Option<StopAt>) -> Result<Backup, backup::Error> {
        let mut skipped = Vec::new();
        loop {
            let begin = if self.options.any_kind { ChainStart::Any } else { ChainStart::Full };
            let plan = plan(self.sets, begin, stop, &skipped)?;
            let last_data = plan.differential.unwrap_or(plan.base);
            match self.open(plan, stop) {
                Err(backup::Error::StopTooEarly { .. }) if !skipped.contains(&last_data) => {
                    skipped.push(last_data);
                }
                outcome => return outcome,
            }
        }
    }

    fn open(&self, plan: ChainPlan, stop: Option<StopAt>) -> Result<Backup, backup::Error> {
        let Some((base, media)) = self.candidate(plan.base) else {
            return Err(backup::Error::NothingGiven);
        };
        let logs = plan.logs.iter().map(|log| self.open_set(*log));
        let mut backup = Backup {
            family: media.family(),
            sets: media.sets(),
            set: Arc::new(media.open_set(Some(base.header.position), self.options)?),
            differential: plan.differential.map(|set| self.open_set(set)).transpose()?,
            logs: logs.collect::<Result<_, _>>()?,
            left_out: plan.left_out,
            stop: None,
        };
        if let Some(at) = stop {
            backup.stop = Some(find_stop(&backup, at)?);
        }
        Ok(backup)
    }

    fn candidate(&self, index: usize) -> Option<(&Candidate, &BackupMedia)> {
        let set = self.sets.get(index)?;
        Some((set, self.media.get(set.media)?))
    }

    /// A set that is no full backup.
    fn open_set(&self, index: usize) -> Result<Arc<BackupSet>, backup::Error> {
        let Some((set, media)) = self.candidate(index) else {
            return Err(backup::Error::NothingGiven);
        };
        let options = SetOptions { any_kind: true, ..self.options.clone() };
        media.open_set(Some(set.header.position), &options).map(Arc::new)
    }
}

/// The LSN of the stop, from the log.
fn find_stop(backup: &Backup, at: StopAt) -> Result<ChainStop, backup::Error> {
    let data = backup.differential.as_ref().unwrap_or(&backup.set);
    let last = backup.log_sets().last().unwrap_or(data);
    let mut until = None;
    let mut has_lsn = false;
    for item in backup.log().chain() {
        let ChainItem::Block(block) =
            item.map_err(|error| backup::Error::Log(error.to_string()))?
        else {
            continue;
        };
        for (lsn, record) in block.buf.view().records() {
            has_lsn |= at == StopAt::Lsn(lsn);
            let is_past = match at {
                StopAt::Lsn(stop) => lsn > stop,
                StopAt::Time(stop) => {
                    let Payload::EndXact(end) = record.payload() else { continue };
                    record.header().op == Op::COMMIT_XACT && end.end_time > stop
                }
            };
            if is_past && until.is_none() {
                until = Some(lsn);
            }
        }
    }
    let consistent = data.header().last_lsn;
    let is_before_data = match at {
        StopAt::Time(stop) => {
            log_time(data.header().backup_start_date).is_some_and(|started| stop < started)
        }
        StopAt::Lsn(_) => false,
    };
    if is_before_data || until.is_some_and(|until| until < consistent) {
        return Err(backup::Error::StopTooEarly { stop: at, set: name_of(data) });
    }
    if let Some(set) = until.and_then(|until| bulk_set_around(backup, until)) {
        return Err(backup::Error::StopInBulkLog { stop: at, set: name_of(set) });
    }
    let is_reached = until.is_some()
        || match at {
            StopAt::Lsn(_) => has_lsn,
            StopAt::Time(stop) => {
                log_time(last.header().backup_start_date).is_some_and(|started| started >= stop)
            }
        };
    let end = last.header().last_lsn;
    let not_reached =
        (!is_reached).then(|| format!("the log ends at {end}, before {at} is reached"));
    Ok(ChainStop { at, until, not_reached })
}

/// A log backup with pages in which the record lies: its pages are newer than the record.
fn bulk_set_around(backup: &Backup, lsn: Lsn) -> Option<&Arc<BackupSet>> {
    backup.logs.iter().find(|log| log.stored_images() > 0 && lsn < log.header().last_lsn)
}

fn name_of(set: &BackupSet) -> Box<backup::SetName> {
    let header = set.header();
    Box::new(backup::SetName {
        path: set
            .path()
            .map(Path::to_path_buf)
            .unwrap_or_else(|| PathBuf::from(&header.backup_name)),
        position: header.position,
        kind: header.kind,
        first_lsn: header.first_lsn,
        last_lsn: header.last_lsn,
    })
}

/// A file may have grown after its size was written down: what is stored counts.
fn source_file(layers: &[Arc<BackupSet>], file: &BackupFile, path: &Path) -> SourceFile {
    let last = |set: &Arc<BackupSet>| set.stored_extents(file.id).last();
    let ends = layers.iter().filter_map(last).map(|last| last.index.saturating_add(1));
    let stored = ends.max().unwrap_or(0);
    let pages = file.pages().max(stored.saturating_mul(PAGES_PER_EXTENT));
    SourceFile {
        id: file.id,
        pages,
        trailing_bytes: 0,
        path: path.to_path_buf(),
    }
}

impl PageSource for BackupPages {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let pages = self.page_count(first.file);
        if pages == 0 {
            return Err(ReadError::NoFile { file: first.file });
        }
        if first.page >= pages {
            return Err(ReadError::BeyondEnd { page: first, pages });
        }
        if let [only] = self.layers.as_slice() {
            return only.read_pages(first, buf).map_err(|error| read_error(first, error));
        }
        let mut page = first;
        let mut rest = buf;
        while !rest.is_empty() {
            let set = self.layer(page.extent()).ok_or(ReadError::NotStored { page })?;
            let left = PAGES_PER_EXTENT - page.page % PAGES_PER_EXTENT;
            let bytes = (left as usize * PAGE_BYTES).min(rest.len());
            let (now, later) = rest.split_at_mut(bytes);
            set.read_pages(page, now).map_err(|error| read_error(page, error))?;
            page.page = page.page.saturating_add(left);
            rest = later;
        }
        Ok(())
    }

    fn is_stored(&self, extent: Extent) -> bool {
        self.layer(extent).is_some()
    }
}

fn read_error(page: PageId, error: backup::ReadError) -> ReadError {
    match error {
        backup::ReadError::NotStored { extent } => {
            ReadError::NotStored { page: page.max(extent.first_page()) }
        }
        backup::ReadError::Io(source) => ReadError::Io { page, source },
        damaged => ReadError::Damaged { page, what: damaged.to_string() },
    }
}
