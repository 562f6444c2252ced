//! Defaults: values of columns that an INSERT does not list.
//!
//! ```text
//! identity column   the next value                                         identity.rs
//! DEFAULT           the expression of its constraint, converted as an assignment would: what does
//!                   not fit is an error, never cut
//! neither           NULL
//! ```
//!
//! An expression that cannot be evaluated with certainty refuses the row.

use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_expr::{Batch, CompileError, Environment, EvalError, Program, Settings};
use extentdb_txn::lock::LockMode;
use extentdb_types::{Collation, DateTime2, DateTimeOffset, Datum, SqlType};

use crate::catalog::formula::ContextValues;
use crate::catalog::{Address, ColumnDefault, Table, TableColumn, TableRef};
use crate::ddl::alter_column::widest;
use crate::error::{Error, Unsupported};
use crate::session::values::date_time2;
use crate::session::{Row, Session, StatementContext};

/// The type of `sysdatetimeoffset()`, which no expression is evaluated over.
const OFFSET: SqlType = SqlType::DateTimeOffset { scale: 7 };

impl Session {
    /// Inserts a row by names of columns; returns its address. Columns that are not named get the
    /// next identity value, their default, or NULL.
    ///
    /// # Errors
    /// A column is not there, or named twice; a default cannot be evaluated:
    /// [`Error::NotSupported`].
    pub fn insert_columns(
        &mut self,
        table: &Table,
        values: &[(&str, Datum<'_>)],
    ) -> Result<Address, Error> {
        self.statement("INSERT", |context| {
            context.lock_table(table, LockMode::Ix)?;
            context.begin_change(table)?;
            let row = context.complete(table, values)?;
            context.insert_data(table, &row)
        })
    }
}

impl StatementContext<'_> {
    fn complete(&mut self, table: &Table, values: &[(&str, Datum<'_>)]) -> Result<Row, Error> {
        let storage = table.storage();
        let is_of = |column: &TableColumn, name: &str| column.name.eq_ignore_ascii_case(name);
        for (at, (name, _)) in values.iter().enumerate() {
            let refused =
                |what: &str| Error::Value { column: (*name).to_owned(), what: what.to_owned() };
            if !storage.columns.iter().any(|column| is_of(column, name)) {
                return Err(refused("the table has no such column"));
            }
            if values[..at].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                return Err(refused("it is named twice"));
            }
        }
        let mut row = Row::new();
        for column in &storage.columns {
            let given = values.iter().find(|(name, _)| is_of(column, name));
            row.push(match given {
                Some((_, value)) => value.clone().into_owned(),
                None => self.missing(table.with(&storage), column)?,
            });
        }
        Ok(row)
    }

    /// The value of a column that is not named.
    pub(crate) fn missing(
        &mut self,
        of: TableRef<'_>,
        column: &TableColumn,
    ) -> Result<Datum<'static>, Error> {
        if of.storage.identity.as_ref().is_some_and(|identity| identity.column() == column.id) {
            return self.next_identity(of.table);
        }
        if column.ty == SqlType::RowVersion {
            return Ok(Datum::Null);
        }
        let Some(ColumnDefault { text, .. }) = &column.default else { return Ok(Datum::Null) };
        let now = date_time2(&*self.db().options.clock);
        evaluate(text, &column.ty, &self.session_values(), now).map_err(|why| match why {
            NoValue::NotSupported(why) => {
                let column = column.name.clone();
                Unsupported::Default { column, text: text.clone(), why }.into()
            }
            NoValue::Value(what) => Error::Value { column: column.name.clone(), what },
        })
    }
}

/// Why a default has no value.
#[derive(Debug, PartialEq, Eq)]
enum NoValue {
    NotSupported(String),
    Value(String),
}

/// The value of a default for a column of a type.
fn evaluate(
    text: &str,
    ty: &SqlType,
    context: &dyn ContextValues,
    now: Option<DateTime2>,
) -> Result<Datum<'static>, NoValue> {
    let text = match bare(text).to_ascii_lowercase().as_str() {
        "null" => return Ok(Datum::Null),
        "current_timestamp" => "getdate()",
        "sysdatetimeoffset()" if *ty == OFFSET => return time_with_offset(now),
        _ => text,
    };
    match run(text, ty, context) {
        Err(Refusal::Type) => assign(text, ty, context),
        other => other.map_err(NoValue::from),
    }
}

