//! `check`: verdicts, reports and exit codes; and `damage`, whose faults it must find.

mod program;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use extentdb_base::PageId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_faults::crash::{CrashOptions, crash};
use extentdb_format::PageBuf;
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::file_header::{FileHeaderPage, FileHeaderView, write_file_header};
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::seal;
use program::{DATABASES, Run, extentdb, more_sample, on, sample};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A database of our own.
fn shop(folder: &Path, rest: &[&str]) -> PathBuf {
    let path = folder.join("shop.mdf");
    let mut arguments =
        vec![OsStr::new("make"), path.as_os_str(), OsStr::new("--shape"), OsStr::new("demo")];
    arguments.extend(rest.iter().map(OsStr::new));
    extentdb(arguments).expect(0);
    path
}

fn report(run: Run, code: i32) -> Value {
    serde_json::from_str(&run.expect(code)).unwrap()
}

#[test]
fn healthy_real_files_are_clean() {
    for name in DATABASES {
        let Some(path) = sample(name) else { return };
        let report = report(on("check", &path, &["--json"]), 0);
        assert_eq!(
            (&report["verdict"], &report["findings"]),
            (&"clean".into(), &Value::Array(Vec::new())),
            "{name}"
        );
        assert_eq!(
            report["coverage"]["pages_checked"], report["coverage"]["pages_planned"],
            "{name}"
        );
    }
}

#[test]
fn the_json_report_has_the_shape_of_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    let report = report(on("check", &path, &["--json", "--hash"]), 0);
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "database",
        "inputs",
        "scope",
        "options",
        "verdict",
        "allocation_errors",
        "consistency_errors",
        "minimum_repair_level",
        "coverage",
        "findings",
        "elapsed_s",
        "bytes",
        "mb_per_s",
    ];
    assert_eq!(keys, expected);
    let bytes = fs::read(&path).unwrap();
    let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let input = &report["inputs"][0];
    assert_eq!(input["path"], path.to_str().unwrap());
    assert_eq!((&input["bytes"], &input["sha256"]), (&bytes.len().into(), &sha256.into()));
    assert_eq!((&report["database"], &report["scope"]), (&"demo".into(), &"full".into()));
    let not_checked = report["coverage"]["not_checked"].as_array().unwrap();
    assert!(
        not_checked.iter().all(|it| it["what"].is_string() && it["why"].is_string())
            && !not_checked.is_empty()
    );
}

#[test]
fn without_hash_no_file_is_hashed() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    assert_eq!(report(on("check", &path, &["--json"]), 0)["inputs"][0]["sha256"], Value::Null);
}

#[test]
fn the_text_has_the_layout_of_dbcc() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    let text = on("check", &path, &[]).expect(0);
    let expected = [
        "clean: ",
        "DBCC results for 'demo'.\n",
        "DBCC results for 'customers'.\nThere are 250 rows in ",
        "CHECKDB found 0 allocation errors and 0 consistency errors in database 'demo'.\n",
        "DBCC execution completed. If DBCC printed error messages, contact your system administrator.\n",
    ];
    let mut rest = text.as_str();
    for words in expected {
        let at = rest
            .find(words)
            .unwrap_or_else(|| panic!("{words} is missing or out of order:\n{text}"));
        rest = &rest[at..];
    }
    let silent = on("check", &path, &["--no-infomsgs"]).expect(0);
    assert!(silent.starts_with("clean: "), "{silent}");
    let constant = "Not checked: conversations of Service Broker";
    assert!(!text.contains(constant), "{text}");
    assert!(on("check", &path, &["--verbose"]).expect(0).contains(constant));
}

/// One kind of each family that needs at most than two tables; all kinds are tried beside the
/// checker.
const KINDS: [&str; 12] = [
    "flipped-byte",
    "zero-page",
    "torn-sector",
    "page-id",
    "owner",
    "sibling-link",
    "slot-offset",
    "record-length",
    "child-doubled",
    "iam-bit-shared",
    "pfs-bit",
    "critical-type",
];

