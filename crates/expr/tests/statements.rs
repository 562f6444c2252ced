//! Expressions of statements: the cases of the published semantics, with their types, values and
//! message numbers.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use extentdb_expr::{
    Batch, CompileError, DateFormat, Environment, Parameter, Predicate, Program, Resolver,
    Settings, StatementOptions,
};
use extentdb_tsql::syntax::Expr;
use extentdb_tsql::{Options, Term, parse_term};
use extentdb_types::{Collation, SqlType};
use support::{DEFAULT, show};

/// How a type before a value begins.
const TYPES: [&str; 12] = [
    "int", "bigint", "smallint", "tinyint", "bit", "decimal", "money", "float", "real", "varchar",
    "nvarchar", "date",
];

struct Nothing;

impl Resolver for Nothing {
    fn resolve(&mut self, _: &Expr) -> Result<Option<Parameter>, CompileError> {
        Ok(None)
    }
}

fn environment(options: StatementOptions) -> Environment {
    Environment {
        columns: Vec::new(),
        database_collation: DEFAULT,
        settings: Settings::statement(options),
    }
}

fn refused(error: &CompileError) -> String {
    error.number().map_or_else(|| error.to_string(), |number| format!("E {number}"))
}

/// Type and value of an expression, or the number of its message.
fn outcome(text: &str, options: StatementOptions) -> (String, String) {
    let term = parse_term(text, Options::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let environment = environment(options);
    let compiled = match &term {
        Term::Value(expr) => Program::of_value(expr, &environment, &mut Nothing, None),
        Term::Condition(condition) => {
            let compiled = Predicate::of_condition(condition, &environment, &mut Nothing);
            compiled.map(|predicate| predicate.as_ref().clone())
        }
    };
    let program = match compiled {
        Ok(program) => program,
        Err(error) => return (String::new(), refused(&error)),
    };
    (program.result_type().to_string(), value_of(&program))
}

/// The value of a program without inputs, or the number of its message.
fn value_of(program: &Program) -> String {
    let mut batch = Batch::new();
    batch.reset(program);
    batch.end_row();
    program.run(&mut batch);
    match batch.value(0) {
        Ok(value) => shown(&program.result_type(), value),
        Err(error) => match program.failure(&batch, 0).and_then(|failure| failure.number()) {
            Some(number) => format!("E {number}"),
            None => error.to_string(),
        },
    }
}

fn shown(ty: &SqlType, value: Option<&[u8]>) -> String {
    match (ty, value) {
        // Longer than its type.
        (SqlType::NVarChar { len: Some(len), .. }, Some(bytes))
            if bytes.len() > usize::from(*len) =>
        {
            format!("{} bytes of {len}", bytes.len())
        }
        (SqlType::Float, Some(bytes)) => {
            format!("{}", f64::from_le_bytes(bytes.try_into().unwrap()))
        }
        (SqlType::Real, Some(bytes)) => {
            format!("{}", f32::from_le_bytes(bytes.try_into().unwrap()))
        }
        (SqlType::Binary { .. } | SqlType::VarBinary { .. }, Some(bytes)) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("0x{digits}")
        }
        _ => show(ty, value),
    }
}

