//! Access paths: which index a table is read by.
//!
//! Each index is matched against the conditions: values for its first columns, then a range of the
//! next one. A condition whose value is exactly one of the column's type is answered by the range;
//! every other one is looked at again, so that a range may be wider than its condition.

use extentdb_bind::logical::ValueId;
use extentdb_bind::table::{BoundTable, TableColumn};
use extentdb_engine::model::{Index, IndexKind, ObjectBody};
use extentdb_expr::{CompileError, Environment, Scalar, ScalarTest};
use extentdb_types::{Datum, SqlType};

use crate::estimate;
use crate::selectivity;

/// A condition on a column of the table: `column test value`, the value from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Restriction {
    /// Number of the condition.
    pub(crate) condition: usize,
    pub(crate) column: ValueId,
    pub(crate) test: ScalarTest,
    /// Of the column's type; NULL: no row.
    pub(crate) value: Scalar,
    /// Does a range of this value answer the condition?
    pub(crate) is_exact: bool,
    /// `column IS NULL`
    pub(crate) is_null: bool,
    /// The value, when it is known already and something is known of the column.
    pub(crate) constant: Option<Datum<'static>>,
}

/// How a table is read.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// The index; `None`: all of the table.
    pub(crate) index: Option<String>,
    pub(crate) equal: Vec<Restriction>,
    pub(crate) from: Option<Restriction>,
    pub(crate) to: Option<Restriction>,
    /// Is the column of the bounds a descending one of the index?
    pub(crate) is_descending: bool,
    /// Rows that are read.
    pub(crate) rows: f64,
    /// What reading costs, in rows of a scan.
    pub(crate) cost: f64,
}

/// Cost of a descent of a tree, in rows of a scan.
const DESCENT: f64 = 12.0;
/// Cost of a row that an entry of an index leads to, and how much more with each doubling of a
/// table that has more than so many rows: the pages of the descent are no longer in the caches of a
/// processor (TPC-H 11 and 9 at scale 0.1: 25 rows of a scan each of 80,000, 100 each of 600,000).
const LOOK_UP: f64 = 12.0;
const LOOK_UP_FARTHER: f64 = 8.0;
const NEAR_ROWS: f64 = 5000.0;

/// Share of rows with one value of a column of an index, and past a bound, where nothing is known.
const EQUAL_SHARE: f64 = 0.02;
const RANGE_SHARE: f64 = 0.3;

/// Rows of a scan at least, of the table or of an index. However few there are, a key is sought
/// where it is given: a scan would lock the rows of other sessions, and wait for them.
const LEAST_SCAN: f64 = 50.0;

/// The conditions that restrict a column of the table.
pub(crate) fn restrictions(
    table: &BoundTable,
    conditions: &[Scalar],
    environment: &Environment,
) -> Result<Vec<Restriction>, CompileError> {
    let mut found = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        if let Some(value) = condition.as_is_null(environment)? {
            if let Some(column) = column_of(table, &value) {
                found.push(Restriction {
                    condition: number,
                    column: column.column.id,
                    test: ScalarTest::Equal,
                    value: Scalar::null(column.column.ty),
                    is_exact: true,
                    is_null: true,
                    constant: None,
                });
            }
            continue;
        }
        let Some((test, left, right)) = condition.as_comparison(environment)? else { continue };
        for (own, test, value) in [(&left, test, &right), (&right, test.mirrored(), &left)] {
            if let Some(column) = column_of(table, own)
                && !uses_table(table, value)
                && let Some((value, is_exact)) = fitted(column, test, value, environment)?
            {
                let statistics = table.statistics(column.ordinal);
                found.push(Restriction {
                    condition: number,
                    column: column.column.id,
                    test,
                    constant: statistics.and_then(|_| selectivity::constant(&value, environment)),
                    value,
                    is_exact,
                    is_null: false,
                });
            }
        }
    }
    Ok(found)
}

fn column_of<'t>(table: &'t BoundTable, value: &Scalar) -> Option<&'t TableColumn> {
    let parameter = value.as_parameter()?;
    table.columns.iter().find(|it| it.column.id == parameter.place)
}

fn uses_table(table: &BoundTable, value: &Scalar) -> bool {
    value.places().any(|id| table.columns.iter().any(|it| it.column.id == id))
}

