//! What one page states of itself, given its owner (`docs/check.md` 3 and the record headers of 4).
//!
//! ```text
//! read, protection    8939 IS_OFF (BUF_IOERR …), 8928      5233 when the unit is not in the
//!                                                          catalog
//! page id             8909 (5256), 8928
//! owner in the header 2533 for the owner by IAM, 2534 for the one named
//! version, type       8939; a legal type in the wrong unit: 8938
//! accounting, links   8939
//! slots, records      8941, 8942, 8943, 8944; compression information 5274
//! free bytes          8939
//! then                8928 once for a page that failed, and nothing else of it counts
//! sound pages         8927, 8914, 2515, 2574; rows and links go to the partial
//! ```
//!
//! What healthy files contain
//! - Data pages of clustered indexes from SQL Server 2000 carry index id 0:
//!   `PageHeader::belongs_to` accepts them.
//! - Rows shorter than nine bytes count nine on data pages; those of sysfiles1 are rounded up to
//!   four.
//! - PFS fullness is kept for heap and text mix pages only; its ghost bit is a hint and is not
//!   compared.
//! - A page whose slots are all empty is 0_PCT_FULL by PFS, although the slots themselves take
//!   bytes.
//! - Pages of types 19 and 20, left by an index build or bulk load that was on its way when the
//!   file was copied.
//! - Pages without any protection bits: (1:7), (1:12), and all that were not written since
//!   protection was switched on.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{AllocUnitId, PageId};
use extentdb_catalog::layout::Compression;
use extentdb_format::PageBytes;
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{Fullness, PfsByte};
use extentdb_format::page::checksum::{Protection, restore_torn, verify};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::compressed::CiView;
use extentdb_format::record::row::VERSION_TAG_BYTES;
use extentdb_format::record::status::HAS_VERSION_TAG;
use extentdb_messages::Arg;

use crate::collector::Collector;
use crate::expand::Expander;
use crate::finding::{Finding, Location, page_arg};
use crate::offrow::is_tree_page_in_disguise;
use crate::options::Options;
use crate::part::keep_first;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::plan::maps::is_damaged;
use crate::sound::{LinkedPage, OwnedPage, Records, SoundPage};
use crate::spans::{RecordSpan, RecordSpans};
use crate::unit::{Structure, Unit, UnitIndex, unknown_args};

mod failure;
mod few;
mod header;
mod length;
pub(crate) mod part;
mod records;
mod rules;
mod walk;

use header::{READ_FAILED, test_accounting, test_fixed_len, test_free_count, test_kind};
use records::{Body, Scratch, crack};
use rules::Rules;

pub(crate) use records::Traits;
pub(crate) use rules::Form;

/// Pages in the hands of an index build or a bulk load, that will get another type: no rows are to
/// be expected there.
const TRANSIENT_TYPES: [u8; 2] = [19, 20];
/// Who a page is audited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// The owner by the allocation maps.
    Owned(UnitIndex),
    /// No owner by the maps: the unit that the page's header names.
    Unowned,
}

/// A page with all that is known about it beforehand.
#[derive(Clone, Copy)]
struct Context<'p> {
    id: PageId,
    unit: Option<(UnitIndex, &'p Unit)>,
    /// The unit by the header, for pages whose unit is not in the catalog.
    named: AllocUnitId,
    /// The page takes part in the links of its unit.
    is_owned: bool,
    state: Option<PfsByte>,
}

impl Context<'_> {
    fn place(&self) -> Location {
        Location {
            owner: self.unit.map(|(_, unit)| unit.owner),
            ..Location::page(self.id)
        }
    }

    fn args(&self) -> [Arg<'static>; 5] {
        self.unit.map_or_else(|| unknown_args(self.named), |(_, unit)| unit.args())
    }
}

/// Audits pages, one after the other, into one partial.
pub(crate) struct Auditor<'p, F> {
    plan: &'p Plan,
    physical_only: bool,
    pub(crate) partial: Partial,
    /// What is made of sound pages.
    pub(crate) collector: F,
    scratch: Scratch,
    expander: Expander,
    /// A page whose displaced bits are put back; taken while it is in use.
    restored: Option<Box<PageBytes>>,
}

impl<'p, F: Collector> Auditor<'p, F> {
    pub(crate) fn new(plan: &'p Plan, options: &Options, collector: F) -> Self {
        Auditor {
            plan,
            physical_only: options.physical_only,
            partial: Partial::new(plan.units.len(), options.max_errors, plan.key),
            collector,
            scratch: Scratch::default(),
            expander: Expander::default(),
            restored: None,
        }
    }

