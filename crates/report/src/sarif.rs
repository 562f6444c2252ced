//! The report as SARIF 2.1.0, for code scanning services and viewers.
//!
//! ```text
//! runs[0]
//!          tool.driver.rules  one per number that occurs, with its meaning, cause and next step
//!          artifacts          the files
//!          results            findings and notes: the object as logical location, the page as
//!                             region of its file
//!          invocations        what was asked for and not checked
//! ```
//!
//! A region is given only where a page lies at its own offset in the file: pages of a backup have
//! none.

use std::collections::BTreeMap;

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_check::{DataFile, Finding, Report, Verdict};
use extentdb_messages::{explain, lookup};
use serde_json::{Value, json};

use crate::input::Input;
use crate::json::{coverage_json, finding_json, options_json, set};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The report as a SARIF log with one run.
pub fn to_sarif(report: &Report, inputs: &[Input]) -> Value {
    let numbers = report.findings.iter().chain(&report.notes).map(|finding| finding.error);
    let mut rules: BTreeMap<u32, usize> = numbers.map(|number| (number, 0)).collect();
    rules.values_mut().zip(0..).for_each(|(place, index)| *place = index);
    let artifacts = Artifacts::new(report, inputs);
    let results: Vec<Value> = (report.findings.iter().chain(&report.notes))
        .map(|finding| result(report, finding, &rules, &artifacts))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "extentdb",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.keys().map(|number| rule(*number)).collect::<Value>(),
            }},
            "invocations": [invocation(report)],
            "artifacts": artifacts.to_json(),
            "results": results,
            "properties": {
                "database": report.database,
                "scope": report.scope.name(),
                "options": options_json(report),
                "verdict": report.verdict.name(),
                "allocation_errors": report.totals.allocation,
                "consistency_errors": report.totals.consistency,
                "findings_omitted": report.findings_omitted,
                "minimum_repair_level": report.repair.to_string(),
                "coverage": coverage_json(report),
            },
        }],
    })
}

fn invocation(report: &Report) -> Value {
    let notifications = report.coverage.not_checked.iter().map(|it| {
        json!({
            "level": if it.was_asked_for { "warning" } else { "note" },
            "message": {"text": format!("Not checked: {}: {}.", it.what, it.why)},
        })
    });
    json!({
        "executionSuccessful": report.verdict != Verdict::Incomplete,
        "toolExecutionNotifications": notifications.collect::<Value>(),
    })
}

fn result(
    report: &Report,
    finding: &Finding,
    rules: &BTreeMap<u32, usize>,
    artifacts: &Artifacts,
) -> Value {
    let sentences =
        std::iter::once(finding).chain(&finding.companions).map(|it| it.message.as_str());
    let mut result = json!({
        "ruleId": rule_id(finding.error),
        "ruleIndex": rules.get(&finding.error),
        "level": if finding.severity > 10 { "error" } else { "note" },
        "kind": if finding.severity > 10 { "fail" } else { "informational" },
        "message": {"text": sentences.collect::<Vec<_>>().join("\n")},
        "locations": [location(report, finding, artifacts)],
        "partialFingerprints": {"place/v1": fingerprint(finding)},
        "properties": finding_json(report, finding),
    });
    // A result that is no failure has no level but none.
    if finding.severity <= 10 {
        set(&mut result, "level", "none");
    }
    let related: Vec<Value> = (finding.related.iter())
        .filter(|page| !page.is_none())
        .filter_map(|page| artifacts.physical(*page, None))
        .map(|physical| json!({"physicalLocation": physical}))
        .collect();
    if !related.is_empty() {
        set(&mut result, "relatedLocations", related);
    }
    result
}

fn location(report: &Report, finding: &Finding, artifacts: &Artifacts) -> Value {
    let mut location = json!({});
    let physical = finding
        .location
        .page
        .and_then(|page| artifacts.physical(page, finding.location.byte_offset));
    if let Some(physical) = physical {
        set(&mut location, "physicalLocation", physical);
    }
    let mut logical = vec![
        json!({"name": report.database, "fullyQualifiedName": report.database, "kind": "database"}),
    ];
    if let Some(owner) = finding.location.owner {
        let id = owner.object.to_string();
        let name = report.object_name(owner.object).unwrap_or(&id);
        let table = format!("{}/{name}", report.database);
        let index = format!("{table}/{}", owner.index.0);
        logical.push(json!({"name": name, "fullyQualifiedName": table, "kind": "object"}));
        logical.push(
            json!({"name": owner.index.0.to_string(), "fullyQualifiedName": index, "kind": "member"}),
        );
    }
    if let Some(page) = finding.location.page {
        let name = match finding.location.slot {
            Some(slot) => format!("({}:{}:{})", page.file.0, page.page, slot.0),
            None => page.to_string(),
        };
        logical.push(json!({"name": name, "fullyQualifiedName": format!("{}/{name}", report.database), "kind": "element"}));
    }
    set(&mut location, "logicalLocations", logical);
    location
}

