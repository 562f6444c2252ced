//! CURSOR_STATUS.

use extentdb_base::sync::lock;
use extentdb_types::Datum;

use super::{Definition, Kind};
use crate::cursor::SharedCursor;
use crate::frame::Values;
use crate::variant;

/// There is no such cursor.
const NO_CURSOR: i16 = -3;
/// The variable has none.
const NO_CURSOR_IN_VARIABLE: i16 = -2;

fn status(at: Values<'_>, scope: &str, name: &str) -> i16 {
    let name = name.to_lowercase();
    let names = match scope.to_lowercase().as_str() {
        "global" => &at.connection.cursors.global,
        "local" | "variable" => &at.frame.cursors,
        _ => return NO_CURSOR,
    };
    let of = |cursor: &SharedCursor| lock(cursor).status();
    match names.get(&name) {
        Some(Some(cursor)) => of(cursor),
        Some(None) => NO_CURSOR_IN_VARIABLE,
        None => NO_CURSOR,
    }
}

pub(super) static TABLE: &[Definition] =
    &[Definition::new("cursor_status", Kind::SmallInt, |at, arguments| {
        let text = |place: usize| arguments.get(place).and_then(variant::text);
        let (Some(scope), Some(name)) = (text(0), text(1)) else {
            return Ok(Datum::SmallInt(NO_CURSOR));
        };
        Ok(Datum::SmallInt(status(at, &scope, &name)))
    })
    .of(&[Kind::Name, Kind::Name])];
