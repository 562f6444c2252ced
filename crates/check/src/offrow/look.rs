//! The second look: which places disagree, and everything that is said about them.
//!
//! ```text
//! suspects    sketches name the unmatched facts           or, without them: the pages once more, all facts of one bucket of
//!             (units of 64 pages and more)                places at a time; places whose facts do not cancel stay
//! look        the pages once more: nodes, references, stubs and forwarded records of the suspects, exactly
//!             and the sums again: when they are those of the scan, nothing that took part in them was missed
//! ```
//!
//! Both ways name the same places, so that the findings are the same. Memory: a bucket of places,
//! at most [`SUSPECTS_MAX`] suspects, and what is said about them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use extentdb_base::Rid;

use super::facts::{Fact, of_forwarded, of_node, of_reference, of_stub};
use super::node::Node;
use super::part::Gap;
use super::read::{Forwarded, PageReader, Reference, Sink, Stub};
use crate::dive::Dive;
use crate::facts::Facts;
use crate::hash::HashKey;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::relation::{Acc, Relation, Side, Sums, rid_of_word, rid_word};
use crate::sound::Sound;
use crate::unit::UnitIndex;

/// The relations of this module.
pub(super) const RELATIONS: [Relation; 3] =
    [Relation::Forward, Relation::Pointer, Relation::PointerSize];
/// Places that are followed up; a damage that is larger is told by the first of them.
pub(super) const SUSPECTS_MAX: usize = 1 << 20;
/// References and stubs that one worker keeps: a file can lead any number of rows to one place.
const KEPT_MAX: usize = 1 << 21;
/// Facts of a bucket: about 200 MB of places.
pub(super) const FACTS_PER_PASS: u64 = 1 << 22;

/// The sums of some units, made anew.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Accs(BTreeMap<(UnitIndex, Relation), Acc>);

impl Accs {
    /// Those of the scan.
    pub(super) fn of(sums: &Sums, units: &BTreeSet<UnitIndex>) -> Accs {
        let of_unit = |unit: &UnitIndex| {
            let sums = sums.unit(*unit);
            RELATIONS.map(|relation| {
                ((*unit, relation), sums.map(|sums| sums.acc(relation)).unwrap_or_default())
            })
        };
        Accs(units.iter().flat_map(of_unit).collect())
    }

    fn state(&mut self, fact: &Fact, hash: [u64; 2]) {
        let acc = self.0.entry((fact.unit, fact.relation)).or_default();
        match fact.side {
            Side::Plus => acc.add(hash),
            Side::Minus => acc.subtract(hash),
        }
    }

    fn merge(&mut self, other: Accs) {
        for (key, acc) in other.0 {
            self.0.entry(key).or_default().merge(acc);
        }
    }

    /// Facts of all.
    pub(super) fn facts(&self) -> u64 {
        self.0.values().map(|acc| acc.plus + acc.minus).sum()
    }

    /// True when both have the same sums of a unit.
    pub(super) fn agree(&self, other: &Accs, unit: UnitIndex) -> bool {
        RELATIONS.iter().all(|relation| {
            let of = |accs: &Accs| accs.0.get(&(unit, *relation)).copied().unwrap_or_default();
            of(self) == of(other)
        })
    }
}

/// What every look needs.
#[derive(Clone, Copy)]
pub(super) struct Eyes<'d> {
    pub(super) dive: &'d Dive<'d>,
    /// Units whose sums do not balance.
    pub(super) open: &'d BTreeSet<UnitIndex>,
    /// Units whose pages are read.
    pub(super) visit: &'d BTreeSet<UnitIndex>,
    pub(super) id_max: u64,
}

