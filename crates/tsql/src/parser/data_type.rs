//! Types.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::span::Span;
use crate::syntax::{DataType, Name, ObjectName, TypeParameter, XmlSchema};
use crate::token::TokenKind;

/// Types of several words with their short names, the longer before their beginnings.
const LONG_NAMES: [(&[&str], &str); 10] = [
    (&["NATIONAL", "CHARACTER", "VARYING"], "nvarchar"),
    (&["NATIONAL", "CHAR", "VARYING"], "nvarchar"),
    (&["NATIONAL", "CHARACTER"], "nchar"),
    (&["NATIONAL", "CHAR"], "nchar"),
    (&["NATIONAL", "TEXT"], "ntext"),
    (&["CHARACTER", "VARYING"], "varchar"),
    (&["CHAR", "VARYING"], "varchar"),
    (&["BINARY", "VARYING"], "varbinary"),
    (&["NCHAR", "VARYING"], "nvarchar"),
    (&["DOUBLE", "PRECISION"], "float"),
];

impl Parser<'_> {
    /// `type [ ( parameter [ , parameter ] ) ]`
    pub(super) fn data_type(&mut self) -> Parsed<DataType> {
        let start = self.span();
        let name = match self.long_type_name(start) {
            Some(name) => name,
            None => self.object_name()?,
        };
        let mut parameters = Vec::new();
        let mut xml_schema = None;
        if self.is_kind(TokenKind::LeftParen) {
            if name.name.text.eq_ignore_ascii_case("xml") {
                xml_schema = Some(Box::new(self.parenthesised(Parser::xml_schema)?));
            } else {
                parameters = self.parenthesised_list(Parser::type_parameter)?;
            }
        }
        Ok(DataType { name, parameters, xml_schema, span: self.since(start) })
    }

    fn long_type_name(&mut self, start: Span) -> Option<ObjectName> {
        let (words, short) = LONG_NAMES.iter().find(|(words, _)| self.are(words))?;
        self.at += words.len();
        let span = self.since(start);
        let name = Name { text: (*short).into(), span };
        Some(ObjectName::simple(name))
    }

    fn type_parameter(&mut self) -> Parsed<TypeParameter> {
        if self.accept("MAX") {
            return Ok(TypeParameter::Max);
        }
        if !self.is_kind(TokenKind::Integer) {
            return Err(self.unexpected());
        }
        let span = self.span();
        let value = self.word();
        let invalid = Cause::InvalidLength { line: span.line, value: value.into() };
        let number = value.parse().map_err(|_| self.error(invalid))?;
        self.at += 1;
        Ok(TypeParameter::Number(number))
    }

    fn xml_schema(&mut self) -> Parsed<XmlSchema> {
        let is_document = self.is("DOCUMENT") && self.is_name_at(1) && self.accept("DOCUMENT");
        if !is_document && self.is("CONTENT") && self.is_name_at(1) {
            self.accept("CONTENT");
        }
        Ok(XmlSchema { is_document, collection: self.object_name()? })
    }
}