/// The value as one of the column's type, and whether it compares with the column as the original
/// does; `None` where no range follows from it.
fn fitted(
    column: &TableColumn,
    test: ScalarTest,
    value: &Scalar,
    environment: &Environment,
) -> Result<Option<(Scalar, bool)>, CompileError> {
    let ty = column.column.ty;
    if matches!(test, ScalarTest::NotEqual) || value.is_null_literal() {
        return Ok(None);
    }
    if value.ty() == ty {
        return Ok(Some((value.clone(), true)));
    }
    if is_exact(&ty, value) {
        return Ok(Some((value.assigned(ty, environment)?, true)));
    }
    let is_text = ty.collation().is_some() && value.ty().collation() == ty.collation();
    if is_text && is_wide(&ty) == is_wide(&value.ty()) {
        // A longer text is cut: the range is wider than the condition.
        return Ok(Some((value.assigned(ty, environment)?, false)));
    }
    if is_text && is_wide(&ty) {
        return Ok(Some((value.assigned(ty, environment)?, false)));
    }
    let is_number = |ty: &SqlType| {
        matches!(
            ty,
            SqlType::TinyInt
                | SqlType::SmallInt
                | SqlType::Int
                | SqlType::BigInt
                | SqlType::Decimal { .. }
                | SqlType::Numeric { .. }
                | SqlType::Money
                | SqlType::SmallMoney
        )
    };
    if test == ScalarTest::Equal && is_number(&ty) && is_number(&value.ty()) {
        // What does not fit the column is no value of it.
        return Ok(Some((value.tried(ty, environment)?, false)));
    }
    Ok(None)
}

/// Is the value converted to the column's type by the comparison itself, or without change?
fn is_exact(ty: &SqlType, value: &Scalar) -> bool {
    let from = value.ty();
    let rank = |ty: &SqlType| match ty {
        SqlType::TinyInt => Some(1),
        SqlType::SmallInt => Some(2),
        SqlType::Int => Some(3),
        SqlType::BigInt => Some(4),
        _ => None,
    };
    if let (Some(own), Some(given)) = (rank(ty), rank(&from)) {
        return given <= own || value.literal_integer().is_some_and(|it| fits(ty, it));
    }
    let is_clock = |ty: &SqlType| {
        matches!(
            ty,
            SqlType::Date
                | SqlType::DateTime
                | SqlType::SmallDateTime
                | SqlType::Time { .. }
                | SqlType::DateTime2 { .. }
                | SqlType::UniqueIdentifier
        )
    };
    let is_literal_text = from.collation().is_some();
    match ty {
        // Texts become the type that they are compared with.
        _ if is_literal_text => is_clock(ty) || rank(ty).is_some() || matches!(ty, SqlType::Float),
        SqlType::DateTime => matches!(from, SqlType::SmallDateTime | SqlType::Date),
        SqlType::DateTime2 { .. } => from == SqlType::Date,
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => match from
        {
            SqlType::Decimal { precision: p, scale: s }
            | SqlType::Numeric { precision: p, scale: s } => {
                s <= *scale && p - s <= precision - scale
            }
            SqlType::TinyInt => precision - scale >= 3,
            SqlType::SmallInt => precision - scale >= 5,
            SqlType::Int => {
                precision - scale >= 10
                    || value.literal_integer().is_some_and(|it| {
                        it.unsigned_abs().to_string().len() <= usize::from(precision - scale)
                    })
            }
            SqlType::BigInt => precision - scale >= 19,
            _ => false,
        },
        SqlType::Float => rank(&from).is_some_and(|rank| rank <= 3) || from == SqlType::Real,
        SqlType::Money => rank(&from).is_some_and(|rank| rank <= 3) || from == SqlType::SmallMoney,
        SqlType::Bit => value.literal_integer().is_some_and(|it| it == 0 || it == 1),
        _ => false,
    }
}

fn fits(ty: &SqlType, value: i64) -> bool {
    match ty {
        SqlType::TinyInt => u8::try_from(value).is_ok(),
        SqlType::SmallInt => i16::try_from(value).is_ok(),
        SqlType::Int => i32::try_from(value).is_ok(),
        _ => true,
    }
}

fn is_wide(ty: &SqlType) -> bool {
    matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. })
}

