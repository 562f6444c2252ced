//! The report for people: the verdict, its causes, then what DBCC prints.
//!
//! ```text
//! damaged: 1403 of 1403 allocated pages checked, …                   one line
//! Root causes: 3 of 4 findings follow from 1 other.
//!   Msg 3241: The media family on device …                           damage of the medium, which
//!                                                                    explains the rest
//!   8939 (1:312) in Orders: 3 findings follow from it.
//!
//! DBCC results for 'Shop'.
//! DBCC results for 'Orders'.                                        per object
//! Msg 8928, Level 16, State 1: Object ID 245575913, …
//! There are 98211 rows in 1403 pages for object "Orders".
//! CHECKDB found 0 allocation errors and 4 consistency errors in table 'Orders' (object ID
//!         245575913).
//! …                                                                  errors without an object,
//!                                                                    8954
//! CHECKDB found 0 allocation errors and 4 consistency errors in database 'Shop'.
//! repair_allow_data_loss is the minimum repair level for the errors found by DBCC CHECKDB (Shop).
//! DBCC execution completed. If DBCC printed error messages, contact your system administrator.
//! DBCC CHECKDB (Shop) executed by extentdb found 4 errors and repaired 0 errors. …  8957
//! Not checked: …
//! ```
//!
//! Of each number ten messages are printed, and what no run checks is left out, unless
//! [`TextOptions`] say otherwise. The other forms of the report always have everything.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use extentdb_check::finding::int_arg;
use extentdb_check::{Estimate, Finding, Report};
use extentdb_messages::Arg;

use crate::causes::{derived_count, root_causes};
use crate::lines::{Line, lines, log_line, sentence};

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

/// The report as text, as brief as it is without options.
pub fn to_text(report: &Report) -> String {
    to_text_with(report, TextOptions::default())
}

/// The report as text.
pub fn to_text_with(report: &Report, options: TextOptions) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_text(report, options, &mut text);
    text
}

fn write_text(report: &Report, options: TextOptions, out: &mut impl Write) -> fmt::Result {
    if report.refused.is_none() {
        write_verdict(report, out)?;
        write_causes(report, out)?;
    }
    write_lines(report, options, out)?;
    if report.refused.is_some() {
        return Ok(());
    }
    if report.findings_omitted > 0 {
        writeln!(out, "({} more findings are counted but not listed.)", report.findings_omitted)?;
    }
    if !report.no_infomsgs {
        writeln!(out, "{}", log_line(report))?;
    }
    write_not_checked(report, options, out)
}

/// What DBCC prints, but for messages that repeat a number too often.
fn write_lines(report: &Report, options: TextOptions, out: &mut impl Write) -> fmt::Result {
    let mut repeats: BTreeMap<u32, u64> = BTreeMap::new();
    for line in lines(report) {
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
fn medium_findings(report: &Report) -> impl Iterator<Item = &Finding> {
    report.findings.iter().filter(|finding| OF_MEDIUM.contains(&finding.error))
}

/// The root causes.
fn write_causes(report: &Report, out: &mut impl Write) -> fmt::Result {
    let causes = root_causes(report);
    let medium: Vec<&Finding> = medium_findings(report).take(CAUSES_MAX).collect();
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
    let derived = derived_count(report);
    let all = report.findings.len();
    let follow = if derived == 1 { "follows" } else { "follow" };
    let others = if causes.len() == 1 { "other" } else { "others" };
    writeln!(
        out,
        "Root causes: {derived} of {all} findings {follow} from {} {others}.",
        causes.len()
    )?;
    for root in causes.iter().take(CAUSES_MAX) {
        let owner = root.finding.and_then(|finding| finding.location.owner);
        let name = owner.and_then(|owner| report.object_name(owner.object));
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
fn write_verdict(report: &Report, out: &mut impl Write) -> fmt::Result {
    let coverage = &report.coverage;
    writeln!(
        out,
        "{}: {} of {} allocated pages checked, {} objects, scope {}, {:.3} s, {:.1} MB/s.",
        report.verdict.name(),
        coverage.pages_checked,
        coverage.pages_planned,
        coverage.objects,
        report.scope.name(),
        report.elapsed.as_secs_f64(),
        report.mb_per_s()
    )
}

/// What this run did not check; with `verbose` what none does, too.
fn write_not_checked(report: &Report, options: TextOptions, out: &mut impl Write) -> fmt::Result {
    let not_checked = &report.coverage.not_checked;
    for left_out in not_checked.iter().filter(|it| options.verbose || !it.is_of_every_run()) {
        writeln!(out, "Not checked: {}: {}.", left_out.what, left_out.why)?;
    }
    Ok(())
}

/// What ESTIMATEONLY prints: the space in tempdb per phase, which is 0 here, and the memory.
pub fn estimate_to_text(estimate: &Estimate) -> String {
    let mut text = String::new();
    let mut line = |number: u32, args: &[Arg<'_>]| {
        text.push_str(&sentence(number, args));
        text.push('\n');
    };
    let database = estimate.database.as_str();
    for phase in ["CHECKALLOC", "CHECKTABLES"] {
        line(5281, &[phase.into(), database.into(), 0.into()]);
    }
    let all = [("all of a check", estimate.memory_bytes())];
    for (what, bytes) in estimate.memory.iter().chain(&all) {
        line(59030, &[(*what).into(), database.into(), int_arg(bytes.div_ceil(1024))]);
    }
    line(2528, &[]);
    text
}

/// Information stands by itself; what is more carries its number.
fn write_line(out: &mut impl Write, line: &Line<'_>) -> fmt::Result {
    let Line { error, level, state, text, .. } = line;
    match line.finding {
        Some(_) => writeln!(out, "Msg {error}, Level {level}, State {state}: {text}"),
        None => writeln!(out, "{text}"),
    }
}
