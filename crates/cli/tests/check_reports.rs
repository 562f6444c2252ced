//! `check`: the forms of a report, parts of a database, and options that exclude each other.

mod program;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use program::{DATABASES, extentdb, on, sample};
use serde_json::Value;

/// A database of our own, and a copy with one fault.
fn shop(folder: &Path) -> (PathBuf, PathBuf) {
    let good = folder.join("shop.mdf");
    let bad = folder.join("bad.mdf");
    extentdb([OsStr::new("make"), good.as_os_str(), OsStr::new("--shape"), OsStr::new("demo")])
        .expect(0);
    on("damage", &good, &["--kind", "flipped-byte", "--seed", "5", "--to", bad.to_str().unwrap()])
        .expect(0);
    (good, bad)
}

fn as_form(path: &Path, form: &str, code: i32) -> String {
    on("check", path, &["--format", form]).expect(code)
}

#[test]
fn every_form_tells_the_same_findings() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bad) = shop(folder.path());
    let json: Value = serde_json::from_str(&as_form(&bad, "json", 2)).unwrap();
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.len() >= 2, "{json}");

    let lines: Vec<Value> =
        as_form(&bad, "jsonl", 2).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = lines.iter().filter(|line| line["type"] == "finding").count();
    assert_eq!((told, &lines.last().unwrap()["verdict"]), (findings.len(), &"damaged".into()));

    let sarif: Value = serde_json::from_str(&as_form(&bad, "sarif", 2)).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.iter().filter(|result| result["kind"] == "fail").count(), findings.len());
    let first = &results[0]["locations"][0]["physicalLocation"]["region"]["byteOffset"];
    let page = findings[0]["page"].as_u64().unwrap();
    assert_eq!(first.as_u64().unwrap() / 8192, page);

    let text = as_form(&bad, "text", 2);
    let table = as_form(&bad, "tableresults", 2);
    let junit = as_form(&bad, "junit", 2);
    let html = as_form(&bad, "html", 2);
    assert_eq!(
        html.matches("<tr class=\"root\"").count() + html.matches("<tr class=\"derived\"").count(),
        findings.len()
    );
    for finding in findings {
        let number = &finding["error"];
        let message = finding["message"].as_str().unwrap();
        assert!(text.contains(&format!("Msg {number}, Level 16")), "{number} in {text}");
        assert!(
            text.contains(message) && table.contains(&message.replace('"', "\"\"")),
            "{message}"
        );
        assert!(junit.contains(&format!("Msg {number},")), "{number} in {junit}");
        on("explain", Path::new(&number.to_string()), &[]).expect(0);
    }
}

#[test]
fn healthy_real_files_have_reports_in_every_form() {
    for name in DATABASES {
        let Some(path) = sample(name) else { return };
        let junit = as_form(&path, "junit", 0);
        assert!(junit.contains("failures=\"0\""), "{name}: {junit}");
        let html = as_form(&path, "html", 0);
        assert!(
            html.contains("class=\"verdict clean\"") && html.contains("id=\"map-1\""),
            "{name}"
        );
        assert!(as_form(&path, "tableresults", 0).lines().count() > 40, "{name}");
        let sarif: Value = serde_json::from_str(&as_form(&path, "sarif", 0)).unwrap();
        assert!(sarif["runs"][0]["invocations"][0]["executionSuccessful"] == true, "{name}");
    }
}

#[test]
fn a_report_goes_into_a_file_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = shop(folder.path());
    for form in ["text", "json", "jsonl", "tableresults", "sarif", "junit", "html"] {
        let out = folder.path().join(form);
        assert_eq!(
            on("check", &good, &["--format", form, "-o", out.to_str().unwrap()]).expect(0),
            ""
        );
        let written = fs::read_to_string(&out).unwrap();
        assert!(written.len() > 100 && written.ends_with('\n'), "{form}");
    }
    assert_eq!(on("check", &good, &["--format", "json", "--json"]).code, 1);
}

#[test]
fn one_table_is_checked_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = shop(folder.path());
    let text = on("check", &good, &["--table", "dbo.customers"]).expect(0);
    assert!(text.contains("\nDBCC results for 'customers'.\nThere are 250 rows in "), "{text}");
    assert!(
        !text.contains("'sales'") && text.contains("they do not belong to dbo.customers"),
        "{text}"
    );
    let whole: Value = serde_json::from_str(&as_form(&bad, "json", 2)).unwrap();
    let table = whole["findings"][0]["object"].as_str().unwrap();
    let report: Value =
        serde_json::from_str(&on("check", &bad, &["--json", "--table", table]).expect(2)).unwrap();
    assert_eq!((&report["findings"], &report["verdict"]), (&whole["findings"], &"damaged".into()));
    assert_eq!(report["options"]["table"], format!("dbo.{table}"));
}

#[test]
fn what_does_not_exist_is_refused_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = shop(folder.path());
    let said = on("check", &good, &["--table", "no such"]).complaint(1);
    assert!(said.starts_with("extentdb: Msg 2501, Level 16: Cannot find a table"), "{said}");
    let said = on("check", &good, &["--filegroup", "NOWHERE"]).complaint(1);
    assert!(
        said.starts_with("extentdb: Msg 2523, Level 16: Filegroup NOWHERE is invalid."),
        "{said}"
    );
    let said = on("check", &good, &["--physical-only", "--data-purity"]).complaint(1);
    assert!(
        said.contains("Msg 2559, Level 16: The 'PHYSICAL_ONLY' and 'DATA_PURITY' options"),
        "{said}"
    );
    assert_eq!(on("check", &good, &["--table", "sales", "--filegroup", "PRIMARY"]).code, 1);
}

#[test]
fn a_filegroup_is_named_in_the_totals() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = shop(folder.path());
    let text = on("check", &good, &["--filegroup", "PRIMARY"]).expect(0);
    assert!(
        text.contains(
            "CHECKFILEGROUP found 0 allocation errors and 0 consistency errors in database 'demo'."
        ),
        "{text}"
    );
}

#[test]
fn an_estimate_says_what_memory_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bad) = shop(folder.path());
    let text = on("check", &bad, &["--estimate-only"]).expect(0);
    assert!(
        text.starts_with(
            "Estimated TEMPDB space (in KB) needed for CHECKALLOC on database demo = 0.\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("Estimated memory (in KB) needed for read buffers on database demo = "),
        "{text}"
    );
    let json: Value =
        serde_json::from_str(&on("check", &bad, &["--estimate-only", "--json"]).expect(0)).unwrap();
    assert!(
        json["memory_bytes"].as_u64().unwrap() > 100_000 && json["tempdb_bytes"] == 0,
        "{json}"
    );
    assert_eq!(on("check", &bad, &["--estimate-only", "--format", "html"]).code, 1);
}

#[test]
fn purity_and_extended_checks_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = shop(folder.path());
    let arguments = ["--json", "--data-purity", "--extended-logical-checks"];
    let report: Value = serde_json::from_str(&on("check", &good, &arguments).expect(0)).unwrap();
    assert_eq!(
        report["options"].to_string(),
        r#"{"data_purity":true,"extended_logical_checks":true}"#
    );
}
