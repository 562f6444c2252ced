//! Builds the page map: finds out which extent each stored extent is.
//!
//! No address is stored; each formatted page has its own id. The rules:
//!
//! 1. The first page of the extent with a valid header claims the extent
//!    ([`extentdb_format::mtf::extent`]).
//! 2. A backup reads extents in ascending order. A claim that does not ascend, names a file that
//!    the set does not list or lies past the end of its file is decided by the majority of all
//!    eight pages: old disk content can look like a page.
//! 3. Extents without any claim (allocated, never formatted) are placed by the GAM: between their
//!    neighbours, the number of allocated extents that are stored nowhere else must equal the
//!    number of extents to place.
//! 4. Extents may be stored again later; the last image wins.
//! 5. A backup may store more than is allocated: buffers that were never filled hold eight empty
//!    work pages of the server. An extent that rule 3 cannot place is left out: counted when it
//!    is such a filler, reported otherwise, since it may be the damaged image of an extent.
//! 6. With missing stripes the GAM cannot decide what is stored elsewhere: extents without a
//!    claim stay unplaced.
//!
//! Claims are gathered on all threads, a block of extents at a time; of a compressed extent only
//! the front is expanded.

use std::collections::HashMap;
use std::ops::Range;

use extentdb_base::size::{EXTENT_BYTES, EXTENTS_PER_GAM, PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::sync::thread;
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{AllocationBitmap, MapKind};
use extentdb_format::mtf::extent::{
    CLAIM_BYTES, claimed_extent, claims, first_claim, is_work_page,
};
use extentdb_format::page::{PageHeader, PageType, checksum};

use crate::backup::finding::{FindingKind, Findings};
use crate::backup::media::header::BackupFile;
use crate::backup::read_error::ReadError;
use crate::backup::set::page_map::{Layout, PageMap};
use crate::backup::stream::Scratch;

/// Extents whose claims are read at once.
const BLOCK_EXTENTS: u32 = 1 << 17;
/// Groups of extents without a claim that are placed by the GAM.
const GROUPS_MAX: usize = 1 << 14;
/// GAM bits read for all groups together, at most.
const LOOKS_MAX: u32 = 1 << 26;

/// The finished map.
pub(crate) struct Placement {
    pub(crate) map: PageMap,
    /// Images that a later one replaced.
    pub(crate) repeats: u64,
    /// Images that hold no page of the database.
    pub(crate) fillers: u64,
}

/// The extents that a set stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredExtents {
    /// Exactly those that the GAM calls allocated.
    Allocated,
    Changed,
    /// A part of them: stripes are missing.
    Part,
}

/// Places all extents of a set.
pub(crate) fn place_extents(
    layout: &Layout,
    files: &[BackupFile],
    stored: StoredExtents,
    jobs: usize,
    findings: &mut Findings,
) -> Result<Placement, extentdb_io::Error> {
    let mut placer = Placer {
        layout,
        files,
        map: PageMap::default(),
        groups: Vec::new(),
        last: None,
        fillers: 0,
        scratch: Scratch::default(),
    };
    let mut first = 0;
    while first < layout.extents() {
        let end = first.saturating_add(BLOCK_EXTENTS).min(layout.extents());
        for (number, claim) in (first..end).zip(gather(layout, first..end, jobs)?) {
            placer.take(number, claim)?;
        }
        first = end;
    }
    let mut repeats = placer.map.seal();
    let unplaced = placer.place_groups(stored)?;
    repeats += placer.map.seal();
    if stored != StoredExtents::Part {
        unplaced.iter().for_each(|run| note_unplaced(layout, run, findings));
    }
    Ok(Placement { map: placer.map, repeats, fillers: placer.fillers })
}

/// Extents of one group that could not be placed.
struct Unplaced {
    /// Number of the first.
    first: u32,
    extents: u64,
}

fn note_unplaced(layout: &Layout, run: &Unplaced, findings: &mut Findings) {
    if let Some((stream, at)) = layout.locate(run.first) {
        let what = FindingKind::Unplaced { first: u64::from(run.first), extents: run.extents };
        findings.add(stream.path(), stream.file_offset(at), what);
    }
}

