//! Expressions and their values, as public documentation and sample databases give them.

mod support;

use extentdb_expr::{Environment, EvalError, Predicate, Program};
use extentdb_types::{Collation, SqlType};
use support::{Column, DEFAULT, char, decimal, environment, eval, nvarchar, truth, varchar};

#[track_caller]
fn check(columns: &[Column<'_>], cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(eval(text, columns), *expected, "{text}");
    }
}

#[test]
fn integers_divide_towards_zero_and_overflow_by_their_type() {
    let columns = [
        ("a", SqlType::Int, Some("7")),
        ("t", SqlType::TinyInt, Some("200")),
        ("n", SqlType::Int, None),
    ];
    check(
        &columns,
        &[
            ("([a]/(2))", "int: 3"),
            ("(-[a]/(2))", "int: -3"),
            ("([a]%(4))", "int: 3"),
            ("((-[a])%(4))", "int: -3"),
            ("([t]+[t])", "tinyint: arithmetic overflow"),
            ("([t]+(100))", "int: 300"),
            ("([a]*(2000000000))", "int: arithmetic overflow"),
            ("([a]/(0))", "int: divide by zero"),
            ("([a]+[n])", "int: NULL"),
            ("([a]&(3))", "int: 3"),
            ("([a]|(8))", "int: 15"),
            ("([a]^(2))", "int: 5"),
            ("(~[a])", "int: -8"),
            ("(~[t])", "tinyint: 55"),
            ("(-100/-100*10)", "int: 0"),
            ("(abs(-[a]))", "int: 7"),
            ("(sign(-[a]))", "int: -1"),
            ("(3000000000+[a])", "decimal(11,0): 3000000007"),
            ("('5'+[a])", "int: 12"),
        ],
    );
}

#[test]
fn decimals_take_their_precision_from_the_public_table() {
    let columns = [
        ("quantity", SqlType::Int, Some("3")),
        ("price", decimal(10, 2), Some("19.99")),
        ("rate", decimal(5, 3), Some("0.075")),
        ("big", decimal(38, 10), Some("1.67574")),
        ("ten", decimal(38, 10), Some("10000")),
    ];
    check(
        &columns,
        &[
            ("([quantity]*[price])", "decimal(21,2): 59.97"),
            ("([price]+[rate])", "decimal(12,3): 20.065"),
            ("([price]*[rate])", "decimal(16,5): 1.49925"),
            ("([price]/[rate])", "decimal(19,8): 266.53333333"),
            ("([price]%[rate])", "decimal(5,3): 0.040"),
            ("([price]/(3))", "decimal(14,6): 6.663333"),
            ("(2.0/3.0)", "decimal(8,6): 0.666666"),
            ("([big]/[ten])", "decimal(38,6): 0.000167"),
            ("([price]*(1.5))", "decimal(13,3): 29.985"),
            ("(-[price])", "decimal(10,2): -19.99"),
            ("(round([price],(1)))", "decimal(10,2): 20.00"),
            ("(round([price],(0),(1)))", "decimal(10,2): 19.00"),
            ("(ceiling([price]))", "decimal(10,0): 20"),
            ("(floor(-[price]))", "decimal(10,0): -20"),
            ("([price]/abs([rate]))", "unsupported"),
        ],
    );
}

#[test]
fn a_product_whose_scale_gives_way_is_rounded_and_a_sum_is_not_guessed() {
    let columns = [
        ("a", decimal(30, 10), Some("0.0000009000")),
        ("b", decimal(30, 10), Some("1")),
        ("c", decimal(38, 0), Some("1")),
        ("d", decimal(38, 10), Some("0.5")),
        ("e", decimal(38, 10), Some("2")),
        ("f", decimal(38, 20), Some("123456789.123456789")),
    ];
    check(
        &columns,
        &[
            ("([a]*[b])", "decimal(38,6): 0.000001"),
            ("([c]+[e])", "decimal(38,0): 3"),
            ("([c]+[d])", "decimal(38,0): rounding that is not certain"),
            ("([f]*[f])", "decimal(38,6): 15241578780673678.515623"),
        ],
    );
}

