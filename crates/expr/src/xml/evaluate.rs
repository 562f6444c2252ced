//! Evaluates XQuery over a document.
//!
//! Invariants
//! - The document is not changed; nodes that constructors make lie in documents of their own.
//! - A path gives its nodes once each, in document order.
//! - A value without a type (a node's text) is compared as what stands beside it: a number with
//!   numbers, else a text by its code points.

use super::document::{Content, Document, Id, ROOT};
use super::query::{Arithmetic, Atomic, Axis, Clause, Expr, Flwor, NodeTest, Step, Test};

mod construct;
mod function;

/// A node of one of the documents: 0 is the one that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeRef {
    pub(crate) document: usize,
    pub(crate) id: Id,
}

/// One item of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    Node(NodeRef),
    Number(f64),
    Text(String),
    /// The text of a node.
    Untyped(String),
    Boolean(bool),
}

/// What `.` is, and where it stands.
#[derive(Debug, Clone)]
struct Focus {
    item: Option<Item>,
    position: usize,
    size: usize,
}

/// A query that cannot be evaluated: a value that does not become what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed;

type Evaluated<T = Vec<Item>> = Result<T, Failed>;

/// The state of one evaluation.
pub(crate) struct Evaluator<'d> {
    input: &'d Document,
    /// Documents of nodes that were made, numbered from 1.
    made: Vec<Document>,
    /// Values of the statement.
    outside: &'d [Option<Item>],
    variables: Vec<(String, Vec<Item>)>,
}

