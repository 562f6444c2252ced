//! Functions of XQuery.

use super::{Evaluated, Evaluator, Failed, Focus, Item, compared, number, truth};
use crate::xml::query::{Expr, Function};

impl Evaluator<'_> {
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        focus: &Focus,
    ) -> Evaluated {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument, focus)?);
        }
        let first = match values.first() {
            Some(items) => items.clone(),
            // Functions of a node are asked of the one at hand.
            None => focus.item.clone().into_iter().collect(),
        };
        Ok(match function {
            Function::True => vec![Item::Boolean(true)],
            Function::False => vec![Item::Boolean(false)],
            Function::Position => vec![Item::Number(focus.position as f64)],
            Function::Last => vec![Item::Number(focus.size as f64)],
            Function::Not => vec![Item::Boolean(!truth(&first))],
            Function::Empty => vec![Item::Boolean(first.is_empty())],
            Function::Count => vec![Item::Number(first.len() as f64)],
            Function::Data => first.iter().map(|item| self.atom(item)).collect(),
            Function::DistinctValues => self.distinct(&first),
            Function::Sum | Function::Average | Function::Max | Function::Min => {
                self.aggregate(function, &first)?
            }
            Function::Ceiling | Function::Floor | Function::Round => {
                let item = first.first().map(|item| self.atom(item));
                match item {
                    Some(item) => vec![stepped(function, number(&item).ok_or(Failed)?)],
                    None => Vec::new(),
                }
            }
            Function::Number => {
                let item = first.first().map(|item| self.atom(item));
                vec![Item::Number(item.as_ref().and_then(number).unwrap_or(f64::NAN))]
            }
            Function::LocalName | Function::NamespaceUri => {
                vec![Item::Text(self.named(function, &first))]
            }
            Function::String
            | Function::StringLength
            | Function::LowerCase
            | Function::UpperCase
            | Function::Concat
            | Function::Contains
            | Function::Substring => vec![self.of_text(function, &first, &values)?],
        })
    }

    fn named(&self, function: Function, items: &[Item]) -> String {
        let Some(Item::Node(node)) = items.first() else { return String::new() };
        let name = self.document(node.document).name(node.id);
        name.map_or_else(String::new, |name| match function {
            Function::LocalName => name.local.clone(),
            _ => name.uri.clone(),
        })
    }

    fn distinct(&self, items: &[Item]) -> Vec<Item> {
        let mut known: Vec<Item> = Vec::new();
        for item in items {
            let value = self.atom(item);
            if !known.iter().any(|own| compared(own, &value).is_some_and(|order| order.is_eq())) {
                known.push(value);
            }
        }
        known
    }

    fn aggregate(&self, function: Function, items: &[Item]) -> Evaluated {
        let atoms: Vec<Item> = items.iter().map(|item| self.atom(item)).collect();
        let is_text = |item: &Item| matches!(item, Item::Text(_));
        if matches!(function, Function::Max | Function::Min) && atoms.iter().any(is_text) {
            let texts = atoms.iter().map(|item| self.text(item));
            let text = if function == Function::Max { texts.max() } else { texts.min() };
            return Ok(text.map(Item::Text).into_iter().collect());
        }
        let mut numbers = Vec::new();
        for item in &atoms {
            numbers.push(number(item).ok_or(Failed)?);
        }
        let count = numbers.len() as f64;
        let value = match function {
            Function::Sum => Some(numbers.iter().sum()),
            Function::Average if numbers.is_empty() => None,
            Function::Average => Some(numbers.iter().sum::<f64>() / count),
            Function::Max => numbers.into_iter().reduce(f64::max),
            _ => numbers.into_iter().reduce(f64::min),
        };
        Ok(value.map(Item::Number).into_iter().collect())
    }

    fn of_text(&self, function: Function, first: &[Item], values: &[Vec<Item>]) -> Evaluated<Item> {
        let text_at = |at: usize| {
            let item = values.get(at).and_then(|items| items.first());
            item.map_or_else(String::new, |item| self.text(item))
        };
        let text = first.first().map_or_else(String::new, |item| self.text(item));
        Ok(match function {
            Function::StringLength => Item::Number(text.chars().count() as f64),
            Function::LowerCase => Item::Text(text.to_lowercase()),
            Function::UpperCase => Item::Text(text.to_uppercase()),
            Function::Concat => Item::Text((0..values.len()).map(text_at).collect()),
            Function::Contains => Item::Boolean(text.contains(&text_at(1))),
            Function::Substring => {
                let at = |at: usize| -> Evaluated<Option<f64>> {
                    let item = values.get(at).and_then(|items| items.first());
                    item.map(|item| number(&self.atom(item)).ok_or(Failed)).transpose()
                };
                let start = at(1)?.unwrap_or(1.0).round();
                let end = at(2)?.map_or(f64::INFINITY, |length| start + length.round());
                let is_in = |(at, _): &(usize, char)| {
                    let position = (*at + 1) as f64;
                    position >= start && position < end
                };
                Item::Text(text.chars().enumerate().filter(is_in).map(|(_, it)| it).collect())
            }
            _ => Item::Text(text),
        })
    }
}

fn stepped(function: Function, number: f64) -> Item {
    Item::Number(match function {
        Function::Ceiling => number.ceil(),
        Function::Floor => number.floor(),
        _ => (number + 0.5).floor(),
    })
}
