//! Who owns which extent and which page, and whether GAM and SGAM agree.
//!
//! ```text
//! GAM  SGAM  owners          meaning
//!  1    0    0               free
//!  0    0    1 unit          dedicated to that unit
//!  0    1    0               mixed, some page is free
//!  0    0    0, but singles  mixed and full; 59031 when PFS calls a page of it free
//!  1    1    any             8903
//!  more than one of GAM, SGAM, units   8904, and 8913 for each of them
//!  0    0    0               8905: the extent has no owner
//! ```
//!
//! A page of a mixed extent that has an owner is allocated by PFS: 8948.
//!
//! Single pages (of mixed extents) are owned one by one. A unit number per extent costs four bytes;
//! intervals without an owned extent cost nothing.
//!
//! What healthy files contain
//! - SGAM bits of full mixed extents: the bit is cleared lazily. It says nothing about an owner, so
//!   it does not disturb.
//! - `master` keeps the server configuration on page (1:10), a page of type 14 that no IAM page
//!   lists.
//! - The first extent of an interval holds its maps, and an extent at a multiple of 1011 begins
//!   with a PFS page: these are in use without an owner.

use std::collections::{BTreeMap, HashMap};

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_catalog::model::AllocUnitKind;
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::MapKind;
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_format::page::{PageHeader, PageType};
use extentdb_messages::Arg;

use super::pages::load;
use super::{Chosen, FileMaps, Prelude};
use crate::finding::{Location, Owner, page_arg};
use crate::unit::{Unit, UnitIndex, Units};

/// Owner of a single page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageOwner {
    /// A page of the unit.
    Unit(UnitIndex),
    /// An IAM page of the unit; `None` when its unit is not in the catalog.
    Iam(Option<UnitIndex>),
    /// The boot page, or the server configuration of `master`.
    Fixed,
}

/// Owner of an extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExtentOwner {
    /// No owner by the IAM pages.
    Nobody,
    /// Its pages are owned one by one.
    Singles,
    Unit(UnitIndex),
}

const NOBODY: u32 = 0;
const SINGLES: u32 = 1;
const FIRST_UNIT: u32 = 2;
/// Notes of 59031 in one report; beyond that they are not listed.
const UNREACHABLE_NOTES_MAX: usize = 100;

/// Owners of all extents and single pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerMap {
    files: BTreeMap<FileId, Vec<Option<Box<[u32]>>>>,
    pages: HashMap<PageId, PageOwner>,
    /// Extents with a unit and something else.
    contested: BTreeMap<Extent, Vec<UnitIndex>>,
}

impl OwnerMap {
    /// No extent has an owner, except that the boot page has its place.
    pub(crate) fn new(maps: &[FileMaps]) -> OwnerMap {
        let intervals =
            |maps: &FileMaps| vec![None; maps.extents().div_ceil(EXTENTS_PER_GAM) as usize];
        let mut owners = OwnerMap {
            files: maps.iter().map(|maps| (maps.file, intervals(maps))).collect(),
            ..OwnerMap::default()
        };
        owners.mark(PageId::BOOT, PageOwner::Fixed);
        owners
    }

    fn cell(&mut self, extent: Extent) -> Option<&mut u32> {
        let interval =
            self.files.get_mut(&extent.file)?.get_mut((extent.index / EXTENTS_PER_GAM) as usize)?;
        let cells = interval
            .get_or_insert_with(|| vec![NOBODY; EXTENTS_PER_GAM as usize].into_boxed_slice());
        cells.get_mut((extent.index % EXTENTS_PER_GAM) as usize)
    }

    /// The owner of an extent.
    #[inline]
    pub(crate) fn extent(&self, extent: Extent) -> ExtentOwner {
        let interval = self
            .files
            .get(&extent.file)
            .and_then(|file| file.get((extent.index / EXTENTS_PER_GAM) as usize));
        let cells = interval.and_then(Option::as_deref).unwrap_or_default();
        match cells.get((extent.index % EXTENTS_PER_GAM) as usize).copied().unwrap_or(NOBODY) {
            NOBODY => ExtentOwner::Nobody,
            SINGLES => ExtentOwner::Singles,
            unit => ExtentOwner::Unit(unit - FIRST_UNIT),
        }
    }

