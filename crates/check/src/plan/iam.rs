//! IAM chains: which extents and single pages belong to which unit.
//!
//! ```text
//! sysallocunits.pgfirstiam -> IAM page, sequence 0 -> IAM page, sequence 1 -> … one page per
//!                          interval and unit
//! ```
//!
//! Every chain is followed from the catalog; each IAM page is entered once, so no chain can be
//! endless. Then PFS is asked for IAM pages that no chain led to (2576): those whose previous page
//! is known still hold good for their unit, because only the link to them is broken.
//!
//! A chain with a page that cannot be used (8946) takes its unit out of all further checks (7965).
//!
//! What healthy files may contain
//! - IAM pages of intervals past the end of their file, after it shrank: that nothing of them is
//!   left there is certain, that the pages go is not. So a head is reported when it is the only one
//!   of its file (8968), and later pages of a chain are not.

use std::collections::HashMap;

use extentdb_base::size::PAGES_PER_GAM;
use extentdb_base::{Extent, FileId, PageId};
use extentdb_catalog::Catalog;
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::fixed_page_type;
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_format::page::{PageHeader, PageType};
use extentdb_messages::Arg;

use super::maps::{is_damaged, map_name};
use super::pages::{PageState, load};
use super::{FileMaps, OwnerMap, PageOwner, Prelude};
use crate::finding::{Cause, Finding, Location, page_arg};
use crate::unit::{Unit, UnitIndex, Units, unknown_args};

/// What the walk of all chains works on.
struct ChainWalk<'w> {
    units: &'w Units,
    maps: &'w [FileMaps],
    owners: &'w mut OwnerMap,
    /// Filegroup of each data file.
    filegroups: HashMap<FileId, i32>,
    /// Heads of chains whose interval begins past the end of its file.
    heads_behind_end: Vec<HeadPastEnd>,
    page: PageBuf,
}

/// An IAM page whose interval begins past the end of its file.
#[derive(Clone, Copy, Debug)]
struct HeadPastEnd {
    id: PageId,
    interval: PageId,
    unit: UnitIndex,
}

/// A place in the chain of a unit.
struct ChainLink<'u> {
    index: UnitIndex,
    unit: &'u Unit,
    /// The IAM page before, `PageId::NONE` at the head, and its sequence number.
    previous: PageId,
    sequence: Option<u32>,
    id: PageId,
}