/// The time in UTC, as every time here.
fn time_with_offset(now: Option<DateTime2>) -> Result<Datum<'static>, NoValue> {
    let value = now.and_then(|now| DateTimeOffset::new(now, 0).ok());
    let missing = || NoValue::Value("the time of the clock is out of range".to_owned());
    value.map(Datum::DateTimeOffset).ok_or_else(missing)
}

/// Without the brackets that the catalog puts around it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) if is_balanced(inner) => bare(inner),
        _ => text,
    }
}

/// True when no bracket of it belongs to one outside; texts in quotes make it false where they have
/// brackets, which only means that nothing is taken off.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0i32;
    let is_inside = text.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth >= 0
    });
    is_inside && depth == 0
}

/// The value converted as an assignment converts it: a text that is too long is refused and not
/// cut.
fn assign(
    text: &str,
    ty: &SqlType,
    context: &dyn ContextValues,
) -> Result<Datum<'static>, NoValue> {
    if let Some((wide, most)) = widest(ty) {
        let whole = run(&format!("CAST({text} AS {wide})"), &wide, context)?;
        let bytes = match &whole {
            Datum::Char(text) => text.bytes.len(),
            Datum::NChar(text) => text.bytes.len(),
            Datum::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        if bytes > most {
            return Err(NoValue::Value(format!(
                "its default has {bytes} bytes and would be truncated"
            )));
        }
    }
    Ok(run(&format!("CAST({text} AS {ty})"), ty, context)?)
}

/// Why an expression has no value of a type.
enum Refusal {
    /// It is of another type.
    Type,
    Other(NoValue),
}

impl From<Refusal> for NoValue {
    fn from(refusal: Refusal) -> NoValue {
        match refusal {
            Refusal::Type => {
                NoValue::NotSupported("it is of another type than its column".to_owned())
            }
            Refusal::Other(why) => why,
        }
    }
}

