//! Second pass over indexes whose multiset hashes do not balance: which rows, on which side
//! (`docs/check.md` 19 and 22).
//!
//! ```text
//! 1st pass   4,096 hashes per index, by bucket of the row hash: equal buckets hold equal rows
//! 2nd pass   rows of the other buckets, as many as memory allows at a time, compared exactly
//! leftovers  decoded again by an independent decoder; still different: 8951, 8952
//! ```

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{ObjectId, Rid};
use extentdb_catalog::model::Catalog;
use extentdb_format::PageBuf;
use extentdb_format::page::PageRef;
use extentdb_format::record::RecordKind;
use extentdb_messages::Class;
use extentdb_reader::CheckedPages;

use super::comparison::{ComparisonNumber, IndexComparison};
use super::describe::{Described, Describer, StoredRow};
use super::hasher::RowHasher;
use super::page::PageRows;
use super::plan::RowPlans;
use crate::collector::Collector;
use crate::coverage::NotChecked;
use crate::finding::{Finding, Findings, Location, Owner};
use crate::partial::Partial;
use crate::plan::Plan;
use crate::plan::pages::load;
use crate::relation::{MultisetHash, Relation, Side};
use crate::second_pass::SecondPass;
use crate::sound::SoundPage;
use crate::unit::UnitIndex;

const BUCKETS: usize = 4096;
/// Rows kept at a time: 40 bytes each.
const KEPT_MAX: u64 = 4 << 20;
/// More differences than this between compressed rows are not believed: the form is known from
/// descriptions only.
const COMPRESSED_DIFFERENCES_MAX: usize = 16;
/// This number of differences, when no row equals any entry, is implausible …
const WHOLESALE_MIN: u64 = 8;
/// … or this number, when they are most of all.
const MOST_MIN: u64 = 64;
/// The outcome of comparing indexes with their tables.
#[derive(Default)]
pub(crate) struct IndexesCompared {
    pub(crate) indexes: u64,
    pub(crate) entries: u64,
    pub(crate) left_out: Vec<NotChecked>,
}

/// Reports what differs between indexes and their tables.
pub(crate) fn verify_crosses(
    pass: &SecondPass<'_>,
    rows: &RowPlans,
    sum: &Partial,
    findings: &mut Findings,
) -> IndexesCompared {
    let Some(catalog) = &pass.plan.catalog else { return IndexesCompared::default() };
    let (doubtful, mut compared) = judge(pass.plan, rows, sum, findings);
    let mut by_table: BTreeMap<ObjectId, BTreeSet<ComparisonNumber>> = BTreeMap::new();
    for number in doubtful {
        if let Some(comparison) = rows.comparisons.get(number) {
            by_table.entry(comparison.table).or_default().insert(number);
        }
    }
    for (table, numbers) in by_table {
        let recheck = Recheck { pass, rows, sum, catalog, table, numbers: &numbers };
        if recheck.run(findings, &mut compared.left_out).is_none() {
            let what = format!("differences of {} from its indexes", name(pass.plan, table));
            compared.left_out.push(NotChecked::asked(&what, "the run was stopped"));
        }
    }
    compared
}

fn name(plan: &Plan, table: ObjectId) -> String {
    plan.names.get(&table).cloned().unwrap_or_else(|| table.to_string())
}

/// The indexes that have to be verified again, and those that cannot be.
fn judge(
    plan: &Plan,
    rows: &RowPlans,
    sum: &Partial,
    findings: &mut Findings,
) -> (Vec<ComparisonNumber>, IndexesCompared) {
    let mut doubtful = Vec::new();
    let mut compared = IndexesCompared::default();
    let damaged = damaged_units(plan, sum, findings);
    for (number, comparison) in rows.comparisons.iter() {
        if units_of(plan, rows, comparison)
            .any(|unit| plan.units.get(unit).is_some_and(|unit| unit.is_skipped))
        {
            continue;
        }
        compared.indexes += 1;
        compared.entries += sum.rows.comparisons.get(number).minus;
        if sum.rows.comparisons.get(number).is_balanced_under(&plan.key)
            && !sum.rows.unread_crosses.contains(&number)
        {
            continue;
        }
        let what = comparison.what();
        if units_of(plan, rows, comparison).any(|unit| damaged.contains(&unit)) {
            compared.left_out.push(NotChecked::skipped(&what, "pages of one of them are damaged"));
        } else if units_of(plan, rows, comparison).any(|unit| sum.audit.unexpanded.contains(&unit))
        {
            compared
                .left_out
                .push(NotChecked::asked(&what, "compressed rows could not be expanded"));
        } else if sum.rows.unread_crosses.contains(&number) {
            compared
                .left_out
                .push(NotChecked::asked(&what, "values off the row could not be read"));
        } else {
            doubtful.push(number);
        }
    }
    let refused = rows.comparisons.left_out.iter();
    compared.left_out.extend(refused.map(|(what, why)| NotChecked::skipped(what, why)));
    (doubtful, compared)
}

