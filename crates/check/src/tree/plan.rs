//! What the checks of trees know of each unit beforehand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use extentdb_base::{Extent, PageId};
use extentdb_catalog::layout::{Compression, PhysicalColumn, RowLayout};
use extentdb_catalog::model::{Catalog, Index};
use extentdb_types::SqlType;

use super::key::KeyPlan;
use crate::audit::has_unverified_parents;
use crate::expand::has_certain_compression;
use crate::plan::{ExtentOwner, Plan};
use crate::relation::worth_sketching;
use crate::unit::{Structure, Unit, UnitIndex};

/// Units with fewer extents are read again as a whole when something does not balance: that is
/// cheaper than a sketch.
const SKETCH_EXTENTS: u64 = 8;

/// A B-tree: one in-row unit.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(super) root: PageId,
    pub(super) is_clustered: bool,
    /// Child pointers can be read.
    pub(super) has_parents: bool,
    /// Facts can be named without another read.
    pub(super) has_sketch: bool,
    /// Its keys; `None` when the layout or the type of the first column is not known.
    pub(super) key: Option<KeyPlan>,
}

impl Tree {
    /// The rung of a page: twice its level, and one for leaves.
    pub(super) fn rung(level: u8, is_leaf: bool) -> u16 {
        u16::from(level) << 1 | u16::from(is_leaf)
    }

    /// The rung that children of a page must have. Roots of level 0 above data pages come from SQL
    /// Server 2000.
    pub(super) fn rung_below(&self, level: u8) -> u16 {
        match level.saturating_sub(1) {
            0 if self.is_clustered || level == 1 => Tree::rung(0, true),
            below => Tree::rung(below, false),
        }
    }
}

/// The trees of a database, by unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trees {
    trees: Vec<Option<Tree>>,
}

impl Trees {
    pub(crate) fn new(plan: &Plan) -> Trees {
        let sketched = worth_sketching(&extents_by_unit(plan), SKETCH_EXTENTS);
        let tree = |(index, unit): (UnitIndex, &Unit)| {
            let is_checked = unit.structure.is_tree() && !unit.is_skipped;
            is_checked.then(|| Tree {
                root: unit.root,
                is_clustered: unit.structure == Structure::Clustered,
                has_parents: !has_unverified_parents(unit),
                has_sketch: sketched.get(index as usize).copied().unwrap_or(false),
                key: key_plan(plan, index, unit),
            })
        };
        Trees { trees: plan.units.iter().map(tree).collect() }
    }

    /// The tree of a unit.
    #[inline]
    pub(crate) fn get(&self, unit: UnitIndex) -> Option<&Tree> {
        self.trees.get(unit as usize)?.as_ref()
    }

    #[cfg(test)]
    pub(super) fn tree_mut(&mut self, unit: UnitIndex) -> Option<&mut Tree> {
        self.trees.get_mut(unit as usize)?.as_mut()
    }

    /// The trees with their units.
    pub(super) fn iter(&self) -> impl Iterator<Item = (UnitIndex, &Tree)> {
        (0u32..).zip(&self.trees).filter_map(|(unit, tree)| Some((unit, tree.as_ref()?)))
    }
}

/// Extents that each unit owns.
fn extents_by_unit(plan: &Plan) -> Vec<u64> {
    let mut extents = vec![0u64; plan.units.len()];
    for maps in &plan.maps {
        for (first, end) in maps.described_ranges() {
            for index in first / 8..end.div_ceil(8) {
                if let ExtentOwner::Unit(unit) =
                    plan.owners.extent(Extent { file: maps.file, index })
                    && let Some(extents) = extents.get_mut(unit as usize)
                {
                    *extents += 1;
                }
            }
        }
    }
    extents
}

fn key_plan(plan: &Plan, index: UnitIndex, unit: &Unit) -> Option<KeyPlan> {
    let catalog = plan.catalog.as_ref()?;
    let known = known_types(plan.layout(index)?, unit);
    let layout = &*known;
    let indexes = catalog.tables.get(&unit.owner.object).map_or(&[][..], |table| &table.indexes);
    let is_unique = is_unique(layout, unit, indexes, catalog);
    let index = indexes.iter().find(|index| index.id == unit.owner.index);
    let is_on_heap = indexes.iter().any(|index| index.id.0 == 0);
    let has_rid = is_on_heap && index.is_none_or(|index| !index.unique);
    let default = |ordinal| catalog.added_defaults.get(&(unit.owner.partition, ordinal));
    KeyPlan::new(layout, !is_unique, has_rid, default).filter(KeyPlan::is_known)
}

/// The layout with only those types whose order follows from the stored bytes: not that of fixed
/// values among the variable columns (vardecimal, Always Encrypted), nor of compressed values whose
/// form is not certain.
fn known_types<'l>(layout: &'l RowLayout, unit: &Unit) -> Cow<'l, RowLayout> {
    let is_known = |column: &PhysicalColumn| {
        column.ty.is_none_or(|ty| {
            let is_certain = unit.compression == Compression::None || has_certain_compression(&ty);
            let is_fixed = ty.is_bit() || ty.fixed_bytes().is_some();
            let is_moved = (column.leaf.offset < 0 || column.interior.offset < 0) && is_fixed;
            // Entries have the uniquifier of their rows without a description of it.
            let is_uniquifier = column.is_uniquifier()
                || (unit.structure == Structure::Nonclustered && ty == SqlType::Int);
            is_certain && (!is_moved || is_uniquifier)
        })
    };
    if layout.columns.iter().all(is_known) {
        return Cow::Borrowed(layout);
    }
    let mut layout = layout.clone();
    for column in layout.columns.iter_mut().filter(|column| !is_known(column)) {
        column.ty = None;
    }
    Cow::Owned(layout)
}

/// True when no two rows can have the same key: the index is unique, or the key holds the locator
/// of the row as well.
fn is_unique(layout: &RowLayout, unit: &Unit, indexes: &[Index], catalog: &Catalog) -> bool {
    let Some(index) = indexes.iter().find(|index| index.id == unit.owner.index) else {
        return false;
    };
    let key = layout.key();
    if index.unique || key.iter().any(|column| column.is_uniquifier()) {
        return true;
    }
    let declared: BTreeMap<i32, u8> = index
        .columns
        .iter()
        .filter(|it| it.key_ordinal > 0)
        .map(|it| (it.column_id, it.key_ordinal))
        .collect();
    let base = indexes.iter().find(|index| index.id.0 <= 1);
    let has_base_key = |base: &Index| {
        let layout = base
            .rowsets
            .first()
            .and_then(|id| catalog.rowsets.get(id))
            .map(|rowset| &rowset.layout);
        let is_clustered = base.id.0 == 1 && base.unique;
        is_clustered
            && layout.is_some_and(|layout| {
                layout.key().iter().all(|column| declared.contains_key(&column.column_id))
            })
    };
    // The locator follows the declared columns, unless all of it is among them.
    unit.structure == Structure::Nonclustered
        && (key.len() > declared.len() || base.is_some_and(has_base_key))
}
