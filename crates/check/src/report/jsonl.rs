//! The report as JSON lines: for pipelines that take one finding at a time.
//!
//! ```text
//! {"type":"report","database":"Shop","inputs":[…],"scope":"physical","options":{}}
//! {"type":"finding","error":8928,…}                 the fields of the JSON report
//! {"type":"note","error":59003,…}
//! {"type":"summary","verdict":"damaged","allocation_errors":0,…}
//! ```
//!
//! The last line is written last: a file without it is not whole.

use serde_json::{Value, json};

use super::json::input;
use super::{Input, Report};
use crate::finding::Finding;

impl Report {
    /// The report as lines of JSON.
    pub fn to_jsonl(&self, inputs: &[Input]) -> String {
        let mut text = String::new();
        let mut line = |value: Value| {
            text.push_str(&value.to_string());
            text.push('\n');
        };
        line(json!({
            "type": "report",
            "database": self.database,
            "inputs": inputs.iter().map(input).collect::<Value>(),
            "scope": self.scope.name(),
            "options": self.options_json(),
        }));
        self.findings.iter().for_each(|finding| line(self.typed("finding", finding)));
        self.notes.iter().for_each(|note| line(self.typed("note", note)));
        line(json!({
            "type": "summary",
            "verdict": self.verdict.name(),
            "allocation_errors": self.totals.allocation,
            "consistency_errors": self.totals.consistency,
            "minimum_repair_level": self.repair.to_string(),
            "findings_omitted": self.findings_omitted,
            "coverage": self.coverage_json(),
            "elapsed_s": self.elapsed.as_secs_f64(),
            "bytes": self.bytes,
            "mb_per_s": self.mb_per_s(),
        }));
        text
    }

    /// The fields of a finding behind its type.
    fn typed(&self, name: &str, finding: &Finding) -> Value {
        let mut typed = serde_json::Map::new();
        typed.insert("type".to_owned(), name.into());
        if let Value::Object(fields) = self.finding(finding) {
            typed.extend(fields);
        }
        Value::Object(typed)
    }
}
