//! `FOR BROWSE`, `FOR XML`, `FOR JSON`.

use super::{Parsed, Parser};
use crate::syntax::{ForClause, ForJson, ForXml, StringLiteral, XmlElements, XmlMode};
use crate::token::TokenKind;

impl Parser<'_> {
    /// The FOR clause of a query; FOR of cursors is left where it is.
    pub(super) fn for_clause(&mut self) -> Parsed<Option<ForClause>> {
        if self.accept_all(&["FOR", "BROWSE"]) {
            return Ok(Some(ForClause::Browse));
        }
        if self.accept_all(&["FOR", "XML"]) {
            return self.for_xml().map(ForClause::Xml).map(Some);
        }
        if self.accept_all(&["FOR", "JSON"]) {
            return self.for_json().map(ForClause::Json).map(Some);
        }
        Ok(None)
    }

    /// `[ ( 'name' ) ]`
    fn optional_string(&mut self) -> Parsed<Option<StringLiteral>> {
        let has_string = self.is_kind(TokenKind::LeftParen);
        self.when(has_string, |parser| parser.parenthesised(Parser::string))
    }

    fn for_xml(&mut self) -> Parsed<ForXml> {
        const MODES: [(&str, XmlMode); 4] = [
            ("RAW", XmlMode::Raw),
            ("AUTO", XmlMode::Auto),
            ("EXPLICIT", XmlMode::Explicit),
            ("PATH", XmlMode::Path),
        ];
        let mode = self.expect_choice(&MODES)?;
        let has_element = matches!(mode, XmlMode::Raw | XmlMode::Path);
        let element = if has_element { self.optional_string()? } else { None };
        let mut xml = ForXml {
            mode,
            element,
            has_binary_base64: false,
            has_type: false,
            root: None,
            elements: None,
            schema: None,
            has_xml_data: false,
        };
        while self.accept_kind(TokenKind::Comma) {
            self.xml_option(&mut xml)?;
        }
        Ok(xml)
    }

    fn xml_option(&mut self, xml: &mut ForXml) -> Parsed<()> {
        if self.accept_all(&["BINARY", "BASE64"]) {
            xml.has_binary_base64 = true;
        } else if self.accept("TYPE") {
            xml.has_type = true;
        } else if self.accept("ROOT") {
            xml.root = Some(self.optional_string()?);
        } else if self.accept("ELEMENTS") {
            let kinds = [("XSINIL", XmlElements::XsiNil), ("ABSENT", XmlElements::Absent)];
            xml.elements = Some(self.choose(&kinds).unwrap_or(XmlElements::Plain));
        } else if self.accept("XMLSCHEMA") {
            xml.schema = Some(self.optional_string()?);
        } else if self.accept("XMLDATA") {
            xml.has_xml_data = true;
        } else {
            return Err(self.unexpected());
        }
        Ok(())
    }

    fn for_json(&mut self) -> Parsed<ForJson> {
        let is_auto = self.expect_choice(&[("AUTO", true), ("PATH", false)])?;
        let mut json = ForJson {
            is_auto,
            root: None,
            include_null_values: false,
            without_array_wrapper: false,
        };
        while self.accept_kind(TokenKind::Comma) {
            if self.accept("ROOT") {
                json.root = Some(self.optional_string()?);
            } else if self.accept("INCLUDE_NULL_VALUES") {
                json.include_null_values = true;
            } else if self.accept("WITHOUT_ARRAY_WRAPPER") {
                json.without_array_wrapper = true;
            } else {
                return Err(self.unexpected());
            }
        }
        Ok(json)
    }
}
