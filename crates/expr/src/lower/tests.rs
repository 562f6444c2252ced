use proptest::prelude::*;

use super::*;

/// The tree as text, every operator in parentheses.
fn show(text: &str) -> String {
    let syntax = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut shown: Vec<String> = Vec::new();
    for (node, _) in syntax.nodes() {
        let of = |id: &Id| shown[id.0].clone();
        let list = |ids: &[Id]| ids.iter().map(of).collect::<Vec<_>>().join(",");
        let next = match node {
            Node::Null => "null".to_owned(),
            Node::Integer(text) | Node::Decimal(text) | Node::Float(text) => text.clone(),
            Node::Money(text) => format!("${text}"),
            Node::Text { text, .. } => format!("'{text}'"),
            Node::Binary(bytes) => format!("{bytes:02X?}"),
            Node::Column(name) => name.clone(),
            Node::Negate(a) => format!("(-{})", of(a)),
            Node::Plus(a) => format!("(+{})", of(a)),
            Node::BitNot(a) => format!("(~{})", of(a)),
            Node::Infix(op, a, b) => format!("({} {op:?} {})", of(a), of(b)),
            Node::Compare(test, a, b) => format!("({} {test:?} {})", of(a), of(b)),
            Node::And(a, b) => format!("({} and {})", of(a), of(b)),
            Node::Or(a, b) => format!("({} or {})", of(a), of(b)),
            Node::Not(a) => format!("(not {})", of(a)),
            Node::IsNull(a) => format!("({} is null)", of(a)),
            Node::Like { of: a, pattern, .. } => format!("({} like {})", of(a), of(pattern)),
            Node::Case { arms, .. } => format!("case{}", arms.len()),
            Node::Call { name, part, args } => {
                format!("{name}<{}>({})", part.clone().unwrap_or_default(), list(args))
            }
            Node::Convert { to, of: a, style, .. } => {
                format!(
                    "convert({},{},{})",
                    to.name,
                    of(a),
                    style.as_ref().map(of).unwrap_or_default()
                )
            }
            Node::Collate(a, name) => format!("({} collate {name})", of(a)),
            Node::Parameter(parameter) => format!("?{}", parameter.place),
            Node::Assigned(a, to) => format!("({} as {to})", of(a)),
            Node::TryAssigned(a, to) => format!("({} as {to}?)", of(a)),
            Node::IsSet(a) => format!("({} is set)", of(a)),
        };
        shown.push(next);
    }
    shown.pop().unwrap()
}

#[test]
fn operators_bind_by_the_public_table() {
    let cases = [
        ("1+2*3", "(1 Add (2 Multiply 3))"),
        ("1-2-3", "((1 Subtract 2) Subtract 3)"),
        ("-100/-100*10", "(-(100 Divide (-(100 Multiply 10))))"),
        ("~1*2", "((~1) Multiply 2)"),
        ("1&2+3", "((1 BitAnd 2) Add 3)"),
        ("a=1 or b=2 and not c=3", "((a Equal 1) or ((b Equal 2) and (not (c Equal 3))))"),
        ("not a=1 and b=2", "((not (a Equal 1)) and (b Equal 2))"),
        (
            "a between 1 and 2+3 and b=1",
            "(((a GreaterOrEqual 1) and (a LessOrEqual (2 Add 3))) and (b Equal 1))",
        ),
        ("a not in (1,2)", "(not ((a Equal 1) or (a Equal 2)))"),
        ("a is not null or b is null", "((not (a is null)) or (b is null))"),
        ("a+b collate x like 'y%'", "((a Add (b collate x)) like 'y%')"),
        ("a!<1 and b!>2", "((a GreaterOrEqual 1) and (b LessOrEqual 2))"),
    ];
    for (text, expected) in cases {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn the_normalised_forms_of_the_catalog_are_read() {
    let cases = [
        ("([quantity]*[price])", "(quantity Multiply price)"),
        ("(isnull([a],(0))+(1))", "(isnull<>(a,0) Add 1)"),
        ("(datepart(year,[d]))", "datepart<year>(d)"),
        ("(CONVERT([varchar](10),[d],(112)))", "convert(varchar,d,112)"),
        ("(CAST([a] AS [decimal](10,2)))", "convert(decimal,a,)"),
        ("(case when [a]>(0) then 'x' else N'y' end)", "case1"),
        ("(case [a] when (1) then 'x' when (2) then 'y' end)", "case2"),
        ("([status]=(1) AND [deleted] IS NULL)", "((status Equal 1) and (deleted is null))"),
        ("([a]>=(-(5)))", "(a GreaterOrEqual (-5))"),
        ("(left([a],(3))+replace([b],'-',''))", "(left<>(a,3) Add replace<>(b,'-',''))"),
    ];
    for (text, expected) in cases {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn what_is_truncated_or_foreign_is_an_error_with_its_position() {
    for (text, at) in [
        ("", 0),
        ("(1", 1),
        ("1 2", 2),
        ("case end", 5),
        ("a not 1", 6),
        ("f(1,", 3),
        ("a in ()", 6),
        ("1 + 'x", 4),
        ("[a", 0),
        ("1 ? 2", 2),
    ] {
        match parse(text) {
            Err(CompileError::Syntax { at: found, .. }) => assert_eq!(found, at, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(matches!(parse("[dbo].[f]([a])"), Err(CompileError::Unsupported { at: 0, .. })));
    assert!(matches!(parse("1--2"), Err(CompileError::Unsupported { at: 1, .. })));
    assert!(matches!(parse(&" ".repeat(MAX_BYTES + 1)), Err(CompileError::TooLarge { .. })));
}

#[test]
fn nesting_is_bounded_and_chains_are_not_nesting() {
    let nested = format!(
        "{}1{}",
        "(".repeat(MAX_NESTING as usize + 1),
        ")".repeat(MAX_NESTING as usize + 1)
    );
    assert!(matches!(parse(&nested), Err(CompileError::TooLarge { what: "nesting", .. })));
    assert!(matches!(parse(&"-(".repeat(20_000)), Err(CompileError::TooLarge { .. })));
    let chain = vec!["[a]=(1)"; 1_500].join(" OR ");
    assert!(parse(&chain).is_ok());
    let long = vec!["1"; 20_000].join("+");
    assert!(matches!(parse(&long), Err(CompileError::TooLarge { .. })));
}

proptest! {
    #[test]
    fn any_text_ends_in_a_tree_or_an_error(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_row_of_tokens_ends_in_a_tree_or_an_error(
        words in proptest::collection::vec(
            prop::sample::select(vec![
                "(", ")", ",", "[a]", "1", "1.5", "'x'", "+", "-", "*", "=", "<>", "not", "and", "or", "is", "null",
                "in", "like", "between", "case", "when", "then", "else", "end", "convert", "cast", "as", "int",
                "collate", "isnull", "dateadd", "day", "escape", "~", "$1", "0x1", ".",
            ]),
            0..30,
        )
    ) {
        let _ = parse(&words.join(" "));
    }
}
