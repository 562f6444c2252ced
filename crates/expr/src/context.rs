//! Functions whose value comes from the session, and not from the row.
//!
//! An environment has them as hidden inputs when it is made [with them](Environment::with_context):
//! computed columns and filters of indexes are compiled without, and refuse them by name. A value
//! is pushed like that of a column, and is the same for all rows of a batch.

use extentdb_types::{Collation, SqlType};

use crate::program::Environment;

/// What the name of a hidden input begins with: no identifier has it.
const HIDDEN: char = '\0';
/// Bytes of a name: `sysname`.
const NAME_BYTES: u16 = 256;

/// A function without arguments whose value comes from the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextFunction {
    /// `GETDATE()`: local time, datetime.
    GetDate,
    /// `GETUTCDATE()`: datetime.
    GetUtcDate,
    /// `SYSDATETIME()`: local time, datetime2(7).
    SysDateTime,
    /// `SYSUTCDATETIME()`: datetime2(7).
    SysUtcDateTime,
    /// `NEWID()`.
    NewId,
    /// `NEWSEQUENTIALID()`.
    NewSequentialId,
    /// `SUSER_SNAME()` and `SUSER_NAME()`, which `SYSTEM_USER` is stored as.
    LoginName,
    /// `ORIGINAL_LOGIN()`.
    OriginalLogin,
    /// `USER_NAME()`, which `CURRENT_USER` and `SESSION_USER` are stored as.
    UserName,
    /// `HOST_NAME()`.
    HostName,
    /// `APP_NAME()`.
    ApplicationName,
    /// `DB_NAME()`.
    DatabaseName,
}

/// Names of functions, in lower case.
const NAMES: [(&str, ContextFunction); 13] = [
    ("getdate", ContextFunction::GetDate),
    ("getutcdate", ContextFunction::GetUtcDate),
    ("sysdatetime", ContextFunction::SysDateTime),
    ("sysutcdatetime", ContextFunction::SysUtcDateTime),
    ("newid", ContextFunction::NewId),
    ("newsequentialid", ContextFunction::NewSequentialId),
    ("suser_sname", ContextFunction::LoginName),
    ("suser_name", ContextFunction::LoginName),
    ("original_login", ContextFunction::OriginalLogin),
    ("user_name", ContextFunction::UserName),
    ("host_name", ContextFunction::HostName),
    ("app_name", ContextFunction::ApplicationName),
    ("db_name", ContextFunction::DatabaseName),
];

impl ContextFunction {
    /// The function of this name, which is in lower case.
    #[must_use]
    pub fn named(name: &str) -> Option<ContextFunction> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// Is each call another value?
    pub(crate) fn is_new_each_time(self) -> bool {
        matches!(self, ContextFunction::NewId | ContextFunction::NewSequentialId)
    }

    /// The type of its values; texts have this collation.
    #[must_use]
    pub fn result_type(self, collation: Collation) -> SqlType {
        match self {
            ContextFunction::GetDate | ContextFunction::GetUtcDate => SqlType::DateTime,
            ContextFunction::SysDateTime | ContextFunction::SysUtcDateTime => {
                SqlType::DateTime2 { scale: 7 }
            }
            ContextFunction::NewId | ContextFunction::NewSequentialId => SqlType::UniqueIdentifier,
            _ => SqlType::NVarChar { len: Some(NAME_BYTES), collation },
        }
    }

    /// The name of its hidden input.
    pub(crate) fn input_name(self) -> String {
        let name = NAMES.iter().find(|(_, own)| *own == self).map_or("", |(name, _)| name);
        format!("{HIDDEN}{name}")
    }
}

impl Environment {
    /// The same with the functions of the session.
    #[must_use]
    pub fn with_context(mut self) -> Environment {
        let collation = self.database_collation;
        let mut functions: Vec<ContextFunction> = NAMES.iter().map(|(_, own)| *own).collect();
        functions.dedup();
        let inputs =
            functions.into_iter().map(|own| (own.input_name(), own.result_type(collation)));
        self.columns.extend(inputs);
        self
    }

    /// The function whose value the input at this place of [`Environment::columns`] is.
    #[must_use]
    pub fn context_function(&self, place: usize) -> Option<ContextFunction> {
        let (name, _) = self.columns.get(place)?;
        ContextFunction::named(name.strip_prefix(HIDDEN)?)
    }
}

#[cfg(test)]
mod tests {
    use crate::{CompileError, Environment, Program, Settings};
    use extentdb_types::{Collation, SqlType};

    fn environment() -> Environment {
        Environment {
            columns: vec![("since".to_owned(), SqlType::DateTime)],
            database_collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
            settings: Settings::stored(),
        }
    }

    #[test]
    fn functions_of_the_session_are_inputs_where_there_is_one() {
        let text = "(datediff(day,[since],getdate()))";
        let refused = Program::compile(text, &environment());
        assert!(matches!(refused, Err(CompileError::Unsupported { .. })), "{refused:?}");
        let environment = environment().with_context();
        let program = Program::compile(text, &environment).unwrap();
        assert!(!program.is_deterministic());
        let functions: Vec<_> =
            program.inputs().iter().map(|at| environment.context_function(*at)).collect();
        assert_eq!(functions, [None, Some(super::ContextFunction::GetDate)]);
    }

    #[test]
    fn two_new_ids_are_not_the_same_value() {
        let environment = environment().with_context();
        assert!(Program::compile("(newid())", &environment).is_ok());
        let twice =
            Program::compile("(case when newid()=newid() then (1) else (0) end)", &environment);
        assert!(matches!(twice, Err(CompileError::Unsupported { .. })), "{twice:?}");
    }
}
