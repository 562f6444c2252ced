//! A page that passed its audit, with its records found: what the logical checks begin from.
//!
//! They never look at a page that failed, and never at one whose owner is not certain.

use extentdb_base::{PageId, Rid};
use extentdb_format::page::{PageHeader, PageRef};
use extentdb_format::record::{Record, RecordKind};

use crate::audit::{Form, Span};
use crate::partial::Partial;
use crate::unit::{Unit, UnitIndex};

/// What is made of sound pages. One worker has one; they are put together when the scan is over.
pub(crate) trait Facts: Send {
    /// Takes the facts of a page. `partial` is the worker's own.
    fn sound(&mut self, page: &Sound<'_>, partial: &mut Partial);

    /// Takes the links of a tree page whose records are not read.
    fn linked(&mut self, _page: &Linked<'_>, _partial: &mut Partial) {}

    /// Puts into the partial what was held back, when the last page was seen.
    fn finish(&mut self, _partial: &mut Partial) {}
}

/// A sound page of a tree, as its header describes it.
#[derive(Clone, Copy)]
pub(crate) struct Linked<'a> {
    pub(crate) id: PageId,
    pub(crate) index: UnitIndex,
    pub(crate) header: &'a PageHeader,
    pub(crate) is_leaf: bool,
}

/// Makes nothing of them.
pub(crate) struct NoFacts;

impl Facts for NoFacts {
    fn sound(&mut self, _: &Sound<'_>, _: &mut Partial) {}
}

/// A sound page of a unit that owns it.
#[derive(Clone, Copy)]
pub(crate) struct Sound<'a> {
    pub(crate) id: PageId,
    pub(crate) index: UnitIndex,
    pub(crate) unit: &'a Unit,
    pub(crate) view: PageRef<'a>,
    /// Rows of the table or entries of the index; false on upper levels and text pages.
    pub(crate) is_leaf: bool,
    form: Form,
    spans: &'a [Span],
}

impl<'a> Sound<'a> {
    pub(crate) fn new(
        (id, index, unit): (PageId, UnitIndex, &'a Unit),
        view: PageRef<'a>,
        is_leaf: bool,
        form: Form,
        spans: &'a [Span],
    ) -> Sound<'a> {
        Sound { id, index, unit, view, is_leaf, form, spans }
    }

    /// Its header.
    #[inline]
    pub(crate) fn header(&self) -> &'a PageHeader {
        PageHeader::of(self.view.bytes())
    }

    /// The same page without its records.
    #[inline]
    pub(crate) fn linked(&self) -> Linked<'a> {
        Linked { id: self.id, index: self.index, header: self.header(), is_leaf: self.is_leaf }
    }

    /// True when its records are rows, each with a fixed part of its own length.
    #[inline]
    pub(crate) fn is_data(&self) -> bool {
        self.form == Form::Data
    }

    /// Records, empty slots left out, in slot order.
    #[inline]
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = Entry<'a>> + ExactSizeIterator + use<'a> {
        let (view, form, pminlen) = (self.view, self.form, self.header().fixed_len.get());
        self.spans.iter().map(move |span| {
            let range = usize::from(span.start)..usize::from(span.end);
            Entry { slot: span.slot, bytes: view.bytes().get(range).unwrap_or_default(), form, pminlen }
        })
    }

    /// The first record in slot order.
    pub(crate) fn first(&self) -> Option<Entry<'a>> {
        self.entries().next()
    }

    /// The last record in slot order.
    pub(crate) fn last(&self) -> Option<Entry<'a>> {
        self.entries().next_back()
    }

    /// A slot of the page.
    pub(crate) fn rid(&self, slot: u16) -> Rid {
        Rid::new(self.id, slot)
    }
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
    /// What it is. Means nothing for compressed records.
    #[inline]
    pub(crate) fn kind(&self) -> RecordKind {
        RecordKind::of(self.bytes.first().copied().unwrap_or(0))
    }

    /// Its parts; not for text pages nor for compressed records.
    #[inline]
    pub(crate) fn record(&self) -> Record<'a> {
        match self.form {
            Form::Index => Record::parse_index(self.bytes, self.pminlen),
            Form::Data | Form::Text => Record::parse_data(self.bytes),
        }
    }
}
