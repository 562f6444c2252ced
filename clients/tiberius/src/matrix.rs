//! The values of types.tsv, and what they are in tiberius.

use tiberius::{ColumnData, ToSql};

/// 100 ns in a second.
const TICKS: u64 = 10_000_000;
/// Days from 0001-01-01 to 1900-01-01.
const DAYS_TO_1900: i64 = 693_595;
/// The parts of a second of datetime.
const FRAGMENTS: u64 = 300;

pub struct Case {
    pub ty: String,
    pub label: String,
    pub ways: String,
    pub text: String,
    pub stored: String,
    pub literal: String,
}

/// A value that goes back to the server as it came.
pub struct Sent(pub ColumnData<'static>);

impl ToSql for Sent {
    fn to_sql(&self) -> ColumnData<'_> {
        self.0.clone()
    }
}

pub fn cases() -> Result<Vec<Case>, std::io::Error> {
    let text = std::fs::read_to_string("../types.tsv")?;
    let case = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let repeated = cells[4].strip_prefix('*').and_then(|it| it.split_once(' '));
        Case {
            ty: cells[0].to_owned(),
            label: cells[2].to_owned(),
            ways: cells[3].to_owned(),
            text: match repeated {
                Some((count, part)) => part.repeat(count.parse().unwrap_or(0)),
                None => cells[4].to_owned(),
            },
            stored: cells[5].to_owned(),
            literal: cells[6].to_owned(),
        }
    };
    Ok(text.lines().skip(1).map(case).collect())
}

impl Case {
    pub fn name(&self) -> String {
        format!("{} {}", self.ty, self.label)
    }

    pub fn value(&self) -> String {
        format!("CAST({} AS {})", self.literal, self.ty)
    }

    /// The condition on column v that holds where the value has been stored.
    pub fn found(&self) -> String {
        if self.label == "null" {
            return "v IS NULL".to_owned();
        }
        format!("{} = {}", self.stored.replace('$', "v"), self.stored.replace('$', &self.value()))
    }

    /// What differs.
    pub fn differs(&self, value: &ColumnData<'_>) -> Option<String> {
        let text = self.shown(value);
        if self.label == "null" {
            return text.map(|it| format!("{it:.40}"));
        }
        let text = text.unwrap_or_else(|| "NULL".to_owned());
        (text != self.text).then(|| format!("{text:.60}"))
    }

    fn shown(&self, value: &ColumnData<'_>) -> Option<String> {
        match value {
            ColumnData::U8(it) => it.map(|it| it.to_string()),
            ColumnData::I16(it) => it.map(|it| it.to_string()),
            ColumnData::I32(it) => it.map(|it| it.to_string()),
            ColumnData::I64(it) => it.map(|it| it.to_string()),
            ColumnData::Bit(it) => it.map(|it| u8::from(it).to_string()),
            ColumnData::F32(it) => {
                it.map(|it| self.number(f64::from(it), |text| text.parse::<f32>().map(f64::from)))
            }
            ColumnData::F64(it) => it.map(|it| self.number(it, str::parse)),
            ColumnData::Numeric(it) => it.map(|it| decimal(it.value(), it.scale())),
            ColumnData::String(it) => it.as_ref().map(|it| it.to_string()),
            ColumnData::Guid(it) => it.map(|it| it.to_string().to_uppercase()),
            ColumnData::Xml(it) => it.as_ref().map(|it| it.to_string()),
            ColumnData::Binary(it) => {
                it.as_ref().map(|it| it.iter().map(|byte| format!("{byte:02X}")).collect())
            }
            ColumnData::SmallDateTime(it) => it.map(|it| {
                let ticks = u64::from(it.seconds_fragments()) * 60 * TICKS;
                moment(DAYS_TO_1900 + i64::from(it.days()), ticks)
            }),
            ColumnData::DateTime(it) => it.map(|it| {
                // Rounded to milliseconds, as text of it is.
                let thousandths =
                    (u64::from(it.seconds_fragments()) * 1000 + FRAGMENTS / 2) / FRAGMENTS;
                moment(DAYS_TO_1900 + i64::from(it.days()), thousandths * (TICKS / 1000))
            }),
            ColumnData::Date(it) => it.map(|it| day(i64::from(it.days()))),
            ColumnData::Time(it) => it.map(|it| clock(ticks(it))),
            ColumnData::DateTime2(it) => {
                it.map(|it| moment(i64::from(it.date().days()), ticks(it.time())))
            }
            ColumnData::DateTimeOffset(it) => it.map(|it| {
                let minutes = i64::from(it.offset());
                let parts = it.datetime2();
                let in_day = 24 * 3600 * TICKS as i64;
                let local = i64::from(parts.date().days()) * in_day
                    + ticks(parts.time()) as i64
                    + minutes * 60 * TICKS as i64;
                let text = moment(local.div_euclid(in_day), local.rem_euclid(in_day) as u64);
                let sign = if minutes < 0 { '-' } else { '+' };
                format!("{text} {sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
            }),
        }
    }

    fn number(
        &self,
        value: f64,
        parse: impl Fn(&str) -> Result<f64, std::num::ParseFloatError>,
    ) -> String {
        if parse(&self.text) == Ok(value) {
            self.text.clone()
        } else {
            value.to_string()
        }
    }
}

fn ticks(time: tiberius::time::Time) -> u64 {
    time.increments() * 10_u64.pow(7 - u32::from(time.scale()))
}

fn decimal(value: i128, scale: u8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

fn clock(ticks: u64) -> String {
    let seconds = ticks / TICKS;
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = format!("{:07}", ticks % TICKS);
    match fraction.trim_end_matches('0') {
        "" => text,
        digits => format!("{text}.{digits}"),
    }
}

fn moment(days: i64, ticks: u64) -> String {
    format!("{} {}", day(days), clock(ticks))
}

/// The date so many days after 0001-01-01.
fn day(days: i64) -> String {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = days / 366 + 1;
    let start = |year: i64| (year - 1) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    while start(year + 1) <= days {
        year += 1;
    }
    let mut left = days - start(year);
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}