    /// Single pages with their owners, in the order of the files.
    fn singles(&self) -> Vec<(PageId, PageOwner)> {
        let mut singles: Vec<(PageId, PageOwner)> =
            self.pages.iter().map(|(id, owner)| (*id, *owner)).collect();
        singles.sort_unstable_by_key(|(id, _)| *id);
        singles
    }

    /// The owner of a single page.
    pub(crate) fn page(&self, page: PageId) -> Option<PageOwner> {
        self.pages.get(&page).copied()
    }

    /// All units that claim an extent, when they are several.
    pub(crate) fn claimants(&self, extent: Extent) -> &[UnitIndex] {
        self.contested.get(&extent).map_or(&[], Vec::as_slice)
    }

    /// Units with an extent that has several owners: which of its pages are whose is not certain.
    pub(crate) fn contested_units(&self) -> impl Iterator<Item = UnitIndex> {
        self.contested.values().flatten().copied()
    }

    /// True when some extent has several owners.
    pub(crate) fn is_contested(&self) -> bool {
        !self.contested.is_empty()
    }

    /// Does any unit that has the extent, or pages of it, pass?
    pub(crate) fn any_unit(&self, extent: Extent, passes: impl Fn(UnitIndex) -> bool) -> bool {
        let is_owner = matches!(self.extent(extent), ExtentOwner::Unit(unit) if passes(unit));
        is_owner
            || self.claimants(extent).iter().any(|unit| passes(*unit))
            || (self.extent(extent) == ExtentOwner::Singles
                && self.units_of_singles(extent).into_iter().any(passes))
    }

    /// Does any unit that has the page pass? `None` when no unit has it.
    pub(crate) fn any_unit_of_page(
        &self,
        page: PageId,
        passes: impl Fn(UnitIndex) -> bool,
    ) -> Option<bool> {
        let claimants = self.claimants(page.extent());
        if !claimants.is_empty() {
            return Some(claimants.iter().any(|unit| passes(*unit)));
        }
        match (self.extent(page.extent()), self.page(page)) {
            (_, Some(PageOwner::Unit(unit) | PageOwner::Iam(Some(unit))))
            | (ExtentOwner::Unit(unit), _) => Some(passes(unit)),
            _ => None,
        }
    }

    /// Bytes of memory that the map takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let intervals = self.files.values().flatten().flatten();
        let cells: u64 = intervals.map(|cells| std::mem::size_of_val(&**cells) as u64).sum();
        let single = (std::mem::size_of::<PageId>() + std::mem::size_of::<PageOwner>()) as u64;
        cells + self.pages.capacity() as u64 * (single + 1)
    }

    /// Gives an extent to a unit.
    pub(super) fn claim_extent(&mut self, extent: Extent, unit: UnitIndex) {
        let Some(cell) = self.cell(extent) else { return };
        match *cell {
            NOBODY => *cell = unit + FIRST_UNIT,
            SINGLES => {
                *cell = unit + FIRST_UNIT;
                let singles =
                    extent.pages().filter_map(|page| self.pages.get(&page)).filter_map(|owner| {
                        match owner {
                            PageOwner::Unit(other) | PageOwner::Iam(Some(other)) => Some(*other),
                            PageOwner::Iam(None) | PageOwner::Fixed => None,
                        }
                    });
                let claimants: Vec<UnitIndex> = singles.chain([unit]).collect();
                self.contested.insert(extent, claimants);
            }
            first => {
                let claimants =
                    self.contested.entry(extent).or_insert_with(|| vec![first - FIRST_UNIT]);
                claimants.push(unit);
            }
        }
    }

    /// Gives a single page to a unit; the owner that it has already, if any.
    pub(super) fn claim_page(&mut self, page: PageId, owner: PageOwner) -> Option<PageOwner> {
        if let Some(other) = self.pages.get(&page) {
            return Some(*other);
        }
        self.mark(page, owner);
        None
    }

    /// Gives a single page that has an owner to another one.
    pub(super) fn replace_page(&mut self, page: PageId, owner: PageOwner) {
        self.pages.insert(page, owner);
    }

    /// True for a page that no unit has, neither alone nor as part of an extent.
    fn is_unclaimed(&self, page: PageId) -> bool {
        self.page(page).is_none() && !matches!(self.extent(page.extent()), ExtentOwner::Unit(_))
    }

    fn mark(&mut self, page: PageId, owner: PageOwner) {
        self.pages.insert(page, owner);
        let extent = page.extent();
        let Some(cell) = self.cell(extent) else { return };
        match *cell {
            NOBODY => *cell = SINGLES,
            SINGLES => {}
            first => {
                if let PageOwner::Unit(unit) | PageOwner::Iam(Some(unit)) = owner {
                    self.contested
                        .entry(extent)
                        .or_insert_with(|| vec![first - FIRST_UNIT])
                        .push(unit);
                }
            }
        }
    }

    /// The units whose single pages, IAM pages included, lie in an extent.
    fn units_of_singles(&self, extent: Extent) -> Vec<UnitIndex> {
        let owners = extent.pages().filter_map(|page| match self.page(page)? {
            PageOwner::Unit(unit) | PageOwner::Iam(Some(unit)) => Some(unit),
            PageOwner::Iam(None) | PageOwner::Fixed => None,
        });
        let mut units: Vec<UnitIndex> = owners.collect();
        units.sort_unstable();
        units.dedup();
        units
    }
}

