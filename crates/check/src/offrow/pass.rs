//! The part of the scan: facts into the hashes, invalid columns into the findings.

use extentdb_base::Rid;

use super::facts::Fact;
use super::part::Gap;
use super::read::{PageReader, Sink};
use crate::finding::{Finding, Location, page_arg};
use crate::options::Options;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::relation::worth_sketching;
use crate::sound::SoundPage;
use crate::unit::{Unit, UnitIndex};

/// Units with fewer pages are read again rather than sketched.
const SKETCHED_PAGES_MIN: u64 = 64;

/// What a worker needs to read heaps, rows and text pages.
pub(crate) struct OffRowCollector<'p> {
    plan: &'p Plan,
    reader: PageReader<'p>,
    id_max: u64,
    /// By unit: worth a sketch.
    sketched: Vec<bool>,
    is_physical: bool,
}

impl<'p> OffRowCollector<'p> {
    pub(crate) fn new(plan: &'p Plan, options: &Options) -> OffRowCollector<'p> {
        let pages_used = |unit: &Unit| {
            let unit = plan.catalog.as_ref()?.units.get(&unit.id())?;
            u64::try_from(unit.pages_used).ok()
        };
        let pages: Vec<u64> =
            plan.units.iter().map(|(_, unit)| pages_used(unit).unwrap_or(0)).collect();
        OffRowCollector {
            plan,
            reader: PageReader::new(plan),
            id_max: id_max(plan),
            sketched: worth_sketching(&pages, SKETCHED_PAGES_MIN),
            is_physical: options.physical_only,
        }
    }

    /// With a sketch for every unit.
    #[cfg(test)]
    pub(super) fn sketched(mut self) -> Self {
        self.sketched.fill(true);
        self
    }

    /// The facts of a page.
    #[inline]
    pub(crate) fn page(&mut self, page: &SoundPage<'_>, partial: &mut Partial) {
        if !self.is_physical {
            let mut pass = Pass {
                plan: self.plan,
                partial,
                id_max: self.id_max,
                sketched: &self.sketched,
            };
            self.reader.read(page, &mut pass);
        }
    }
}

/// The highest text id to expect. Ids come from the counter of rowversion values, shifted by 16
/// bits; some of the catalog are higher than the counter of the boot page, but not by so much that
/// its upper half matters. What is above only asks for a second pass.
pub(super) fn id_max(plan: &Plan) -> u64 {
    let counter = plan.catalog.as_ref().map_or(u64::MAX, |catalog| catalog.boot.max_timestamp);
    if counter <= u64::from(u32::MAX) { (1 << 48) - 1 } else { u64::MAX }
}

struct Pass<'a> {
    plan: &'a Plan,
    partial: &'a mut Partial,
    id_max: u64,
    sketched: &'a [bool],
}

impl Sink for Pass<'_> {
    fn id_max(&self) -> u64 {
        self.id_max
    }

    #[inline]
    fn fact(&mut self, fact: Fact) {
        let has_sketch = self.sketched.get(fact.unit as usize).copied().unwrap_or(false);
        self.partial.sums.state(fact.unit, fact.relation, fact.side, fact.words, has_sketch);
    }

    #[cold]
    fn invalid_column(&mut self, unit: UnitIndex, rid: Rid, column: i32) {
        let Some(unit) = self.plan.units.get(unit) else { return };
        let place = Location::page(rid.page).slot(rid.slot.0).owned_by(unit.owner);
        let at = [page_arg(rid.page), rid.slot.0.into(), column.into()];
        let args = unit.args().into_iter().chain(at);
        self.partial.findings.push(Finding::new(8960, place, args));
    }

    #[cold]
    fn gap(&mut self, unit: UnitIndex, gap: Gap) {
        self.partial.off_row.gaps.insert((unit, gap));
    }
}
