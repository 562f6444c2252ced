//! Properties: against exact models, in batches of any order, and over text and bytes of any kind.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use extentdb_expr::{
    Batch, Environment, EvalError, Predicate, Program, Settings, StatementOptions,
};
use extentdb_types::{Datum, SqlType};
use proptest::prelude::*;
use support::{char, decimal, environment, nvarchar, stored, varchar};

/// An exact number: `unscaled / 10^scale`.
#[derive(Debug, Clone, Copy)]
struct Exact {
    unscaled: i128,
    scale: u32,
}

impl Exact {
    fn at(self, scale: u32) -> i128 {
        self.unscaled * 10i128.pow(scale - self.scale)
    }

    fn sum(self, other: Exact, sign: i128) -> Exact {
        let scale = self.scale.max(other.scale);
        Exact { unscaled: self.at(scale) + sign * other.at(scale), scale }
    }

    fn product(self, other: Exact) -> Exact {
        Exact {
            unscaled: self.unscaled * other.unscaled,
            scale: self.scale + other.scale,
        }
    }
}

/// A tree of sums and products over three columns, small enough to stay exact within 38 digits.
#[derive(Debug, Clone)]
enum Tree {
    Column(usize),
    Literal(i32),
    Sum(Box<Tree>, Box<Tree>, bool),
    Product(Box<Tree>, Box<Tree>),
    Negative(Box<Tree>),
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Tree::Column(at) => format!("[c{at}]"),
            Tree::Literal(number) if *number < 0 => format!("(-({}))", -i64::from(*number)),
            Tree::Literal(number) => format!("({number})"),
            Tree::Sum(a, b, true) => format!("({}-{})", a.text(), b.text()),
            Tree::Sum(a, b, false) => format!("({}+{})", a.text(), b.text()),
            Tree::Product(a, b) => format!("({}*{})", a.text(), b.text()),
            Tree::Negative(a) => format!("(-{})", a.text()),
        }
    }

    fn value(&self, columns: &[Exact; 3]) -> Exact {
        match self {
            Tree::Column(at) => columns[*at],
            Tree::Literal(number) => Exact { unscaled: i128::from(*number), scale: 0 },
            Tree::Sum(a, b, minus) => {
                a.value(columns).sum(b.value(columns), if *minus { -1 } else { 1 })
            }
            Tree::Product(a, b) => a.value(columns).product(b.value(columns)),
            Tree::Negative(a) => {
                let a = a.value(columns);
                Exact { unscaled: -a.unscaled, ..a }
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf =
        prop_oneof![(0usize..3).prop_map(Tree::Column), (-999i32..999).prop_map(Tree::Literal)];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(a, b, minus)| Tree::Sum(
                a.into(),
                b.into(),
                minus
            )),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Tree::Product(a.into(), b.into())),
            inner.prop_map(|a| Tree::Negative(a.into())),
        ]
    })
}

fn run_one(program: &impl AsRef<Program>, row: &[Option<Vec<u8>>], batch: &mut Batch) {
    batch.reset(program);
    for (index, input) in program.as_ref().inputs().iter().enumerate() {
        batch.push(index, row[*input].as_deref());
    }
    batch.end_row();
    program.as_ref().run(batch);
}

