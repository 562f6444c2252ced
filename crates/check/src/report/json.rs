//! The report as JSON, in the shape that the command line contract promises.

use serde_json::{Map, Value, json};

use super::{Input, Report};
use crate::finding::{Finding, Place};

impl Report {
    /// The report as a JSON object. `inputs` are the files as the caller knows them.
    pub fn to_json(&self, inputs: &[Input]) -> Value {
        let inputs: Vec<Value> = inputs.iter().map(input).collect();
        let findings: Vec<Value> = self.findings.iter().map(|it| self.finding(it)).collect();
        json!({
            "database": self.database,
            "inputs": inputs,
            "scope": self.scope.name(),
            "options": self.options_json(),
            "verdict": self.verdict.name(),
            "allocation_errors": self.totals.allocation,
            "consistency_errors": self.totals.consistency,
            "minimum_repair_level": self.repair.to_string(),
            "coverage": self.coverage_json(),
            "findings": findings,
            "elapsed_s": self.elapsed.as_secs_f64(),
            "bytes": self.bytes,
            "mb_per_s": self.mb_per_s(),
        })
    }

    /// The options that were given; what the run was limited to stands under `table` or
    /// `filegroup`.
    pub(super) fn options_json(&self) -> Value {
        let mut options: Map<String, Value> =
            self.options.iter().map(|name| ((*name).to_owned(), Value::Bool(true))).collect();
        if let Some(target) = &self.target {
            let name = if self.command == "CHECKTABLE" { "table" } else { "filegroup" };
            options.insert(name.to_owned(), Value::from(target.as_str()));
        }
        Value::Object(options)
    }

    pub(super) fn coverage_json(&self) -> Value {
        let not_checked: Vec<Value> = self
            .coverage
            .not_checked
            .iter()
            .map(|it| json!({"what": it.what, "why": it.why}))
            .collect();
        json!({
            "pages_planned": self.coverage.pages_planned,
            "pages_checked": self.coverage.pages_checked,
            "objects": self.coverage.objects,
            "indexes_compared": self.coverage.indexes_compared,
            "entries_compared": self.coverage.entries_compared,
                "catalog_entries": self.coverage.catalog_entries,
            "not_checked": not_checked,
        })
    }

    pub(super) fn finding(&self, finding: &Finding) -> Value {
        let Place { owner, page, slot, byte_offset } = finding.place;
        let mut value = json!({
            "error": finding.error,
            "severity": finding.severity,
            "state": finding.state,
            "level": finding.severity,
            "object": owner.and_then(|owner| self.object_name(owner.object)),
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
        if let (false, Some(fields)) = (finding.companions.is_empty(), value.as_object_mut()) {
            let line = |it: &Finding| json!({"error": it.error, "message": it.message});
            fields.insert("companions".to_owned(), finding.companions.iter().map(line).collect());
        }
        value
    }
}

pub(super) fn input(input: &Input) -> Value {
    json!({"path": input.path, "bytes": input.bytes, "sha256": input.sha256})
}