/// The files, each once.
struct Artifacts<'r> {
    files: &'r [DataFile],
    paths: Vec<(&'r str, Option<&'r Input>)>,
}

impl<'r> Artifacts<'r> {
    fn new(report: &'r Report, inputs: &'r [Input]) -> Artifacts<'r> {
        let mut paths: Vec<(&str, Option<&Input>)> =
            inputs.iter().map(|input| (input.path.as_str(), Some(input))).collect();
        for file in &report.files {
            if !paths.iter().any(|(path, _)| *path == file.path) {
                paths.push((&file.path, None));
            }
        }
        Artifacts { files: &report.files, paths }
    }

    fn to_json(&self) -> Value {
        let artifact = |(path, input): &(&str, Option<&Input>)| {
            let mut artifact = json!({"location": {"uri": uri(path)}});
            if let Some(input) = input {
                set(&mut artifact, "length", input.bytes);
                if let Some(sha256) = &input.sha256 {
                    set(&mut artifact, "hashes", json!({"sha-256": sha256}));
                }
            }
            artifact
        };
        self.paths.iter().map(artifact).collect()
    }

    /// The bytes of a page in its file.
    fn physical(&self, page: PageId, byte_offset: Option<u32>) -> Option<Value> {
        let file = self.files.iter().find(|file| file.id == page.file)?;
        let index = self.paths.iter().position(|(path, _)| *path == file.path)?;
        let mut physical = json!({"artifactLocation": {"uri": uri(&file.path), "index": index}});
        if file.is_plain {
            let start = u64::from(page.page) * PAGE_BYTES as u64;
            // From the byte that is wrong to the end of its page; without one, the page.
            let within = u64::from(byte_offset.unwrap_or(0)).min(PAGE_BYTES as u64 - 1);
            set(
                &mut physical,
                "region",
                json!({"byteOffset": start + within, "byteLength": PAGE_BYTES as u64 - within}),
            );
        }
        Some(physical)
    }
}

fn rule_id(number: u32) -> String {
    format!("DBCC{number}")
}

fn rule(number: u32) -> Value {
    let mut rule = json!({"id": rule_id(number)});
    if let (Some(message), Some(it)) = (lookup(number), explain(number)) {
        let level = if message.severity > 10 { "error" } else { "note" };
        let help =
            format!("{}\n\nUsual cause: {}\n\nNext step: {}", it.meaning, it.cause, it.next_step);
        let first = it.meaning.split_inclusive(". ").next().unwrap_or(it.meaning).trim_end();
        set(&mut rule, "shortDescription", json!({"text": first}));
        set(&mut rule, "fullDescription", json!({"text": it.meaning}));
        set(&mut rule, "help", json!({"text": help}));
        set(&mut rule, "defaultConfiguration", json!({"level": level}));
        set(
            &mut rule,
            "properties",
            json!({"severity": message.severity, "template": message.text}),
        );
    }
    rule
}

/// The same in every run that finds the same thing at the same location.
fn fingerprint(finding: &Finding) -> String {
    let place = finding.location;
    let number = |value: Option<i64>| value.map_or_else(String::new, |value| value.to_string());
    [
        Some(i64::from(finding.error)),
        place.owner.map(|owner| owner.unit.0),
        place.page.map(|page| page.file.0.into()),
        place.page.map(|page| page.page.into()),
        place.slot.map(|slot| slot.0.into()),
    ]
    .map(number)
    .join(":")
}

/// A path as a URI reference; an absolute one gets its scheme.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut out = String::new();
    match path.as_bytes() {
        [b'/', ..] => out.push_str("file://"),
        [drive, b':', ..] if drive.is_ascii_alphabetic() => out.push_str("file:///"),
        _ => {}
    }
    let is_absolute = !out.is_empty();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b':' if is_absolute => out.push(':'),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("/data/my shop.mdf"), "file:///data/my%20shop.mdf");
        assert_eq!(uri("C:\\data\\shop.mdf"), "file:///C:/data/shop.mdf");
        assert_eq!(uri("shop#1.mdf"), "shop%231.mdf");
        assert_eq!(uri("a:b/ü.mdf"), "file:///a:b/%C3%BC.mdf");
    }
}