    /// A page that could not be read.
    pub(crate) fn unreadable(&mut self, id: PageId, subject: Subject) {
        let named = AllocUnitId(0);
        let unit = self.unit_of(subject, named, false);
        let is_owned = subject != Subject::Unowned;
        let context = Context { id, unit, named, is_owned, state: None };
        self.fail_header(&context, READ_FAILED);
    }

    /// Audits a page as it was read. `state` is its PFS byte, when that is known.
    #[inline]
    pub(crate) fn page(
        &mut self,
        id: PageId,
        subject: Subject,
        state: Option<PfsByte>,
        page: &PageBytes,
    ) {
        let protection = verify(page);
        let header = PageHeader::of(page);
        let named = header.alloc_unit();
        let unit = self.unit_of(subject, named, header.kind() == PageType::Data);
        let context = Context {
            id,
            unit,
            named,
            is_owned: subject != Subject::Unowned,
            state,
        };
        if !protection.is_intact() {
            return self.fail_header(&context, READ_FAILED);
        }
        match protection {
            Protection::Torn { .. } => {
                let mut restored =
                    self.restored.take().unwrap_or_else(|| Box::new([0; PAGE_BYTES]));
                *restored = *page;
                restore_torn(&mut restored);
                self.restored_page(&context, &restored);
                self.restored = Some(restored);
            }
            Protection::None => {
                self.partial.audit.unprotected += 1;
                self.restored_page(&context, page);
            }
            Protection::Checksum { .. } => self.restored_page(&context, page),
        }
    }

    fn unit_of(
        &self,
        subject: Subject,
        named: AllocUnitId,
        is_data: bool,
    ) -> Option<(UnitIndex, &'p Unit)> {
        let index = match subject {
            Subject::Owned(index) => Some(index),
            Subject::Unowned => self.plan.units.of_header(named, is_data),
        }?;
        Some((index, self.plan.units.get(index)?))
    }

    /// A page with its displaced bits in their places.
    #[inline]
    fn restored_page(&mut self, context: &Context<'p>, page: &PageBytes) {
        let header = PageHeader::of(page);
        if header.page_id() != context.id {
            return self.fail_page_id(context, header);
        }
        if let (Some((_, unit)), true) = (context.unit, context.is_owned)
            && !header.belongs_to(unit.id())
        {
            return self.report_foreign(context, header);
        }
        let structure = context.unit.map(|(_, unit)| unit.structure);
        if structure == Some(Structure::Other) || TRANSIENT_TYPES.contains(&header.page_type) {
            return self.accept_unknown(context, header);
        }
        if let Some(test) = test_kind(header) {
            return self.fail_header(context, test);
        }
        if !context.is_owned && header.kind() == PageType::Iam {
            return self.stray_iam_page(context, page);
        }
        let rules =
            Rules::of(PageRef::new(page), context.unit.map(|(_, unit)| unit), context.named);
        let Some(rules) = rules else {
            return self.fail_type(context, header);
        };
        if let Some(test) = test_accounting(header, structure) {
            return self.fail_header(context, test);
        }
        self.body(context, PageRef::new(page), &rules);
    }

    /// Slots and records, and what follows from them.
    #[inline]
    fn body(&mut self, context: &Context<'p>, view: PageRef<'_>, rules: &Rules) {
        let header = view.header();
        let mut cracked = crack(view, rules, &mut self.scratch);
        if let (None, Some(wider)) =
            (&cracked, context.unit.and_then(|(_, unit)| rules.wider(view, unit)))
        {
            cracked = crack(view, &wider, &mut self.scratch);
        }
        let has_ci = rules.is_compressed && rules.form != Form::Text;
        let information = if has_ci { CiView::of(view.bytes()) } else { None };
        // Whether a page has such information is for its unit to say.
        let fault = information
            .filter(|_| context.unit.is_some())
            .and_then(|information| information.fault());
        let failed_test = match (&cracked, fault) {
            (_, Some(fault)) => Err(Some(fault)),
            (None, None) => Err(None),
            (Some(body), None) if !body.is_compressed && information.is_none() => {
                // Whether the length of an off-row fragment counts its versioning tag is not known:
                // either may be.
                let with_tags = body.used + VERSION_TAG_BYTES * body.tags;
                let failed = test_free_count(header, body.used)
                    .and_then(|_| test_free_count(header, with_tags));
                let failed = failed.filter(|_| !self.is_explained(view, body));
                Ok(failed.or_else(|| {
                    test_fixed_len(view, context.unit.map(|(_, unit)| unit), body.traits)
                }))
            }
            (Some(_), None) => Ok(None),
        };
        match (failed_test, cracked) {
            (Ok(None), Some(body)) => self.accept(context, view, rules, body),
            (outcome, _) => {
                self.fail_body(context, view, rules, outcome);
                // Findings of compressed rows may have to be withdrawn; the page is linked into its
                // tree all the same.
                if let (true, Some((index, unit))) =
                    (rules.is_compressed && context.is_owned, context.unit)
                    && unit.structure.is_tree()
                {
                    let page = LinkedPage { id: context.id, index, header, is_leaf: rules.is_leaf };
                    self.collector.linked(&page, &mut self.partial);
                }
            }
        }
    }

