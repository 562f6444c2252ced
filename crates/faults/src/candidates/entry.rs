//! Entries of nonclustered indexes and the rows they refer to.
//!
//! The columns of an index are, by their number, first its own and then what is missing of the row
//! locator: the RID in the heap, or the clustered key with its uniquifier.

use extentdb_base::Rid;
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::model::Index;
use extentdb_catalog::table::Source;
use extentdb_format::PageBuf;
use extentdb_format::record::RecordKind;

use crate::candidates::{CandidatePage, Candidates, Partition};
use crate::edit::Edit;
use crate::row::{has_pointers, remove, value};

/// The row locator of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Locator {
    /// The RID of a heap row.
    Rid(Rid),
    /// Its clustered key; NULL is `None`, and so is an uniquifier that is not stored.
    Key(Vec<Option<Vec<u8>>>),
}

impl Candidates<'_> {
    /// The heap or clustered index of a partition's table; of a partitioned one, its first
    /// partition.
    pub(crate) fn base_parts(&self, partition: &Partition) -> Vec<Partition> {
        self.parts_of_table(partition).into_iter().filter(|it| it.index.0 <= 1).collect()
    }

    fn parts_of_table(&self, partition: &Partition) -> Vec<Partition> {
        if partition.is_user {
            return self
                .partitions()
                .iter()
                .filter(|it| it.object == partition.object)
                .cloned()
                .collect();
        }
        let indexes = self.table(partition).map_or(&[][..], |table| &table.indexes);
        indexes.iter().filter_map(|index| self.system_part(partition.object, index.id)).collect()
    }

    /// The partitions of an index of a partition's table.
    pub(crate) fn index_parts(&self, partition: &Partition, index: &Index) -> Vec<Partition> {
        self.parts_of_table(partition).into_iter().filter(|it| it.index == index.id).collect()
    }

    /// The columns of a partition with what they hold.
    pub(crate) fn sources<'t>(
        &'t self,
        partition: &Partition,
    ) -> Vec<(&'t PhysicalColumn, Source)> {
        if partition.index.0 <= 1 {
            let source = |column: &PhysicalColumn| {
                if column.is_uniquifier() {
                    Source::Uniquifier
                } else {
                    Source::Column(column.column_id)
                }
            };
            return self.columns(partition).map(|column| (column, source(column))).collect();
        }
        let index = self
            .table(partition)
            .and_then(|table| table.indexes.iter().find(|it| it.id == partition.index));
        let own: Vec<i32> =
            index.map_or(&[][..], |index| &index.columns).iter().map(|it| it.column_id).collect();
        let mut missing = self.locator_sources(partition);
        missing.retain(|source| !matches!(source, Source::Column(id) if own.contains(id)));
        let all: Vec<Source> = own.iter().map(|id| Source::Column(*id)).chain(missing).collect();
        let place =
            |column: &PhysicalColumn| usize::try_from(column.column_id).ok()?.checked_sub(1);
        let source = |column: &'t PhysicalColumn| Some((column, *all.get(place(column)?)?));
        self.columns(partition).filter_map(source).collect()
    }

    /// The columns of a row locator of a partition's table.
    fn locator_sources(&self, partition: &Partition) -> Vec<Source> {
        let bases = self.base_parts(partition);
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

    /// The locator of a row, or the locator that an entry stores.
    pub(crate) fn locator(&self, found: &CandidatePage, slot: u16) -> Option<Locator> {
        let wanted = self.locator_sources(&found.partition);
        if found.partition.is_heap() {
            return Some(Locator::Rid(Rid::new(found.id, slot)));
        }
        let sources = self.sources(&found.partition);
        locator_in(&found.page, slot, &sources, &wanted)
    }

    /// The entry of an index for a row.
    pub(crate) fn find_entry(
        &self,
        base: &Partition,
        index: &Index,
        locator: &Locator,
    ) -> Option<(CandidatePage, u16)> {
        self.index_parts(base, index).iter().find_map(|partition| self.find_in(partition, locator))
    }

    /// The row that an entry refers to.
    pub(crate) fn find_base(
        &self,
        entry: &Partition,
        locator: &Locator,
    ) -> Option<(CandidatePage, u16)> {
        let bases = self.base_parts(entry);
        if let Locator::Rid(rid) = locator {
            let found = self.found(rid.page, bases.first()?)?;
            let is_row = found.record(rid.slot.0)?.kind() == RecordKind::Primary;
            return is_row.then_some((found, rid.slot.0));
        }
        bases.iter().find_map(|partition| self.find_in(partition, locator))
    }

    fn find_in(&self, partition: &Partition, locator: &Locator) -> Option<(CandidatePage, u16)> {
        let sources = self.sources(partition);
        let wanted = self.locator_sources(partition);
        self.leaf_pages(partition).into_iter().find_map(|id| {
            let found = self.found(id, partition)?;
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
    pub(crate) fn entries_of(
        &self,
        base: &CandidatePage,
        slot: u16,
    ) -> Option<Vec<(CandidatePage, u16)>> {
        let locator = self.locator(base, slot)?;
        self.full_indexes(&base.partition)
            .map(|index| self.find_entry(&base.partition, index, &locator))
            .collect()
    }

    /// Removes a row and its entries, as if the row had never been inserted. Rows with values off
    /// the row are left alone, and so are tables with filtered indexes: whether the row has an
    /// entry there is not known here.
    pub(crate) fn remove_row(
        &self,
        edit: &mut Edit<'_>,
        base: &CandidatePage,
        slot: u16,
    ) -> Option<()> {
        let table = self.table(&base.partition)?;
        if table.indexes.iter().any(|index| index.filter.is_some())
            || has_pointers(&base.record(slot)?)
        {
            return None;
        }
        let entries = self.entries_of(base, slot)?;
        let is_lonely = |found: &CandidatePage| found.slots() < 2;
        if is_lonely(base) || entries.iter().any(|(entry, _)| is_lonely(entry)) {
            return None;
        }
        remove(edit.page(base.id)?, slot)?;
        for (entry, slot) in &entries {
            remove(edit.page(entry.id)?, *slot)?;
        }
        Some(())
    }

    /// True when a column of the table is in no index, or only an included column of one: neither
    /// in the clustered key, nor in the key of another index, nor part of a computed column or a
    /// filter.
    pub(crate) fn is_free(&self, partition: &Partition, column_id: i32) -> bool {
        let Some(table) = self.table(partition) else { return false };
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
    pub(crate) fn is_indexed(&self, partition: &Partition, column_id: i32) -> bool {
        self.full_indexes(partition)
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
    let partition = |source: &Source| {
        let bytes = value(page, slot, column(source)?);
        Some(bytes.filter(|bytes| !bytes.is_empty()))
    };
    wanted.iter().map(partition).collect::<Option<Vec<_>>>().map(Locator::Key)
}
