//! What must be known of a unit to check its rows: columns, NOT NULL, and which indexes its rows
//! belong to.

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_catalog::layout::{Compression, PhysicalColumn, RowLayout};
use extentdb_catalog::model::{AllocUnitKind, Catalog, ObjectType, Rowset, Table};
use extentdb_types::Collation;

use super::boundary::Boundaries;
use super::column::{ColumnPlan, ColumnPosition};
use super::comparison::{ComparisonNumber, IndexComparison, IndexComparisons, Origin};
use super::computed::{BoundExpression, Expression};
use super::page::VariableRule;
use super::shape::{SYSFILES1, Shape};
use super::value::Range;
use crate::hash::HashKey;
use crate::options::Options;
use crate::plan::Plan;
use crate::unit::{Structure, Unit, UnitIndex, Units};

/// Null bits of a rowset, one bit each.
#[derive(Clone, Default, Debug)]
pub(super) struct NullMask(Vec<u8>);

impl NullMask {
    fn set(&mut self, null_bit: u16) {
        let Some(bit) = null_bit.checked_sub(1).map(usize::from) else { return };
        if self.0.len() <= bit / 8 {
            self.0.resize(bit / 8 + 1, 0);
        }
        if let Some(byte) = self.0.get_mut(bit / 8) {
            *byte |= 1 << (bit % 8);
        }
    }

    /// True for a bit that is set.
    pub(super) fn has(&self, null_bit: u16) -> bool {
        let bit = usize::from(null_bit.wrapping_sub(1));
        self.0.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
    }

    /// The first 64 of them.
    pub(super) fn first_bits(&self) -> u64 {
        let bytes = self.0.iter().take(8).enumerate();
        bytes.fold(0, |bits, (at, byte)| bits | u64::from(*byte) << (8 * at))
    }

    /// True when there are more than 64.
    pub(super) fn is_long(&self) -> bool {
        self.0.len() > 8
    }

    /// True when one of the bits is set in a bitmap.
    #[inline]
    pub(super) fn meets(&self, bitmap: &[u8]) -> bool {
        self.0.iter().zip(bitmap).any(|(mask, byte)| mask & byte != 0)
    }
}

/// What is hashed of every row, once, however many indexes hold it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hashed {
    /// Index into the columns of the plan.
    Column(u16),
    /// Index into the expressions of the plan.
    Computed(u16),
}

/// A column of an index row to be hashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HashInput {
    /// Index into what is hashed of the rowset.
    Hashed(u16),
    /// The place of the row in the heap.
    Rid,
}

/// What rows of a table must be in an index, or what rows of the index are there.
#[derive(Clone, Debug)]
pub(super) struct IndexTarget {
    pub(super) comparison: ComparisonNumber,
    /// What is hashed, with its multiplier.
    pub(super) inputs: Vec<(HashInput, u64)>,
    /// The expression that a row must pass.
    pub(super) filter: Option<u16>,
}

/// The rows of a unit.
#[derive(Clone, Default, Debug)]
pub(crate) struct RowPlan {
    /// Rows of the table, not entries of an index.
    pub(super) is_base: bool,
    /// Columns of the table or index that are alive, by `rscolid`.
    pub(super) columns: Vec<ColumnPlan>,
    /// Places in `columns` whose values are checked.
    pub(super) ranged: Vec<u16>,
    /// Variable columns and what is checked of them.
    pub(super) variable: Vec<VariableRule>,
    /// Columns that must not be NULL.
    pub(super) not_null: NullMask,
    /// What is hashed of the rows.
    pub(super) hashed: Vec<Hashed>,
    /// A table: all its indexes. An index: itself.
    pub(super) targets: Vec<IndexTarget>,
    /// What has to be evaluated for the indexes.
    pub(super) expressions: Vec<BoundExpression>,
    /// The shapes that rows of the table can have.
    pub(super) shape: Shape,
    /// Stored computed columns: place of the column, and of its expression.
    pub(super) persisted: Vec<(u16, u16)>,
}

/// The plans of all units, and the indexes that are compared.
#[derive(Default)]
pub(crate) struct RowPlans {
    plans: Vec<Option<RowPlan>>,
    pub(crate) comparisons: IndexComparisons,
    pub(crate) boundaries: Boundaries,
    /// Column values are checked.
    pub(crate) has_purity: bool,
    /// Units of each index and each table that is compared, by table.
    units: BTreeMap<(ObjectId, bool), Vec<UnitIndex>>,
}