    /// A free count that is not what the records leave, for a reason that is no damage: rows are
    /// not rounded up to the size of a forwarding stub, which only heaps need, or carry older
    /// versions of themselves.
    #[cold]
    fn is_explained(&self, view: PageRef<'_>, body: &Body) -> bool {
        let places: Vec<(usize, usize)> = match body.even {
            Some(even) => even.iter().map(|span| (span.start(), span.end())).collect(),
            None => self.scratch.spans.iter().map(|span| (span.start(), span.end())).collect(),
        };
        let exact: usize = places.iter().map(|(start, end)| end - start).sum();
        let is_tagged = |(start, _): &(usize, usize)| {
            view.bytes().get(*start).is_some_and(|status| status & HAS_VERSION_TAG != 0)
        };
        test_free_count(view.header(), exact).is_none()
            || (self.plan.has_versions_in_rows() && places.iter().any(is_tagged))
    }

    /// A sound page: its facts, and what it contradicts elsewhere.
    #[inline]
    fn accept(&mut self, context: &Context<'p>, view: PageRef<'_>, rules: &Rules, body: Body) {
        let header = view.header();
        self.compare_age(context, header);
        let Some((index, unit)) = context.unit else { return };
        self.partial.audit.pages_compressed += u64::from(rules.is_compressed);
        if !context.is_owned {
            self.partial.audit.strayed.insert(index);
            return;
        }
        if let Some(counts) = self.partial.audit.count(index) {
            counts.pages += 1;
            counts.leaf_pages += u64::from(rules.is_leaf);
            counts.rows += if rules.is_leaf { u64::from(body.rows) } else { 0 };
        }
        if unit.structure.is_tree() {
            if header.slot_count.get() == 0 && !rules.is_leaf {
                self.report(
                    2574,
                    context.place(),
                    [page_arg(context.id)],
                    context.args(),
                    [header.level.into()],
                );
            }
        } else {
            self.compare_fullness(context, view);
        }
        // Which of the four kinds of compressed ghosts are counted is not published.
        if !self.physical_only && !body.is_compressed {
            self.compare_flags(context, header, &body);
        }
        let page = OwnedPage { id: context.id, index, unit };
        if rules.is_compressed {
            return self.expand(context, page, view, rules, body.traits);
        }
        let records = match body.even {
            Some(even) => Records::Even(view.bytes(), even),
            None => Records::OnPage(view.bytes(), &self.scratch.spans),
        };
        let sound = SoundPage::new(page, view, rules.is_leaf, rules.form, body.traits, records);
        self.collector.sound(&sound, &mut self.partial);
    }

    /// A leaf page whose rows have to be expanded first. Upper levels of compressed indexes are not
    /// understood.
    #[cold]
    fn expand(
        &mut self,
        context: &Context<'p>,
        page: OwnedPage<'p>,
        view: PageRef<'_>,
        rules: &Rules,
        traits: Traits,
    ) {
        if rules.form == Form::Text {
            return;
        }
        let records = Records::OnPage(view.bytes(), &self.scratch.spans);
        let sound = SoundPage::new(page, view, rules.is_leaf, rules.form, traits, records);
        let layout = sound.unit.expanded.as_ref().filter(|_| rules.is_leaf && !self.physical_only);
        let Some(layout) = layout else {
            if rules.is_leaf && !self.physical_only {
                self.partial.audit.unexpanded.insert(sound.index);
            }
            return link(&sound, &mut self.collector, &mut self.partial);
        };
        let mut expander = std::mem::take(&mut self.expander);
        match expander.page(view, &self.scratch.spans, layout, rules.form == Form::Data) {
            Some(expanded) => {
                self.collector.sound(&sound.expanded(&expanded), &mut self.partial);
                for slot in expanded.damaged {
                    let args = [page_arg(context.id), (*slot).into()];
                    let test =
                        ["compressed values of the row can be undone".into(), 0.into(), 1.into()];
                    self.report(2537, context.place().slot(*slot), context.args(), args, test);
                }
            }
            None => {
                self.partial.audit.unexpanded.insert(sound.index);
                link(&sound, &mut self.collector, &mut self.partial);
            }
        }
        self.expander = expander;
    }

