//! Values from outside of the row: variables, `@@` functions, functions of the session, queries.
//!
//! ```text
//! Expr ── for each node, from the top ──▶ Resolver ──▶ Parameter: place and type
//!   │                                        └──▶ None: this crate compiles the node itself
//!   └──▶ Program: inputs() names the columns, then columns + place of each parameter
//! ```
//!
//! Invariants
//! - A parameter is an input like a column: the caller pushes its value for each row, so a program
//!   is compiled once and run with other values.
//! - A node that the resolver takes is not looked into.

use extentdb_tsql::syntax::{Condition, Expr};
use extentdb_types::SqlType;

use crate::error::CompileError;

/// A value that the caller pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Which one: the same place is the same value. [`Program::inputs`](crate::Program::inputs) has
    /// it after the columns.
    pub place: usize,
    /// Type of its values.
    pub ty: SqlType,
    /// Can it be NULL?
    pub is_nullable: bool,
}

/// Says which parts of an expression are values from outside.
pub trait Resolver {
    /// The parameter that stands for `expr`; `None` where the expression is to be compiled.
    ///
    /// # Errors
    /// The part is known and cannot be had.
    fn resolve(&mut self, expr: &Expr) -> Result<Option<Parameter>, CompileError>;

    /// The bit that stands for a condition: that of a query. `None` where it is to be compiled.
    ///
    /// # Errors
    /// As for [`resolve`](Self::resolve).
    fn resolve_condition(&mut self, _: &Condition) -> Result<Option<Parameter>, CompileError> {
        Ok(None)
    }

    /// The same for an operand of a comparison, where a value of any type may stand as one of a
    /// type that compares alike.
    ///
    /// # Errors
    /// As for [`resolve`](Self::resolve).
    fn resolve_compared(&mut self, expr: &Expr) -> Result<Option<Parameter>, CompileError> {
        self.resolve(expr)
    }
}

/// Outside of statements there is nothing.
pub(crate) struct Nothing;

impl Resolver for Nothing {
    fn resolve(&mut self, _: &Expr) -> Result<Option<Parameter>, CompileError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use extentdb_tsql::syntax::{Expr, ExprKind};
    use extentdb_tsql::{Options, parse_expression};
    use extentdb_types::{Collation, SqlType};

    use super::{Parameter, Resolver};
    use crate::{Batch, CompileError, Environment, EvalError, Program, Settings};

    /// `@i` is an int, `@t` a text.
    struct Variables;

    impl Resolver for Variables {
        fn resolve(&mut self, expr: &Expr) -> Result<Option<Parameter>, CompileError> {
            let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
            Ok(match &expr.kind {
                ExprKind::Variable(name) if &**name == "@i" => {
                    Some(Parameter { place: 0, ty: SqlType::Int, is_nullable: true })
                }
                ExprKind::Variable(_) => {
                    let ty = SqlType::VarChar { len: Some(20), collation };
                    Some(Parameter { place: 1, ty, is_nullable: true })
                }
                _ => None,
            })
        }
    }

    fn check(
        text: &str,
        pushed: &[u8],
        target: Option<SqlType>,
        expected: Result<Option<&[u8]>, EvalError>,
    ) {
        let expr = parse_expression(text, Options::default()).unwrap();
        let environment = Environment {
            columns: Vec::new(),
            database_collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
            settings: Settings::stored(),
        };
        let program = Program::of_value(&expr, &environment, &mut Variables, target).unwrap();
        let mut batch = Batch::new();
        batch.reset(&program);
        (0..program.inputs().len()).for_each(|input| batch.push(input, Some(pushed)));
        batch.end_row();
        program.run(&mut batch);
        assert_eq!(batch.value(0), expected, "{text}");
    }

    #[test]
    fn variables_are_inputs_after_the_columns() {
        check("@i * 2 + @i", &7i32.to_le_bytes(), None, Ok(Some(&21i32.to_le_bytes())));
        check("@i", &7i32.to_le_bytes(), Some(SqlType::TinyInt), Ok(Some(&[7])));
    }

    #[test]
    fn a_try_conversion_that_fails_is_null() {
        check("CAST(@t AS int)", b"abc", None, Err(EvalError::Conversion));
        check("TRY_CAST(@t AS int)", b"abc", None, Ok(None));
        check("TRY_CAST(@t AS int)", b"12", None, Ok(Some(&12i32.to_le_bytes())));
        check("TRY_CAST(1 / CAST(@t AS int) AS int)", b"0", None, Err(EvalError::DivideByZero));
    }

    #[test]
    fn null_alone_is_an_int_or_what_it_is_assigned_to() {
        check("NULL", b"", None, Ok(None));
        check("NULL", b"", Some(SqlType::Date), Ok(None));
    }
}
