//! `cargo x deps`: the manifests against the floor table in ARCHITECTURE.md, which is law.
//!
//! ```text
//! | floor | crate | may use | one line |
//! | 3     | `io`  | base    | …        |
//! ```
//!
//! Rules
//! - Every crate has a row and every row has a crate.
//! - A crate depends on the house crates that its row names and on no others; "any" names all.
//! - Edges point down: on numbered floors, to a lower number.
//! - Tests may also use `template`, `faults`, `io`, `reader` and `check`, which make and judge
//!   their databases.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// What a test may use beyond its crate's row.
const FOR_TESTS: [&str; 6] = ["template", "faults", "io", "reader", "check", "report"];

/// A row of the floor table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Floor number; `None` for crates beside the floors.
    pub floor: Option<u32>,
    /// Folder of the crate.
    pub name: String,
    /// House crates it may use; `None` for any.
    pub may_use: Option<BTreeSet<String>>,
}

/// The house crates that a manifest names.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Edges {
    /// For the product.
    pub product: BTreeSet<String>,
    /// For its tests only.
    pub tests: BTreeSet<String>,
}

/// Compares and prints; fails on any difference.
pub fn run(root: &Path) -> Result<()> {
    let complaints = complaints(root)?;
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} differences between the manifests and the floor table", complaints.len());
    }
    println!("deps: the manifests keep to the floor table");
    Ok(())
}

/// Every difference between the manifests below `root` and its ARCHITECTURE.md.
pub fn complaints(root: &Path) -> Result<Vec<String>> {
    let text =
        fs::read_to_string(root.join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")?;
    Ok(compare(&read_table(&text)?, &read_manifests(root)?))
}

/// Every difference between table and manifests.
pub fn compare(table: &[Row], manifests: &BTreeMap<String, Edges>) -> Vec<String> {
    let rows: BTreeMap<&str, &Row> = table.iter().map(|row| (row.name.as_str(), row)).collect();
    let mut complaints = Vec::new();
    if rows.len() != table.len() {
        complaints.push("a crate has two rows".to_string());
    }
    for row in table {
        if !manifests.contains_key(&row.name) {
            complaints.push(format!("{}: has a row but no folder", row.name));
        }
        for used in row.may_use.iter().flatten() {
            match rows.get(used.as_str()) {
                None => complaints
                    .push(format!("{}: its row names `{used}`, which has no row", row.name)),
                Some(below)
                    if row.floor.is_some() && below.floor.is_some() && below.floor >= row.floor =>
                {
                    complaints.push(format!(
                        "{}: its row names `{used}`, which is not on a lower floor",
                        row.name
                    ));
                }
                Some(_) => {}
            }
        }
    }
    for (name, edges) in manifests {
        let Some(row) = rows.get(name.as_str()) else {
            complaints.push(format!("{name}: has no row in the floor table"));
            continue;
        };
        let Some(may_use) = &row.may_use else { continue };
        for used in edges.product.difference(may_use) {
            complaints.push(format!("{name}: uses `{used}`, which its row does not name"));
        }
        for named in may_use.difference(&edges.product) {
            complaints.push(format!("{name}: its row names `{named}`, which it does not use"));
        }
        for used in
            edges.tests.difference(may_use).filter(|used| !FOR_TESTS.contains(&used.as_str()))
        {
            complaints.push(format!("{name}: its tests use `{used}`, which its row does not name"));
        }
    }
    complaints
}

/// The floor table of an ARCHITECTURE.md.
pub fn read_table(text: &str) -> Result<Vec<Row>> {
    let mut lines = text.lines().map(cells);
    let is_header = |cells: &Vec<&str>| *cells == ["floor", "crate", "may use", "one line"];
    lines
        .find(is_header)
        .context("ARCHITECTURE.md has no table `| floor | crate | may use | one line |`")?;
    let rows: Vec<Row> = lines
        .skip(1)
        .take_while(|cells| cells.len() >= 3)
        .map(|cells| read_row(&cells))
        .collect::<Result<_>>()?;
    if rows.is_empty() {
        bail!("the floor table is empty");
    }
    Ok(rows)
}

fn cells(line: &str) -> Vec<&str> {
    match line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|')) {
        Some(inner) => inner.split('|').map(str::trim).collect(),
        None => Vec::new(),
    }
}

