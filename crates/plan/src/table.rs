//! Plans that read tables.

use extentdb_base::sync::Arc;
use extentdb_bind::logical::{Column, OrderKey, Relation};
use extentdb_bind::table::BoundTable;
use extentdb_engine::CompareOp;
use extentdb_engine::model::{IndexKind, ObjectBody};
use extentdb_expr::{Scalar, ScalarTest};
use extentdb_types::SqlType;

use crate::access::{self, Path, Restriction};
use crate::error::Result;
use crate::estimate;
use crate::lower::{Planner, node};
use crate::parallel::{self, PARALLEL_ROWS};
use crate::physical::{Access, Comparison, Expression, IndexRange, Node, Operator, Scan};
use crate::uses::Values;

impl Planner<'_> {
    /// The rows of a table that satisfy conditions.
    pub(crate) fn table(
        &mut self,
        table: &BoundTable,
        conditions: &[Scalar],
        needed: &Values,
    ) -> Result<Node> {
        let restrictions = access::restrictions(table, conditions, self.environment)?;
        let used: Values = conditions.iter().flat_map(Scalar::places).collect();
        let path = access::best(table, &restrictions, &|id| {
            table.columns.iter().any(|it| {
                it.column_id == id
                    && (needed.contains(&it.column.id) || used.contains(&it.column.id))
            })
        });
        self.read(table, conditions, needed, &restrictions, path, false)
    }

    /// The same by a given path.
    pub(crate) fn read(
        &mut self,
        table: &BoundTable,
        conditions: &[Scalar],
        needed: &Values,
        restrictions: &[Restriction],
        path: Path,
        is_backward: bool,
    ) -> Result<Node> {
        let mut answered: Vec<usize> = Vec::new();
        for used in path.used().filter(|it| it.is_exact) {
            answered.push(used.condition);
        }
        let comparisons = self.comparisons(table, restrictions, &mut answered)?;
        let left: Vec<Scalar> = conditions
            .iter()
            .enumerate()
            .filter(|(number, _)| !answered.contains(number))
            .map(|(_, condition)| condition.clone())
            .collect();
        let mut wanted = needed.clone();
        wanted.extend(left.iter().flat_map(Scalar::places));
        let kept = table.columns.iter().filter(|it| wanted.contains(&it.column.id));
        let mut columns: Vec<Column> = kept.clone().map(|it| it.column.clone()).collect();
        let ordinals = kept.map(|it| it.ordinal).collect();
        if let Some(id) = table.locator {
            let ty = SqlType::VarBinary { len: None };
            columns.push(Column { id, ty, is_nullable: false });
        }
        let access = match &path.index {
            Some(index) => {
                Access::Range(Box::new(self.range(index.clone(), &path, is_backward)?))
            }
            None => Access::Whole,
        };
        let scan = Scan {
            table: table.clone(),
            ordinals,
            has_locator: table.locator.is_some(),
            access,
            comparisons,
            read_rows: path.rows,
            is_parallel: path.rows >= PARALLEL_ROWS
                && table.locator.is_none()
                && table.sample.is_none(),
        };
        // A range may answer a part of the conditions: all of them leave no more than it reads.
        let relation = Relation::Table(Box::new(table.clone()));
        let all = estimate::table_rows(table);
        let found = all * estimate::shares(conditions, &relation, self.environment);
        let rows = found.min(path.rows).max(1.0);
        let given = if left.is_empty() { rows } else { path.rows };
        let scanned = node(Operator::Scan(Arc::new(scan)), columns, given);
        self.filtered(scanned, &left, rows)
    }

    /// Comparisons that the scan makes on its own, before rows are copied.
    fn comparisons(
        &mut self,
        table: &BoundTable,
        restrictions: &[Restriction],
        answered: &mut Vec<usize>,
    ) -> Result<Vec<Comparison>> {
        let mut comparisons = Vec::new();
        for restriction in restrictions {
            let Some(column) = table.columns.iter().find(|it| it.column.id == restriction.column)
            else {
                continue;
            };
            let is_done = answered.contains(&restriction.condition);
            if is_done
                || restriction.is_null
                || !restriction.is_exact
                || !is_compared(&column.column.ty)
                || !is_in_rows(table, column.column_id)
            {
                continue;
            }
            answered.push(restriction.condition);
            comparisons.push(Comparison {
                ordinal: column.ordinal,
                op: compare_op(restriction.test),
                value: self.expression(&restriction.value, &[])?,
            });
        }
        Ok(comparisons)
    }

    fn range(&mut self, index: String, path: &Path, is_backward: bool) -> Result<IndexRange> {
        let mut equal = Vec::new();
        let mut nulls_match = Vec::new();
        for restriction in &path.equal {
            equal.push(self.expression(&restriction.value, &[])?);
            nulls_match.push(restriction.is_null);
        }
        let bound =
            |planner: &Self, it: &Option<Restriction>| -> Result<Option<(Expression, bool)>> {
                let Some(it) = it else { return Ok(None) };
                let is_included = !it.is_exact
                    || matches!(it.test, ScalarTest::LessOrEqual | ScalarTest::GreaterOrEqual);
                Ok(Some((planner.expression(&it.value, &[])?, is_included)))
            };
        Ok(IndexRange {
            index,
            equal,
            from: bound(self, &path.from)?,
            to: bound(self, &path.to)?,
            nulls_match,
            is_descending: path.is_descending,
            is_backward,
        })
    }

    /// A table that is read in the order that is asked for, by an index; `None` where there is
    /// none, or a sort is cheaper.
    pub(crate) fn ordered_table(
        &mut self,
        input: &Relation,
        order: &[OrderKey],
        needed: &Values,
    ) -> Result<Option<Node>> {
        let (table, conditions): (&BoundTable, &[Scalar]) = match input {
            Relation::Table(table) => (table, &[]),
            Relation::Filter { input, conditions } => match &**input {
                Relation::Table(table) => (table, conditions),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let restrictions = access::restrictions(table, conditions, self.environment)?;
        let path = access::best(table, &restrictions, &|id| {
            table.columns.iter().any(|it| it.column_id == id && needed.contains(&it.column.id))
        });
        let index = match &path.index {
            Some(index) => Some(index.clone()),
            None => clustered_name(table),
        };
        let Some(index) = index else { return Ok(None) };
        let Some(is_backward) = gives_order(table, &index, &path, order) else { return Ok(None) };
        let path = Path { index: Some(index), ..path };
        let mut ordered = self.read(table, conditions, needed, &restrictions, path, is_backward)?;
        parallel::forbid(&mut ordered);
        Ok(Some(ordered))
    }
}

fn clustered_name(table: &BoundTable) -> Option<String> {
    let ObjectBody::Table(model) = &table.object.body else { return None };
    let clustered = model.indexes.iter().find(|index| index.kind == IndexKind::Clustered)?;
    clustered.name.clone()
}

/// Does an index give an order, after the columns that have one value each? Forwards (false) or
/// backwards (true).
fn gives_order(table: &BoundTable, index: &str, path: &Path, order: &[OrderKey]) -> Option<bool> {
    let ObjectBody::Table(model) = &table.object.body else { return None };
    let own = model.indexes.iter().find(|it| it.name.as_deref() == Some(index))?;
    let mut keys: Vec<_> = own.columns.iter().filter(|it| it.key_ordinal > 0).collect();
    keys.sort_by_key(|it| it.key_ordinal);
    let is_fixed = |id: usize| path.equal.iter().any(|it| it.column == id);
    let mut keys = keys.iter().filter(|key| {
        let column = table.columns.iter().find(|it| it.column_id == key.column_id);
        column.is_some_and(|column| !is_fixed(column.column.id))
    });
    let mut direction: Option<bool> = None;
    for wanted in order.iter().filter(|key| !is_fixed(key.id)) {
        let key = keys.next()?;
        let column = table.columns.iter().find(|it| it.column_id == key.column_id)?;
        let is_backward = wanted.is_descending != key.descending;
        if column.column.id != wanted.id || direction.is_some_and(|own| own != is_backward) {
            return None;
        }
        direction = Some(is_backward);
    }
    Some(direction.unwrap_or(false))
}

/// Do the rows of a table have a column? A computed one may be made from others when it is read.
fn is_in_rows(table: &BoundTable, column_id: i32) -> bool {
    let ObjectBody::Table(model) = &table.object.body else { return true };
    let mut columns = model.columns.iter();
    columns.any(|it| it.id == column_id && (it.computed.is_none() || it.persisted))
}

/// Does a scan compare columns of this type on its own?
fn is_compared(ty: &SqlType) -> bool {
    ty.is_bit() || extentdb_types::native::NativeForm::of(ty).is_some()
}

fn compare_op(test: ScalarTest) -> CompareOp {
    match test {
        ScalarTest::Equal => CompareOp::Equal,
        ScalarTest::NotEqual => CompareOp::NotEqual,
        ScalarTest::Less => CompareOp::Less,
        ScalarTest::LessOrEqual => CompareOp::LessOrEqual,
        ScalarTest::Greater => CompareOp::Greater,
        ScalarTest::GreaterOrEqual => CompareOp::GreaterOrEqual,
    }
}