proptest! {
    #[test]
    fn sums_and_products_are_exact(tree in tree(), a in -9_999_999i64..9_999_999, b in -99_999i64..99_999, c in any::<i16>()) {
        let ta = decimal(7, 2);
        let tb = decimal(5, 3);
        let tc = SqlType::SmallInt;
        let environment = environment(&[("c0", ta), ("c1", tb), ("c2", tc)]);
        // A decimal somewhere, so that no step is an integer that overflows.
        let text = format!("(([c0]*(0)+(0.0))+{})", tree.text());
        let program = Program::compile(&text, &environment).unwrap();
        let row = [
            (ta, Exact { unscaled: a.into(), scale: 2 }.to_text()),
            (tb, Exact { unscaled: b.into(), scale: 3 }.to_text()),
            (tc, c.to_string()),
        ]
        .map(|(ty, text)| stored(&ty, Some(&text)));
        let columns = [(a.into(), 2), (b.into(), 3), (c.into(), 0)].map(|(unscaled, scale)| Exact { unscaled, scale });
        let mut batch = Batch::new();
        run_one(&program, &row, &mut batch);
        let expected = tree.value(&columns);
        match batch.value(0) {
            Ok(Some(bytes)) => {
                let Ok(Datum::Decimal(found)) = Datum::decode(&program.result_type(), bytes) else {
                    panic!("{text}");
                };
                let scale = u32::from(found.scale());
                prop_assert!(scale >= expected.scale, "{}", text);
                prop_assert_eq!(found.unscaled(), expected.at(scale), "{}", text);
            }
            // Parts without a decimal are integers, which overflow on their own.
            Err(EvalError::Overflow) => prop_assert!(!tree.is_all_decimal(), "{}", text),
            other => panic!("{text}: {other:?}"),
        }
    }
}

impl Exact {
    fn to_text(self) -> String {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let unit = 10i128.pow(self.scale);
        let width = self.scale as usize;
        let magnitude = self.unscaled.abs();
        format!("{sign}{}.{:0width$}", magnitude / unit, magnitude % unit)
    }
}

impl Tree {
    /// Is there no operator between two integers?
    fn is_all_decimal(&self) -> bool {
        match self {
            Tree::Sum(a, b, _) | Tree::Product(a, b) => {
                !(a.is_integer() && b.is_integer()) && a.is_all_decimal() && b.is_all_decimal()
            }
            Tree::Negative(a) => !a.is_integer() && a.is_all_decimal(),
            Tree::Column(_) | Tree::Literal(_) => true,
        }
    }

    fn is_integer(&self) -> bool {
        match self {
            Tree::Column(at) => *at == 2,
            Tree::Literal(_) => true,
            Tree::Sum(a, b, _) | Tree::Product(a, b) => a.is_integer() && b.is_integer(),
            Tree::Negative(a) => a.is_integer(),
        }
    }
}

/// A condition over three columns that are 0, 1 or NULL.
#[derive(Debug, Clone)]
enum Logic {
    IsOne(usize),
    IsNull(usize),
    Not(Box<Logic>),
    And(Box<Logic>, Box<Logic>),
    Or(Box<Logic>, Box<Logic>),
}

impl Logic {
    fn text(&self) -> String {
        match self {
            Logic::IsOne(at) => format!("[c{at}]=(1)"),
            Logic::IsNull(at) => format!("[c{at}] IS NULL"),
            Logic::Not(a) => format!("(NOT {})", a.text()),
            Logic::And(a, b) => format!("({} AND {})", a.text(), b.text()),
            Logic::Or(a, b) => format!("({} OR {})", a.text(), b.text()),
        }
    }

