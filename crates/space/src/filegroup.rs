//! A filegroup: files that fill up together.

use std::time::Duration;

use extentdb_base::Extent;
use extentdb_base::sync::{Arc, Mutex, RwLock, lock, read, thread, write};

use crate::error::Error;
use crate::file::DataFile;
use crate::fill::{Recalculation, Schedule};
use crate::space::{Options, Space};

/// Draws from the schedule before all files are searched.
const DRAWS_MAX: usize = 64;

/// Observer of filegroups.
pub trait FillEvents: Send + Sync {
    /// Skip targets were recalculated: the facts of trace flag 1165.
    fn recalculated(&self, _recalculation: &Recalculation) {}
    /// A file has grown by `pages` pages in `took`.
    fn grown(&self, _file: &DataFile, _pages: u32, _took: Duration) {}
    /// A filegroup has few extents left: it should [grow ahead](Space::grow_ahead) of need.
    fn running_low(&self) {}
}

impl FillEvents for () {}

pub(crate) struct Filegroup {
    id: i16,
    /// In list order.
    files: Vec<Arc<DataFile>>,
    schedule: RwLock<Arc<Schedule>>,
    /// The file that grows next; held while one grows.
    next_to_grow: Mutex<usize>,
}

impl Filegroup {
    pub(crate) fn new(id: i16, files: Vec<Arc<DataFile>>) -> Filegroup {
        let schedule = RwLock::new(Arc::new(Schedule::new(&[1], 1)));
        Filegroup { id, files, schedule, next_to_grow: Mutex::new(0) }
    }

    pub(crate) fn id(&self) -> i16 {
        self.id
    }

    pub(crate) fn files(&self) -> &[Arc<DataFile>] {
        &self.files
    }

    /// New skip targets by what is free now, and the schedule that follows from them.
    pub(crate) fn recalculate(&self, options: &Options, events: &dyn FillEvents) {
        let facts = self.files.iter().map(|f| (f.id(), f.description().name, f.free_extents()));
        let recalculation = Recalculation::new(&options.database, facts);
        let targets: Vec<u32> = recalculation.files.iter().map(|file| file.target).collect();
        *write(&self.schedule) = Arc::new(Schedule::new(&targets, options.extents_per_turn));
        events.recalculated(&recalculation);
    }

    fn claim(&self, options: &Options, events: &dyn FillEvents) -> Option<Extent> {
        for _ in 0..DRAWS_MAX {
            let draw = read(&self.schedule).draw();
            let claimed = self.files.get(draw.file).and_then(|file| file.claim());
            if draw.is_last {
                self.recalculate(options, events);
            }
            if claimed.is_some() {
                return claimed;
            }
        }
        self.files.iter().find_map(|file| file.claim())
    }

    fn free_extents(&self) -> u32 {
        self.files.iter().map(|file| file.free_extents()).sum()
    }

    /// Fewer extents are left than two turns take, or one in a hundred.
    fn is_low(&self, options: &Options) -> bool {
        let all: u32 = self.files.iter().map(|file| file.extents()).sum();
        self.free_extents() < options.extents_per_turn.saturating_mul(2).max(all / 100)
    }
}

impl Space {
    /// A free extent of a filegroup, which grows when there is none. Claimed in memory only: the
    /// maps are the caller's.
    pub(crate) fn claim_extent(&self, group: i16) -> Result<Extent, Error> {
        let group = self.group(group)?;
        loop {
            if let Some(extent) = group.claim(self.options(), self.events()) {
                if group.is_low(self.options()) {
                    self.events().running_low();
                }
                return Ok(extent);
            }
            self.grow_group(&group, &|group| group.free_extents() > 0)?;
            // The counter is incremented before the bit is set: yield to the thread in between.
            thread::yield_now();
        }
    }

    /// Grows files of filegroups that are nearly full, in the same order as if they were full, so
    /// that no allocation waits for growth. A file that cannot grow is left as it is: the next
    /// allocation gets the error.
    pub fn grow_ahead(&self) {
        let has_enough = |group: &Filegroup| !group.is_low(self.options());
        for group in self.groups() {
            while !has_enough(&group) && self.grow_group(&group, &has_enough).is_ok() {}
        }
    }

    /// Grows one file of the group, in turn; no effect when another thread has just done so.
    fn grow_group(
        &self,
        group: &Filegroup,
        has_enough: &dyn Fn(&Filegroup) -> bool,
    ) -> Result<(), Error> {
        let mut next = lock(&group.next_to_grow);
        if has_enough(group) {
            return Ok(());
        }
        let mut refusal = None;
        for step in 0..group.files.len() {
            let at = (*next + step) % group.files.len();
            match self.grow(&group.files[at]) {
                Ok(true) => {
                    *next = at + 1;
                    self.grow_with_it(group, at);
                    return Ok(());
                }
                Ok(false) => {}
                // The disk is full; another file may be on another disk.
                Err(Error::Disk(error)) if error.is_full() => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(Error::FilegroupFull { group: group.id, growth: refusal })
    }

    /// With AUTOGROW_ALL_FILES all files grow when one does. One that cannot is passed over, as if
    /// it alone had been asked.
    fn grow_with_it(&self, group: &Filegroup, grown: usize) {
        if !self.grows_all_files(group.id) {
            return;
        }
        for (at, file) in group.files.iter().enumerate() {
            if at != grown {
                let _ = self.grow(file);
            }
        }
        // Files of equal size stay equal: the shares follow from the free extents of now.
        group.recalculate(self.options(), self.events());
    }
}