/// The units of an index and of its table.
fn units_of<'p>(
    plan: &'p Plan,
    rows: &'p RowPlans,
    comparison: &'p IndexComparison,
) -> impl Iterator<Item = UnitIndex> + 'p {
    let is_own = |unit: &UnitIndex| {
        plan.units.get(*unit).is_some_and(|unit| unit.owner.index == comparison.index)
    };
    let index = rows.index_units(comparison.table).iter().copied().filter(is_own);
    rows.base_units(comparison.table).iter().copied().chain(index)
}

/// Units with pages that could not be used or were not found, or that may be those of other units.
fn damaged_units(plan: &Plan, sum: &Partial, findings: &mut Findings) -> BTreeSet<UnitIndex> {
    let mut damaged: BTreeSet<UnitIndex> =
        sum.audit.bad.iter().filter_map(|page| page.unit).collect();
    damaged.extend(&sum.audit.strayed);
    damaged.extend(&plan.cut_units);
    damaged.extend(plan.owners.contested_units());
    let lost = findings.iter_mut().filter(|finding| finding.is(Class::LostPages));
    let owners = lost.filter_map(|finding| finding.location.owner);
    damaged.extend(owners.filter_map(|owner| plan.units.of_header(owner.unit, false)));
    damaged
}

/// A row that is kept to be compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct BucketRow {
    comparison: ComparisonNumber,
    lanes: [u64; 2],
    is_base: bool,
    unit: UnitIndex,
    rid: Rid,
}

fn bucket(lanes: [u64; 2]) -> usize {
    lanes[0] as usize % BUCKETS
}

/// First pass: sums by bucket.
struct Buckets<'p> {
    rows: &'p RowPlans,
    hasher: RowHasher<'p>,
    sums: BTreeMap<ComparisonNumber, Vec<MultisetHash>>,
}

impl Collector for Buckets<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        let sums = &mut self.sums;
        each_row(self.rows, &mut self.hasher, page, |comparison, side, lanes, _| {
            let acc = sums.get_mut(&comparison).and_then(|sums| sums.get_mut(bucket(lanes)));
            if let Some(acc) = acc {
                acc.state(side, lanes);
            }
        });
    }
}

/// Second pass: rows of some buckets.
struct BucketReader<'p> {
    rows: &'p RowPlans,
    hasher: RowHasher<'p>,
    wanted: &'p BTreeSet<(ComparisonNumber, u16)>,
    kept: Vec<BucketRow>,
}

impl Collector for BucketReader<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        let kept = &mut self.kept;
        let wanted = self.wanted;
        let unit = page.index;
        each_row(self.rows, &mut self.hasher, page, |comparison, side, lanes, rid| {
            if wanted.contains(&(comparison, bucket(lanes) as u16)) {
                kept.push(BucketRow { comparison, lanes, is_base: side == Side::Plus, unit, rid });
            }
        });
    }
}

fn each_row(
    rows: &RowPlans,
    hasher: &mut RowHasher<'_>,
    page: &SoundPage<'_>,
    mut state: impl FnMut(ComparisonNumber, Side, [u64; 2], Rid),
) {
    let Some(rows) = rows.get(page.index).filter(|_| page.is_leaf) else { return };
    let mut memory = Vec::new();
    let of_page = PageRows::read(page, &mut memory);
    hasher.evaluate(page, &of_page, rows);
    hasher.page(page, &of_page, rows, |row, comparison, side, lanes| {
        if let Some(lanes) = lanes {
            state(comparison, side, lanes, page.rid(row.slot));
        }
    });
}

/// The second pass over some indexes of a table.
struct Recheck<'r> {
    pass: &'r SecondPass<'r>,
    rows: &'r RowPlans,
    sum: &'r Partial,
    catalog: &'r Catalog,
    table: ObjectId,
    numbers: &'r BTreeSet<ComparisonNumber>,
}

