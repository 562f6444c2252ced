//! A backup set, opened: its extents, pages and log.

pub(crate) mod cache;
pub(crate) mod page_map;
pub(crate) mod placement;

use extentdb_base::size::{EXTENT_BYTES, PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::sync::{Arc, Mutex, lock, thread};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::PageBytes;
use extentdb_format::mtf::{BackupKind, config::FileKind};

use crate::backup::error::Error;
use crate::backup::finding::{FindingKind, Findings};
use crate::backup::log::{LogPart, log_parts};
use crate::backup::media::file::{MediaFamily, MediaFile};
use crate::backup::media::header::{BackupFile, SetHeader, files_of};
use crate::backup::media::scan::{DataRun, SetScan};
use crate::backup::read_error::{ReadError, Undecoded};
use crate::backup::set::cache::ExtentCache;
use crate::backup::set::page_map::{Layout, PageMap};
use crate::backup::set::placement::{Placement, StoredExtents, place_extents};
use crate::backup::stream::{BlockStream, Scratch};

/// The bytes of an extent.
pub type ExtentBytes = [u8; EXTENT_BYTES];

/// How to open a set.
#[derive(Clone, Debug, Default)]
pub struct SetOptions {
    /// Opens the set when stripes are missing; each becomes a finding.
    pub allow_missing_stripes: bool,
    /// Open sets that are no full backup, too: their extents and log can be read, but are no
    /// database.
    pub any_kind: bool,
    /// Threads that scan the extents; 0 = one per core.
    pub jobs: usize,
}

/// An opened backup set. All methods may be called from several threads at once.
pub struct BackupSet {
    header: SetHeader,
    files: Vec<BackupFile>,
    layout: Layout,
    map: PageMap,
    repeats: u64,
    fillers: u64,
    /// Families that were not given, ascending.
    missing: Vec<u16>,
    log: Vec<LogPart>,
    findings: Findings,
    cache: ExtentCache,
    scratches: Mutex<Vec<Scratch>>,
}

impl BackupSet {
    pub(crate) fn open(
        header: SetHeader,
        parts: &[(&MediaFile, &SetScan)],
        family: &MediaFamily,
        media_findings: &Findings,
        options: &SetOptions,
    ) -> Result<Self, Error> {
        refuse_encrypted(parts)?;
        refuse_partial(&header, options)?;
        refuse_missing_stripes(family, options)?;
        let mut findings = media_findings.clone();
        note_missing_stripes(parts, family, &mut findings);
        let layout = lay_out(parts, header.position)?;
        let mut files = list_files(parts);
        let data_files: Vec<_> =
            files.iter().filter(|file| file.kind == FileKind::Data).cloned().collect();
        let stored = what_is_stored(header.kind, family);
        let Placement { map, repeats, fillers } =
            place_extents(&layout, &data_files, stored, jobs(options), &mut findings)?;
        if map.is_empty() && is_a_database(header.kind) {
            refuse_missing_stripes(family, &SetOptions::default())?;
            return Err(why_no_pages(&layout, &header));
        }
        for file in map.files().filter(|_| data_files.is_empty()) {
            let end = map.extents(file).next_back().map_or(0, |last| last.index.saturating_add(1));
            files.push(BackupFile::unlisted(file, 0..end));
        }
        files.sort_by_key(|file| file.id);
        let numbered: Vec<_> = parts.iter().enumerate().map(|(n, (_, set))| (n, *set)).collect();
        let mut of_log = Findings::default();
        let log = log_parts(&numbered, layout.streams(), &mut of_log);
        if family.missing.is_empty() {
            // The log lies in one stripe, which may be a missing one.
            findings.join(&of_log);
        }
        let (cache, scratches) = Default::default();
        let missing = family.missing.clone();
        let set = BackupSet {
            header,
            files,
            layout,
            map,
            repeats,
            fillers,
            missing,
            log,
            findings,
            cache,
            scratches,
        };
        set.refuse_without_primary(options)?;
        Ok(set)
    }

    /// A file backup is a database only when it holds the file with the catalog.
    fn refuse_without_primary(&self, options: &SetOptions) -> Result<(), Error> {
        let has_boot_page = self.is_stored(PageId::BOOT.extent()) || !self.missing.is_empty();
        if self.header.kind == BackupKind::File && !has_boot_page && !options.any_kind {
            return Err(not_a_full_backup(&self.header));
        }
        Ok(())
    }

    /// The columns of RESTORE HEADERONLY.
    pub fn header(&self) -> &SetHeader {
        &self.header
    }

    /// The files of the database, log files included, ordered by id.
    pub fn files(&self) -> &[BackupFile] {
        &self.files
    }

    /// The first of its files.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.layout.streams().first().map(|stream| stream.path().as_path())
    }

    /// Damage that did not prevent opening.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Extents that the backup stores, repeated images counted each time.
    pub fn stored_images(&self) -> u64 {
        u64::from(self.layout.extents())
    }

    /// Images that a later one of the same extent replaced.
    pub fn repeated_images(&self) -> u64 {
        self.repeats
    }

    /// Images that hold no page of the database: buffers that were written without being filled.
    pub fn filler_images(&self) -> u64 {
        self.fillers
    }

    /// Families of the media set that were not given, ascending.
    pub fn missing_families(&self) -> &[u16] {
        &self.missing
    }

    /// True when the backup holds an extent.
    pub fn is_stored(&self, extent: Extent) -> bool {
        self.map.find(extent).is_some()
    }

    /// The extents of a file that the backup holds, ascending.
    pub fn stored_extents(&self, file: FileId) -> impl ExactSizeIterator<Item = Extent> {
        self.map.extents(file)
    }

    /// The VLFs of the log, in the order of the backup.
    pub fn log(&self) -> &[LogPart] {
        &self.log
    }

    /// File and offset of an extent: of its first byte, or of the compressed record that holds it.
    pub fn location_of(&self, extent: Extent) -> Option<(&std::path::Path, u64)> {
        let (stream, at) = self.locate(extent)?;
        Some((stream.path(), stream.file_offset(at)))
    }

    fn locate(&self, extent: Extent) -> Option<(&BlockStream, u64)> {
        self.layout.locate(self.map.find(extent)?)
    }

    /// Reads an extent.
    ///
    /// # Errors
    /// The backup does not hold it, its record is damaged, or the system refused.
    pub fn read_extent(&self, extent: Extent, out: &mut ExtentBytes) -> Result<(), ReadError> {
        let (stream, at) = self.locate(extent).ok_or(ReadError::NotStored { extent })?;
        self.with_scratch(|scratch| stream.read(at, out, scratch))
    }

    /// Reads a page.
    ///
    /// # Errors
    /// As [`BackupSet::read_extent`].
    pub fn read_page(&self, page: PageId, out: &mut PageBytes) -> Result<(), ReadError> {
        self.read_pages(page, out)
    }

    /// Reads adjacent whole pages from `first` on. `buf` is a multiple of the page
    /// size.
    ///
    /// Whole extents are read directly into `buf`; of others, a few stay expanded for the next
    /// call.
    ///
    /// # Errors
    /// As [`BackupSet::read_extent`]. Parts of `buf` may have been filled.
    pub fn read_pages(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let mut page = first;
        let mut rest = buf;
        while !rest.is_empty() {
            let extent = page.extent();
            let skip = (page.page % PAGES_PER_EXTENT) as usize * PAGE_BYTES;
            let (stream, at) = self.locate(extent).ok_or(ReadError::NotStored { extent })?;
            let run = if stream.is_packed() {
                EXTENT_BYTES
            } else {
                self.run_bytes(extent, stream, at, skip + rest.len())
            };
            let (now, later) = rest.split_at_mut((run - skip).min(rest.len()));
            if stream.is_packed() && now.len() < EXTENT_BYTES {
                self.read_part(extent, stream, at, skip, now)?;
            } else {
                self.with_scratch(|scratch| stream.read(at + skip as u64, now, scratch))?;
            }
            page.page = page.page.saturating_add((now.len() / PAGE_BYTES).max(1) as u32);
            rest = later;
        }
        Ok(())
    }

    /// Bytes that can be read at once: extents that follow each other in the database and in the
    /// stream.
    fn run_bytes(&self, extent: Extent, stream: &BlockStream, at: u64, wanted: usize) -> usize {
        let mut bytes = EXTENT_BYTES;
        let mut next = extent;
        while bytes < wanted {
            next.index = next.index.saturating_add(1);
            match self.locate(next) {
                Some((other, end_before))
                    if std::ptr::eq(other, stream) && end_before == at + bytes as u64 =>
                {
                    bytes += EXTENT_BYTES;
                }
                _ => break,
            }
        }
        bytes
    }

    /// Reads a part of a compressed extent through the cache.
    fn read_part(
        &self,
        extent: Extent,
        stream: &BlockStream,
        at: u64,
        skip: usize,
        buf: &mut [u8],
    ) -> Result<(), ReadError> {
        let kept = match self.cache.find(extent) {
            Some(kept) => kept,
            None => {
                let mut bytes = vec![0; EXTENT_BYTES];
                self.with_scratch(|scratch| stream.read(at, &mut bytes, scratch))?;
                let bytes: Arc<[u8]> = bytes.into();
                self.cache.keep(extent, bytes.clone());
                bytes
            }
        };
        buf.copy_from_slice(&kept[skip..skip + buf.len()]);
        Ok(())
    }

    /// Reads log bytes of a VLF. `file_offset`: offset in the log file; `buf` must lie inside what
    /// the part carries. Returns the number of bytes read: fewer than wanted only at the end of
    /// what is stored.
    ///
    /// # Errors
    /// A record is damaged, or the system refused.
    pub fn read_log(
        &self,
        part: &LogPart,
        file_offset: u64,
        buf: &mut [u8],
    ) -> Result<usize, ReadError> {
        let mut done = 0;
        for position in &part.positions {
            let wanted = file_offset + done as u64;
            if wanted < position.file_offset
                || wanted >= position.file_offset + position.bytes
                || done == buf.len()
            {
                continue;
            }
            let skip = wanted - position.file_offset;
            let bytes =
                usize::try_from(position.bytes - skip).unwrap_or(usize::MAX).min(buf.len() - done);
            if let Some(stream) = self.layout.streams().get(position.stream) {
                self.with_scratch(|scratch| {
                    stream.read(position.at + skip, &mut buf[done..done + bytes], scratch)
                })?;
                done += bytes;
            }
        }
        Ok(done)
    }

    /// Lends a scratch; those not in use wait in the set.
    fn with_scratch<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let kept = lock(&self.scratches).pop();
        let mut scratch = kept.unwrap_or_default();
        let result = work(&mut scratch);
        lock(&self.scratches).push(scratch);
        result
    }
}

