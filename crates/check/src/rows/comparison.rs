//! Which nonclustered indexes are compared with their tables, and how (`docs/check.md` 19).
//!
//! ```text
//! index rowset  own columns (rscolid = subid of sysiscols), then the locator: RID, or the
//!               clustered key that is not there yet
//! expected      for each row of the table: the columns the index must hold, from the row itself
//! actual        for each leaf row of the index: what it holds
//! row hash      sum over the columns of (hash of the value × multiplier of the position), finished
//!               into two lanes
//! ```
//!
//! All partitions of an index are one multiset: which partition a row belongs to is a matter of the
//! row alone.
//!
//! An index whose columns cannot be traced back to the table, or whose values no row of the table
//! holds, is not compared; the report says so by name.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{IndexId, ObjectId};
use extentdb_catalog::Catalog;
use extentdb_catalog::layout::{Compression, RowLayout, column_status};
use extentdb_catalog::model::{Index, IndexKind, Rowset, Table};
use extentdb_types::{Collation, SqlType};

use super::column::has_other_form;
use super::computed::Expression;
use crate::expand::has_certain_compression;

/// Number of an index in [`IndexComparisons`].
pub(crate) type ComparisonNumber = u32;

/// Where a column of an index comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The table's column with this `rscolid`.
    Column(i32),
    /// The hidden column that makes the clustered key unique.
    Uniquifier,
    /// The place of the row in the heap.
    Rid,
}

/// A nonclustered index that is compared with its table.
#[derive(Clone, Debug)]
pub(crate) struct IndexComparison {
    pub(crate) table: ObjectId,
    pub(crate) index: IndexId,
    pub(crate) name: String,
    pub(crate) table_name: String,
    /// Expressions of computed columns that the rows of the table do not store, by `column_id`.
    pub(super) computed: Vec<(i32, Expression)>,
    /// Only rows that pass this are in the index.
    pub(super) filter: Option<Expression>,
    /// By `rscolid` of the index: where each column comes from.
    pub(super) origins: Vec<(i32, Origin)>,
    /// How many of them are the index's own; the locator follows.
    pub(super) own_columns: usize,
    /// Columns whose values may lie off the row and are not compared.
    pub(super) long_columns: Vec<i32>,
    /// One side is compressed, by rules that are known from descriptions only.
    pub(super) is_compressed: bool,
}

impl IndexComparison {
    /// What the report calls the comparison.
    pub(super) fn what(&self) -> String {
        format!("index {} of {} against its table", self.name, self.table_name)
    }

    /// True when some of its values are not compared.
    pub(crate) fn has_long_columns(&self) -> bool {
        !self.long_columns.is_empty()
    }
}

/// All of them, and why others are missing.
#[derive(Clone, Default, Debug)]
pub(crate) struct IndexComparisons {
    all: Vec<IndexComparison>,
    numbers: BTreeMap<(ObjectId, IndexId), ComparisonNumber>,
    /// Numbers that are not used.
    dropped: BTreeSet<ComparisonNumber>,
    /// Name of the index and the reason.
    pub(crate) left_out: Vec<(String, String)>,
}

impl IndexComparisons {
    pub(crate) fn new(catalog: &Catalog) -> IndexComparisons {
        let mut comparisons = IndexComparisons::default();
        for table in catalog.tables.values() {
            let indexes =
                table.indexes.iter().filter(|index| index.id.0 > 1 && !index.rowsets.is_empty());
            for index in indexes {
                comparisons.add(catalog, table, index);
            }
        }
        comparisons
    }

    fn add(&mut self, catalog: &Catalog, table: &Table, index: &Index) {
        if index.kind != IndexKind::Nonclustered {
            // Other kinds are listed as families.
            return;
        }
        match trace(catalog, table, index) {
            Ok(comparison) => {
                self.numbers.insert((table.id, index.id), self.all.len() as ComparisonNumber);
                self.all.push(comparison);
            }
            Err(why) => {
                let name = index.name.as_deref().unwrap_or_default();
                self.left_out.push((
                    format!("index {name} of {} against its table", table.full_name()),
                    why,
                ));
            }
        }
    }

