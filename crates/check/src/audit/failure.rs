//! What is reported for pages that fail their audit, and that they take no further part.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::compressed::CiFault;
use extentdb_messages::Arg;

use super::header::FailedTest;
use super::part::BadPage;
use super::records::{SlotFault, diagnose};
use super::rules::Rules;
use super::{Auditor, Context};
use crate::collector::Collector;
use crate::finding::{Finding, Location, UMBRELLA, page_arg};
use crate::unit::{UnitIndex, unknown_args};

impl<'p, F: Collector> Auditor<'p, F> {
    /// A finding; the arguments are given in up to three groups, as the templates have them.
    #[cold]
    pub(super) fn report<const A: usize, const B: usize, const C: usize>(
        &mut self,
        error: u32,
        place: Location,
        first: [Arg<'_>; A],
        second: [Arg<'_>; B],
        third: [Arg<'_>; C],
    ) {
        let args = first.into_iter().chain(second).chain(third);
        self.partial.findings.push(Finding::new(error, place, args));
    }

    /// 8928: the page takes no further part.
    pub(super) fn give_up(&mut self, context: &Context<'p>, error: u32) {
        let Context { id, unit, .. } = *context;
        self.partial.audit.bad.push(BadPage {
            page: id,
            unit: unit.map(|(index, _)| index),
            error,
        });
        if unit.is_some() {
            self.report(UMBRELLA, context.place(), context.args(), [page_arg(id)], []);
        }
    }

    #[cold]
    pub(super) fn fail_header(&mut self, context: &Context<'p>, test: FailedTest) {
        let (found, expected) = test.values;
        let values = [test.text.into(), found.into(), expected.into()];
        let page = page_arg(context.id);
        let (error, args): (u32, Vec<Arg<'_>>) = match context.unit {
            Some(_) => (8939, context.args().into_iter().chain([page]).chain(values).collect()),
            None => (5233, [context.named.0.into(), page].into_iter().chain(values).collect()),
        };
        let place = context.place().at(test.offset);
        self.partial.findings.push(Finding::new(error, place, args).state(test.state));
        self.give_up(context, error);
    }

    /// 8909, or 5256 for a unit that the catalog does not know. The page has no owner: what its
    /// header says describes another page.
    #[cold]
    pub(super) fn fail_page_id(&mut self, context: &Context<'p>, header: &PageHeader) {
        let id = context.id;
        let found = header.page_id();
        let named = header.alloc_unit();
        let place = Location::page(id).at(32);
        let is_listed = named.0 == 0 || self.plan.units.of_header(named, true).is_some();
        let error = if is_listed { 8909 } else { 5256 };
        let pages = [page_arg(id), page_arg(found)];
        if is_listed {
            self.report(error, place, unknown_args(named), pages, []);
        } else {
            self.report(error, place, [named.0.into()], pages, []);
        }
        self.give_up(context, error);
    }

    /// 8938: the page has another type than its owner keeps.
    #[cold]
    pub(super) fn fail_type(&mut self, context: &Context<'p>, header: &PageHeader) {
        let kind = [header.page_type.into()];
        self.report(8938, context.place().at(1), [page_arg(context.id)], context.args(), kind);
        self.give_up(context, 8938);
    }

    /// 2533 for the owner by the maps, 2534 for the one that the header names.
    #[cold]
    pub(super) fn report_foreign(&mut self, context: &Context<'p>, header: &PageHeader) {
        let named = self.plan.units.of_header(header.alloc_unit(), header.kind() == PageType::Data);
        let Context { id, unit, .. } = *context;
        self.partial.audit.bad.push(BadPage {
            page: id,
            unit: unit.map(|(index, _)| index),
            error: 2533,
        });
        self.not_seen(context);
        if let Some(named) = named.and_then(|named| self.plan.units.get(named)) {
            self.report(2534, named.at(id), [page_arg(id)], named.args(), []);
        }
    }

    fn not_seen(&mut self, context: &Context<'p>) {
        self.report(2533, context.place(), [page_arg(context.id)], context.args(), []);
    }

    /// 2533 for a unit that claims a page which its header gives to another claimant.
    #[cold]
    pub(crate) fn report_not_seen(&mut self, id: PageId, index: UnitIndex) {
        let unit = self.plan.units.get(index).map(|unit| (index, unit));
        let named = AllocUnitId(0);
        self.not_seen(&Context { id, unit, named, is_owned: true, state: None });
    }

    #[cold]
    pub(super) fn fail_body(
        &mut self,
        context: &Context<'p>,
        view: PageRef<'_>,
        rules: &Rules,
        outcome: Result<Option<FailedTest>, Option<CiFault>>,
    ) {
        match outcome {
            Ok(Some(test)) => return self.fail_header(context, test),
            Err(Some(fault)) => {
                self.report_compression(context, &fault);
                return self.give_up(context, 5274);
            }
            Ok(None) | Err(None) => {}
        }
        let faults = diagnose(view, rules);
        debug_assert!(!faults.is_empty(), "page {} was refused without a reason", context.id);
        let mut error = 8944;
        for fault in &faults {
            error = self.report_fault(context, fault);
        }
        self.give_up(context, error);
    }

    fn report_compression(&mut self, context: &Context<'p>, fault: &CiFault) {
        let text = match fault {
            CiFault::Anchor(_) | CiFault::AnchorLength { .. } => "Anchor record",
            CiFault::DictionaryArray { .. } | CiFault::DictionaryEntry { .. } => "Dictionary",
            _ => "CI header",
        };
        let test = format!("{fault:?}");
        let values = [text.into(), test.into(), 0.into(), 0.into()];
        self.report(5274, context.place().at(96), context.args(), [page_arg(context.id)], values);
    }

    /// Reports a fault of a slot or record; its number.
    fn report_fault(&mut self, context: &Context<'p>, fault: &SlotFault) -> u32 {
        let args = context.args();
        let page = page_arg(context.id);
        let place = context.place();
        let slot_at = |slot: u16| PAGE_BYTES - 2 - 2 * usize::from(slot);
        match *fault {
            SlotFault::Offset { slot, offset } => {
                let test = "sorted [i].offset >= PAGEHEADSIZE".into();
                let values = [page, test, slot.into(), offset.into()];
                self.report(8941, place.slot(slot).at(slot_at(slot)), args, values, []);
                8941
            }
            SlotFault::Overlap { slot, offset } => {
                let values = [page, "sorted[i].offset >= max".into(), slot.into(), offset.into()];
                self.report(8942, place.slot(slot).at(slot_at(slot)), args, values, []);
                8942
            }
            SlotFault::IntoFreeSpace { slot, end } => {
                let test = "max <= m_freeData".into();
                let end = i64::try_from(end).unwrap_or(i64::MAX);
                self.report(
                    8943,
                    place.slot(slot).at(30),
                    args,
                    [page, test, slot.into(), end.into()],
                    [],
                );
                8943
            }
            SlotFault::Record { slot, offset, test } => {
                let PageId { file, page } = context.id;
                let (found, limit) = test.values;
                let values: [Arg<'_>; 6] = [
                    file.0.into(),
                    page.into(),
                    slot.into(),
                    test.text.into(),
                    found.into(),
                    limit.into(),
                ];
                let args = args.into_iter().chain(values);
                let place = place.slot(slot).at(usize::from(offset));
                self.partial.findings.push(Finding::new(8944, place, args).state(test.state));
                8944
            }
        }
    }
}