/// Numbers the extents of all stripes.
fn lay_out(parts: &[(&MediaFile, &SetScan)], position: u32) -> Result<Layout, Error> {
    let runs: Vec<(Arc<BlockStream>, &[DataRun])> =
        parts.iter().map(|(file, set)| (file.stream.clone(), set.data.as_slice())).collect();
    Layout::new(runs).map_err(|extents| Error::TooManyExtents { position, extents })
}

/// The extents of a set by its kind, for the given stripes.
fn what_is_stored(kind: BackupKind, family: &MediaFamily) -> StoredExtents {
    match kind {
        _ if !family.missing.is_empty() => StoredExtents::Part,
        BackupKind::Database | BackupKind::Partial | BackupKind::File => StoredExtents::Allocated,
        _ => StoredExtents::Changed,
    }
}

/// Threads to use.
fn jobs(options: &SetOptions) -> usize {
    if options.jobs > 0 {
        options.jobs
    } else {
        thread::available_parallelism().map_or(1, usize::from)
    }
}

fn note_missing_stripes(
    parts: &[(&MediaFile, &SetScan)],
    family: &MediaFamily,
    findings: &mut Findings,
) {
    let Some((file, _)) = parts.first() else { return };
    for missing in &family.missing {
        let what = FindingKind::MissingStripe { family: *missing, families: family.families };
        findings.add(file.stream.path(), 0, what);
    }
}