#[test]
fn money_keeps_four_digits() {
    let columns = [
        ("m", SqlType::Money, Some("18.4172")),
        ("s", SqlType::SmallMoney, Some("1.1562")),
        ("q", SqlType::SmallInt, Some("3")),
        ("k", SqlType::Money, Some("0.1")),
        ("p", decimal(5, 2), Some("0.25")),
    ];
    check(
        &columns,
        &[
            ("([m]+[s])", "money: 19.5734"),
            ("([m]*[s])", "money: 21.2940"),
            ("($1.00/[m])", "money: 0.0542"),
            ("([q]*[m])", "money: 55.2516"),
            ("([m]*[p])", "decimal(25,6): 4.604300"),
            ("(isnull([q]*[m],(0.00)))", "money: 55.2516"),
            ("(CONVERT([int],[m]))", "int: 18"),
            ("(CONVERT([int],$18.5))", "int: 19"),
            ("(CONVERT([varchar](20),[m],(1)))", "varchar(20): 18.42"),
            ("(isnull([m]*((1.0)-[k])*[q],(0.0)))", "decimal(38,6): 49.726440"),
        ],
    );
}

#[test]
fn null_spreads_and_is_caught() {
    let columns =
        [("a", SqlType::Int, None), ("b", SqlType::Int, Some("5")), ("v", varchar(3), None)];
    check(
        &columns,
        &[
            ("(isnull([a],(0))+(1))", "int: 1"),
            ("(coalesce([a],[b],(9)))", "int: 5"),
            ("(nullif([b],(5)))", "int: NULL"),
            ("(nullif([b],(6)))", "int: 5"),
            ("(isnull([v],'abcdef'))", "varchar(3): abc"),
            ("(case when [a]>(0) then 'x' else N'y' end)", "nvarchar(1): y"),
            ("(case [b] when (4) then 'four' when (5) then 'five' end)", "varchar(4): five"),
            ("(case when [b]=(5) then NULL else (1) end)", "int: NULL"),
            ("(iif([b]>(1),(1.5),(2)))", "decimal(11,1): 1.5"),
            ("(isnull(left([v],(2)),''))", "varchar(2): "),
            (
                "(isnull(left([v],(2)),'abc'))",
                "varchar(2): the value does not fit the declared type",
            ),
            ("(isnull(left('xyz',(2)),'abc'))", "varchar(2): xy"),
            ("(NULL)", "unsupported"),
        ],
    );
}

#[test]
fn a_branch_that_is_not_taken_cannot_fail() {
    let columns = [("a", SqlType::Int, Some("0")), ("b", SqlType::Int, Some("5"))];
    check(
        &columns,
        &[
            ("(case when [a]=(0) then (0) else [b]/[a] end)", "int: 0"),
            ("(case when [a]<>(0) then [b]/[a] end)", "int: NULL"),
            ("(case when [b]/[a]>(0) then (1) else (2) end)", "int: divide by zero"),
            ("(coalesce([b],[b]/[a]))", "int: 5"),
        ],
    );
    assert_eq!(truth("([a]<>(0) AND [b]/[a]>(1))", &columns), Ok(Some(false)));
    assert_eq!(truth("([a]=(0) OR [b]/[a]>(1))", &columns), Ok(Some(true)));
    assert_eq!(truth("([b]/[a]>(1) OR [a]=(0))", &columns), Err(EvalError::DivideByZero));
}

#[test]
fn conditions_have_three_values() {
    let columns = [
        ("status", SqlType::TinyInt, Some("1")),
        ("deleted", SqlType::DateTime, None),
        ("n", SqlType::Int, None),
        ("a", SqlType::Int, Some("7")),
    ];
    let cases = [
        ("([status]=(1) AND [deleted] IS NULL)", Some(true)),
        ("([a]>=(5) AND [a]<(9))", Some(true)),
        ("([n]=(1))", None),
        ("(NOT [n]=(1))", None),
        ("([n]=(1) OR [a]=(7))", Some(true)),
        ("([n]=(1) AND [a]=(8))", Some(false)),
        ("([a] IN ((1),(7)))", Some(true)),
        ("([a] NOT IN ((1),(2)))", Some(true)),
        ("([a] NOT IN ((1),NULL))", None),
        ("([a] BETWEEN (7) AND (8))", Some(true)),
        ("([a] NOT BETWEEN (7) AND (8))", Some(false)),
        ("([n] IS NOT NULL)", Some(false)),
        ("([a]=NULL)", None),
        ("([a]>(6.5))", Some(true)),
        ("([a]='7')", Some(true)),
    ];
    for (text, expected) in cases {
        assert_eq!(truth(text, &columns), Ok(expected), "{text}");
    }
}