#[test]
fn a_crashed_copy_is_checked_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let sound = fs::read(shop(folder.path(), &["--rows", "20000"])).unwrap();
    let options = CrashOptions { seed: 1, pages: 50, may_choose: &|_| true, leave_open: false };
    let crash = crash(&sound, &options).unwrap();
    let data = folder.path().join("crashed.mdf");
    let log = folder.path().join("crashed_log.ldf");
    fs::write(&data, &crash.data).unwrap();
    fs::write(&log, &crash.log).unwrap();
    let text = on("check", &data, &[log.to_str().unwrap()]).expect(0);
    assert!(text.contains("The log of database 'demo' was redone in memory: "), "{text}");
    fs::write(&log, &crash.log[..0x4000]).unwrap();
    let run = on("check", &data, &[log.to_str().unwrap()]);
    assert_ne!(run.code, 0, "pages that were never written are missed without the log");
    assert!(run.stdout.contains("The log was not used, or not to its end: "), "{}", run.stdout);
    assert!(run.stdout.contains("crashed_log.ldf: it does not hold"), "{}", run.stdout);
}

#[test]
fn faults_that_damage_makes_are_found_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &["--rows", "20000"]);
    let kinds: Value = serde_json::from_str(
        &extentdb([OsStr::new("damage"), path.as_os_str(), "--list".as_ref(), "--json".as_ref()])
            .expect(0),
    )
    .unwrap();
    let kinds: Vec<&str> =
        kinds.as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    for kind in KINDS {
        assert!(kinds.contains(&kind), "{kind} of {kinds:?}");
        for seed in ["1", "2"] {
            let bad = folder.path().join("bad.mdf");
            let truth = folder.path().join("truth.json");
            let bad_name = bad.to_str().unwrap();
            let truth_name = truth.to_str().unwrap();
            let arguments =
                ["--kind", kind, "--seed", seed, "--to", bad_name, "--truth", truth_name];
            on("damage", &path, &arguments).expect(0);
            let truth_text: Value =
                serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
            let report = report(on("check", &bad, &["--json"]), 2);
            judge(kind, &truth_text, &report);
            fs::remove_file(&bad).unwrap();
            fs::remove_file(&truth).unwrap();
        }
    }
}

/// The numbers of the truth must be there, those it permits may be, and no others.
fn judge(kind: &str, truth: &Value, report: &Value) {
    let numbers = |value: &Value| -> Vec<u64> {
        value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
    };
    let expected = numbers(&truth["expected"]);
    let any_of = numbers(&truth["any_of"]);
    let permitted = [numbers(&truth["permitted"]), any_of.clone()].concat();
    let findings = report["findings"].as_array().unwrap();
    let found: Vec<u64> =
        findings.iter().map(|finding| finding["error"].as_u64().unwrap()).collect();
    assert_eq!(report["verdict"], "damaged", "{kind}");
    for number in &expected {
        assert!(found.contains(number), "{kind}: {number} is missing in {found:?}, {truth}");
    }
    assert!(
        any_of.is_empty() || any_of.iter().any(|number| found.contains(number)),
        "{kind}: {truth}"
    );
    for number in &found {
        assert!(
            expected.contains(number) || permitted.contains(number),
            "{kind}: {number} in {found:?}, {truth}"
        );
    }
}

#[test]
fn damage_can_be_reported_without_failing_a_pipeline() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    let bad = folder.path().join("bad.mdf");
    on("damage", &path, &["--kind", "flipped-byte", "--to", bad.to_str().unwrap()]).expect(0);
    let out = folder.path().join("report.json");
    let run = on("check", &bad, &["--json", "--exit-zero", "-o", out.to_str().unwrap()]);
    assert_eq!(run.expect(0), "");
    let report: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    assert_eq!(report["verdict"], "damaged");
}

#[test]
fn a_list_of_findings_may_be_cut_but_not_the_totals() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    let bad = folder.path().join("bad.mdf");
    on("damage", &path, &["--kind", "flipped-byte", "--to", bad.to_str().unwrap()]).expect(0);
    let all = report(on("check", &bad, &["--json"]), 2);
    let one = report(on("check", &bad, &["--json", "--max-errors", "1"]), 2);
    assert_eq!(one["findings"].as_array().unwrap().len(), 1);
    assert_eq!(one["consistency_errors"], all["consistency_errors"]);
}