/// True for extents that are in use without an owner: maps of an interval, PFS pages.
pub(crate) fn holds_fixed_pages(extent: u32) -> bool {
    extent.is_multiple_of(EXTENTS_PER_GAM) || extent.is_multiple_of(PAGES_PER_PFS / 8)
}

impl Prelude<'_> {
    /// 8948: a page of a mixed extent that an IAM page lists, or an IAM page of a chain, and that
    /// is free by PFS. Such a page leaves its list and PFS together when it is freed; the next one
    /// who needs a page would overwrite it.
    pub(super) fn verify_single_pages(
        &mut self,
        units: &Units,
        maps: &[FileMaps],
        owners: &OwnerMap,
    ) {
        for (id, owner) in owners.singles() {
            let unit = match owner {
                PageOwner::Unit(unit) | PageOwner::Iam(Some(unit)) => units.get(unit),
                PageOwner::Iam(None) | PageOwner::Fixed => continue,
            };
            // The pages of a unit whose drop is deferred are freed one after the other.
            let Some(unit) = unit.filter(|unit| !matches!(unit.kind, AllocUnitKind::Other(_)))
            else {
                continue;
            };
            let of_file = maps.iter().find(|maps| maps.file == id.file && id.page < maps.pages);
            let state = of_file.and_then(|maps| maps.state(id.page));
            let Some(state) = state.filter(|state| !state.is_allocated()) else { continue };
            let expected = state.with_allocated(true).with_mixed(true);
            let args = [page_arg(id), page_arg(id.pfs_page()), state.0.into(), expected.0.into()];
            self.report(8948, unit.at(id), args);
        }
    }

    /// Page (1:10), when it holds the server configuration: it belongs to no unit. The type on the
    /// page decides, because a copy of `master` may have any name and id; everywhere else the page
    /// is one like others, and has an owner.
    pub(super) fn claim_configuration(&mut self, owners: &mut OwnerMap) {
        let id = PageId::CONFIGURATION;
        if self.source.page_count(id.file) <= id.page || !owners.is_unclaimed(id) {
            return;
        }
        let mut page = PageBuf::zeroed();
        let state = load(self.source, id, &mut page);
        if PageHeader::of(&page).kind() != PageType::Config {
            return;
        }
        owners.mark(id, PageOwner::Fixed);
        if !state.is_sound() {
            self.report_header_page("server configuration", id);
        }
    }
}