#[test]
fn texts_compare_without_their_blanks_and_under_their_collation() {
    let columns = [
        ("c", char(5), Some("ab")),
        ("v", varchar(10), Some("AB")),
        ("n", nvarchar(10), Some("Ab")),
        ("w", varchar(10), Some("x!")),
    ];
    for text in [
        "[c]='ab'",
        "[c]=[v]",
        "[v]=[n]",
        "[n]=N'aB  '",
        "[v]<'b'",
        "[v]>='ab'",
        "[w]<>'x?'",
        "[v] IN ('x','ab')",
    ] {
        assert_eq!(truth(text, &columns), Ok(Some(true)), "{text}");
    }
    assert_eq!(truth("[v]='ab' COLLATE Latin1_General_BIN2", &columns), Ok(Some(false)));
    assert_eq!(truth("[w]<'x?'", &columns), Ok(Some(true)));
    // The order of ideographs is not certain in version 80.
    assert_eq!(
        truth("[n]+N'一'<[n]+N'丁' COLLATE Latin1_General_CI_AS", &columns),
        Err(EvalError::Collation)
    );
    assert_eq!(truth("[v] LIKE 'a[A-C]'", &columns), Ok(Some(true)));
}

#[test]
fn functions_of_texts() {
    let columns = [
        ("v", varchar(20), Some("Hello World")),
        ("p", varchar(20), Some("  pad  ")),
        ("n", nvarchar(20), Some("Grüße")),
        ("c", char(4), Some("ab")),
        ("i", SqlType::Int, Some("42")),
        ("null", varchar(5), None),
    ];
    check(
        &columns,
        &[
            ("(len([p]))", "int: 5"),
            ("(datalength([p]))", "int: 7"),
            ("(datalength([n]))", "int: 10"),
            ("(len([n]))", "int: 5"),
            ("(upper([v]))", "varchar(20): HELLO WORLD"),
            ("(lower([v]))", "varchar(20): hello world"),
            ("(upper([n]))", "nvarchar(20): characters that are not certain"),
            ("(upper(left([n],(3))))", "nvarchar(3): GRÜ"),
            ("(ltrim(rtrim([p])))", "varchar(20): pad"),
            ("(left([v],(5)))", "varchar(5): Hello"),
            ("(right([v],(5)))", "varchar(5): World"),
            ("(left([v],(-1)))", "varchar(20): argument out of range"),
            ("(substring([v],(7),(3)))", "varchar(3): Wor"),
            ("(substring([v],(0),(3)))", "varchar(3): He"),
            ("(reverse([c]))", "varchar(4):   ba"),
            ("(replicate('ab',(3)))", "varchar(8000): ababab"),
            ("(replicate('ab',(-3)))", "varchar(8000): NULL"),
            ("('['+space((2))+']')", "varchar(8000): [  ]"),
            ("(stuff([v],(1),(5),'Bye'))", "varchar(8000): Bye World"),
            ("(stuff([v],(0),(5),'Bye'))", "varchar(8000): NULL"),
            ("(replace([v],'o','0'))", "varchar(8000): Hell0 W0rld"),
            ("(replace([v],'O','0'))", "varchar(8000): Hell0 W0rld"),
            ("(replace([v],'',N'0'))", "nvarchar(4000): Hello World"),
            ("(charindex('WORLD',[v]))", "int: 7"),
            ("(charindex('o',[v],(6)))", "int: 8"),
            ("(charindex('z',[v]))", "int: 0"),
            ("([c]+'x')", "varchar(5): ab  x"),
            ("([v]+[null])", "varchar(25): NULL"),
            ("(concat([v],N'-',[i],[null]))", "nvarchar(67): Hello World-42"),
            ("(ascii([v]))", "int: 72"),
            ("(unicode(N'ü'))", "int: 252"),
            ("(char((65)))", "char(1): A"),
            ("(nchar((8364)))", "nchar(1): €"),
            ("([n]+'é')", "nvarchar(21): Grüßeé"),
        ],
    );
}