#[test]
fn values_that_an_option_cannot_have_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    for options in [["--max-rate", "fast"], ["--time-limit", "soon"], ["--io", "psychic"]] {
        assert_eq!(on("check", &path, &options).code, 1, "{options:?}");
    }
}

#[test]
fn rates_and_ways_to_read_do_not_change_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    for options in [
        &["--physical-only"][..],
        &["--no-index"],
        &["--io", "direct", "--jobs", "3"],
        &["--io", "buffered", "--max-rate", "200MB/s"],
        &["--time-limit", "1h"],
    ] {
        let arguments: Vec<&str> = options.iter().copied().chain(["--json"]).collect();
        assert_eq!(report(on("check", &path, &arguments), 0)["verdict"], "clean", "{options:?}");
    }
}

#[test]
fn a_run_out_of_time_is_incomplete_and_exits_3() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &["--size", "40MB"]);
    let report =
        report(on("check", &path, &["--json", "--time-limit", "100ms", "--max-rate", "4MB/s"]), 3);
    assert_eq!(report["verdict"], "incomplete");
    assert_eq!(report["findings"], Value::Array(Vec::new()));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_a_partial_report_and_130() {
    use std::process::Stdio;
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &["--size", "40MB"]);
    let out = folder.path().join("report.json");
    let arguments = [
        "check",
        path.to_str().unwrap(),
        "--json",
        "--max-rate",
        "2MB/s",
        "-o",
        out.to_str().unwrap(),
    ];
    let child = program::command(arguments).stderr(Stdio::piped()).spawn().unwrap();
    program::signal::until_it_listens(&child);
    std::thread::sleep(Duration::from_millis(300));
    program::signal::send(&child, rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted, the result is incomplete"), "{stderr}");
    assert!(!out.exists());
    let partial = fs::read_to_string(folder.path().join("report.json.incomplete")).unwrap();
    let report: Value = serde_json::from_str(&partial).unwrap();
    assert_eq!(report["verdict"], "incomplete");
    assert!(
        report["coverage"]["pages_checked"].as_u64() < report["coverage"]["pages_planned"].as_u64()
    );
}

#[test]
fn a_missing_data_file_is_named_and_makes_the_check_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &["--files", "2", "--size", "8MB"]);
    let second = folder.path().join("shop_2.ndf");
    let both =
        extentdb([OsStr::new("check"), path.as_os_str(), second.as_os_str(), "--json".as_ref()]);
    assert_eq!(report(both, 0)["verdict"], "clean");
    let report = report(on("check", &path, &["--json", "--no-siblings"]), 3);
    assert_eq!(report["verdict"], "incomplete");
    assert!(report["coverage"]["not_checked"].to_string().contains('2'), "{}", report["coverage"]);
}

#[test]
fn a_single_stripe_is_incomplete_names_the_missing_family_and_accuses_nobody() {
    let more = |name: &str| more_sample(&format!("stripes-2008r2/{name}"));
    let cases = [
        (sample("northwind-stripe-2-of-2.bak"), "family 1 of 2 is not given", "Northwind"),
        (more("Stripe1_RestoreTimeStripe.bak"), "family 2 of 2 is not given", "RestoreTimeStripe"),
        (more("Stripe2_RestoreTimeStripe1.bak"), "family 1 of 2 is not given", "RestoreTimeStripe"),
        (more("Stripe1_RestoreTimeStripe2.bak"), "family 2 of 2 is not given", "RestoreTimeStripe"),
        (
            more("Stripe2_RestoreTimeStripe2a.bak"),
            "family 1 of 2 is not given",
            "RestoreTimeStripe",
        ),
    ];
    for (path, missing, database) in cases {
        let Some(path) = path else { continue };
        let report = report(on("check", &path, &["--json"]), 3);
        assert_eq!(report["verdict"], "incomplete", "{}: {}", path.display(), report["findings"]);
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{}", path.display());
        let coverage = &report["coverage"];
        assert!(coverage["not_checked"].to_string().contains(missing), "{coverage}");
        assert!(!coverage.to_string().contains("older than SQL Server 2005"), "{coverage}");
        // The first family has the PFS page: without it nobody knows which pages are in use.
        let has_maps = missing.starts_with("family 2");
        assert_eq!(coverage["pages_checked"].as_u64().unwrap() > 50, has_maps, "{coverage}");
        let name = report["database"].as_str().unwrap();
        assert!(name.eq_ignore_ascii_case(database), "{name}: {}", path.display());
    }
}

