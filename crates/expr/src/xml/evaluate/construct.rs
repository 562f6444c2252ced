//! Nodes that a query makes.

use super::{Evaluated, Evaluator, Failed, Focus, Item, NodeRef};
use crate::xml::document::{Content, Document, Id, ROOT};
use crate::xml::query::{Element, Expr};

impl Evaluator<'_> {
    /// A node in a document of its own.
    pub(super) fn made_node(&mut self, content: Content) -> Item {
        let mut document = Document::new();
        let id = document.add(ROOT, content);
        self.made.push(document);
        Item::Node(NodeRef { document: self.made.len(), id })
    }

    /// All items of an expression as one text.
    pub(super) fn joined(&mut self, expr: &Expr, focus: &Focus) -> Evaluated<String> {
        let items = self.value(expr, focus)?;
        let texts: Vec<String> = items.iter().map(|item| self.text(item)).collect();
        Ok(texts.join(" "))
    }

    pub(super) fn element(&mut self, element: &Element, focus: &Focus) -> Evaluated<Item> {
        let mut document = Document::new();
        let content = Content::Element(element.name.clone(), element.declared.clone());
        let id = document.add(ROOT, content);
        for (name, parts) in &element.attributes {
            let mut text = String::new();
            for part in parts {
                text.push_str(&self.joined(part, focus)?);
            }
            document.add(id, Content::Attribute(name.clone(), text));
        }
        for part in &element.content {
            let items = self.value(part, focus)?;
            self.add_items(&mut document, id, &items)?;
        }
        self.made.push(document);
        Ok(Item::Node(NodeRef { document: self.made.len(), id }))
    }

    /// Adds copies of nodes; values beside each other are one text with blanks in it.
    fn add_items(&self, document: &mut Document, id: Id, items: &[Item]) -> Evaluated<()> {
        let mut text: Option<String> = None;
        for item in items {
            let Item::Node(node) = item else {
                let own = self.text(item);
                text = Some(text.map_or(own.clone(), |before| format!("{before} {own}")));
                continue;
            };
            if let Some(text) = text.take() {
                document.add(id, Content::Text(text));
            }
            self.add_copy(document, id, *node)?;
        }
        if let Some(text) = text {
            document.add(id, Content::Text(text));
        }
        Ok(())
    }

    fn add_copy(&self, document: &mut Document, id: Id, node: NodeRef) -> Evaluated<()> {
        let from = self.document(node.document);
        if node.id == ROOT {
            for child in from.children(ROOT) {
                let copy = document.copy(from, *child);
                document.attach(id, None, copy);
            }
            return Ok(());
        }
        let is_late = matches!(from.content(node.id), Content::Attribute(..))
            && !document.children(id).is_empty();
        if is_late {
            return Err(Failed);
        }
        let copy = document.copy(from, node.id);
        document.attach(id, None, copy);
        Ok(())
    }
}
