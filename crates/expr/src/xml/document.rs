//! A document as a tree of numbered nodes, read from the text of a stored value.
//!
//! Invariants
//! - Numbers ascend in document order: an element, its attributes, its children. A document that
//!   was edited is written and thrown away.
//! - Declarations of namespaces belong to their element and are no nodes, as in XPath; a written
//!   element declares what its names need and no ancestor that is written declares.

use extentdb_types::xml;

/// A node's number; 0 is the document itself.
pub(crate) type Id = usize;

/// The root of each document.
pub(crate) const ROOT: Id = 0;
/// What the prefix `xml` stands for in every document.
pub(crate) const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";

/// A qualified name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Name {
    pub(crate) uri: String,
    pub(crate) prefix: String,
    pub(crate) local: String,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Root,
    /// Its name, and the prefixes that it declares.
    Element(Name, Vec<(String, String)>),
    Attribute(Name, String),
    Text(String),
    Comment(String),
    /// Target and text.
    Instruction(String, String),
}

#[derive(Debug, Clone)]
struct Node {
    content: Content,
    parent: Option<Id>,
    children: Vec<Id>,
    attributes: Vec<Id>,
}

/// A tree of nodes.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    nodes: Vec<Node>,
}

impl Document {
    pub(crate) fn new() -> Document {
        let mut document = Document { nodes: Vec::new() };
        document.detached(Content::Root);
        document
    }

    /// The document of a stored value.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Document> {
        let mut text = String::new();
        xml::write_text(bytes, &mut text).ok()?;
        Reader { rest: &text, scopes: vec![Vec::new()] }.document()
    }

    /// A node that is nowhere yet.
    pub(crate) fn detached(&mut self, content: Content) -> Id {
        self.nodes.push(Node {
            content,
            parent: None,
            children: Vec::new(),
            attributes: Vec::new(),
        });
        self.nodes.len() - 1
    }

    /// A node as the last child, or attribute, of another one.
    pub(crate) fn add(&mut self, parent: Id, content: Content) -> Id {
        let id = self.detached(content);
        self.attach(parent, None, id);
        id
    }

    /// Makes a node a child before the one at `at`, or the last one; an attribute is one.
    pub(crate) fn attach(&mut self, parent: Id, at: Option<usize>, id: Id) {
        let is_attribute = matches!(self.content(id), Content::Attribute(..));
        if let Some(node) = self.nodes.get_mut(id) {
            node.parent = Some(parent);
        }
        let Some(node) = self.nodes.get_mut(parent) else { return };
        if is_attribute {
            node.attributes.push(id);
        } else {
            let at = at.unwrap_or(node.children.len()).min(node.children.len());
            node.children.insert(at, id);
        }
    }

    /// Takes a node, with all below it, out of the tree.
    pub(crate) fn detach(&mut self, id: Id) {
        let Some(parent) = self.parent(id) else { return };
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.retain(|own| *own != id);
            node.attributes.retain(|own| *own != id);
        }
    }

    pub(crate) fn content(&self, id: Id) -> &Content {
        self.nodes.get(id).map_or(&Content::Root, |node| &node.content)
    }

    pub(crate) fn content_mut(&mut self, id: Id) -> Option<&mut Content> {
        self.nodes.get_mut(id).map(|node| &mut node.content)
    }

    pub(crate) fn parent(&self, id: Id) -> Option<Id> {
        self.nodes.get(id)?.parent
    }

    pub(crate) fn children(&self, id: Id) -> &[Id] {
        self.nodes.get(id).map_or(&[], |node| &node.children)
    }

    pub(crate) fn attributes(&self, id: Id) -> &[Id] {
        self.nodes.get(id).map_or(&[], |node| &node.attributes)
    }

    /// The name of an element or attribute.
    pub(crate) fn name(&self, id: Id) -> Option<&Name> {
        match self.content(id) {
            Content::Element(name, _) | Content::Attribute(name, _) => Some(name),
            _ => None,
        }
    }

    /// All texts below a node, or what an attribute, a text or a comment says.
    pub(crate) fn text(&self, id: Id) -> String {
        let mut out = String::new();
        self.push_text(id, &mut out);
        out
    }

    fn push_text(&self, id: Id, out: &mut String) {
        match self.content(id) {
            Content::Text(text) | Content::Comment(text) | Content::Attribute(_, text) => {
                out.push_str(text);
            }
            Content::Instruction(_, text) => out.push_str(text),
            Content::Root | Content::Element(..) => {
                for child in self.children(id) {
                    let has_text = !matches!(
                        self.content(*child),
                        Content::Comment(_) | Content::Instruction(..)
                    );
                    if has_text {
                        self.push_text(*child, out);
                    }
                }
            }
        }
    }

    /// A copy of a node of another document, with all below it, that is nowhere yet.
    pub(crate) fn copy(&mut self, from: &Document, id: Id) -> Id {
        let copy = self.detached(from.content(id).clone());
        for child in from.attributes(id).iter().chain(from.children(id)) {
            let child = self.copy(from, *child);
            self.attach(copy, None, child);
        }
        copy
    }

    /// Writes a node as text.
    pub(crate) fn write(&self, id: Id, out: &mut String) {
        self.write_in(id, &mut Vec::new(), out);
    }

    fn write_in(&self, id: Id, scope: &mut Vec<(String, String)>, out: &mut String) {
        match self.content(id) {
            Content::Root => {
                self.children(id).iter().for_each(|child| self.write_in(*child, scope, out));
            }
            Content::Element(name, declared) => {
                let before = scope.len();
                self.write_element(id, name, declared, scope, out);
                scope.truncate(before);
            }
            Content::Attribute(_, text) | Content::Text(text) => escape(text, false, out),
            Content::Comment(text) => out.push_str(&format!("<!--{text}-->")),
            Content::Instruction(target, text) if text.is_empty() => {
                out.push_str(&format!("<?{target}?>"));
            }
            Content::Instruction(target, text) => out.push_str(&format!("<?{target} {text}?>")),
        }
    }

    fn write_element(
        &self,
        id: Id,
        name: &Name,
        declared: &[(String, String)],
        scope: &mut Vec<(String, String)>,
        out: &mut String,
    ) {
        let tag = name.written();
        out.push_str(&format!("<{tag}"));
        let own = declared.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
        let attributes = self.attributes(id);
        let names = attributes.iter().filter_map(|own| self.name(*own));
        let names = names.filter(|name| !name.prefix.is_empty()).chain([name]);
        let used = names.map(|name| (name.prefix.as_str(), name.uri.as_str()));
        for (prefix, uri) in own.chain(used) {
            declare(prefix, uri, scope, out);
        }
        for attribute in attributes {
            if let Content::Attribute(name, text) = self.content(*attribute) {
                out.push_str(&format!(" {}=\"", name.written()));
                escape(text, true, out);
                out.push('"');
            }
        }
        if self.children(id).is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        self.children(id).iter().for_each(|child| self.write_in(*child, scope, out));
        out.push_str(&format!("</{tag}>"));
    }
}

