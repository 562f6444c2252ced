//! One invented report in all its forms.

use std::time::Duration;

use extentdb_base::{AllocUnitId, FileId, HobtId, IndexId, ObjectId, PageId};
use extentdb_check::finding::{Findings, Totals, page_arg};
use extentdb_check::report::{CellOwner, ExtentMap, ExtentRun, FileExtents, Sample};
use extentdb_check::{
    Cause, Coverage, DataFile, Finding, Location, NotChecked, ObjectSummary, Options, Owner,
    Report, Verdict,
};
use extentdb_messages::{Arg, RepairLevel, lookup};
use serde_json::Value;

use super::*;
use crate::causes::{derived_count, root_causes};
use crate::lines::{lines, log_line};

const ORDERS: i32 = 245_575_913;
/// A name that must not get through anywhere.
const WICKED: &str = "</script><b a='x' b=\"y\">&\u{1}";

fn owner(object: i32, index: i32, is_user: bool) -> Owner {
    Owner {
        is_user,
        object: ObjectId(object),
        index: IndexId(index),
        partition: HobtId(72_057_594_043_432_960),
        unit: AllocUnitId(72_057_594_049_658_880),
    }
}

fn args(owner: Owner) -> Vec<Arg<'static>> {
    let Owner { object, index, partition, unit, .. } = owner;
    vec![object.0.into(), index.0.into(), partition.0.into(), unit.0.into(), "In-row data".into()]
}

fn page(number: u32) -> PageId {
    PageId::new(1, number)
}

/// A bad page of the clustered index with its echo, a row that an index lacks, and a leaked extent.
fn findings() -> Vec<Finding> {
    let table = owner(ORDERS, 1, true);
    let of = |error: u32, number: u32, rest: &[Arg<'static>]| {
        let args = [args(table), rest.to_vec()].concat();
        Finding::new(error, Location::page(page(number)).owned_by(table), args)
    };
    let cause = Some(Cause { page: page(312), error: 8939 });
    let test = "IS_OFF (BUF_IOERR, pBUF->bstat)";
    let values = [page_arg(page(312)), test.into(), 133_129.into(), (-4).into()];
    let mut echo = of(8978, 313, &[page_arg(page(313)), page_arg(page(312))])
        .related([page(312), PageId::NONE]);
    echo.derived_from = cause;
    let named = [page_arg(page(312)), page_arg(page(298)), page_arg(page(311))];
    let mut missing = of(8976, 312, &named).related([page(298), page(311)]);
    missing.derived_from = cause;
    let key = "[OrderID] = 10248";
    let place = Location::page(page(320)).slot(4).at(1000).owned_by(table);
    let row = Finding::new(
        8951,
        place,
        ["Orders".into(), ORDERS.into(), "ix, \"date\"".into(), 2.into()],
    );
    let line = [
        1.into(),
        320.into(),
        4.into(),
        "OrderID = 10248".into(),
        "OrderDate = '1996-07-04'".into(),
    ];
    let extent = Finding::new(8905, Location::page(page(640)), [page_arg(page(640)), 7.into()]);
    vec![
        of(8928, 312, &[page_arg(page(312))]),
        of(8939, 312, &values).state(98),
        missing,
        echo,
        row.key(key).with(Finding::new(8955, place, line)),
        extent,
    ]
}

fn object(id: i32, name: &str, is_user: bool, bag: &Findings) -> ObjectSummary {
    let object = ObjectId(id);
    let totals = bag.totals_of(Some(object));
    ObjectSummary {
        object,
        name: name.to_owned(),
        is_user,
        rows: 90,
        pages: 7,
        totals,
    }
}