    /// An IAM page of a unit that the catalog does not know: 8946 when it is none.
    fn stray_iam_page(&mut self, context: &Context<'p>, page: &PageBytes) {
        if is_damaged(&IamView::new(page).faults()) {
            let kind = PageHeader::of(page).page_type;
            self.report(
                8946,
                context.place(),
                [page_arg(context.id), "IAM_PAGE".into(), kind.into()],
                [],
                [],
            );
        }
    }

    /// A page of a structure this program does not know.
    fn accept_unknown(&mut self, context: &Context<'p>, header: &PageHeader) {
        self.compare_age(context, header);
        if let Some((index, _)) = context.unit
            && let Some(counts) = self.partial.audit.count(index)
        {
            counts.pages += 1;
        }
    }

    /// 8927: not part of PHYSICAL_ONLY.
    #[inline]
    fn compare_flags(&mut self, context: &Context<'p>, header: &PageHeader, body: &Body) {
        let ghosts = u32::from(header.ghost_count.get());
        if ghosts != body.ghosts {
            let args = [ghosts.into(), body.ghosts.into(), page_arg(context.id)];
            self.report(8927, context.place().at(58), context.args(), args, []);
        }
    }

    /// 8914, for pages whose fullness PFS keeps.
    #[inline]
    fn compare_fullness(&mut self, context: &Context<'p>, view: PageRef<'_>) {
        let header = view.header();
        let Some(state) = context.state else { return };
        if !matches!(header.kind(), PageType::Data | PageType::TextMix) {
            return;
        }
        let expected = Fullness::of_free_bytes(header.free_bytes.get());
        // Space that is held for a rollback stays in the header when it is no longer held.
        let unreserved = header.free_bytes.get().saturating_sub(header.reserved_bytes.get());
        let is_right =
            |found: Fullness| (expected..=Fullness::of_free_bytes(unreserved)).contains(&found);
        // The entries of empty slots take bytes, but PFS may call the page empty (observed in real
        // files).
        let is_empty = || view.slot_offsets().all(|offset| offset == 0);
        let is_right = |found| is_right(found) || (found == Fullness::Empty && is_empty());
        if !state.fullness().is_some_and(is_right)
            && (self.physical_only || !is_tree_page_in_disguise(view))
        {
            let expected = state.with_fullness(expected).to_string();
            let values = [expected.into(), state.to_string().into()];
            self.report(8914, context.place(), [page_arg(context.id)], context.args(), values);
        }
    }

    /// 2515, and how many pages are newer than the last checkpoint.
    #[inline]
    fn compare_age(&mut self, context: &Context<'p>, header: &PageHeader) {
        let lsn = header.lsn();
        let id = context.id;
        let is_newer = self.plan.checkpoint.is_some_and(|checkpoint| lsn > checkpoint);
        if let (true, Some((index, _))) = (is_newer, context.unit)
            && let Some(counts) = self.partial.audit.count(index)
        {
            counts.newer += 1;
        }
        if is_newer
            && self.partial.audit.newer.as_ref().is_none_or(|newer| Some(id) < newer.location.page)
        {
            let checkpoint = self.plan.checkpoint.unwrap_or_default();
            let than = ["the last checkpoint".into(), checkpoint.to_string().into()];
            let args = [page_arg(id)]
                .into_iter()
                .chain(context.args())
                .chain([lsn.to_string().into()])
                .chain(than);
            keep_first(
                &mut self.partial.audit.newer,
                Some(Finding::new(59002, context.place(), args)),
            );
        }
        let Some(base) = self.plan.diff_base.get(&id.file) else { return };
        if lsn > *base
            && self.plan.maps_of(id.file).and_then(|maps| maps.is_changed(id.page / 8))
                == Some(false)
            && self
                .partial
                .audit
                .diff_missed
                .as_ref()
                .is_none_or(|missed| Some(id) < missed.location.page)
        {
            let args = [page_arg(id)].into_iter().chain(context.args());
            keep_first(
                &mut self.partial.audit.diff_missed,
                Some(Finding::new(2515, context.place(), args)),
            );
        }
    }
}

/// True for units whose parents are unknown: the form of child pointers in compressed records is
/// not certain.
pub(crate) fn has_unverified_parents(unit: &Unit) -> bool {
    unit.compression != Compression::None
}

/// A page of a tree whose records are not understood still has its links.
fn link(sound: &SoundPage<'_>, collector: &mut impl Collector, partial: &mut Partial) {
    if sound.unit.structure.is_tree() {
        collector.linked(&sound.linked(), partial);
    }
}