    fn truth(&self, columns: [Option<bool>; 3]) -> Option<bool> {
        match self {
            Logic::IsOne(at) => columns[*at],
            Logic::IsNull(at) => Some(columns[*at].is_none()),
            Logic::Not(a) => a.truth(columns).map(|truth| !truth),
            Logic::And(a, b) => match (a.truth(columns), b.truth(columns)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Logic::Or(a, b) => match (a.truth(columns), b.truth(columns)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

fn logic() -> impl Strategy<Value = Logic> {
    let leaf = prop_oneof![(0usize..3).prop_map(Logic::IsOne), (0usize..3).prop_map(Logic::IsNull)];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| Logic::Not(a.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Logic::And(a.into(), b.into())),
            (inner.clone(), inner).prop_map(|(a, b)| Logic::Or(a.into(), b.into())),
        ]
    })
}

proptest! {
    #[test]
    fn conditions_agree_with_a_table_of_truth(logic in logic()) {
        let environment = environment(&[("c0", SqlType::Bit), ("c1", SqlType::Int), ("c2", SqlType::TinyInt)]);
        let types = [SqlType::Bit, SqlType::Int, SqlType::TinyInt];
        let predicate = Predicate::compile(&logic.text(), &environment).unwrap();
        let mut batch = Batch::new();
        for case in 0..27usize {
            let columns = [case % 3, case / 3 % 3, case / 9].map(|it| [None, Some(false), Some(true)][it]);
            let row: Vec<_> = types
                .iter()
                .zip(columns)
                .map(|(ty, value)| stored(ty, value.map(|value| if value { "1" } else { "0" })))
                .collect();
            run_one(&predicate, &row, &mut batch);
            prop_assert_eq!(batch.truth(0), Ok(logic.truth(columns)), "{} {:?}", logic.text(), columns);
        }
    }

    #[test]
    fn like_agrees_with_a_recursive_matcher(text in "[ab]{0,8}", pattern in "[ab%_]{0,8}") {
        fn matches(text: &[u8], pattern: &[u8]) -> bool {
            match (text, pattern) {
                (_, []) => text.is_empty(),
                (_, [b'%', rest @ ..]) => (0..=text.len()).any(|at| matches(&text[at..], rest)),
                ([_, text @ ..], [b'_', rest @ ..]) => matches(text, rest),
                ([a, text @ ..], [b, rest @ ..]) => a == b && matches(text, rest),
                ([], _) => false,
            }
        }
        let ty = varchar(8);
        let predicate = Predicate::compile(&format!("[c0] LIKE '{pattern}'"), &environment(&[("c0", ty)])).unwrap();
        let mut batch = Batch::new();
        run_one(&predicate, &[stored(&ty, Some(&text))], &mut batch);
        prop_assert_eq!(batch.truth(0), Ok(Some(matches(text.as_bytes(), pattern.as_bytes()))));
    }

    #[test]
    fn days_added_are_days_between(days in 0u32..3_652_058, added in -4_000_000i32..4_000_000) {
        let environment = environment(&[("d", SqlType::Date), ("n", SqlType::Int)]);
        let program = Program::compile("(datediff(day,[d],dateadd(day,[n],[d])))", &environment).unwrap();
        let row = [Some(days.to_le_bytes()[..3].to_vec()), Some(added.to_le_bytes().to_vec())];
        let mut batch = Batch::new();
        run_one(&program, &row, &mut batch);
        let is_legal = (0..=3_652_058).contains(&(i64::from(days) + i64::from(added)));
        let expected = added.to_le_bytes();
        prop_assert_eq!(batch.value(0), if is_legal { Ok(Some(&expected[..])) } else { Err(EvalError::Argument) });
    }
}

const COLUMNS: [(&str, SqlType); 12] = [
    ("i", SqlType::Int),
    ("t", SqlType::TinyInt),
    ("b", SqlType::Bit),
    ("n", SqlType::Decimal { precision: 12, scale: 3 }),
    ("w", SqlType::Decimal { precision: 38, scale: 10 }),
    ("m", SqlType::Money),
    ("f", SqlType::Float),
    ("d", SqlType::DateTime),
    ("y", SqlType::Date),
    ("z", SqlType::DateTime2 { scale: 7 }),
    ("g", SqlType::UniqueIdentifier),
    ("x", SqlType::Xml),
];

fn everything() -> Environment {
    let mut environment = environment(&COLUMNS);
    environment.columns.push(("v".to_owned(), varchar(20)));
    environment.columns.push(("c".to_owned(), char(6)));
    environment.columns.push(("u".to_owned(), nvarchar(20)));
    environment
}

/// Bytes for each column: random, and likely legal.
fn row() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    let types: Vec<SqlType> = everything().columns.into_iter().map(|(_, ty)| ty).collect();
    let cell = move |ty: SqlType| {
        let len = ty.fixed_bytes().or(if ty == SqlType::Bit { Some(1) } else { None });
        let bytes = match len {
            Some(len) => proptest::collection::vec(any::<u8>(), len..=len).boxed(),
            None => {
                proptest::collection::vec(prop::sample::select(b"aA1 -.%\0\xE9".to_vec()), 0..20)
                    .prop_map(|mut bytes| {
                        bytes.truncate(bytes.len() / 2 * 2);
                        bytes
                    })
                    .boxed()
            }
        };
        let legal = (bytes, 0usize..4).prop_map(move |(mut bytes, high)| {
            // Small numbers and dates within the calendar.
            let len = bytes.len();
            if !matches!(ty, SqlType::UniqueIdentifier) && ty.fixed_bytes().is_some() {
                bytes[len.saturating_sub(high)..].fill(0);
            }
            match ty {
                SqlType::Bit | SqlType::Decimal { .. } => bytes[0] &= 1,
                SqlType::DateTime => bytes[3] = 0,
                SqlType::DateTime2 { .. } => bytes[4] = 0x20,
                _ => {}
            }
            bytes
        });
        prop_oneof![1 => Just(None), 5 => legal.prop_map(Some)]
    };
    types.into_iter().map(cell).collect::<Vec<_>>()
}

/// Expressions of every family of operators.
fn texts() -> Vec<&'static str> {
    vec![
        "([i]*[n])",
        "([w]*[n]+[i])",
        "([n]/nullif([i],(0)))",
        "([m]*[i]-[m]/(3))",
        "([f]*[i]+[f])",
        "(case when [i]>(0) then [v]+'x' when [b]=(1) then upper([c]) else [u] end)",
        "(isnull([v],'none')+CONVERT([varchar](12),[i]))",
        "(substring([v],[t],(4))+right([c],(2)))",
        "(replace([v],'a','bb'))",
        "(charindex('1',[v])+len([c]))",
        "(concat([i],'/',[n],'/',[v],[g]))",
        "(stuff([v],(2),(1),[c]))",
        "(replicate([c],[t]))",
        "(datepart(year,[d])*(100)+datepart(month,[z]))",
        "(dateadd(month,[t],[y]))",
        "(datediff(day,[d],[z]))",
        "(CONVERT([varchar](30),[d],(121)))",
        "(CONVERT([date],[z]))",
        "(CONVERT([char](10),[y],(112)))",
        "(hashbytes('SHA2_256',[v]))",
        "(coalesce([n],[i],(1.5)))",
        "(round([n],(1))+abs([n]))",
        "(CONVERT([int],[v]))",
        "(~[t]&(15)|[b])",
        "(case when [x] IS NULL then (1) else (0) end)",
        "(reverse([u])+lower([u])+ltrim([u]))",
        "(ascii([v])+unicode([u]))",
        "(char([t])+nchar([i]))",
        "(case when [v] LIKE '[a-c]%' OR [v]=[c] OR [u]<N'b' then (1) end)",
        "([g])",
    ]
}

