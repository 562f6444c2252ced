//! The second pass over off-row data: which addresses disagree, and every fact about them.
//!
//! ```text
//! suspects   sketches decode the unmatched facts (units of 64 pages and more), or
//!            the pages are read again, the facts of one bucket of addresses at a time
//! facts      the pages once more: nodes, references, stubs and forwarded records of the suspects,
//!            and the hashes again: when they equal those of the scan, no page was missed
//! ```
//!
//! Both ways give the same addresses, so that the findings are the same. Memory: a bucket of
//! addresses, at most [`SUSPECTS_MAX`] suspects, and the facts about them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use extentdb_base::Rid;

use super::facts::{Fact, of_forwarded, of_node, of_reference, of_stub};
use super::node::Node;
use super::read::{Forwarded, PageReader, Reference, Sink, Stub};
use crate::collector::Collector;
use crate::hash::HashKey;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::relation::{MultisetHash, Relation, RelationHashes, Side, rid_of_word, rid_word};
use crate::second_pass::SecondPass;
use crate::sound::SoundPage;
use crate::unit::UnitIndex;

/// The relations of this module.
pub(super) const RELATIONS: [Relation; 3] =
    [Relation::Forward, Relation::Pointer, Relation::PointerSize];
/// Most addresses that are followed up; of larger damage the first ones are reported.
pub(super) const SUSPECTS_MAX: usize = 1 << 20;
/// References and stubs that one worker keeps: a file can lead any number of rows to one place.
const KEPT_MAX: usize = 1 << 21;
/// Facts of a bucket: about 200 MB of addresses.
pub(super) const FACTS_PER_PASS: u64 = 1 << 22;

/// The hashes of some units, recomputed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct ExactHashes(BTreeMap<(UnitIndex, Relation), MultisetHash>);

impl ExactHashes {
    /// Those of the scan.
    pub(super) fn of(sums: &RelationHashes, units: &BTreeSet<UnitIndex>) -> ExactHashes {
        let of_unit = |unit: &UnitIndex| {
            let sums = sums.unit(*unit);
            RELATIONS.map(|relation| {
                ((*unit, relation), sums.map(|sums| sums.acc(relation)).unwrap_or_default())
            })
        };
        ExactHashes(units.iter().flat_map(of_unit).collect())
    }

    fn state(&mut self, fact: &Fact, hash: [u64; 2]) {
        let acc = self.0.entry((fact.unit, fact.relation)).or_default();
        match fact.side {
            Side::Plus => acc.add(hash),
            Side::Minus => acc.subtract(hash),
        }
    }

    fn merge(&mut self, other: ExactHashes) {
        for (key, acc) in other.0 {
            self.0.entry(key).or_default().merge(acc);
        }
    }

    /// Facts of all.
    pub(super) fn facts(&self) -> u64 {
        self.0.values().map(|acc| acc.plus + acc.minus).sum()
    }

    /// True when both have the same hashes of a unit.
    pub(super) fn agree(&self, other: &ExactHashes, unit: UnitIndex) -> bool {
        RELATIONS.iter().all(|relation| {
            let of = |hashes_of_units: &ExactHashes| {
                hashes_of_units.0.get(&(unit, *relation)).copied().unwrap_or_default()
            };
            of(self) == of(other)
        })
    }
}

/// What every read needs.
#[derive(Clone, Copy)]
pub(super) struct ExactReader<'d> {
    pub(super) pass: &'d SecondPass<'d>,
    /// Units whose multiset hashes do not balance.
    pub(super) open: &'d BTreeSet<UnitIndex>,
    /// Units whose pages are read.
    pub(super) visit: &'d BTreeSet<UnitIndex>,
    pub(super) id_max: u64,
}

impl ExactReader<'_> {
    fn key(&self) -> &HashKey {
        &self.pass.plan.key
    }

    /// The addresses that disagree, by the sketches alone. `None` when they do not decode.
    pub(super) fn decode(&self, sums: &RelationHashes) -> Option<BTreeSet<u64>> {
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

    /// The addresses that disagree, by reading all pages again, once for each bucket. `None` when
    /// it was stopped.
    pub(super) fn search(&self, buckets: u64) -> Option<BTreeSet<u64>> {
        let mut places = BTreeSet::new();
        for bucket in 0..buckets {
            let found = self.pass.visit(self.visit, || Balance {
                reader: PageReader::new(self.pass.plan),
                hashes: LocationHashes { exact: *self, bucket, buckets, places: HashMap::new() },
            })?;
            let mut sum: HashMap<u64, [u64; 2]> = HashMap::new();
            for (place, [low, high]) in found.into_iter().flat_map(|found| found.hashes.places) {
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

    /// Everything that is stated about some addresses. `None` when it was stopped.
    pub(super) fn look(&self, wanted: &HashSet<u64>) -> Option<ExactFacts> {
        let found = self.pass.visit(self.visit, || FactCollector {
            reader: PageReader::new(self.pass.plan),
            kept: KeptFacts { exact: *self, wanted, facts: ExactFacts::default(), count: 0 },
        })?;
        let mut facts = ExactFacts::default();
        found.into_iter().for_each(|found| facts.merge(found.kept.facts));
        facts.sort();
        Some(facts)
    }
}

/// Finds the addresses of a bucket whose facts do not cancel.
struct Balance<'e> {
    reader: PageReader<'e>,
    hashes: LocationHashes<'e>,
}

struct LocationHashes<'e> {
    exact: ExactReader<'e>,
    bucket: u64,
    buckets: u64,
    places: HashMap<u64, [u64; 2]>,
}

impl Collector for Balance<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        self.reader.read(page, &mut self.hashes);
    }
}

