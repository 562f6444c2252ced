use super::*;

const TEXT: &str = "<cats><cat id=\"1\" x=\"a\"><name>Tom</name></cat>\
                    <cat id=\"2\"><name>Kit</name><age>3</age></cat>tail</cats>";

fn asked(text: &str, body: &str) -> Asked {
    let outside = vec![Some(Item::Number(2.0))];
    Asked {
        document: document_of(&xml::encode_text(text).unwrap()).unwrap(),
        node: ROOT,
        query: query_of(body, false).unwrap(),
        outside,
    }
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let found = asked(TEXT, body).items(|evaluator, items| evaluator.written(&items));
    assert_eq!(found, expected, "{body}");
}

#[test]
fn paths_and_predicates() {
    check("/cats/cat[2]/name/text()", "Kit");
    check("//name", "<name>Tom</name><name>Kit</name>");
    check("(//name)[1]", "<name>Tom</name>");
    check("/cats/cat[@id = 2]/age", "<age>3</age>");
    check("/cats/cat[age]/name/text()", "Kit");
    check("/cats/cat[name = \"Tom\"]/@id cast as xs:string ?", "1");
    check("/cats/cat[@id = sql:variable(\"@n\")]/name", "<name>Kit</name>");
    check("/cats/cat[last()]/../cat[1]/name/text()", "Tom");
    check("/cats/*[position() < 2]/name/text()", "Tom");
    check("/cats/text()", "tail");
    check("count(/cats/cat/@*)", "3");
    check("/dogs", "");
}

#[test]
fn functions_and_operators() {
    check("sum(//@id) + 1", "4");
    check("avg(//@id)", "1.5");
    check("max(//@id) - 10 div 4", "-0.5");
    check("concat(\"a\", string((//name)[2]))", "aKit");
    check("substring(\"abcdef\", 2, 3)", "bcd");
    check("contains(\"abc\", \"bc\") and not(false())", "true");
    check("local-name((//@id)[1])", "id");
    check("distinct-values((1, 2, 1))", "1 2");
    check("some $c in //cat satisfies $c/@id = 2", "true");
    check("every $c in //cat satisfies $c/@id = 2", "false");
    check("if (//age > 2) then \"old\" else \"young\"", "old");
    check("string-length(\"äö\")", "2");
}

#[test]
fn loops_and_constructors() {
    check(
        "for $c in /cats/cat let $n := $c/name order by $n return <c n=\"{$n}\">{data($c/@id)}</c>",
        "<c n=\"Kit\">2</c><c n=\"Tom\">1</c>",
    );
    check(
        "<a b='x{1}{2}'>{{}} <b/> text {//name[1]}</a>",
        "<a b=\"x12\">{} <b/> text <name>Tom</name><name>Kit</name></a>",
    );
    check("element e { attribute f { 1 }, \"t\" }", "<e f=\"1\">t</e>");
}

#[test]
fn changes_of_documents() {
    let change = |body: &str| {
        let document = document_of(&xml::encode_text("<a b=\"1\"><c>x</c></a>").unwrap()).unwrap();
        let query = query_of(body, true).unwrap();
        modify::changed(&document, &query.body, &[])
    };
    assert_eq!(change("delete /a/c"), "<a b=\"1\"/>");
    assert_eq!(change("delete /a/@b"), "<a><c>x</c></a>");
    assert_eq!(change("delete /z"), "<a b=\"1\"><c>x</c></a>");
    assert_eq!(change("insert <d/> into (/a)[1]"), "<a b=\"1\"><c>x</c><d/></a>");
    assert_eq!(change("insert <d/> as first into (/a)[1]"), "<a b=\"1\"><d/><c>x</c></a>");
    assert_eq!(change("insert (<d/>, <e/>) before (/a/c)[1]"), "<a b=\"1\"><d/><e/><c>x</c></a>");
    assert_eq!(change("insert <d/> after (/a/c)[1]"), "<a b=\"1\"><c>x</c><d/></a>");
    assert_eq!(change("insert attribute e {2} into (/a)[1]"), "<a b=\"1\" e=\"2\"><c>x</c></a>");
    assert_eq!(change("insert text {\"y\"} into (/a/c)[1]"), "<a b=\"1\"><c>xy</c></a>");
    assert_eq!(change("replace value of (/a/c/text())[1] with \"z\""), "<a b=\"1\"><c>z</c></a>");
    assert_eq!(change("replace value of (/a/@b)[1] with 1 + 1"), "<a b=\"2\"><c>x</c></a>");
}

#[test]
fn queries_are_verified_by_their_form() {
    assert_eq!(verify(Method::Value, "/a"), Err(QueryError::NotSingle));
    assert_eq!(
        verify(Method::Modify, "insert <b/> into /a"),
        Err(QueryError::InsertTarget("element(a,xdt:untyped) *".to_owned()))
    );
    assert_eq!(
        verify(Method::Modify, "replace value of (/a)[1] with 1"),
        Err(QueryError::ReplaceElement("element(a,xdt:untyped) ?".to_owned()))
    );
    let outside = verify(Method::Exist, "/a[. = sql:column(\"t.b\")]").unwrap();
    assert_eq!(outside, [Outside::Column("t.b".to_owned())]);
}

#[test]
fn nodes_are_numbers_that_methods_are_asked_of() {
    let document = xml::encode_text(TEXT).unwrap();
    let nodes = XmlNodes::new("/cats/cat".to_owned(), std::iter::empty());
    let rows = nodes.rows(&document, None, &[]).unwrap();
    assert_eq!(rows.len(), 2);
    let names = XmlNodes::new("name".to_owned(), std::iter::empty());
    assert_eq!(names.rows(&document, rows.last().copied(), &[]).unwrap().len(), 1);
}
