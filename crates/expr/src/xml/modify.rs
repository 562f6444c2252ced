//! `modify`: insert, delete and replace value of.

use super::document::{Content, Document, Id, ROOT};
use super::evaluate::{Evaluator, Item, NodeRef};
use super::query::{Body, Expr, Place};

/// The text of a document after a change; the same where the change finds nothing, or fails.
pub(super) fn changed(document: &Document, body: &Body, outside: &[Option<Item>]) -> String {
    let mut edited = document.clone();
    match body {
        Body::Value(_) => {}
        Body::Delete(expr) => delete(document, expr, outside, &mut edited),
        Body::Replace { target, with } => replace(document, target, with, outside, &mut edited),
        Body::Insert { what, place, target } => {
            insert(document, (what, *place, target), outside, &mut edited);
        }
    }
    let mut text = String::new();
    edited.write(ROOT, &mut text);
    text
}

/// The nodes of the document itself among items.
fn own_nodes(items: &[Item]) -> impl Iterator<Item = Id> + '_ {
    items.iter().filter_map(|item| match item {
        Item::Node(NodeRef { document: 0, id }) => Some(*id),
        _ => None,
    })
}

fn delete(document: &Document, expr: &Expr, outside: &[Option<Item>], edited: &mut Document) {
    let mut evaluator = Evaluator::new(document, outside);
    let items = evaluator.of_node(expr, ROOT).unwrap_or_default();
    own_nodes(&items).for_each(|id| edited.detach(id));
}

fn replace(
    document: &Document,
    target: &Expr,
    with: &Expr,
    outside: &[Option<Item>],
    edited: &mut Document,
) {
    let mut evaluator = Evaluator::new(document, outside);
    let targets = evaluator.of_node(target, ROOT).unwrap_or_default();
    let Some(id) = own_nodes(&targets).next() else { return };
    let Ok(values) = evaluator.of_node(with, ROOT) else { return };
    let texts: Vec<String> = values.iter().map(|item| evaluator.text(item)).collect();
    if let Some(Content::Text(own) | Content::Attribute(_, own)) = edited.content_mut(id) {
        *own = texts.join(" ");
    }
}

fn insert(
    document: &Document,
    (what, place, target): (&Expr, Place, &Expr),
    outside: &[Option<Item>],
    edited: &mut Document,
) {
    let mut evaluator = Evaluator::new(document, outside);
    let targets = evaluator.of_node(target, ROOT).unwrap_or_default();
    let Some(target) = own_nodes(&targets).next() else { return };
    let Ok(items) = evaluator.of_node(what, ROOT) else { return };
    let at = |parent: Id, document: &Document| {
        document.children(parent).iter().position(|own| *own == target)
    };
    let (parent, mut position) = match place {
        Place::Last => (target, None),
        Place::First => (target, Some(0)),
        Place::Before | Place::After => {
            let Some(parent) = document.parent(target) else { return };
            let at = at(parent, edited);
            (parent, if place == Place::After { at.map(|at| at + 1) } else { at })
        }
    };
    for item in &items {
        let copies: Vec<Id> = match item {
            Item::Node(node) => {
                let from = evaluator.document(node.document);
                let roots = match node.id {
                    ROOT => from.children(ROOT).to_vec(),
                    id => vec![id],
                };
                roots.into_iter().map(|id| edited.copy(from, id)).collect()
            }
            value => vec![edited.detached(Content::Text(evaluator.text(value)))],
        };
        for copy in copies {
            let is_attribute = matches!(edited.content(copy), Content::Attribute(..));
            edited.attach(parent, position, copy);
            if !is_attribute {
                position = position.map(|at| at + 1);
            }
        }
    }
}
