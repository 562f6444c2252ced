//! Dead files: a `.rs` that no `mod` leads to is neither compiled nor tested, and rots in silence.

use std::collections::BTreeSet;

use crate::house::{Complaint, House, SourceFile};

/// Rust files that no target of their package reaches.
pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let conventional =
        house.rust().map(|file| file.path.clone()).filter(|path| is_target_root(path));
    let mut waiting: Vec<String> = conventional.chain(named_targets(house)).collect();
    while let Some(path) = waiting.pop() {
        let Some(file) = house.file(&path) else { continue };
        if reached.insert(path) {
            waiting.extend(modules(file));
        }
    }
    for file in house.rust().filter(|file| !reached.contains(&file.path)) {
        complaints.push(file.complain(0, "no `mod` leads to this file: name it or delete it"));
    }
}

/// True for files that cargo compiles without being told: crate roots, tests, benches, examples,
/// binaries.
fn is_target_root(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder_name = folder.rsplit('/').next().unwrap_or(folder);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let kinds = ["tests", "benches", "examples", "bin"];
    let in_kind = |folder: &str| {
        kinds.iter().any(|kind| folder.ends_with(kind) && !folder.contains("/src/tests"))
    };
    match name {
        "lib.rs" | "main.rs" if folder_name == "src" => true,
        "build.rs" => !folder.contains("/src"),
        "main.rs" => in_kind(above),
        _ => in_kind(folder) && !folder.contains("/src/") || folder.ends_with("/src/bin"),
    }
}

/// Files that manifests name as targets: `path = "targets/page.rs"`.
fn named_targets(house: &House) -> impl Iterator<Item = String> {
    let manifests = house.files().iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    manifests.flat_map(|manifest| {
        let folder = manifest.path.strip_suffix("Cargo.toml").unwrap_or_default();
        let paths = manifest
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix("\""));
        paths.filter(|path| path.ends_with(".rs")).map(move |path| format!("{folder}{path}"))
    })
}

/// `path` without its `..` parts.
fn normalised(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Paths of the files that the `mod` lines of `file` may mean; both forms of each, of which one
/// exists.
fn modules(file: &SourceFile) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let owns_folder = matches!(name, "lib.rs" | "main.rs" | "mod.rs") || is_target_root(&file.path);
    let inside = if owns_folder { folder.to_string() } else { format!("{folder}/{stem}") };

    let mut paths = Vec::new();
    let mut explicit = None;
    for line in file.text.lines().map(str::trim) {
        if let Some(path) =
            line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]"))
        {
            explicit = Some(path);
        } else if let Some(module) = declared_module(line) {
            match explicit.take() {
                Some(path) => paths.push(normalised(&format!("{folder}/{path}"))),
                None => paths
                    .extend([format!("{inside}/{module}.rs"), format!("{inside}/{module}/mod.rs")]),
            }
        }
    }
    paths
}

/// `x` of `mod x;`, whatever its visibility.
fn declared_module(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub").map_or(line, |rest| match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or(scope, |(_, rest)| rest),
        None => rest,
    });
    line.trim_start().strip_prefix("mod ")?.strip_suffix(';').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_reached_by_mod_or_by_path() {
        let house = House::of(&[
            (
                "crates/x/src/lib.rs",
                "mod a;\npub mod b;\npub(crate) mod c;\n#[cfg(test)]\nmod tests;",
            ),
            ("crates/x/src/a.rs", "mod inner;"),
            ("crates/x/src/a/inner.rs", ""),
            ("crates/x/src/b/mod.rs", "#[path = \"odd.rs\"]\nmod strange;"),
            ("crates/x/src/b/odd.rs", ""),
            ("crates/x/src/c.rs", "// mod dead;"),
            ("crates/x/src/c/dead.rs", ""),
            ("crates/x/src/tests.rs", ""),
            ("crates/x/src/tests/also_dead.rs", ""),
            ("crates/x/src/bin/tool.rs", ""),
            ("crates/x/tests/golden.rs", "mod shared;"),
            ("crates/x/tests/shared/mod.rs", ""),
            ("crates/x/tests/slow/main.rs", "mod part;"),
            ("crates/x/tests/slow/part.rs", ""),
            ("crates/x/build.rs", ""),
            ("fuzz/Cargo.toml", "[[bin]]\nname = \"page\"\npath = \"targets/page.rs\"\n"),
            ("fuzz/targets/page.rs", "#[path = \"../bodies.rs\"]\nmod bodies;"),
            ("fuzz/bodies.rs", ""),
        ]);
        let mut complaints = Vec::new();
        verify(&house, &mut complaints);
        let paths: Vec<&str> = complaints.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["crates/x/src/c/dead.rs", "crates/x/src/tests/also_dead.rs"]);
    }
}