fn programs() -> Vec<Program> {
    compiled(&everything())
}

fn compiled(environment: &Environment) -> Vec<Program> {
    let compile = |text: &str| {
        Program::compile(text, environment).unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    texts().into_iter().map(compile).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_batch_gives_what_its_rows_give_alone(rows in proptest::collection::vec(row(), 1..40), order in any::<u64>()) {
        let mut alone = Batch::new();
        let mut together = Batch::new();
        let mut programs = programs();
        // The batches are used again in another order each time: nothing may stay behind.
        let turn = order as usize % programs.len();
        programs.rotate_left(turn);
        for program in &programs {
            together.reset(program);
            for row in &rows {
                // Inputs of one row may come in any order.
                for index in (0..program.inputs().len()).rev() {
                    together.push(index, row[program.inputs()[index]].as_deref());
                }
                together.end_row();
            }
            program.run(&mut together);
            for (at, row) in rows.iter().enumerate() {
                run_one(program, row, &mut alone);
                prop_assert_eq!(together.value(at), alone.value(0));
                if let Ok(Some(bytes)) = alone.value(0) {
                    prop_assert!(Datum::decode(&program.result_type(), bytes).is_ok(), "{}", program.result_type());
                }
            }
            prop_assert_eq!(together.value(rows.len()), Err(EvalError::Row));
        }
    }

    #[test]
    fn what_a_stored_expression_decides_a_statement_decides_alike(row in row()) {
        let stored = programs();
        let settings = Settings::statement(StatementOptions::default());
        let statements = compiled(&Environment { settings, ..everything() });
        let mut batch = Batch::new();
        for ((stored, statement), text) in stored.iter().zip(&statements).zip(texts()) {
            run_one(stored, &row, &mut batch);
            let expected = batch.value(0).map(|value| value.map(<[u8]>::to_vec));
            run_one(statement, &row, &mut batch);
            let found = batch.value(0).map(|value| value.map(<[u8]>::to_vec));
            match expected {
                // An opaque column is looked at only here.
                Err(error) if error.is_undecided() => {}
                Err(_) => prop_assert!(found.is_err(), "{}: {:?} {:?}", text, expected, found),
                Ok(_) => prop_assert_eq!(found, expected, "{}", text),
            }
        }
    }

    #[test]
    fn bytes_of_any_kind_never_panic(cells in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 15)) {
        let row: Vec<Option<Vec<u8>>> = cells.into_iter().map(Some).collect();
        let mut batch = Batch::new();
        for program in &programs() {
            run_one(program, &row, &mut batch);
            let _ = batch.value(0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn pieces_of_expressions_compile_and_run_or_are_refused(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "(", ")", ",", "[i]", "[t]", "[b]", "[n]", "[w]", "[m]", "[f]", "[d]", "[y]", "[z]", "[g]", "[x]", "[v]",
                "[c]", "[u]", "(1)", "(0)", "(-(3))", "(1.50)", "'a'", "N'ü'", "$2", "1e3", "0xFF", "NULL", "+", "-", "*",
                "/", "%", "&", "=", "<", " AND ", " OR ", " NOT ", " IS NULL", " LIKE 'a%'", "isnull(", "len(", "left(",
                "upper(", "replace(", "substring(", "datepart(year,", "dateadd(day,", "CONVERT([varchar](9),",
                "CONVERT([decimal](9,2),", "CONVERT([date],", ",(112))", "case when ", " then ", " else ", " end", "abs(",
                "round(", "concat(", "coalesce(", " in (", " between ", "~", "format(", "power(", "stuff(", "str(",
                "json_value(", "translate(", "datetrunc(week,", "eomonth(", "switchoffset(", "concat_ws(", "choose(",
                "CAST([f] AS ", "datetimeoffset)", "money)", "xml)", "greatest(", " AT TIME ZONE 'UTC'", "trim(", " FROM ",
            ]),
            1..12,
        ),
        row in row(),
    ) {
        let text = pieces.concat();
        let settings = Settings::statement(StatementOptions::default());
        let statement = Environment { settings, ..everything() };
        let mut batch = Batch::new();
        if let Ok(program) = Program::compile(&text, &statement) {
            run_one(&program, &row, &mut batch);
            if let Ok(Some(bytes)) = batch.value(0) {
                prop_assert!(Datum::decode(&program.result_type(), bytes).is_ok(), "{}: {}", text, program.result_type());
            }
        }
        let environment = everything();
        if let Ok(program) = Program::compile(&text, &environment) {
            run_one(&program, &row, &mut batch);
            if let Ok(Some(bytes)) = batch.value(0) {
                prop_assert!(Datum::decode(&program.result_type(), bytes).is_ok(), "{}: {}", text, program.result_type());
            }
        }
        if let Ok(predicate) = Predicate::compile(&text, &environment) {
            run_one(&predicate, &row, &mut batch);
            let _ = batch.truth(0);
        }
    }
}

