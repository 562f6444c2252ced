//! Torn pages at restart, and the double-write area of an opening.
//!
//! ```text
//! files opened ─▶ area there? its own? ─▶ torn pages replaced, durably ─▶ headers, boot page, log
//!   are read
//! log opened   ─▶ a new use begins: the area is renewed, or will be made when it is first needed
//! closed       ─▶ every page is durable in place: the area is removed
//! ```
//!
//! An area belongs to its data files when the binding id is theirs and every file was stamped (see
//! `file_stamp`) by the opening that made the area, or carries a stamp that it had then, until the
//! new stamps are durable. When no file is of that state, the area is put aside (`.dw.old`,
//! `.dw.old2` …) and used when its files are given again. When some are and one is not, a wrong
//! copy was given: the opening is refused, and nothing has changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_base::{FileId, Lsn};
use extentdb_buffer::{Area, DoubleWrite};
use extentdb_format::PageBuf;
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::double_write::{AreaHeader, FileMatch};
use extentdb_format::page::{PageHeader, checksum};
use extentdb_io::{Disk, DiskFile};
use extentdb_telemetry::Event;
use extentdb_types::Guid;

use crate::database::options::{Options, TornPages};
use crate::error::Error;

/// Images of a segment, in a pool that is large enough for them.
const PAGES_PER_SEGMENT: usize = 128;

/// Path of the area of a database: in the folder of its primary data file.
pub(crate) fn area_path(primary: &Path) -> PathBuf {
    let mut name = OsString::from(primary);
    name.push(".dw");
    name.into()
}

/// What a crash had left, after the repair.
#[derive(Debug, Default)]
pub(crate) struct Leftover {
    area: Option<Area>,
    /// The log was durable at least up to here.
    pub(crate) log_durable: Lsn,
}

/// Repairs torn pages of the data files, if an area of theirs is there. Nothing has been read from
/// the files before.
pub(crate) fn repair(disks: &[Arc<dyn DiskFile>], options: &Options) -> Result<Leftover, Error> {
    let Some(area) = find_area(disks, &*options.disk)? else { return Ok(Leftover::default()) };
    let repaired = area.repair(&files_by_id(disks)?)?;
    if !repaired.pages.is_empty() {
        options.events.event(&Event::TornPagesRepaired { pages: repaired.pages });
    }
    Ok(Leftover { area: Some(area), log_durable: repaired.log_durable })
}

/// The area of these files: the one at its path, or one that was put aside while other files lay
/// there.
fn find_area(disks: &[Arc<dyn DiskFile>], disk: &dyn Disk) -> Result<Option<Area>, Error> {
    let Some(primary) = disks.first() else { return Ok(None) };
    let path = area_path(primary.path());
    if disk.exists(&path) {
        match Area::open(disk, &path)? {
            // The power went while it was made: nothing was written under its protection.
            None => disk.remove(&path)?,
            Some(area) if matches(area.header(), disks)? != Match::None => return Ok(Some(area)),
            Some(area) => {
                drop(area);
                if let Some(unused) = set_aside_names(&path).find(|aside| !disk.exists(aside)) {
                    disk.rename(&path, &unused)?;
                }
            }
        }
    }
    for aside in set_aside_names(&path).take_while(|aside| disk.exists(aside)) {
        let Some(area) = Area::open(disk, &aside)? else { continue };
        if matches(area.header(), disks)? == Match::All {
            drop(area);
            disk.rename(&aside, &path)?;
            return Ok(Area::open(disk, &path)?);
        }
    }
    Ok(None)
}

/// The files by the number in the header of their first page, whose first sector names it also when
/// the page is torn.
fn files_by_id(disks: &[Arc<dyn DiskFile>]) -> Result<BTreeMap<FileId, Arc<dyn DiskFile>>, Error> {
    let mut files = BTreeMap::new();
    for disk in disks {
        let mut page = PageBuf::zeroed();
        disk.read_at(0, &mut page[..])?;
        files.insert(PageHeader::of(&page).page_id().file, disk.clone());
    }
    Ok(files)
}

