//! WAITFOR DELAY and WAITFOR TIME.

use std::time::Duration;

use extentdb_tsql::syntax::{Expr, WaitFor};
use extentdb_types::{Datum, SqlType};

use super::{Compiled, Context};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::function::clock;
use extentdb_connection::scalar::Scalar;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

const DAY: Duration = Duration::from_secs(86_400);

struct Wait {
    time: Scalar,
    is_until: bool,
}

pub(super) fn compile(context: &Context<'_>, wait: &WaitFor) -> Compiled {
    let (time, is_until) = match wait {
        WaitFor::Delay(time) => (time, false),
        WaitFor::Time(time) => (time, true),
        WaitFor::Statement { .. } => return Err(context.refused()),
    };
    Ok(Box::new(Wait { time: time_of(context, time)?, is_until }))
}

fn time_of(context: &Context<'_>, time: &Expr) -> Result<Scalar, Cause> {
    let natural = context.compiler.value(time)?;
    let is_clock = matches!(natural.ty, SqlType::DateTime | SqlType::SmallDateTime);
    if is_clock || natural.ty.collation().is_some() {
        return Ok(natural);
    }
    Err(Cause::WaitTime { text: time.to_string() })
}

impl Step for Wait {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let time = match self.time.value(run.values(frame))? {
            Datum::DateTime(moment) => Duration::from_millis(moment.milliseconds().into()),
            Datum::SmallDateTime(moment) => Duration::from_secs(u64::from(moment.minutes()) * 60),
            other => {
                let text = variant::text(&other).unwrap_or_default();
                read_time(text.trim()).ok_or(Cause::WaitTime { text })?
            }
        };
        let wait = if self.is_until { until(run, time) } else { time };
        let cancellation = run.connection.session.cancellation();
        match cancellation.sleep(wait) {
            Ok(()) => Ok(RowCount::Rows(0)),
            Err(_) if run.connection.is_killed() => Err(Stop::Close),
            Err(_) => Err(Stop::Interrupted),
        }
    }
}

/// From now until a time of day.
fn until(run: &Run<'_>, time: Duration) -> Duration {
    let now = clock::since_epoch(run.connection);
    let of_day = Duration::new(now.as_secs() % DAY.as_secs(), now.subsec_nanos());
    time.checked_sub(of_day).unwrap_or_else(|| time + DAY - of_day)
}

/// `hh:mm[:ss[.fraction]]`, below 24 hours.
fn read_time(text: &str) -> Option<Duration> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let mut part = |least: u64| {
        let Some(digits) = parts.next() else { return (least == 0).then_some(0) };
        let is_number = !digits.is_empty() && digits.len() <= 2;
        digits.parse::<u64>().ok().filter(|_| is_number)
    };
    let hours = part(1)?;
    let minutes = part(1)?;
    let seconds = part(0)?;
    let is_whole = parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 60;
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let milliseconds: u64 = digits.parse().ok()?;
    let whole = Duration::from_secs((hours * 60 + minutes) * 60 + seconds);
    is_whole.then(|| whole + Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_written() {
        assert_eq!(read_time("00:00:01"), Some(Duration::from_secs(1)));
        assert_eq!(read_time("0:0:0.25"), Some(Duration::from_millis(250)));
        assert_eq!(read_time("01:30"), Some(Duration::from_secs(5400)));
        for text in ["", "1", "24:00", "00:60", "a:b", "00:00:00:00", "00:00:00.x"] {
            assert_eq!(read_time(text), None, "{text}");
        }
    }
}