impl<'d> Evaluator<'d> {
    pub(crate) fn new(input: &'d Document, outside: &'d [Option<Item>]) -> Evaluator<'d> {
        Evaluator { input, made: Vec::new(), outside, variables: Vec::new() }
    }

    pub(crate) fn document(&self, number: usize) -> &Document {
        number.checked_sub(1).and_then(|at| self.made.get(at)).unwrap_or(self.input)
    }

    /// The value of an expression that is asked of a node.
    pub(crate) fn of_node(&mut self, expr: &Expr, id: Id) -> Evaluated {
        let item = Some(Item::Node(NodeRef { document: 0, id }));
        self.value(expr, &Focus { item, position: 1, size: 1 })
    }

    fn value(&mut self, expr: &Expr, focus: &Focus) -> Evaluated {
        Ok(match expr {
            Expr::Number(number) => vec![Item::Number(*number)],
            Expr::Text(text) => vec![Item::Text(text.clone())],
            Expr::Variable(name) => self.variable(name)?,
            Expr::Outside(number) => {
                self.outside.get(*number).cloned().flatten().into_iter().collect()
            }
            Expr::Item => focus.item.clone().into_iter().collect(),
            Expr::Root => {
                let document = match &focus.item {
                    Some(Item::Node(node)) => node.document,
                    _ => 0,
                };
                vec![Item::Node(NodeRef { document, id: ROOT })]
            }
            Expr::Path { from, steps } => {
                let mut nodes = self.value(from, focus)?;
                for step in steps {
                    nodes = self.step(step, &nodes)?;
                }
                nodes
            }
            Expr::Filter { of, predicates } => {
                let mut items = self.value(of, focus)?;
                for predicate in predicates {
                    items = self.filtered(items, predicate)?;
                }
                items
            }
            Expr::Call(function, arguments) => self.call(*function, arguments, focus)?,
            Expr::Cast { of, to } => {
                let items = self.value(of, focus)?;
                self.cast(&items, *to)?.into_iter().collect()
            }
            Expr::Or(left, right) => {
                vec![Item::Boolean(self.truth(left, focus)? || self.truth(right, focus)?)]
            }
            Expr::And(left, right) => {
                vec![Item::Boolean(self.truth(left, focus)? && self.truth(right, focus)?)]
            }
            Expr::Compare { left, test, right, is_value } => {
                let left = self.value(left, focus)?;
                let right = self.value(right, focus)?;
                if *is_value && (left.is_empty() || right.is_empty()) {
                    return Ok(Vec::new());
                }
                vec![Item::Boolean(self.is_true(*test, &left, &right))]
            }
            Expr::Arithmetic(left, operator, right) => {
                let left = self.number_of(left, focus)?;
                let right = self.number_of(right, focus)?;
                match (left, right) {
                    (Some(left), Some(right)) => {
                        vec![Item::Number(computed(left, *operator, right)?)]
                    }
                    _ => Vec::new(),
                }
            }
            Expr::Negate(of) => match self.number_of(of, focus)? {
                Some(number) => vec![Item::Number(-number)],
                None => Vec::new(),
            },
            Expr::Sequence(parts) => {
                let mut items = Vec::new();
                for part in parts {
                    items.extend(self.value(part, focus)?);
                }
                items
            }
            Expr::If { condition, then, other } => {
                let taken = if self.truth(condition, focus)? { then } else { other };
                self.value(taken, focus)?
            }
            Expr::Flwor(flwor) => self.flwor(flwor, focus)?,
            Expr::Quantified { is_every, bindings, satisfies } => {
                vec![Item::Boolean(self.quantified(*is_every, bindings, satisfies, focus)?)]
            }
            Expr::Element(element) => vec![self.element(element, focus)?],
            Expr::Attribute(name, of) => {
                let text = self.joined(of, focus)?;
                vec![self.made_node(Content::Attribute(name.clone(), text))]
            }
            Expr::TextNode(of) => {
                let text = self.joined(of, focus)?;
                vec![self.made_node(Content::Text(text))]
            }
        })
    }

    fn variable(&self, name: &str) -> Evaluated {
        let own = self.variables.iter().rev().find(|(own, _)| own == name);
        own.map(|(_, items)| items.clone()).ok_or(Failed)
    }

    /// The items that a predicate leaves, each at its position.
    fn filtered(&mut self, items: Vec<Item>, predicate: &Expr) -> Evaluated {
        let size = items.len();
        let mut left = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let position = at + 1;
            let focus = Focus { item: Some(item.clone()), position, size };
            let value = self.value(predicate, &focus)?;
            let is_kept = match value.as_slice() {
                [Item::Number(number)] => *number == position as f64,
                items => truth(items),
            };
            if is_kept {
                left.push(item);
            }
        }
        Ok(left)
    }

    /// The nodes that a step leads to.
    fn step(&mut self, step: &Step, from: &[Item]) -> Evaluated {
        let mut found: Vec<NodeRef> = Vec::new();
        for item in from {
            let Item::Node(node) = item else { return Err(Failed) };
            let document = self.document(node.document);
            let mut ids = Vec::new();
            axis(document, node.id, step.axis, &mut ids);
            ids.retain(|id| matches(document, *id, step.axis, &step.test));
            let own = |id| Item::Node(NodeRef { document: node.document, id });
            let mut items: Vec<Item> = ids.into_iter().map(own).collect();
            for predicate in &step.predicates {
                items = self.filtered(items, predicate)?;
            }
            found.extend(items.iter().filter_map(|item| match item {
                Item::Node(node) => Some(*node),
                _ => None,
            }));
        }
        if from.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        Ok(found.into_iter().map(Item::Node).collect())
    }

    /// The effective boolean value.
    fn truth(&mut self, expr: &Expr, focus: &Focus) -> Evaluated<bool> {
        Ok(truth(&self.value(expr, focus)?))
    }

    fn flwor(&mut self, flwor: &Flwor, focus: &Focus) -> Evaluated {
        let before = self.variables.len();
        let mut rows: Vec<(Vec<Option<Item>>, Vec<Item>)> = Vec::new();
        let done = self.clauses(flwor, 0, focus, &mut rows);
        self.variables.truncate(before);
        done?;
        rows.sort_by(|(a, _), (b, _)| {
            let pairs = a.iter().zip(b).zip(&flwor.order);
            let mut orders = pairs.map(|((a, b), (_, descends))| {
                let order = order_of(a.as_ref(), b.as_ref());
                if *descends { order.reverse() } else { order }
            });
            orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(rows.into_iter().flat_map(|(_, items)| items).collect())
    }

    fn clauses(
        &mut self,
        flwor: &Flwor,
        at: usize,
        focus: &Focus,
        rows: &mut Vec<(Vec<Option<Item>>, Vec<Item>)>,
    ) -> Evaluated<()> {
        match flwor.clauses.get(at) {
            None => {
                let mut keys = Vec::new();
                for (key, _) in &flwor.order {
                    let value = self.value(key, focus)?;
                    keys.push(value.first().map(|item| self.atom(item)));
                }
                rows.push((keys, self.value(&flwor.result, focus)?));
                Ok(())
            }
            Some(Clause::Where(condition)) => match self.truth(condition, focus)? {
                true => self.clauses(flwor, at + 1, focus, rows),
                false => Ok(()),
            },
            Some(Clause::Let { variable, of }) => {
                let items = self.value(of, focus)?;
                self.variables.push((variable.clone(), items));
                let done = self.clauses(flwor, at + 1, focus, rows);
                self.variables.pop();
                done
            }
            Some(Clause::For { variable, of }) => {
                for item in self.value(of, focus)? {
                    self.variables.push((variable.clone(), vec![item]));
                    let done = self.clauses(flwor, at + 1, focus, rows);
                    self.variables.pop();
                    done?;
                }
                Ok(())
            }
        }
    }

    fn quantified(
        &mut self,
        is_every: bool,
        bindings: &[(String, Expr)],
        satisfies: &Expr,
        focus: &Focus,
    ) -> Evaluated<bool> {
        let Some(((variable, of), rest)) = bindings.split_first() else {
            return self.truth(satisfies, focus);
        };
        for item in self.value(of, focus)? {
            self.variables.push((variable.clone(), vec![item]));
            let is_true = self.quantified(is_every, rest, satisfies, focus);
            self.variables.pop();
            if is_true? != is_every {
                return Ok(!is_every);
            }
        }
        Ok(is_every)
    }

    /// The item as a value.
    fn atom(&self, item: &Item) -> Item {
        match item {
            Item::Node(node) => Item::Untyped(self.document(node.document).text(node.id)),
            other => other.clone(),
        }
    }

    /// The text of an item.
    pub(crate) fn text(&self, item: &Item) -> String {
        match self.atom(item) {
            Item::Number(number) => number_text(number),
            Item::Text(text) | Item::Untyped(text) => text,
            Item::Boolean(value) => value.to_string(),
            Item::Node(_) => String::new(),
        }
    }

    /// Items as text: nodes as they are written, values with a blank between them.
    pub(crate) fn written(&self, items: &[Item]) -> String {
        let mut out = String::new();
        let mut was_value = false;
        for item in items {
            match item {
                Item::Node(node) => {
                    self.document(node.document).write(node.id, &mut out);
                    was_value = false;
                }
                value => {
                    if std::mem::replace(&mut was_value, true) {
                        out.push(' ');
                    }
                    let mut text = Document::new();
                    text.add(ROOT, Content::Text(self.text(value)));
                    text.write(ROOT, &mut out);
                }
            }
        }
        out
    }

    fn number_of(&mut self, expr: &Expr, focus: &Focus) -> Evaluated<Option<f64>> {
        let items = self.value(expr, focus)?;
        items.first().map(|item| number(&self.atom(item)).ok_or(Failed)).transpose()
    }

    /// Is there a pair of items for which a comparison is true?
    fn is_true(&self, test: Test, left: &[Item], right: &[Item]) -> bool {
        if matches!(test, Test::Same | Test::Precedes | Test::Follows) {
            let (Some(Item::Node(left)), Some(Item::Node(right))) = (left.first(), right.first())
            else {
                return false;
            };
            return match test {
                Test::Precedes => left < right,
                Test::Follows => left > right,
                _ => left == right,
            };
        }
        let right: Vec<Item> = right.iter().map(|item| self.atom(item)).collect();
        left.iter().map(|item| self.atom(item)).any(|left| {
            right.iter().any(|right| compared(&left, right).is_some_and(|order| fits(test, order)))
        })
    }

    fn cast(&self, items: &[Item], to: Atomic) -> Evaluated<Option<Item>> {
        let Some(item) = items.first().map(|item| self.atom(item)) else { return Ok(None) };
        let value = match to {
            Atomic::Text => Some(Item::Text(self.text(&item))),
            Atomic::Number => number(&item).map(Item::Number),
            Atomic::Integer => number(&item).map(|number| Item::Number(number.trunc())),
            Atomic::Boolean => match &item {
                Item::Boolean(_) => Some(item.clone()),
                Item::Number(number) => Some(Item::Boolean(*number != 0.0)),
                other => match self.text(other).trim() {
                    "true" | "1" => Some(Item::Boolean(true)),
                    "false" | "0" => Some(Item::Boolean(false)),
                    _ => None,
                },
            },
        };
        // A cast that fails is empty, as it is in the product.
        Ok(value)
    }
}

fn truth(items: &[Item]) -> bool {
    match items {
        [] => false,
        [Item::Boolean(value)] => *value,
        [Item::Number(number)] => *number != 0.0 && !number.is_nan(),
        [Item::Text(text) | Item::Untyped(text)] => !text.is_empty(),
        _ => true,
    }
}

fn number(item: &Item) -> Option<f64> {
    match item {
        Item::Number(number) => Some(*number),
        Item::Boolean(value) => Some(f64::from(u8::from(*value))),
        Item::Text(text) | Item::Untyped(text) => text.trim().parse().ok(),
        Item::Node(_) => None,
    }
}

/// The order of two values; `None` where they are not compared.
fn compared(left: &Item, right: &Item) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Item::Boolean(left), Item::Boolean(right)) => Some(left.cmp(right)),
        (Item::Number(_), _) | (_, Item::Number(_)) => number(left)?.partial_cmp(&number(right)?),
        (Item::Boolean(value), Item::Untyped(text)) => Some(value.cmp(&is_true_text(text)?)),
        (Item::Untyped(text), Item::Boolean(value)) => Some(is_true_text(text)?.cmp(value)),
        (Item::Text(left) | Item::Untyped(left), Item::Text(right) | Item::Untyped(right)) => {
            Some(left.cmp(right))
        }
        _ => None,
    }
}

