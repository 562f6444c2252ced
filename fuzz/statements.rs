//! What the fuzz target `tsql` does with its bytes. Included by path: from the target, and from
//! the plain robustness test of `tsql`.

use extentdb_tsql::syntax::StatementKind;
use extentdb_tsql::{Options, batches, parse};

/// Parses any text, as batches and as one. What is a query is displayed and parsed again.
pub(crate) fn tsql(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for batch in batches(&text) {
        assert!(batch.offset + batch.text.len() <= text.len());
    }
    for quoted_identifier in [true, false] {
        let options = Options { quoted_identifier };
        match parse(&text, options) {
            Ok(script) => script.statements.iter().for_each(|it| display_again(&it.kind)),
            Err(error) => assert!(error.span.end as usize <= text.len(), "{error:?}"),
        }
    }
}

/// Displays a statement that is a query or changes rows, and compares trees.
fn display_again(kind: &StatementKind) {
    let shown = match kind {
        StatementKind::Select(select) => select.to_string(),
        StatementKind::Dml(dml) => format!("{dml};"),
        _ => return,
    };
    match parse(&shown, Options::default()) {
        Ok(again) => {
            let same = again.statements.first().is_some_and(|it| it.kind == *kind);
            assert!(same, "differs: {shown}\n{kind:?}\n{:?}", again.statements);
        }
        // Parentheses that the display adds may exceed the nesting limit.
        Err(error) => assert_eq!(error.cause.number(), 191, "{error}: {shown}"),
    }
}