impl Recheck<'_> {
    /// `None` when it was stopped.
    fn run(&self, findings: &mut Findings, left_out: &mut Vec<NotChecked>) -> Option<()> {
        let plan = self.pass.plan;
        let rows = self.rows;
        let comparisons = self.numbers.iter().filter_map(|number| rows.comparisons.get(*number));
        let units: BTreeSet<UnitIndex> =
            comparisons.flat_map(|comparison| units_of(plan, rows, comparison)).collect();
        let mut open = self.unbalanced_buckets(&units)?;
        if open.is_empty() {
            left_out.push(self.not_confirmed());
        }
        let mut reported = 0;
        while !open.is_empty() && reported < self.pass.options.max_errors {
            let wanted = take_group(&mut open);
            let kept = self.rows_of(&units, &wanted)?;
            let leftovers = leftovers(kept);
            reported += leftovers.len();
            self.report(&leftovers, findings, left_out);
        }
        Some(())
    }

    /// The scan saw a difference that a second read does not: a file that another process writes
    /// to, or a fault of this program.
    fn not_confirmed(&self) -> NotChecked {
        let what = format!("indexes of {} against their table", name(self.pass.plan, self.table));
        NotChecked::asked(
            &what,
            "their sums did not balance, but the exact second look found nothing wrong",
        )
    }

    /// The buckets that do not balance, with their rows.
    fn unbalanced_buckets(
        &self,
        units: &BTreeSet<UnitIndex>,
    ) -> Option<BTreeMap<(ComparisonNumber, u16), u64>> {
        let plan = self.pass.plan;
        let source = self.pass.source;
        let rows = self.rows;
        let all = self.pass.visit(units, || Buckets {
            rows,
            hasher: RowHasher::new(plan, source),
            sums: self
                .numbers
                .iter()
                .map(|number| (*number, vec![MultisetHash::default(); BUCKETS]))
                .collect(),
        })?;
        let mut total: BTreeMap<(ComparisonNumber, u16), MultisetHash> = BTreeMap::new();
        for (number, sums) in all.into_iter().flat_map(|worker| worker.sums) {
            for (bucket, acc) in (0u16..).zip(sums) {
                total.entry((number, bucket)).or_default().merge(acc);
            }
        }
        let open = total.into_iter().filter(|(_, acc)| !acc.is_balanced_under(&plan.key));
        Some(open.map(|(key, acc)| (key, acc.plus + acc.minus)).collect())
    }

    fn rows_of(
        &self,
        units: &BTreeSet<UnitIndex>,
        wanted: &BTreeSet<(ComparisonNumber, u16)>,
    ) -> Option<Vec<BucketRow>> {
        let plan = self.pass.plan;
        let source = self.pass.source;
        let hasher = || RowHasher::new(plan, source);
        let rows = self.rows;
        let all = self.pass.visit(units, || BucketReader {
            rows,
            hasher: hasher(),
            wanted,
            kept: Vec::new(),
        })?;
        Some(all.into_iter().flat_map(|worker| worker.kept).collect())
    }

    /// Reports leftovers that the second way of decoding confirms.
    fn report(
        &self,
        leftovers: &[BucketRow],
        findings: &mut Findings,
        left_out: &mut Vec<NotChecked>,
    ) {
        let pages = CheckedPages::new(self.pass.source);
        let Some(table) = self.catalog.tables.get(&self.table) else { return };
        for number in self.numbers {
            let Some(comparison) = self.rows.comparisons.get(*number) else { continue };
            let own: Vec<&BucketRow> =
                leftovers.iter().filter(|kept| kept.comparison == *number).collect();
            let all = self.sum.rows.comparisons.get(*number);
            if let Some(why) = why_not_believed(comparison, own.len(), all) {
                left_out.push(NotChecked::asked(comparison.what(), why));
                continue;
            }
            let describer = Describer { catalog: self.catalog, table, comparison };
            let described: Vec<(BucketRow, Option<Described>)> = own
                .into_iter()
                .map(|kept| (*kept, self.describe(&describer, &pages, kept)))
                .filter(|(kept, row)| !self.is_lost_on_the_way(kept, row.as_ref()))
                .collect();
            let equal = equal_rows(&described);
            for (kept, row) in &described {
                let is_equal = row.as_ref().is_some_and(|row| equal.contains(&row.canonical));
                if is_equal {
                    // Two ways of decoding disagree: a mistake of this program, not of the file.
                    findings.push(Finding::new(8967, self.place(kept), []));
                } else {
                    findings.push(self.finding(comparison, kept, row.as_ref()));
                }
            }
        }
    }

    /// True for moved rows of a heap whose stubs and rows do not agree: where such a row lives is
    /// what is wrong, and it is reported as that.
    fn is_lost_on_the_way(&self, kept: &BucketRow, row: Option<&Described>) -> bool {
        let is_torn = |unit: &UnitIndex| {
            let sums = self.sum.sums.unit(*unit);
            sums.is_some_and(|sums| !sums.acc(Relation::Forward).is_balanced())
        };
        if !self.rows.base_units(self.table).iter().any(is_torn) {
            return false;
        }
        match (kept.is_base, row) {
            (true, Some(row)) => row.is_forwarded,
            (false, Some(row)) => row.home().is_some_and(|home| self.is_stub(home)),
            (_, None) => false,
        }
    }

    fn is_stub(&self, rid: Rid) -> bool {
        let mut page = PageBuf::zeroed();
        if !load(self.pass.source, rid.page, &mut page).is_sound() {
            return false;
        }
        let status = PageRef::new(&page).record_bytes(rid.slot.0).and_then(<[u8]>::first).copied();
        status.is_some_and(|status| RecordKind::of(status) == RecordKind::ForwardingStub)
    }

    fn describe(
        &self,
        describer: &Describer<'_>,
        pages: &CheckedPages<'_>,
        kept: &BucketRow,
    ) -> Option<Described> {
        StoredRow::read(self.pass, self.catalog, pages, kept.unit, kept.rid, |row| {
            if kept.is_base { describer.base(row) } else { describer.entry(row) }
        })
    }

    fn place(&self, kept: &BucketRow) -> Location {
        let owner: Option<Owner> = self.pass.plan.units.get(kept.unit).map(|unit| unit.owner);
        Location { owner, ..Location::page(kept.rid.page) }.slot(kept.rid.slot.0)
    }

    fn finding(
        &self,
        comparison: &IndexComparison,
        kept: &BucketRow,
        row: Option<&Described>,
    ) -> Finding {
        let unknown = || "values that could not be read".to_owned();
        let (values, identity) = match row {
            Some(row) => (row.values.clone(), row.identity.clone()),
            None => (unknown(), unknown()),
        };
        let Rid { page, slot } = kept.rid;
        let rid = [page.file.0.into(), page.page.into(), slot.0.into()];
        let index = [comparison.name.clone().into(), comparison.index.0.into()];
        let table = [comparison.table_name.clone().into(), comparison.table.0.into()];
        let place = self.place(kept);
        let (error, companion, key, last) = if kept.is_base {
            (8951, 8955, identity.clone(), [identity.into(), values.into()])
        } else {
            (8952, 8956, identity.clone(), [values.into(), identity.into()])
        };
        let args = table.into_iter().chain(index);
        let companion_args = rid.into_iter().chain(last);
        let mut finding = Finding::new(error, place, args)
            .with(Finding::new(companion, place, companion_args))
            .key(key);
        // Whatever side it is on, the index is what has to be repaired.
        if let Some(owner) = &mut finding.location.owner {
            owner.index = comparison.index;
        }
        finding
    }
}

