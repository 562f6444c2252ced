//! FOR XML: which elements and attributes the columns of a query become.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    ForXml, Query, QueryBody, TableSource, TableSourceKind, XmlElements, XmlMode, XmlNamespace,
};

use crate::error::{Cause, Result, not_supported};
use crate::logical::{ExplicitColumn, ExplicitDirective, XmlForm, XmlRows};
use crate::query::Output;

/// A query with FOR XML.
pub(crate) struct XmlQuery<'q> {
    pub(crate) xml: &'q ForXml,
    pub(crate) query: &'q Query,
    pub(crate) outputs: &'q [Output],
}

fn failed<T>(number: i32, text: impl Into<String>, span: Span) -> Result<T> {
    Err(Cause::Other { number, text: text.into() }.at(span))
}

impl XmlQuery<'_> {
    pub(crate) fn form(&self, namespaces: &[XmlNamespace]) -> Result<XmlForm> {
        let XmlQuery { xml, query, .. } = self;
        let span = query.span;
        if xml.schema.is_some() || xml.has_xml_data {
            return not_supported("XMLSCHEMA and XMLDATA of FOR XML", span);
        }
        let element = xml.element.as_ref().map_or("row", |name| &name.value).to_owned();
        self.verify_prefixes(&element, namespaces)?;
        let mode = match xml.mode {
            XmlMode::Raw => {
                self.verify_named()?;
                XmlRows::Raw(element)
            }
            XmlMode::Path => {
                self.verify_paths(&element)?;
                XmlRows::Path(element)
            }
            XmlMode::Auto => {
                self.verify_named()?;
                self.auto()?
            }
            XmlMode::Explicit => self.explicit()?,
        };
        if xml.mode == XmlMode::Explicit && xml.elements.is_some() {
            let text = "ELEMENTS option is only allowed in RAW, AUTO, and PATH modes of FOR XML.";
            return failed(6825, text, span);
        }
        let root = xml.root.as_ref().map(|root| {
            root.as_ref().map_or_else(|| "root".to_owned(), |name| name.value.to_string())
        });
        if root.as_ref().is_some_and(String::is_empty) {
            return failed(6861, "Empty root tag name cannot be specified with FOR XML.", span);
        }
        let has_nil =
            |column: &ExplicitColumn| column.directive == ExplicitDirective::ElementXsiNil;
        let is_nil = matches!(&mode, XmlRows::Explicit(columns) if columns.iter().any(has_nil));
        Ok(XmlForm {
            has_elements: xml.mode == XmlMode::Path || xml.elements.is_some(),
            shows_nulls: is_nil || xml.elements == Some(XmlElements::XsiNil),
            namespaces: declarations(namespaces),
            mode,
            root,
        })
    }

    /// Prefixes of RAW and PATH are declared by WITH XMLNAMESPACES: 6846.
    fn verify_prefixes(&self, element: &str, namespaces: &[XmlNamespace]) -> Result<()> {
        if !matches!(self.xml.mode, XmlMode::Raw | XmlMode::Path) {
            return Ok(());
        }
        let is_declared = |prefix: &str| {
            let mut own = namespaces.iter().filter_map(|own| own.prefix.as_ref());
            prefix == "xml" || own.any(|own| &*own.text == prefix)
        };
        let columns = self.outputs.iter().map(|output| ("column", output.name.as_str()));
        for (kind, name) in columns.chain([("row", element)]) {
            let parts = name.split('/').map(|part| part.trim_start_matches('@'));
            let mut prefixes = parts.filter_map(|part| part.split_once(':')).map(|(own, _)| own);
            if let Some(prefix) = prefixes.find(|prefix| !is_declared(prefix)) {
                let text = format!(
                    "XML name space prefix '{prefix}' declaration is missing for FOR XML {kind} \
                     name '{name}'."
                );
                return failed(6846, text, self.query.span);
            }
        }
        Ok(())
    }

    /// RAW and AUTO need names: 6809.
    fn verify_named(&self) -> Result<()> {
        if self.outputs.iter().all(|output| !output.name.is_empty()) {
            return Ok(());
        }
        let text = "Unnamed tables cannot be used as XML identifiers as well as unnamed columns \
                    cannot be used for attribute names. Name unnamed columns/tables using AS in \
                    the SELECT statement.";
        failed(6809, text, self.query.span)
    }

    /// Attributes stand in an element, and before what else is in it.
    fn verify_paths(&self, element: &str) -> Result<()> {
        let span = self.query.span;
        let mut before: Vec<(&str, &str)> = Vec::new();
        for output in self.outputs {
            let name = output.name.as_str();
            let (path, last) = name.rsplit_once('/').unwrap_or(("", name));
            if last.starts_with('@') {
                if element.is_empty() && path.is_empty() {
                    let text = "Row tag omission (empty row tag name) cannot be used with \
                                attribute-centric FOR XML serialization.";
                    return failed(6864, text, span);
                }
                let is_late = before.iter().any(|(own, last)| {
                    let is_below = path.is_empty()
                        || own.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
                    (*own == path && !last.starts_with('@')) || (is_below && *own != path)
                });
                if is_late {
                    let text = format!(
                        "Attribute-centric column '{name}' must not come after a \
                         non-attribute-centric sibling in XML hierarchy in FOR XML PATH."
                    );
                    return failed(6852, text, span);
                }
            }
            before.push((path, last));
        }
        Ok(())
    }

    /// An element for each table, in the order in which the columns name them. What is no column
    /// belongs to the table before it.
    fn auto(&self) -> Result<XmlRows> {
        let QueryBody::Select(select) = &self.query.body else {
            return not_supported("FOR XML AUTO of a set operation", self.query.span);
        };
        let mut tables = Vec::new();
        select.from.iter().for_each(|source| exposed(source, &mut tables));
        if tables.is_empty() {
            let text = "FOR XML AUTO requires at least one table for generating XML tags. Use FOR \
                        XML RAW or add a FROM clause with a table name.";
            return failed(6800, text, self.query.span);
        }
        let mut known: Vec<&str> = Vec::new();
        let mut levels = Vec::new();
        let first = self.outputs.iter().find_map(|output| output.source.as_deref());
        for output in self.outputs {
            let source = output.source.as_deref().or(known.last().copied()).or(first);
            let source = source.unwrap_or_else(|| tables.first().map_or("", |(own, _)| own));
            let level = known.iter().position(|own| *own == source);
            levels.push(level.unwrap_or(known.len()));
            if level.is_none() {
                known.push(source);
            }
        }
        let shown = |own: &&str| {
            let table = tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(own));
            table.map_or_else(|| (*own).to_owned(), |(_, shown)| shown.clone())
        };
        Ok(XmlRows::Auto { names: known.iter().map(shown).collect(), levels })
    }

    fn explicit(&self) -> Result<XmlRows> {
        let span = self.query.span;
        if self.outputs.len() < 3 {
            let text = "FOR XML EXPLICIT requires at least three columns, including the tag \
                        column, the parent column, and at least one data column.";
            return failed(6801, text, span);
        }
        let mut columns = Vec::new();
        for output in self.outputs.iter().skip(2) {
            match explicit_column(&output.name) {
                Some(Ok(column)) => columns.push(column),
                Some(Err(directive)) => {
                    let what = format!("the directive {directive} of FOR XML EXPLICIT");
                    return not_supported(what, span);
                }
                None => {
                    let text = format!(
                        "FOR XML EXPLICIT query contains the invalid column name '{}'. Use the \
                         TAGNAME!TAGID!ATTRIBUTENAME[!..] format where TAGID is a positive \
                         integer.",
                        output.name
                    );
                    return failed(6802, text, span);
                }
            }
        }
        Ok(XmlRows::Explicit(columns))
    }
}