impl Prelude<'_> {
    /// Follows all chains.
    pub(super) fn claim_all(
        &mut self,
        units: &Units,
        maps: &[FileMaps],
        catalog: Option<&Catalog>,
        owners: &mut OwnerMap,
    ) {
        let files = catalog.map_or(&[][..], |catalog| &catalog.files);
        let filegroups = files.iter().map(|file| (file.id, file.filegroup)).collect();
        let heads_behind_end = Vec::new();
        let mut walk = ChainWalk {
            units,
            maps,
            owners,
            filegroups,
            heads_behind_end,
            page: PageBuf::zeroed(),
        };
        for (index, unit) in units.iter() {
            self.walk_iam_chain(&mut walk, index, unit);
        }
        self.report_heads_behind_end(&walk);
        if self.has_cut_chains {
            // Any IAM page may belong to a chain that comes back from a missing file.
            return;
        }
        for maps in maps {
            self.claim_stray_iam_pages(&mut walk, maps);
        }
    }

    fn walk_iam_chain(&mut self, walk: &mut ChainWalk<'_>, index: UnitIndex, unit: &Unit) {
        let mut intervals: HashMap<PageId, PageId> = HashMap::new();
        let mut link = ChainLink {
            index,
            unit,
            previous: PageId::NONE,
            sequence: None,
            id: unit.first_iam,
        };
        while !link.id.is_none() {
            if !self.enter(walk, &link) {
                self.cut_units.insert(index);
                return;
            }
            let view = IamView::new(&walk.page);
            let head = view.head();
            let sequence = view.sequence();
            self.verify_links(&link, head.prev, sequence);
            let interval = head.interval;
            let pages = self.source.page_count(interval.file);
            if link.previous.is_none() && pages > 0 && interval.page >= pages {
                walk.heads_behind_end.push(HeadPastEnd { id: link.id, interval, unit: index });
            }
            if let Some(other) = intervals.insert(head.interval, link.id) {
                self.report_unit(8947, link.id, unit, [page_arg(other), page_arg(link.id)]);
                self.cut_units.insert(index);
            } else {
                self.claim_listed(walk, index, unit, link.id);
            }
            link = ChainLink {
                previous: link.id,
                sequence: Some(sequence),
                id: head.next,
                ..link
            };
        }
    }

    /// 8968: the only head of its file that describes what is no part of it.
    fn report_heads_behind_end(&mut self, walk: &ChainWalk<'_>) {
        for behind in only_of_their_files(&walk.heads_behind_end) {
            if let Some(unit) = walk.units.get(behind.unit) {
                let args = ["IAM".into(), page_arg(behind.interval)].into_iter().chain(unit.args());
                let place = unit.at(behind.id);
                self.findings
                    .push(Finding::new(8968, place, args).related([behind.interval, PageId::NONE]));
            }
        }
    }

    /// Loads the page of a link and makes sure that it is an IAM page of the unit. False ends the
    /// chain.
    fn enter(&mut self, walk: &mut ChainWalk<'_>, link: &ChainLink<'_>) -> bool {
        let ChainLink { unit, id, previous, .. } = *link;
        if self.is_out_of_range(id) {
            self.report_out_of_range("IAM", id, unit);
            self.drop_unit(unit, id, 8968);
            return false;
        }
        if let Some(PageOwner::Iam(other)) = walk.owners.page(id) {
            self.report_crossing(link, other.and_then(|other| walk.units.get(other)), walk);
            return false;
        }
        let listed = maps_of(walk.maps, id.file).and_then(|maps| maps.state(id.page));
        let is_allocated = listed.is_none_or(PfsByte::is_allocated);
        let state = load(self.source, id, &mut walk.page);
        if state == PageState::Unreadable && self.source.page_count(id.file) == 0 {
            self.has_cut_chains = true;
            return false;
        }
        let header = PageHeader::of(&walk.page);
        let is_iam = header.kind() == PageType::Iam;
        let pfs_says_iam = listed.is_none_or(|state| state.is_iam());
        // A page that is not in use may hold anything; one that is must at least be sound.
        let is_no_iam = if is_allocated { state.is_sound() && !pfs_says_iam } else { true };
        if !is_iam && is_no_iam && !previous.is_none() {
            self.report_unit_first(2575, previous, unit, [page_arg(id), page_arg(previous)]);
            return false;
        }
        let view = IamView::new(&walk.page);
        let is_usable = state.is_sound() && is_iam && !is_damaged(&view.faults());
        if !is_usable || !view.interval().page.is_multiple_of(PAGES_PER_GAM) {
            self.report_map(id, map_name(PageType::Iam), &walk.page.clone(), state);
            if is_allocated {
                walk.owners.claim_page(id, PageOwner::Iam(Some(link.index)));
            }
            self.drop_unit(unit, id, 8946);
            return false;
        }
        let named = header.alloc_unit();
        if named != unit.id() {
            let other = walk.units.of_header(named, false).and_then(|other| walk.units.get(other));
            self.report_crossing(link, other, walk);
            if previous.is_none() {
                self.drop_unit(unit, id, 8959);
            }
            return false;
        }
        walk.owners.claim_page(id, PageOwner::Iam(Some(link.index)));
        if let Some(listed) = listed.filter(|_| !is_allocated) {
            self.report_unallocated(id, listed);
        }
        true
    }

    /// 8948: an IAM page in use that PFS calls free. Pages that it calls allocated are compared
    /// when they are read.
    fn report_unallocated(&mut self, id: PageId, listed: PfsByte) {
        let expected = listed.with_allocated(true).with_iam(true).with_mixed(true);
        let args = [page_arg(id), page_arg(id.pfs_page()), listed.0.into(), expected.0.into()];
        self.report(8948, Location::page(id), args);
    }

    /// A chain that contains an IAM page which another chain, or this one, has already, or which
    /// names another unit: 8959, 8969.
    fn report_crossing(
        &mut self,
        link: &ChainLink<'_>,
        other: Option<&Unit>,
        walk: &mut ChainWalk<'_>,
    ) {
        let ChainLink { unit, id, previous, .. } = *link;
        load(self.source, id, &mut walk.page);
        let back = PageHeader::of(&walk.page).prev();
        if other.map(Unit::id) != Some(unit.id()) {
            let named = PageHeader::of(&walk.page).alloc_unit();
            let others = other.map_or_else(|| unknown_args(named), Unit::args);
            let args = [page_arg(id)]
                .into_iter()
                .chain(others)
                .chain(unit.args())
                .chain([page_arg(previous)]);
            self.report(8959, unit.at(id), args);
        }
        if !previous.is_none() && back != previous {
            self.report_back_link(link, back);
        }
    }

    fn report_back_link(&mut self, link: &ChainLink<'_>, back: PageId) {
        let ChainLink { unit, id, previous, .. } = *link;
        self.report_unit(
            8969,
            previous,
            unit,
            [page_arg(previous), page_arg(id), page_arg(id), page_arg(back)],
        );
    }

    /// 8969, 2577, and 2576 for a head that claims to have a page before it.
    fn verify_links(&mut self, link: &ChainLink<'_>, back: PageId, sequence: u32) {
        let ChainLink { unit, id, previous, .. } = *link;
        if back != previous {
            if previous.is_none() {
                self.report_unit_first(2576, id, unit, [page_arg(back), page_arg(id)]);
            } else {
                self.report_back_link(link, back);
            }
        }
        // The number is the place in the chain; the head is 0 in every file seen.
        let expected = link.sequence.map_or(Some(0), |before| before.checked_add(1));
        if expected != Some(sequence) {
            let before = link.sequence.unwrap_or(0);
            let args = [page_arg(previous), before.into(), page_arg(id), sequence.into()];
            self.report_unit(2577, id, unit, args);
        }
    }

    /// Gives the unit a page of a mixed extent.
    fn claim_single(
        &mut self,
        walk: &mut ChainWalk<'_>,
        index: UnitIndex,
        unit: &Unit,
        page: PageId,
    ) {
        if fixed_page_type(page).is_some() {
            return self.report_never_owned(page, unit);
        }
        if self.is_out_of_range(page) {
            self.report_out_of_range("Data", page, unit);
        }
        if let Some(other) = walk.owners.claim_page(page, PageOwner::Unit(index)) {
            self.report_shared_page(walk, page, unit, other);
            self.settle_shared_page(walk, page, index, unit);
        }
    }

    /// Gives the unit what the loaded IAM page lists: 2533, 2579, 8910, 8968, 8996.
    fn claim_listed(
        &mut self,
        walk: &mut ChainWalk<'_>,
        index: UnitIndex,
        unit: &Unit,
        id: PageId,
    ) {
        let view = IamView::new(&walk.page);
        let interval = view.interval();
        let singles: Vec<PageId> = view.single_pages().collect();
        let extents: Vec<Extent> = view.extents().collect();
        self.verify_filegroup(walk, unit, id, interval.file);
        for page in singles {
            self.claim_single(walk, index, unit, page);
        }
        if self.source.page_count(interval.file) == 0 {
            if self.is_out_of_range(interval) {
                self.report_out_of_range("IAM", interval, unit);
            }
            return;
        }
        let pages = self.source.page_count(interval.file);
        for extent in extents {
            if extent.index == 0 {
                extent.pages().for_each(|page| self.report_never_owned(page, unit));
                continue;
            }
            if extent.first_page().page >= pages {
                self.report_beyond(extent, unit);
            }
            walk.owners.claim_extent(extent, index);
        }
    }

    /// 2533: a page at a place where every file has its maps and headers. The first extent of a
    /// file holds nothing else.
    fn report_never_owned(&mut self, page: PageId, unit: &Unit) {
        self.report_unit_first(2533, page, unit, [page_arg(page)]);
    }

    fn verify_filegroup(&mut self, walk: &ChainWalk<'_>, unit: &Unit, id: PageId, file: FileId) {
        let expected = i32::from(unit.filegroup);
        let Some(found) = walk.filegroups.get(&file).copied() else { return };
        // 0 is written where the filegroup is not kept.
        if found != expected && expected > 0 && found > 0 {
            let args = [page_arg(id)]
                .into_iter()
                .chain(unit.args())
                .chain([found.into(), expected.into()]);
            self.report(8996, unit.at(id), args);
        }
    }

    fn report_beyond(&mut self, extent: Extent, unit: &Unit) {
        let page = extent.first_page();
        self.report_unit_first(2579, page, unit, [page_arg(page)]);
    }

    /// A page that two units list is taken for the one that its header names.
    fn settle_shared_page(
        &self,
        walk: &mut ChainWalk<'_>,
        page: PageId,
        index: UnitIndex,
        unit: &Unit,
    ) {
        let mut bytes = PageBuf::zeroed();
        let is_sound = load(self.source, page, &mut bytes).is_sound();
        let is_listed_single = matches!(walk.owners.page(page), Some(PageOwner::Unit(_)));
        if is_sound && is_listed_single && PageHeader::of(&bytes).belongs_to(unit.id()) {
            walk.owners.replace_page(page, PageOwner::Unit(index));
        }
    }

    fn report_shared_page(
        &mut self,
        walk: &ChainWalk<'_>,
        page: PageId,
        unit: &Unit,
        other: PageOwner,
    ) {
        let other = match other {
            PageOwner::Unit(other) | PageOwner::Iam(Some(other)) => walk.units.get(other),
            PageOwner::Iam(None) | PageOwner::Fixed => None,
        };
        let others = other.map_or_else(|| unknown_args(extentdb_base::AllocUnitId(0)), Unit::args);
        let args =
            [page_arg(page), self.database_id.into()].into_iter().chain(others).chain(unit.args());
        self.report(8910, unit.at(page), args);
    }

    /// IAM pages by PFS that no chain led to.
    fn claim_stray_iam_pages(&mut self, walk: &mut ChainWalk<'_>, maps: &FileMaps) {
        for (first, end) in maps.described_ranges() {
            for page in first..end {
                let id = PageId { file: maps.file, page };
                let is_listed =
                    maps.state(page).is_some_and(|state| state.is_allocated() && state.is_iam());
                if is_listed && walk.owners.page(id).is_none() && !self.bad.contains_key(&id) {
                    self.claim_stray_iam_page(walk, id);
                }
            }
        }
    }

    fn claim_stray_iam_page(&mut self, walk: &mut ChainWalk<'_>, id: PageId) {
        if !load(self.source, id, &mut walk.page).is_sound() {
            return;
        }
        let view = IamView::new(&walk.page);
        if view.header().kind() != PageType::Iam || is_damaged(&view.faults()) {
            return;
        }
        let named = view.header().alloc_unit();
        let back = view.header().prev();
        let index = walk.units.of_header(named, false);
        let unit = index.and_then(|index| walk.units.get(index));
        let args = [page_arg(back), page_arg(id)].into_iter();
        let args = args.chain(unit.map_or_else(|| unknown_args(named), Unit::args));
        let place = Location { owner: unit.map(|unit| unit.owner), ..Location::page(id) };
        let mut finding = Finding::new(2576, place, args).related([back, PageId::NONE]);
        finding.derived_from = self.dropped.iter().find(|cause| cause.page == back).copied();
        self.findings.push(finding);
        let follows_known_page =
            index.is_some() && walk.owners.page(back) == Some(PageOwner::Iam(index));
        walk.owners.claim_page(id, PageOwner::Iam(index));
        if let (Some(index), Some(unit), true) = (index, unit, follows_known_page) {
            self.claim_listed(walk, index, unit, id);
        }
    }

    /// 7965: the unit takes no part in what follows.
    fn drop_unit(&mut self, unit: &Unit, page: PageId, error: u32) {
        self.dropped.push(Cause { page, error });
        let mut finding = Finding::new(7965, unit.at(page), unit.args());
        finding.derived_from = Some(Cause { page, error });
        self.findings.push(finding);
    }

    /// True for a page that the database cannot have. Pages of files that were not given may be
    /// there.
    fn is_out_of_range(&self, page: PageId) -> bool {
        match self.source.page_count(page.file) {
            0 => !self.missing_files.contains(&page.file),
            pages => page.page >= pages,
        }
    }

    fn report_out_of_range(&mut self, what: &'static str, page: PageId, unit: &Unit) {
        self.report_unit_first(8968, page, unit, [what.into(), page_arg(page)]);
    }

    /// A finding whose message begins with the unit.
    fn report_unit<const N: usize>(
        &mut self,
        error: u32,
        page: PageId,
        unit: &Unit,
        args: [Arg<'_>; N],
    ) {
        self.report(error, unit.at(page), unit.args().into_iter().chain(args));
    }

    /// A finding whose message ends with the unit.
    fn report_unit_first<const N: usize>(
        &mut self,
        error: u32,
        page: PageId,
        unit: &Unit,
        args: [Arg<'_>; N],
    ) {
        self.report(error, unit.at(page), args.into_iter().chain(unit.args()));
    }
}

fn maps_of(maps: &[FileMaps], file: FileId) -> Option<&FileMaps> {
    maps.iter().find(|maps| maps.file == file)
}

/// Those that no other one shares its file with: several are what a file that shrank leaves.
fn only_of_their_files(behind: &[HeadPastEnd]) -> impl Iterator<Item = &HeadPastEnd> {
    let is_only = |one: &HeadPastEnd| {
        behind.iter().filter(|other| other.interval.file == one.interval.file).count() == 1
    };
    behind.iter().filter(move |one| is_only(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(page: u32, file: u16) -> HeadPastEnd {
        HeadPastEnd {
            id: PageId::new(1, page),
            interval: PageId::new(file, PAGES_PER_GAM),
            unit: 0,
        }
    }

    #[test]
    fn one_head_past_the_end_of_a_file_is_damage_and_several_are_a_file_that_shrank() {
        let told = |heads: &[HeadPastEnd]| {
            only_of_their_files(heads).map(|it| it.id.page).collect::<Vec<_>>()
        };
        assert_eq!(told(&[]), [0u32; 0]);
        assert_eq!(told(&[head(10, 1)]), [10]);
        assert_eq!(told(&[head(10, 1), head(11, 1)]), [0u32; 0]);
        assert_eq!(told(&[head(10, 1), head(11, 1), head(12, 3)]), [12]);
    }
}
