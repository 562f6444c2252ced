//! FOR JSON and FOR XML: the rows of a query as one text.

use extentdb_expr::Scalar;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Expr, ExprKind, ForClause, ForJson, Query, QueryBody, SelectItem, TableSourceKind,
};
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::logical::{Column, Computed, Relation, TextForm, TextItem, TextQuery};
use crate::query::{BoundQuery, Output};
use crate::scalar::parameter;
use crate::xml_query::XmlQuery;

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
            ForClause::Xml(xml) => {
                let form =
                    XmlQuery { xml, query, outputs: &bound.outputs }.form(&self.namespaces)?;
                let name = if xml.has_type { "" } else { XML_COLUMN };
                (name, TextForm::Xml(form))
            }
        };
        if matches!(clause, ForClause::Json(json) if !json.is_auto) {
            verify_properties(&bound.outputs, span)?;
        }
        let is_xml = matches!(form, TextForm::Xml(_));
        let raw = raw_items(&query.body, bound.outputs.len());
        let mut items = Vec::new();
        for (output, is_raw) in bound.outputs.iter().zip(raw) {
            if output.name.is_empty() && matches!(form, TextForm::Json { .. }) {
                let text = "Column expressions and data sources without names or aliases cannot \
                            be formatted as JSON text using FOR JSON clause. Add alias to the \
                            unnamed column or table."
                    .to_owned();
                return Err(Cause::Other { number: 13605, text }.at(span));
            }
            items.push(TextItem {
                name: output.name.clone(),
                id: output.column.id,
                is_raw: is_raw || (is_xml && output.column.ty == SqlType::Xml),
            });
        }
        let collation = self.environment.database_collation;
        let column: Column = self.new_column(SqlType::NVarChar { len: None, collation }, true);
        let text = TextQuery { items, form, column: column.clone() };
        let relation = Relation::Text { input: Box::new(bound.relation), text: Box::new(text) };
        let is_typed = matches!(clause, ForClause::Xml(xml) if xml.has_type);
        let (relation, column) = match is_typed {
            true => self.typed_text(relation, &column, span)?,
            false => (relation, column),
        };
        let outputs = vec![Output {
            name: name.to_owned(),
            column,
            is_computed: true,
            is_identity: false,
            source: None,
        }];
        Ok(BoundQuery { relation, outputs })
    }

    /// TYPE: the text as xml.
    fn typed_text(
        &mut self,
        relation: Relation,
        text: &Column,
        span: Span,
    ) -> Result<(Relation, Column)> {
        let value = Scalar::parameter(parameter(text)).assigned(SqlType::Xml, &self.environment);
        let value = value.map_err(|cause| Cause::Expression(cause).at(span))?;
        let column = self.new_column(SqlType::Xml, true);
        let computed = Computed { id: column.id, value };
        Ok((relation.computing(vec![computed]), column))
    }
}

fn failed<T>(number: i32, text: impl Into<String>, span: Span) -> Result<T> {
    Err(Cause::Other { number, text: text.into() }.at(span))
}

/// A property has one value: none is there twice, or is also an object.
fn verify_properties(outputs: &[Output], span: Span) -> Result<()> {
    for (at, output) in outputs.iter().enumerate() {
        let name = output.name.as_str();
        let is_within = |other: &str, outer: &str| {
            other.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
        };
        let parent = name.rsplit_once('.').map(|(parent, _)| parent);
        let previous = at.checked_sub(1).and_then(|at| outputs.get(at));
        let is_split = parent.is_some_and(|parent| {
            let is_own = |other: &Output| is_within(&other.name, parent);
            let before = outputs.iter().take(at);
            before.into_iter().any(is_own) && !previous.is_some_and(is_own)
        });
        let conflicts = |other: &Output| {
            other.name == name || is_within(name, &other.name) || is_within(&other.name, name)
        };
        if is_split || outputs.iter().take(at).any(conflicts) {
            let text = format!(
                "Property '{name}' cannot be generated in JSON output due to a conflict with \
                 another column name or alias. Use different names and aliases for each column in \
                 SELECT list."
            );
            return failed(13601, text, span);
        }
    }
    Ok(())
}

fn json_form(json: &ForJson, query: &Query, span: Span) -> Result<TextForm> {
    if json.root.is_some() && json.without_array_wrapper {
        let text = "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR \
                    JSON. Remove one of these options.";
        return failed(13620, text, span);
    }
    let has_table = match &query.body {
        QueryBody::Select(select) => !select.from.is_empty(),
        _ => true,
    };
    if json.is_auto && !has_table {
        let text = "FOR JSON AUTO requires at least one table for generating JSON objects. Use FOR \
                    JSON PATH or add a FROM clause with a table name.";
        return failed(13600, text, span);
    }
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
            let is_joined = select
                .from
                .iter()
                .any(|source| matches!(source.kind, TableSourceKind::Joined { .. }));
            select.from.len() <= 1 && !is_joined
        }
        _ => false,
    }
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
