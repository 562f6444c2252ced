//! OPTION ( … ): what changes results is followed or refused by its name; what only changes plans
//! is taken.

use extentdb_tsql::syntax::{Literal, QueryHint, QueryHintKind};

use extentdb_connection::cause::Cause;

/// MAXRECURSION without a hint.
const RECURSION_LIMIT: u32 = 100;

/// MAXRECURSION.
pub(crate) fn recursion_limit(hints: &[QueryHint]) -> Result<u32, Cause> {
    let mut limit = RECURSION_LIMIT;
    for hint in hints {
        match &hint.kind {
            QueryHintKind::Number { name: "MAXRECURSION", value: Literal::Integer(digits) } => {
                limit = digits.parse().unwrap_or(RECURSION_LIMIT);
            }
            QueryHintKind::ForTimestamp(_) => {
                return Err(Cause::not_supported("OPTION (FOR TIMESTAMP AS OF)"));
            }
            _ => {}
        }
    }
    Ok(limit)
}

/// MAXDOP; `None` without the hint, and for 0: as many threads as the server takes.
pub(crate) fn most_threads(hints: &[QueryHint]) -> Option<usize> {
    let number = |hint: &QueryHint| match &hint.kind {
        QueryHintKind::Number { name: "MAXDOP", value: Literal::Integer(digits) } => {
            digits.parse().ok()
        }
        _ => None,
    };
    hints.iter().find_map(number).filter(|most| *most > 0)
}
