//! Dates and times as text, for clients that have no type for them.
//!
//! ```text
//! date            2026-11-24
//! time            18:15:14.1234567
//! datetime2       2026-11-24 18:15:14.1234567
//! datetimeoffset  2026-11-24 19:15:14.1234567 +01:00    local time
//! ```
//!
//! The fraction has as many digits as the type's scale; without digits there is no point.

use std::fmt::{self, Write};

use extentdb_types::Datum;

/// Writes a value of one of the four types. False when it is of another type; nothing is written
/// then.
pub fn write_date_text<W: Write>(value: &Datum<'_>, out: &mut W) -> Result<bool, fmt::Error> {
    match value {
        Datum::Date(date) => write!(out, "{date}")?,
        Datum::Time(time) => write!(out, "{time}")?,
        Datum::DateTime2(value) => write!(out, "{} {}", value.date, value.time)?,
        Datum::DateTimeOffset(value) => {
            let local = value.local();
            let minutes = value.offset_minutes();
            let sign = if minutes < 0 { '-' } else { '+' };
            let minutes = minutes.unsigned_abs();
            write!(out, "{} {} {sign}", local.date, local.time)?;
            write!(out, "{:02}:{:02}", minutes / 60, minutes % 60)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
