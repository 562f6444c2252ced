//! `demo`, and the verbs that it introduces: `make`, `damage`, `explain`.

mod program;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use program::{Run, command, extentdb, on};
use serde_json::Value;

fn make(path: &Path, rest: &[&str]) -> Run {
    let mut arguments = vec![OsStr::new("make"), path.as_os_str()];
    arguments.extend(rest.iter().map(OsStr::new));
    extentdb(arguments)
}

/// Names of what is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn the_demo_tells_its_whole_story_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let output = command(["demo"]).env("TMPDIR", folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}\n{text}",
        String::from_utf8_lossy(&output.stderr)
    );
    let milestones = [
        "> CREATE DATABASE shop ON (NAME = shop, FILENAME = 'shop.mdf', SIZE = 4MB)",
        "90,000 orders in one heap",
        "shop ",
        "shop_2 ",
        "shop_3 ",
        "> BEGIN TRANSACTION; DELETE TOP (500) FROM orders;",
        "kill -9. The last order that was acknowledged: 100,000",
        "100000 rows, 100000 different orders, the last is 100000",
        "> SELECT TOP (3) customer",
        "$ extentdb tables shop.mdf shop_2.ndf shop_3.ndf",
        "$ extentdb export shop.mdf shop_2.ndf shop_3.ndf --table dbo.orders",
        "100000 rows: every order from 1 to 100000, once.",
        "$ extentdb check shop.mdf",
        "clean: ",
        "$ extentdb damage shop.mdf",
        "$ extentdb check broken.mdf",
        "Msg ",
        "Found: ",
        "$ extentdb page broken.mdf",
        "INVALID",
        "$ extentdb explain ",
        "All eleven steps did what they promised",
        "extentdb check  Sales.bak",
    ];
    let mut rest = text.as_str();
    for words in milestones {
        let at = rest
            .find(words)
            .unwrap_or_else(|| panic!("{words} is missing or out of order:\n{text}"));
        rest = &rest[at + words.len()..];
    }
    assert!(text.lines().all(|line| line.chars().count() <= 112), "{text}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_demo_that_is_kept_leaves_its_files_and_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("first");
    let words = ["demo", "--rows", "5000", "--keep"].map(OsStr::new);
    let demo = || extentdb(words.into_iter().chain([place.as_os_str()]));
    let told = demo().expect(0);
    assert!(told.contains("5000 rows, 5000 different orders"), "{told}");
    let files = [
        "broken.mdf",
        "broken_2.ndf",
        "broken_3.ndf",
        "server",
        "shop.mdf",
        "shop_2.ndf",
        "shop_3.ndf",
        "shop_log.ldf",
        "truth.json",
    ];
    assert_eq!(names(&place), files);
    let before = fs::read(place.join("shop.mdf")).unwrap();
    assert!(demo().complaint(1).contains("it will not be overwritten"));
    assert_eq!(fs::read(place.join("shop.mdf")).unwrap(), before);
}

#[test]
fn the_story_is_the_same_whenever_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let tell = || {
        let output =
            command(["demo", "--rows", "5000"]).env("TMPDIR", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let is_verdict = |line: &str| line.contains("clean:") || line.contains("damaged:");
        let has_time = |line: &&str| is_verdict(line) || line.starts_with("All eleven");
        text.lines().filter(|line| !has_time(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(tell(), tell());
}

#[test]
fn the_same_seed_makes_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, other] =
        ["one.mdf", "two.mdf", "other.mdf"].map(|name| folder.path().join(name));
    for (path, seed) in [(&one, "5"), (&two, "5"), (&other, "6")] {
        make(path, &["--shape", "sales", "--rows", "3000", "--seed", seed]).expect(0);
    }
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap());
    assert!(fs::read(&one).unwrap() != fs::read(&other).unwrap());
}