impl RowPlans {
    /// The plans for a database; empty when its catalog cannot be trusted.
    pub(crate) fn of(plan: &Plan, options: &Options) -> RowPlans {
        match plan.catalog.as_ref().filter(|_| plan.owners_are_known) {
            Some(catalog) => RowPlans::new(catalog, &plan.units, options, &plan.key),
            None => RowPlans::default(),
        }
    }

    fn new(catalog: &Catalog, units: &Units, options: &Options, key: &HashKey) -> RowPlans {
        let mut plans = RowPlans {
            comparisons: IndexComparisons::new(catalog),
            boundaries: Boundaries::new(catalog, units),
            has_purity: has_purity(catalog, options),
            ..RowPlans::default()
        };
        for (index, unit) in units.iter() {
            let plan = plans.plan(catalog, unit, options, key);
            if plan.is_some() {
                let is_base = unit.owner.index.0 <= 1;
                plans.units.entry((unit.owner.object, is_base)).or_default().push(index);
            }
            plans.plans.push(plan);
        }
        plans.drop_incomplete(units, options);
        plans
    }

    /// Leaves out indexes that not all rows and entries can be read for: one side alone differs
    /// from the other in everything.
    fn drop_incomplete(&mut self, units: &Units, options: &Options) {
        let mut incomplete: BTreeMap<ComparisonNumber, &'static str> = BTreeMap::new();
        for (number, comparison) in self.comparisons.iter() {
            let takes_part = |(_, unit): &(UnitIndex, &Unit)| {
                let is_side = unit.owner.index.0 <= 1 || unit.owner.index == comparison.index;
                unit.owner.object == comparison.table
                    && is_side
                    && unit.kind == AllocUnitKind::InRow
            };
            let has_target = |unit: UnitIndex| {
                self.get(unit).is_some_and(|plan| {
                    plan.targets.iter().any(|target| target.comparison == number)
                })
            };
            let own =
                || units.iter().filter(takes_part).filter(|(_, unit)| !unit.first_iam.is_none());
            if own().any(|(_, unit)| options.no_index && unit.owner.is_user) {
                continue;
            }
            if own().any(|(index, _)| !has_target(index)) {
                incomplete.insert(number, "not all columns it needs can be read from all rows");
            } else if !own().any(|(_, unit)| unit.owner.index == comparison.index)
                && own().next().is_some()
            {
                // Hypothetical and disabled indexes. That a real one lost its pages is found
                // elsewhere.
                incomplete.insert(number, "it has no pages");
            }
        }
        for plan in self.plans.iter_mut().flatten() {
            plan.targets.retain(|target| !incomplete.contains_key(&target.comparison));
        }
        for (number, why) in incomplete {
            self.comparisons.leave_out(number, why);
        }
    }

    /// The plan of a unit; `None` for units without rows, and those whose rows cannot be read.
    #[inline]
    pub(crate) fn get(&self, unit: UnitIndex) -> Option<&RowPlan> {
        self.plans.get(unit as usize)?.as_ref()
    }

    /// The units of the heap or clustered index of a table.
    pub(crate) fn base_units(&self, table: ObjectId) -> &[UnitIndex] {
        self.units.get(&(table, true)).map_or(&[], Vec::as_slice)
    }

    /// The units of the nonclustered indexes of a table.
    pub(crate) fn index_units(&self, table: ObjectId) -> &[UnitIndex] {
        self.units.get(&(table, false)).map_or(&[], Vec::as_slice)
    }

    /// Adds the comparisons that rows of a unit take part in.
    fn add_targets(&self, plan: &mut RowPlan, unit: &Unit, layout: &RowLayout, key: &HashKey) {
        let owner = unit.owner;
        if unit.structure == Structure::Nonclustered {
            let number = self.comparisons.number(owner.object, owner.index);
            let target = number.and_then(|number| {
                let inputs = entry_inputs(plan, self.comparisons.get(number)?, key)?;
                Some(IndexTarget { comparison: number, inputs, filter: None })
            });
            plan.targets.extend(target);
            return;
        }
        for (number, comparison) in self.comparisons.of_table(owner.object) {
            let Some(inputs) = base_inputs(plan, layout, comparison, key) else { continue };
            let filter = comparison.filter.as_ref().map(|filter| plan.expression(filter));
            // An index without a target is left out as a whole.
            if filter != Some(None) {
                plan.targets.push(IndexTarget {
                    comparison: number,
                    inputs,
                    filter: filter.flatten(),
                });
            }
        }
    }

