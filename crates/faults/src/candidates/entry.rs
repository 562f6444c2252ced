//! Entries of nonclustered indexes and the rows they lead to.
//!
//! The columns of an index are, by their number, first its own and then what is missing of the row
//! locator: the place in the heap, or the clustered key with its uniquifier.

use extentdb_base::Rid;
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::model::Index;
use extentdb_catalog::table::Source;
use extentdb_format::PageBuf;
use extentdb_format::record::RecordKind;

use crate::edit::Edit;
use crate::row::{has_pointers, remove, value};
use crate::target::{Found, Part, Target};

/// What leads to a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Locator {
    /// Its place in the heap.
    Rid(Rid),
    /// Its clustered key; NULL is `None`, and so is an uniquifier that is not stored.
    Key(Vec<Option<Vec<u8>>>),
}

impl Target<'_> {
    /// The heap or clustered index of a part's table; of a partitioned one, its first partition.
    pub(crate) fn base_parts(&self, part: &Part) -> Vec<Part> {
        self.parts_of_table(part).into_iter().filter(|it| it.index.0 <= 1).collect()
    }

    fn parts_of_table(&self, part: &Part) -> Vec<Part> {
        if part.is_user {
            return self.parts().iter().filter(|it| it.object == part.object).cloned().collect();
        }
        let indexes = self.table(part).map_or(&[][..], |table| &table.indexes);
        indexes.iter().filter_map(|index| self.system_part(part.object, index.id)).collect()
    }

    /// The partitions of an index of a part's table.
    pub(crate) fn index_parts(&self, part: &Part, index: &Index) -> Vec<Part> {
        self.parts_of_table(part).into_iter().filter(|it| it.index == index.id).collect()
    }

    /// The columns of a part with what they hold.
    pub(crate) fn sources<'t>(&'t self, part: &Part) -> Vec<(&'t PhysicalColumn, Source)> {
        if part.index.0 <= 1 {
            let source = |column: &PhysicalColumn| {
                if column.is_uniquifier() {
                    Source::Uniquifier
                } else {
                    Source::Column(column.column_id)
                }
            };
            return self.columns(part).map(|column| (column, source(column))).collect();
        }
        let index =
            self.table(part).and_then(|table| table.indexes.iter().find(|it| it.id == part.index));
        let own: Vec<i32> =
            index.map_or(&[][..], |index| &index.columns).iter().map(|it| it.column_id).collect();
        let mut missing = self.locator_sources(part);
        missing.retain(|source| !matches!(source, Source::Column(id) if own.contains(id)));
        let all: Vec<Source> = own.iter().map(|id| Source::Column(*id)).chain(missing).collect();
        let place =
            |column: &PhysicalColumn| usize::try_from(column.column_id).ok()?.checked_sub(1);
        let source = |column: &'t PhysicalColumn| Some((column, *all.get(place(column)?)?));
        self.columns(part).filter_map(source).collect()
    }

    /// What a row locator of a part's table consists of.
    fn locator_sources(&self, part: &Part) -> Vec<Source> {
        let bases = self.base_parts(part);
        let Some(base) = bases.first().filter(|base| base.is_clustered()) else {
            return vec![Source::Rid];
        };
        let Some(rowset) = self.rowset(base) else { return Vec::new() };
        let source = |column: &&PhysicalColumn| {
            if column.is_uniquifier() {
                Source::Uniquifier
            } else {
                Source::Column(column.column_id)
            }
        };
        rowset.layout.key().iter().map(source).collect()
    }

    /// What leads to a row, or what an entry says leads to its row.
    pub(crate) fn locator(&self, found: &Found, slot: u16) -> Option<Locator> {
        let wanted = self.locator_sources(&found.part);
        if found.part.is_heap() {
            return Some(Locator::Rid(Rid::new(found.id, slot)));
        }
        let sources = self.sources(&found.part);
        locator_in(&found.page, slot, &sources, &wanted)
    }

    /// The entry of an index that leads to a row.
    pub(crate) fn find_entry(
        &self,
        base: &Part,
        index: &Index,
        locator: &Locator,
    ) -> Option<(Found, u16)> {
        self.index_parts(base, index).iter().find_map(|part| self.find_in(part, locator))
    }

    /// The row that an entry leads to.
    pub(crate) fn find_base(&self, entry: &Part, locator: &Locator) -> Option<(Found, u16)> {
        let bases = self.base_parts(entry);
        if let Locator::Rid(rid) = locator {
            let found = self.found(rid.page, bases.first()?)?;
            let is_row = found.record(rid.slot.0)?.kind() == RecordKind::Primary;
            return is_row.then_some((found, rid.slot.0));
        }
        bases.iter().find_map(|part| self.find_in(part, locator))
    }

    fn find_in(&self, part: &Part, locator: &Locator) -> Option<(Found, u16)> {
        let sources = self.sources(part);
        let wanted = self.locator_sources(part);
        self.leaf_pages(part).into_iter().find_map(|id| {
            let found = self.found(id, part)?;
            let is_it = |slot: &u16| {
                let is_ghost = found.record(*slot).is_none_or(|record| record.kind().is_ghost());
                !is_ghost
                    && locator_in(&found.page, *slot, &sources, &wanted).as_ref() == Some(locator)
            };
            let slot = (0..found.slots()).find(is_it)?;
            Some((found, slot))
        })
    }

    /// The entries of a row in all indexes of its table; `None` when one of them has none.
    pub(crate) fn entries_of(&self, base: &Found, slot: u16) -> Option<Vec<(Found, u16)>> {
        let locator = self.locator(base, slot)?;
        self.full_indexes(&base.part)
            .map(|index| self.find_entry(&base.part, index, &locator))
            .collect()
    }

    /// Takes a row and its entries away, as if it never had been there. Rows with values off the
    /// row are left alone, and so are tables with filtered indexes: whether the row has an entry
    /// there is not known here.
    pub(crate) fn remove_row(&self, edit: &mut Edit<'_>, base: &Found, slot: u16) -> Option<()> {
        let table = self.table(&base.part)?;
        if table.indexes.iter().any(|index| index.filter.is_some())
            || has_pointers(&base.record(slot)?)
        {
            return None;
        }
        let entries = self.entries_of(base, slot)?;
        let is_lonely = |found: &Found| found.slots() < 2;
        if is_lonely(base) || entries.iter().any(|(entry, _)| is_lonely(entry)) {
            return None;
        }
        remove(edit.page(base.id)?, slot)?;
        for (entry, slot) in &entries {
            remove(edit.page(entry.id)?, *slot)?;
        }
        Some(())
    }

    /// True when a column of the table is in no index but perhaps as an included column: neither in
    /// the clustered key, nor in the key of another index, nor part of a computed column or a
    /// filter.
    pub(crate) fn is_free(&self, part: &Part, column_id: i32) -> bool {
        let Some(table) = self.table(part) else { return false };
        let is_key = |index: &Index| {
            index
                .columns
                .iter()
                .any(|column| column.column_id == column_id && column.key_ordinal > 0)
        };
        let Some(column) = table.column(column_id) else { return false };
        let brackets = format!("[{}]", column.name);
        let is_named =
            |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(&brackets));
        column.computed.is_none()
            && !table.indexes.iter().any(|index| is_key(index) || is_named(&index.filter))
            && !table.columns.iter().any(|other| is_named(&other.computed))
    }

    /// True when a nonclustered index has the column, as key or included.
    pub(crate) fn is_indexed(&self, part: &Part, column_id: i32) -> bool {
        self.full_indexes(part)
            .any(|index| index.columns.iter().any(|column| column.column_id == column_id))
    }
}

fn locator_in(
    page: &PageBuf,
    slot: u16,
    sources: &[(&PhysicalColumn, Source)],
    wanted: &[Source],
) -> Option<Locator> {
    let column =
        |source: &Source| sources.iter().find(|(_, it)| it == source).map(|(column, _)| *column);
    if wanted == [Source::Rid] {
        let bytes = value(page, slot, column(&Source::Rid)?)?;
        return Some(Locator::Rid(Rid::from_bytes(bytes.try_into().ok()?)));
    }
    let part = |source: &Source| {
        let bytes = value(page, slot, column(source)?);
        Some(bytes.filter(|bytes| !bytes.is_empty()))
    };
    wanted.iter().map(part).collect::<Option<Vec<_>>>().map(Locator::Key)
}
