//! AT TIME ZONE: zones by the names of Windows, with their rules for summer time.
//!
//! Zones whose rules change from year to year by decree are not here; a name that is not here is an
//! unknown zone.

use extentdb_types::SqlType;

use crate::calendar::{self, DAY};
use crate::error::{EvalError, EvalResult};
use crate::operator::codec;
use crate::operator::moment::{self, Local, MINUTE};
use crate::operator::row::{Call, Cell, Outcome, first};

const HOUR: i64 = 60 * MINUTE;

/// When summer time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Summer {
    Never,
    /// From the last Sunday of March to that of October, at 01:00 UTC.
    Europe,
    /// At 02:00 local time: from the second Sunday of March to the first of November, until 2006
    /// from the first of April to the last of October.
    America,
    /// At 02:00 standard time: from the first Sunday of October to that of April.
    Australia,
    /// From the last Sunday of September, 02:00, to the first of April, 03:00 local time.
    NewZealand,
}

struct Zone {
    name: &'static str,
    /// Standard time, in minutes ahead of UTC.
    offset: i64,
    summer: Summer,
}

const fn zone(name: &'static str, offset: i64, summer: Summer) -> Zone {
    Zone { name, offset, summer }
}

const ZONES: &[Zone] = &[
    zone("UTC", 0, Summer::Never),
    zone("Greenwich Standard Time", 0, Summer::Never),
    zone("GMT Standard Time", 0, Summer::Europe),
    zone("W. Europe Standard Time", 60, Summer::Europe),
    zone("Central Europe Standard Time", 60, Summer::Europe),
    zone("Central European Standard Time", 60, Summer::Europe),
    zone("Romance Standard Time", 60, Summer::Europe),
    zone("W. Central Africa Standard Time", 60, Summer::Never),
    zone("FLE Standard Time", 120, Summer::Europe),
    zone("GTB Standard Time", 120, Summer::Europe),
    zone("South Africa Standard Time", 120, Summer::Never),
    zone("Arab Standard Time", 180, Summer::Never),
    zone("E. Africa Standard Time", 180, Summer::Never),
    zone("Turkey Standard Time", 180, Summer::Never),
    zone("Arabian Standard Time", 240, Summer::Never),
    zone("Afghanistan Standard Time", 270, Summer::Never),
    zone("India Standard Time", 330, Summer::Never),
    zone("Nepal Standard Time", 345, Summer::Never),
    zone("SE Asia Standard Time", 420, Summer::Never),
    zone("China Standard Time", 480, Summer::Never),
    zone("Singapore Standard Time", 480, Summer::Never),
    zone("Taipei Standard Time", 480, Summer::Never),
    zone("W. Australia Standard Time", 480, Summer::Never),
    zone("Tokyo Standard Time", 540, Summer::Never),
    zone("Korea Standard Time", 540, Summer::Never),
    zone("AUS Central Standard Time", 570, Summer::Never),
    zone("Cen. Australia Standard Time", 570, Summer::Australia),
    zone("E. Australia Standard Time", 600, Summer::Never),
    zone("AUS Eastern Standard Time", 600, Summer::Australia),
    zone("Tasmania Standard Time", 600, Summer::Australia),
    zone("New Zealand Standard Time", 720, Summer::NewZealand),
    zone("Atlantic Standard Time", -240, Summer::America),
    zone("Eastern Standard Time", -300, Summer::America),
    zone("SA Pacific Standard Time", -300, Summer::Never),
    zone("US Eastern Standard Time", -300, Summer::America),
    zone("Central Standard Time", -360, Summer::America),
    zone("Canada Central Standard Time", -360, Summer::Never),
    zone("Mountain Standard Time", -420, Summer::America),
    zone("US Mountain Standard Time", -420, Summer::Never),
    zone("Pacific Standard Time", -480, Summer::America),
    zone("Alaskan Standard Time", -540, Summer::America),
    zone("Hawaiian Standard Time", -600, Summer::Never),
];

/// The day of a Sunday of a month: the `count`th, the last for 0.
fn sunday(year: i64, month: i64, count: i64) -> EvalResult<i64> {
    let error = EvalError::DateRange;
    // 0001-01-01, day 0, was a Monday.
    if count == 0 {
        let last = calendar::days_of(year, month, calendar::last_of_month(year, month));
        let last = last.ok_or(error)?;
        return Ok(last - (last + 1).rem_euclid(7));
    }
    let first = calendar::days_of(year, month, 1).ok_or(error)?;
    Ok(first + (6 - first).rem_euclid(7) + (count - 1) * 7)
}

