//! Whatever the rows, an expression of a statement has a value of its type or an error of SQL
//! Server.

use extentdb_expr::{
    Batch, CompileError, Environment, Parameter, Program, Resolver, Settings, StatementOptions,
};
use extentdb_tsql::syntax::Expr;
use extentdb_tsql::{Options, parse_expression};
use extentdb_types::{Collation, Datum, SqlType};
use proptest::prelude::*;

struct Nothing;

impl Resolver for Nothing {
    fn resolve(&mut self, _: &Expr) -> Result<Option<Parameter>, CompileError> {
        Ok(None)
    }
}

fn columns() -> Vec<(&'static str, SqlType)> {
    let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    let japanese = Collation::from_name("Japanese_CI_AS").unwrap();
    let supplementary = Collation::from_name("Latin1_General_100_CI_AS_SC").unwrap();
    vec![
        ("i", SqlType::Int),
        ("t", SqlType::TinyInt),
        ("g", SqlType::BigInt),
        ("b", SqlType::Bit),
        ("n", SqlType::Decimal { precision: 12, scale: 3 }),
        ("w", SqlType::Decimal { precision: 38, scale: 10 }),
        ("m", SqlType::Money),
        ("f", SqlType::Float),
        ("r", SqlType::Real),
        ("d", SqlType::DateTime),
        ("s", SqlType::SmallDateTime),
        ("y", SqlType::Date),
        ("h", SqlType::Time { scale: 7 }),
        ("z", SqlType::DateTime2 { scale: 7 }),
        ("o", SqlType::DateTimeOffset { scale: 7 }),
        ("v", SqlType::VarChar { len: Some(20), collation }),
        ("c", SqlType::Char { len: 6, collation }),
        ("u", SqlType::NVarChar { len: Some(40), collation }),
        ("j", SqlType::VarChar { len: Some(20), collation: japanese }),
        ("p", SqlType::NVarChar { len: Some(40), collation: supplementary }),
        ("x", SqlType::VarBinary { len: Some(20) }),
        ("k", SqlType::UniqueIdentifier),
    ]
}