fn report() -> Report {
    let mut bag = Findings::new(100);
    findings().into_iter().for_each(|finding| bag.push(finding));
    let runs = |last| {
        let run = |first, count, owner| ExtentRun { first, count, owner };
        vec![
            run(0, 1, CellOwner::Maps),
            run(1, 50, CellOwner::Object(ObjectId(ORDERS))),
            run(51, last, CellOwner::Free),
        ]
    };
    let mut map = ExtentMap {
        extents_per_cell: 1,
        files: vec![FileExtents {
            file: FileId(1),
            extents: 100,
            runs: runs(49),
            faults: Vec::new(),
        }],
    };
    let totals = bag.totals();
    let unowned = bag.totals_of(None);
    let repair = bag.repair();
    let objects =
        vec![object(3, "sys.sysrscols", false, &bag), object(ORDERS, "Orders", true, &bag)];
    let findings = bag.into_sorted();
    map.mark(&findings);
    let sample = |i: u64| Sample {
        elapsed_ms: i * 100,
        bytes: i * 819_200,
        pages: i * 100,
        findings: i,
    };
    let not_checked = |what: &str, why: &str, was_asked_for| NotChecked {
        what: what.to_owned(),
        why: why.to_owned(),
        was_asked_for,
    };
    Report {
        database: "Shop".to_owned(),
        database_id: 7,
        files: vec![DataFile {
            id: FileId(1),
            path: "/data/my shop.mdf".to_owned(),
            is_plain: true,
        }],
        verdict: Verdict::Damaged,
        totals,
        unowned,
        repair,
        coverage: Coverage {
            pages_planned: 500,
            pages_checked: 500,
            objects: 2,
            indexes_compared: 3,
            entries_compared: 900,
            catalog_entries: 500,
            not_checked: vec![
                not_checked("file 3", "it was not given", true),
                not_checked("Service Broker", "not done", false),
            ],
        },
        findings,
        notes: vec![Finding::new(59003, Location::default(), [3.into(), 500.into()])],
        broker_counts: vec![(9675, 14), (9676, 6)],
        objects,
        map: Some(map),
        timeline: (0..=10).map(sample).collect(),
        elapsed: Duration::from_millis(2500),
        bytes: 8_192_000,
        ..Report::empty(&Options::default())
    }
}

fn clean() -> Report {
    let mut report = report();
    report.verdict = Verdict::Clean;
    report.findings.clear();
    report.notes.clear();
    (report.totals, report.unowned, report.repair) =
        (Totals::default(), Totals::default(), RepairLevel::None);
    report.objects.iter_mut().for_each(|object| object.totals = Totals::default());
    report
}

fn inputs() -> Vec<Input> {
    let sha256 = Some("0a".repeat(32));
    vec![Input {
        path: "/data/my shop.mdf".to_owned(),
        bytes: 6_553_600,
        sha256,
    }]
}

#[test]
fn text_has_verdict_and_root_causes_before_the_order_of_dbcc() {
    insta::assert_snapshot!(to_text(&report()));
}

#[test]
fn a_clean_text_has_only_information() {
    insta::assert_snapshot!(to_text(&clean()));
}

#[test]
fn a_number_is_printed_ten_times_unless_all_messages_are_asked_for() {
    let mut report = report();
    let table = owner(ORDERS, 1, true);
    let wrong = |number: u32| {
        let rest = vec![page_arg(page(number))];
        Finding::new(
            8928,
            Location::page(page(number)).owned_by(table),
            [args(table), rest].concat(),
        )
    };
    let at =
        report.findings.iter().rposition(|finding| finding.location.owner == Some(table)).unwrap();
    report.findings.splice(at..at, (400..425).map(wrong));
    let lines = |text: &str| text.lines().filter(|line| line.starts_with("Msg 8928,")).count();
    let brief = to_text(&report);
    assert_eq!(lines(&brief), 10, "{brief}");
    assert!(brief.contains(" of Msg 8928. --all-errormsgs prints them.)"), "{brief}");
    let whole = to_text_with(&report, TextOptions { all_errormsgs: true, verbose: false });
    assert!(lines(&whole) > 25 && !whole.contains("--all-errormsgs"), "{whole}");
}