#[test]
fn a_backup_of_2019_is_redone_by_records_longer_than_known_and_clean() {
    let Some(path) = more_sample("northwind-2019.bak") else { return };
    let report = report(on("check", &path, &["--json"]), 0);
    assert_eq!(report["verdict"], "clean", "{}", report["coverage"]);
}

#[test]
fn the_filemarks_of_a_backup_of_2005_are_no_finding() {
    let Some(path) = more_sample("northwind-2005.bak") else { return };
    let run = on("check", &path, &["--json"]);
    assert!(!run.stdout.contains("filemark"), "{}", run.stdout);
    assert_eq!(on("info", &path, &["--headeronly"]).code, 0);
}

#[test]
fn two_stripes_together_are_clean() {
    for (first, second) in [
        ("Stripe1_RestoreTimeStripe.bak", "Stripe2_RestoreTimeStripe1.bak"),
        ("Stripe1_RestoreTimeStripe2.bak", "Stripe2_RestoreTimeStripe2a.bak"),
    ] {
        let [Some(first), Some(second)] =
            [first, second].map(|name| more_sample(&format!("stripes-2008r2/{name}")))
        else {
            return;
        };
        let run =
            extentdb(["check".as_ref(), second.as_os_str(), first.as_os_str(), "--json".as_ref()]);
        assert_eq!(report(run, 0)["verdict"], "clean");
    }
}

#[test]
fn a_database_without_boot_page_or_catalog_is_checked_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    let whole = fs::read(&path).unwrap();
    let copy = folder.path().join("copy.mdf");
    for (first, pages) in [(9usize, 1usize), (8, 40)] {
        let mut bytes = whole.clone();
        bytes[first * PAGE_BYTES..(first + pages) * PAGE_BYTES].fill(0);
        fs::write(&copy, bytes).unwrap();
        let report = report(on("check", &copy, &["--json"]), 2);
        assert_eq!(report["verdict"], "damaged");
        assert!(
            report["coverage"]["pages_checked"].as_u64().unwrap() > 100,
            "{}",
            report["coverage"]
        );
    }
}

#[test]
fn an_encrypted_database_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let path = shop(folder.path(), &[]);
    let mut bytes = fs::read(&path).unwrap();
    let mut page = PageBuf::zeroed();
    page.copy_from_slice(&bytes[..PAGE_BYTES]);
    let mut header = FileHeaderView::new(&page).header();
    header.encryption_state = Some(3);
    let stamp = PageStamp::of(PageHeader::of(&page));
    let content = FileHeaderPage {
        id: PageId::new(1, 0),
        header: &header,
        offset: 96,
        boot: None,
    };
    write_file_header(&mut page, &content, &stamp);
    seal(&mut page);
    bytes[..PAGE_BYTES].copy_from_slice(&page[..]);
    // What encryption leaves of everything else.
    bytes[PAGE_BYTES..]
        .iter_mut()
        .enumerate()
        .for_each(|(at, byte)| *byte ^= ((at * 167) >> 3) as u8);
    fs::write(&path, bytes).unwrap();
    let said = on("check", &path, &[]).complaint(1);
    assert!(said.contains("encrypted (TDE)"), "{said}");
}

#[test]
fn what_has_no_pages_exits_1() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.mdf");
    fs::write(&text, "dear diary").unwrap();
    assert!(on("check", &text, &["--json"]).complaint(1).contains("it begins as text"));
    if let Some(path) = sample("northwind-2008_log.ldf") {
        assert!(on("check", &path, &[]).complaint(1).contains("extentdb log"));
    }
}