/// How the data files that were given relate to an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Match {
    /// Every file whose header page is sound is of the area's state, and there is one.
    All,
    /// No header page is sound.
    Unknown,
    /// Every sound one is of another state or database.
    None,
}

/// Are these the files that the area was made for? Pages that are torn do not contradict it.
///
/// # Errors
/// Some files are of the area's state, and one is not: it must not be changed, and the area is
/// still needed.
fn matches(area: &AreaHeader, disks: &[Arc<dyn DiskFile>]) -> Result<Match, Error> {
    let mut has_match = false;
    let mut stray = None;
    for disk in disks {
        let Some(first) = first_page(&**disk)? else { continue };
        match area.match_file(first.binding_id, first.stamp) {
            FileMatch::Same => has_match = true,
            FileMatch::OtherDatabase => {
                let path = disk.path().to_path_buf();
                let error = Error::WrongFile { path, what: "it belongs to another database" };
                stray.get_or_insert(error);
            }
            FileMatch::OtherState => {
                let path = disk.path().to_path_buf();
                let error =
                    Error::StaleFile { path, found: first.stamp, expected: area.current_use };
                stray.get_or_insert(error);
            }
        }
    }
    match stray {
        Some(error) if has_match => Err(error),
        Some(_) => Ok(Match::None),
        None if has_match => Ok(Match::All),
        None => Ok(Match::Unknown),
    }
}

/// What a sound header page says.
struct FirstPage {
    binding_id: Guid,
    stamp: Lsn,
}

/// Binding id and stamp of a data file; none when its first page is not sound.
fn first_page(disk: &dyn DiskFile) -> Result<Option<FirstPage>, Error> {
    let mut page = PageBuf::zeroed();
    disk.read_at(0, &mut page[..])?;
    if !checksum::verify(&page).is_intact() {
        return Ok(None);
    }
    checksum::restore_torn(&mut page);
    let header = FileHeaderView::new(&page).header();
    let stamp = header.first_update_lsn.unwrap_or(Lsn::ZERO);
    Ok(header.binding_id.map(|binding_id| FirstPage { binding_id, stamp }))
}

impl Leftover {
    /// The area of this opening, which stamps the data files with `current_use`. `oldest_use` is
    /// the oldest stamp that they have now.
    pub(crate) fn begin_use(
        self,
        primary: &Path,
        binding_id: Guid,
        oldest_use: Lsn,
        current_use: Lsn,
        options: &Options,
    ) -> Result<Option<Arc<DoubleWrite>>, Error> {
        let path = area_path(primary);
        if options.torn_pages == TornPages::Lost {
            drop(self.area);
            if options.disk.exists(&path) {
                options.disk.remove(&path)?;
            }
            return Ok(None);
        }
        let pages_per_segment = (options.frames / 8).clamp(4, PAGES_PER_SEGMENT) as u32;
        let header = AreaHeader { binding_id, current_use, oldest_use, pages_per_segment };
        let file = self.area.map(|area| area.renew(header)).transpose()?;
        let area = DoubleWrite::new(options.disk.clone(), path, header, file);
        area.prepare()?;
        Ok(Some(Arc::new(area)))
    }
}

/// The oldest stamp of the files; zero when one has none.
pub(crate) fn oldest_stamp(stamps: impl Iterator<Item = Option<Lsn>>) -> Lsn {
    stamps.map(|stamp| stamp.unwrap_or(Lsn::ZERO)).min().unwrap_or(Lsn::ZERO)
}

/// Names for areas of other states of the files, in the order in which they are taken: those files
/// may still be reopened.
fn set_aside_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    (1..).map(move |number| {
        let mut name = OsString::from(path);
        name.push(if number == 1 { ".old".to_owned() } else { format!(".old{number}") });
        PathBuf::from(name)
    })
}