/// The claims of a block of extents, on `jobs` threads.
fn gather(
    layout: &Layout,
    numbers: Range<u32>,
    jobs: usize,
) -> Result<Vec<Option<Extent>>, extentdb_io::Error> {
    let count = (numbers.end - numbers.start) as usize;
    let mut found = vec![None; count];
    let share = count.div_ceil(jobs.clamp(1, 256)).max(64);
    let results: Vec<_> = thread::scope(|scope| {
        let tasks: Vec<_> = (numbers.start..)
            .step_by(share)
            .zip(found.chunks_mut(share))
            .map(|(first, part)| scope.spawn(move || gather_part(layout, first, part)))
            .collect();
        tasks
            .into_iter()
            .map(|task| task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(found)
}

fn gather_part(
    layout: &Layout,
    first: u32,
    part: &mut [Option<Extent>],
) -> Result<(), extentdb_io::Error> {
    let mut scratch = Scratch::default();
    let mut hole_end = 0;
    for (number, to) in (first..).zip(part) {
        *to = claim(layout, number, &mut hole_end, &mut scratch)?;
    }
    Ok(())
}

/// The claim of the first page with a valid header. Damaged records claim nothing.
fn claim(
    layout: &Layout,
    number: u32,
    hole_end: &mut u64,
    scratch: &mut Scratch,
) -> Result<Option<Extent>, extentdb_io::Error> {
    let Some((stream, at)) = layout.locate(number) else { return Ok(None) };
    if at + EXTENT_BYTES as u64 <= *hole_end {
        return Ok(None);
    }
    let mut front = [0; CLAIM_BYTES];
    if !is_read(stream.read_front(at, &mut front, scratch))? {
        return Ok(None);
    }
    let claim = claimed_extent(&front, 0);
    if claim.is_some() {
        return Ok(claim);
    }
    *hole_end = stream.hole_end(at).unwrap_or(0);
    if stream.is_packed() {
        let mut extent = vec![0; EXTENT_BYTES];
        return Ok(is_read(stream.read(at, &mut extent, scratch))?
            .then(|| first_claim(&extent))
            .flatten());
    }
    for page in 1..PAGES_PER_EXTENT {
        let is_there = is_read(stream.read_front(
            at + u64::from(page) * PAGE_BYTES as u64,
            &mut front,
            scratch,
        ))?;
        if let Some(claim) = is_there.then(|| claimed_extent(&front, page)).flatten() {
            return Ok(Some(claim));
        }
    }
    Ok(None)
}

/// False for a damaged record; system errors are returned.
fn is_read(result: Result<(), ReadError>) -> Result<bool, extentdb_io::Error> {
    match result {
        Ok(()) => Ok(true),
        Err(ReadError::Io(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Adjacent extents without a claim, and the placed ones around them.
struct UnclaimedRun {
    numbers: Range<u32>,
    before: Option<Extent>,
    after: Option<Extent>,
}

struct Placer<'a> {
    layout: &'a Layout,
    /// The data files of the set, ordered by id.
    files: &'a [BackupFile],
    map: PageMap,
    groups: Vec<UnclaimedRun>,
    /// The extent placed last in this run.
    last: Option<Extent>,
    /// Extents that hold no page of the database.
    fillers: u64,
    scratch: Scratch,
}

impl Placer<'_> {
    fn take(&mut self, number: u32, claim: Option<Extent>) -> Result<(), extentdb_io::Error> {
        if self.layout.begins_a_run(number) {
            self.last = None;
        }
        let claim = match claim {
            Some(claim) if self.is_listed(claim) && self.ascends(claim) => Some(claim),
            Some(_) => self.vote(number)?,
            None => None,
        };
        match claim {
            Some(extent) => {
                self.map.add(extent, number);
                self.close_group(number, extent);
                self.last = Some(extent);
            }
            None => self.widen_group(number),
        }
        Ok(())
    }

    fn ascends(&self, claim: Extent) -> bool {
        self.last.is_none_or(|last| last.file != claim.file || last.index < claim.index)
    }

    /// True when the set lists the file and it is long enough. A set without a list believes every
    /// page.
    fn is_listed(&self, claim: Extent) -> bool {
        self.listed(claim.file).map_or(self.files.is_empty(), |file| claim.index < file.extents())
    }

    fn listed(&self, id: FileId) -> Option<&BackupFile> {
        let at = self.files.binary_search_by_key(&id, |file| file.id).ok()?;
        self.files.get(at)
    }

    /// The extent that most pages claim; of equals the one that ascends, then the first.
    fn vote(&mut self, number: u32) -> Result<Option<Extent>, extentdb_io::Error> {
        let Some((stream, at)) = self.layout.locate(number) else { return Ok(None) };
        let mut extent = vec![0; EXTENT_BYTES];
        if !is_read(stream.read(at, &mut extent, &mut self.scratch))? {
            return Ok(None);
        }
        let mut votes: Vec<(Extent, u32)> = Vec::new();
        for claim in claims(&extent).filter(|claim| self.is_listed(*claim)) {
            match votes.iter_mut().find(|(voted, _)| *voted == claim) {
                Some((_, count)) => *count += 1,
                None => votes.push((claim, 1)),
            }
        }
        votes.reverse();
        Ok(votes
            .into_iter()
            .max_by_key(|(claim, count)| (*count, self.ascends(*claim)))
            .map(|(claim, _)| claim))
    }

    fn widen_group(&mut self, number: u32) {
        match self.groups.last_mut() {
            Some(open) if open.numbers.end == number && !self.layout.begins_a_run(number) => {
                open.numbers.end += 1
            }
            _ => self.groups.push(UnclaimedRun {
                numbers: number..number + 1,
                before: self.last,
                after: None,
            }),
        }
    }

    fn close_group(&mut self, number: u32, extent: Extent) {
        if let Some(open) = self.groups.last_mut()
            && open.numbers.end == number
            && !self.layout.begins_a_run(number)
        {
            open.after = Some(extent);
        }
    }

    /// Places what the GAM leaves no choice for, and counts fillers. Gives what is left, group by
    /// group.
    fn place_groups(&mut self, stored: StoredExtents) -> Result<Vec<Unplaced>, extentdb_io::Error> {
        let mut looks = LOOKS_MAX;
        let mut gam = GamReader { page: PageBuf::zeroed(), holds: None };
        let mut left = Vec::new();
        let mut taken = HashMap::new();
        for (n, group) in std::mem::take(&mut self.groups).into_iter().enumerate() {
            let candidates = if stored == StoredExtents::Allocated && n < GROUPS_MAX {
                self.free_extents(&group, &taken, &mut gam, &mut looks)?
            } else {
                None
            };
            left.extend(self.place_group(group.numbers, candidates, &mut taken)?);
        }
        taken.into_iter().for_each(|(extent, number)| self.map.add(extent, number));
        Ok(left)
    }

    /// Gives the extents of a group to the `places` that are free for them; `None` when those are
    /// not known.
    fn place_group(
        &mut self,
        numbers: Range<u32>,
        candidates: Option<Vec<Extent>>,
        taken: &mut HashMap<Extent, u32>,
    ) -> Result<Option<Unplaced>, extentdb_io::Error> {
        if let Some(candidates) =
            candidates.as_ref().filter(|candidates| candidates.len() == numbers.len())
        {
            taken.extend(candidates.iter().copied().zip(numbers));
            return Ok(None);
        }
        let work = self.work_extents(numbers.clone())?;
        self.fillers += work.len() as u64;
        let extents = (numbers.len() - work.len()) as u64;
        let mut rest = numbers.filter(|number| work.binary_search(number).is_err());
        if let Some(candidates) = candidates.filter(|candidates| candidates.len() as u64 == extents)
        {
            taken.extend(candidates.into_iter().zip(rest));
            return Ok(None);
        }
        Ok(rest.next().map(|first| Unplaced { first, extents }))
    }

    /// The extents of a group that consist of empty work pages, ascending.
    fn work_extents(&mut self, numbers: Range<u32>) -> Result<Vec<u32>, extentdb_io::Error> {
        let mut extent = vec![0; EXTENT_BYTES];
        let mut work = Vec::new();
        let mut number = numbers.start;
        while number < numbers.end {
            let Some((stream, at)) = self.layout.locate(number) else { break };
            // The extents of a group are adjacent, so a hole of the file is a run of
            // zeros.
            let in_hole =
                stream.hole_end(at).map_or(0, |end| end.saturating_sub(at) / EXTENT_BYTES as u64);
            let in_hole = u32::try_from(in_hole).unwrap_or(u32::MAX).min(numbers.end - number);
            if in_hole > 0 {
                number += in_hole;
                continue;
            }
            let is_there = is_read(stream.read(at, &mut extent, &mut self.scratch))?;
            if is_there && extent.chunks(PAGE_BYTES).all(is_work_page) {
                work.push(number);
            }
            number += 1;
        }
        Ok(work)
    }

    /// Allocated extents between the neighbours of a group that are stored nowhere; at most one
    /// more than are wanted. `None` when the GAM cannot be read.
    fn free_extents(
        &mut self,
        group: &UnclaimedRun,
        taken: &HashMap<Extent, u32>,
        gam: &mut GamReader,
        looks: &mut u32,
    ) -> Result<Option<Vec<Extent>>, extentdb_io::Error> {
        let wanted = group.numbers.len() + 1;
        let mut candidates = Vec::new();
        for (file, range) in self.gaps(group) {
            for index in range {
                *looks = looks.saturating_sub(1);
                if *looks == 0 {
                    return Ok(None);
                }
                if candidates.len() >= wanted {
                    return Ok(Some(candidates));
                }
                let extent = Extent { file, index };
                let is_allocated =
                    gam.is_allocated(extent, self.layout, &self.map, &mut self.scratch)?;
                match is_allocated {
                    // Without the map the allocation of this file is unknown.
                    None => return Ok(None),
                    Some(true)
                        if self.map.find(extent).is_none() && !taken.contains_key(&extent) =>
                    {
                        candidates.push(extent);
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(Some(candidates))
    }

    /// The ranges of extents that lie between the neighbours of a group.
    fn gaps(&self, group: &UnclaimedRun) -> Vec<(FileId, Range<u32>)> {
        let end = |file: FileId| self.listed(file).map_or(0, BackupFile::extents);
        match (group.before, group.after) {
            (Some(before), Some(after)) if before.file == after.file => {
                vec![(before.file, before.index.saturating_add(1)..after.index)]
            }
            (before, after) => {
                let next = before
                    .map(|before| (before.file, before.index.saturating_add(1)..end(before.file)));
                next.into_iter().chain(after.map(|after| (after.file, 0..after.index))).collect()
            }
        }
    }
}

/// Reads GAM pages of the backup, one at a time.
struct GamReader {
    page: PageBuf,
    /// The page held, and whether it is sound.
    holds: Option<(PageId, bool)>,
}

impl GamReader {
    /// The GAM's word on an extent; `None` when its page is missing or no GAM page.
    fn is_allocated(
        &mut self,
        extent: Extent,
        layout: &Layout,
        map: &PageMap,
        scratch: &mut Scratch,
    ) -> Result<Option<bool>, extentdb_io::Error> {
        let Some(first) = extent.index.checked_mul(PAGES_PER_EXTENT) else { return Ok(None) };
        let wanted = MapKind::Gam.page_of(PageId { file: extent.file, page: first });
        if self.holds.is_none_or(|(held, _)| held != wanted) {
            self.holds = Some((wanted, self.load(wanted, layout, map, scratch)?));
        }
        let is_sound = self.holds.is_some_and(|(_, is_sound)| is_sound);
        let bitmap = AllocationBitmap::of(&self.page);
        Ok(is_sound.then(|| !bitmap.get(extent.index % EXTENTS_PER_GAM)))
    }

    fn load(
        &mut self,
        wanted: PageId,
        layout: &Layout,
        map: &PageMap,
        scratch: &mut Scratch,
    ) -> Result<bool, extentdb_io::Error> {
        let found = map.find(wanted.extent()).and_then(|number| layout.locate(number));
        let Some((stream, at)) = found else { return Ok(false) };
        let at = at + u64::from(wanted.page % PAGES_PER_EXTENT) * PAGE_BYTES as u64;
        if !is_read(stream.read(at, &mut self.page[..], scratch))? {
            return Ok(false);
        }
        let is_intact = checksum::verify(&self.page).is_intact();
        checksum::restore_torn(&mut self.page);
        let header = PageHeader::of(&self.page);
        Ok(is_intact && header.kind() == PageType::Gam && header.page_id() == wanted)
    }
}
