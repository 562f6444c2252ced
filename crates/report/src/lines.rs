//! What DBCC sends to its client, line by line and in its order (`docs/check.md` 13): the source of
//! the text report and of TABLERESULTS.
//!
//! ```text
//! 2536 DBCC results for 'Shop'.                       not by CHECKTABLE; with NOINDEX 7966 follows
//! 9675 Service Broker Msg 9675, …                     counters
//! 2536 DBCC results for 'Orders'.                     per object: system objects first, then by
//!                                                     object id
//!      its findings, each with its companion lines
//! 2593 There are … rows in … pages for object "Orders".
//! 8990 … errors in table 'Orders'                     when it has some
//!      findings without an object, 8954
//! 8989 … errors in database 'Shop'.                   not by CHECKTABLE
//! 8958 … is the minimum repair level …
//! 2528 DBCC execution completed. …
//!      ExtentDB's own notes
//! ```

use std::borrow::Cow;

use extentdb_base::ObjectId;
use extentdb_check::finding::{Totals, int_arg as int};
use extentdb_check::{Finding, ObjectSummary, Report, Verdict};
use extentdb_messages::{Arg, Counts, RepairLevel, lookup};

/// A message as DBCC sends it.
pub(crate) struct Line<'r> {
    /// Number of the message.
    pub(crate) error: u32,
    pub(crate) level: u8,
    pub(crate) state: u8,
    /// The message with its arguments filled in.
    pub(crate) text: Cow<'r, str>,
    /// The object it is about.
    pub(crate) object: Option<ObjectId>,
    /// What it says, when it is more than information.
    pub(crate) finding: Option<&'r Finding>,
}

/// Collects the lines of a report.
struct Lines<'r> {
    report: &'r Report,
    lines: Vec<Line<'r>>,
}

/// All lines. With NO_INFOMSGS and nothing wrong there are none.
pub(crate) fn lines(report: &Report) -> Vec<Line<'_>> {
    let mut lines = Lines { report, lines: Vec::new() };
    if let Some(refused) = &report.refused {
        lines.finding(refused);
    } else if !report.no_infomsgs || report.verdict != Verdict::Clean {
        lines.everything();
    }
    lines.lines
}

/// The line that goes into the error log (`docs/check.md` 13): 8957, or 5235 when the run had to
/// end before its time.
pub(crate) fn log_line(report: &Report) -> String {
    let (database, separator, target) = target_parts(report);
    let options = match report.options.as_slice() {
        [] => String::new(),
        names => format!(" WITH {}", names.join(", ")),
    };
    let mut args: Vec<Arg<'_>> =
        vec!["".into(), report.command.into(), database.into(), separator.into()];
    args.extend([target.into(), options.into(), "extentdb".into()]);
    let seconds = report.elapsed.as_secs();
    let elapsed = [seconds / 3600, seconds / 60 % 60, seconds % 60].map(int);
    let number = match termination_state(report) {
        Some(state) => {
            args.push(state.into());
            args.extend(elapsed);
            5235
        }
        None => {
            args.extend([int(report.totals.sum()), 0.into()]);
            args.extend(elapsed);
            args.push("".into());
            8957
        }
    };
    sentence(number, &args).trim_end().to_owned()
}

/// Why DBCC would have ended before its time.
fn termination_state(report: &Report) -> Option<u32> {
    report.findings.iter().find_map(|finding| match finding.error {
        8930 => Some(0),
        8967 => Some(1),
        7984..=7988 | 7995 => Some(3),
        _ => None,
    })
}

/// Database, separator and table, as 8957 and 8958 print them.
fn target_parts(report: &Report) -> (&str, &'static str, &str) {
    match &report.target {
        Some(table) if report.command == "CHECKTABLE" => (&report.database, ".", table),
        _ => (&report.database, "", ""),
    }
}

impl<'r> Lines<'r> {
    fn everything(&mut self) {
        let report = self.report;
        let with_information = !report.no_infomsgs;
        let is_database = report.command != "CHECKTABLE";
        if with_information && is_database {
            self.line(2536, None, &[report.database.as_str().into()]);
        }
        if report.options.contains(&"noindex") {
            self.line(7966, None, &[report.command.into()]);
        }
        if with_information {
            report
                .broker_counts
                .iter()
                .for_each(|(number, count)| self.broker_count(*number, *count));
        }
        let unowned = self.objects();
        unowned.iter().for_each(|finding| self.finding(finding));
        if report.unowned.sum() > 0 {
            let Totals { allocation, consistency } = report.unowned;
            self.line(8954, None, &[report.command.into(), int(allocation), int(consistency)]);
        }
        if is_database {
            let Totals { allocation, consistency } = report.totals;
            let database = report.database.as_str();
            let args = [report.command.into(), int(allocation), int(consistency), database.into()];
            self.line(8989, None, &args);
        }
        self.repair();
        if with_information {
            self.line(2528, None, &[]);
            report.notes.iter().for_each(|note| self.finding(note));
        }
    }