/// Declares what a prefix stands for, where that is not in scope.
fn declare(prefix: &str, uri: &str, scope: &mut Vec<(String, String)>, out: &mut String) {
    let now = scope.iter().rev().find(|(own, _)| own == prefix).map_or("", |(_, uri)| uri);
    if now == uri || prefix == "xml" {
        return;
    }
    scope.push((prefix.to_owned(), uri.to_owned()));
    let name = if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{prefix}") };
    out.push_str(&format!(" {name}=\""));
    escape(uri, true, out);
    out.push('"');
}

impl Name {
    /// The name as it is written in the document.
    pub(crate) fn written(&self) -> String {
        match self.prefix.is_empty() {
            true => self.local.clone(),
            false => format!("{}:{}", self.prefix, self.local),
        }
    }
}

/// Appends a text of an element or attribute, what is no text there by its reference.
pub fn escape(text: &str, is_attribute: bool, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if is_attribute => out.push_str("&quot;"),
            '\n' if is_attribute => out.push_str("&#x0A;"),
            '\t' if is_attribute => out.push_str("&#x09;"),
            '\r' => out.push_str("&#x0D;"),
            other => out.push(other),
        }
    }
}

/// A text with its references resolved.
pub(crate) fn unescaped(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (name, after) = after.split_once(';')?;
        let hex = name.strip_prefix("#x").map(|digits| u32::from_str_radix(digits, 16));
        let number = hex.or_else(|| name.strip_prefix('#').map(str::parse));
        out.push(match (name, number) {
            ("lt", _) => '<',
            ("gt", _) => '>',
            ("amp", _) => '&',
            ("quot", _) => '"',
            ("apos", _) => '\'',
            (_, Some(Ok(number))) => char::from_u32(number)?,
            _ => return None,
        });
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Reads the text that a stored value is written as.
struct Reader<'t> {
    rest: &'t str,
    /// Prefixes declared by each open element.
    scopes: Vec<Vec<(String, String)>>,
}

