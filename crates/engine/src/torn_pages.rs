//! Torn pages at restart, and the double-write area of an opening.
//!
//! ```text
//! files opened ─▶ area there? its own? ─▶ torn pages replaced, durably ─▶ headers, boot page, log are read
//! log opened   ─▶ a new use begins: the area is renewed, or will be made when it is first needed
//! closed       ─▶ every page is durable in place: the area is removed
//! ```
//!
//! An area belongs to its data files when the binding id is theirs and every file was stamped (see `file_stamp`) by the
//! opening that made the area, or carries a stamp that it had then. Anything else is another state of these files: the area is
//! not used.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_base::{FileId, Lsn};
use extentdb_buffer::{Area, DoubleWrite};
use extentdb_format::PageBuf;
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::double_write::AreaHeader;
use extentdb_format::page::{PageHeader, checksum};
use extentdb_io::{Disk, DiskFile};
use extentdb_telemetry::Event;
use extentdb_types::Guid;

use crate::database::Options;
use crate::error::Error;

/// Images of a segment, in a pool that is large enough for them.
const PAGES_PER_SEGMENT: usize = 128;

/// What becomes of pages whose write a crash cuts short.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TornPages {
    /// They are repaired at the next opening: pages are written twice, but for new ones.
    #[default]
    Repaired,
    /// They are lost and reported (824): pages are written once. For databases that may be lost with their machine.
    Lost,
}

/// Where the area of a database is: beside its primary data file.
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

/// Repairs torn pages of the data files, if an area of theirs is there. Nothing has been read from the files before.
pub(crate) fn repair(disks: &[Arc<dyn DiskFile>], options: &Options) -> Result<Leftover, Error> {
    let Some(primary) = disks.first() else { return Ok(Leftover::default()) };
    let path = area_path(primary.path());
    if !options.disk.exists(&path) {
        return Ok(Leftover::default());
    }
    let Some(area) = Area::open(&*options.disk, &path)? else {
        // The power went while it was made: nothing was written under its protection.
        options.disk.remove(&path)?;
        return Ok(Leftover::default());
    };
    let files = files_by_id(disks)?;
    if !belongs_to(area.header(), disks)? {
        drop(area);
        set_aside(&*options.disk, &path)?;
        return Ok(Leftover::default());
    }
    let repaired = area.repair(&files)?;
    if !repaired.pages.is_empty() {
        options.events.event(&Event::TornPagesRepaired { pages: repaired.pages });
    }
    Ok(Leftover { area: Some(area), log_durable: repaired.log_durable })
}

/// The files by the number in the header of their first page, whose first sector names it also when the page is torn.
fn files_by_id(disks: &[Arc<dyn DiskFile>]) -> Result<BTreeMap<FileId, Arc<dyn DiskFile>>, Error> {
    let mut files = BTreeMap::new();
    for disk in disks {
        let mut page = PageBuf::zeroed();
        disk.read_at(0, &mut page[..])?;
        files.insert(PageHeader::of(&page).page_id().file, disk.clone());
    }
    Ok(files)
}

/// Are these the files that the area was made for? Pages that are torn do not contradict it.
fn belongs_to(area: &AreaHeader, disks: &[Arc<dyn DiskFile>]) -> Result<bool, Error> {
    for disk in disks {
        let stamped = first_page(&**disk)?;
        let is_other = |(binding, stamp): (Guid, Lsn)| {
            binding != area.binding_id || stamp > area.current_use || stamp < area.oldest_use
        };
        if stamped.is_some_and(is_other) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Binding id and stamp of a data file; none when its first page is not sound.
fn first_page(disk: &dyn DiskFile) -> Result<Option<(Guid, Lsn)>, Error> {
    let mut page = PageBuf::zeroed();
    disk.read_at(0, &mut page[..])?;
    if !checksum::verify(&page).is_intact() {
        return Ok(None);
    }
    checksum::restore_torn(&mut page);
    let header = FileHeaderView::new(&page).header();
    let stamp = header.first_update_lsn.unwrap_or(Lsn::ZERO);
    Ok(header.binding_id.map(|binding| (binding, stamp)))
}

impl Leftover {
    /// The area of this opening, which stamps the data files with `current_use`. `oldest_use` is the oldest stamp that they
    /// have now.
    pub(crate) fn begin_use(
        self,
        primary: &Path,
        binding_id: Guid,
        (oldest_use, current_use): (Lsn, Lsn),
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

/// Keeps the area of another state of the files under another name: those files may still come back.
fn set_aside(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let mut name = OsString::from(path);
    name.push(".old");
    let aside = PathBuf::from(name);
    if disk.exists(&aside) {
        disk.remove(&aside)?;
    }
    Ok(disk.rename(path, &aside)?)
}