#[test]
fn a_row_that_is_not_pushed_properly_is_an_error_and_harms_no_other() {
    let environment = environment(&[("a", SqlType::Int), ("b", SqlType::Int)]);
    let program = Program::compile("([a]+[b])", &environment).unwrap();
    let one = 1i32.to_le_bytes();
    let mut batch = Batch::new();
    batch.reset(&program);
    let pushes: [&[usize]; 4] = [&[0, 1], &[0], &[0, 1, 1], &[0, 1, 9]];
    for row in pushes {
        row.iter().for_each(|input| batch.push(*input, Some(&one)));
        batch.end_row();
    }
    program.run(&mut batch);
    let two = 2i32.to_le_bytes();
    assert_eq!(batch.value(0), Ok(Some(&two[..])));
    assert_eq!(batch.value(1), Err(EvalError::Input));
    assert_eq!(batch.value(2), Err(EvalError::Input));
    assert_eq!(batch.value(3), Ok(Some(&two[..])));
    assert_eq!(batch.value(4), Err(EvalError::Row));
}

#[test]
fn a_batch_of_another_program_is_not_run() {
    let environment = environment(&[("a", SqlType::Int), ("b", SqlType::BigInt)]);
    let first = Program::compile("([a]+(1))", &environment).unwrap();
    let second = Program::compile("([b]+(1))", &environment).unwrap();
    let mut batch = Batch::new();
    batch.reset(&first);
    batch.push(0, Some(&1i32.to_le_bytes()));
    batch.end_row();
    second.run(&mut batch);
    assert_eq!(batch.value(0), Err(EvalError::Row));
}