    fn plan(
        &self,
        catalog: &Catalog,
        unit: &Unit,
        options: &Options,
        key: &HashKey,
    ) -> Option<RowPlan> {
        let is_row_unit = unit.kind == AllocUnitKind::InRow && unit.structure != Structure::Other;
        let rowset = catalog.rowsets.get(&unit.owner.partition).filter(|_| is_row_unit)?;
        let table = catalog.tables.get(&unit.owner.object)?;
        let is_base = unit.structure != Structure::Nonclustered;
        let layout = match rowset.compression {
            Compression::None => &rowset.layout,
            _ => unit.expanded.as_deref()?,
        };
        let mut plan = columns(catalog, table, rowset, layout, is_base)?;
        if is_base && rowset.compression == Compression::None {
            plan.shape = Shape::new(unit, layout, &plan.columns, catalog);
        }
        if !(options.no_index && unit.owner.is_user) {
            self.add_targets(&mut plan, unit, layout, key);
        }
        if is_base && options.extended_logical_checks && rowset.compression == Compression::None {
            plan.add_persisted(catalog, table);
        }
        Some(plan)
    }
}

/// Column values are checked in databases that 2005 or later created, in those that were checked
/// once, and on request.
fn has_purity(catalog: &Catalog, options: &Options) -> bool {
    /// The first version whose engine kept column values in range: SQL Server 2005.
    const PURE_SINCE: u16 = 611;
    /// `dbi_dbccFlags`: the values were found to be in range once.
    const WAS_CHECKED: u16 = 2;
    let boot = &catalog.boot;
    !options.physical_only
        && (options.data_purity
            || boot.create_version >= PURE_SINCE
            || boot.dbcc_flags & WAS_CHECKED != 0)
}

/// `None` when a column that is alive cannot be placed: nothing can be said about any row then.
fn columns(
    catalog: &Catalog,
    table: &Table,
    rowset: &Rowset,
    layout: &RowLayout,
    is_base: bool,
) -> Option<RowPlan> {
    let mut plan = RowPlan {
        is_base,
        columns: Vec::with_capacity(layout.columns.len()),
        ..RowPlan::default()
    };
    let is_of_server = matches!(table.kind, ObjectType::SYSTEM_TABLE | ObjectType::INTERNAL_TABLE);
    let follows_catalog = is_base && table.id != SYSFILES1;
    let judges_values = rowset.compression == Compression::None;
    for column in layout.columns.iter().filter(|column| !column.is_dropped()) {
        let name = name_of(table, column, is_base);
        let Some(column) = ColumnPlan::new(column, name, catalog, rowset.id) else { continue };
        let is_file = is_base && table.column(column.id).is_some_and(|column| column.filestream);
        // Real base tables hold NULLs in variable columns that they call NOT NULL, never in fixed
        // ones; internal tables are written by the same hands.
        let may_be_null = is_of_server && matches!(column.place, ColumnPosition::Variable { .. });
        let judges = ColumnTests {
            nulls: follows_catalog && !may_be_null,
            filled: follows_catalog && !is_file,
            values: judges_values,
        };
        plan.add(column, judges);
    }
    Some(plan)
}

/// The columns of an index are named by the messages of its table.
fn name_of<'t>(table: &'t Table, column: &PhysicalColumn, is_base: bool) -> &'t str {
    if is_base {
        table.column(column.column_id).map_or("", |column| column.name.as_str())
    } else {
        ""
    }
}

/// What is judged of a column.
struct ColumnTests {
    /// NULL where it must not be.
    nulls: bool,
    /// Bytes where there is NULL.
    filled: bool,
    /// Values: they are stored in a form that is known for certain.
    values: bool,
}