impl Prelude<'_> {
    /// Compares every extent with GAM and SGAM: 8903, 8904, 8905, 8913.
    pub(super) fn verify_extents(
        &mut self,
        chosen: &Chosen,
        units: &Units,
        maps: &[FileMaps],
        owners: &OwnerMap,
    ) {
        for maps in maps {
            for index in 0..maps.extents() {
                let extent = Extent { file: maps.file, index };
                if chosen.is_limited() && !chosen.has_extent(extent, units, owners) {
                    continue;
                }
                if let (Some(gam), Some(sgam)) = (maps.is_free(index), maps.is_mixed(index))
                    && !holds_fixed_pages(index)
                {
                    self.verify_extent(units, extent, gam, sgam, owners);
                    if !gam && !sgam && owners.extent(extent) == ExtentOwner::Singles {
                        self.note_unreachable_pages(maps, extent, owners);
                    }
                }
            }
        }
    }

    /// 59031: pages of a mixed extent that are free by PFS while SGAM says that the extent has
    /// none. No allocation finds them. It is space lost, not damage: no page is read otherwise than
    /// it should be.
    fn note_unreachable_pages(&mut self, maps: &FileMaps, extent: Extent, owners: &OwnerMap) {
        let Some(states) = maps.states(extent.index) else { return };
        let is_unreachable = |(page, state): &(PageId, u8)| {
            page.page < maps.pages
                && !PfsByte(*state).is_allocated()
                && owners.page(*page).is_none()
        };
        let pages: Vec<PageId> =
            extent.pages().zip(states).filter(is_unreachable).map(|(page, _)| page).collect();
        if pages.is_empty() || self.unreachable_extents >= UNREACHABLE_NOTES_MAX {
            return;
        }
        self.unreachable_extents += 1;
        let first = extent.first_page();
        let names: Vec<String> =
            pages.iter().map(|page| format!("({}:{})", page.file, page.page)).collect();
        let args: [Arg<'_>; 5] = [
            page_arg(first),
            self.database_id.into(),
            (pages.len() as i32).into(),
            names.join(", ").into(),
            page_arg(MapKind::Sgam.page_of(first)),
        ];
        self.note(59031, Location::page(first), args);
    }

    fn verify_extent(
        &mut self,
        units: &Units,
        extent: Extent,
        gam: bool,
        sgam: bool,
        owners: &OwnerMap,
    ) {
        let owner = owners.extent(extent);
        let page = extent.first_page();
        match (gam, sgam, owner) {
            (true, false, ExtentOwner::Nobody)
            | (false, true, ExtentOwner::Nobody | ExtentOwner::Singles) => {
                return;
            }
            (false, false, ExtentOwner::Singles) => return,
            (false, false, ExtentOwner::Unit(_)) if owners.claimants(extent).is_empty() => return,
            (false, false, ExtentOwner::Nobody) if self.has_cut_chains => return,
            (false, false, ExtentOwner::Nobody) => {
                let args = [page_arg(page), self.database_id.into()];
                return self.report(8905, Location::page(page), args);
            }
            (true, true, _) => {
                let maps = [MapKind::Gam, MapKind::Sgam].map(|map| page_arg(map.page_of(page)));
                let [gam, sgam] = maps;
                let args = [page_arg(page), self.database_id.into(), gam, sgam];
                self.report(8903, Location::page(page), args);
                if matches!(owner, ExtentOwner::Nobody | ExtentOwner::Singles) {
                    return;
                }
            }
            _ => {}
        }
        let of_maps = [(gam, "GAM"), (sgam, "SGAM")]
            .into_iter()
            .filter_map(|(is_set, name)| is_set.then_some(name));
        let claimants = claimants(owners, extent);
        self.report_claims(page, of_maps, claimants.iter().filter_map(|unit| units.get(*unit)));
    }

    /// 8904, and 8913 for each claimant.
    fn report_claims<'u>(
        &mut self,
        page: PageId,
        maps: impl Iterator<Item = &'static str>,
        units: impl Iterator<Item = &'u Unit>,
    ) {
        let place = Location::page(page);
        self.report(8904, place, [page_arg(page), self.database_id.into()]);
        for map in maps {
            self.report(8913, place, [page_arg(page), map.into()]);
        }
        for unit in units {
            let Owner { object, index, partition, unit: id, .. } = unit.owner;
            let name = format!(
                "object ID {object}, index ID {index}, partition ID {partition}, alloc unit ID {id}"
            );
            let args: [Arg<'_>; 2] = [page_arg(page), name.into()];
            self.report(8913, place.owned_by(unit.owner), args);
        }
    }
}

/// The units that claim an extent or a page of it, in order.
fn claimants(owners: &OwnerMap, extent: Extent) -> Vec<UnitIndex> {
    let mut claimants = match owners.extent(extent) {
        ExtentOwner::Nobody => Vec::new(),
        ExtentOwner::Singles => owners.units_of_singles(extent),
        ExtentOwner::Unit(unit) => match owners.claimants(extent) {
            [] => vec![unit],
            several => several.to_vec(),
        },
    };
    claimants.sort_unstable();
    claimants.dedup();
    claimants
}
