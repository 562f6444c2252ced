use super::*;

fn error(text: &str) -> ParseError {
    parse(text, false).unwrap_err()
}

#[test]
fn texts_that_are_no_query_name_where_they_end() {
    assert_eq!(error("/a["), ParseError::Syntax("<eof>".to_owned()));
    assert_eq!(error("/a b"), ParseError::Syntax("b".to_owned()));
    assert_eq!(error("(/a"), ParseError::Syntax("<eof>".to_owned()));
    assert_eq!(error("/p:a"), ParseError::UnknownPrefix("p".to_owned()));
    let name = "{http://www.w3.org/2004/07/xpath-functions}:starts-with()".to_owned();
    assert_eq!(error("starts-with(a, \"x\")"), ParseError::UnknownFunction(name));
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    for text in ["a | b", "ancestor::a", "typeswitch (a) case x", "a instance of b", "<!-- c -->"] {
        assert!(matches!(error(text), ParseError::NotSupported(_)), "{text}");
    }
    let deep = format!("{}1{}", "(".repeat(500), ")".repeat(500));
    assert!(matches!(error(&deep), ParseError::NotSupported(_)));
}

#[test]
fn one_item_at_most_is_seen_by_the_form() {
    let is_single = |text: &str| match parse(text, false).unwrap().body {
        Body::Value(expr) => expr.is_single(),
        _ => false,
    };
    for text in ["(/a/b)[1]", ".", "@id", "/a[1]/b[1]/@c", "../@x", "count(//a)", "(a/text())[1]"] {
        assert!(is_single(text), "{text}");
    }
    for text in ["/a", "/a[1]/b", "a/text()", "@*", "//a[1]/b", "(a, b)", "a[b = 1]"] {
        assert!(!is_single(text), "{text}");
    }
}
