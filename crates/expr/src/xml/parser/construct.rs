//! Constructors: `<name>…</name>`, and computed elements, attributes and texts.

use super::{Expr, Parsed, Parser, is_name_part};
use crate::xml::document::{Name, unescaped};
use crate::xml::query::Element;

/// What white space between two parts is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blanks {
    Kept,
    /// Nothing, where there is nothing else.
    Boundary,
}

impl Parser<'_> {
    /// `element name { … }` and the like.
    pub(super) fn computed(&mut self, word: &str) -> Parsed {
        self.expect_word(word)?;
        if word == "comment" {
            return self.refused("a computed comment in XQuery");
        }
        let name = match word {
            "text" => None,
            _ => {
                self.skip_space();
                if self.rest().starts_with('{') {
                    return self.refused("a computed name in XQuery");
                }
                Some(self.name(word == "element")?)
            }
        };
        self.expect("{")?;
        let content = match self.accept("}") {
            true => Expr::Sequence(Vec::new()),
            false => {
                let content = self.sequence()?;
                self.expect("}")?;
                content
            }
        };
        Ok(match (word, name) {
            ("element", Some(name)) => Expr::Element(Box::new(Element {
                name,
                declared: Vec::new(),
                attributes: Vec::new(),
                content: vec![content],
            })),
            ("attribute", Some(name)) => Expr::Attribute(name, Box::new(content)),
            _ => Expr::TextNode(Box::new(content)),
        })
    }

    /// `<name …>…</name>`
    pub(super) fn element(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > super::DEPTH_MAX {
            return self.refused("an XQuery of so many levels");
        }
        let known = self.namespaces.len();
        let done = self.element_inner();
        self.namespaces.truncate(known);
        self.depth -= 1;
        done
    }

    fn element_inner(&mut self) -> Parsed {
        self.expect("<")?;
        if self.rest().starts_with(['!', '?']) {
            return self.refused("a comment or processing instruction made by XQuery");
        }
        let tag = self.raw_name()?;
        let mut raw = Vec::new();
        loop {
            self.skip_space();
            if self.rest().starts_with(['/', '>']) {
                break;
            }
            let name = self.raw_name()?;
            self.expect("=")?;
            raw.push((name, self.attribute_value()?));
        }
        let mut declared = Vec::new();
        for (name, value) in &raw {
            let prefix = match name.strip_prefix("xmlns:") {
                Some(prefix) => prefix,
                None if name == "xmlns" => "",
                None => continue,
            };
            let [Expr::Text(uri)] = value.as_slice() else { return self.unexpected() };
            declared.push((prefix.to_owned(), uri.clone()));
        }
        self.namespaces.extend(declared.iter().cloned());
        let name = self.resolved(&tag, true)?;
        let mut attributes = Vec::new();
        for (name, value) in raw.into_iter().filter(|(name, _)| !name.starts_with("xmlns")) {
            attributes.push((self.resolved(&name, false)?, value));
        }
        let content = match self.accept("/>") {
            true => Vec::new(),
            false => {
                self.expect(">")?;
                self.content(&tag)?
            }
        };
        Ok(Expr::Element(Box::new(Element { name, declared, attributes, content })))
    }

    /// A name as it is written, its prefix in it.
    fn raw_name(&mut self) -> Parsed<String> {
        let rest = self.rest();
        let end = rest.find(|letter| !is_name_part(letter) && letter != ':').unwrap_or(rest.len());
        match rest.get(..end).filter(|name| name.starts_with(super::is_name_start)) {
            Some(name) => {
                self.at += end;
                Ok(name.to_owned())
            }
            None => self.unexpected(),
        }
    }

    fn resolved(&self, raw: &str, is_element: bool) -> Parsed<Name> {
        let (prefix, local) = raw.split_once(':').unwrap_or(("", raw));
        let uri = match prefix {
            "" if !is_element => String::new(),
            prefix => self.uri_of(prefix)?,
        };
        Ok(Name { uri, prefix: prefix.to_owned(), local: local.to_owned() })
    }

    /// Texts and `{ … }` between quotes.
    fn attribute_value(&mut self) -> Parsed<Vec<Expr>> {
        self.skip_space();
        let quote = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => return self.unexpected(),
        };
        self.at += 1;
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            if self.enclosed(&mut parts, &mut text, Blanks::Kept)? {
                continue;
            }
            let Some(letter) = self.rest().chars().next() else { return self.unexpected() };
            self.at += letter.len_utf8();
            if letter == quote {
                break;
            }
            text.push(letter);
        }
        self.end_text(&mut parts, &mut text, Blanks::Kept)?;
        if parts.is_empty() {
            parts.push(Expr::Text(String::new()));
        }
        Ok(parts)
    }

    /// What stands between the tags of an element; white space alone is nothing.
    fn content(&mut self, tag: &str) -> Parsed<Vec<Expr>> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            if self.enclosed(&mut parts, &mut text, Blanks::Boundary)? {
                continue;
            }
            let rest = self.rest();
            if let Some(rest) = rest.strip_prefix("</") {
                self.end_text(&mut parts, &mut text, Blanks::Boundary)?;
                let is_own = rest.strip_prefix(tag).map(str::trim_start);
                let Some(after) = is_own.and_then(|rest| rest.strip_prefix('>')) else {
                    return self.unexpected();
                };
                self.at = self.text.len() - after.len();
                return Ok(parts);
            }
            if rest.starts_with('<') {
                self.end_text(&mut parts, &mut text, Blanks::Boundary)?;
                parts.push(self.element()?);
                continue;
            }
            let Some(letter) = rest.chars().next() else { return self.unexpected() };
            self.at += letter.len_utf8();
            text.push(letter);
        }
    }

    /// `{ … }`, or a doubled bracket, which is one.
    fn enclosed(
        &mut self,
        parts: &mut Vec<Expr>,
        text: &mut String,
        blanks: Blanks,
    ) -> Parsed<bool> {
        for (doubled, one) in [("{{", '{'), ("}}", '}')] {
            if self.rest().starts_with(doubled) {
                self.at += 2;
                text.push(one);
                return Ok(true);
            }
        }
        if !self.rest().starts_with('{') {
            return Ok(false);
        }
        self.end_text(parts, text, blanks)?;
        self.expect("{")?;
        parts.push(self.sequence()?);
        self.expect("}")?;
        Ok(true)
    }

    fn end_text(&mut self, parts: &mut Vec<Expr>, text: &mut String, blanks: Blanks) -> Parsed<()> {
        if text.is_empty() || (blanks == Blanks::Boundary && text.trim().is_empty()) {
            text.clear();
            return Ok(());
        }
        match unescaped(&std::mem::take(text)) {
            Some(text) => {
                parts.push(Expr::Text(text));
                Ok(())
            }
            None => self.unexpected(),
        }
    }
}
