//! The report for people: the verdict, its causes, then what DBCC prints.
//!
//! ```text
//! damaged: 1403 of 1403 allocated pages checked, …                   one line
//! Root causes: 3 of 4 findings follow from 1 other.
//!   Msg 3241: The media family on device …                           damage of the medium, which explains the rest
//!   8939 (1:312) in Orders: 3 findings follow from it.
//!
//! DBCC results for 'Shop'.
//! DBCC results for 'Orders'.                                        per object
//! Msg 8928, Level 16, State 1: Object ID 245575913, …
//! There are 98211 rows in 1403 pages for object "Orders".
//! CHECKDB found 0 allocation errors and 4 consistency errors in table 'Orders' (object ID 245575913).
//! …                                                                  errors without an object, 8954
//! CHECKDB found 0 allocation errors and 4 consistency errors in database 'Shop'.
//! repair_allow_data_loss is the minimum repair level for the errors found by DBCC CHECKDB (Shop).
//! DBCC execution completed. If DBCC printed error messages, contact your system administrator.
//! DBCC CHECKDB (Shop) executed by extentdb found 4 errors and repaired 0 errors. …        the line of the log, 8957
//! Not checked: …
//! ```
//!
//! Of each number ten messages are printed, and what no run checks is left out, unless
//! [`TextOptions`] say otherwise. The other forms of the report always have everything.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::Report;
use super::lines::Line;
use crate::finding::Finding;

/// Root causes that the text names.
const CAUSES_MAX: usize = 20;
/// Messages of one number that the text prints.
const REPEATS_MAX: u64 = 10;
/// The medium itself is damaged: what was on it is missing elsewhere.
const OF_MEDIUM: [u32; 1] = [3241];

/// How much the text says.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TextOptions {
    /// ALL_ERRORMSGS: every message, however often its number occurs.
    pub all_errormsgs: bool,
    /// What no run checks as well.
    pub verbose: bool,
}

impl Report {
    /// The report as text, as brief as it is without options.
    pub fn to_text(&self) -> String {
        self.to_text_with(TextOptions::default())
    }

    /// The report as text.
    pub fn to_text_with(&self, options: TextOptions) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_text(options, &mut text);
        text
    }

    /// Writes the report as text.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_text(&self, options: TextOptions, out: &mut impl Write) -> fmt::Result {
        if self.refused.is_none() {
            self.write_verdict(out)?;
            self.write_causes(out)?;
        }
        self.write_lines(options, out)?;
        if self.refused.is_some() {
            return Ok(());
        }
        if self.findings_omitted > 0 {
            writeln!(out, "({} more findings are counted but not listed.)", self.findings_omitted)?;
        }
        if !self.no_infomsgs {
            writeln!(out, "{}", self.log_line())?;
        }
        self.write_not_checked(options, out)
    }

    /// What DBCC prints, but for messages that repeat a number too often.
    fn write_lines(&self, options: TextOptions, out: &mut impl Write) -> fmt::Result {
        let mut repeats: BTreeMap<u32, u64> = BTreeMap::new();
        for line in self.lines() {
            let count = repeats.entry(line.error).or_default();
            *count += u64::from(line.finding.is_some());
            if options.all_errormsgs || *count <= REPEATS_MAX {
                write_line(out, &line)?;
            }
        }
        let cut =
            repeats.into_iter().filter(|(_, count)| *count > REPEATS_MAX && !options.all_errormsgs);
        let cut: Vec<String> =
            cut.map(|(error, count)| format!("{} of Msg {error}", count - REPEATS_MAX)).collect();
        if cut.is_empty() {
            return Ok(());
        }
        writeln!(out, "(More of the same: {}. --all-errormsgs prints them.)", cut.join(", "))
    }

    /// Findings about the medium that the database lies on.
    fn medium_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| OF_MEDIUM.contains(&finding.error))
    }

    /// Which findings to look at first.
    fn write_causes(&self, out: &mut impl Write) -> fmt::Result {
        let causes = self.root_causes();
        let medium: Vec<&Finding> = self.medium_findings().take(CAUSES_MAX).collect();
        if !medium.is_empty() {
            writeln!(
                out,
                "Root cause: the medium is damaged; what it does not hold is missed elsewhere."
            )?;
        }
        for finding in medium {
            writeln!(out, "  Msg {}: {}", finding.error, finding.message)?;
        }
        if causes.is_empty() {
            return Ok(());
        }
        let derived = self.derived_count();
        let all = self.findings.len();
        let follow = if derived == 1 { "follows" } else { "follow" };
        let others = if causes.len() == 1 { "other" } else { "others" };
        writeln!(
            out,
            "Root causes: {derived} of {all} findings {follow} from {} {others}.",
            causes.len()
        )?;
        for root in causes.iter().take(CAUSES_MAX) {
            let owner = root.finding.and_then(|finding| finding.place.owner);
            let name = owner.and_then(|owner| self.object_name(owner.object));
            let place = name.map_or_else(String::new, |name| format!(" in {name}"));
            let count = match root.derived {
                1 => "1 finding follows".to_owned(),
                several => format!("{several} findings follow"),
            };
            writeln!(out, "  {}{place}: {count} from it.", root.cause)?;
        }
        match causes.len().saturating_sub(CAUSES_MAX) {
            0 => {}
            more => writeln!(out, "  and {more} more.")?,
        }
        writeln!(out)
    }

    /// The verdict, and which part of the database it is about.
    fn write_verdict(&self, out: &mut impl Write) -> fmt::Result {
        let coverage = &self.coverage;
        writeln!(
            out,
            "{}: {} of {} allocated pages checked, {} objects, scope {}, {:.3} s, {:.1} MB/s.",
            self.verdict.name(),
            coverage.pages_checked,
            coverage.pages_planned,
            coverage.objects,
            self.scope.name(),
            self.elapsed.as_secs_f64(),
            self.mb_per_s()
        )
    }

    /// What this run did not check; with `verbose` what none does, too.
    fn write_not_checked(&self, options: TextOptions, out: &mut impl Write) -> fmt::Result {
        let not_checked = &self.coverage.not_checked;
        for left_out in not_checked.iter().filter(|it| options.verbose || !it.is_of_every_run()) {
            writeln!(out, "Not checked: {}: {}.", left_out.what, left_out.why)?;
        }
        Ok(())
    }
}

/// Information stands by itself; what is more carries its number.
fn write_line(out: &mut impl Write, line: &Line<'_>) -> fmt::Result {
    let Line { error, level, state, text, .. } = line;
    match line.finding {
        Some(_) => writeln!(out, "Msg {error}, Level {level}, State {state}: {text}"),
        None => writeln!(out, "{text}"),
    }
}