    /// An index is not compared after all.
    pub(super) fn leave_out(&mut self, number: ComparisonNumber, why: &str) {
        let Some(comparison) = self.all.get(number as usize) else { return };
        self.numbers.remove(&(comparison.table, comparison.index));
        self.left_out.push((comparison.what(), why.to_owned()));
        self.dropped.insert(number);
    }

    pub(crate) fn get(&self, number: ComparisonNumber) -> Option<&IndexComparison> {
        self.all.get(number as usize)
    }

    pub(crate) fn number(&self, table: ObjectId, index: IndexId) -> Option<ComparisonNumber> {
        self.numbers.get(&(table, index)).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ComparisonNumber, &IndexComparison)> {
        (0u32..).zip(&self.all).filter(|(number, _)| !self.dropped.contains(number))
    }

    /// The indexes of a table.
    pub(crate) fn of_table(
        &self,
        table: ObjectId,
    ) -> impl Iterator<Item = (ComparisonNumber, &IndexComparison)> {
        self.numbers
            .range((table, IndexId(i32::MIN))..=(table, IndexId(i32::MAX)))
            .filter_map(|(_, number)| Some((*number, self.get(*number)?)))
    }
}

/// Finds where every column of an index comes from.
fn trace(catalog: &Catalog, table: &Table, index: &Index) -> Result<IndexComparison, String> {
    let base = table.base().ok_or("the table has no heap or clustered index")?;
    let base_rowset = catalog.rowsets_of(base).next().ok_or("the table has no rowset")?;
    let rowset = catalog.rowsets_of(index).next().ok_or("the index has no rowset")?;
    for rowset in catalog.rowsets_of(base).chain(catalog.rowsets_of(index)) {
        refuse_forms(rowset)?;
    }
    let origins = origins(base, &base_rowset.layout, index, &rowset.layout)?;
    let database = Collation(catalog.boot.collation_id);
    let computed = computed_columns(table, &base_rowset.layout, &origins, database)?;
    let filter = Expression::of_filter(table, index, database)?;
    verify_types(&base_rowset.layout, &rowset.layout, &origins)?;
    let is_compressed = catalog
        .rowsets_of(base)
        .chain(catalog.rowsets_of(index))
        .any(|rowset| rowset.compression != Compression::None);
    if is_compressed && (filter.is_some() || !computed.is_empty()) {
        return Err("it is computed or filtered from compressed values".to_owned());
    }
    if !is_compressed {
        refuse_other_forms([&base_rowset.layout, &rowset.layout])?;
    }
    Ok(IndexComparison {
        table: table.id,
        index: index.id,
        name: index.name.clone().unwrap_or_default(),
        table_name: table.name.clone(),
        computed,
        filter,
        long_columns: long_columns(&rowset.layout, is_compressed),
        is_compressed,
        origins,
        own_columns: index.columns.len(),
    })
}

/// The columns that the index was declared with, then those of the locator.
fn origins(
    base: &Index,
    base_layout: &RowLayout,
    index: &Index,
    layout: &RowLayout,
) -> Result<Vec<(i32, Origin)>, String> {
    let own = index.columns.iter();
    let own = own.map(|column| (column.ordinal, Origin::Column(column.column_id)));
    let mut origins: Vec<(i32, Origin)> = own.collect();
    origins.sort_unstable_by_key(|(ordinal, _)| *ordinal);
    let mut physical: Vec<i32> = layout.columns.iter().map(|column| column.column_id).collect();
    physical.sort_unstable();
    let locator = locator(base, base_layout, &origins);
    let rest = physical.iter().filter(|id| !origins.iter().any(|(ordinal, _)| ordinal == *id));
    let rest: Vec<i32> = rest.copied().collect();
    if rest.len() != locator.len() || physical.len() != origins.len() + locator.len() {
        let lost = rest.len().abs_diff(locator.len()).max(1);
        return Err(format!("{lost} columns of its rows cannot be traced"));
    }
    origins.extend(rest.into_iter().zip(locator));
    Ok(origins)
}

