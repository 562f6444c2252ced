//! The report as DBCC prints it, followed by what DBCC does not say: root causes and the coverage.
//!
//! ```text
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
//!
//! Root causes: 3 of 4 findings follow from 1 other.
//!   8939 (1:312) in Orders: 3 findings follow from it.
//!
//! damaged: 1403 of 1403 allocated pages checked, …
//! ```

use std::fmt::{self, Write};

use super::Report;
use super::lines::Line;

/// Root causes that the text names.
const CAUSES_MAX: usize = 20;

impl Report {
    /// The report as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_text(&mut text);
        text
    }

    /// Writes the report as text.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_text(&self, out: &mut impl Write) -> fmt::Result {
        for line in self.lines() {
            write_line(out, &line)?;
        }
        if self.refused.is_some() {
            return Ok(());
        }
        if self.findings_omitted > 0 {
            writeln!(out, "({} more findings are counted but not listed.)", self.findings_omitted)?;
        }
        if !self.no_infomsgs {
            writeln!(out, "{}", self.log_line())?;
        }
        self.write_causes(out)?;
        self.write_coverage(out)
    }

    /// Which findings to look at first.
    fn write_causes(&self, out: &mut impl Write) -> fmt::Result {
        let causes = self.root_causes();
        if causes.is_empty() {
            return Ok(());
        }
        let (derived, all) = (self.derived_count(), self.findings.len());
        let (follow, others) = (
            if derived == 1 { "follows" } else { "follow" },
            if causes.len() == 1 { "other" } else { "others" },
        );
        writeln!(out, "\nRoot causes: {derived} of {all} findings {follow} from {} {others}.", causes.len())?;
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

    /// What DBCC leaves open: which part of the database the verdict is about.
    fn write_coverage(&self, out: &mut impl Write) -> fmt::Result {
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
        )?;
        for left_out in &coverage.not_checked {
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