impl<'t> Reader<'t> {
    fn document(mut self) -> Option<Document> {
        let mut document = Document::new();
        let mut open = vec![ROOT];
        while !self.rest.is_empty() {
            let parent = *open.last()?;
            if let Some(rest) = self.rest.strip_prefix("<!--") {
                let (text, rest) = rest.split_once("-->")?;
                self.rest = rest;
                document.add(parent, Content::Comment(text.to_owned()));
            } else if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
                let (text, rest) = rest.split_once("]]>")?;
                self.rest = rest;
                add_text(&mut document, parent, text.to_owned());
            } else if let Some(rest) = self.rest.strip_prefix("<?") {
                let (text, rest) = rest.split_once("?>")?;
                self.rest = rest;
                let (target, text) = text.split_once(' ').unwrap_or((text, ""));
                document.add(parent, Content::Instruction(target.to_owned(), text.to_owned()));
            } else if let Some(rest) = self.rest.strip_prefix("</") {
                self.rest = rest.split_once('>')?.1;
                open.pop();
                self.scopes.pop();
            } else if let Some(rest) = self.rest.strip_prefix('<') {
                self.rest = rest;
                if let Some(id) = self.element(&mut document, parent)? {
                    open.push(id);
                }
            } else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                add_text(&mut document, parent, unescaped(text)?);
            }
        }
        Some(document)
    }

    fn word(&mut self) -> &'t str {
        let is_end = |letter: char| letter.is_whitespace() || "=/>".contains(letter);
        let (word, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    /// A start tag; the element's number while it is open.
    fn element(&mut self, document: &mut Document, parent: Id) -> Option<Option<Id>> {
        let tag = self.word();
        let mut attributes = Vec::new();
        let mut declared = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with(['/', '>']) {
                break;
            }
            let name = self.word();
            let rest = self.rest.trim_start().strip_prefix('=')?.trim_start();
            let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
            let (value, rest) = rest.get(1..)?.split_once(quote)?;
            self.rest = rest;
            let value = unescaped(value)?;
            match name.strip_prefix("xmlns:") {
                Some(prefix) => declared.push((prefix.to_owned(), value)),
                None if name == "xmlns" => declared.push((String::new(), value)),
                None => attributes.push((name, value)),
            }
        }
        self.scopes.push(declared.clone());
        let name = self.name(tag, true);
        let id = document.add(parent, Content::Element(name, declared));
        for (name, value) in attributes {
            let name = self.name(name, false);
            document.add(id, Content::Attribute(name, value));
        }
        if let Some(rest) = self.rest.strip_prefix('>') {
            self.rest = rest;
            return Some(Some(id));
        }
        self.scopes.pop();
        self.rest = self.rest.strip_prefix("/>")?;
        Some(None)
    }

    /// A name with what its prefix stands for; attributes without a prefix are in no namespace.
    fn name(&self, text: &str, has_default: bool) -> Name {
        let (prefix, local) = text.split_once(':').unwrap_or(("", text));
        let mut declared = self.scopes.iter().rev().flatten();
        let uri = match (prefix, has_default) {
            ("", false) => "",
            ("xml", _) => XML_URI,
            _ => declared.find(|(own, _)| own == prefix).map_or("", |(_, uri)| uri),
        };
        Name {
            uri: uri.to_owned(),
            prefix: prefix.to_owned(),
            local: local.to_owned(),
        }
    }
}

/// Adds a text, which is one with the text before it.
fn add_text(document: &mut Document, parent: Id, text: String) {
    let last = document.children(parent).last().copied();
    if let Some(Content::Text(before)) = last.and_then(|id| document.content_mut(id)) {
        before.push_str(&text);
        return;
    }
    document.add(parent, Content::Text(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::decode(&xml::encode_text(text).unwrap()).unwrap()
    }

    #[test]
    fn documents_are_written_as_they_were_read() {
        for text in ["<a x=\"1&lt;\"><b/>t&amp;<!--c--><?p i?></a>", "<a/>t<b/>", ""] {
            let mut out = String::new();
            document(text).write(ROOT, &mut out);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn text_of_an_element_is_all_text_below_it() {
        assert_eq!(document("<a>1<b>2<!--x--></b>3</a>").text(ROOT), "123");
    }
}