#[test]
fn conversions() {
    let columns = [
        ("i", SqlType::Int, Some("-12345")),
        ("d", decimal(9, 3), Some("12.345")),
        ("v", varchar(20), Some(" 77 ")),
        ("b", SqlType::Bit, Some("1")),
        ("f", SqlType::Float, Some("2.75")),
    ];
    check(
        &columns,
        &[
            ("(CONVERT([varchar](10),[i]))", "varchar(10): -12345"),
            ("(CONVERT([varchar](3),[i],(0)))", "varchar(3): *"),
            ("(CONVERT([nvarchar](3),[i]))", "nvarchar(3): arithmetic overflow"),
            ("(CONVERT([char](8),[i]))", "char(8): -12345  "),
            ("(CONVERT([nchar](8),[i]))", "nchar(8): -12345  "),
            ("(CAST([d] AS [int]))", "int: 12"),
            ("(CONVERT([decimal](9,2),[d]))", "decimal(9,2): 12.35"),
            ("(CONVERT([decimal](3,2),[d]))", "decimal(3,2): arithmetic overflow"),
            ("(CONVERT([varchar](10),[d]))", "varchar(10): 12.345"),
            ("(CONVERT([money],[d]))", "money: 12.3450"),
            ("(CONVERT([int],[v]))", "int: 77"),
            ("(CONVERT([decimal](5,1),[v]))", "decimal(5,1): 77.0"),
            ("(CONVERT([bit],[i]))", "bit: 1"),
            ("(CONVERT([varchar](1),[b]))", "varchar(1): 1"),
            ("(CONVERT([int],[f]))", "int: 2"),
            ("(CONVERT([varchar](30),[f]))", "unsupported"),
            ("(CONVERT([tinyint],[i]))", "tinyint: arithmetic overflow"),
            (
                "(CONVERT([varchar](34),hashbytes('MD5','abc'),(2)))",
                "varchar(34): 900150983CD24FB0D6963F7D28E17F72",
            ),
            (
                "(CONVERT([varchar](50),hashbytes('SHA1','abc'),(1)))",
                "varchar(50): 0xA9993E364706816ABA3E25717850C26C9CD0D89D",
            ),
            ("(CONVERT([binary](4),'ab'))", "binary(4): 0x61620000"),
            ("(CONVERT([varbinary](2),'abc'))", "varbinary(2): 0x6162"),
            (
                "(CONVERT([uniqueidentifier],'6F9619FF-8B86-D011-B42D-00C04FC964FF'))",
                "uniqueidentifier: 6F9619FF-8B86-D011-B42D-00C04FC964FF",
            ),
            (
                "(CONVERT([varchar](36),CONVERT([uniqueidentifier],'6F9619FF-8B86-D011-B42D-00C04FC964FF')))",
                "varchar(36): 6F9619FF-8B86-D011-B42D-00C04FC964FF",
            ),
        ],
    );
}

#[test]
fn dates() {
    let columns = [
        ("d", SqlType::DateTime, Some("20071030 12:15:32.123")),
        ("day", SqlType::Date, Some("20060831")),
        ("s", SqlType::SmallDateTime, Some("20071030 12:15:00")),
        ("d2", SqlType::DateTime2 { scale: 3 }, Some("20071030 12:15:32.123")),
        ("t", varchar(10), Some("20071030")),
    ];
    check(
        &columns,
        &[
            ("(datepart(year,[d]))", "int: 2007"),
            ("(year([day])*(100)+month([day]))", "int: 200608"),
            ("(datepart(quarter,[d2]))", "int: 4"),
            ("(datepart(millisecond,[d]))", "int: 123"),
            ("(datepart(weekday,[d]))", "unsupported"),
            ("(dateadd(month,(1),[day]))", "date: 2006-09-30"),
            ("(dateadd(day,(-1),[d]))", "datetime: 2007-10-29T12:15:32.123"),
            ("(dateadd(second,(28),[d]))", "datetime: 2007-10-30T12:16:00.123"),
            ("(dateadd(hour,(1),[day]))", "unsupported"),
            ("(dateadd(year,(9000),[d]))", "datetime: argument out of range"),
            ("(dateadd(day,datediff(day,(0),[d]),(0)))", "datetime: 2007-10-30T00:00:00.000"),
            ("(datediff(day,[day],[d]))", "int: 425"),
            ("(datediff(year,'20051231','20060101'))", "int: 1"),
            ("([d]+(1))", "datetime: 2007-10-31T12:15:32.123"),
            ("(eomonth([day]))", "date: 2006-08-31"),
            ("(eomonth([day],(6)))", "date: 2007-02-28"),
            ("(datefromparts((2004),(2),(29)))", "date: 2004-02-29"),
            ("(datefromparts((2005),(2),(29)))", "date: argument out of range"),
            ("(CONVERT([varchar](10),[d],(112)))", "varchar(10): 20071030"),
            ("(CONVERT([varchar](6),[d],(112)))", "varchar(6): 200710"),
            ("(CONVERT([char](10),[day],(101)))", "char(10): 08/31/2006"),
            ("(CONVERT([varchar](30),[d],(121)))", "varchar(30): 2007-10-30 12:15:32.123"),
            ("(CONVERT([varchar](30),[d]))", "unsupported"),
            ("(CONVERT([datetime],[t],(112)))", "datetime: 2007-10-30T00:00:00.000"),
            ("(CONVERT([date],[d]))", "date: 2007-10-30"),
            ("(CONVERT([smalldatetime],[d]))", "smalldatetime: 2007-10-30T12:16:00.000"),
            ("(CONVERT([time](3),[d2]))", "time(3): 12:15:32.123"),
            ("(CONVERT([datetime2](7),[d]))", "unsupported"),
            ("(CONVERT([datetime2](0),[d2]))", "datetime2(0): 2007-10-30T12:15:32"),
            ("(getdate())", "unsupported"),
        ],
    );
    assert_eq!(truth("([d]>='20071030' AND [d]<'20071031')", &columns), Ok(Some(true)));
    assert_eq!(truth("([day]='2006-08-31')", &columns), Ok(Some(true)));
    assert_eq!(truth("([s]<[d])", &columns), Ok(Some(true)));
    let ambiguous =
        Predicate::compile("([d]>='2007-10-30')", &environment(&[("d", SqlType::DateTime)]));
    assert!(ambiguous.is_err(), "day and month depend on the session");
}