impl Sink for LocationHashes<'_> {
    fn id_max(&self) -> u64 {
        self.exact.id_max
    }

    fn fact(&mut self, fact: Fact) {
        let place = Fact::meeting(fact.relation, fact.words);
        if !self.exact.open.contains(&fact.unit) || bucket_of(place, self.buckets) != self.bucket {
            return;
        }
        let [low, high] = self.exact.key().fact(fact.relation as u64, fact.words);
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

/// Bucket of an address: uniform, and the same in every run.
fn bucket_of(place: u64, buckets: u64) -> u64 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % buckets.max(1)
}

/// Keeps what is stated about some addresses.
struct FactCollector<'e> {
    reader: PageReader<'e>,
    kept: KeptFacts<'e>,
}

struct KeptFacts<'e> {
    exact: ExactReader<'e>,
    wanted: &'e HashSet<u64>,
    facts: ExactFacts,
    count: usize,
}

/// The exact facts of some addresses.
#[derive(Default)]
pub(super) struct ExactFacts {
    pub(super) nodes: BTreeMap<Rid, Node>,
    /// By their targets, in order.
    pub(super) references: BTreeMap<Rid, Vec<Reference>>,
    /// By their targets, in order.
    pub(super) stubs: BTreeMap<Rid, Vec<Stub>>,
    pub(super) forwarded: BTreeMap<Rid, Forwarded>,
    /// Units with pages that changed after the last checkpoint of a database that was not closed.
    pub(super) in_flight: BTreeSet<UnitIndex>,
    pub(super) hashes_of_units: ExactHashes,
    /// There are more facts than are kept.
    pub(super) is_cut: bool,
}

impl ExactFacts {
    fn merge(&mut self, other: ExactFacts) {
        self.nodes.extend(other.nodes);
        for (target, mut references) in other.references {
            self.references.entry(target).or_default().append(&mut references);
        }
        for (target, mut stubs) in other.stubs {
            self.stubs.entry(target).or_default().append(&mut stubs);
        }
        self.forwarded.extend(other.forwarded);
        self.in_flight.extend(other.in_flight);
        self.hashes_of_units.merge(other.hashes_of_units);
        self.is_cut |= other.is_cut;
    }

    fn sort(&mut self) {
        self.references.values_mut().for_each(|references| references.sort_unstable());
        self.stubs.values_mut().for_each(|stubs| stubs.sort_unstable());
    }
}

impl Collector for FactCollector<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        let plan: &Plan = self.kept.exact.pass.plan;
        if plan.may_be_in_flight(page.header().lsn()) {
            self.kept.facts.in_flight.insert(page.index);
        }
        self.reader.read(page, &mut self.kept);
    }
}

impl KeptFacts<'_> {
    /// True when one more fact about an address may be kept.
    fn keeps(&mut self, place: Rid) -> bool {
        if !self.wanted.contains(&rid_word(place)) {
            return false;
        }
        self.count += 1;
        self.facts.is_cut |= self.count > KEPT_MAX;
        self.count <= KEPT_MAX
    }
}

impl Sink for KeptFacts<'_> {
    fn id_max(&self) -> u64 {
        self.exact.id_max
    }

    fn fact(&mut self, fact: Fact) {
        if self.exact.open.contains(&fact.unit) {
            let hash = self.exact.key().fact(fact.relation as u64, fact.words);
            self.facts.hashes_of_units.state(&fact, hash);
        }
    }

    fn reference(&mut self, reference: &Reference) {
        of_reference(reference).for_each(|fact| self.fact(fact));
        if self.keeps(reference.target) {
            self.facts.references.entry(reference.target).or_default().push(*reference);
        }
    }

    fn node(&mut self, node: &Node) {
        of_node(node, self.exact.id_max).for_each(|fact| self.fact(fact));
        if self.keeps(node.rid) {
            self.facts.nodes.insert(node.rid, *node);
        }
    }

    fn stub(&mut self, stub: &Stub) {
        self.fact(of_stub(stub));
        if self.keeps(stub.target) {
            self.facts.stubs.entry(stub.target).or_default().push(*stub);
        }
    }

    fn forwarded(&mut self, record: &Forwarded) {
        of_forwarded(record).into_iter().for_each(|fact| self.fact(fact));
        if self.keeps(record.rid) {
            self.facts.forwarded.insert(record.rid, *record);
        }
    }
}

/// Addresses by their words, in the order of the report.
pub(super) fn places(words: &BTreeSet<u64>) -> Vec<Rid> {
    let mut places: Vec<Rid> = words.iter().map(|word| rid_of_word(*word)).collect();
    places.sort_unstable();
    places
}
