//! Joins: by hash, or by a loop with or without an index.

use extentdb_bind::logical::{Column, Computed, JoinKind, Limit, Relation, ValueId};
use extentdb_bind::table::BoundTable;
use extentdb_expr::{Parameter, Scalar, ScalarTest};
use extentdb_types::SqlType;

use crate::access;
use crate::error::Result;
use crate::estimate;
use crate::lower::{Planner, needed_of, node, position};
use crate::physical::{HashJoin, LoopJoin, Node, Operator};
use crate::push_down;
use crate::uses::{self, Values};

/// A row by an index costs this much, in rows of a scan: a scan copies columns of whole pages, and
/// the inner side of a loop is opened for each row of the outer one (TPC-H 9 and 10 at scale 0.01).
const SEEK: f64 = 200.0;
/// A row of the side of a hash join that is read into memory.
const HASH_BUILD: f64 = 1.0;
/// A comparison of a row that is read (TPC-H 19).
const COMPARISON: f64 = 0.3;

/// Values that must be equal, of the left and the right input.
struct KeyPair {
    left: Scalar,
    right: Scalar,
}

impl Planner<'_> {
    pub(crate) fn join(
        &mut self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        conditions: &[Scalar],
        needed: &Values,
    ) -> Result<Node> {
        let is_existence = matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_));
        if is_existence && conditions.is_empty() && !matches!(right, Relation::Limit { .. }) {
            // One row says as much as all of them.
            let one = Limit {
                skip: None,
                count: Some(Scalar::integer(1)),
                is_percent: false,
                ties: None,
            };
            let (input, limit) = (Box::new(right.clone()), Box::new(one));
            return self.join(kind, left, &Relation::Limit { input, limit }, conditions, needed);
        }
        let of_left = uses::given(left);
        let used: Values = uses::outer(right).intersection(&of_left).copied().collect();
        if !used.is_empty() {
            return self.loop_join(kind, left, right, conditions, needed, &used);
        }
        let (keys, rest) = self.keys(left, right, conditions)?;
        if keys.is_empty() {
            return self.loop_join(kind, left, right, conditions, needed, &used);
        }
        if let Some(seek) = self.by_index(kind, left, right, conditions, needed)? {
            let used: Values = uses::outer(&seek).intersection(&of_left).copied().collect();
            return self.loop_join(kind, left, &seek, &[], needed, &used);
        }
        if kind == JoinKind::Inner {
            let size = |relation| estimate::rows(relation, self.environment);
            if let (Some(seek), true) =
                (self.by_index(kind, right, left, conditions, needed)?, size(right) < size(left))
            {
                let of_right = uses::given(right);
                let used = uses::outer(&seek).intersection(&of_right).copied().collect();
                return self.loop_join(kind, right, &seek, &[], needed, &used);
            }
            if size(left) < size(right) {
                let keys = keys
                    .into_iter()
                    .map(|key| KeyPair { left: key.right, right: key.left })
                    .collect();
                return self.hash_join(kind, (right, left), keys, &rest, needed);
            }
        }
        self.hash_join(kind, (left, right), keys, &rest, needed)
    }

    /// Conditions that are equalities between the inputs, and the others.
    fn keys(
        &self,
        left: &Relation,
        right: &Relation,
        conditions: &[Scalar],
    ) -> Result<(Vec<KeyPair>, Vec<Scalar>)> {
        let (of_left, of_right) = (uses::given(left), uses::given(right));
        let is_of = |value: &Scalar, own: &Values, other: &Values| {
            value.places().any(|id| own.contains(&id))
                && !value.places().any(|id| other.contains(&id))
        };
        let mut keys = Vec::new();
        let mut rest = Vec::new();
        for condition in conditions {
            let pair = match condition.as_comparison(self.environment)? {
                Some((ScalarTest::Equal, a, b))
                    if is_of(&a, &of_left, &of_right) && is_of(&b, &of_right, &of_left) =>
                {
                    self.same_type(a, b)?
                }
                Some((ScalarTest::Equal, a, b))
                    if is_of(&b, &of_left, &of_right) && is_of(&a, &of_right, &of_left) =>
                {
                    self.same_type(b, a)?
                }
                _ => None,
            };
            match pair {
                Some(pair) => keys.push(pair),
                None => rest.push(condition.clone()),
            }
        }
        Ok((keys, rest))
    }

    /// The values as ones of the type in which they are compared.
    fn same_type(&self, left: Scalar, right: Scalar) -> Result<Option<KeyPair>> {
        if left.ty() == right.ty() {
            return Ok(Some(KeyPair { left, right }));
        }
        let pair = [left.clone(), right.clone()];
        let Ok(common) = Scalar::common_type(&pair, self.environment) else { return Ok(None) };
        // Trailing blanks do not count, whatever the type of fixed length.
        let common = match common {
            SqlType::Char { len, collation } => SqlType::VarChar { len: Some(len), collation },
            SqlType::NChar { len, collation } => SqlType::NVarChar { len: Some(len), collation },
            other => other,
        };
        let left = left.assigned(common, self.environment)?;
        let right = right.assigned(common, self.environment)?;
        Ok(Some(KeyPair { left, right }))
    }

    /// The right input with the conditions in it, where an index leads to its rows and the left
    /// input has few.
    fn by_index(
        &mut self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        conditions: &[Scalar],
        needed: &Values,
    ) -> Result<Option<Relation>> {
        let is_possible = matches!(
            kind,
            JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Single
        );
        let seek = match lone_table(right).filter(|_| is_possible) {
            Some((table, own)) => {
                let mut all = own.to_vec();
                all.extend_from_slice(conditions);
                Relation::Table(Box::new(table.clone())).filtered(all)
            }
            None if is_possible && grouped_table(right).is_some() => {
                push_down::push(right.clone(), conditions.to_vec(), self.environment)?
            }
            None => return Ok(None),
        };
        let Some((table, all)) = lone_table(&seek).or_else(|| grouped_table(&seek)) else {
            return Ok(None);
        };
        let restrictions = access::restrictions(table, all, self.environment)?;
        let mut read = uses::of_all(&seek);
        read.extend(needed);
        let path = access::best(table, &restrictions, &|id| {
            table.columns.iter().any(|it| it.column_id == id && read.contains(&it.column.id))
        });
        let of_left = uses::given(left);
        let joins =
            path.equal.iter().any(|it| it.value.places().any(|place| of_left.contains(&place)));
        if !joins || !path.is_restricted() {
            return Ok(None);
        }
        let outer = estimate::rows(left, self.environment);
        let own = all.iter().filter(|it| !it.places().any(|place| of_left.contains(&place)));
        let compared: usize = own.map(Scalar::comparisons).sum();
        let by_hash = estimate::table_rows(table) * (1.0 + COMPARISON * compared as f64)
            + HASH_BUILD * estimate::rows(right, self.environment);
        Ok((outer * (SEEK + path.cost) <= by_hash).then_some(seek))
    }

    fn loop_join(
        &mut self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        conditions: &[Scalar],
        needed: &Values,
        used: &Values,
    ) -> Result<Node> {
        let mut below = needed.clone();
        below.extend(conditions.iter().flat_map(Scalar::places));
        let mut of_left = needed_of(left, &below);
        of_left.extend(used);
        let rows = self.join_rows(kind, left, right, conditions);
        let left = self.lower(left, &of_left)?;
        let right = self.lower(right, &needed_of(right, &below))?;
        let mut all = left.columns.clone();
        all.extend(right.columns.iter().cloned());
        let condition = self.all_of(conditions)?;
        let condition = condition.map(|it| self.expression(&it, &all)).transpose()?;
        let mut bindings: Vec<(ValueId, usize)> =
            used.iter().map(|id| (*id, position(&left.columns, *id))).collect();
        bindings.sort_unstable();
        let columns = columns(kind, &left, &right);
        let join = LoopJoin { kind, left, right, bindings, condition };
        Ok(node(Operator::LoopJoin(Box::new(join)), columns, rows))
    }

    fn hash_join(
        &mut self,
        kind: JoinKind,
        (left, right): (&Relation, &Relation),
        keys: Vec<KeyPair>,
        rest: &[Scalar],
        needed: &Values,
    ) -> Result<Node> {
        let mut conditions = rest.to_vec();
        for key in &keys {
            let equal =
                Scalar::compared(ScalarTest::Equal, &key.left, &key.right, self.environment)?;
            conditions.push(equal);
        }
        let rows = self.join_rows(kind, left, right, &conditions);
        let (left_keys, right_keys): (Vec<Scalar>, Vec<Scalar>) =
            keys.into_iter().map(|key| (key.left, key.right)).unzip();
        let mut below = needed.clone();
        below.extend(rest.iter().flat_map(Scalar::places));
        let (left, left_ids) = self.keyed(left, left_keys, &below)?;
        let (right, right_ids) = self.keyed(right, right_keys, &below)?;
        let keys = left_ids
            .iter()
            .zip(&right_ids)
            .map(|(a, b)| (position(&left.columns, *a), position(&right.columns, *b)))
            .collect();
        let mut all = left.columns.clone();
        all.extend(right.columns.iter().cloned());
        let condition = self.all_of(rest)?;
        let condition = condition.map(|it| self.expression(&it, &all)).transpose()?;
        let columns = columns(kind, &left, &right);
        let join = HashJoin { kind, left, right, keys, condition };
        Ok(node(Operator::HashJoin(Box::new(join)), columns, rows))
    }

    /// An input of a hash join with its keys among the values that it gives.
    fn keyed(
        &mut self,
        relation: &Relation,
        keys: Vec<Scalar>,
        needed: &Values,
    ) -> Result<(Node, Vec<ValueId>)> {
        let mut computed = Vec::new();
        let mut ids = Vec::new();
        for key in keys {
            match key.as_parameter() {
                Some(Parameter { place, .. }) => ids.push(place),
                None => {
                    let id = self.numbers.next();
                    computed.push(Computed { id, value: key });
                    ids.push(id);
                }
            }
        }
        let mut own = needed_of(relation, needed);
        own.extend(&ids);
        if computed.is_empty() {
            return Ok((self.lower(relation, &own)?, ids));
        }
        let relation = relation.clone().computing(computed);
        Ok((self.lower(&relation, &own)?, ids))
    }

    fn join_rows(
        &self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        conditions: &[Scalar],
    ) -> f64 {
        let joined = Relation::Join {
            kind,
            left: Box::new(left.clone()),
            right: Box::new(right.clone()),
            conditions: conditions.to_vec(),
        };
        estimate::rows(&joined, self.environment)
    }
}

