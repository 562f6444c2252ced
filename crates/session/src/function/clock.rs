//! The time. All functions of a statement should agree on it; each asks the clock once.
//!
//! Times are in UTC, local ones as well: the server has no time zone yet.

use std::time::Duration;

use extentdb_types::{Date, DateTime, DateTime2, DateTimeOffset, Datum, Time};

use super::{Definition, Kind};
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
pub(crate) fn since_epoch(connection: &Connection) -> Duration {
    connection.server.instance.options().database.clock.since_epoch()
}

/// A time since 1970 as datetime; `None` past the year 9999.
pub(crate) fn datetime_of(now: Duration) -> Option<DateTime> {
    let of_day = now.as_secs() % SECONDS_PER_DAY * DATETIME_TICKS
        + u64::from(now.subsec_millis()) * DATETIME_TICKS / 1000;
    let days = EPOCH_OF_DATETIME + now.as_secs() / SECONDS_PER_DAY;
    DateTime::new(i32::try_from(days).ok()?, u32::try_from(of_day).ok()?).ok()
}

fn datetime(at: Values<'_>) -> Datum<'static> {
    datetime_of(since_epoch(at.connection)).map_or(Datum::Null, Datum::DateTime)
}

fn instant(at: Values<'_>) -> Option<DateTime2> {
    let now = since_epoch(at.connection);
    let ticks =
        now.as_secs() % SECONDS_PER_DAY * TICKS_PER_SECOND + u64::from(now.subsec_nanos()) / 100;
    let days = EPOCH_OF_DATE + now.as_secs() / SECONDS_PER_DAY;
    let date = Date::new(u32::try_from(days).ok()?).ok()?;
    Some(DateTime2 { date, time: Time::new(ticks, 7).ok()? })
}

fn datetime2(at: Values<'_>) -> Datum<'static> {
    instant(at).map_or(Datum::Null, Datum::DateTime2)
}

fn offset(at: Values<'_>) -> Datum<'static> {
    let moment = instant(at).and_then(|utc| DateTimeOffset::new(utc, 0).ok());
    moment.map_or(Datum::Null, Datum::DateTimeOffset)
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("getdate", Kind::DateTime, |at, _| Ok(datetime(at))),
    Definition::new("getutcdate", Kind::DateTime, |at, _| Ok(datetime(at))),
    Definition::new("current_timestamp", Kind::DateTime, |at, _| Ok(datetime(at))),
    Definition::new("sysdatetime", Kind::DateTime2, |at, _| Ok(datetime2(at))),
    Definition::new("sysutcdatetime", Kind::DateTime2, |at, _| Ok(datetime2(at))),
    Definition::new("sysdatetimeoffset", Kind::DateTimeOffset, |at, _| Ok(offset(at))),
];