#[test]
fn floats_work_and_are_not_precise() {
    let columns = [
        ("r", SqlType::Real, Some("0.1")),
        ("f", SqlType::Float, Some("0.1")),
        ("i", SqlType::Int, Some("3")),
    ];
    check(
        &columns,
        &[
            ("([f]*[i])", "float: 0.30000000000000004"),
            ("([r]+[i])", "real: 3.1"),
            ("([f]/(0))", "float: divide by zero"),
        ],
    );
    let environment = environment(&[("r", SqlType::Real), ("i", SqlType::Int)]);
    assert!(!Program::compile("[r]+[i]", &environment).unwrap().is_precise());
    assert!(Program::compile("[i]+[i]", &environment).unwrap().is_precise());
    assert!(!Predicate::compile("[r]>=(0) AND [r]<=(1)", &environment).unwrap().is_precise());
}

#[test]
fn the_declared_type_checks_the_derived_one() {
    let environment = environment(&[
        ("q", SqlType::Int),
        ("p", decimal(10, 2)),
        ("v", varchar(10)),
        ("c", char(3)),
    ]);
    let compiles = |text: &str, ty: SqlType| Program::compile_as(text, &environment, ty).is_ok();
    assert!(compiles("([q]*[p])", decimal(21, 2)));
    assert!(compiles("([q]*[p])", SqlType::Numeric { precision: 15, scale: 2 }));
    assert!(!compiles("([q]*[p])", decimal(21, 3)), "another scale");
    assert!(!compiles("([q]*[p])", SqlType::Float));
    assert!(compiles("(len([v]))", SqlType::SmallInt));
    assert!(compiles("(upper([v]))", varchar(10)));
    assert!(!compiles("(upper([v]))", nvarchar(10)));
    assert!(!compiles("([c])", varchar(3)), "padded or not");
    let cyrillic = SqlType::VarChar {
        len: Some(10),
        collation: Collation::from_name("Cyrillic_General_CI_AS").unwrap(),
    };
    assert!(!compiles("(upper([v]))", cyrillic));
}

#[test]
fn columns_are_found_by_name_as_the_database_compares_names() {
    let columns =
        [("Quantity", SqlType::Int), ("quantity2", SqlType::Int), ("two words", SqlType::Int)];
    let program =
        Program::compile("([QUANTITY]+[two words]+[quantity])", &environment(&columns)).unwrap();
    assert_eq!(program.inputs(), [0, 2]);
    let case_sensitive = Environment {
        database_collation: Collation::from_name("Latin1_General_CS_AS").unwrap(),
        ..environment(&columns)
    };
    assert!(Program::compile("([QUANTITY])", &case_sensitive).is_err());
    assert!(
        Program::compile("([nothing])", &environment(&columns))
            .unwrap_err()
            .to_string()
            .contains("nothing")
    );
}