/// Evaluates an expression of exactly this type.
fn run(text: &str, ty: &SqlType, context: &dyn ContextValues) -> Result<Datum<'static>, Refusal> {
    let other = |why: String| Refusal::Other(NoValue::NotSupported(why));
    // Literals have the collation of the database; here that of the column, which they take on
    // anyway.
    let database_collation = ty.collation().unwrap_or(Collation(DEFAULT_COLLATION));
    let settings = Settings::stored();
    let environment =
        Environment { columns: Vec::new(), database_collation, settings }.with_context();
    let program = Program::compile_as(text, &environment, *ty).map_err(|error| match error {
        CompileError::ResultType { .. } => Refusal::Type,
        error => other(error.to_string()),
    })?;
    let mut batch = Batch::new();
    batch.reset(&program);
    for (input, place) in program.inputs().iter().enumerate() {
        let function = environment.context_function(*place);
        let value = function.and_then(|function| context.value(function));
        batch.push(input, value.as_deref());
    }
    batch.end_row();
    program.run(&mut batch);
    match batch.value(0) {
        Ok(None) => Ok(Datum::Null),
        Ok(Some(bytes)) => {
            let value = Datum::decode(ty, bytes).map_err(|error| other(error.to_string()))?;
            Ok(value.into_owned())
        }
        Err(EvalError::Declared) => Err(Refusal::Other(NoValue::Value(
            "its default does not fit and would be truncated".to_owned(),
        ))),
        Err(error) if error.is_undecided() => Err(other(error.to_string())),
        Err(error) => Err(Refusal::Other(NoValue::Value(format!("its default: {error}")))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use extentdb_base::env::Clock;

    use super::*;
    use crate::database::new_ids::NewIds;
    use crate::session::SessionNames;
    use crate::session::values::SessionValues;

    /// At noon of 2024-02-29.
    struct AtNoon;

    impl Clock for AtNoon {
        fn monotonic(&self) -> Duration {
            Duration::ZERO
        }

        fn since_epoch(&self) -> Duration {
            Duration::from_secs(1_709_208_000)
        }
    }

    fn values(ids: &NewIds) -> SessionValues<'_> {
        let names = SessionNames { login: "ann".to_owned(), ..SessionNames::default() };
        SessionValues { clock: &AtNoon, names, database: "shop", ids }
    }

    const COLLATION: Collation = Collation(DEFAULT_COLLATION);

    fn value(text: &str, ty: SqlType) -> Result<String, NoValue> {
        let mut out = String::new();
        extentdb_types::json::write_json(
            &evaluate(text, &ty, &values(&NewIds::default()), date_time2(&AtNoon))?,
            &mut out,
        )
        .unwrap();
        Ok(out)
    }

    #[track_caller]
    fn check(text: &str, ty: SqlType, expected: &str) {
        assert_eq!(value(text, ty), Ok(expected.to_owned()), "{text} as {ty}");
    }

    #[test]
    fn literals_become_values_of_their_column() {
        check("((7))", SqlType::Int, "7");
        check("((7))", SqlType::BigInt, "7");
        check("((1))", SqlType::Bit, "true");
        check("((0))", SqlType::Decimal { precision: 12, scale: 2 }, "\"0.00\"");
        check("((1.5))", SqlType::Decimal { precision: 12, scale: 2 }, "\"1.50\"");
        check("((0))", SqlType::Money, "\"0.0000\"");
        check("(NULL)", SqlType::Int, "null");
        check("((2)+(3))", SqlType::SmallInt, "5");
        let varchar = SqlType::VarChar { len: Some(6), collation: COLLATION };
        check("('nobody')", varchar, "\"nobody\"");
        check("('a')", SqlType::Char { len: 3, collation: COLLATION }, "\"a  \"");
        check("('a')", SqlType::NVarChar { len: Some(10), collation: COLLATION }, "\"a\"");
        check("(N'(a)')", SqlType::NVarChar { len: Some(10), collation: COLLATION }, "\"(a)\"");
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_not_cut() {
        let refused = |text: &str, ty| matches!(value(text, ty), Err(NoValue::Value(_)));
        assert!(refused("('nobody')", SqlType::VarChar { len: Some(5), collation: COLLATION }));
        assert!(refused("('nobody')", SqlType::Char { len: 5, collation: COLLATION }));
        assert!(refused("(N'nobody')", SqlType::NVarChar { len: Some(10), collation: COLLATION }));
        assert!(refused("((256))", SqlType::TinyInt));
        assert!(refused("((1)/(0))", SqlType::Int));
    }

    #[test]
    fn the_time_is_that_of_the_clock() {
        check("(getdate())", SqlType::DateTime, "\"2024-02-29T12:00:00.000\"");
        check("(GetDate())", SqlType::Date, "\"2024-02-29\"");
        check("(getutcdate())", SqlType::DateTime, "\"2024-02-29T12:00:00.000\"");
        let precise = SqlType::DateTime2 { scale: 7 };
        check("(sysdatetime())", precise, "\"2024-02-29T12:00:00.0000000\"");
        check("(dateadd(day,(1),getdate()))", SqlType::DateTime, "\"2024-03-01T12:00:00.000\"");
        check("(sysdatetimeoffset())", OFFSET, "\"2024-02-29T12:00:00.0000000+00:00\"");
    }

    #[test]
    fn names_and_ids_are_those_of_the_session() {
        let name = SqlType::NVarChar { len: Some(256), collation: COLLATION };
        check("(suser_sname())", name, "\"ann\"");
        check("(user_name())", name, "\"dbo\"");
        check("(db_name())", name, "\"shop\"");
        check("(host_name())", name, "null");
        check("(upper(suser_sname()))", name, "\"ANN\"");
        let id = |text| value(text, SqlType::UniqueIdentifier).unwrap();
        assert_ne!(id("(newid())"), id("(newsequentialid())"));
    }

    #[test]
    fn what_is_not_certain_is_refused_by_name() {
        let refused = |text: &str, ty| matches!(value(text, ty), Err(NoValue::NotSupported(_)));
        assert!(refused("([dbo].[f]())", SqlType::Int));
        assert!(refused("([other_column])", SqlType::Int));
    }

    #[test]
    fn brackets_are_taken_off_in_pairs() {
        assert_eq!(bare("((getdate()))"), "getdate()");
        assert_eq!(bare("((1)+(2))"), "(1)+(2)");
        assert_eq!(bare("("), "(");
    }
}