/// Expressions of every family, over columns that a row fills with anything.
const EXPRESSIONS: &[&str] = &[
    "i+t",
    "i*g",
    "g%i",
    "i/t",
    "-t",
    "~i",
    "i&t|g^i",
    "i<<t",
    "g>>t",
    "n*w",
    "w*w",
    "w/w",
    "w%n",
    "w+n",
    "w-w",
    "n/n",
    "m*m",
    "m/m",
    "m%m",
    "m*n",
    "f*f",
    "f/r",
    "i+f",
    "d+i",
    "d-d",
    "d+f",
    "s-i",
    "s+n",
    "v+u",
    "c+c",
    "x+x",
    "v+i",
    "u+f",
    "ABS(i)",
    "SIGN(n)",
    "CEILING(w)",
    "FLOOR(m)",
    "ROUND(n,t)",
    "ROUND(f,i)",
    "ROUND(g,-2)",
    "POWER(i,t)",
    "POWER(n,2)",
    "POWER(f,f)",
    "SQRT(f)",
    "LOG(f,r)",
    "EXP(f)",
    "TAN(f)",
    "COT(f)",
    "ASIN(r)",
    "ATN2(f,r)",
    "DEGREES(i)",
    "RADIANS(n)",
    "RAND(i)",
    "LEN(u)",
    "LEN(j)",
    "DATALENGTH(x)",
    "UPPER(v)",
    "LOWER(u)",
    "UPPER(j)",
    "LTRIM(c)",
    "TRIM('a' FROM u)",
    "RTRIM(v,'a1')",
    "LEFT(u,t)",
    "RIGHT(p,i)",
    "SUBSTRING(j,t,i)",
    "SUBSTRING(p,i,t)",
    "SUBSTRING(x,t,3)",
    "REVERSE(p)",
    "REVERSE(j)",
    "REPLICATE(v,t)",
    "STUFF(u,t,2,v)",
    "REPLACE(u,v,c)",
    "REPLACE(j,'a','b')",
    "CHARINDEX(v,u)",
    "CHARINDEX('b',j,t)",
    "PATINDEX('%[a-c]%',u)",
    "PATINDEX(v,v)",
    "ASCII(v)",
    "ASCII(j)",
    "ASCII(u)",
    "UNICODE(j)",
    "LOWER(p)",
    "UNICODE(p)",
    "CHAR(t)",
    "NCHAR(i)",
    "CONCAT(i,n,m,f,d,o,u,x,k)",
    "CONCAT_WS('-',u,d,y,h)",
    "STR(f,t,2)",
    "QUOTENAME(u)",
    "TRANSLATE(u,'ab','xy')",
    "SOUNDEX(v)",
    "DIFFERENCE(v,u)",
    "STRING_ESCAPE(u,'json')",
    "PARSENAME(u,1)",
    "FORMAT(n,'N2')",
    "FORMAT(d,v)",
    "FORMAT(f,u)",
    "FORMAT(i,'#,##0.0')",
    "DATEPART(week,d)",
    "DATEPART(iso_week,z)",
    "DATEPART(tz,o)",
    "DATENAME(weekday,y)",
    "DATEADD(day,i,y)",
    "DATEADD(month,i,d)",
    "DATEADD(ms,i,z)",
    "DATEADD(ns,i,h)",
    "DATEADD(minute,i,s)",
    "DATEADD(hour,i,o)",
    "DATEDIFF(ms,d,z)",
    "DATEDIFF(month,y,o)",
    "DATEDIFF_BIG(ns,z,d)",
    "DATETRUNC(hour,d)",
    "DATETRUNC(week,o)",
    "DATE_BUCKET(month,2,z)",
    "DATE_BUCKET(day,i,d)",
    "EOMONTH(z,i)",
    "DATEFROMPARTS(i,t,t)",
    "ISDATE(v)",
    "SWITCHOFFSET(o,t)",
    "TODATETIMEOFFSET(z,i)",
    "z AT TIME ZONE 'Romance Standard Time'",
    "o AT TIME ZONE 'Eastern Standard Time'",
    "CAST(i AS varchar(3))",
    "CAST(n AS nvarchar(30))",
    "CAST(f AS varchar(30))",
    "CONVERT(varchar(40),d,t)",
    "CONVERT(nvarchar(40),o,126)",
    "CONVERT(varchar(40),z,130)",
    "CONVERT(char(10),x,1)",
    "CAST(v AS int)",
    "CAST(u AS float)",
    "CAST(v AS money)",
    "CAST(v AS datetime)",
    "CAST(u AS datetimeoffset)",
    "CONVERT(date,v,103)",
    "CAST(v AS uniqueidentifier)",
    "CAST(f AS decimal(38,20))",
    "CAST(f AS int)",
    "CAST(w AS tinyint)",
    "CAST(d AS decimal(20,10))",
    "CAST(f AS datetime)",
    "CAST(z AS datetime)",
    "CAST(o AS smalldatetime)",
    "CAST(y AS datetime)",
    "CAST(x AS int)",
    "CAST(x AS datetime)",
    "CAST(x AS decimal(10,2))",
    "CAST(x AS time)",
    "CAST(x AS datetimeoffset)",
    "CAST(w AS varbinary(20))",
    "CAST(o AS binary(11))",
    "CAST(u AS varchar(5))",
    "CAST(j AS nvarchar(3))",
    "CAST(u AS varchar(5)) COLLATE Japanese_CI_AS",
    "CAST(v AS char(3)) COLLATE Japanese_CI_AS",
    "TRY_CAST(u AS int)",
    "TRY_CONVERT(datetime,v)",
    "ISNULL(v,u)",
    "COALESCE(i,n,f)",
    "NULLIF(u,v)",
    "CHOOSE(t,v,u)",
    "GREATEST(i,n,f)",
    "LEAST(v,u)",
    "IIF(v LIKE u,1,0)",
    "IIF(u LIKE '%[^a-m]_%' ESCAPE '!',1,0)",
    "IIF(j LIKE 'a%',1,0)",
    "IIF(u=v,1,0)",
    "IIF(d=z,1,0)",
    "IIF(o>d,1,0)",
    "IIF(w<n,1,0)",
    "IIF(x=0x01,1,0)",
    "IIF(v IS DISTINCT FROM u,1,0)",
    "IIF(f BETWEEN n AND m,1,0)",
    "ISNUMERIC(v)",
    "BIT_COUNT(x)",
    "GET_BIT(x,t)",
    "SET_BIT(i,t)",
    "LEFT_SHIFT(x,t)",
    "CHECKSUM(u,i,d)",
    "BINARY_CHECKSUM(v,x)",
    "HASHBYTES('SHA1',u)",
    "ISJSON(u)",
    "JSON_VALUE('{\"a\":[1,\"x\"]}','$.a[1]')",
    "JSON_MODIFY('{\"a\":1}','$.a',u)",
    "JSON_OBJECT('a':u,'b':d)",
    "JSON_ARRAY(i,f,v,o)",
    "PARSE('1' AS int)",
    "TRY_PARSE(u AS datetime2)",
];

