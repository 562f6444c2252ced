//! The corpus: every construct of the language parses, and what can be displayed parses again to
//! the same tree.

use extentdb_tsql::syntax::StatementKind;
use extentdb_tsql::{Options, batches, parse};

const CORPUS: [(&str, &str); 5] = [
    ("query.sql", include_str!("corpus/query.sql")),
    ("dml.sql", include_str!("corpus/dml.sql")),
    ("procedural.sql", include_str!("corpus/procedural.sql")),
    ("ddl.sql", include_str!("corpus/ddl.sql")),
    ("admin.sql", include_str!("corpus/admin.sql")),
];

#[test]
fn every_batch_parses() {
    let mut failures = Vec::new();
    let mut statements = 0;
    for (file, text) in CORPUS {
        for batch in batches(text) {
            match parse(batch.text, Options::default()) {
                Ok(script) => statements += script.statements.len(),
                Err(error) => {
                    let line = batch.line + error.span.line - 1;
                    let rest: String =
                        batch.text[error.span.start as usize..].chars().take(60).collect();
                    failures.push(format!("{file}:{line}: {} at: {rest}", error.cause));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(statements > 400, "{statements} statements");
}

#[test]
fn displayed_statements_parse_to_the_same_tree() {
    let mut failures = Vec::new();
    let mut compared = 0;
    for (file, text) in CORPUS {
        for batch in batches(text) {
            let Ok(script) = parse(batch.text, Options::default()) else { continue };
            for statement in &script.statements {
                let shown = match &statement.kind {
                    StatementKind::Select(select) => select.to_string(),
                    StatementKind::Dml(dml) => format!("{dml};"),
                    StatementKind::Execute(execute) => execute.to_string(),
                    _ => continue,
                };
                compared += 1;
                match parse(&shown, Options::default()) {
                    Ok(again)
                        if again.statements.first().map(|it| &it.kind) == Some(&statement.kind) => {
                    }
                    Ok(_) => failures.push(format!("{file}:{}: differs: {shown}", batch.line)),
                    Err(error) => failures.push(format!("{file}:{}: {error}: {shown}", batch.line)),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared > 100, "{compared} statements");
}