#[test]
fn a_text_that_grows_without_end_is_refused() {
    let max = SqlType::VarChar { len: None, collation: support::DEFAULT };
    let environment = environment(&[("v", max), ("i", SqlType::Int)]);
    let program = Program::compile("(replicate([v],[i]))", &environment).unwrap();
    let row = [Some(vec![b'a'; 100_000]), Some(i32::MAX.to_le_bytes().to_vec())];
    let mut batch = Batch::new();
    run_one(&program, &row, &mut batch);
    assert_eq!(batch.value(0), Err(EvalError::Space));
    let program = Program::compile("(replace([v],'a',[v]))", &environment).unwrap();
    run_one(&program, &row, &mut batch);
    assert_eq!(batch.value(0), Err(EvalError::Space));
}

/// Nanoseconds that this thread spent on a processor.
fn on_cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0.0)
}

/// Prints the cost per row; run in release with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn nanoseconds_per_row() {
    let environment =
        environment(&[("quantity", SqlType::Int), ("price", decimal(10, 2)), ("v", varchar(20))]);
    let row = [
        Some(3i32.to_le_bytes().to_vec()),
        stored(&decimal(10, 2), Some("19.99")),
        stored(&varchar(20), Some("Hello World")),
    ];
    for text in [
        "([quantity]*[price])",
        "([quantity]+(1))",
        "(upper([v]))",
        "(case when [quantity]>(0) then [v] end)",
    ] {
        let program = Program::compile(text, &environment).unwrap();
        let mut batch = Batch::new();
        let rounds = 20_000u32;
        let rows = 100u32;
        let mut best = f64::MAX;
        for _ in 0..5 {
            let start = on_cpu();
            let mut sum = 0usize;
            for _ in 0..rounds {
                batch.reset(&program);
                for _ in 0..rows {
                    for (index, input) in program.inputs().iter().enumerate() {
                        batch.push(index, row[*input].as_deref());
                    }
                    batch.end_row();
                }
                program.run(&mut batch);
                for at in 0..rows as usize {
                    sum += batch.value(at).unwrap().map_or(0, <[u8]>::len);
                }
            }
            std::hint::black_box(sum);
            best = best.min((on_cpu() - start) / f64::from(rounds * rows));
        }
        println!("{text}: {best:.1} ns per row");
    }
}
