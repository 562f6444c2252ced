//! A page that passed its audit, with its records found: what the logical checks begin from.
//!
//! They never read a page that failed, or one whose owner is not certain.

use extentdb_base::{PageId, Rid};
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::{Record, RecordKind};

use crate::audit::{Form, Traits};
use crate::expand::{Expanded, WideSpan};
use crate::spans::{EvenSpans, RecordSpan, RecordSpans, Span};
use crate::unit::{Unit, UnitIndex};

/// A sound page of a tree, as its header describes it.
#[derive(Clone, Copy)]
pub(crate) struct LinkedPage<'a> {
    pub(crate) id: PageId,
    pub(crate) index: UnitIndex,
    pub(crate) header: &'a PageHeader,
    pub(crate) is_leaf: bool,
}

/// A page and the unit that owns it by the allocation maps.
#[derive(Clone, Copy)]
pub(crate) struct OwnedPage<'a> {
    pub(crate) id: PageId,
    pub(crate) index: UnitIndex,
    pub(crate) unit: &'a Unit,
}

/// A sound page of a unit that owns it.
#[derive(Clone, Copy)]
pub(crate) struct SoundPage<'a> {
    pub(crate) id: PageId,
    pub(crate) index: UnitIndex,
    pub(crate) unit: &'a Unit,
    pub(crate) view: PageRef<'a>,
    /// Rows of the table or entries of the index; false on upper levels and text pages.
    pub(crate) is_leaf: bool,
    /// What occurs on it.
    pub(crate) traits: Traits,
    form: Form,
    pminlen: u16,
    records: Records<'a>,
}

/// Where the records are: on the page itself, or expanded from their compressed form.
#[derive(Clone, Copy)]
pub(crate) enum Records<'a> {
    OnPage(&'a [u8], &'a [Span]),
    /// All of one length, back to back.
    Even(&'a [u8], EvenSpans),
    Expanded(&'a [u8], &'a [WideSpan]),
}

/// Evaluates an expression over the bytes and spans of [`Records`] of any kind, monomorphised.
macro_rules! with_spans {
    ($records:expr, |$bytes:ident, $spans:ident| $body:expr) => {
        match $records {
            $crate::sound::Records::OnPage($bytes, $spans) => $body,
            $crate::sound::Records::Even($bytes, $spans) => $body,
            $crate::sound::Records::Expanded($bytes, $spans) => $body,
        }
    };
}
pub(crate) use with_spans;

impl<'a> SoundPage<'a> {
    pub(crate) fn new(
        page: OwnedPage<'a>,
        view: PageRef<'a>,
        is_leaf: bool,
        form: Form,
        traits: Traits,
        records: Records<'a>,
    ) -> SoundPage<'a> {
        let OwnedPage { id, index, unit } = page;
        let pminlen = view.header().fixed_len.get();
        SoundPage {
            id,
            index,
            unit,
            view,
            is_leaf,
            traits,
            form,
            pminlen,
            records,
        }
    }

    /// The same page with its records expanded.
    pub(crate) fn expanded(self, expanded: &Expanded<'a>) -> SoundPage<'a> {
        let records = Records::Expanded(expanded.bytes, expanded.spans);
        SoundPage { pminlen: expanded.fixed_end, records, ..self }
    }

    #[inline]
    pub(crate) fn header(&self) -> &'a PageHeader {
        PageHeader::of(self.view.bytes())
    }

    /// Where the fixed part of index records ends.
    #[inline]
    pub(crate) fn pminlen(&self) -> usize {
        usize::from(self.pminlen)
    }

    /// Where the fixed part of every record ends, when records do not say it themselves.
    #[inline]
    pub(crate) fn index_end(&self) -> Option<usize> {
        matches!(self.form, Form::Index).then_some(usize::from(self.pminlen))
    }

    /// The fixed part of every record ends here or later.
    #[inline]
    pub(crate) fn fixed_end_min(&self) -> usize {
        match (self.form, self.records) {
            (Form::Data, Records::OnPage(..) | Records::Even(..)) => {
                usize::from(self.traits.fixed_end_min)
            }
            _ => usize::from(self.pminlen),
        }
    }

    /// Where its records are, empty slots left out, in slot order.
    #[inline]
    pub(crate) fn records(&self) -> Records<'a> {
        self.records
    }

    /// Number of records, empty slots left out.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        with_spans!(self.records, |_bytes, spans| spans.len())
    }

    /// A record by index among those that are there.
    #[inline]
    pub(crate) fn entry(&self, at: usize) -> Option<Entry<'a>> {
        let (slot, bytes) = match self.records {
            Records::OnPage(bytes, spans) => record_of(bytes, spans.get(at)?)?,
            Records::Even(bytes, even) => record_of(bytes, &even.get(at)?)?,
            Records::Expanded(bytes, spans) => record_of(bytes, spans.get(at)?)?,
        };
        Some(Entry { slot, bytes, form: self.form, pminlen: self.pminlen })
    }

    /// The same page without its records.
    #[inline]
    pub(crate) fn linked(&self) -> LinkedPage<'a> {
        LinkedPage {
            id: self.id,
            index: self.index,
            header: self.header(),
            is_leaf: self.is_leaf,
        }
    }

    /// A record of the page whose bytes are at hand.
    pub(crate) fn entry_at<'r>(&self, slot: u16, bytes: &'r [u8]) -> Entry<'r> {
        Entry { slot, bytes, form: self.form, pminlen: self.pminlen }
    }

    /// Records, empty slots left out, in slot order.
    #[inline]
    pub(crate) fn entries(
        &self,
    ) -> impl DoubleEndedIterator<Item = Entry<'a>> + ExactSizeIterator + use<'a> {
        let page = *self;
        let empty = Entry { slot: 0, bytes: &[], form: self.form, pminlen: self.pminlen };
        (0..self.len()).map(move |at| page.entry(at).unwrap_or(empty))
    }

    /// The first record in slot order.
    pub(crate) fn first(&self) -> Option<Entry<'a>> {
        self.entry(0)
    }

    /// A slot of the page.
    pub(crate) fn rid(&self, slot: u16) -> Rid {
        Rid::new(self.id, slot)
    }
}

/// Slot and bytes of a record.
#[inline(always)]
fn record_of<'a>(bytes: &'a [u8], span: &impl RecordSpan) -> Option<(u16, &'a [u8])> {
    Some((span.slot(), bytes.get(span.start()..span.end())?))
}

/// A record of a sound page.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) slot: u16,
    /// Its own bytes, no more.
    pub(crate) bytes: &'a [u8],
    form: Form,
    pminlen: u16,
}

impl<'a> Entry<'a> {
    /// What it is.
    #[inline]
    pub(crate) fn kind(&self) -> RecordKind {
        RecordKind::of(self.bytes.first().copied().unwrap_or(0))
    }

    /// Its parts; not for text pages.
    #[inline]
    pub(crate) fn record(&self) -> Record<'a> {
        match self.form {
            Form::Index => Record::parse_index(self.bytes, self.pminlen),
            Form::Data | Form::Text => Record::parse_data(self.bytes),
        }
    }
}
