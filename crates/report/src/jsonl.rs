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

use extentdb_check::{Finding, Report};
use serde_json::{Value, json};

use crate::input::Input;
use crate::json::{coverage_json, finding_json, input, options_json};

/// The report as lines of JSON.
pub fn to_jsonl(report: &Report, inputs: &[Input]) -> String {
    let mut text = String::new();
    let mut line = |value: Value| {
        text.push_str(&value.to_string());
        text.push('\n');
    };
    line(json!({
        "type": "report",
        "database": report.database,
        "inputs": inputs.iter().map(input).collect::<Value>(),
        "scope": report.scope.name(),
        "options": options_json(report),
    }));
    report.findings.iter().for_each(|finding| line(typed(report, "finding", finding)));
    report.notes.iter().for_each(|note| line(typed(report, "note", note)));
    line(json!({
        "type": "summary",
        "verdict": report.verdict.name(),
        "allocation_errors": report.totals.allocation,
        "consistency_errors": report.totals.consistency,
        "minimum_repair_level": report.repair.to_string(),
        "findings_omitted": report.findings_omitted,
        "coverage": coverage_json(report),
        "elapsed_s": report.elapsed.as_secs_f64(),
        "bytes": report.bytes,
        "mb_per_s": report.mb_per_s(),
    }));
    text
}

/// The fields of a finding after its type.
fn typed(report: &Report, name: &str, finding: &Finding) -> Value {
    let mut typed = json!({"type": name});
    if let (Value::Object(fields), Value::Object(of_finding)) =
        (&mut typed, finding_json(report, finding))
    {
        fields.extend(of_finding);
    }
    typed
}