#[test]
fn what_no_run_checks_is_named_on_request_only() {
    let mut report = report();
    let what = "conversations of Service Broker (8997)".to_owned();
    report.coverage.not_checked.push(NotChecked {
        what: what.clone(),
        why: "not supported".to_owned(),
        was_asked_for: false,
    });
    let brief = to_text(&report);
    let verbose = to_text_with(&report, TextOptions { verbose: true, all_errormsgs: false });
    assert!(brief.contains("Not checked: file 3: ") && !brief.contains(&what), "{brief}");
    assert!(verbose.contains(&format!("Not checked: {what}: not supported.")), "{verbose}");
}

#[test]
fn damage_of_the_medium_comes_before_what_follows_from_it() {
    let mut report = report();
    let args = ["shop.bak".into()];
    report.findings.push(Finding::new(3241, Location::default(), args));
    let text = to_text(&report);
    let medium = text.find("Msg 3241: ").unwrap();
    assert!(medium < text.find("Root causes: ").unwrap(), "{text}");
    assert!(medium < text.find("DBCC results for 'Shop'").unwrap(), "{text}");
}

#[test]
fn without_information_a_clean_report_says_only_what_was_covered() {
    let mut report = clean();
    report.no_infomsgs = true;
    assert!(to_text(&report).starts_with("clean: 500 of 500 allocated pages checked"));
    assert_eq!(to_tableresults(&report).lines().count(), 1);
}

#[test]
fn a_check_of_one_table_prints_the_lines_of_checktable() {
    let mut report = report();
    report.command = "CHECKTABLE";
    report.target = Some("dbo.Orders".to_owned());
    report.objects.remove(0);
    report.broker_counts.clear();
    let text = to_text(&report);
    assert!(text.contains("\nDBCC results for 'Orders'.\n"), "{text}");
    let repair = "repair_allow_data_loss is the minimum repair level for the errors found by DBCC CHECKTABLE \
                  (Shop.dbo.Orders).\n";
    assert!(text.contains(repair) && !text.contains("in database 'Shop'"), "{text}");
    assert!(
        text.contains("DBCC CHECKTABLE (Shop.dbo.Orders) executed by extentdb found 6 errors"),
        "{text}"
    );
    assert_eq!(to_json(&report, &[])["options"]["table"], "dbo.Orders");
}