impl Zone {
    /// Begin and end of summer time of a year, as UTC; begin is the later one in the south.
    fn summer_of(&self, year: i64) -> EvalResult<Option<(i64, i64)>> {
        let standard = self.offset * MINUTE;
        let at = |day: i64, time: i64, offset: i64| day * DAY + time - offset;
        Ok(Some(match self.summer {
            Summer::Never => return Ok(None),
            Summer::Europe => (at(sunday(year, 3, 0)?, HOUR, 0), at(sunday(year, 10, 0)?, HOUR, 0)),
            Summer::America => {
                let (from, to) = if year >= 2007 {
                    (sunday(year, 3, 2)?, sunday(year, 11, 1)?)
                } else {
                    (sunday(year, 4, 1)?, sunday(year, 10, 0)?)
                };
                (at(from, 2 * HOUR, standard), at(to, 2 * HOUR, standard + HOUR))
            }
            Summer::Australia => {
                let from = at(sunday(year, 10, 1)?, 2 * HOUR, standard);
                (from, at(sunday(year, 4, 1)?, 3 * HOUR, standard + HOUR))
            }
            Summer::NewZealand => {
                let from = at(sunday(year, 9, 0)?, 2 * HOUR, standard);
                (from, at(sunday(year, 4, 1)?, 3 * HOUR, standard + HOUR))
            }
        }))
    }

    /// The offset at an instant, in minutes.
    fn offset_at(&self, utc: i64) -> EvalResult<i64> {
        let local = Local::of_total(utc + self.offset * MINUTE, 0);
        let (year, _, _) = calendar::ymd(local.days)?;
        let is_summer = match self.summer_of(year)? {
            None => false,
            Some((from, to)) if from < to => (from..to).contains(&utc),
            Some((from, to)) => utc >= from || utc < to,
        };
        Ok(self.offset + if is_summer { 60 } else { 0 })
    }

    /// A local time with its offset. In the gap before summer it moves forward; where it comes
    /// twice, it is the first.
    fn attach(&self, local: Local) -> EvalResult<Local> {
        let with = |offset: i64| Local { offset, ..local };
        let summer = with(self.offset + 60);
        if self.summer != Summer::Never && self.offset_at(summer.utc().total())? == summer.offset {
            return Ok(summer);
        }
        let standard = with(self.offset);
        let offset = self.offset_at(standard.utc().total())?;
        if offset == standard.offset { Ok(standard) } else { Ok(standard.at_offset(offset)) }
    }
}

/// `date AT TIME ZONE zone`: the zone, then the date.
pub fn at_time_zone(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [zone, date] = first::<2>(cells);
    let name = codec::decode(call.ty(0), zone.bytes());
    let zone = ZONES.iter().find(|zone| zone.name.eq_ignore_ascii_case(name.trim_end()));
    let zone = zone.ok_or(EvalError::TimeZone)?;
    let local = moment::read(call.ty(1), date)?;
    let result = match call.ty(1) {
        SqlType::DateTimeOffset { .. } => local.at_offset(zone.offset_at(local.utc().total())?),
        _ => zone.attach(local)?,
    };
    moment::write(&call.result, result, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(name: &str, year: i64, month: i64, day: i64, minutes: i64) -> (i64, i64) {
        let zone = ZONES.iter().find(|zone| zone.name == name).unwrap();
        let days = calendar::days_of(year, month, day).unwrap();
        let local = zone.attach(Local { days, ticks: minutes * MINUTE, offset: 0 }).unwrap();
        (local.ticks / MINUTE, local.offset)
    }

    #[test]
    fn changes_of_the_clock_are_as_documented() {
        let zone = "Central European Standard Time";
        assert_eq!(attached(zone, 2022, 3, 27, 60), (60, 60));
        // In the gap: an hour later.
        assert_eq!(attached(zone, 2022, 3, 27, 121), (181, 120));
        assert_eq!(attached(zone, 2022, 3, 27, 181), (181, 120));
        // Twice: before the change.
        assert_eq!(attached(zone, 2022, 10, 30, 121), (121, 120));
        assert_eq!(attached(zone, 2022, 10, 30, 181), (181, 60));
        assert_eq!(attached("Pacific Standard Time", 2016, 7, 1, 0), (0, -420));
        assert_eq!(attached("Pacific Standard Time", 2016, 1, 1, 0), (0, -480));
        assert_eq!(attached("AUS Eastern Standard Time", 2020, 1, 1, 0), (0, 660));
        assert_eq!(attached("UTC", 2020, 7, 1, 0), (0, 0));
    }
}
