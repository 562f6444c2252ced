//! Points in time as texts, in every style of CONVERT.
//!
//! ```text
//! datetime, smalldatetime   `:` before thousandths in 9, 13, 14, 130, 131; else `.`
//! time, datetime2, …offset  `.` and all digits that the type declares
//! date                      the date part of styles with both
//! time                      the time part of styles with both; a style of dates alone is an error
//! ```

use extentdb_types::SqlType;

use crate::calendar::{self, SECOND};
use crate::error::{EvalError, EvalResult};
use crate::operator::moment::Local;
use crate::operator::moment_text::MONTHS;

/// Style of CAST, and of CONVERT without one.
pub const NO_STYLE: i64 = -1;

/// Names of days, from Monday.
pub(crate) const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Months of the Hijri calendar.
const HIJRI_MONTHS: [&str; 12] = [
    "محرم",
    "صفر",
    "ربيع الاول",
    "ربيع الثاني",
    "جمادى الاولى",
    "جمادى الثانية",
    "رجب",
    "شعبان",
    "رمضان",
    "شوال",
    "ذو القعدة",
    "ذو الحجة",
];

/// A style taken apart.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// `y` four digits, `Y` two, `m` `d` two, `M` a month's short name, `D` a day padded by a
    /// blank, `h` `n` `k` year, month and day of the Hijri calendar, `N` its month's name.
    date: &'static str,
    /// Between date and time.
    between: &'static str,
    clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    None,
    /// `hh:mi:ss`
    Seconds,
    /// With a fraction after this character.
    Fraction(char),
    /// The same, but without a fraction of datetime that is zero.
    IsoFraction,
    /// Twelve hours: with seconds, and a fraction?
    Half {
        seconds: bool,
        fraction: bool,
        blank: bool,
    },
}

const SHORT: Clock = Clock::Half { seconds: false, fraction: false, blank: false };
const LONG: Clock = Clock::Half { seconds: true, fraction: true, blank: false };

/// The form of a style; `None` where there is no such style.
fn form(style: i64) -> Option<Form> {
    let date = match style {
        0 | 100 | 9 | 109 => "M D y",
        1 => "m/d/Y",
        101 => "m/d/y",
        2 => "Y.m.d",
        102 => "y.m.d",
        3 => "d/m/Y",
        103 => "d/m/y",
        4 => "d.m.Y",
        104 => "d.m.y",
        5 => "d-m-Y",
        105 => "d-m-y",
        6 => "d M Y",
        106 | 13 | 113 => "d M y",
        7 => "M d, Y",
        107 => "M d, y",
        10 => "m-d-Y",
        110 => "m-d-y",
        11 => "Y/m/d",
        111 => "y/m/d",
        12 => "Ymd",
        112 => "ymd",
        20 | 120 | 21 | 25 | 121 | 23 | 126 | 127 => "y-m-d",
        22 => "m/d/Y",
        130 => "K N h",
        131 => "K/n/h",
        8 | 24 | 108 | 14 | 114 => "",
        _ => return None,
    };
    let (between, clock) = match style {
        0 | 100 => (" ", SHORT),
        9 | 109 | 130 | 131 => (" ", LONG),
        13 | 113 => (" ", Clock::Fraction(':')),
        8 | 24 | 108 => ("", Clock::Seconds),
        14 | 114 => ("", Clock::Fraction(':')),
        20 | 120 => (" ", Clock::Seconds),
        21 | 25 | 121 => (" ", Clock::Fraction('.')),
        22 => {
            let clock = Clock::Half { seconds: true, fraction: false, blank: true };
            (" ", clock)
        }
        126 | 127 => ("T", Clock::IsoFraction),
        _ => ("", Clock::None),
    };
    Some(Form { date, between, clock })
}

/// Is there such a style?
pub fn is_style(style: i64) -> bool {
    style == NO_STYLE || form(style).is_some()
}

/// The style that a type is written in where none is asked for.
fn default_style(ty: &SqlType) -> i64 {
    match ty {
        SqlType::DateTime | SqlType::SmallDateTime => 0,
        SqlType::Date => 23,
        _ => 121,
    }
}

