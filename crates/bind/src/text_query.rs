//! FOR JSON and FOR XML: the rows of a query as one text.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Expr, ExprKind, ForClause, ForJson, ForXml, Query, QueryBody, SelectItem,
    XmlElements, XmlMode,
};
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Result, not_supported};
use crate::logical::{Column, Relation, TextForm, TextItem, TextQuery, XmlForm};
use crate::query::{BoundQuery, Output};

/// Name of the one column of FOR JSON and FOR XML.
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";
const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";

impl Binder<'_> {
    /// The text of the rows of a query.
    pub(crate) fn text_query(
        &mut self,
        bound: BoundQuery,
        clause: &ForClause,
        query: &Query,
    ) -> Result<BoundQuery> {
        let span = query.span;
        let (name, form) = match clause {
            ForClause::Browse => return not_supported("FOR BROWSE", span),
            ForClause::Json(json) => (JSON_COLUMN, json_form(json, query, span)?),
            ForClause::Xml(xml) => (XML_COLUMN, TextForm::Xml(xml_form(xml, span)?)),
        };
        let raw = raw_items(&query.body, bound.outputs.len());
        let mut items = Vec::new();
        for (output, is_raw) in bound.outputs.iter().zip(raw) {
            if output.name.is_empty() && matches!(form, TextForm::Json { .. }) {
                let text = "Column expressions and data sources without names or aliases cannot \
                            be formatted as JSON text using FOR JSON clause. Add alias to the \
                            unnamed column or table."
                    .to_owned();
                return Err(crate::error::Cause::Other { number: 13605, text }.at(span));
            }
            items.push(TextItem {
                name: output.name.clone(),
                id: output.column.id,
                is_raw: is_raw || output.column.ty == SqlType::Xml,
            });
        }
        let collation = self.environment.database_collation;
        let column: Column = self.new_column(SqlType::NVarChar { len: None, collation }, true);
        let text = TextQuery { items, form, column: column.clone() };
        let relation = Relation::Text { input: Box::new(bound.relation), text: Box::new(text) };
        let outputs = vec![Output { name: name.to_owned(), column, is_computed: true }];
        Ok(BoundQuery { relation, outputs })
    }
}

fn json_form(json: &ForJson, query: &Query, span: Span) -> Result<TextForm> {
    if json.is_auto && !is_of_one_table(&query.body) {
        return not_supported("FOR JSON AUTO over several tables", span);
    }
    let root = json
        .root
        .as_ref()
        .map(|root| root.as_ref().map_or_else(|| "root".to_owned(), |name| name.value.to_string()));
    Ok(TextForm::Json {
        root,
        includes_nulls: json.include_null_values,
        has_array: !json.without_array_wrapper,
    })
}

fn is_of_one_table(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => {
            let is_joined = select.from.iter().any(|source| {
                matches!(source.kind, extentdb_tsql::syntax::TableSourceKind::Joined { .. })
            });
            select.from.len() <= 1 && !is_joined
        }
        _ => false,
    }
}

fn xml_form(xml: &ForXml, span: Span) -> Result<XmlForm> {
    let is_refused = xml.schema.is_some() || xml.has_xml_data;
    if is_refused || !matches!(xml.mode, XmlMode::Raw | XmlMode::Path) {
        return not_supported("FOR XML AUTO and EXPLICIT, XMLSCHEMA and XMLDATA", span);
    }
    let row = xml.element.as_ref().map_or("row", |name| &name.value).to_owned();
    let root = xml
        .root
        .as_ref()
        .map(|root| root.as_ref().map_or_else(|| "root".to_owned(), |name| name.value.to_string()));
    Ok(XmlForm {
        row,
        root,
        is_path: xml.mode == XmlMode::Path,
        has_elements: xml.mode == XmlMode::Path || xml.elements.is_some(),
        shows_nulls: xml.elements == Some(XmlElements::XsiNil),
    })
}

/// Which columns are texts of their own form already: those of a query FOR JSON or FOR XML, TYPE,
/// and of JSON_QUERY.
fn raw_items(body: &QueryBody, count: usize) -> Vec<bool> {
    let items = match body {
        QueryBody::Select(select) => select.items.as_slice(),
        _ => &[],
    };
    let has_star = items.iter().any(|item| matches!(item, SelectItem::Star { .. }));
    if has_star || items.len() != count {
        return vec![false; count];
    }
    let is_raw = |item: &SelectItem| match item {
        SelectItem::Value { value, .. } => is_raw_value(value),
        _ => false,
    };
    items.iter().map(is_raw).collect()
}

fn is_raw_value(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Subquery(query) => match query.for_clause.as_deref() {
            Some(ForClause::Json(json)) => !json.without_array_wrapper || json.root.is_some(),
            Some(ForClause::Xml(xml)) => xml.has_type,
            _ => false,
        },
        ExprKind::Function(call) => {
            call.name.is_simple()
                && call.name.name.text.eq_ignore_ascii_case("json_query")
                && matches!(call.arguments, Arguments::List(_))
        }
        _ => false,
    }
}
