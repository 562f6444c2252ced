//! Dates and times in the standard and custom formats of .NET.

use extentdb_types::SqlType;

use crate::calendar::{self, SECOND};
use crate::operator::moment::Local;
use crate::operator::moment_style::{DAYS, offset_text};
use crate::operator::moment_text::MONTHS;

/// The custom pattern of a standard one of dates.
fn date_pattern(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "M/d/yyyy",
        'D' => "dddd, MMMM d, yyyy",
        'f' => "dddd, MMMM d, yyyy h:mm tt",
        'F' | 'U' => "dddd, MMMM d, yyyy h:mm:ss tt",
        'g' => "M/d/yyyy h:mm tt",
        'G' => "M/d/yyyy h:mm:ss tt",
        'm' | 'M' => "MMMM d",
        'o' | 'O' => "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
        'r' | 'R' => "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
        's' => "yyyy'-'MM'-'dd'T'HH':'mm':'ss",
        't' => "h:mm tt",
        'T' => "h:mm:ss tt",
        'u' => "yyyy'-'MM'-'dd HH':'mm':'ss'Z'",
        'y' | 'Y' => "MMMM yyyy",
        _ => return None,
    })
}

pub(super) fn format(ty: &SqlType, local: Local, pattern: &str) -> Option<String> {
    if matches!(ty, SqlType::Time { .. }) {
        return format_time(local, pattern);
    }
    let mut letters = pattern.chars();
    let pattern = match (letters.next(), letters.next()) {
        (None, _) => date_pattern('G')?,
        (Some(letter), None) if letter.is_ascii_alphabetic() => date_pattern(letter)?,
        _ => pattern,
    };
    let is_offset = matches!(ty, SqlType::DateTimeOffset { .. });
    custom_date(local, is_offset, pattern)
}

/// A time is a TimeSpan: only `c`, `g` and the letters h, m, s, f, with escaped separators.
fn format_time(local: Local, pattern: &str) -> Option<String> {
    let [hour, minute, second] = calendar::hms(local.ticks);
    let fraction = local.ticks % SECOND;
    if matches!(pattern, "c" | "t" | "T" | "") {
        let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:07}") };
        return Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}"));
    }
    let mut text = String::new();
    let characters: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while let Some(it) = characters.get(at).copied() {
        let run = characters.iter().skip(at).take_while(|other| **other == it).count();
        match it {
            'h' | 'm' | 's' if run <= 2 => {
                let value = match it {
                    'h' => hour,
                    'm' => minute,
                    _ => second,
                };
                text.push_str(&format!("{value:0run$}"));
                at += run;
            }
            'f' if run <= 7 => {
                text.push_str(format!("{fraction:07}").get(..run)?);
                at += run;
            }
            '\\' => {
                text.extend(characters.get(at + 1));
                at += 2;
            }
            '\'' => {
                let rest = characters.get(at + 1..)?;
                let len = rest.iter().position(|end| *end == '\'')?;
                text.extend(rest.iter().take(len));
                at += len + 2;
            }
            // A separator that is not escaped is no format of a TimeSpan.
            _ => return None,
        }
    }
    Some(text)
}

fn custom_date(local: Local, is_offset: bool, pattern: &str) -> Option<String> {
    let (year, month, day) = calendar::ymd(local.days).ok()?;
    let [hour, minute, second] = calendar::hms(local.ticks);
    let fraction = format!("{:07}", local.ticks % SECOND);
    let month_name = MONTHS.get((month - 1) as usize).copied()?;
    let day_name = DAYS.get(local.days.rem_euclid(7) as usize).copied()?;
    let padded = |value: i64, run: usize| {
        let width = run.min(2);
        format!("{value:0width$}")
    };
    let mut text = String::new();
    let characters: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while let Some(it) = characters.get(at).copied() {
        let run = characters.iter().skip(at).take_while(|other| **other == it).count();
        at += run;
        match (it, run) {
            ('y', 1..=2) => text.push_str(&padded(year % 100, run)),
            ('y', _) => text.push_str(&format!("{year:0run$}")),
            ('M', 1..=2) => text.push_str(&padded(month, run)),
            ('M', 3) => text.push_str(month_name.get(..3)?),
            ('M', _) => text.push_str(month_name),
            ('d', 1..=2) => text.push_str(&padded(day, run)),
            ('d', 3) => text.push_str(day_name.get(..3)?),
            ('d', _) => text.push_str(day_name),
            ('H', _) => text.push_str(&padded(hour, run)),
            ('h', _) => text.push_str(&padded((hour + 11) % 12 + 1, run)),
            ('m', _) => text.push_str(&padded(minute, run)),
            ('s', _) => text.push_str(&padded(second, run)),
            ('f', 1..=7) => text.push_str(fraction.get(..run)?),
            ('F', 1..=7) => {
                let digits = fraction.get(..run)?.trim_end_matches('0');
                // The point before it goes with it.
                if digits.is_empty() && text.ends_with('.') {
                    text.pop();
                }
                text.push_str(digits);
            }
            ('t', 1) => text.push(if hour < 12 { 'A' } else { 'P' }),
            ('t', _) => text.push_str(if hour < 12 { "AM" } else { "PM" }),
            ('g', _) => text.push_str("A.D."),
            ('K', _) if !is_offset => {}
            ('K' | 'z', _) => {
                let offset = offset_text(local.offset);
                match (it, run) {
                    ('z', 1) => {
                        let sign = offset.get(..1)?;
                        text.push_str(&format!("{sign}{}", local.offset.abs() / 60));
                    }
                    ('z', 2) => text.push_str(offset.get(..3)?),
                    _ => text.push_str(&offset),
                }
            }
            ('\\', _) => {
                at = at - run + 2;
                text.extend(characters.get(at - 1));
            }
            ('\'' | '"', _) => {
                at = at - run + 1;
                let rest = characters.get(at..).unwrap_or_default();
                let len = rest.iter().position(|end| *end == it)?;
                text.extend(rest.iter().take(len));
                at += len + 1;
            }
            ('%', 1) => {}
            ('f' | 'F' | '%', _) => return None,
            _ => text.extend(std::iter::repeat_n(it, run)),
        }
    }
    Some(text)
}
