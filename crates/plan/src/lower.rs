//! From logical to physical plans.

use extentdb_base::sync::Arc;
use extentdb_bind::logical::{
    AggregateCall as LogicalCall, Column, Computed, Limit, OrderKey, Relation, RowsSource, ValueId,
    WindowCall as LogicalWindowCall,
};
use extentdb_bind::provider::{RequestedColumn, RowProvider};
use extentdb_expr::{Environment, Scalar};

use crate::error::Result;
use crate::estimate;
use crate::parallel;
use crate::physical::{
    AggregateCall, Expression, Grouping, Input, Node, Operator, ProvidedRows, SortKey, TopRows,
    Window, WindowCall,
};
use crate::uses::{self, Values};

/// Makes physical plans.
pub(crate) struct Planner<'e> {
    pub(crate) environment: &'e Environment,
    /// Numbers for values that planning makes.
    pub(crate) numbers: crate::decorrelate::Numbers,
}

impl Planner<'_> {
    /// The plan of a relation that gives at least these values.
    pub(crate) fn lower(&mut self, relation: &Relation, needed: &Values) -> Result<Node> {
        let rows = estimate::rows(relation, self.environment);
        match relation {
            Relation::Row => Ok(node(Operator::Row, Vec::new(), 1.0)),
            Relation::Values { columns, rows: values } => {
                let values: Result<Vec<Vec<Expression>>> = values
                    .iter()
                    .map(|row| row.iter().map(|value| self.expression(value, &[])).collect())
                    .collect();
                Ok(node(Operator::Values(values?), columns.clone(), rows))
            }
            Relation::Table(table) => self.table(table, &[], needed),
            Relation::Filter { input, conditions } => match &**input {
                Relation::Table(table) => self.table(table, conditions, needed),
                _ => self.filter(input, conditions, needed, rows),
            },
            Relation::Function(function) => {
                let arguments = match &function.source {
                    RowsSource::Provider(provider) => {
                        return Ok(provided(provider, &function.columns, needed, rows));
                    }
                    RowsSource::StringSplit(arguments)
                    | RowsSource::Called { arguments, .. }
                    | RowsSource::User { arguments, .. }
                    | RowsSource::GenerateSeries(arguments)
                    | RowsSource::XmlNodes { arguments, .. }
                    | RowsSource::OpenJson { arguments, .. } => arguments,
                };
                let values: Result<Vec<Expression>> =
                    arguments.iter().map(|it| self.expression(it, &[])).collect();
                let operator = Operator::Function(function.source.clone(), values?);
                Ok(node(operator, function.columns.clone(), rows))
            }
            Relation::Compute { input, values } => self.compute(input, values, needed),
            Relation::Call { input, call } => {
                let mut below = needed.clone();
                below.remove(&call.column.id);
                below.extend(call.arguments.iter().flat_map(Scalar::places));
                let input = self.lower(input, &below)?;
                let arguments: Result<Vec<Expression>> =
                    call.arguments.iter().map(|it| self.expression(it, &input.columns)).collect();
                let mut columns = input.columns.clone();
                columns.push(call.column.clone());
                let operator = Operator::Call {
                    input: Box::new(input),
                    function: call.function,
                    arguments: arguments?,
                    is_guarded: call.is_guarded,
                };
                Ok(node(operator, columns, rows))
            }
            Relation::Join { kind, left, right, conditions } => {
                self.join(*kind, left, right, conditions, needed)
            }
            Relation::Aggregate { input, keys, calls, sets } => {
                self.aggregate(input, keys, calls, sets.as_ref(), needed)
            }
            Relation::Window { input, partition, order, calls } => {
                self.window(input, partition, order, calls, needed)
            }
            Relation::Sort { input, order } => self.sort(input, order, None, needed),
            Relation::Limit { input, limit } => self.limit(input, limit, needed),
            Relation::Concat { inputs, columns } => {
                let kept: Vec<usize> = (0..columns.len())
                    .filter(|at| columns.get(*at).is_some_and(|it| needed.contains(&it.id)))
                    .collect();
                let nodes: Result<Vec<Node>> = inputs
                    .iter()
                    .map(|(input, ids)| {
                        let ids: Vec<ValueId> =
                            kept.iter().filter_map(|at| ids.get(*at).copied()).collect();
                        self.exactly(input, &ids)
                    })
                    .collect();
                let columns = kept.iter().filter_map(|at| columns.get(*at).cloned()).collect();
                Ok(node(Operator::Concat(nodes?), columns, rows))
            }
            Relation::SetOperation { operation, left, right, columns } => {
                let left = Box::new(self.exactly(&left.0, &left.1)?);
                let right = Box::new(self.exactly(&right.0, &right.1)?);
                let operator = Operator::SetOperation { operation: *operation, left, right };
                Ok(node(operator, columns.clone(), rows))
            }
            Relation::Text { input, text } => {
                let ids: Vec<ValueId> = text.items.iter().map(|item| item.id).collect();
                let input = Box::new(self.exactly(input, &ids)?);
                let columns = vec![text.column.clone()];
                Ok(node(Operator::Text { input, text: text.clone() }, columns, 1.0))
            }
            Relation::Recursive(recursive) => {
                let anchor = Box::new(self.exactly(&recursive.anchor.0, &recursive.anchor.1)?);
                let step = Box::new(self.exactly(&recursive.step.0, &recursive.step.1)?);
                let (number, most) = (recursive.number, recursive.most);
                let operator = Operator::Recursive { number, anchor, step, most };
                Ok(node(operator, recursive.columns.clone(), rows))
            }
            Relation::Recent { recursion, columns } => {
                Ok(node(Operator::Recent { number: *recursion }, columns.clone(), rows))
            }
        }
    }

    /// The plan of a relation whose columns are exactly these values, in this order.
    pub(crate) fn exactly(&mut self, relation: &Relation, ids: &[ValueId]) -> Result<Node> {
        let needed = ids.iter().copied().collect();
        let input = self.lower(relation, &needed)?;
        Ok(projected(input, ids))
    }

    pub(crate) fn filter(
        &mut self,
        input: &Relation,
        conditions: &[Scalar],
        needed: &Values,
        rows: f64,
    ) -> Result<Node> {
        let mut below = needed.clone();
        below.extend(conditions.iter().flat_map(Scalar::places));
        let input = self.lower(input, &below)?;
        self.filtered(input, conditions, rows)
    }

    /// The rows of a node for which all conditions are true.
    pub(crate) fn filtered(
        &mut self,
        input: Node,
        conditions: &[Scalar],
        rows: f64,
    ) -> Result<Node> {
        let Some(condition) = self.all_of(conditions)? else { return Ok(input) };
        let condition = self.expression(&condition, &input.columns)?;
        let columns = input.columns.clone();
        Ok(node(Operator::Filter { input: Box::new(input), condition }, columns, rows))
    }

    /// Conditions as one; `None` when there are none.
    pub(crate) fn all_of(&self, conditions: &[Scalar]) -> Result<Option<Scalar>> {
        let Some((first, rest)) = conditions.split_first() else { return Ok(None) };
        let mut all = first.clone();
        for condition in rest {
            all = all.and(condition, self.environment)?;
        }
        Ok(Some(all))
    }

    /// A value over the columns of a node; what is none of them comes from outside.
    pub(crate) fn expression(&self, scalar: &Scalar, columns: &[Column]) -> Result<Expression> {
        let program = scalar.compile(self.environment)?;
        let inputs = program
            .inputs()
            .iter()
            .map(|place| match columns.iter().position(|column| column.id == *place) {
                Some(column) => Input::Column(column),
                None => Input::Outer(*place),
            })
            .collect();
        Ok(Expression { program: Arc::new(program), inputs, scalar: scalar.clone() })
    }

    fn compute(&mut self, input: &Relation, values: &[Computed], needed: &Values) -> Result<Node> {
        let own: Vec<&Computed> = values.iter().filter(|it| needed.contains(&it.id)).collect();
        let mut below = needed.clone();
        for value in values {
            below.remove(&value.id);
        }
        below.extend(own.iter().flat_map(|it| it.value.places()));
        let input = self.lower(input, &below)?;
        if own.is_empty() {
            return Ok(input);
        }
        let computed: Result<Vec<Expression>> =
            own.iter().map(|it| self.expression(&it.value, &input.columns)).collect();
        let keep: Vec<usize> = (0..input.columns.len())
            .filter(|at| input.columns.get(*at).is_some_and(|it| needed.contains(&it.id)))
            .collect();
        let mut columns: Vec<Column> =
            keep.iter().filter_map(|at| input.columns.get(*at).cloned()).collect();
        columns.extend(own.iter().map(|it| it.column()));
        let rows = input.rows;
        let operator = Operator::Project { input: Box::new(input), keep, computed: computed? };
        Ok(node(operator, columns, rows))
    }

    fn aggregate(
        &mut self,
        input: &Relation,
        keys: &[ValueId],
        calls: &[LogicalCall],
        sets: Option<&extentdb_bind::logical::GroupingSets>,
        needed: &Values,
    ) -> Result<Node> {
        let calls: Vec<&LogicalCall> =
            calls.iter().filter(|call| needed.contains(&call.column.id)).collect();
        let mut below: Values = keys.iter().copied().collect();
        for call in &calls {
            below.extend(call.argument);
            below.extend(call.separator);
            below.extend(call.order.iter().map(|key| key.id));
        }
        let relation = input;
        let input = self.lower(relation, &below)?;
        let at = |id: ValueId| position(&input.columns, id);
        let physical: Vec<AggregateCall> = calls
            .iter()
            .map(|call| {
                let argument = call.argument.map(at);
                let ty = argument.and_then(|at| input.columns.get(at)).map(|column| column.ty);
                AggregateCall {
                    function: call.function,
                    argument,
                    argument_type: ty.unwrap_or(extentdb_types::SqlType::Int),
                    separator: call.separator.map(at),
                    is_distinct: call.is_distinct,
                    order: sort_keys(&input.columns, &call.order),
                    ty: call.column.ty,
                }
            })
            .collect();
        let mut columns: Vec<Column> = keys
            .iter()
            .filter_map(|key| input.columns.get(at(*key)).cloned())
            .map(|column| Column { is_nullable: column.is_nullable || sets.is_some(), ..column })
            .collect();
        columns.extend(calls.iter().map(|call| call.column.clone()));
        let groupings = sets.map(|sets| sets.groupings.as_slice()).unwrap_or_default();
        columns.extend(groupings.iter().map(|(id, _)| Column {
            id: *id,
            ty: extentdb_types::SqlType::Int,
            is_nullable: false,
        }));
        let rows = if keys.is_empty() {
            1.0
        } else {
            let groups: f64 = keys
                .iter()
                .map(|key| estimate::distinct_among(relation, *key, input.rows))
                .product();
            groups.min(input.rows).max(1.0)
        };
        let mut grouping = Grouping {
            keys: keys.iter().map(|key| at(*key)).collect(),
            calls: physical,
            sets: sets.map(|sets| sets.sets.clone()),
            groupings: groupings.iter().map(|(_, keys)| keys.clone()).collect(),
            is_ordered: false,
            is_divisible: false,
            input,
        };
        grouping.is_divisible = parallel::is_divisible(&grouping, rows);
        Ok(node(Operator::Aggregate(Box::new(grouping)), columns, rows))
    }

    fn window(
        &mut self,
        input: &Relation,
        partition: &[ValueId],
        order: &[OrderKey],
        calls: &[LogicalWindowCall],
        needed: &Values,
    ) -> Result<Node> {
        let mut below = needed.clone();
        for call in calls {
            below.remove(&call.column.id);
            below.extend(&call.arguments);
        }
        below.extend(partition);
        below.extend(order.iter().map(|key| key.id));
        let mut keys: Vec<OrderKey> =
            partition.iter().map(|id| OrderKey { id: *id, is_descending: false }).collect();
        keys.extend(order.iter().filter(|key| !partition.contains(&key.id)));
        let input = self.lower(input, &below)?;
        let input = if is_sorted(&input, &keys) { input } else { sort_node(input, &keys, None) };
        let at = |id: ValueId| position(&input.columns, id);
        let physical = calls
            .iter()
            .map(|call| {
                let arguments: Vec<usize> = call.arguments.iter().map(|id| at(*id)).collect();
                let types = arguments.iter().filter_map(|at| input.columns.get(*at));
                WindowCall {
                    function: call.function,
                    argument_types: types.map(|column| column.ty).collect(),
                    arguments,
                    frame: call.frame,
                    ignores_nulls: call.ignores_nulls,
                    ty: call.column.ty,
                }
            })
            .collect();
        let mut columns = input.columns.clone();
        columns.extend(calls.iter().map(|call| call.column.clone()));
        let rows = input.rows;
        let window = Window {
            partition: partition.iter().map(|id| at(*id)).collect(),
            order: sort_keys(&input.columns, order),
            calls: physical,
            input,
        };
        Ok(node(Operator::Window(Box::new(window)), columns, rows))
    }

    fn sort(
        &mut self,
        input: &Relation,
        order: &[OrderKey],
        limit: Option<TopRows>,
        needed: &Values,
    ) -> Result<Node> {
        let mut below = needed.clone();
        below.extend(order.iter().map(|key| key.id));
        if let Some(ordered) = self.ordered_table(input, order, &below)? {
            return Ok(ordered);
        }
        let input = self.lower(input, &below)?;
        if is_sorted(&input, order) {
            return Ok(input);
        }
        Ok(sort_node(input, order, limit))
    }

    fn limit(&mut self, input: &Relation, limit: &Limit, needed: &Values) -> Result<Node> {
        let rows = |value: &Option<Scalar>| {
            value.as_ref().map(|value| self.expression(value, &[])).transpose()
        };
        let top = TopRows {
            skip: rows(&limit.skip)?,
            count: rows(&limit.count)?,
            is_percent: limit.is_percent,
        };
        let ties = limit.ties.as_deref();
        let mut below = needed.clone();
        below.extend(ties.iter().flat_map(|ties| ties.iter().map(|key| key.id)));
        let is_few = !limit.is_percent && limit.ties.is_none() && limit.count.is_some();
        let input = match input {
            Relation::Sort { input, order } if is_few => {
                self.sort(input, order, Some(top.clone()), &below)?
            }
            _ => self.lower(input, &below)?,
        };
        let ties = ties.map(|ties| sort_keys(&input.columns, ties));
        let columns = input.columns.clone();
        let count = limit.count.as_ref().and_then(Scalar::literal_integer);
        let rows = count.map_or(input.rows, |count| input.rows.min(count as f64));
        Ok(node(Operator::Top { input: Box::new(input), top, ties }, columns, rows.max(1.0)))
    }
}

