//! What a query stands in: the catalog, variables, functions of the session.

use extentdb_base::sync::Arc;
use extentdb_engine::Database;
use extentdb_engine::Table;
use extentdb_engine::model::ObjectModel;
use extentdb_expr::Environment;
use extentdb_tsql::syntax::{DataType, Expr, ObjectName, Query};
use extentdb_types::SqlType;

use crate::access::{Access, Accesses};
use crate::error::Result;
use crate::provider::{CallProvider, RowProvider};

/// Where the names of the text of a view or function are looked up, and whose it is: objects of the
/// same owner are read there without permissions (ownership chaining).
#[derive(Clone)]
pub struct Home {
    /// The database.
    pub database: Arc<Database>,
    /// The owner; `None` of a text that nobody owns.
    pub owner: Option<i32>,
}

/// A stored table.
#[derive(Clone)]
pub struct StoredTable {
    /// Its database.
    pub database: Arc<Database>,
    /// The table.
    pub table: Arc<Table>,
    /// What the catalog says of it.
    pub object: Arc<ObjectModel>,
    /// What may be done with it, and with views around it.
    pub accesses: Accesses,
}

/// A view.
#[derive(Clone)]
pub struct View {
    /// Where the names of its query are looked up; `None`: where its own name was.
    pub home: Option<Home>,
    /// What may be done with it; `None` for everything.
    pub access: Option<Arc<Access>>,
    /// Its schema.
    pub schema: Option<String>,
    /// Its name, for messages.
    pub name: String,
    /// Its query.
    pub query: Arc<Query>,
    /// Names of its columns; empty: those of the query.
    pub columns: Vec<String>,
    /// WITH CHECK OPTION.
    pub has_check_option: bool,
}

/// Rows that are made: a system view, or a table of files that are only read.
#[derive(Clone)]
pub struct MadeRows {
    /// Its schema.
    pub schema: Option<String>,
    /// Columns: names, types, nullability.
    pub columns: Vec<(String, SqlType, bool)>,
    /// Makes the rows.
    pub provider: Arc<dyn RowProvider>,
}

/// A function of the system in FROM.
#[derive(Clone)]
pub struct CalledRows {
    /// Columns: names, types, nullability.
    pub columns: Vec<(String, SqlType, bool)>,
    /// Makes the rows.
    pub provider: Arc<dyn CallProvider>,
}

/// A parameter of a function of users.
#[derive(Clone, Debug)]
pub struct FunctionParameter {
    /// With its `@`.
    pub name: Box<str>,
    /// Its type.
    pub ty: SqlType,
    /// What DEFAULT stands for.
    pub default: Option<Expr>,
}

/// A function of users that the session runs.
#[derive(Clone, Debug)]
pub struct UserFunction {
    /// Its name, for messages.
    pub name: String,
    /// How it is called.
    pub call: SessionFunction,
    /// Its parameters.
    pub parameters: Vec<FunctionParameter>,
    /// The columns of the table that it returns: names, types, nullability.
    pub columns: Vec<(String, SqlType, bool)>,
}

/// A function of users whose rows are those of one query.
#[derive(Clone)]
pub struct InlineFunction {
    /// Where the names of its query are looked up.
    pub home: Option<Home>,
    /// Its name, for messages.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<FunctionParameter>,
    /// Its query.
    pub query: Arc<Query>,
}

/// A function that returns a table.
#[derive(Clone)]
pub enum TableFunctionObject {
    /// One of the system.
    System(CalledRows),
    /// One query.
    Inline(InlineFunction),
    /// One that the session runs.
    User(UserFunction),
}

/// What a name in FROM stands for.
#[derive(Clone)]
pub enum Object {
    /// A table.
    Table(StoredTable),
    /// A view.
    View(View),
    /// A system view, or a table of files that are only read.
    Rows(MadeRows),
}

/// A function that the session evaluates.
#[derive(Clone, Debug)]
pub struct SessionFunction {
    /// Its number, for the caller.
    pub number: usize,
    /// Type of the result.
    pub ty: SqlType,
    /// Can it be NULL?
    pub is_nullable: bool,
    /// Types that the arguments are converted to; `None`: as they are.
    pub arguments: Vec<Option<SqlType>>,
    /// Has it another value for each row, as NEWID?
    pub is_per_row: bool,
}

/// What a query stands in.
pub trait Surroundings {
    /// How expressions are compiled.
    fn environment(&self) -> &Environment;

    /// What a name in FROM stands for, seen from a view or function (`None`: the statement); `None`
    /// when there is no such object.
    ///
    /// # Errors
    /// It is there and cannot be read, or the caller may not.
    fn object(&mut self, name: &ObjectName, from: Option<&Home>) -> Result<Option<Object>>;

    /// A table variable by its name, with `@`.
    fn table_variable(&mut self, name: &str) -> Option<StoredTable>;

    /// Is a table variable a parameter, whose rows do not change?
    fn is_read_only(&self, _variable: &str) -> bool {
        false
    }

    /// Is IDENTITY_INSERT on for a table?
    fn takes_identity(&self, _: &StoredTable) -> bool {
        false
    }

    /// A scalar variable by its name, with `@`: number and type.
    fn variable(&mut self, name: &str) -> Option<(usize, SqlType)>;

    /// A function of the session by its name, `@@` functions among them, called with so many
    /// arguments.
    ///
    /// # Errors
    /// It does not take so many.
    fn function(&mut self, name: &str, arguments: usize) -> Result<Option<SessionFunction>>;

    /// A function of users that returns a value, by its name, seen from a database; `None` when
    /// there is no such function.
    ///
    /// # Errors
    /// It is there and cannot be called.
    fn user_function(
        &mut self,
        _name: &ObjectName,
        _from: Option<&Home>,
    ) -> Result<Option<UserFunction>> {
        Ok(None)
    }

    /// A function that returns a table, by its name, seen from a database; `None` when there is no
    /// such function.
    ///
    /// # Errors
    /// It is there and cannot be called.
    fn table_function(
        &mut self,
        _name: &ObjectName,
        _from: Option<&Home>,
    ) -> Result<Option<TableFunctionObject>> {
        Ok(None)
    }

    /// A sequence by its name, as the function that gives its next value; `None` when there is no
    /// such sequence. One sequence has one number.
    ///
    /// # Errors
    /// It cannot be read.
    fn sequence(&mut self, _name: &ObjectName) -> Result<Option<SessionFunction>> {
        Ok(None)
    }

    /// A type by its name.
    ///
    /// # Errors
    /// There is none, or its parameters are impossible.
    fn data_type(&mut self, data_type: &DataType) -> Result<SqlType>;
}