fn list_files(parts: &[(&MediaFile, &SetScan)]) -> Vec<BackupFile> {
    let best = parts.iter().find(|(_, set)| set.last.is_some()).or(parts.first());
    best.map_or_else(Vec::new, |(_, set)| files_of(set))
}

/// Kinds whose extents make a database. A set whose configuration is lost may be one.
fn is_a_database(kind: BackupKind) -> bool {
    matches!(
        kind,
        BackupKind::Database | BackupKind::Partial | BackupKind::File | BackupKind::Other(b'?')
    )
}

pub(crate) fn not_a_full_backup(header: &SetHeader) -> Error {
    Error::NotAFullBackup {
        position: header.position,
        kind: header.kind,
        database: header.database_name.clone(),
        base: header.differential_base_guid,
        first_lsn: header.first_lsn,
    }
}

fn refuse_encrypted(parts: &[(&MediaFile, &SetScan)]) -> Result<(), Error> {
    let encrypted = parts.iter().find_map(|(file, set)| set.encrypted.map(|stream| (file, stream)));
    encrypted.map_or(Ok(()), |(file, stream)| {
        Err(Error::Encrypted { path: file.stream.path().to_path_buf(), stream })
    })
}

fn refuse_partial(header: &SetHeader, options: &SetOptions) -> Result<(), Error> {
    if options.any_kind || is_a_database(header.kind) {
        Ok(())
    } else {
        Err(not_a_full_backup(header))
    }
}

fn refuse_missing_stripes(family: &MediaFamily, options: &SetOptions) -> Result<(), Error> {
    if family.missing.is_empty() || options.allow_missing_stripes {
        return Ok(());
    }
    let media_set = family.media_set.unwrap_or(extentdb_types::Guid([0; 16]));
    Err(Error::MissingStripes {
        media_set,
        families: family.families,
        missing: family.missing.clone(),
    })
}

/// Why a set has no placed extent: it stores none, or none can be expanded.
fn why_no_pages(layout: &Layout, header: &SetHeader) -> Error {
    let mut extent = vec![0; EXTENT_BYTES];
    if let Some((stream, at)) = layout.locate(0)
        && let Err(ReadError::Damaged { offset, what: Undecoded::Payload(damage), .. }) =
            stream.read(at, &mut extent, &mut Scratch::default())
        && damage.is_other_algorithm()
    {
        return stream.other_algorithm(offset);
    }
    Error::NoPages {
        position: header.position,
        database: header.database_name.clone(),
    }
}
