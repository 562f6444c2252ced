//! `cargo x gen views FOLDER`: the tables in `crates/sysview/data` out of tables of facts.
//!
//! The folder holds `views.tsv`, `configurations.tsv` and `enums.tsv`; each names its origins in
//! its head. What is written has what version 2022 has, one line each:
//!
//! ```text
//! views.tsv           schema  name  kind  column:type  column:type! …      ! = NOT NULL
//! configurations.tsv  id  name  minimum  maximum  default  dynamic  advanced
//! permissions.tsv     code  name
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// The version whose catalog is followed.
const VERSION: u32 = 2022;

/// Writes the files.
pub fn run(root: &Path, folder: &Path) -> Result<()> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let made = [
        ("views.tsv", views(&read("views.tsv")?)),
        ("configurations.tsv", configurations(&read("configurations.tsv")?)),
        ("permissions.tsv", permissions(&read("enums.tsv")?)),
    ];
    for (name, text) in made {
        let path = root.join("crates/sysview/data").join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The rows of a table, cut into columns.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').collect())
}

/// One line for each view, from a table with one line for each column.
pub fn views(text: &str) -> String {
    let mut views: BTreeMap<[&str; 3], Vec<(u32, String)>> = BTreeMap::new();
    for row in rows(text) {
        let [schema, view, ordinal, column, ty, nullable, _, azure_only, _, _, kind, ..] = row[..]
        else {
            continue;
        };
        if let Ok(ordinal) = ordinal.parse()
            && azure_only == "N"
        {
            let mark = if nullable == "N" { "!" } else { "" };
            let column = format!("{column}:{}{mark}", type_name(ty));
            views.entry([schema, view, kind]).or_default().push((ordinal, column));
        }
    }
    let line = |([schema, view, kind], mut columns): ([&str; 3], Vec<(u32, String)>)| {
        columns.sort_by_key(|(ordinal, _)| *ordinal);
        let columns: Vec<String> = columns.into_iter().map(|(_, column)| column).collect();
        format!("{schema}\t{view}\t{kind}\t{}\n", columns.join("\t"))
    };
    views.into_iter().map(line).collect()
}

/// A type with its length. Of some columns none is documented; they get the longest.
fn type_name(ty: &str) -> String {
    match ty {
        "nvarchar" => "nvarchar(4000)",
        "nvarchar(8000)" => "nvarchar(max)",
        "varbinary" | "binary" => "varbinary(8000)",
        "time" | "datetime2" | "datetimeoffset" => return format!("{ty}(7)"),
        "numeric(38)" => "numeric(38,0)",
        "float(53)" => "float",
        other => other,
    }
    .to_owned()
}

/// The options that the version has.
fn configurations(text: &str) -> String {
    let is_here = |row: &Vec<&str>| {
        let since = row.get(7).and_then(|since| since.parse::<u32>().ok());
        since.is_none_or(|since| since <= VERSION)
    };
    let line = |row: Vec<&str>| format!("{}\n", row[..row.len().min(7)].join("\t"));
    rows(text).filter(is_here).map(line).collect()
}

/// Codes of permissions: the same code is the same permission on whatever it is granted.
fn permissions(text: &str) -> String {
    let mut names = BTreeMap::new();
    for row in rows(text) {
        if let ["permission", code, name, ..] = row[..] {
            names.entry(code).or_insert(name);
        }
    }
    names.into_iter().map(|(code, name)| format!("{code}\t{name}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_the_order_of_the_version() {
        let text = "# a comment\n\
            sys\ta\t2\tlater\tnvarchar\t?\t2019\tN\t2\t\tV\tdoc\n\
            sys\ta\t1\tid\tint\tN\t2019\tN\t1\t\tV\tdoc\n\
            sys\ta\t-\tnewest\tint\tN\t2025\tN\t3\t\tV\tdoc\n\
            sys\tb\t1\tcloud\tint\tN\t\tY\t3\t\tV\tdoc\n";
        assert_eq!(views(text), "sys\ta\tV\tid:int!\tlater:nvarchar(4000)\n");
    }
}
