//! The report as JSON, in the shape that the command line contract promises.

use extentdb_check::{Estimate, Finding, Location, Report};
use serde_json::{Value, json};

use crate::input::Input;

/// The report as a JSON object. `inputs` are the files as the caller knows them.
pub fn to_json(report: &Report, inputs: &[Input]) -> Value {
    let inputs: Vec<Value> = inputs.iter().map(input).collect();
    let findings: Vec<Value> = report.findings.iter().map(|it| finding_json(report, it)).collect();
    json!({
        "database": report.database,
        "inputs": inputs,
        "scope": report.scope.name(),
        "options": options_json(report),
        "verdict": report.verdict.name(),
        "allocation_errors": report.totals.allocation,
        "consistency_errors": report.totals.consistency,
        "minimum_repair_level": report.repair.to_string(),
        "coverage": coverage_json(report),
        "findings": findings,
        "elapsed_s": report.elapsed.as_secs_f64(),
        "bytes": report.bytes,
        "mb_per_s": report.mb_per_s(),
    })
}

/// The options that were given; what the run was limited to stands under `table` or
/// `filegroup`.
pub(crate) fn options_json(report: &Report) -> Value {
    let mut options = json!({});
    report.options.iter().for_each(|name| set(&mut options, name, true));
    if let Some(target) = &report.target {
        let name = if report.command == "CHECKTABLE" { "table" } else { "filegroup" };
        set(&mut options, name, target.as_str());
    }
    options
}

pub(crate) fn coverage_json(report: &Report) -> Value {
    let not_checked: Vec<Value> = report
        .coverage
        .not_checked
        .iter()
        .map(|it| json!({"what": it.what, "why": it.why}))
        .collect();
    json!({
        "pages_planned": report.coverage.pages_planned,
        "pages_checked": report.coverage.pages_checked,
        "objects": report.coverage.objects,
        "indexes_compared": report.coverage.indexes_compared,
        "entries_compared": report.coverage.entries_compared,
        "catalog_entries": report.coverage.catalog_entries,
        "not_checked": not_checked,
    })
}

pub(crate) fn finding_json(report: &Report, finding: &Finding) -> Value {
    let Location { owner, page, slot, byte_offset } = finding.location;
    let mut value = json!({
        "error": finding.error,
        "severity": finding.severity,
        "state": finding.state,
        "level": finding.severity,
        "object": owner.and_then(|owner| report.object_name(owner.object)),
        "object_id": owner.map(|owner| owner.object.0),
        "index_id": owner.map(|owner| owner.index.0),
        "partition_id": owner.map(|owner| owner.partition.0),
        "alloc_unit_id": owner.map(|owner| owner.unit.0),
        "file": page.map(|page| page.file.0),
        "page": page.map(|page| page.page),
        "slot": slot.map(|slot| slot.0),
        "byte_offset": byte_offset,
        "key": finding.key,
        "repair": finding.repair.to_string(),
        "derived_from": finding.derived_from.map(|cause| cause.to_string()),
        "message": finding.message,
    });
    if !finding.companions.is_empty() {
        let line = |it: &Finding| json!({"error": it.error, "message": it.message});
        set(&mut value, "companions", finding.companions.iter().map(line).collect::<Value>());
    }
    value
}

pub(crate) fn input(input: &Input) -> Value {
    json!({"path": input.path, "bytes": input.bytes, "sha256": input.sha256})
}

/// What ESTIMATEONLY reports, as JSON.
pub fn estimate_to_json(estimate: &Estimate) -> Value {
    let memory = estimate.memory.iter().map(|(what, bytes)| json!({"what": what, "bytes": bytes}));
    json!({
        "database": estimate.database,
        "tempdb_bytes": 0,
        "pages": estimate.pages,
        "workers": estimate.workers,
        "memory": memory.collect::<Value>(),
        "memory_bytes": estimate.memory_bytes(),
    })
}

/// Adds a field to an object.
pub(crate) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value.into());
    }
}