/// The columns of a provider's rows that are needed.
fn provided(
    provider: &Arc<dyn RowProvider>,
    columns: &[Column],
    needed: &Values,
    rows: f64,
) -> Node {
    let is_needed = |(_, column): &(usize, &Column)| needed.contains(&column.id);
    let kept: Vec<(usize, &Column)> = columns.iter().enumerate().filter(is_needed).collect();
    let requested =
        |(ordinal, column): &(usize, &Column)| RequestedColumn { ordinal: *ordinal, ty: column.ty };
    let plan = ProvidedRows {
        provider: provider.clone(),
        columns: kept.iter().map(requested).collect(),
    };
    let columns = kept.into_iter().map(|(_, column)| column.clone()).collect();
    node(Operator::Provided(plan), columns, rows)
}

pub(crate) fn node(operator: Operator, columns: Vec<Column>, rows: f64) -> Node {
    Node { operator, columns, rows }
}

/// Position of a value among columns. What is not there stands at the end, where nothing is.
pub(crate) fn position(columns: &[Column], id: ValueId) -> usize {
    columns.iter().position(|column| column.id == id).unwrap_or(columns.len())
}

pub(crate) fn sort_keys(columns: &[Column], order: &[OrderKey]) -> Vec<SortKey> {
    let key = |key: &OrderKey| SortKey {
        column: position(columns, key.id),
        is_descending: key.is_descending,
    };
    order.iter().map(key).collect()
}

