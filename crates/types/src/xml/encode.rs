//! XML text to binary XML, in its plainest tokens: names, elements, attributes, comments,
//! processing instructions and texts (SQL-NVARCHAR).
//!
//! What has no certain form here is refused by name: document types, encodings other than UTF-16.
//! As the product does by default, text between two tags that has white space only is left out,
//! and neither the XML declaration nor the mark of a CDATA section is kept. Several elements and
//! texts may stand side by side. Declarations of namespaces are attributes.

use std::collections::HashMap;

use super::token;

/// Elements that may be open at once, as in the product (6335).
const DEPTH_MAX: usize = 128;
const SIGNATURE: [u8; 5] = [0xDF, 0xFF, 0x01, 0xB0, 0x04];
const NVARCHAR: u8 = 0x11;

/// Why a text cannot be stored as xml.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeXmlError {
    /// It is not well formed.
    #[error("XML text is not well formed at byte {at}: {what}")]
    Malformed {
        /// Offset in the text.
        at: usize,
        /// What is wrong, or missing.
        what: &'static str,
    },
    /// It is, but has no certain binary form here.
    #[error("XML with {what}, at byte {at}, is not supported")]
    NotSupported {
        /// Offset in the text.
        at: usize,
        /// What it has.
        what: &'static str,
    },
}

/// The stored form of an XML text.
///
/// # Errors
/// See [`EncodeXmlError`].
pub fn encode_text(text: &str) -> Result<Vec<u8>, EncodeXmlError> {
    let mut encoder = Encoder {
        text,
        at: 0,
        out: SIGNATURE.to_vec(),
        names: HashMap::new(),
        qualified: HashMap::new(),
        scopes: Vec::new(),
    };
    encoder.declaration()?;
    encoder.content()?;
    Ok(encoder.out)
}

/// What has a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Element,
    Attribute,
}

struct Encoder<'t> {
    text: &'t str,
    at: usize,
    out: Vec<u8>,
    /// Names by their text.
    names: HashMap<String, usize>,
    /// Qualified names, by the numbers of namespace, prefix and name.
    qualified: HashMap<[usize; 3], usize>,
    /// Prefixes and what they stand for, of each open element.
    scopes: Vec<Vec<(&'t str, String)>>,
}