/// Appends the text of a point in time of a type.
pub(crate) fn write(ty: &SqlType, local: Local, style: i64, to: &mut String) -> EvalResult<()> {
    let style = if style == NO_STYLE { default_style(ty) } else { style };
    let form = form(style).ok_or(EvalError::Style)?;
    let is_date = *ty == SqlType::Date;
    let is_time = matches!(ty, SqlType::Time { .. });
    let is_offset = matches!(ty, SqlType::DateTimeOffset { .. });
    match (is_date, is_time, form.date.is_empty(), form.clock) {
        (true, _, true, Clock::Seconds) | (_, true, _, Clock::None) => {
            return Err(EvalError::Conversion);
        }
        (true, _, true, _) => return Err(EvalError::Style),
        _ => {}
    }
    let local = if is_offset && style == 127 { local.utc() } else { local };
    if !is_time {
        write_date(form.date, local.days, to)?;
    }
    if is_date || form.clock == Clock::None {
        return Ok(());
    }
    if !is_time {
        to.push_str(form.between);
    }
    let is_unpadded = is_time && matches!(style, 0 | 100 | 9 | 109);
    write_clock(form.clock, ty, local.ticks, is_unpadded, to);
    match (is_offset, style) {
        (true, 127) => to.push('Z'),
        (true, 126) => to.push_str(&offset_text(local.offset)),
        (true, _) if !form.date.is_empty() => {
            to.push(' ');
            to.push_str(&offset_text(local.offset));
        }
        _ => {}
    }
    Ok(())
}

/// `±hh:mm`
pub(crate) fn offset_text(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
}

fn write_date(pattern: &str, days: i64, to: &mut String) -> EvalResult<()> {
    let (year, month, day) = calendar::ymd(days)?;
    let hijri = hijri(days);
    let name = |names: &[&'static str; 12], month: i64| {
        names.get((month - 1) as usize).copied().unwrap_or_default()
    };
    for part in pattern.chars() {
        let text = match part {
            'y' => format!("{year:04}"),
            'Y' => format!("{:02}", year % 100),
            'm' => format!("{month:02}"),
            'd' => format!("{day:02}"),
            'D' => format!("{day:2}"),
            'M' => name(&MONTHS, month).get(..3).unwrap_or_default().to_owned(),
            'h' => format!("{:4}", hijri.0),
            'n' => format!("{:02}", hijri.1),
            'K' => format!("{:2}", hijri.2),
            'N' => name(&HIJRI_MONTHS, hijri.1).to_owned(),
            separator => separator.to_string(),
        };
        to.push_str(&text);
    }
    Ok(())
}

/// Digits of a type's fraction, and its value.
fn fraction(ty: &SqlType, ticks: i64) -> (usize, i64) {
    match *ty {
        SqlType::Time { scale }
        | SqlType::DateTime2 { scale }
        | SqlType::DateTimeOffset { scale } => {
            (usize::from(scale), ticks % SECOND / 10i64.pow(u32::from(7 - scale.min(7))))
        }
        // Thirds of 1/100 s are shown rounded: .333, .667.
        _ => (3, (ticks % SECOND + 5_000) / 10_000),
    }
}

fn write_clock(clock: Clock, ty: &SqlType, ticks: i64, is_unpadded: bool, to: &mut String) {
    let [hour, minute, second] = calendar::hms(ticks);
    let (digits, value) = fraction(ty, ticks);
    let is_old = matches!(ty, SqlType::DateTime | SqlType::SmallDateTime);
    let fraction = |separator: char| {
        let separator = if is_old { separator } else { '.' };
        if digits == 0 { String::new() } else { format!("{separator}{value:0digits$}") }
    };
    match clock {
        Clock::None => {}
        Clock::Seconds => to.push_str(&format!("{hour:02}:{minute:02}:{second:02}")),
        Clock::Fraction(separator) => {
            let fraction = fraction(separator);
            to.push_str(&format!("{hour:02}:{minute:02}:{second:02}{fraction}"));
        }
        Clock::IsoFraction => {
            let is_shown = !(is_old && value == 0);
            let fraction = if is_shown { fraction('.') } else { String::new() };
            to.push_str(&format!("{hour:02}:{minute:02}:{second:02}{fraction}"));
        }
        Clock::Half { seconds, fraction: has_fraction, blank } => {
            let half = if hour < 12 { "AM" } else { "PM" };
            let hour = (hour + 11) % 12 + 1;
            let hour = if is_unpadded { hour.to_string() } else { format!("{hour:2}") };
            to.push_str(&format!("{hour}:{minute:02}"));
            if seconds {
                to.push_str(&format!(":{second:02}"));
            }
            if has_fraction {
                to.push_str(&fraction(':'));
            }
            to.push_str(if blank { " " } else { "" });
            to.push_str(half);
        }
    }
}