#[test]
fn findings_about_an_object_without_pages_have_a_block_of_their_own() {
    let mut report = report();
    let unlisted = owner(99, 0, true);
    let finding =
        Finding::new(8901, Location { owner: Some(unlisted), ..Location::default() }, [99.into()]);
    report.findings.insert(0, finding);
    let text = to_text(&report);
    let expected = [
        "for object \"sys.sysrscols\".",
        "DBCC results for 'object ID 99'.\nMsg 8901,",
        "0 allocation errors and 1 consistency errors in table 'object ID 99' (object ID 99).",
        "DBCC results for 'Orders'.\nMsg 8928",
    ];
    let places: Vec<usize> = expected.iter().map(|words| text.find(words).expect(words)).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn a_run_that_had_to_end_says_so_in_the_line_of_the_log() {
    let mut report = report();
    report.findings.push(Finding::new(8930, Location::default(), [7.into()]));
    assert_eq!(
        log_line(&report),
        "DBCC CHECKDB (Shop) executed by extentdb terminated abnormally due to error state 0. Elapsed time: 0 hours 0 \
         minutes 2 seconds."
    );
}

#[test]
fn root_causes_are_ordered_by_what_follows_from_them() {
    let report = report();
    let causes = root_causes(&report);
    assert_eq!(causes.len(), 1);
    assert_eq!((causes[0].cause.to_string(), causes[0].derived), ("8939 (1:312)".to_owned(), 2));
    assert_eq!(causes[0].finding.map(|finding| finding.state), Some(98));
    assert_eq!(derived_count(&report), 2);
}

#[test]
fn json_carries_key_and_companions() {
    let json = to_json(&report(), &inputs());
    let row = json["findings"].as_array().unwrap().iter().find(|it| it["error"] == 8951).unwrap();
    assert_eq!(row["key"], "[OrderID] = 10248");
    assert_eq!(row["companions"][0]["error"], 8955);
    assert_eq!(json["findings"][0]["key"], Value::Null);
    assert_eq!(json["findings"][0].get("companions"), None);
}

#[test]
fn json_lines_begin_with_a_header_and_end_with_a_summary() {
    let text = to_jsonl(&report(), &inputs());
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((types[0], types[7], types[8]), ("report", "note", "summary"));
    assert!(types[1..7].iter().all(|it| *it == "finding"), "{types:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn tableresults_have_one_row_per_message() {
    let text = to_tableresults(&report());
    let lines = lines(&report()).len();
    assert_eq!(text.lines().count(), lines + 1);
    insta::assert_snapshot!(text);
}

#[test]
fn sarif_has_rules_locations_and_byte_offsets() {
    let log = to_sarif(&report(), &inputs());
    let log: Value = serde_json::from_str(&log.to_string()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!((rules.len(), results.len()), (7, 7));
    for rule in rules {
        assert!(
            rule["help"]["text"].as_str().is_some_and(|text| text.contains("Next step: ")),
            "{rule}"
        );
        assert!(rule["shortDescription"]["text"].is_string(), "{rule}");
    }
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let is_fail = result["kind"] == "fail";
        assert_eq!(result["level"], if is_fail { "error" } else { "none" }, "{result}");
    }
    let row = results.iter().find(|result| result["ruleId"] == "DBCC8951").unwrap();
    let physical = &row["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "file:///data/my%20shop.mdf");
    assert_eq!(physical["region"]["byteOffset"], 320 * 8192 + 1000);
    assert_eq!(physical["region"]["byteLength"], 7192);
    let names: Vec<&str> = (row["locations"][0]["logicalLocations"].as_array().unwrap().iter())
        .map(|it| it["fullyQualifiedName"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Shop", "Shop/Orders", "Shop/Orders/1", "Shop/(1:320:4)"]);
    assert!(row["message"]["text"].as_str().unwrap().contains("\nData row (1:320:4)"));
    let missing = results.iter().find(|result| result["ruleId"] == "DBCC8976").unwrap();
    assert_eq!(missing["relatedLocations"].as_array().map(Vec::len), Some(2));
    assert_eq!(run["artifacts"][0]["hashes"]["sha-256"], "0a".repeat(32));
    let notifications = &run["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(
        (&notifications[0]["level"], &notifications[1]["level"]),
        (&"warning".into(), &"note".into())
    );
}

#[test]
fn a_page_of_a_backup_has_no_region_in_its_file() {
    let mut report = report();
    report.files[0].is_plain = false;
    let log = to_sarif(&report, &inputs());
    let physical = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert!(
        physical["artifactLocation"]["uri"].is_string() && physical.get("region").is_none(),
        "{physical}"
    );
}

#[test]
fn junit_counts_cases_failures_and_what_was_skipped() {
    let xml = to_junit(&report());
    let tags = well_formed(&xml);
    let count = |name: &str| tags.iter().filter(|tag| *tag == name).count();
    assert_eq!((count("testcase"), count("failure"), count("skipped")), (5, 2, 2));
    assert!(
        xml.contains("tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"2\" time=\"2.500\""),
        "{xml}"
    );
    assert!(xml.contains("name=\"Orders (object ID 245575913)\""), "{xml}");
    assert!(xml.contains("Msg 8955, Level 16, State 1: Data row (1:320:4)"), "{xml}");
}

#[test]
fn html_is_one_file_with_map_chart_and_list() {
    let html = to_html(&report(), &inputs());
    for part in
        ["id=\"map-1\"", "class=\"chart\"", "id=\"findings\"", "Root causes", "Not checked", "8955"]
    {
        assert!(
            html.contains(part) || part == "8955" && html.contains("Data row (1:320:4)"),
            "{part}"
        );
    }
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let data = html.split_once("id=\"map-data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["per_cell"], 1);
    let owners = data["owners"].as_array().unwrap();
    let runs = data["files"][0]["runs"].as_array().unwrap();
    let names: Vec<&str> = runs
        .iter()
        .map(|run| owners[run[2].as_u64().unwrap() as usize]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["allocation maps", "Orders", "free"]);
    // Extent 39: 8928 and 8939 by themselves, 8976 and 8978 as their echo; extent 40: a row; extent
    // 80: leaked.
    assert_eq!(data["files"][0]["faults"].to_string(), "[[39,2,2],[40,1,0],[80,1,0]]");
}

#[test]
fn names_are_escaped_in_every_format() {
    let mut report = report();
    report.database = WICKED.to_owned();
    report.objects[1].name = WICKED.to_owned();
    report.findings[0].message = WICKED.to_owned();
    report.findings[4].key = Some(WICKED.to_owned());
    report.files[0].path = WICKED.to_owned();
    report.coverage.not_checked[0].what = WICKED.to_owned();
    let inputs = [Input { path: WICKED.to_owned(), bytes: 1, sha256: None }];
    well_formed(&to_junit(&report));
    let html = to_html(&report, &inputs);
    assert!(!html.contains("<b a="), "{html}");
    assert_eq!(html.matches("</script>").count(), 2);
    let sarif = to_sarif(&report, &inputs);
    let uri = &sarif["runs"][0]["artifacts"][0]["location"]["uri"];
    assert!(
        uri.as_str().unwrap().bytes().all(|byte| byte.is_ascii_graphic() && byte != b'<'),
        "{uri}"
    );
    assert!(
        to_jsonl(&report, &inputs).lines().all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
}

#[test]
fn every_message_number_has_a_rule() {
    for message in extentdb_messages::all() {
        assert!(lookup(message.number).is_some());
    }
    let mut report = clean();
    report.notes = extentdb_messages::all()
        .iter()
        .map(|message| {
            let sample = |kind| match kind {
                extentdb_messages::ArgKind::Int => Arg::Int(1),
                extentdb_messages::ArgKind::Text => Arg::from("<&>"),
                extentdb_messages::ArgKind::Page => page_arg(page(1)),
            };
            Finding::new(
                message.number,
                Location::page(page(1)),
                message.arguments().map(sample).collect::<Vec<_>>(),
            )
        })
        .collect();
    let log = to_sarif(&report, &[]);
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), extentdb_messages::all().len());
    assert!(rules.iter().all(|rule| rule["help"].is_object()));
    well_formed(&to_junit(&report));
}

#[test]
fn a_report_without_repairable_errors_names_no_level() {
    let mut report = report();
    report.repair = RepairLevel::None;
    assert!(!to_text(&report).contains("minimum repair level"));
}

/// Reads XML as far as we write it: tags balance, attributes are quoted and differ, references are
/// known. The names of all elements.
#[track_caller]
fn well_formed(xml: &str) -> Vec<String> {
    let mut open = Vec::new();
    let mut all = Vec::new();
    let mut rest =
        xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
    assert!(!rest.chars().any(|c| c < ' ' && c != '\n'), "a control character");
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at]);
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (body, is_empty) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        let (name, mut attributes) = body.split_once(' ').unwrap_or((body, ""));
        let mut seen = Vec::new();
        while !attributes.is_empty() {
            let (key, value) = attributes.split_once("=\"").expect("a quoted attribute");
            assert!(!seen.contains(&key.trim()), "{key} twice");
            seen.push(key.trim());
            let (value, after) = value.split_once('"').expect("the end of an attribute");
            check_text(value);
            attributes = after.trim_start();
        }
        all.push(name.to_owned());
        if !is_empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    all
}

#[track_caller]
fn check_text(text: &str) {
    assert!(!text.contains('>') && !text.contains('<'), "{text}");
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#9;", "&#10;", "&#13;"];
        assert!(known.iter().any(|reference| text[at..].starts_with(reference)), "{text}");
    }
}
