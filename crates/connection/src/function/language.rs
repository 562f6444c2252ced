//! Languages of sessions: their names, first day of the week and order of dates.
//!
//! Month names and texts of messages are those of us_english in all of them.

/// A language.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// `@@LANGID`
    pub id: i16,
    /// `@@LANGUAGE`
    pub name: &'static str,
    alias: &'static str,
    /// First day of the week: 1 is Monday.
    pub first_day: u8,
    /// Order of day, month and year, as SET DATEFORMAT names it.
    pub date_order: &'static str,
}

const fn language(
    id: i16,
    name: &'static str,
    alias: &'static str,
    date_order: &'static str,
    first_day: u8,
) -> Language {
    Language { id, name, alias, first_day, date_order }
}

const LANGUAGES: [Language; 6] = [
    language(0, "us_english", "English", "mdy", 7),
    language(1, "Deutsch", "German", "dmy", 1),
    language(2, "Français", "French", "dmy", 1),
    language(5, "Español", "Spanish", "dmy", 1),
    language(6, "Italiano", "Italian", "dmy", 1),
    language(23, "British", "British English", "dmy", 1),
];

/// Orders of year, month and day that SET DATEFORMAT takes.
const DATE_ORDERS: [&str; 6] = ["mdy", "dmy", "ymd", "ydm", "myd", "dym"];

/// The language of a name or alias.
pub fn named(name: &str) -> Option<&'static Language> {
    let is = |own: &str| own.eq_ignore_ascii_case(name);
    LANGUAGES.iter().find(|language| is(language.name) || is(language.alias))
}

/// The order of a name.
pub fn date_order(name: &str) -> Option<&'static str> {
    DATE_ORDERS.into_iter().find(|order| order.eq_ignore_ascii_case(name))
}
