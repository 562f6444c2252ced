//! Where the next record of some writers is kept: an open unit, and its last page.

use std::collections::HashMap;
use std::time::Duration;

use extentdb_base::sync::Arc;
use extentdb_base::{PageId, XactId};

use super::info::StoreSize;
use super::unit::{PAGES, RecordOwner, Unit, UnitWriter, Usage};

/// See the module.
#[derive(Default)]
pub(super) struct Lane {
    open: Option<OpenUnit>,
}

struct OpenUnit {
    unit: Arc<Unit>,
    began: Duration,
    /// Pages that are formatted.
    pages: u16,
    /// Who has written, by opening of a database and transaction.
    writers: HashMap<(u32, XactId), UnitWriter>,
    /// The one that wrote last: most records have the same writer as those before them.
    last_writer: Option<(u32, XactId)>,
    usage: Usage,
}

impl Lane {
    pub(super) fn unit(&self) -> Option<&Arc<Unit>> {
        self.open.as_ref().map(|open| &open.unit)
    }

    /// When its unit began.
    pub(super) fn began(&self) -> Option<Duration> {
        self.open.as_ref().map(|open| open.began)
    }

    pub(super) fn begin(&mut self, unit: Arc<Unit>, now: Duration) {
        self.open = Some(OpenUnit {
            unit,
            began: now,
            pages: 0,
            writers: HashMap::new(),
            last_writer: None,
            usage: Usage::default(),
        });
    }

    /// The unit, the last page in it, and which page of tempdb that is.
    pub(super) fn last_page(&self) -> Option<(&Unit, u16, PageId)> {
        let open = self.open.as_ref()?;
        let page = open.pages.checked_sub(1)?;
        Some((&open.unit, page, open.unit.page(page)?))
    }

    /// Has its unit all the pages that it may have?
    pub(super) fn is_full(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.pages == PAGES)
    }

    /// Number of the page after the last one.
    pub(super) fn next_page(&self) -> u16 {
        self.open.as_ref().map_or(0, |open| open.pages)
    }

    /// That page is formatted.
    pub(super) fn advance(&mut self) {
        if let Some(open) = &mut self.open {
            open.pages += 1;
        }
    }

    /// A record was appended.
    pub(super) fn note(&mut self, owner: RecordOwner<'_>, bytes: usize) {
        let Some(open) = &mut self.open else { return };
        open.usage.add(owner.database, bytes);
        let writer = (owner.commits.number(), owner.writer);
        if open.last_writer != Some(writer) {
            open.last_writer = Some(writer);
            open.writers.entry(writer).or_insert_with(|| UnitWriter::of(owner));
        }
    }

    /// Closes the unit; it gets no more records.
    pub(super) fn close(&mut self) -> Option<Arc<Unit>> {
        let open = self.open.take()?;
        open.unit.close(open.writers.into_values().collect(), open.usage);
        Some(open.unit)
    }

    pub(super) fn add_usage(&self, size: &mut StoreSize) {
        if let Some(open) = &self.open {
            open.usage.add_to(size, &open.unit);
        }
    }
}