impl<'t> Encoder<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn malformed<T>(&self, what: &'static str) -> Result<T, EncodeXmlError> {
        Err(EncodeXmlError::Malformed { at: self.at, what })
    }

    fn refused<T>(&self, what: &'static str) -> Result<T, EncodeXmlError> {
        Err(EncodeXmlError::NotSupported { at: self.at, what })
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// What stands before a mark, which is passed over.
    fn until(&mut self, mark: &str, what: &'static str) -> Result<&'t str, EncodeXmlError> {
        match self.rest().split_once(mark) {
            Some((before, _)) => {
                self.at += before.len() + mark.len();
                Ok(before)
            }
            None => self.malformed(what),
        }
    }

    fn skip_space(&mut self) -> bool {
        let rest = self.rest();
        let space = rest.len() - rest.trim_start_matches(is_space).len();
        self.at += space;
        space > 0
    }

    fn declaration(&mut self) -> Result<(), EncodeXmlError> {
        if !self.rest().starts_with("<?xml") || !self.rest()[5..].starts_with(is_space) {
            return Ok(());
        }
        let declaration = self.until("?>", "the end of the declaration")?.to_ascii_lowercase();
        let is_utf16 = ["\"utf-16\"", "'utf-16'"].iter().any(|name| declaration.contains(name));
        if declaration.contains("encoding") && !is_utf16 {
            return self.refused("an encoding other than UTF-16");
        }
        Ok(())
    }

    fn content(&mut self) -> Result<(), EncodeXmlError> {
        let mut open: Vec<&str> = Vec::new();
        while !self.rest().is_empty() {
            if self.takes("<!--") {
                let comment = self.until("-->", "the end of a comment")?;
                self.out.push(token::COMMENT);
                self.put_text(&comment.replace("\r\n", "\n"));
            } else if self.takes("<?") {
                self.instruction()?;
            } else if self.takes("<![CDATA[") {
                let text = self.until("]]>", "the end of a CDATA section")?;
                if !text.is_empty() {
                    self.put_value(&text.replace("\r\n", "\n"));
                }
            } else if self.rest().starts_with("<!") {
                return self.refused("a document type");
            } else if self.takes("</") {
                let name = self.name()?;
                self.skip_space();
                if !self.takes(">") || open.pop() != Some(name) {
                    return self.malformed("the end tag of the open element");
                }
                self.scopes.pop();
                self.out.push(token::END_ELEMENT);
            } else if self.takes("<") {
                let name = self.name()?;
                if self.start_tag(name)? {
                    open.push(name);
                }
                if open.len() > DEPTH_MAX {
                    return self.refused("more than 128 open elements");
                }
            } else {
                self.characters()?;
            }
        }
        if open.is_empty() { Ok(()) } else { self.malformed("an end tag") }
    }

    /// Text up to the next tag; white space alone is left out.
    fn characters(&mut self) -> Result<(), EncodeXmlError> {
        let end = self.rest().find('<').unwrap_or(self.rest().len());
        let raw = &self.rest()[..end];
        if raw.contains("]]>") {
            return self.malformed("no ]]> in a text");
        }
        if !raw.trim_matches(is_space).is_empty() {
            let text = self.unescaped(&raw.replace("\r\n", "\n"))?;
            self.put_value(&text);
        }
        self.at += end;
        Ok(())
    }

    /// The rest of a start tag; false for that of an empty element, which is closed.
    fn start_tag(&mut self, name: &'t str) -> Result<bool, EncodeXmlError> {
        let mut attributes: Vec<(&str, String)> = Vec::new();
        loop {
            let has_space = self.skip_space();
            if self.takes("/>") || self.rest().starts_with('>') {
                break;
            }
            if !has_space {
                return self.malformed("white space or the end of the tag");
            }
            let attribute = self.name()?;
            if attributes.iter().any(|(own, _)| *own == attribute) {
                return self.malformed("no attribute twice");
            }
            attributes.push((attribute, self.attribute()?));
        }
        let declared = attributes.iter().filter_map(|(name, uri)| match name.split_once(':') {
            Some(("xmlns", prefix)) => Some((prefix, uri.clone())),
            None if *name == "xmlns" => Some(("", uri.clone())),
            _ => None,
        });
        self.scopes.push(declared.collect());
        let number = self.number_of(name, Kind::Element)?;
        self.out.push(token::ELEMENT);
        self.put_number(number);
        let has_attributes = !attributes.is_empty();
        for (name, value) in attributes {
            let number = self.number_of(name, Kind::Attribute)?;
            self.out.push(token::ATTRIBUTE);
            self.put_number(number);
            if !value.is_empty() {
                self.put_value(&value);
            }
        }
        if has_attributes {
            self.out.push(token::END_ATTRIBUTES);
        }
        if self.takes(">") {
            return Ok(true);
        }
        self.scopes.pop();
        self.out.push(token::END_ELEMENT);
        Ok(false)
    }

    /// The value of an attribute, with the sign before it.
    fn attribute(&mut self) -> Result<String, EncodeXmlError> {
        self.skip_space();
        if !self.takes("=") {
            return self.malformed("the value of an attribute");
        }
        self.skip_space();
        let quote = match self.rest().chars().next() {
            Some('"') => "\"",
            Some('\'') => "'",
            _ => return self.malformed("a quote"),
        };
        self.at += 1;
        let raw = self.until(quote, "the end of a value")?;
        if raw.contains('<') {
            return self.malformed("no < in a value");
        }
        self.unescaped(&raw.replace("\r\n", " ").replace(['\r', '\n', '\t'], " "))
    }

    fn instruction(&mut self) -> Result<(), EncodeXmlError> {
        let target = self.name()?;
        if target.eq_ignore_ascii_case("xml") {
            return self.malformed("no declaration behind the beginning");
        }
        let text = self.until("?>", "the end of an instruction")?;
        let number = self.name_number(target);
        self.out.push(token::PI);
        self.put_number(number);
        self.put_text(text.trim_start_matches(is_space));
        Ok(())
    }

    fn name(&mut self) -> Result<&'t str, EncodeXmlError> {
        let rest = self.rest();
        let is_part =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':');
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let name = &rest[..end];
        let begins = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        let is_local = |name: &str| {
            name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
                && !name.contains(':')
        };
        let is_qualified = name.split_once(':').is_none_or(|(_, local)| is_local(local));
        if !begins || !is_qualified {
            return self.malformed("a name");
        }
        self.at += end;
        Ok(name)
    }

    /// A text with its references resolved.
    fn unescaped(&self, raw: &str) -> Result<String, EncodeXmlError> {
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once('&') {
            out.push_str(before);
            let Some((name, after)) = after.split_once(';') else {
                return self.malformed("the end of a reference");
            };
            let hex = name.strip_prefix("#x").map(|digits| u32::from_str_radix(digits, 16));
            let number = hex.or_else(|| name.strip_prefix('#').map(str::parse));
            let letter = match (name, number) {
                ("lt", _) => Some('<'),
                ("gt", _) => Some('>'),
                ("amp", _) => Some('&'),
                ("quot", _) => Some('"'),
                ("apos", _) => Some('\''),
                (_, Some(Ok(number))) => char::from_u32(number),
                _ => None,
            };
            match letter {
                Some(letter) => out.push(letter),
                None => return self.malformed("a known reference"),
            }
            rest = after;
        }
        out.push_str(rest);
        let is_allowed =
            |letter: char| !letter.is_control() || matches!(letter, '\t' | '\n' | '\r');
        if out.chars().all(is_allowed) { Ok(out) } else { self.malformed("no control character") }
    }

    /// The number of a qualified name, which is written before its first use.
    fn number_of(&mut self, name: &'t str, kind: Kind) -> Result<usize, EncodeXmlError> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let uri = self.uri_of(prefix, name, kind)?;
        let mut numbers = [0; 3];
        for (number, part) in numbers.iter_mut().zip([uri.as_str(), prefix, local]) {
            *number = if part.is_empty() { 0 } else { self.name_number(part) };
        }
        if let Some(number) = self.qualified.get(&numbers) {
            return Ok(*number);
        }
        let number = self.qualified.len() + 1;
        self.qualified.insert(numbers, number);
        self.out.push(token::QNAME);
        numbers.into_iter().for_each(|part| self.put_number(part));
        Ok(number)
    }

    /// What a prefix stands for; nothing for declarations and attributes without a prefix.
    fn uri_of(&self, prefix: &str, name: &str, kind: Kind) -> Result<String, EncodeXmlError> {
        let is_plain = match prefix {
            "" => kind == Kind::Attribute || name == "xmlns",
            "xmlns" => true,
            _ => false,
        };
        if is_plain {
            return Ok(String::new());
        }
        let declared = self.scopes.iter().rev().flatten().find(|(own, _)| *own == prefix);
        match (declared, prefix) {
            (Some((_, uri)), _) => Ok(uri.clone()),
            (None, "") => Ok(String::new()),
            (None, "xml") => Ok("http://www.w3.org/XML/1998/namespace".to_owned()),
            _ => self.malformed("the declaration of a prefix"),
        }
    }

    /// The number of a name, which is written before its first use.
    fn name_number(&mut self, name: &str) -> usize {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = self.names.len() + 1;
        self.names.insert(name.to_owned(), number);
        self.out.push(token::NAME);
        self.put_text(name);
        number
    }

    fn put_value(&mut self, text: &str) {
        self.out.push(NVARCHAR);
        self.put_text(text);
    }

    fn put_text(&mut self, text: &str) {
        self.put_number(text.encode_utf16().count());
        self.out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }

    fn put_number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.out.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.out.push(number as u8);
    }
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use super::super::write_text;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let bytes = encode_text(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut read = String::new();
        write_text(&bytes, &mut read).unwrap();
        assert_eq!(read, expected);
        assert_eq!(encode_text(&read).unwrap(), bytes, "what was read is stored as before");
    }

    #[test]
    fn an_element_is_exactly_these_bytes() {
        assert_eq!(encode_text("<a>b</a>").unwrap(), super::super::tests::element_with_text("b"));
    }

    #[test]
    fn documents_are_read_back() {
        check("<a/>", "<a/>");
        check("<a></a>", "<a/>");
        check(
            "<a>\n  <b x='1' y=\"\"/>\n  <b>two</b>\n</a>",
            "<a><b x=\"1\" y=\"\"/><b>two</b></a>",
        );
        check("<?xml version=\"1.0\"?><a>1 &lt; 2 &amp; &#228;</a>", "<a>1 &lt; 2 &amp; ä</a>");
        check("<a><!-- note --><?do it?></a>", "<a><!-- note --><?do it?></a>");
        check("one<a/>two<a/>", "one<a/>two<a/>");
        check("<a xmlns='urn:x'><b/></a>", "<a xmlns=\"urn:x\"><b/></a>");
        check(
            "<p:a xmlns:p='urn:x' p:b='1'><p:c xmlns:p='urn:y'/></p:a>",
            "<p:a xmlns:p=\"urn:x\" p:b=\"1\"><p:c xmlns:p=\"urn:y\"/></p:a>",
        );
        check("<a xml:lang='de'><![CDATA[1 < 2]]></a>", "<a xml:lang=\"de\">1 &lt; 2</a>");
        let long = format!("<a>{}</a>", "text ".repeat(10_000));
        check(&long, &long);
    }

    #[test]
    fn what_is_not_certain_is_refused_by_name() {
        let refused = |text| matches!(encode_text(text), Err(EncodeXmlError::NotSupported { .. }));
        assert!(refused("<!DOCTYPE a><a/>"));
        assert!(refused("<?xml version='1.0' encoding='utf-8'?><a/>"));
        assert!(refused(&"<a>".repeat(129)));
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        let malformed = |text| matches!(encode_text(text), Err(EncodeXmlError::Malformed { .. }));
        for text in [
            "<a>",
            "<a></b>",
            "</a>",
            "<a x=1/>",
            "<a x='1' x='2'/>",
            "<a>&x;</a>",
            "<1/>",
            "<a",
            "<a>&#1;</a>",
            "<a x='<'/>",
            "<!-- x",
            "<a b='1'c='2'/>",
            "<p:a/>",
            "<a p:b='1'/>",
            "<p:a xmlns:p='u'></p:a><p:b/>",
            "<a:b:c xmlns:a='u'/>",
            "<a><![CDATA[x</a>",
        ] {
            assert!(malformed(text), "{text}: {:?}", encode_text(text));
        }
    }
}
