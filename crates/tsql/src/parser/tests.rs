use super::*;
use crate::syntax::StatementKind;

fn script(text: &str) -> Script {
    parse(text, Options::default()).unwrap()
}

#[test]
fn statements_know_their_lines_and_texts() {
    let text = "SELECT 1;\n\n  PRINT 'x'\nIF 1 = 1\n  SELECT\n 2";
    let script = script(text);
    let lines: Vec<u32> = script.statements.iter().map(|it| it.span.line).collect();
    assert_eq!(lines, [1, 3, 4]);
    assert_eq!(script.source(script.statements[1].span), "PRINT 'x'");
    assert_eq!(script.source(script.statements[2].span), "IF 1 = 1\n  SELECT\n 2");
}

#[test]
fn the_text_of_a_module_is_its_batch() {
    let text = "-- about\nCREATE PROC p AS SELECT 1 -- end\n";
    let script = script(text);
    let StatementKind::DefineModule(module) = &script.statements[0].kind else { panic!() };
    assert_eq!(script.source(module.source), text);
}

#[test]
fn texts_of_expressions_are_kept() {
    let text = "CREATE TABLE t (a AS ( b + 1 ), c int DEFAULT (getdate()) CHECK ( c>1 ))";
    let script = script(text);
    let shown = format!("{:?}", script.statements[0].kind);
    assert!(shown.contains("Computed"), "{shown}");
    let StatementKind::CreateTable(table) = &script.statements[0].kind else { panic!() };
    let crate::syntax::TableElement::Column(column) = &table.elements[0] else { panic!() };
    let crate::syntax::ColumnKind::Computed { source, .. } = column.kind else { panic!() };
    assert_eq!(script.source(source), "( b + 1 )");
}

#[test]
fn quoted_identifier_decides_what_double_quotes_are() {
    let off = Options { quoted_identifier: false };
    assert_eq!(parse_expression("\"a\"", off).unwrap(), parse_expression("'a'", off).unwrap());
    let on = Options::default();
    assert_eq!(parse_expression("\"a\"", on).unwrap(), parse_expression("[a]", on).unwrap());
    let text = "SET QUOTED_IDENTIFIER OFF SELECT \"a\" SET QUOTED_IDENTIFIER ON SELECT \"a\"";
    let script = script(text);
    assert_ne!(script.statements[1].kind, script.statements[3].kind);
}

#[test]
fn expressions_are_displayed_in_canonical_form() {
    for (text, canonical) in [
        ("a+b*c", "[a] + ([b] * [c])"),
        ("8/-2*4", "8 / (-(2 * 4))"),
        ("-a", "-[a]"),
        ("getdate( )", "getdate()"),
        ("DATEPART( year , d )", "DATEPART(year, [d])"),
        ("[dbo].f(1)", "[dbo].[f](1)"),
        ("convert(varchar(10), a, 120)", "CONVERT([varchar](10), [a], 120)"),
        (
            "case when a=1 and (b=2 or c=3) then 1 else 2 end",
            "CASE WHEN [a] = 1 AND ([b] = 2 OR [c] = 3) THEN 1 ELSE 2 END",
        ),
        ("(select top 1 x from t order by x)", "(SELECT TOP (1) [x] FROM [t] ORDER BY [x])"),
        ("N'it''s'", "N'it''s'"),
        ("0xabc", "0x0ABC"),
    ] {
        let expr = parse_expression(text, Options::default()).unwrap();
        assert_eq!(expr.to_string(), canonical);
        assert_eq!(parse_expression(canonical, Options::default()).unwrap(), expr);
    }
}

#[test]
fn a_term_is_a_value_or_a_condition() {
    let term = |text: &str| parse_term(text, Options::default()).unwrap();
    assert!(matches!(term("([a]+(1))"), Term::Value(_)));
    assert!(matches!(term("([a]>(1) AND NOT [b] IS NULL)"), Term::Condition(_)));
    assert!(matches!(term("((([a]))*(2)>(3))"), Term::Condition(_)));
    assert!(parse_term("[a] [b]", Options::default()).is_err());
}

#[test]
fn clauses_are_read_by_rule_and_word() {
    let script = script("CREATE LOGIN l WITH PASSWORD = 'p' MUST_CHANGE, DEFAULT_DATABASE = d");
    let StatementKind::Admin(admin) = &script.statements[0].kind else { panic!() };
    assert_eq!(admin.head, "CREATE LOGIN");
    assert_eq!(admin.clause.names().next().unwrap().text.as_ref(), "l");
    let password = admin.clause.first("login_password").unwrap();
    assert!(password.has("MUST_CHANGE"));
    assert_eq!(password.literals().count(), 1);
    let option = admin.clause.first("login_option").unwrap();
    assert!(matches!(option.after("DEFAULT_DATABASE"), Some(crate::syntax::Part::Name(_))));
}