impl Eyes<'_> {
    fn key(&self) -> &HashKey {
        &self.dive.plan.key
    }

    /// The places that disagree, by the sketches alone. `None` when they do not tell.
    pub(super) fn decode(&self, sums: &Sums) -> Option<BTreeSet<u64>> {
        let mut places = BTreeSet::new();
        for unit in self.open {
            let unit = sums.unit(*unit)?;
            for relation in unit.unbalanced().filter(|relation| RELATIONS.contains(relation)) {
                let left = unit.sketch(relation)?.decode(self.key(), relation)?;
                places.extend(left.iter().map(|left| Fact::meeting(relation, left.words)));
            }
        }
        Some(places)
    }

    /// The places that disagree, by reading all pages again, once for each bucket. `None` when it
    /// was stopped.
    pub(super) fn search(&self, buckets: u64) -> Option<BTreeSet<u64>> {
        let mut places = BTreeSet::new();
        for bucket in 0..buckets {
            let found = self.dive.visit(self.visit, || Balance {
                reader: PageReader::new(self.dive.plan),
                said: Said { eyes: *self, bucket, buckets, places: HashMap::new() },
            })?;
            let mut sum: HashMap<u64, [u64; 2]> = HashMap::new();
            for (place, [low, high]) in found.into_iter().flat_map(|found| found.said.places) {
                let own = sum.entry(place).or_default();
                *own = [own[0].wrapping_add(low), own[1].wrapping_add(high)];
            }
            places.extend(
                sum.into_iter().filter(|(_, lanes)| *lanes != [0, 0]).map(|(place, _)| place),
            );
            while places.len() > SUSPECTS_MAX {
                places.pop_last();
            }
        }
        Some(places)
    }

    /// Everything that is said about some places. `None` when it was stopped.
    pub(super) fn look(&self, wanted: &HashSet<u64>) -> Option<Seen> {
        let found = self.dive.visit(self.visit, || Look {
            reader: PageReader::new(self.dive.plan),
            kept: Kept { eyes: *self, wanted, seen: Seen::default(), count: 0 },
        })?;
        let mut seen = Seen::default();
        found.into_iter().for_each(|found| seen.merge(found.kept.seen));
        seen.sort();
        Some(seen)
    }
}

/// Finds the places of a bucket whose facts do not cancel.
struct Balance<'e> {
    reader: PageReader<'e>,
    said: Said<'e>,
}

struct Said<'e> {
    eyes: Eyes<'e>,
    bucket: u64,
    buckets: u64,
    places: HashMap<u64, [u64; 2]>,
}

impl Facts for Balance<'_> {
    fn sound(&mut self, page: &Sound<'_>, _: &mut Partial) {
        self.reader.read(page, &mut self.said);
    }
}

impl Said<'_> {
    fn fact(&mut self, fact: Fact) {
        let place = Fact::meeting(fact.relation, fact.words);
        if !self.eyes.open.contains(&fact.unit) || bucket_of(place, self.buckets) != self.bucket {
            return;
        }
        let [low, high] = self.eyes.key().fact(fact.relation as u64, fact.words);
        let own = self.places.entry(place).or_default();
        *own = match fact.side {
            Side::Plus => [own[0].wrapping_add(low), own[1].wrapping_add(high)],
            Side::Minus => [own[0].wrapping_sub(low), own[1].wrapping_sub(high)],
        };
        if *own == [0, 0] {
            self.places.remove(&place);
        }
    }
}

/// Spreads places evenly, in every run alike.
fn bucket_of(place: u64, buckets: u64) -> u64 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % buckets.max(1)
}

impl Sink for Said<'_> {
    fn reference(&mut self, reference: &Reference) {
        of_reference(reference).for_each(|fact| self.fact(fact));
    }

    fn node(&mut self, node: &Node) {
        of_node(node, self.eyes.id_max).for_each(|fact| self.fact(fact));
    }

    fn stub(&mut self, stub: &Stub) {
        self.fact(of_stub(stub));
    }

    fn forwarded(&mut self, record: &Forwarded) {
        of_forwarded(record).into_iter().for_each(|fact| self.fact(fact));
    }

    fn invalid_column(&mut self, _: UnitIndex, _: Rid, _: i32) {}

    fn gap(&mut self, _: UnitIndex, _: Gap) {}
}