fn sort_node(input: Node, order: &[OrderKey], limit: Option<TopRows>) -> Node {
    let keys = sort_keys(&input.columns, order);
    let columns = input.columns.clone();
    let rows = input.rows;
    if keys.is_empty() {
        return input;
    }
    node(Operator::Sort { input: Box::new(input), keys, limit }, columns, rows)
}

/// Are the rows of a node in this order already?
fn is_sorted(input: &Node, order: &[OrderKey]) -> bool {
    match &input.operator {
        Operator::Sort { keys, .. } => {
            let wanted = sort_keys(&input.columns, order);
            keys.get(..wanted.len()) == Some(&wanted)
        }
        Operator::Window(window) => is_sorted(&window.input, order),
        Operator::Filter { input, .. } | Operator::Call { input, .. } => is_sorted(input, order),
        Operator::Project { input, .. } => {
            order.iter().all(|key| input.columns.iter().any(|column| column.id == key.id))
                && is_sorted(input, order)
        }
        _ => order.is_empty(),
    }
}

/// A node with exactly these columns, in this order.
pub(crate) fn projected(input: Node, ids: &[ValueId]) -> Node {
    let is_so = input.columns.len() == ids.len()
        && input.columns.iter().zip(ids).all(|(column, id)| column.id == *id);
    if is_so {
        return input;
    }
    let keep: Vec<usize> = ids.iter().map(|id| position(&input.columns, *id)).collect();
    let columns = keep.iter().filter_map(|at| input.columns.get(*at).cloned()).collect();
    let rows = input.rows;
    node(Operator::Project { input: Box::new(input), keep, computed: Vec::new() }, columns, rows)
}

/// The values that a relation gives and somebody uses.
pub(crate) fn needed_of(relation: &Relation, needed: &Values) -> Values {
    uses::given(relation).intersection(needed).copied().collect()
}
