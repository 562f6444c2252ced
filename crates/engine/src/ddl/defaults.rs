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

use extentdb_base::env::Clock;
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_expr::{Batch, CompileError, Environment, EvalError, Program};
use extentdb_txn::lock::LockMode;
use extentdb_txn::log_time;
use extentdb_types::{Collation, Datum, SqlType};

use crate::catalog::{Address, ColumnDefault, Table, TableColumn, TableRef};
use crate::ddl::alter_column::widest;
use crate::error::{Error, Unsupported};
use crate::session::{Row, Session, StatementContext};

/// The column by which an expression reads the time.
const NOW: &str = "now";

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
        evaluate(text, &column.ty, &*self.db().options.clock).map_err(|why| match why {
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
fn evaluate(text: &str, ty: &SqlType, clock: &dyn Clock) -> Result<Datum<'static>, NoValue> {
    match bare(text).to_ascii_lowercase().as_str() {
        "null" => return Ok(Datum::Null),
        "getdate()" | "getutcdate()" | "current_timestamp" => return assign(NOW, ty, Some(clock)),
        _ => {}
    }
    match run(text, ty, None) {
        Err(Refusal::Type) => assign(text, ty, None),
        other => other.map_err(NoValue::from),
    }
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
fn assign(text: &str, ty: &SqlType, clock: Option<&dyn Clock>) -> Result<Datum<'static>, NoValue> {
    if let Some((wide, most)) = widest(ty) {
        let whole = run(&format!("CAST({text} AS {wide})"), &wide, clock)?;
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
    Ok(run(&format!("CAST({text} AS {ty})"), ty, clock)?)
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
fn run(text: &str, ty: &SqlType, clock: Option<&dyn Clock>) -> Result<Datum<'static>, Refusal> {
    let other = |why: String| Refusal::Other(NoValue::NotSupported(why));
    // Literals have the collation of the database; here that of the column, which they take on
    // anyway.
    let database_collation = ty.collation().unwrap_or(Collation(DEFAULT_COLLATION));
    let columns = clock.iter().map(|_| (NOW.to_owned(), SqlType::DateTime)).collect();
    let environment = Environment { columns, database_collation };
    let program = Program::compile_as(text, &environment, *ty).map_err(|error| match error {
        CompileError::ResultType { .. } => Refusal::Type,
        error => other(error.to_string()),
    })?;
    let mut batch = Batch::new();
    batch.reset(&program);
    if let Some(clock) = clock {
        let now = log_time(clock);
        let bytes: Vec<u8> =
            [now.ticks, now.days].iter().flat_map(|part| part.to_le_bytes()).collect();
        batch.push(0, Some(&bytes));
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

    use super::*;

    struct At;

    impl Clock for At {
        fn monotonic(&self) -> Duration {
            Duration::ZERO
        }

        fn since_epoch(&self) -> Duration {
            // 2024-02-29 12:00.
            Duration::from_secs(1_709_208_000)
        }
    }

    const COLLATION: Collation = Collation(DEFAULT_COLLATION);

    fn value(text: &str, ty: SqlType) -> Result<String, NoValue> {
        let mut out = String::new();
        extentdb_types::json::write_json(&evaluate(text, &ty, &At)?, &mut out).unwrap();
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
    }

    #[test]
    fn what_is_not_certain_is_refused_by_name() {
        let refused = |text: &str, ty| matches!(value(text, ty), Err(NoValue::NotSupported(_)));
        assert!(refused("(newid())", SqlType::UniqueIdentifier));
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
