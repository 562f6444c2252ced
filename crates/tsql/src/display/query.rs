//! Queries.

use std::fmt::{self, Display, Formatter};

use super::name::names;
use super::{comma, flag, list, optional};
use crate::syntax::{
    CommonTable, ForClause, ForJson, ForXml, GroupBy, GroupItem, GroupWith, Into, NamedWindow,
    Offset, Query, QueryBody, Select, SelectItem, SetOperator, SetTerm, StringLiteral, Top, With,
    XmlElements, XmlMode, XmlNamespace,
};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", optional("", self.with.as_ref(), " "), self.body)?;
        write!(f, "{}", list(" ORDER BY ", &self.order_by, ""))?;
        write!(f, "{}", optional(" ", self.offset.as_ref(), ""))?;
        write!(f, "{}", optional(" ", self.for_clause.as_ref(), ""))
    }
}

impl Display for With {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("WITH ")?;
        let has_more = !self.tables.is_empty();
        let context = self.change_tracking_context.as_ref();
        write!(f, "{}", list("XMLNAMESPACES (", &self.namespaces, ")"))?;
        let has_namespaces = !self.namespaces.is_empty();
        f.write_str(flag(has_namespaces && (has_more || context.is_some()), ", "))?;
        write!(f, "{}", optional("CHANGE_TRACKING_CONTEXT (", context, ")"))?;
        write!(f, "{}{}", flag(context.is_some() && has_more, ", "), comma(&self.tables))
    }
}

impl Display for XmlNamespace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.prefix {
            Some(prefix) => write!(f, "{} AS {prefix}", self.uri),
            None => write!(f, "DEFAULT {}", self.uri),
        }
    }
}

impl Display for CommonTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} AS ({})", self.name, names(&self.columns), self.query)
    }
}

impl Display for QueryBody {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            QueryBody::Select(select) => write!(f, "{select}"),
            QueryBody::Parenthesised(query) => write!(f, "({query})"),
            QueryBody::Set { first, rest } => {
                write!(f, "{first}")?;
                rest.iter().try_for_each(|term| write!(f, " {term}"))
            }
        }
    }
}

impl Display for SetTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = match self.operator {
            SetOperator::Union => "UNION",
            SetOperator::UnionAll => "UNION ALL",
            SetOperator::Except => "EXCEPT",
            SetOperator::Intersect => "INTERSECT",
        };
        write!(f, "{word} {}", self.body)
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SELECT ")?;
        f.write_str(flag(self.is_distinct, "DISTINCT "))?;
        write!(f, "{}{}", optional("", self.top.as_ref(), " "), comma(&self.items))?;
        write!(f, "{}", optional(" ", self.into.as_ref(), ""))?;
        write!(f, "{}", list(" FROM ", &self.from, ""))?;
        write!(f, "{}", optional(" WHERE ", self.filter.as_ref(), ""))?;
        write!(f, "{}", optional(" ", self.group_by.as_ref(), ""))?;
        write!(f, "{}", optional(" HAVING ", self.having.as_ref(), ""))?;
        write!(f, "{}", list(" WINDOW ", &self.windows, ""))
    }
}

impl Display for Top {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let percent = flag(self.is_percent, " PERCENT");
        write!(f, "TOP ({}){percent}{}", self.count, flag(self.with_ties, " WITH TIES"))
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SelectItem::Star { qualifier, .. } => {
                write!(f, "{}*", optional("", qualifier.as_ref(), "."))
            }
            SelectItem::Value { value, alias } => {
                write!(f, "{value}{}", optional(" AS ", alias.as_ref(), ""))
            }
            SelectItem::Assign(assignment) => write!(f, "{assignment}"),
        }
    }
}

impl Display for Into {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INTO {}{}", self.table, optional(" ON ", self.filegroup.as_ref(), ""))
    }
}

impl Display for GroupBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "GROUP BY {}{}", flag(self.is_all, "ALL "), comma(&self.items))?;
        f.write_str(match self.with {
            None => "",
            Some(GroupWith::Cube) => " WITH CUBE",
            Some(GroupWith::Rollup) => " WITH ROLLUP",
        })
    }
}

impl Display for GroupItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GroupItem::Value(value) => write!(f, "{value}"),
            GroupItem::Composite(values) => write!(f, "({})", comma(values)),
            GroupItem::Rollup(items) => write!(f, "ROLLUP ({})", comma(items)),
            GroupItem::Cube(items) => write!(f, "CUBE ({})", comma(items)),
            GroupItem::GroupingSets(items) => write!(f, "GROUPING SETS ({})", comma(items)),
        }
    }
}

impl Display for NamedWindow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} AS ({})", self.name, self.window)
    }
}

impl Display for Offset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let fetch = optional(" FETCH NEXT ", self.fetch.as_ref(), " ROWS ONLY");
        write!(f, "OFFSET {} ROWS{fetch}", self.skip)
    }
}

impl Display for ForClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ForClause::Browse => f.write_str("FOR BROWSE"),
            ForClause::Xml(xml) => write!(f, "FOR XML {xml}"),
            ForClause::Json(json) => write!(f, "FOR JSON {json}"),
        }
    }
}

/// `, WORD [ ( 'text' ) ]`
fn text_option(
    f: &mut Formatter<'_>,
    word: &str,
    option: Option<&Option<StringLiteral>>,
) -> fmt::Result {
    match option {
        None => Ok(()),
        Some(text) => write!(f, ", {word}{}", optional(" (", text.as_ref(), ")")),
    }
}

impl Display for ForXml {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.mode {
            XmlMode::Raw => "RAW",
            XmlMode::Auto => "AUTO",
            XmlMode::Explicit => "EXPLICIT",
            XmlMode::Path => "PATH",
        })?;
        write!(f, "{}", optional(" (", self.element.as_ref(), ")"))?;
        f.write_str(flag(self.has_binary_base64, ", BINARY BASE64"))?;
        f.write_str(flag(self.has_type, ", TYPE"))?;
        text_option(f, "ROOT", self.root.as_ref())?;
        f.write_str(match self.elements {
            None => "",
            Some(XmlElements::Plain) => ", ELEMENTS",
            Some(XmlElements::XsiNil) => ", ELEMENTS XSINIL",
            Some(XmlElements::Absent) => ", ELEMENTS ABSENT",
        })?;
        text_option(f, "XMLSCHEMA", self.schema.as_ref())?;
        f.write_str(flag(self.has_xml_data, ", XMLDATA"))
    }
}

impl Display for ForJson {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_auto { "AUTO" } else { "PATH" })?;
        text_option(f, "ROOT", self.root.as_ref())?;
        f.write_str(flag(self.include_null_values, ", INCLUDE_NULL_VALUES"))?;
        f.write_str(flag(self.without_array_wrapper, ", WITHOUT_ARRAY_WRAPPER"))
    }
}