#[test]
fn opaque_columns_can_only_be_missing() {
    let columns = [("x", SqlType::Xml, None), ("t", SqlType::Text { collation: DEFAULT }, None)];
    assert_eq!(truth("([x] IS NULL AND [t] IS NULL)", &columns), Ok(Some(true)));
    for text in ["([x])", "(isnull([t],'a'))", "(len([t]))"] {
        assert_eq!(eval(text, &columns), "unsupported", "{text}");
    }
}

/// Expressions of public sample databases and of the files at hand: each compiles, or says what it
/// lacks.
#[test]
fn expressions_of_known_databases_compile_or_are_refused() {
    let columns = [
        ("SubTotal", SqlType::Money),
        ("TaxAmt", SqlType::Money),
        ("Freight", SqlType::Money),
        ("UnitPrice", SqlType::Money),
        ("UnitPriceDiscount", SqlType::Money),
        ("OrderQty", SqlType::SmallInt),
        ("SalesOrderID", SqlType::Int),
        ("ReceivedQty", decimal(8, 2)),
        ("RejectedQty", decimal(8, 2)),
        ("StartDate", SqlType::DateTime),
        ("EndDate", SqlType::DateTime),
        ("Gender", SqlType::NChar { len: 2, collation: DEFAULT }),
        ("Discount", SqlType::Real),
        ("au_id", varchar(11)),
        ("zip", char(5)),
        ("emp_id", char(9)),
        ("pub_id", char(4)),
        ("BirthDate", SqlType::DateTime),
        ("FullName", nvarchar(50)),
        ("PreferredName", nvarchar(50)),
        ("datacol", nvarchar(10)),
        ("score", SqlType::Int),
        ("max_lvl", SqlType::TinyInt),
    ];
    let environment = environment(&columns);
    let natural = |text: &str| {
        Program::compile(text, &environment).map(|program| program.result_type().to_string())
    };
    let values = [
        ("(isnull(([SubTotal]+[TaxAmt])+[Freight],(0)))", "money"),
        ("(isnull(([UnitPrice]*((1.0)-[UnitPriceDiscount]))*[OrderQty],(0.0)))", "decimal(38,6)"),
        (
            "(isnull(N'SO'+CONVERT([nvarchar](23),[SalesOrderID],0),N'*** ERROR ***'))",
            "nvarchar(25)",
        ),
        ("(isnull([OrderQty]*[UnitPrice],(0.00)))", "money"),
        ("(isnull([ReceivedQty]-[RejectedQty],(0.00)))", "decimal(9,2)"),
        ("(concat([PreferredName],N' ',[FullName]))", "nvarchar(101)"),
        (
            "(case when [EndDate] IS NULL then CONVERT([bit],(0)) else CONVERT([bit],(1)) end)",
            "bit",
        ),
    ];
    for (text, expected) in values {
        assert_eq!(natural(text).as_deref(), Ok(expected), "{text}");
    }
    let conditions = [
        "([EndDate]>=[StartDate] OR [EndDate] IS NULL)",
        "(upper([Gender])='F' OR upper([Gender])='M')",
        "([Discount]>=(0) AND [Discount]<=(1))",
        "([Discount] >= 0 and [Discount] <= 1)",
        "([au_id] like '[0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][0-9][0-9]')",
        "([zip] like '[0-9][0-9][0-9][0-9][0-9]')",
        "([emp_id] like '[A-Z][A-Z][A-Z][1-9][0-9][0-9][0-9][0-9][FM]' OR [emp_id] like '[A-Z]-[A-Z][1-9][0-9][0-9][0-9][0-9][FM]')",
        "([pub_id]='1756' OR [pub_id]='1622' OR [pub_id] like '99[0-9][0-9]')",
        "([EndDate] IN ('20000825', '20000908', '20000918') AND [EndDate] IS NOT NULL)",
        "([datacol] like '[A-Za-z]%')",
        "([score]>=(0) AND [score]<=(100))",
        "([max_lvl]<=(250))",
        "([UnitPrice] >= 0)",
        "([StartDate]>'20000101' AND [EndDate]<='20000630')",
    ];
    for text in conditions {
        let compiled = Predicate::compile(text, &environment);
        assert!(compiled.is_ok(), "{text}: {compiled:?}");
    }
    for text in [
        "([BirthDate]<getdate())",
        "([dbo].[f]([zip])='x')",
        "(json_value([FullName],N'$.a')=N'x')",
    ] {
        let refused = Predicate::compile(text, &environment).unwrap_err().to_string();
        assert!(refused.contains("not supported"), "{text}: {refused}");
    }
}