    fn broker_count(&mut self, number: u32, count: u64) {
        let text = format!(
            "Service Broker Msg {number}, Level 10, State 1: {}",
            sentence(number, &[int(count)])
        );
        self.push(number, None, text);
    }

    /// Objects and the findings about them have the same order. A finding may be about an object
    /// without pages, which is not listed. What is left over belongs to no object.
    fn objects(&mut self) -> &'r [Finding] {
        let report = self.report;
        let mut findings = report.findings.as_slice();
        for object in &report.objects {
            let key = (object.is_user, object.object);
            findings = self.unlisted(findings, |other| other < key);
            let own;
            (own, findings) = split(findings, |other| other == key);
            self.object(object, own);
        }
        self.unlisted(findings, |_| true)
    }

    /// Findings of objects that are not listed.
    fn unlisted(
        &mut self,
        findings: &'r [Finding],
        comes_now: impl Fn((bool, ObjectId)) -> bool,
    ) -> &'r [Finding] {
        let mut findings = findings;
        while let Some(key) = findings.first().and_then(key_of).filter(|key| comes_now(*key)) {
            let own;
            (own, findings) = split(findings, |other| other == key);
            let name = format!("object ID {}", key.1);
            if !self.report.no_infomsgs {
                self.line(2536, Some(key.1), &[name.as_str().into()]);
            }
            own.iter().for_each(|finding| self.finding(finding));
            self.object_totals(key.1, &name, count(own));
        }
        findings
    }

    fn object(&mut self, object: &'r ObjectSummary, own: &'r [Finding]) {
        let name = object.name.as_str();
        let with_information = !self.report.no_infomsgs;
        if with_information {
            self.line(2536, Some(object.object), &[name.into()]);
        }
        own.iter().for_each(|finding| self.finding(finding));
        if with_information {
            let args = [int(object.rows), int(object.pages), name.into()];
            self.line(2593, Some(object.object), &args);
        }
        self.object_totals(object.object, name, object.totals);
    }

    fn object_totals(&mut self, object: ObjectId, name: &str, totals: Totals) {
        if totals.sum() > 0 {
            let Totals { allocation, consistency } = totals;
            let command = self.report.command;
            let args =
                [command.into(), int(allocation), int(consistency), name.into(), object.0.into()];
            self.line(8990, Some(object), &args);
        }
    }

    fn repair(&mut self) {
        let report = self.report;
        if report.repair > RepairLevel::None {
            let level = report.repair.to_string();
            let (database, separator, target) = target_parts(report);
            let args = [
                level.into(),
                report.command.into(),
                database.into(),
                separator.into(),
                target.into(),
            ];
            self.line(8958, None, &args);
        }
    }

    fn finding(&mut self, finding: &'r Finding) {
        let object = finding.location.owner.map(|owner| owner.object);
        let Finding { error, severity: level, state, message, .. } = finding;
        let text = Cow::from(message);
        self.lines.push(Line {
            error: *error,
            level: *level,
            state: *state,
            text,
            object,
            finding: Some(finding),
        });
        finding.companions.iter().for_each(|companion| self.finding(companion));
    }

    /// An information line from the table of messages.
    fn line(&mut self, number: u32, object: Option<ObjectId>, args: &[Arg<'_>]) {
        self.push(number, object, sentence(number, args));
    }

    fn push(&mut self, error: u32, object: Option<ObjectId>, text: String) {
        let line = Line {
            error,
            level: 10,
            state: 1,
            text: text.into(),
            object,
            finding: None,
        };
        self.lines.push(line);
    }
}

/// The sentence of a message. Arguments that do not fit are a mistake of ours and show in it.
pub(crate) fn sentence(number: u32, args: &[Arg<'_>]) -> String {
    match lookup(number).map(|message| message.format(args)) {
        Some(Ok(text)) => text,
        other => {
            debug_assert!(false, "message {number}: {other:?}");
            format!("message {number}")
        }
    }
}

fn key_of(finding: &Finding) -> Option<(bool, ObjectId)> {
    finding.location.owner.map(|owner| (owner.is_user, owner.object))
}

/// The findings at the front whose object passes, and the others.
fn split(
    findings: &[Finding],
    passes: impl Fn((bool, ObjectId)) -> bool,
) -> (&[Finding], &[Finding]) {
    let end = findings.iter().position(|finding| !key_of(finding).is_some_and(&passes));
    findings.split_at_checked(end.unwrap_or(findings.len())).unwrap_or((findings, &[]))
}

fn count(findings: &[Finding]) -> Totals {
    let of = |kind| findings.iter().filter(|finding| finding.counts() == kind).count() as u64;
    Totals {
        allocation: of(Counts::Allocation),
        consistency: of(Counts::Consistency),
    }
}