/// Tables and what stands for them, with their names as elements.
fn exposed(source: &TableSource, out: &mut Vec<(String, String)>) {
    let alias = source.alias.as_ref().map(|alias| alias.name.text.to_string());
    match (&source.kind, alias) {
        (TableSourceKind::Joined { first, joins }, _) => {
            exposed(first, out);
            joins.iter().for_each(|join| exposed(&join.right, out));
        }
        (_, Some(alias)) => out.push((alias.clone(), alias)),
        (TableSourceKind::Table(reference), None) => {
            let shown = crate::binder::shown(&reference.name);
            out.push((reference.name.name.text.to_string(), shown));
        }
        (TableSourceKind::Variable { name, .. }, None) => {
            out.push((name.text.to_string(), name.text.to_string()));
        }
        _ => {}
    }
}

/// `element!tag[!attribute[!directive]]`; the directive where it is not known here.
fn explicit_column(name: &str) -> Option<std::result::Result<ExplicitColumn, String>> {
    let mut parts = name.split('!');
    let element = parts.next().filter(|element| !element.is_empty())?.to_owned();
    let tag = parts.next()?.parse().ok().filter(|tag| *tag > 0)?;
    let attribute = parts.next().unwrap_or_default().to_owned();
    let directive = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "id" | "idref" | "idrefs" => ExplicitDirective::Attribute,
        "element" => ExplicitDirective::Element,
        "elementxsinil" => ExplicitDirective::ElementXsiNil,
        "xml" => ExplicitDirective::Xml,
        "cdata" => ExplicitDirective::Cdata,
        "hide" => ExplicitDirective::Hide,
        other => return Some(Err(other.to_owned())),
    };
    Some(Ok(ExplicitColumn { element, tag, attribute, directive }))
}

/// Namespaces as attributes.
fn declarations(namespaces: &[XmlNamespace]) -> String {
    let declared = namespaces.iter().rev().map(|own| {
        let uri = own.uri.value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        match &own.prefix {
            Some(prefix) => format!(" xmlns:{}=\"{uri}\"", prefix.text),
            None => format!(" xmlns=\"{uri}\""),
        }
    });
    declared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_explicit_columns_have_four_parts() {
        let column = explicit_column("a!2!b!ELEMENT").unwrap().unwrap();
        assert_eq!((column.element.as_str(), column.tag), ("a", 2));
        assert_eq!(column.directive, ExplicitDirective::Element);
        let text = explicit_column("a!1").unwrap().unwrap();
        assert_eq!((text.attribute.as_str(), text.directive), ("", ExplicitDirective::Attribute));
        assert_eq!(explicit_column("a!1!b!xmltext"), Some(Err("xmltext".to_owned())));
        for name in ["a", "a!0", "a!x!b", "!1!b"] {
            assert_eq!(explicit_column(name), None, "{name}");
        }
    }
}