/// The cheapest path to the rows that satisfy the restrictions.
pub(crate) fn best(
    table: &BoundTable,
    restrictions: &[Restriction],
    needed: &dyn Fn(i32) -> bool,
) -> Path {
    let all = estimate::table_rows(table);
    let whole = Path {
        index: None,
        equal: Vec::new(),
        from: None,
        to: None,
        is_descending: false,
        rows: all,
        cost: all.max(LEAST_SCAN),
    };
    let ObjectBody::Table(model) = &table.object.body else { return whole };
    let mut best = whole;
    for index in &model.indexes {
        let Some(path) = matched(table, index, restrictions, needed) else { continue };
        let is_forced = table
            .forced_index
            .as_ref()
            .zip(index.name.as_ref())
            .is_some_and(|(forced, own)| forced.eq_ignore_ascii_case(own));
        if is_forced {
            return path;
        }
        if path.cost < best.cost {
            best = path;
        }
    }
    best
}

fn matched(
    table: &BoundTable,
    index: &Index,
    restrictions: &[Restriction],
    needed: &dyn Fn(i32) -> bool,
) -> Option<Path> {
    let name = index.name.clone()?;
    let is_usable = !index.disabled
        && index.filter.is_none()
        && matches!(index.kind, IndexKind::Clustered | IndexKind::Nonclustered)
        && table.table.has_index(&name);
    if !is_usable {
        return None;
    }
    let mut keys: Vec<_> = index.columns.iter().filter(|it| it.key_ordinal > 0).collect();
    keys.sort_by_key(|it| it.key_ordinal);
    let mut equal = Vec::new();
    let mut from = None;
    let mut to = None;
    let mut is_descending = false;
    let mut shares = Vec::new();
    let mut guess = 1.0;
    for key in &keys {
        let column = table.columns.iter().find(|it| it.column_id == key.column_id)?;
        let own = || restrictions.iter().filter(|it| it.column == column.column.id);
        if let Some(found) = own().find(|it| it.test == ScalarTest::Equal) {
            equal.push(found.clone());
            shares.push(selectivity::of_restriction(found, table).unwrap_or(EQUAL_SHARE));
            continue;
        }
        let lower =
            own().find(|it| matches!(it.test, ScalarTest::Greater | ScalarTest::GreaterOrEqual));
        let upper = own().find(|it| matches!(it.test, ScalarTest::Less | ScalarTest::LessOrEqual));
        (from, to) = if key.descending {
            (upper.cloned(), lower.cloned())
        } else {
            (lower.cloned(), upper.cloned())
        };
        is_descending = key.descending;
        let bounds: Vec<&Restriction> = from.iter().chain(&to).collect();
        match selectivity::of_range(&bounds, table) {
            Some(share) => shares.push(share),
            None => bounds.iter().for_each(|_| guess *= RANGE_SHARE),
        }
        break;
    }
    let share = guess * selectivity::damped(shares);
    let all = estimate::table_rows(table);
    let is_restricted = !equal.is_empty() || from.is_some() || to.is_some();
    let of_all = selectivity::of_values(table, &equal).filter(|_| from.is_none() && to.is_none());
    let share = of_all.map_or(share, |known| share.max(known));
    let rows = if index.unique && equal.len() == keys.len() && !keys.is_empty() {
        1.0
    } else {
        (all * share).max(1.0)
    };
    let is_clustered = index.kind == IndexKind::Clustered;
    let covers = is_clustered
        || table.columns.iter().filter(|it| needed(it.column_id)).all(|it| {
            index.columns.iter().any(|own| own.column_id == it.column_id)
                || is_clustering_key(table, it.column_id)
        });
    let width = if is_clustered { 1.0 } else { 0.5 };
    let per_row = if covers { width } else { look_up(all) };
    let cost = match is_restricted {
        true => rows * per_row + DESCENT,
        false => per_row * rows.max(LEAST_SCAN),
    };
    Some(Path {
        index: Some(name),
        equal,
        from,
        to,
        is_descending,
        rows,
        cost,
    })
}

/// Cost of a row of a table with so many that an entry of an index leads to.
fn look_up(rows: f64) -> f64 {
    LOOK_UP + LOOK_UP_FARTHER * (rows / NEAR_ROWS).max(1.0).log2()
}

/// Is it in every index, as part of the locator?
fn is_clustering_key(table: &BoundTable, column_id: i32) -> bool {
    let ObjectBody::Table(model) = &table.object.body else { return false };
    model.indexes.iter().any(|index| {
        index.kind == IndexKind::Clustered
            && index.columns.iter().any(|it| it.column_id == column_id && it.key_ordinal > 0)
    })
}

impl Path {
    /// The restrictions that it uses.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Restriction> {
        self.equal.iter().chain(&self.from).chain(&self.to)
    }

    /// Does it read a part of the table only?
    pub(crate) fn is_restricted(&self) -> bool {
        self.used().next().is_some()
    }
}
