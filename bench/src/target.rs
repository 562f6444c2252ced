//! Measurements and their limits: met, NOT MET, or not judged with the reason.

use std::fmt;

/// The limit of a measured value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// As much, or more.
    AtLeast(f64),
    /// As much, or less.
    AtMost(f64),
}

impl Limit {
    /// True when a value is within the limit; false for NaN.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Limit::AtLeast(limit) => value >= limit,
            Limit::AtMost(limit) => value <= limit,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::AtLeast(limit) => write!(f, "≥ {limit}"),
            Limit::AtMost(limit) => write!(f, "≤ {limit}"),
        }
    }
}

/// A line of the table of targets.
#[derive(Clone, Debug)]
pub struct Target {
    /// The compared quantities.
    pub what: String,
    /// The unit of value and limits.
    pub unit: &'static str,
    /// The measured value, or why it is missing.
    pub value: Result<f64, String>,
    /// The limit; without it the line only informs.
    pub must: Option<Limit>,
    /// The desired value.
    pub goal: Option<Limit>,
}

impl Target {
    /// The header of lines of [`Target::to_line`], as Markdown.
    pub const HEAD: &str = "\
| target | measured | must | | goal | |
| --- | --- | --- | --- | --- | --- |";

    /// A line without limits.
    pub fn new(what: impl Into<String>, unit: &'static str, value: Result<f64, String>) -> Target {
        Target { what: what.into(), unit, value, must: None, goal: None }
    }

    /// With a limit.
    pub fn must(self, must: Limit) -> Target {
        Target { must: Some(must), ..self }
    }

    /// With what would be good to see.
    pub fn goal(self, goal: Limit) -> Target {
        Target { goal: Some(goal), ..self }
    }

    /// True when the value was measured and is outside the limit.
    pub fn is_missed(&self) -> bool {
        matches!((&self.value, self.must), (Ok(value), Some(must)) if !must.holds(*value))
    }

    /// A line of a Markdown table.
    pub fn to_line(&self) -> String {
        let limit = |limit: Option<Limit>| {
            limit.map_or(String::new(), |limit| format!("{limit} {}", self.unit))
        };
        let verdict = |limit: Option<Limit>, missed| match (limit, &self.value) {
            (None, _) => "",
            (Some(_), Err(_)) => "not judged",
            (Some(limit), Ok(value)) => {
                if limit.holds(*value) {
                    "met"
                } else {
                    missed
                }
            }
        };
        let value = match &self.value {
            Ok(value) => format!("{} {}", rounded(*value), self.unit),
            Err(why) => why.clone(),
        };
        let must = format!("{} | {}", limit(self.must), verdict(self.must, "**NOT MET**"));
        let goal = format!("{} | {}", limit(self.goal), verdict(self.goal, "not met"));
        format!("| {} | {value} | {must} | {goal} |", self.what)
    }
}

/// Three digits: more are noise.
fn rounded(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: Target, line: &str, is_missed: bool) {
        assert_eq!(target.to_line(), line);
        assert_eq!(target.is_missed(), is_missed);
    }

    #[test]
    fn every_line_states_whether_it_is_met() {
        let new = |value| Target::new("full : best", "x", value);
        check(
            new(Ok(12.34)).must(Limit::AtLeast(10.0)),
            "| full : best | 12.3 x | ≥ 10 x | met |  |  |",
            false,
        );
        check(
            new(Ok(9.994)).must(Limit::AtLeast(10.0)),
            "| full : best | 9.99 x | ≥ 10 x | **NOT MET** |  |  |",
            true,
        );
        check(
            new(Ok(1.2)).must(Limit::AtMost(1.3)).goal(Limit::AtMost(1.1)),
            "| full : best | 1.20 x | ≤ 1.3 x | met | ≤ 1.1 x | not met |",
            false,
        );
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let target = Target::new("full : best", "x", Err("no peer was measured".to_owned()));
        check(
            target.must(Limit::AtLeast(10.0)),
            "| full : best | no peer was measured | ≥ 10 x | not judged |  |  |",
            false,
        );
    }

    #[test]
    fn no_number_meets_no_limit() {
        assert!(!Limit::AtLeast(1.0).holds(f64::NAN));
        assert!(!Limit::AtMost(1.0).holds(f64::NAN));
    }

    #[test]
    fn a_line_without_limits_informs() {
        check(Target::new("rows", "x", Ok(345.6)), "| rows | 346 x |  |  |  |  |", false);
    }
}