#[test]
fn make_says_what_it_made_and_the_files_are_that_large() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.mdf");
    let made =
        make(&path, &["--shape", "heap", "--size", "12MB", "--files", "3", "--json"]).expect(0);
    let made: Value = serde_json::from_str(&made).unwrap();
    let files = made["files"].as_array().unwrap();
    let total: u64 = files.iter().map(|file| file["bytes"].as_u64().unwrap()).sum();
    assert!((11_000_000..14_000_000).contains(&total), "{made}");
    for file in files {
        let bytes = fs::metadata(file["path"].as_str().unwrap()).unwrap().len();
        assert_eq!(file["bytes"].as_u64(), Some(bytes));
    }
    assert_eq!(names(folder.path()), ["big.mdf", "big_2.ndf", "big_3.ndf"]);
    assert!(made["tables"][0]["rows"].as_u64().unwrap() > 100);
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.mdf");
    fs::write(&path, "precious").unwrap();
    let said = make(&path, &[]).complaint(1);
    assert!(said.contains("it will not be overwritten"), "{said}");
    let source = folder.path().join("source.mdf");
    make(&source, &["--shape", "demo"]).expect(0);
    let arguments = ["--kind", "flipped-byte", "--to", path.to_str().unwrap()];
    assert!(on("damage", &source, &arguments).complaint(1).contains("it will not be overwritten"));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(names(folder.path()), ["mine.mdf", "source.mdf"]);
}

#[test]
fn bad_wishes_are_explained_and_leave_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mdf");
    let cases: [(&[&str], &str); 4] = [
        (&["--shape", "pyramid"], "there is no shape pyramid"),
        (&["--size", "1KB"], "too few"),
        (&["--size", "64M"], "64MB, 1GiB"),
        (&["--size", "1MB", "--rows", "5"], "cannot be used with"),
    ];
    for (options, words) in cases {
        let said = make(&path, options).complaint(1);
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
    assert!(extentdb(["make", "--list"]).expect(0).contains("sales"));
}

#[test]
fn damage_changes_what_its_truth_says_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [good, bad, truth] =
        ["good.mdf", "bad.mdf", "truth.json"].map(|name| folder.path().join(name));
    make(&good, &["--shape", "demo"]).expect(0);
    let before = fs::read(&good).unwrap();
    let arguments = [
        "--kind",
        "sibling-link",
        "--seed",
        "3",
        "--to",
        bad.to_str().unwrap(),
        "--truth",
        truth.to_str().unwrap(),
    ];
    on("damage", &good, &arguments).expect(0);
    assert!(fs::read(&good).unwrap() == before, "the input is only read");
    let truth: Value = serde_json::from_str(&fs::read_to_string(truth).unwrap()).unwrap();
    assert_eq!((&truth["kind"], &truth["seed"]), (&"sibling-link".into(), &3.into()));
    let mut patched = before;
    for change in truth["changes"].as_array().unwrap() {
        let at = change["offset"].as_u64().unwrap() as usize;
        let hex = change["after"].as_str().unwrap();
        let bytes = (0..hex.len())
            .step_by(2)
            .map(|digit| u8::from_str_radix(&hex[digit..digit + 2], 16).unwrap());
        patched.iter_mut().skip(at).zip(bytes).for_each(|(place, byte)| *place = byte);
    }
    assert!(fs::read(&bad).unwrap() == patched);
}

#[test]
fn damage_lists_its_kinds_and_refuses_others() {
    let all = extentdb(["damage", "--list"]).expect(0);
    assert!(all.lines().count() >= 100 && all.contains(" 1  torn-sector "), "{all}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("good.mdf");
    make(&path, &["--shape", "demo"]).expect(0);
    let said = on("damage", &path, &["--kind", "gremlins", "--to", "x.mdf"]).complaint(1);
    assert!(said.contains("there is no fault gremlins") && said.contains("torn-sector"), "{said}");
}

#[test]
fn messages_are_explained_by_number() {
    let text = extentdb(["explain", "8928"]).expect(0);
    for words in
        ["Msg 8928, Level 16", "\nMeaning\n", "\nCause\n", "\nNext step\n", "consistency error"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let both: Value =
        serde_json::from_str(&extentdb(["explain", "DBCC8978", "8939", "--json"]).expect(0))
            .unwrap();
    assert_eq!((&both[0]["error"], &both[1]["error"]), (&8978.into(), &8939.into()));
    let list = extentdb(["explain", "--list"]).expect(0);
    assert!(list.lines().count() > 50 && list.contains("8905"), "{list}");
    let said = extentdb(["explain", "8940000"]).complaint(1);
    assert!(said.contains("is not known; near it: "), "{said}");
    assert!(extentdb(["explain", "much"]).complaint(1).contains("not a number"));
    assert_eq!(extentdb(["explain"]).code, 1);
}