/// A table alone, with its conditions.
fn lone_table(relation: &Relation) -> Option<(&BoundTable, &[Scalar])> {
    match relation {
        Relation::Table(table) => Some((table, &[])),
        Relation::Filter { input, conditions } => match &**input {
            Relation::Table(table) => Some((table, conditions)),
            _ => None,
        },
        _ => None,
    }
}

/// The table whose rows are grouped by some values, with the conditions upon them.
fn grouped_table(relation: &Relation) -> Option<(&BoundTable, &[Scalar])> {
    match relation {
        Relation::Filter { input, .. } | Relation::Compute { input, .. } => grouped_table(input),
        Relation::Aggregate { input, keys, sets: None, .. } if !keys.is_empty() => {
            let mut input = &**input;
            while let Relation::Compute { input: below, .. } = input {
                input = below;
            }
            lone_table(input)
        }
        _ => None,
    }
}

/// The columns of a join.
fn columns(kind: JoinKind, left: &Node, right: &Node) -> Vec<Column> {
    let nullable = |column: &Column| Column { is_nullable: true, ..column.clone() };
    let mut all: Vec<Column> = match kind {
        JoinKind::Full => left.columns.iter().map(nullable).collect(),
        _ => left.columns.clone(),
    };
    match kind {
        JoinKind::Semi | JoinKind::Anti => {}
        JoinKind::Mark(id) => all.push(Column { id, ty: SqlType::Bit, is_nullable: true }),
        JoinKind::Inner => all.extend(right.columns.iter().cloned()),
        JoinKind::Left | JoinKind::Full | JoinKind::Single => {
            all.extend(right.columns.iter().map(nullable));
        }
    }
    all
}