fn refuse_forms(rowset: &Rowset) -> Result<(), String> {
    let has = |status: u32| rowset.layout.columns.iter().any(|column| column.status & status != 0);
    if matches!(rowset.compression, Compression::Other(_)) {
        return Err(format!("its rows are stored as {}", rowset.compression.name()));
    }
    if has(column_status::ANTI_MATTER) {
        return Err("it is being built online".to_owned());
    }
    Ok(())
}

/// The columns after the index's own: the locator of its row.
fn locator(base: &Index, layout: &RowLayout, own: &[(i32, Origin)]) -> Vec<Origin> {
    if base.id.0 == 0 {
        return vec![Origin::Rid];
    }
    let key = layout.key();
    let origins = key.iter().map(|column| {
        if column.is_uniquifier() { Origin::Uniquifier } else { Origin::Column(column.column_id) }
    });
    origins.filter(|origin| !own.iter().any(|(_, own)| own == origin)).collect()
}

/// Columns of the index that rows of the table do not store.
fn computed_columns(
    table: &Table,
    base: &RowLayout,
    origins: &[(i32, Origin)],
    database: Collation,
) -> Result<Vec<(i32, Expression)>, String> {
    let mut computed = Vec::new();
    for (_, origin) in origins {
        if let Origin::Column(id) = origin
            && base.column(*id).is_none()
        {
            let column = table.column(*id).ok_or("it has a column that the table does not have")?;
            computed.push((*id, Expression::of_column(table, column, database)?));
        }
    }
    Ok(computed)
}

/// Values can only be compared when both sides store the same type.
fn verify_types(
    base: &RowLayout,
    index: &RowLayout,
    origins: &[(i32, Origin)],
) -> Result<(), String> {
    for (ordinal, origin) in origins {
        let entry = index.column(*ordinal).ok_or("a column of it is not in its rows")?;
        let ty = entry.ty.ok_or("a column of it has an unknown type")?;
        match origin {
            Origin::Rid if ty.fixed_bytes() == Some(8) => {}
            Origin::Rid => return Err("its row locator is not a RID".to_owned()),
            Origin::Uniquifier => {}
            Origin::Column(id) => {
                // What is not stored is computed, as the type of its column.
                let Some(stored) = base.column(*id) else { continue };
                if stored.is_sparse() {
                    return Err("it has a sparse column".to_owned());
                }
                let stored = stored.ty.ok_or("a column of the table has an unknown type")?;
                if std::mem::discriminant(&stored) != std::mem::discriminant(&ty)
                    || stored.fixed_bytes() != ty.fixed_bytes()
                {
                    return Err(format!(
                        "its column {ordinal} is {ty}, that of the table {stored}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Fixed types among the variable columns. Both sides have them in the same form, or the forms are
/// not known.
fn refuse_other_forms(layouts: [&RowLayout; 2]) -> Result<(), String> {
    let [base, index] = layouts.map(|layout| {
        let columns = layout.columns.iter().filter(|column| !column.is_dropped());
        columns.filter_map(|column| column.ty.filter(|ty| has_other_form(column, ty)))
    });
    // Entries have the uniquifier of their rows without a description of it: the only int among
    // variable columns.
    match (base.count(), index.filter(|ty| *ty != SqlType::Int).count()) {
        (0, 0) => Ok(()),
        _ => Err("fixed values of its table are stored in variable columns".to_owned()),
    }
}

/// Columns of types that may lie off the row on one side and in it on the other, and those whose
/// compressed form is not certain.
fn long_columns(layout: &RowLayout, is_compressed: bool) -> Vec<i32> {
    let is_long = |ty: &SqlType| {
        ty.is_lob() || ty.is_max() || (is_compressed && !has_certain_compression(ty))
    };
    let long = layout.columns.iter().filter(|column| column.ty.as_ref().is_some_and(is_long));
    long.map(|column| column.column_id).collect()
}