fn is_true_text(text: &str) -> Option<bool> {
    match text.trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The order of two keys, empty ones first.
fn order_of(left: Option<&Item>, right: Option<&Item>) -> std::cmp::Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compared(left, right).unwrap_or(std::cmp::Ordering::Equal),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

fn fits(test: Test, order: std::cmp::Ordering) -> bool {
    match test {
        Test::Equal => order.is_eq(),
        Test::NotEqual => order.is_ne(),
        Test::Less => order.is_lt(),
        Test::LessOrEqual => order.is_le(),
        Test::Greater => order.is_gt(),
        Test::GreaterOrEqual => order.is_ge(),
        Test::Same | Test::Precedes | Test::Follows => false,
    }
}

fn computed(left: f64, operator: Arithmetic, right: f64) -> Evaluated<f64> {
    Ok(match operator {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide | Arithmetic::Modulo if right == 0.0 => return Err(Failed),
        Arithmetic::Divide => left / right,
        Arithmetic::Modulo => left % right,
    })
}

/// A number as text: whole ones without a fraction.
fn number_text(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "INF".to_owned() } else { "-INF".to_owned() };
    }
    format!("{number}")
}

/// The nodes of an axis, in document order.
fn axis(document: &Document, id: Id, axis: Axis, out: &mut Vec<Id>) {
    match axis {
        Axis::Child => out.extend_from_slice(document.children(id)),
        Axis::Attribute => out.extend_from_slice(document.attributes(id)),
        Axis::Self_ => out.push(id),
        Axis::Parent => out.extend(document.parent(id)),
        Axis::Descendant => below(document, id, out),
        Axis::DescendantOrSelf => {
            out.push(id);
            below(document, id, out);
        }
    }
}

fn below(document: &Document, id: Id, out: &mut Vec<Id>) {
    for child in document.children(id) {
        out.push(*child);
        below(document, *child, out);
    }
}

fn matches(document: &Document, id: Id, axis: Axis, test: &NodeTest) -> bool {
    let content = document.content(id);
    match test {
        NodeTest::Any => true,
        NodeTest::Text => matches!(content, Content::Text(_)),
        NodeTest::Comment => matches!(content, Content::Comment(_)),
        NodeTest::Instruction => matches!(content, Content::Instruction(..)),
        NodeTest::Named { uri, local } => {
            let is_attribute = axis == Axis::Attribute;
            let name = match content {
                Content::Element(name, _) if !is_attribute => name,
                Content::Attribute(name, _) if is_attribute || axis == Axis::Self_ => name,
                _ => return false,
            };
            uri.as_ref().is_none_or(|uri| *uri == name.uri)
                && local.as_ref().is_none_or(|local| *local == name.local)
        }
    }
}