/// Keeps what is said about some places.
struct Look<'e> {
    reader: PageReader<'e>,
    kept: Kept<'e>,
}

struct Kept<'e> {
    eyes: Eyes<'e>,
    wanted: &'e HashSet<u64>,
    seen: Seen,
    count: usize,
}

/// What was seen.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) nodes: BTreeMap<Rid, Node>,
    /// By their targets, in order.
    pub(super) references: BTreeMap<Rid, Vec<Reference>>,
    /// By their targets, in order.
    pub(super) stubs: BTreeMap<Rid, Vec<Stub>>,
    pub(super) forwarded: BTreeMap<Rid, Forwarded>,
    /// Units with pages that changed after the last checkpoint of a database that was not closed.
    pub(super) in_flight: BTreeSet<UnitIndex>,
    pub(super) accs: Accs,
    /// More was said than is kept.
    pub(super) is_cut: bool,
}

impl Seen {
    fn merge(&mut self, other: Seen) {
        self.nodes.extend(other.nodes);
        for (target, mut references) in other.references {
            self.references.entry(target).or_default().append(&mut references);
        }
        for (target, mut stubs) in other.stubs {
            self.stubs.entry(target).or_default().append(&mut stubs);
        }
        self.forwarded.extend(other.forwarded);
        self.in_flight.extend(other.in_flight);
        self.accs.merge(other.accs);
        self.is_cut |= other.is_cut;
    }

    fn sort(&mut self) {
        self.references.values_mut().for_each(|references| references.sort_unstable());
        self.stubs.values_mut().for_each(|stubs| stubs.sort_unstable());
    }
}

impl Facts for Look<'_> {
    fn sound(&mut self, page: &Sound<'_>, _: &mut Partial) {
        let plan: &Plan = self.kept.eyes.dive.plan;
        if plan.may_be_in_flight(page.header().lsn()) {
            self.kept.seen.in_flight.insert(page.index);
        }
        self.reader.read(page, &mut self.kept);
    }
}

impl Kept<'_> {
    fn fact(&mut self, fact: Fact) {
        if self.eyes.open.contains(&fact.unit) {
            let hash = self.eyes.key().fact(fact.relation as u64, fact.words);
            self.seen.accs.state(&fact, hash);
        }
    }

    /// True when one more thing about a place may be kept.
    fn keeps(&mut self, place: Rid) -> bool {
        if !self.wanted.contains(&rid_word(place)) {
            return false;
        }
        self.count += 1;
        self.seen.is_cut |= self.count > KEPT_MAX;
        self.count <= KEPT_MAX
    }
}

impl Sink for Kept<'_> {
    fn reference(&mut self, reference: &Reference) {
        of_reference(reference).for_each(|fact| self.fact(fact));
        if self.keeps(reference.target) {
            self.seen.references.entry(reference.target).or_default().push(*reference);
        }
    }

    fn node(&mut self, node: &Node) {
        of_node(node, self.eyes.id_max).for_each(|fact| self.fact(fact));
        if self.keeps(node.rid) {
            self.seen.nodes.insert(node.rid, *node);
        }
    }

    fn stub(&mut self, stub: &Stub) {
        self.fact(of_stub(stub));
        if self.keeps(stub.target) {
            self.seen.stubs.entry(stub.target).or_default().push(*stub);
        }
    }

    fn forwarded(&mut self, record: &Forwarded) {
        of_forwarded(record).into_iter().for_each(|fact| self.fact(fact));
        if self.keeps(record.rid) {
            self.seen.forwarded.insert(record.rid, *record);
        }
    }

    fn invalid_column(&mut self, _: UnitIndex, _: Rid, _: i32) {}

    fn gap(&mut self, _: UnitIndex, _: Gap) {}
}

/// Places by their words, in the order of the report.
pub(super) fn places(words: &BTreeSet<u64>) -> Vec<Rid> {
    let mut places: Vec<Rid> = words.iter().map(|word| rid_of_word(*word)).collect();
    places.sort_unstable();
    places
}
