//! `( SELECT … FOR XML PATH(''), TYPE ).value('.', 'type')`: texts of rows put together, the usual
//! way before STRING_AGG.
//!
//! A query whose values have no names makes no elements, so its xml is one text: without TYPE the
//! same text with `<`, `>` and `&` written as entities, which are replaced here. Other methods of
//! xml are refused.

use extentdb_tsql::syntax::{
    Expr, ExprKind, ForClause, Literal, MethodCall, Query, QueryBody, SelectItem, XmlMode,
};
use extentdb_tsql::{Options, parse_expression};

/// Paths that mean all text.
const ALL_TEXT: [&str; 9] = [
    ".",
    "/",
    "./text()[1]",
    "text()[1]",
    "(./text())[1]",
    "(text())[1]",
    ".[1]",
    "(.)[1]",
    "(/)[1]",
];
/// Entities of a text, the ampersand last.
const ENTITIES: [(&str, &str); 4] =
    [("&lt;", "N'<'"), ("&gt;", "N'>'"), ("&#x0D;", "NCHAR(13)"), ("&amp;", "N'&'")];

/// What the call is as an expression without methods; `None` when it is another one.
pub(crate) fn text_of_rows(call: &MethodCall) -> Option<Expr> {
    let ExprKind::Subquery(query) = &call.operand.kind else { return None };
    let [path, ty] = call.arguments.as_deref()? else { return None };
    let path = string(path)?.replace(' ', "");
    if !call.name.text.eq_ignore_ascii_case("value") || !ALL_TEXT.contains(&path.as_str()) {
        return None;
    }
    let plain = without_type(query)?;
    let mut text = format!("({plain})");
    for (entity, letter) in ENTITIES {
        text = format!("REPLACE({text}, N'{entity}', {letter})");
    }
    let text = format!("CAST({text} AS {})", string(ty)?);
    parse_expression(&text, Options { quoted_identifier: true }).ok()
}

fn string(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(own)) => Some(own.value.to_string()),
        _ => None,
    }
}

/// The same query, its text as nvarchar; `None` when it makes elements.
fn without_type(query: &Query) -> Option<Query> {
    let mut query = query.clone();
    let QueryBody::Select(select) = &query.body else { return None };
    let is_text = |item: &SelectItem| match item {
        SelectItem::Value { value, alias: None } => !matches!(value.kind, ExprKind::Column(_)),
        SelectItem::Value { alias: Some(alias), .. } => {
            matches!(&*alias.text.to_lowercase(), "text()" | "data()" | "*")
        }
        _ => false,
    };
    let is_all_text = select.items.iter().all(is_text);
    let Some(ForClause::Xml(xml)) = query.for_clause.as_deref_mut() else { return None };
    let is_bare = xml.element.as_ref().is_some_and(|element| element.value.is_empty());
    if !is_all_text || xml.mode != XmlMode::Path || !is_bare || !xml.has_type || xml.root.is_some()
    {
        return None;
    }
    xml.has_type = false;
    Some(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Option<String> {
        let expr = parse_expression(text, Options::default()).unwrap();
        let ExprKind::Method(call) = &expr.kind else { panic!("{text}") };
        text_of_rows(call).map(|expr| expr.to_string())
    }

    #[test]
    fn only_texts_of_rows_are_rewritten() {
        let own = "(SELECT ',' + a FROM t FOR XML PATH(''), TYPE)";
        let done = rewritten(&format!("{own}.value('.', 'nvarchar(max)')")).unwrap();
        assert!(done.contains("REPLACE") && !done.contains("TYPE"), "{done}");
        assert!(rewritten(&format!("{own}.value('(./text())[1]', 'varchar(9)')")).is_some());
        assert!(rewritten(&format!("{own}.value('a[1]', 'int')")).is_none());
        let elements = "(SELECT a FROM t FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)')";
        assert!(rewritten(elements).is_none());
        let rows = "(SELECT ',' + a FROM t FOR XML PATH('r'), TYPE).value('.', 'nvarchar(max)')";
        assert!(rewritten(rows).is_none());
    }
}
