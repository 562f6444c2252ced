//! The report as DBCC prints it (`checkdb.md` C.1), followed by what DBCC does not say: the coverage.
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
//! ```

use std::fmt::{self, Write};

use extentdb_base::ObjectId;
use extentdb_messages::{Arg, RepairLevel, lookup};

use super::{ObjectSummary, Report, Verdict};
use crate::finding::{Finding, Totals};

/// The command that the totals name.
const COMMAND: &str = "CHECKDB";

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
        let is_silent = self.no_infomsgs && self.verdict == Verdict::Clean;
        if !self.no_infomsgs {
            self.line(out, 2536, &[self.database.as_str().into()])?;
        }
        if self.options.contains(&"noindex") && !is_silent {
            self.line(out, 7966, &[COMMAND.into()])?;
        }
        let mut findings = self.findings.as_slice();
        for object in &self.objects {
            let of_object = |finding: &Finding| object_of(finding) == Some(object.object);
            // Objects and findings have the same order.
            let end = findings.iter().position(|finding| !of_object(finding)).unwrap_or(findings.len());
            let (own, rest) = findings.split_at_checked(end).unwrap_or((findings, &[]));
            findings = rest;
            self.write_object(out, object, own)?;
        }
        self.write_unowned(out, findings)?;
        if !is_silent {
            self.write_totals(out)?;
        }
        self.write_coverage(out)
    }

    fn write_object(&self, out: &mut impl Write, object: &ObjectSummary, own: &[Finding]) -> fmt::Result {
        let name = object.name.as_str();
        if self.no_infomsgs && own.is_empty() {
            return Ok(());
        }
        if !self.no_infomsgs {
            self.line(out, 2536, &[name.into()])?;
        }
        self.write_findings(out, own)?;
        if !self.no_infomsgs {
            let args = [int(object.rows), int(object.pages), name.into()];
            self.line(out, 2593, &args)?;
        }
        if object.totals.sum() > 0 {
            let Totals { allocation, consistency } = object.totals;
            let args =
                [COMMAND.into(), int(allocation), int(consistency), name.into(), object.object.0.into()];
            self.line(out, 8990, &args)?;
        }
        Ok(())
    }

    fn write_unowned(&self, out: &mut impl Write, findings: &[Finding]) -> fmt::Result {
        self.write_findings(out, findings)?;
        if self.unowned.sum() > 0 {
            let Totals { allocation, consistency } = self.unowned;
            self.line(out, 8954, &[COMMAND.into(), int(allocation), int(consistency)])?;
        }
        Ok(())
    }

    fn write_totals(&self, out: &mut impl Write) -> fmt::Result {
        let Totals { allocation, consistency } = self.totals;
        let database = self.database.as_str();
        if self.findings_omitted > 0 {
            writeln!(out, "({} more findings are counted but not listed.)", self.findings_omitted)?;
        }
        let args = [COMMAND.into(), int(allocation), int(consistency), database.into()];
        self.line(out, 8989, &args)?;
        if self.repair > RepairLevel::None {
            let level = self.repair.to_string();
            let args = [level.into(), COMMAND.into(), database.into(), "".into(), "".into()];
            self.line(out, 8958, &args)?;
        }
        if !self.no_infomsgs {
            self.line(out, 2528, &[])?;
            self.write_findings(out, &self.notes)?;
        }
        Ok(())
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

    fn write_findings(&self, out: &mut impl Write, findings: &[Finding]) -> fmt::Result {
        for finding in findings {
            let Finding { error, severity, state, message, .. } = finding;
            writeln!(out, "Msg {error}, Level {severity}, State {state}: {message}")?;
        }
        Ok(())
    }

    /// An information line from the table of messages.
    fn line(&self, out: &mut impl Write, number: u32, args: &[Arg<'_>]) -> fmt::Result {
        match lookup(number).map(|message| message.format(args)) {
            Some(Ok(text)) => writeln!(out, "{text}"),
            other => {
                debug_assert!(false, "message {number}: {other:?}");
                Ok(())
            }
        }
    }
}

fn object_of(finding: &Finding) -> Option<ObjectId> {
    finding.place.owner.map(|owner| owner.object)
}

fn int(value: u64) -> Arg<'static> {
    i64::try_from(value).unwrap_or(i64::MAX).into()
}
