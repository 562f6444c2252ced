//! Evaluates an expression over values that are given as text.

use extentdb_expr::{
    Batch, CompileError, Environment, EvalError, Predicate, Program, Settings, StatementOptions,
};
use extentdb_types::plain::write_plain;
use extentdb_types::{Collation, Datum, Decimal, SqlType};

pub(crate) const DEFAULT: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

pub(crate) fn decimal(precision: u8, scale: u8) -> SqlType {
    SqlType::Decimal { precision, scale }
}

pub(crate) fn varchar(len: u16) -> SqlType {
    SqlType::VarChar { len: Some(len), collation: DEFAULT }
}

pub(crate) fn char(len: u16) -> SqlType {
    SqlType::Char { len, collation: DEFAULT }
}

pub(crate) fn nvarchar(characters: u16) -> SqlType {
    SqlType::NVarChar { len: Some(characters * 2), collation: DEFAULT }
}

pub(crate) fn environment(columns: &[(&str, SqlType)]) -> Environment {
    let columns = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
    Environment {
        columns,
        database_collation: DEFAULT,
        settings: Settings::stored(),
    }
}

/// The stored form of a value: numbers and texts as they read, dates by an expression, `None` for
/// NULL.
pub(crate) fn stored(ty: &SqlType, text: Option<&str>) -> Option<Vec<u8>> {
    let text = text?;
    let number = || text.parse::<i64>().unwrap();
    Some(match *ty {
        SqlType::Bit | SqlType::TinyInt => vec![text.parse().unwrap()],
        SqlType::SmallInt => (number() as i16).to_le_bytes().to_vec(),
        SqlType::Int => (number() as i32).to_le_bytes().to_vec(),
        SqlType::BigInt => number().to_le_bytes().to_vec(),
        SqlType::Money => scaled(text, 4).to_le_bytes()[..8].to_vec(),
        SqlType::SmallMoney => scaled(text, 4).to_le_bytes()[..4].to_vec(),
        SqlType::Float => text.parse::<f64>().unwrap().to_le_bytes().to_vec(),
        SqlType::Real => text.parse::<f32>().unwrap().to_le_bytes().to_vec(),
        SqlType::Decimal { scale, .. } => {
            let value = Decimal::parse(text).unwrap().rescale(scale).unwrap();
            let mut bytes = Vec::new();
            Datum::Decimal(value).encode(ty, &mut bytes).unwrap();
            bytes
        }
        SqlType::Char { len, .. } => format!("{text:0$}", usize::from(len)).into_bytes(),
        SqlType::VarChar { collation, .. } => collation.code_page().unwrap().encode(text).unwrap(),
        SqlType::NVarChar { .. } => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        SqlType::NChar { len, .. } => format!("{text:0$}", usize::from(len / 2))
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect(),
        SqlType::VarBinary { .. } => text.as_bytes().to_vec(),
        _ => {
            // Whatever CONVERT makes of the text.
            let program =
                Program::compile(&format!("CONVERT({ty},'{text}')"), &environment(&[])).unwrap();
            let mut batch = Batch::new();
            batch.reset(&program);
            batch.end_row();
            program.run(&mut batch);
            batch.value(0).unwrap().unwrap().to_vec()
        }
    })
}

fn scaled(text: &str, scale: u8) -> i128 {
    Decimal::parse(text).unwrap().rescale(scale).unwrap().unscaled()
}

/// A column of a test: name, type, value.
pub(crate) type Column<'a> = (&'a str, SqlType, Option<&'a str>);

fn prepare(batch: &mut Batch, program: &impl AsRef<Program>, columns: &[Column<'_>]) {
    batch.reset(program);
    for (index, input) in program.as_ref().inputs().iter().enumerate() {
        let (_, ty, text) = &columns[*input];
        batch.push(index, stored(ty, *text).as_deref());
    }
    batch.end_row();
}

fn names(columns: &[Column<'_>]) -> Environment {
    environment(&columns.iter().map(|(name, ty, _)| (*name, *ty)).collect::<Vec<_>>())
}

/// Type and value of an expression, as `type: value`; an error by its text. What is decided is
/// decided alike in a statement.
pub(crate) fn eval(text: &str, columns: &[Column<'_>]) -> String {
    let stored = eval_in(text, columns, &names(columns));
    let settings = Settings::statement(StatementOptions::default());
    let statement = eval_in(text, columns, &Environment { settings, ..names(columns) });
    if let (Some((_, expected)), Some((_, found))) =
        (stored.split_once(": "), statement.split_once(": "))
        && !UNDECIDED.contains(&expected)
    {
        assert_eq!(found, expected, "{text} in a statement");
    }
    stored
}

/// Outcomes that say nothing about a row, or have another name in a statement.
const UNDECIDED: [&str; 6] = [
    "argument out of range",
    "the value does not fit the declared type",
    "the collation does not decide",
    "characters that are not certain",
    "rounding that is not certain",
    "a form of text that is not certain",
];

fn eval_in(text: &str, columns: &[Column<'_>], environment: &Environment) -> String {
    let program = match Program::compile(text, environment) {
        Ok(program) => program,
        Err(error) => return short(&error),
    };
    let mut batch = Batch::new();
    prepare(&mut batch, &program, columns);
    program.run(&mut batch);
    let ty = program.result_type();
    match batch.value(0) {
        Ok(value) => format!("{ty}: {}", show(&ty, value)),
        Err(error) => format!("{ty}: {error}"),
    }
}

/// The truth of a condition.
pub(crate) fn truth(text: &str, columns: &[Column<'_>]) -> Result<Option<bool>, EvalError> {
    let predicate =
        Predicate::compile(text, &names(columns)).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut batch = Batch::new();
    prepare(&mut batch, &predicate, columns);
    predicate.run(&mut batch);
    batch.truth(0)
}

pub(crate) fn show(ty: &SqlType, value: Option<&[u8]>) -> String {
    let Some(bytes) = value else { return "NULL".to_owned() };
    let mut shown = String::new();
    write_plain(&Datum::decode(ty, bytes).unwrap(), &mut shown).unwrap();
    shown
}

fn short(error: &CompileError) -> String {
    match error {
        CompileError::Unsupported { .. } => "unsupported".to_owned(),
        other => other.to_string(),
    }
}