#[track_caller]
fn check_with(options: StatementOptions, cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let (ty, value) = outcome(text, options);
        let is_right = match expected.split_once(": ") {
            Some((expected_ty, expected)) if TYPES.iter().any(|it| expected_ty.starts_with(it)) => {
                (ty.as_str(), value.as_str()) == (expected_ty, expected)
            }
            _ => value == *expected,
        };
        if !is_right {
            wrong.push(format!("{text}\n    gives {ty}: {value}\n    not   {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    check_with(StatementOptions::default(), cases);
}

#[test]
fn numbers_have_the_types_and_digits_of_the_public_tables() {
    check(&[
        ("1/2", "0"),
        ("-7%3", "-1"),
        ("1/2.0", "0.500000"),
        ("1.0/3", "0.333333"),
        ("2.0/3", "0.666666"),
        ("10.0/3", "decimal(8,6): 3.333333"),
        ("1.0/CAST(3 AS int)", "decimal(13,12): 0.333333333333"),
        ("CAST(4.00 AS decimal(5,2))/7", "0.571428"),
        ("CAST(1 AS decimal(38,10))/CAST(3 AS decimal(38,10))", "decimal(38,6): 0.333333"),
        (
            "CAST(0.0000009 AS decimal(30,20))*CAST(1 AS decimal(30,20))",
            "decimal(38,17): 0.00000090000000000",
        ),
        ("CAST(0.0000009 AS decimal(30,10))*CAST(1 AS decimal(30,10))", "decimal(38,6): 0.000001"),
        (
            "CAST(1 AS decimal(38,20))+CAST(1 AS decimal(38,20))",
            "decimal(38,20): 2.00000000000000000000",
        ),
        ("CAST(1 AS decimal(38,10))+CAST(0 AS decimal(38,30))", "decimal(38,10): 1.0000000000"),
        ("CAST(1 AS decimal(38,0))+CAST(0.5 AS decimal(38,10))", "decimal(38,0): 2"),
        ("$1.00/7", "money: 0.1428"),
        ("$1.0001*$0.5555", "0.5556"),
        ("$0.0001*$0.5000", "0.0001"),
        ("2147483647+1", "E 8115"),
        ("CAST(255 AS tinyint)+CAST(1 AS tinyint)", "E 8115"),
        ("CAST(256 AS tinyint)", "E 220"),
        ("1/0", "E 8134"),
        ("1.0%0", "E 8134"),
        ("(-2147483647-1)%-1", "E 8115"),
        ("100/-10/2", "-20"),
        ("8/-2*4", "-1"),
        ("~2*3", "-9"),
        ("0x01+0x01", "0x0101"),
        ("1+0x01", "2"),
        ("-CAST(0 AS real)", "-0"),
        ("2147483648", "decimal(10,0): 2147483648"),
        ("-2147483648", "int: -2147483648"),
        ("0.1", "decimal(1,1): 0.1"),
        ("100.0", "decimal(4,1): 100.0"),
        ("$", "0.0000"),
        ("-CAST(1 AS tinyint)", "smallint: -1"),
        ("5 & 3 | 8 ^ 1", "8"),
        ("1 << 4", "16"),
        ("-1 >> 31", "1"),
        ("CAST(1 AS real)+1.5", "real: 2.5"),
        ("'1'+1", "2"),
        ("'1.5'+1.00", "2.50"),
        ("1+'5.5'", "E 245"),
        ("'a'+1", "E 245"),
        ("NULL+1", "NULL"),
    ]);
}

#[test]
fn types_that_do_not_go_together_are_refused_by_their_message() {
    check(&[
        ("CAST(1 AS bit)+CAST(1 AS bit)", "E 402"),
        ("CAST(1 AS bit)*CAST(1 AS bit)", "E 8117"),
        ("5e0%2", "E 402"),
        ("5e0%2e0", "E 8117"),
        ("'a'-'b'", "E 8117"),
        ("-'5'", "E 8117"),
        ("CAST(1 AS date)", "E 529"),
        ("TRY_CAST(1 AS date)", "E 529"),
        ("CAST('20200101' AS date)+1", "E 206"),
        ("CAST('20200101' AS datetime)+CAST('10:00' AS time)", "E 402"),
        ("CAST('20200101' AS date)+CAST('20200101' AS date)", "E 8117"),
        ("CAST('20200101' AS date)=CAST('10:00' AS time)", "E 402"),
        ("CAST('20200101' AS datetime)*2", "E 8117"),
        ("NEWID2()", "E 195"),
        ("LEN()", "E 174"),
        ("LEN('a','b')", "E 174"),
        ("CONCAT('a')", "E 189"),
        ("SUBSTRING(5,1,1)", "E 8116"),
        ("LEN(CAST($1 AS money))", "E 8116"),
        ("'a' COLLATE nosuch", "E 448"),
        ("1 COLLATE Latin1_General_CI_AS", "E 447"),
        ("'a' COLLATE Latin1_General_CI_AS = 'a' COLLATE Latin1_General_BIN", "E 468"),
        ("CAST('a' AS nosuch)", "E 243"),
        ("CONVERT(varchar(10),CAST('20200101' AS datetime),99)", "E 281"),
        ("DATEADD(foo,1,CAST('20200101' AS datetime))", "E 155"),
        ("DATEPART(hour,CAST('20240101' AS date))", "E 9810"),
        ("DATEDIFF(iso_week,'20240101','20240108')", "E 9806"),
        ("CAST('/1/' AS hierarchyid)", "not supported at byte 0: conversion to hierarchyid"),
        ("CASE WHEN 1=1 THEN NULL ELSE NULL END", "E 8133"),
        ("COALESCE(NULL,NULL)", "E 4127"),
        ("NULLIF(NULL,1)", "E 4151"),
        ("'a' LIKE 'b' ESCAPE 'xy'", "E 506"),
        ("CASE WHEN 1=1 THEN CAST('20200101' AS date) ELSE 1 END", "E 206"),
    ]);
}

#[test]
fn values_convert_as_documented() {
    check(&[
        ("CAST(10.6496 AS int)", "10"),
        ("CAST(-10.6496 AS int)", "-10"),
        ("CAST(10.6496 AS numeric)", "11"),
        ("CAST(-10.6496 AS numeric)", "-11"),
        ("CAST(10.3496847 AS money)", "10.3497"),
        ("CAST($2.70 AS int)", "3"),
        ("CAST('' AS int)", "0"),
        ("CAST(' 12 ' AS int)", "12"),
        ("CAST('1e5' AS int)", "E 245"),
        ("CAST('99999999999' AS int)", "E 248"),
        ("CAST('300' AS tinyint)", "E 244"),
        ("CAST('abc' AS bigint)", "E 8114"),
        ("CAST('' AS decimal(5,2))", "E 8114"),
        ("CAST('12345' AS decimal(5,2))", "E 8115"),
        ("CAST('1e5' AS float)", "100000"),
        ("CAST('abc' AS money)", "E 235"),
        ("CAST('abc' AS uniqueidentifier)", "E 8169"),
        (
            "CAST('6f9619ff-8b86-d011-b42d-00c04fc964ffxyz' AS uniqueidentifier)",
            "6F9619FF-8B86-D011-B42D-00C04FC964FF",
        ),
        ("CAST('true' AS bit)", "1"),
        ("TRY_CAST('x' AS int)", "NULL"),
        ("TRY_CONVERT(int,'99999999999')", "NULL"),
        ("TRY_CAST('20200230' AS datetime)", "NULL"),
        ("CAST(1e10 AS int)", "E 232"),
        ("CAST(0.1e0 AS decimal(20,18))", "0.100000000000000010"),
        ("CAST(2.5e0 AS money)", "2.5000"),
        ("CAST(1.5 AS float)", "1.5"),
        ("CAST(CAST(1.5 AS datetime) AS float)", "1.5"),
        ("CAST(CAST('19000102 12:00' AS datetime) AS int)", "2"),
        ("CAST(0 AS datetime)", "1900-01-01T00:00:00.000"),
        ("CAST(1 AS varbinary)", "0x00000001"),
        ("CAST(123456 AS binary(2))", "0xE240"),
        ("CAST(1 AS binary(6))", "0x000000000001"),
        ("CAST(CAST(1.0 AS decimal(2,1)) AS varbinary(20))", "0x020100010A000000"),
        ("CAST(0x00000102 AS int)", "258"),
        ("CAST(0x41 AS varchar(5))", "A"),
        ("CAST('abc' AS binary(5))", "0x6162630000"),
        ("CAST(N'ā' AS varchar(5))", "a"),
        ("CAST(N'日' AS varchar(5))", "?"),
        ("CONVERT(binary(4),'0x4E616D65',1)", "0x4E616D65"),
        ("CONVERT(varbinary(4),'4E616D65',2)", "0x4E616D65"),
        ("CONVERT(varbinary(4),'4E6',2)", "E 8114"),
    ]);
}

#[test]
fn values_become_texts_by_their_styles() {
    check(&[
        ("CAST(CAST('20190823 13:39:17' AS datetime) AS varchar(30))", "Aug 23 2019  1:39PM"),
        (
            "CONVERT(varchar(30),CAST('20190823 13:39:17.090' AS datetime),13)",
            "23 Aug 2019 13:39:17:090",
        ),
        (
            "CONVERT(varchar(30),CAST('20190823 13:39:17.090' AS datetime),126)",
            "2019-08-23T13:39:17.090",
        ),
        ("CONVERT(varchar(30),CAST('20121107 18:26:20' AS datetime),126)", "2012-11-07T18:26:20"),
        ("CONVERT(varchar(30),CAST('14:25' AS time),100)", "2:25PM"),
        ("CONVERT(varchar(30),CAST('20200101' AS date),108)", "E 8114"),
        ("CONVERT(varchar(30),CAST('20200101' AS date),114)", "E 281"),
        ("CONVERT(varchar(20),CAST(1234567.891 AS money),1)", "1,234,567.89"),
        ("CAST(1495591e0 AS varchar(30))", "1.49559e+006"),
        ("CONVERT(varchar(40),123456789.123456789e0,1)", "1.2345679e+008"),
        ("CONVERT(varchar(40),123456789.123456789e0,2)", "1.234567891234568e+008"),
        ("CAST(1000 AS varchar(3))", "*"),
        ("CAST(1000 AS nvarchar(3))", "E 8115"),
        ("CAST(CAST(1000 AS bigint) AS varchar(3))", "E 8115"),
        ("CAST(12.34 AS varchar(3))", "E 8115"),
        ("CAST($12.34 AS varchar(3))", "E 234"),
        ("CAST(1.5e0 AS varchar(2))", "E 232"),
        ("CAST('hello world' AS varchar(5))", "hello"),
        ("LEN(CAST(REPLICATE('x',40) AS varchar))", "30"),
        ("CONVERT(char(8),0x4E616d65,1)", "0x4E616D"),
        ("CONVERT(char(8),0x4E616d65,2)", "4E616D65"),
        ("CAST(-0.50 AS varchar(10))", "-0.50"),
        ("CAST('20190823' AS date)", "2019-08-23"),
        ("CAST(CAST('20190823' AS date) AS char(12))", "2019-08-23  "),
        ("CAST(CAST('10:11:12.5' AS time(3)) AS varchar(20))", "10:11:12.500"),
        (
            "CAST(CAST('2019-08-23 10:11:12 +02:00' AS datetimeoffset(0)) AS varchar(40))",
            "2019-08-23 10:11:12 +02:00",
        ),
        ("CAST(CAST('2019-08-23 10:11:12 +02:00' AS datetimeoffset(0)) AS varchar(10))", "E 241"),
        ("CONVERT(varchar(10),CAST('20190823' AS datetime),LEN('abc')+100)", "23/08/2019"),
        ("CONVERT(varchar(10),CAST('20190823' AS datetime),'103')", "23/08/2019"),
        ("CONVERT(varchar(10),CAST('20190823' AS datetime),NULL)", "NULL"),
    ]);
}

#[test]
fn texts_become_dates_as_documented() {
    check(&[
        ("CAST('20200230' AS datetime)", "E 242"),
        ("CAST('20200230' AS date)", "E 241"),
        ("CAST('abc' AS datetime)", "E 241"),
        ("CAST('abc' AS smalldatetime)", "E 295"),
        ("CAST('16000101' AS datetime)", "E 242"),
        ("CAST('' AS datetime)", "1900-01-01T00:00:00.000"),
        ("YEAR(CAST('01/01/49' AS datetime))", "2049"),
        ("YEAR(CAST('01/01/50' AS datetime))", "1950"),
        ("CAST('19980101 23:59:59.999' AS datetime)", "1998-01-02T00:00:00.000"),
        ("CAST('19980101 23:59:59.994' AS datetime)", "1998-01-01T23:59:59.993"),
        ("CAST(CAST('12:34:54.1237' AS time(4)) AS time(3))", "12:34:54.124"),
        (
            "CAST(CAST('2016-10-23 12:45:37.333' AS datetime) AS datetime2)",
            "2016-10-23T12:45:37.3333333",
        ),
        ("CAST('10:00' AS datetime)", "1900-01-01T10:00:00.000"),
        ("CAST(CAST('10:00' AS time) AS datetime)", "1900-01-01T10:00:00.000"),
        ("CAST(CAST('15001231' AS datetime2) AS datetime)", "E 242"),
        ("CAST(CAST('23:59:59.9999999' AS time) AS time(0))", "00:00:00"),
        ("CONVERT(date,'23/08/2019',103)", "2019-08-23"),
        ("CONVERT(date,'2019-08-23',103)", "E 9807"),
        (
            "CAST(CAST('2019-08-23 10:11:12 +02:00' AS datetimeoffset) AS datetime2(0))",
            "2019-08-23T10:11:12",
        ),
        ("{fn hour('20200131 10:11')}", "10"),
        ("{fn ucase('a')}", "A"),
        ("{fn locate('b', 'abc')}", "2"),
        ("{fn repeat('ab', 2)}", "abab"),
        ("{fn timestampdiff(SQL_TSI_MONTH, '20200131', '20200301')}", "2"),
        ("CAST('a' AS varchar(9000))", "E 131"),
        ("CAST('a' AS varchar(0))", "E 1001"),
        ("{d '2020-01-31'}", "2020-01-31T00:00:00.000"),
        ("{ts '2020-01-31 10:11:12.123'}", "2020-01-31T10:11:12.123"),
    ]);
    let dmy = StatementOptions { date_format: DateFormat::Dmy, ..Default::default() };
    check_with(
        dmy,
        &[
            ("CAST('2020-01-13' AS datetime)", "E 242"),
            ("CAST('2020-01-13' AS date)", "2020-01-13"),
            ("{d '2020-01-13'}", "2020-01-13T00:00:00.000"),
        ],
    );
}

#[test]
fn choices_have_the_type_of_all_their_values() {
    check(&[
        ("ISNULL(CAST(NULL AS varchar(2)),'wxyz')", "varchar(2): wx"),
        ("COALESCE(CAST(NULL AS varchar(2)),'wxyz')", "varchar(4): wxyz"),
        ("ISNULL(1,2.5)", "int: 1"),
        ("ISNULL(NULL,2.5)", "2.5"),
        ("CASE WHEN 1=0 THEN 1 ELSE 'a' END", "E 245"),
        ("CASE WHEN 1=1 THEN 1 ELSE 'a' END", "1"),
        ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "b"),
        ("IIF(1=1,1,2.5)", "decimal(2,1): 1.0"),
        ("CHOOSE(2,'a','b','c')", "b"),
        ("CHOOSE(4,'a','b','c')", "NULL"),
        ("CHOOSE(2,1/0,2)", "2"),
        ("GREATEST(1,NULL,3,2)", "3"),
        ("LEAST('b',NULL,'a')", "a"),
        ("GREATEST(1,2.5)", "2.5"),
        ("NULLIF(1,1)", "tinyint: NULL"),
        ("NULLIF('a','A')", "NULL"),
        ("NULLIF(1000,2)", "smallint: 1000"),
        ("IIF(NULL=NULL,1,0)", "0"),
        ("IIF(1 NOT IN (2,NULL),1,0)", "0"),
        ("IIF(NULL IS DISTINCT FROM NULL,1,0)", "0"),
        ("IIF(1 IS DISTINCT FROM NULL,1,0)", "1"),
        ("IIF(1 IS NOT DISTINCT FROM 1,1,0)", "1"),
        ("ISNUMERIC('1e5')", "1"),
        ("ISNUMERIC('')", "0"),
        ("ISNUMERIC(NULL)", "0"),
        ("ISNUMERIC(1.5)", "1"),
    ]);
}

#[test]
fn texts_compare_and_match_by_their_collation() {
    check(&[
        ("IIF('a'='a  ',1,0)", "1"),
        ("IIF('abc ' LIKE 'abc',1,0)", "1"),
        ("IIF(N'abc ' LIKE N'abc',1,0)", "0"),
        ("IIF('abc' LIKE 'abc ',1,0)", "0"),
        ("IIF('5%' LIKE '5[%]',1,0)", "1"),
        ("IIF('a_b' LIKE 'a!_b' ESCAPE '!',1,0)", "1"),
        ("IIF(N'é' = N'É',1,0)", "1"),
        ("IIF(N'é' = N'e',1,0)", "0"),
        ("IIF(N'日' < N'本',1,0)", "1"),
        ("IIF(0x01 = 0x0100,1,0)", "1"),
        ("IIF('abc' LIKE CONCAT('a','%'),1,0)", "1"),
        ("IIF(12 LIKE '1%',1,0)", "1"),
        ("IIF(CAST('20200101' AS date) LIKE '2020%',1,0)", "1"),
        ("IIF('A' = 'a' COLLATE Latin1_General_BIN,1,0)", "0"),
        (
            "IIF(CAST('20200101 10:00 +02:00' AS datetimeoffset)\
             =CAST('20200101 08:00' AS datetime2),1,0)",
            "1",
        ),
        (
            "IIF(CAST(99999999999999999999999999999999999999 AS decimal(38,0)) \
             > CAST(0.5 AS decimal(38,38)),1,0)",
            "1",
        ),
        ("PATINDEX('%abc%','xabcx')", "2"),
        ("PATINDEX('abc','xabcx')", "0"),
        ("PATINDEX('%[0-9]%','ab1')", "3"),
        ("CHARINDEX('É',N'café')", "4"),
        ("CHARINDEX('','abc')", "0"),
        ("CHARINDEX('b','abcb',3)", "4"),
    ]);
}

#[test]
fn functions_of_texts() {
    check(&[
        ("LEN('a  ')", "1"),
        ("DATALENGTH('a  ')", "3"),
        ("DATALENGTH(N'ab')", "4"),
        ("LEN(123)", "3"),
        ("DATALENGTH(1.5)", "5"),
        ("DATALENGTH(REPLICATE('a',9000))", "8000"),
        ("DATALENGTH(REPLICATE(CAST('a' AS varchar(max)),9000))", "bigint: 9000"),
        ("DATALENGTH(REPLICATE('a',8000)+'b')", "8000"),
        ("SUBSTRING('abc',0,2)", "varchar(2): a"),
        ("SUBSTRING('abc',2,10)", "varchar(3): bc"),
        ("SUBSTRING(0x010203,2,1)", "0x02"),
        ("SUBSTRING('abc',1,-1)", "E 537"),
        ("LEFT('abc',-1)", "E 537"),
        ("RIGHT('abc',-1)", "E 536"),
        ("LEFT('abc',2)", "varchar(2): ab"),
        ("LEFT(12345,2)", "12"),
        ("STUFF('abcdef',2,3,'ijklmn')", "aijklmnef"),
        ("STUFF('abc',0,1,'x')", "NULL"),
        ("STUFF('abc',2,1,NULL)", "ac"),
        ("CONCAT('a',NULL,1)", "a1"),
        ("CONCAT(1,2.50,CAST('20200101' AS date))", "12.502020-01-01"),
        ("CONCAT_WS('-','a',NULL,'b',1)", "a-b-1"),
        ("CONCAT_WS(NULL,'a','b')", "ab"),
        ("'a'+NULL", "NULL"),
        ("QUOTENAME('abc[]def')", "nvarchar(258): [abc[]]def]"),
        ("QUOTENAME('a\"b','\"')", "\"a\"\"b\""),
        ("QUOTENAME('a','x')", "NULL"),
        ("STR(123.45,2,2)", "**"),
        ("STR(123.45,6,1)", " 123.5"),
        ("STR(5)", "         5"),
        ("DIFFERENCE('Green','Greene')", "4"),
        ("SOUNDEX('Smith')", "S530"),
        ("ASCII('')", "NULL"),
        ("ASCII('A')", "65"),
        ("UNICODE(N'日')", "26085"),
        ("CHAR(256)", "NULL"),
        ("CHAR(233)", "é"),
        ("NCHAR(26085)", "日"),
        ("UPPER(N'straße ж')", "STRAßE Ж"),
        ("UPPER('é')", "É"),
        ("LOWER(N'ΑΒΓ')", "αβγ"),
        ("LTRIM('  a ')", "a "),
        ("TRIM('ab' FROM 'abxba')", "x"),
        ("TRIM(LEADING 'a' FROM 'aaxa')", "xa"),
        ("RTRIM('xaa','a')", "x"),
        ("REVERSE('abc')", "cba"),
        ("REPLACE('aXbx','x','-')", "a-b-"),
        ("REPLACE(N'éa','É','e')", "ea"),
        ("REPLACE('abc','','x')", "abc"),
        ("TRANSLATE('2*[3+4]','[]','()')", "2*(3+4)"),
        ("TRANSLATE('abc','ab','x')", "E 9828"),
        ("SPACE(3)+'x'", "   x"),
        ("REPLICATE('ab',-1)", "NULL"),
        ("REPLICATE('ab',3)", "varchar(6): ababab"),
        ("STRING_ESCAPE('a/b\"','json')", "a\\/b\\\""),
        ("PARSENAME('a.b.c',1)", "c"),
        ("PARSENAME('a.b.c',4)", "NULL"),
        ("LEN(NULL)", "NULL"),
        ("UPPER(NULL)", "NULL"),
        ("LEN(N'a😀')", "3"),
        ("LEN(N'a😀' COLLATE Latin1_General_100_CI_AS_SC)", "2"),
        ("LEFT(N'😀b' COLLATE Latin1_General_100_CI_AS_SC,1)", "😀"),
        ("REVERSE(N'a😀' COLLATE Latin1_General_100_CI_AS_SC)", "😀a"),
        ("FORMAT(1234567.891,'N2')", "1,234,567.89"),
        ("FORMAT(CAST('20240205' AS date),'dddd d MMMM yyyy','en-US')", "Monday 5 February 2024"),
        ("FORMAT(5,'000')", "005"),
    ]);
}

#[test]
fn functions_of_numbers() {
    check(&[
        ("ABS(-5)", "int: 5"),
        ("ABS('-5')", "float: 5"),
        ("ABS(-2147483648)", "E 8115"),
        ("SIGN(-2.5)", "decimal(38,1): -1.0"),
        ("SIGN(-2.5e0)", "-1"),
        ("CEILING(-123.45)", "-123"),
        ("FLOOR(-$123.45)", "-124.0000"),
        ("ROUND(123.9994,3)", "decimal(7,4): 123.9990"),
        ("ROUND(123.45,-2)", "100.00"),
        ("ROUND(748.58,-3)", "E 8115"),
        ("ROUND(748,-1)", "750"),
        ("ROUND(150.75,0,1)", "150.00"),
        ("ROUND(2.5e0,0)", "3"),
        ("ROUND(1.55,LEN('a'))", "1.60"),
        ("POWER(2,10)", "int: 1024"),
        ("POWER(2,0.5)", "1"),
        ("POWER(2.0,0.5)", "decimal(38,1): 1.4"),
        ("POWER(2,40)", "E 8115"),
        ("SQRT(4)", "2"),
        ("SQRT(-1)", "E 3623"),
        ("SQUARE(3)", "9"),
        ("LOG(EXP(1))", "1"),
        ("LOG(8,2)", "3"),
        ("LOG(0)", "E 3623"),
        ("LOG10(1000)", "3"),
        ("PI()", "3.141592653589793"),
        ("RADIANS(180)", "int: 3"),
        ("RADIANS(180.0)", "decimal(38,18): 3.141592653589793100"),
        ("DEGREES(PI())", "180"),
        ("RAND(1)", "0.7135919932129235"),
        ("COS(0)", "1"),
        ("ATN2(0,-1)", "3.141592653589793"),
    ]);
}

#[test]
fn functions_of_dates() {
    check(&[
        ("DATEADD(month,1,'20240131')", "datetime: 2024-02-29T00:00:00.000"),
        ("DATEADD(day,1.9,CAST('20240131' AS date))", "2024-02-01"),
        ("DATEADD(hour,30,CAST('10:00' AS time(0)))", "16:00:00"),
        ("DATEADD(ms,2,CAST('20240131' AS datetime))", "2024-01-31T00:00:00.003"),
        ("DATEADD(ns,149,CAST('20240131' AS datetime2))", "2024-01-31T00:00:00.0000001"),
        ("DATEADD(year,9000,CAST('20240131' AS datetime))", "E 517"),
        ("DATEDIFF(year,'20231231','20240101')", "1"),
        ("DATEDIFF(week,'20240106','20240107')", "1"),
        ("DATEDIFF(day,0,'2024-01-31')", "45320"),
        ("DATEDIFF(second,'19000101','20200101')", "E 535"),
        ("DATEDIFF_BIG(ns,'20200101','20200102')", "bigint: 86400000000000"),
        ("DATEDIFF(hour,'20200101 10:00 +02:00','20200101 10:00 +00:00')", "2"),
        ("DATEPART(iso_week,'20210101')", "53"),
        ("DATEPART(week,'20210101')", "1"),
        ("DATEPART(weekday,'20240101')", "2"),
        ("DATEPART(tz,'2007-05-10 00:00:01 +05:10')", "310"),
        ("DATEPART(ns,CAST('10:00:00.1234567' AS time))", "123456700"),
        ("DATENAME(month,'20240201')", "nvarchar(30): February"),
        ("DATENAME(weekday,'20240101')", "Monday"),
        ("DATENAME(tz,'2007-05-10 00:00:01 +05:10')", "+05:10"),
        ("EOMONTH('20240215')", "date: 2024-02-29"),
        ("EOMONTH('20240215',-1)", "2024-01-31"),
        ("EOMONTH('20240215',NULL)", "2024-02-29"),
        ("DATEFROMPARTS(2023,2,29)", "E 289"),
        ("DATEFROMPARTS(2024,2,29)", "2024-02-29"),
        ("DATEFROMPARTS(2024,NULL,29)", "NULL"),
        ("DATETIMEFROMPARTS(2024,2,29,10,11,12,997)", "2024-02-29T10:11:12.997"),
        ("DATETIME2FROMPARTS(2024,2,29,10,11,12,5,1)", "2024-02-29T10:11:12.5"),
        ("TIMEFROMPARTS(10,11,12,5,2)", "10:11:12.05"),
        ("SMALLDATETIMEFROMPARTS(2024,2,29,10,11)", "2024-02-29T10:11:00.000"),
        ("DATETIMEOFFSETFROMPARTS(2024,2,29,10,11,12,0,2,0,0)", "2024-02-29T10:11:12+02:00"),
        ("SWITCHOFFSET('20240229 10:00 +02:00','-01:00')", "2024-02-29T07:00:00.0000000-01:00"),
        (
            "TODATETIMEOFFSET(CAST('20240229 10:00' AS datetime2(0)),90)",
            "2024-02-29T10:00:00+01:30",
        ),
        ("SWITCHOFFSET('20240229 10:00 +02:00','abc')", "E 9812"),
        ("CAST('20240701 10:00' AS datetime2(0)) AT TIME ZONE 'UTC'", "2024-07-01T10:00:00+00:00"),
        (
            "CAST('20240701 10:00' AS datetime2(0)) AT TIME ZONE 'Pacific Standard Time'",
            "2024-07-01T10:00:00-07:00",
        ),
        ("CAST('20240701 10:00' AS datetime2(0)) AT TIME ZONE 'Nowhere'", "E 9820"),
        ("DATETRUNC(month,CAST('20240229 10:11' AS datetime2(0)))", "2024-02-01T00:00:00"),
        ("DATETRUNC(week,CAST('20240229' AS date))", "2024-02-25"),
        ("DATETRUNC(iso_week,CAST('20240229' AS date))", "2024-02-26"),
        ("DATETRUNC(quarter,CAST('20240229' AS date))", "2024-01-01"),
        ("DATE_BUCKET(week,2,CAST('20240229' AS date))", "2024-02-26"),
        ("DATE_BUCKET(month,3,CAST('20240229' AS date))", "2024-01-01"),
        ("ISDATE('20240230')", "0"),
        ("ISDATE('2024-02-29')", "1"),
        ("ISDATE(2009)", "1"),
        ("CAST('20200101' AS datetime)+1.5", "2020-01-02T12:00:00.000"),
        ("CAST('20200101' AS smalldatetime)-1", "2019-12-31T00:00:00.000"),
        ("CAST('20200103' AS datetime)-CAST('20200101' AS datetime)", "1900-01-03T00:00:00.000"),
        ("PARSE('Monday, 5 February 2024' AS date USING 'en-US')", "2024-02-05"),
        ("PARSE('1,234.5' AS decimal(10,2))", "1234.50"),
        ("TRY_PARSE('abc' AS int)", "NULL"),
        ("PARSE('abc' AS int)", "E 9819"),
    ]);
    let monday = StatementOptions { first_day: 1, ..Default::default() };
    check_with(
        monday,
        &[
            ("DATEPART(weekday,'20240101')", "1"),
            ("DATEDIFF(week,'20240106','20240107')", "1"),
            ("DATETRUNC(week,CAST('20240229' AS date))", "2024-02-26"),
        ],
    );
}

#[test]
fn functions_of_bytes_and_json() {
    check(&[
        ("LEFT_SHIFT(5,1)", "10"),
        ("RIGHT_SHIFT(0x10,4)", "0x01"),
        ("BIT_COUNT(-1)", "bigint: 32"),
        ("GET_BIT(4,2)", "1"),
        ("SET_BIT(0,3)", "8"),
        ("SET_BIT(0x0F,0,0)", "0x0E"),
        ("GET_BIT(4,32)", "E 9834"),
        ("BINARY_CHECKSUM(5)", "5"),
        ("HASHBYTES('MD5','abc')", "0x900150983CD24FB0D6963F7D28E17F72"),
        ("HASHBYTES('nosuch','abc')", "NULL"),
        ("ISJSON('{\"a\":1}')", "1"),
        ("ISJSON('1')", "0"),
        ("ISJSON('1',SCALAR)", "1"),
        ("JSON_VALUE('{\"a\":{\"b\":\"x\"}}','$.a.b')", "nvarchar(4000): x"),
        ("JSON_VALUE('{\"a\":[1,2]}','$.a')", "NULL"),
        ("JSON_VALUE('{\"a\":[1,2]}','strict $.a')", "E 13623"),
        ("JSON_VALUE('{a}','$.a')", "E 13609"),
        ("JSON_QUERY('{\"a\":[1, 2]}','$.a')", "[1, 2]"),
        ("JSON_MODIFY('{\"a\":1}','$.b','x')", "{\"a\":1,\"b\":\"x\"}"),
        ("JSON_MODIFY('{\"a\":1}','$.b',JSON_QUERY('[1]'))", "{\"a\":1,\"b\":[1]}"),
        ("JSON_MODIFY('{\"a\":1}','$.a',NULL)", "{}"),
        ("JSON_PATH_EXISTS('{\"a\":1}','$.a')", "1"),
        ("JSON_OBJECT('a':1,'b':NULL)", "{\"a\":1,\"b\":null}"),
        ("JSON_OBJECT('a':1,'b':NULL ABSENT ON NULL)", "{\"a\":1}"),
        ("JSON_ARRAY(1,'a',NULL,JSON_ARRAY())", "[1,\"a\",[]]"),
        ("CAST('<a>1</a>' AS xml)", "<a>1</a>"),
        ("CAST(CAST('<a>1</a>' AS xml) AS nvarchar(20))", "<a>1</a>"),
    ]);
}

#[test]
fn texts_have_the_lengths_of_the_public_rules() {
    let cases = [
        ("'a'+'bc'", "varchar(3)"),
        ("'a'+N'b'", "nvarchar(2)"),
        ("CAST('a' AS char(3))+CAST('b' AS char(2))", "char(5)"),
        ("CAST('a' AS char(3))+'b'", "varchar(4)"),
        ("CAST('a' AS varchar(5000))+CAST('b' AS varchar(5000))", "varchar(8000)"),
        ("CAST('a' AS varchar(max))+'b'", "varchar(max)"),
        ("0x01+0x0203", "varbinary(3)"),
        ("''", "varchar(1)"),
        ("CASE WHEN 1=1 THEN 'a' ELSE 'bcd' END", "varchar(3)"),
        ("CASE WHEN 1=1 THEN CAST('a' AS char(2)) ELSE CAST('b' AS char(5)) END", "char(5)"),
        ("CASE WHEN 1=1 THEN 'a' ELSE N'b' END", "nvarchar(1)"),
        ("ISNULL('a','bcd')", "varchar(1)"),
        ("LEFT('abc',2)", "varchar(2)"),
        ("RIGHT(N'abc',9)", "nvarchar(3)"),
        ("SUBSTRING('abc',1,0)", "varchar(1)"),
        ("REPLICATE('ab',3)", "varchar(6)"),
        ("REPLACE('abc','b','x')", "varchar(8000)"),
        ("REPLACE(N'abc','b','x')", "nvarchar(4000)"),
        ("UPPER(CAST('a' AS char(3)))", "varchar(3)"),
        ("LTRIM('abc')", "varchar(3)"),
        ("QUOTENAME('a')", "nvarchar(258)"),
        ("FORMAT(1,'N')", "nvarchar(4000)"),
        ("DATENAME(month,'20200101')", "nvarchar(30)"),
        ("CHAR(65)", "char(1)"),
        ("NCHAR(65)", "nchar(1)"),
        ("STR(1,5)", "varchar(5)"),
        ("CAST(1 AS varchar)", "varchar(30)"),
        ("CONCAT('a',1)", "varchar(13)"),
        ("CONCAT(N'a',1)", "nvarchar(13)"),
        ("LEN('a')", "int"),
        ("LEN(CAST('a' AS varchar(max)))", "bigint"),
        ("CHARINDEX('a','b')", "int"),
        ("GREATEST('a','bcd')", "varchar(3)"),
    ];
    for (text, expected) in cases {
        assert_eq!(outcome(text, StatementOptions::default()).0, expected, "{text}");
    }
}

#[test]
fn a_column_binds_its_collation_stronger_than_a_literal() {
    let column = |name: &str| SqlType::VarChar {
        len: Some(5),
        collation: Collation::from_name(name).unwrap(),
    };
    let environment = Environment {
        columns: vec![
            ("s".to_owned(), column("Latin1_General_CS_AS")),
            ("b".to_owned(), column("Latin1_General_BIN")),
        ],
        ..environment(StatementOptions::default())
    };
    let cases = [
        ("IIF(s='A',1,0)", "0"),
        ("IIF(s='A' COLLATE Latin1_General_CI_AS,1,0)", "1"),
        ("IIF(s=b,1,0)", "E 468"),
        ("IIF(s=b COLLATE Latin1_General_CI_AS,1,0)", "1"),
        ("IIF(QUOTENAME(s)='[A]',1,0)", "1"),
        ("IIF(UPPER(s)=s,1,0)", "0"),
        ("IIF(QUOTENAME(s)=s,1,0)", "0"),
        ("IIF(CAST(s AS nvarchar(9))=N'A',1,0)", "0"),
        ("IIF(s LIKE 'A',1,0)", "0"),
        ("CHARINDEX('A',s)", "0"),
        ("REPLACE(s,'A','x')", "a"),
        ("COALESCE(s,b)", "E 468"),
    ];
    for (text, expected) in cases {
        let Ok(Term::Value(expr)) = parse_term(text, Options::default()) else { panic!("{text}") };
        let program = match Program::of_value(&expr, &environment, &mut Nothing, None) {
            Ok(program) => program,
            Err(error) => {
                assert_eq!(refused(&error), expected, "{text}");
                continue;
            }
        };
        let mut batch = Batch::new();
        batch.reset(&program);
        (0..program.inputs().len()).for_each(|input| batch.push(input, Some(b"a")));
        batch.end_row();
        program.run(&mut batch);
        let value = batch.value(0).map(|value| shown(&program.result_type(), value));
        assert_eq!(value.as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn an_assignment_converts_what_converts_by_itself() {
    let varchar = SqlType::VarChar { len: Some(3), collation: DEFAULT };
    let cases = [
        ("CAST('10:00' AS time)", SqlType::Date, "E 206"),
        ("'abc'", SqlType::VarBinary { len: Some(10) }, "E 257"),
        ("CAST(1 AS datetime)", SqlType::Int, "E 257"),
        ("$1", varchar, "E 257"),
        ("'abcdef'", varchar, "abc"),
        ("12345", varchar, "*"),
        ("1.5", SqlType::Int, "1"),
        ("'12'", SqlType::Int, "12"),
        ("1", SqlType::DateTime, "1900-01-02T00:00:00.000"),
        ("NULL", SqlType::Date, "NULL"),
        ("300", SqlType::TinyInt, "E 220"),
    ];
    for (text, target, expected) in cases {
        let Ok(Term::Value(expr)) = parse_term(text, Options::default()) else { panic!("{text}") };
        let environment = environment(StatementOptions::default());
        let program = Program::of_value(&expr, &environment, &mut Nothing, Some(target));
        let found = match program {
            Ok(program) => value_of(&program),
            Err(error) => refused(&error),
        };
        assert_eq!(found, expected, "{text} as {target}");
    }
}

#[test]
fn options_of_the_session_decide_about_null() {
    let lenient = StatementOptions { ansi_warnings: false, ..Default::default() };
    check_with(
        lenient,
        &[
            ("1/0", "NULL"),
            ("2147483647+1", "NULL"),
            ("SQRT(-1)", "NULL"),
            ("CAST('x' AS int)", "E 245"),
        ],
    );
    let empty = StatementOptions { concat_null_yields_null: false, ..Default::default() };
    check_with(empty, &[("'a'+CAST(NULL AS varchar(5))", "a"), ("NULL+'a'", "a")]);
}

#[test]
fn messages_name_types_and_values() {
    let cases = [
        (
            "CAST('abc' AS int)",
            "Conversion failed when converting the varchar value 'abc' to data type int.",
        ),
        ("CAST(300 AS tinyint)", "Arithmetic overflow error for data type tinyint, value = 300."),
        ("CAST('x' AS bigint)", "Error converting data type varchar to bigint."),
        (
            "CAST(1000.5 AS decimal(3,0))",
            "Arithmetic overflow error converting numeric to data type numeric.",
        ),
        ("2147483647+1", "Arithmetic overflow error converting expression to data type int."),
        (
            "CAST(CAST(3000000000 AS bigint) AS int)",
            "Arithmetic overflow error converting expression to data type int.",
        ),
        (
            "CAST(100 AS decimal(2,0))",
            "Arithmetic overflow error converting int to data type numeric.",
        ),
        (
            "CAST('20201301' AS datetime)",
            "The conversion of a varchar data type to a datetime data type resulted in an \
             out-of-range value.",
        ),
        (
            "CASE WHEN 1=1 THEN CAST('y' AS int) ELSE CAST('z' AS int) END",
            "Conversion failed when converting the varchar value 'y' to data type int.",
        ),
        (
            "DATEADD(year,9000,CAST('20240131' AS datetime))",
            "Adding a value to a 'datetime' column caused an overflow.",
        ),
    ];
    for (text, expected) in cases {
        let Ok(Term::Value(expr)) = parse_term(text, Options::default()) else { panic!("{text}") };
        let environment = environment(StatementOptions::default());
        let program = Program::of_value(&expr, &environment, &mut Nothing, None).unwrap();
        let mut batch = Batch::new();
        batch.reset(&program);
        batch.end_row();
        program.run(&mut batch);
        assert_eq!(program.failure(&batch, 0).unwrap().to_string(), expected, "{text}");
    }
}

#[test]
fn a_variant_is_converted_by_the_type_that_it_carries() {
    check(&[
        ("CAST(CAST(7 AS sql_variant) AS int)", "int: 7"),
        ("CAST(CAST(7 AS sql_variant) AS numeric(38,0))", "decimal(38,0): 7"),
        ("CAST(CAST(N'é7' AS sql_variant) AS nvarchar(max))", "nvarchar(max): é7"),
        ("CAST(CAST('12' AS sql_variant) AS bigint)", "bigint: 12"),
        ("CAST(CAST(1.50 AS sql_variant) AS varchar(10))", "varchar(10): 1.50"),
        ("CAST(CAST(1.5e0 AS sql_variant) AS decimal(5,2))", "decimal(5,2): 1.50"),
        ("CONVERT(varchar(30), CAST(CAST('20200102' AS date) AS sql_variant), 104)", "02.01.2020"),
        ("CAST(CAST('x' AS sql_variant) AS int)", "E 245"),
        ("TRY_CAST(CAST('x' AS sql_variant) AS int)", "NULL"),
        ("CAST(CAST(NULL AS sql_variant) AS int)", "NULL"),
    ]);
}
