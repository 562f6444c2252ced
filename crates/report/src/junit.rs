//! The report as JUnit XML, for CI servers: the database is a suite, an object a test case.
//!
//! ```text
//! testsuites
//!   testsuite Shop
//!     testcase sys.sysrscols (object ID 3)
//!     testcase Orders (object ID 245575913)      failure: its findings
//!     testcase (no single object)                failure: findings without an object
//!     testcase order of keys …                   skipped: what was not checked, and why
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use extentdb_base::ObjectId;
use extentdb_check::{Finding, NotChecked, Report};

use crate::escape::escaped;

/// A test case.
struct Case<'r> {
    name: String,
    findings: Vec<&'r Finding>,
    skipped: Option<&'r NotChecked>,
}

/// The report as JUnit XML.
pub fn to_junit(report: &Report) -> String {
    let cases = cases(report);
    let failures = cases.iter().filter(|case| !case.findings.is_empty()).count();
    let skipped = cases.iter().filter(|case| case.skipped.is_some()).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{:.3}\"",
        cases.len(),
        report.elapsed.as_secs_f64()
    );
    let name = escaped(&report.database);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string does not fail.
    let _ = writeln!(xml, "<testsuites name=\"extentdb check\" {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"{name}\" {counts}>");
    let _ = writeln!(xml, "    <properties>");
    for (name, value) in [
        ("verdict", report.verdict.name().to_owned()),
        ("scope", report.scope.name().to_owned()),
        ("pages_planned", report.coverage.pages_planned.to_string()),
        ("pages_checked", report.coverage.pages_checked.to_string()),
        ("minimum_repair_level", report.repair.to_string()),
    ] {
        let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", escaped(&value));
    }
    let _ = writeln!(xml, "    </properties>");
    cases.iter().for_each(|case| write_case(&mut xml, &name, case));
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Objects, what belongs to none of them, and what was not checked.
fn cases(report: &Report) -> Vec<Case<'_>> {
    let mut by_object: BTreeMap<Option<ObjectId>, Vec<&Finding>> = BTreeMap::new();
    for finding in &report.findings {
        let object = finding.location.owner.map(|owner| owner.object);
        by_object.entry(object).or_default().push(finding);
    }
    let mut take = |object, name| {
        let findings = by_object.remove(&object).unwrap_or_default();
        Case { name, findings, skipped: None }
    };
    let mut cases: Vec<Case<'_>> = (report.objects.iter())
        .map(|it| take(Some(it.object), format!("{} (object ID {})", it.name, it.object)))
        .collect();
    let unowned = take(None, "no single object".to_owned());
    // Objects without pages are not listed.
    cases.extend(by_object.into_iter().filter_map(|(object, findings)| {
        Some(Case {
            name: format!("object ID {}", object?),
            findings,
            skipped: None,
        })
    }));
    cases.push(unowned);
    cases.extend(report.coverage.not_checked.iter().map(|it| Case {
        name: it.what.clone(),
        findings: Vec::new(),
        skipped: Some(it),
    }));
    cases
}

fn write_case(xml: &mut String, database: &str, case: &Case<'_>) {
    let _ = write!(
        xml,
        "    <testcase classname=\"{database}\" name=\"{}\" time=\"0\"",
        escaped(&case.name)
    );
    let (None, Some(first)) = (case.skipped, case.findings.first()) else {
        let _ = match case.skipped {
            Some(it) => writeln!(xml, "><skipped message=\"{}\"/></testcase>", escaped(&it.why)),
            None => writeln!(xml, "/>"),
        };
        return;
    };
    let message = match case.findings.len() {
        1 => first.message.clone(),
        several => format!("{several} findings, the first: {}", first.message),
    };
    let _ = writeln!(
        xml,
        ">\n      <failure type=\"DBCC{}\" message=\"{}\">",
        first.error,
        escaped(&message)
    );
    for finding in case.findings.iter().flat_map(|it| std::iter::once(*it).chain(&it.companions)) {
        let Finding { error, severity, state, message, .. } = finding;
        let _ = writeln!(xml, "Msg {error}, Level {severity}, State {state}: {}", escaped(message));
    }
    let _ = writeln!(xml, "</failure>\n    </testcase>");
}
