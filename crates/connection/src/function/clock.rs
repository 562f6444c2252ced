//! The time. All functions of a statement should agree on it; each asks the clock once.
//!
//! Times are in UTC, local ones as well: the server has no time zone yet.

use std::time::Duration;

use extentdb_types::{Date, DateTime, DateTime2, DateTimeOffset, Datum, Time};

use super::{Definition, Kind};
use crate::cause::Cause;
use crate::connection::Connection;
use crate::frame::Values;

const SECONDS_PER_DAY: u64 = 86_400;
/// From 1900-01-01 to 1970-01-01.
const EPOCH_OF_DATETIME: u64 = 25_567;
/// From 0001-01-01 to 1970-01-01.
const EPOCH_OF_DATE: u64 = 719_162;
const TICKS_PER_SECOND: u64 = 10_000_000;
/// datetime counts 1/300 s.
const DATETIME_TICKS: u64 = 300;

/// Time since 1970, UTC.
pub fn since_epoch(connection: &Connection) -> Duration {
    connection.server.instance.options().database.clock.since_epoch()
}

/// The value of a function of the time, at a time since 1970; `None`: there is no such function.
pub fn value_at(name: &str, now: Duration) -> Option<Datum<'static>> {
    Some(match name {
        "getdate" | "getutcdate" | "current_timestamp" => datetime(now),
        "sysdatetime" | "sysutcdatetime" => datetime2(now),
        "sysdatetimeoffset" => offset(now),
        _ => return None,
    })
}

/// A time since 1970 as datetime; `None` past the year 9999.
pub fn datetime_of(now: Duration) -> Option<DateTime> {
    let of_day = now.as_secs() % SECONDS_PER_DAY * DATETIME_TICKS
        + u64::from(now.subsec_millis()) * DATETIME_TICKS / 1000;
    let days = EPOCH_OF_DATETIME + now.as_secs() / SECONDS_PER_DAY;
    DateTime::new(i32::try_from(days).ok()?, u32::try_from(of_day).ok()?).ok()
}

fn datetime(now: Duration) -> Datum<'static> {
    datetime_of(now).map_or(Datum::Null, Datum::DateTime)
}

fn instant(now: Duration) -> Option<DateTime2> {
    let ticks =
        now.as_secs() % SECONDS_PER_DAY * TICKS_PER_SECOND + u64::from(now.subsec_nanos()) / 100;
    let days = EPOCH_OF_DATE + now.as_secs() / SECONDS_PER_DAY;
    let date = Date::new(u32::try_from(days).ok()?).ok()?;
    Some(DateTime2 { date, time: Time::new(ticks, 7).ok()? })
}

fn datetime2(now: Duration) -> Datum<'static> {
    instant(now).map_or(Datum::Null, Datum::DateTime2)
}

fn offset(now: Duration) -> Datum<'static> {
    let moment = instant(now).and_then(|utc| DateTimeOffset::new(utc, 0).ok());
    moment.map_or(Datum::Null, Datum::DateTimeOffset)
}

fn evaluated(name: &str, at: Values<'_>) -> Result<Datum<'static>, Cause> {
    Ok(value_at(name, since_epoch(at.connection)).unwrap_or(Datum::Null))
}

/// The functions of this module.
pub static TABLE: &[Definition] = &[
    Definition::new("getdate", Kind::DateTime, |at, _| evaluated("getdate", at)),
    Definition::new("getutcdate", Kind::DateTime, |at, _| evaluated("getutcdate", at)),
    Definition::new("current_timestamp", Kind::DateTime, |at, _| {
        evaluated("current_timestamp", at)
    }),
    Definition::new("sysdatetime", Kind::DateTime2, |at, _| evaluated("sysdatetime", at)),
    Definition::new("sysutcdatetime", Kind::DateTime2, |at, _| evaluated("sysutcdatetime", at)),
    Definition::new("sysdatetimeoffset", Kind::DateTimeOffset, |at, _| {
        evaluated("sysdatetimeoffset", at)
    }),
];