/// Year, month and day of the tabular Islamic calendar (leap years 2, 5, 7, 10, 13, 16, 18, 21,
/// 24, 26 and 29 of 30).
fn hijri(days: i64) -> (i64, i64, i64) {
    /// The first day of its first year, in days since 0001-01-01.
    const FIRST: i64 = 227_013;
    const CYCLE: i64 = 10_631;
    let is_leap = |year: i64| (year * 11 + 14).rem_euclid(30) < 11;
    let mut rest = days - FIRST;
    let mut year = rest.div_euclid(CYCLE) * 30 + 1;
    rest = rest.rem_euclid(CYCLE);
    loop {
        let len = 354 + i64::from(is_leap(year));
        if rest < len {
            break;
        }
        rest -= len;
        year += 1;
    }
    // Months have 30 and 29 days in turn; the last one 30 in leap years.
    let mut month = 1;
    loop {
        let len = if month % 2 == 1 { 30 } else { 29 };
        if rest < len || month == 12 {
            return (year, month, rest + 1);
        }
        rest -= len;
        month += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Local {
        let days = calendar::days_of(2019, 8, 23).unwrap();
        Local {
            days,
            ticks: ((13 * 60 + 39) * 60 + 17) * SECOND + 900_000,
            offset: 120,
        }
    }

    fn shown(ty: SqlType, style: i64) -> String {
        let mut text = String::new();
        match write(&ty, sample(), style, &mut text) {
            Ok(()) => text,
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn a_datetime_is_written_as_the_public_table_shows() {
        let cases = [
            (0, "Aug 23 2019  1:39PM"),
            (1, "08/23/19"),
            (101, "08/23/2019"),
            (2, "19.08.23"),
            (3, "23/08/19"),
            (104, "23.08.2019"),
            (105, "23-08-2019"),
            (6, "23 Aug 19"),
            (106, "23 Aug 2019"),
            (7, "Aug 23, 19"),
            (107, "Aug 23, 2019"),
            (8, "13:39:17"),
            (109, "Aug 23 2019  1:39:17:090PM"),
            (10, "08-23-19"),
            (111, "2019/08/23"),
            (12, "190823"),
            (112, "20190823"),
            (13, "23 Aug 2019 13:39:17:090"),
            (14, "13:39:17:090"),
            (120, "2019-08-23 13:39:17"),
            (121, "2019-08-23 13:39:17.090"),
            (22, "08/23/19  1:39:17 PM"),
            (23, "2019-08-23"),
            (126, "2019-08-23T13:39:17.090"),
            (131, "22/12/1440  1:39:17:090PM"),
            (99, "Style"),
        ];
        for (style, expected) in cases {
            assert_eq!(shown(SqlType::DateTime, style), expected, "{style}");
        }
    }

    #[test]
    fn the_other_types_keep_their_digits_and_parts() {
        let time = SqlType::Time { scale: 2 };
        let datetime2 = SqlType::DateTime2 { scale: 0 };
        let offset = SqlType::DateTimeOffset { scale: 1 };
        let cases = [
            (time, NO_STYLE, "13:39:17.09"),
            (time, 0, "1:39PM"),
            (time, 22, " 1:39:17 PM"),
            (time, 101, "Conversion"),
            (datetime2, NO_STYLE, "2019-08-23 13:39:17"),
            (datetime2, 13, "23 Aug 2019 13:39:17"),
            (SqlType::Date, NO_STYLE, "2019-08-23"),
            (SqlType::Date, 121, "2019-08-23"),
            (SqlType::Date, 108, "Conversion"),
            (SqlType::Date, 114, "Style"),
            (offset, NO_STYLE, "2019-08-23 13:39:17.0 +02:00"),
            (offset, 126, "2019-08-23T13:39:17.0+02:00"),
            (offset, 127, "2019-08-23T11:39:17.0Z"),
        ];
        for (ty, style, expected) in cases {
            assert_eq!(shown(ty, style), expected, "{ty} {style}");
        }
    }

    #[test]
    fn months_of_the_hijri_calendar_have_30_and_29_days() {
        let first = calendar::days_of(2019, 8, 31).unwrap();
        let mut before = hijri(first - 1);
        for day in 0..800 {
            let now = hijri(first + day);
            let is_next_day = now.2 == before.2 + 1 && now.1 == before.1;
            let is_next_month = now.2 == 1 && (29..=30).contains(&before.2);
            assert!(is_next_day || is_next_month, "{before:?} {now:?}");
            before = now;
        }
    }
}
