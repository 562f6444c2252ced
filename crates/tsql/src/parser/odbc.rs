//! Functions of ODBC that T-SQL has under other names.
//!
//! ```text
//! { fn NOW() }                              GETDATE()
//! { fn TIMESTAMPADD(SQL_TSI_DAY, 1, d) }    DATEADD(day, 1, d)
//! { fn CURDATE() }                          CONVERT(char(10), GETDATE(), 23)
//! ```

use crate::Options;
use crate::parser::parse_expression;
use crate::syntax::{Arguments, Column, Expr, ExprKind, FunctionCall};

/// Name of ODBC, name of T-SQL: the arguments are the same.
const NAMES: [(&str, &str); 9] = [
    ("now", "getdate"),
    ("database", "db_name"),
    ("user", "user_name"),
    ("repeat", "replicate"),
    ("locate", "charindex"),
    ("insert", "stuff"),
    ("atan2", "atn2"),
    ("timestampadd", "dateadd"),
    ("timestampdiff", "datediff"),
];

/// Functions without arguments that are texts of the time.
const TEXTS: [(&str, &str); 4] = [
    ("curdate", "CONVERT(char(10), GETDATE(), 23)"),
    ("current_date", "CONVERT(char(10), GETDATE(), 23)"),
    ("curtime", "CONVERT(varchar(12), CAST(GETDATE() AS time(3)))"),
    ("current_time", "CONVERT(varchar(12), CAST(GETDATE() AS time(3)))"),
];

/// What stands before the part of a date in its name.
const INTERVAL: &str = "SQL_TSI_";

fn found<T: Copy>(table: &[(&str, T)], call: &FunctionCall) -> Option<T> {
    let name = &call.name.name.text;
    table.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, it)| *it)
}

/// The expression that a function stands for.
pub(super) fn value(call: &FunctionCall) -> Option<Expr> {
    let text = found(&TEXTS, call)?;
    parse_expression(text, Options::default()).ok()
}

/// Gives a function its name in T-SQL, and its part of a date.
pub(super) fn rename(call: &mut FunctionCall) {
    let Some(name) = found(&NAMES, call) else { return };
    call.name.name.text = name.into();
    if let Arguments::List(arguments) = &mut call.arguments
        && name.starts_with("date")
        && let Some(first) = arguments.first_mut()
        && let ExprKind::Column(column) = &mut first.kind
        && let Column::Named(part) = &mut column.column
        && let Some(own) = part.text.to_uppercase().strip_prefix(INTERVAL)
    {
        let own = if own == "FRAC_SECOND" { "NANOSECOND" } else { own };
        part.text = own.to_lowercase().into();
    }
}