impl RowPlan {
    fn add(&mut self, mut column: ColumnPlan, judged: ColumnTests) {
        if !judged.values {
            column.range = Range::Any;
        }
        let place = self.columns.len() as u16;
        if self.is_base {
            if column.range != Range::Any {
                self.ranged.push(place);
            }
            if column.is_not_null && judged.nulls && !column.is_uniquifier() {
                self.not_null.set(column.null_bit);
            }
            if let ColumnPosition::Variable { index } = column.place {
                self.variable.push(VariableRule {
                    index,
                    null_bit: column.null_bit,
                    bytes_max: match column.bytes_max {
                        u16::MAX => usize::MAX,
                        limit => usize::from(limit),
                    },
                    is_even: column.range == Range::Utf16,
                    is_empty_when_null: judged.filled
                        && !column.is_not_null
                        && !column.keeps_bytes_when_null(),
                });
            }
        }
        self.columns.push(column);
    }

    /// Takes in an expression; its place. `None` when its columns are not in the rows.
    fn expression(&mut self, expression: &Expression) -> Option<u16> {
        let known = self.expressions.iter().position(|placed| placed.is_of(expression));
        if let Some(known) = known {
            return Some(known as u16);
        }
        let placed = BoundExpression::new(expression, self)?;
        self.expressions.push(placed);
        Some(self.expressions.len() as u16 - 1)
    }

    /// Stored computed columns whose expression can be evaluated.
    fn add_persisted(&mut self, catalog: &Catalog, table: &Table) {
        let database = Collation(catalog.boot.collation_id);
        for column in
            table.columns.iter().filter(|column| column.computed.is_some() && column.persisted)
        {
            let place = self.columns.iter().position(|stored| stored.id == column.id);
            let expression = Expression::of_column(table, column, database).ok();
            if let Some((place, expression)) = place.zip(expression)
                && let Some(at) = self.expression(&expression)
            {
                self.persisted.push((place as u16, at));
            }
        }
    }

    /// The column that is hashed at a place; `None` for an expression.
    pub(super) fn hashed_column(&self, place: u16) -> Option<&ColumnPlan> {
        let Hashed::Column(column) = self.hashed.get(usize::from(place))? else { return None };
        self.columns.get(usize::from(*column))
    }

    /// Has a column hashed.
    fn hash_column(&mut self, is_wanted: impl Fn(&ColumnPlan) -> bool) -> Option<HashInput> {
        let place = self.columns.iter().position(is_wanted)?;
        Some(self.hash(Hashed::Column(place as u16)))
    }

    fn hash(&mut self, what: Hashed) -> HashInput {
        let known = self.hashed.iter().position(|hashed| *hashed == what);
        let at = known.unwrap_or_else(|| {
            self.hashed.push(what);
            self.hashed.len() - 1
        });
        HashInput::Hashed(at as u16)
    }
}

/// What a row of the table contributes to an index.
fn base_inputs(
    plan: &mut RowPlan,
    layout: &RowLayout,
    comparison: &IndexComparison,
    key: &HashKey,
) -> Option<Vec<(HashInput, u64)>> {
    let uniquifier =
        layout.columns.iter().find(|column| column.is_uniquifier()).map(|column| column.column_id);
    let mut inputs = Vec::with_capacity(comparison.origins.len());
    for (position, (ordinal, origin)) in comparison.origins.iter().enumerate() {
        if comparison.long_columns.contains(ordinal) {
            continue;
        }
        let expression = |id: i32| comparison.computed.iter().find(|(computed, _)| *computed == id);
        let input = match origin {
            Origin::Rid => HashInput::Rid,
            Origin::Column(id) => match expression(*id) {
                Some((_, expression)) => {
                    let at = plan.expression(expression)?;
                    plan.hash(Hashed::Computed(at))
                }
                None => plan.hash_column(|column| column.id == *id)?,
            },
            Origin::Uniquifier => {
                let id = uniquifier?;
                plan.hash_column(|column| column.id == id)?
            }
        };
        inputs.push((input, key.multiplier(position)));
    }
    Some(inputs)
}

/// What an entry of an index contributes to it.
fn entry_inputs(
    plan: &mut RowPlan,
    comparison: &IndexComparison,
    key: &HashKey,
) -> Option<Vec<(HashInput, u64)>> {
    let mut inputs = Vec::with_capacity(comparison.origins.len());
    for (position, (ordinal, _)) in comparison.origins.iter().enumerate() {
        if !comparison.long_columns.contains(ordinal) {
            let input = plan.hash_column(|column| column.id == *ordinal)?;
            inputs.push((input, key.multiplier(position)));
        }
    }
    Some(inputs)
}