fn read_row(cells: &[&str]) -> Result<Row> {
    let floor = cells[0];
    let name = cells[1].trim_matches('`');
    let used = cells[2];
    let names = || {
        used.split([' ', ','])
            .filter(|name| !name.is_empty())
            .map(|name| name.trim_matches('`').to_string())
    };
    let may_use = match used {
        "–" | "-" => Some(BTreeSet::new()),
        "any" => None,
        _ => Some(names().collect()),
    };
    let vague = ["all", "of", "except"];
    if let Some(word) = may_use.iter().flatten().find(|name| vague.contains(&name.as_str())) {
        bail!("the row of `{name}` says `{word}`: name the crates one by one");
    }
    Ok(Row { floor: floor.parse().ok(), name: name.to_string(), may_use })
}

/// The house crates that each package of the workspace names, by folder.
fn read_manifests(root: &Path) -> Result<BTreeMap<String, Edges>> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let folder =
        |path: &cargo_metadata::camino::Utf8Path| path.file_name().unwrap_or_default().to_string();
    let mut manifests = BTreeMap::new();
    for package in &metadata.packages {
        let mut edges = Edges::default();
        for dependency in &package.dependencies {
            let Some(path) = &dependency.path else { continue };
            let kind = if dependency.kind == DependencyKind::Development {
                &mut edges.tests
            } else {
                &mut edges.product
            };
            kind.insert(folder(path));
        }
        let name = package.manifest_path.parent().map(folder).unwrap_or_default();
        manifests.insert(name, edges);
    }
    Ok(manifests)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# House

| floor | crate | may use | one line |
|---|---|---|---|
| 0 | `base` | – | ids |
| 1 | `types` | base | values |
| – | `template` | base types | builds |
| – | `bench` | any | measures |

| another | table |
";

    fn manifests(edges: &[(&str, &str, &str)]) -> BTreeMap<String, Edges> {
        let set = |names: &str| names.split_whitespace().map(str::to_string).collect();
        edges
            .iter()
            .map(|(name, product, tests)| {
                (name.to_string(), Edges { product: set(product), tests: set(tests) })
            })
            .collect()
    }

    #[track_caller]
    fn check(table: &str, edges: &[(&str, &str, &str)], expected: &[&str]) {
        assert_eq!(compare(&read_table(table).unwrap(), &manifests(edges)), expected);
    }

    const HOUSE: [(&str, &str, &str); 4] = [
        ("base", "", ""),
        ("types", "base", "template"),
        ("template", "base types", ""),
        ("bench", "template types", ""),
    ];

    #[test]
    fn a_house_that_keeps_to_its_table_passes() {
        check(TABLE, &HOUSE, &[]);
    }

    #[test]
    fn an_edge_that_the_table_does_not_name_is_reported() {
        let mut house = HOUSE;
        house[0] = ("base", "types", "");
        check(TABLE, &house, &["base: uses `types`, which its row does not name"]);
        house[0] = ("base", "", "");
        house[1] = ("types", "", "template");
        check(TABLE, &house, &["types: its row names `base`, which it does not use"]);
        house[1] = HOUSE[1];
        house[0] = ("base", "", "types");
        check(TABLE, &house, &["base: its tests use `types`, which its row does not name"]);
    }

    #[test]
    fn crates_and_rows_match_one_to_one() {
        check(TABLE, &HOUSE[..3], &["bench: has a row but no folder"]);
        let more = [&HOUSE[..], &[("wal", "base", "")]].concat();
        check(TABLE, &more, &["wal: has no row in the floor table"]);
    }

    #[test]
    fn the_table_itself_must_point_down() {
        let table = TABLE.replace("| 0 | `base` | – |", "| 0 | `base` | types ghost |");
        let expected = [
            "base: its row names `ghost`, which has no row",
            "base: its row names `types`, which is not on a lower floor",
            "base: its row names `ghost`, which it does not use",
            "base: its row names `types`, which it does not use",
        ];
        check(&table, &HOUSE, &expected);
    }

    #[test]
    fn vague_rows_and_missing_tables_are_refused() {
        let table = TABLE.replace("base types", "all of 0–1");
        assert!(read_table(&table).unwrap_err().to_string().contains("one by one"));
        assert!(read_table("# House").is_err());
    }
}
