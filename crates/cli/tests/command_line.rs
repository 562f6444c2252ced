//! What the program says about itself: version, help, suggestions, completions, manual pages; and
//! how text fits its reader.

mod program;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use program::{command, extentdb, on};

fn database(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("shop.mdf");
    extentdb(["make", path.to_str().unwrap(), "--shape", "heap", "--rows", "50", "--files", "2"])
        .expect(0);
    path
}

#[test]
fn the_version_names_commit_target_and_readable_versions() {
    let version = extentdb(["--version"]).expect(0);
    let commit = version.split("(commit ").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    assert!(commit == "unknown" || commit.chars().all(|c| c.is_ascii_hexdigit()), "{version}");
    assert!(version.contains(" for ") && version.contains("SQL Server 2005 (611)"), "{version}");
}

#[test]
fn the_help_of_a_verb_lists_its_own_options() {
    let check = extentdb(["check", "--help"]).expect(0);
    assert!(check.contains("--color") && check.contains("--no-siblings"), "{check}");
    for verb in ["make", "damage", "demo", "explain", "completions"] {
        let help = extentdb([verb, "--help"]).expect(0);
        let others = ["--set ", "--no-siblings", "--exit-zero", "--jobs", "--color"];
        let found: Vec<&&str> = others.iter().filter(|option| help.contains(**option)).collect();
        assert!(found.is_empty(), "{verb}: {found:?}");
    }
}

#[test]
fn verbs_options_and_tables_that_are_nearly_right_are_suggested() {
    let said = extentdb(["chekc", "x.mdf"]).complaint(1);
    assert!(said.contains("chekc is not a verb (did you mean check?)"), "{said}");
    let said = extentdb(["check", "x.mdf", "--exit-zreo"]).complaint(1);
    assert!(said.contains("--exit-zero"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let tables: serde_json::Value =
        serde_json::from_str(&on("tables", &path, &["--json"]).expect(0)).unwrap();
    let name = tables[0]["name"].as_str().unwrap();
    let said = on("export", &path, &["--table", &format!("{name}s")]).complaint(1);
    assert!(said.contains(&format!("(did you mean {name}?)")), "{said}");
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(extentdb(["completions", shell]).expect(0).contains("extentdb"), "{shell}");
    }
}

#[test]
fn the_manual_pages_in_docs_are_those_of_this_program() {
    let folder = tempfile::tempdir().unwrap();
    extentdb(["man", folder.path().to_str().unwrap()]).expect(0);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man");
    let pages = |folder: &Path| -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut pages: Vec<(String, String)> = entries
            .map(|path| {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(path).unwrap())
            })
            .collect();
        pages.sort();
        pages
    };
    let made = pages(folder.path());
    let kept = pages(&kept);
    let differs = |(a, b): (&(String, String), &(String, String))| (a != b).then(|| a.0.clone());
    let different: Vec<String> = made.iter().zip(&kept).filter_map(differs).collect();
    assert!(
        made.len() == kept.len() && different.is_empty(),
        "{different:?}: run `cargo x gen man`"
    );
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    assert!(!on("check", &path, &[]).expect(0).contains('\x1b'));
    assert!(
        on("check", &path, &["--color", "always"]).expect(0).contains("\x1b[1;32mclean\x1b[0m")
    );
    let out = folder.path().join("report.txt");
    on("check", &path, &["-o", out.to_str().unwrap()]).expect(0);
    assert!(!fs::read_to_string(out).unwrap().contains('\x1b'));
}

#[test]
fn info_writes_its_tables_row_by_row_where_columns_are_few() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let narrow = |columns: &str| {
        let mut command = command(["info", path.to_str().unwrap(), "--no-pages", "--quiet"]);
        let output = command.env("COLUMNS", columns).stderr(Stdio::inherit()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let is_row_by_row =
        |text: &str| text.lines().any(|line| line.split_whitespace().eq(["filegroup", "PRIMARY"]));
    assert!(is_row_by_row(&narrow("60")), "{}", narrow("60"));
    assert!(!is_row_by_row(&narrow("1000")), "{}", narrow("1000"));
}