fn environment() -> Environment {
    Environment {
        columns: columns().into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect(),
        database_collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
        settings: Settings::statement(StatementOptions::default()),
    }
}

fn programs() -> Vec<(&'static str, Program)> {
    let environment = environment();
    let mut programs = Vec::new();
    let mut refused = Vec::new();
    for text in EXPRESSIONS {
        let expr = parse_expression(text, Options::default())
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
        match Program::of_value(&expr, &environment, &mut Nothing, None) {
            Ok(program) => programs.push((*text, program)),
            Err(error) => refused.push(format!("{text}: {error}")),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    programs
}

/// Bytes of a value of a type, likely legal.
fn cell(ty: SqlType) -> BoxedStrategy<Option<Vec<u8>>> {
    let texts = prop::sample::select(vec![
        "",
        " ",
        "a",
        "abc",
        "12",
        "-1.5",
        "1e3",
        "$1,5",
        "2024-02-29",
        "20240230",
        "10:11:12.5",
        "Feb 3 2024 4pm",
        "2024-01-01T10:11:12+02:00",
        "%a_[b]",
        "[x",
        "\u{e9}\u{df}",
        "\u{65e5}\u{672c}",
        "\u{1f600}b",
        "yyyy-MM-dd",
        "N2",
        "0.0;(#)",
        "'a",
        "{\"a\":1}",
        "-",
        "a.b",
        "0x1F",
    ]);
    match ty {
        SqlType::VarChar { collation, .. } => texts
            .prop_map(move |text| {
                let page = collation.code_page().unwrap();
                Some(
                    page.encode(text)
                        .unwrap_or_else(|| text.as_bytes()[..1.min(text.len())].to_vec()),
                )
            })
            .prop_map(|bytes| {
                bytes.map(|mut bytes| {
                    bytes.truncate(20);
                    bytes
                })
            })
            .boxed(),
        SqlType::NVarChar { .. } => texts
            .prop_map(|text| {
                let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
                Some(units[..units.len().min(40)].to_vec())
            })
            .boxed(),
        SqlType::Char { len, .. } => {
            proptest::collection::vec(b' '..=b'z', usize::from(len)).prop_map(Some).boxed()
        }
        SqlType::VarBinary { .. } => {
            proptest::collection::vec(any::<u8>(), 0..=20).prop_map(Some).boxed()
        }
        _ => {
            let len = ty.fixed_bytes().unwrap_or(1);
            (proptest::collection::vec(any::<u8>(), len..=len), 0usize..=len)
                .prop_map(move |(mut bytes, high)| {
                    bytes[len - high..].fill(0);
                    if let SqlType::Bit | SqlType::Decimal { .. } = ty {
                        bytes[0] &= 1;
                    }
                    let is_legal = match Datum::decode(&ty, &bytes) {
                        Ok(Datum::Float(value)) => value.is_finite(),
                        Ok(Datum::Real(value)) => value.is_finite(),
                        decoded => decoded.is_ok(),
                    };
                    is_legal.then_some(bytes)
                })
                .boxed()
        }
    }
}

fn row() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    let cells: Vec<_> =
        columns().into_iter().map(|(_, ty)| prop_oneof![1 => Just(None), 6 => cell(ty)]).collect();
    cells
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn every_row_has_a_value_of_its_type_or_an_error_of_the_product(
        rows in proptest::collection::vec(row(), 1..4),
    ) {
        thread_local! {
            static PROGRAMS: Vec<(&'static str, Program)> = programs();
        }
        PROGRAMS.with(|programs| -> Result<(), TestCaseError> {
            let mut batch = Batch::new();
            for (text, program) in programs {
                batch.reset(program);
                for row in &rows {
                    for (input, column) in program.inputs().iter().enumerate() {
                        batch.push(input, row[*column].as_deref());
                    }
                    batch.end_row();
                }
                program.run(&mut batch);
                let ty = program.result_type();
                for at in 0..rows.len() {
                    match batch.value(at) {
                        Ok(Some(bytes)) => {
                            let decoded = Datum::decode(&ty, bytes);
                            prop_assert!(decoded.is_ok(), "{text}: {ty} {bytes:?} {decoded:?}");
                        }
                        Ok(None) => {}
                        Err(error) => {
                            let failure = program.failure(&batch, at);
                            let number = failure.and_then(|failure| failure.number());
                            let is_finite = number.is_some();
                            prop_assert!(!error.is_undecided() && is_finite, "{text}: {error}");
                        }
                    }
                }
            }
            Ok(())
        })?;
    }
}