/// Why differences are more likely a form that is not known than damage: then each row that differs
/// stands against an entry that does, in the place of another. Rows and entries that are missing
/// are missing in any form.
fn why_not_believed(
    comparison: &IndexComparison,
    differences: usize,
    all: MultisetHash,
) -> Option<&'static str> {
    if all.plus != all.minus && comparison.filter.is_none() {
        return None;
    }
    let len = differences as u64;
    let total = all.plus + all.minus;
    let are_all = len == total && len >= WHOLESALE_MIN;
    if are_all || (len >= MOST_MIN && len * 2 > total.min(KEPT_MAX)) {
        Some("most rows differ: more likely they are stored in a form that is not known")
    } else if comparison.is_compressed && differences > COMPRESSED_DIFFERENCES_MAX {
        Some("many compressed values differ: more likely their form is not what is published")
    } else {
        None
    }
}

/// As many buckets as fit into memory at a time.
fn take_group(
    open: &mut BTreeMap<(ComparisonNumber, u16), u64>,
) -> BTreeSet<(ComparisonNumber, u16)> {
    let mut group = BTreeSet::new();
    let mut rows = 0;
    while let Some(next) = open.first_entry() {
        if rows > 0 && rows + *next.get() > KEPT_MAX {
            break;
        }
        let (key, count) = next.remove_entry();
        rows += count;
        group.insert(key);
    }
    group
}

/// Rows that one side has more often than the other: as many as it has more.
fn leftovers(mut kept: Vec<BucketRow>) -> Vec<BucketRow> {
    kept.sort_unstable();
    let mut out = Vec::new();
    for equal in kept.chunk_by(|a, b| (a.comparison, a.lanes) == (b.comparison, b.lanes)) {
        // Sorted: entries of the index first, rows of the table after.
        let (entries, rows) = equal.split_at(equal.partition_point(|kept| !kept.is_base));
        let (more, common) =
            if entries.len() > rows.len() { (entries, rows.len()) } else { (rows, entries.len()) };
        out.extend_from_slice(more.get(common..).unwrap_or_default());
    }
    out.sort_unstable_by_key(|kept| (kept.comparison, kept.unit, kept.rid));
    out
}

/// What both sides hold after all.
fn equal_rows(described: &[(BucketRow, Option<Described>)]) -> BTreeSet<Vec<u8>> {
    let of_side = |is_base: bool| -> BTreeSet<&Vec<u8>> {
        let own = described.iter().filter(|(kept, _)| kept.is_base == is_base);
        own.filter_map(|(_, row)| row.as_ref().map(|row| &row.canonical)).collect()
    };
    of_side(true).intersection(&of_side(false)).map(|row| (*row).clone()).collect()
}
