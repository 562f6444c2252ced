//! Manifests and crate roots: licence, shared lints, a README that is the crate doc, no `unsafe`.

use crate::house::{Complaint, House};

const SHARED_FIELDS: [&str; 4] = [
    "edition.workspace = true",
    "license.workspace = true",
    "publish.workspace = true",
    "rust-version.workspace = true",
];
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
/// Crates that may hold `unsafe`, behind one safe module each.
const MAY_BE_UNSAFE: [&str; 2] = ["crates/buffer", "crates/io"];

/// What every package must have.
pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    let mut missing = |path: &str, text: String| {
        complaints.push(Complaint { path: path.to_string(), line: 0, text })
    };
    for licence in LICENCES.iter().filter(|licence| house.file(licence).is_none()) {
        missing(licence, "is missing".to_string());
    }
    for package in house.packages() {
        let path = format!("{package}/Cargo.toml");
        let Some(manifest) = house.file(&path) else { continue };
        for field in SHARED_FIELDS
            .iter()
            .filter(|field| !manifest.text.lines().any(|line| line.trim() == **field))
        {
            missing(&path, format!("lacks `{field}`"));
        }
        if !manifest.text.contains("[lints]\nworkspace = true") {
            missing(&path, "lacks `[lints] workspace = true`".to_string());
        }
        for root in ["lib.rs", "main.rs"].map(|name| format!("{package}/src/{name}")) {
            let Some(file) = house.file(&root) else { continue };
            if !MAY_BE_UNSAFE.contains(&package) && !file.text.contains("#![forbid(unsafe_code)]") {
                missing(&root, "lacks `#![forbid(unsafe_code)]`".to_string());
            }
            let is_library = package.starts_with("crates/") && root.ends_with("lib.rs");
            if is_library && !file.text.contains("#![doc = include_str!(\"../README.md\")]") {
                missing(&root, "does not take its README as crate doc".to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nedition.workspace = true\nlicense.workspace = true\npublish.workspace = true\n\
                            rust-version.workspace = true\n\n[lints]\nworkspace = true\n";
    const ROOT: &str = "#![doc = include_str!(\"../README.md\")]\n#![forbid(unsafe_code)]\n";

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("LICENSE-MIT", "MIT"), ("LICENSE-APACHE", "Apache")];
        all.extend(files);
        let mut complaints = Vec::new();
        verify(&House::of(&all), &mut complaints);
        complaints.iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn a_complete_package_passes() {
        assert!(
            complaints(&[("crates/x/Cargo.toml", MANIFEST), ("crates/x/src/lib.rs", ROOT)])
                .is_empty()
        );
        assert!(
            complaints(&[("fuzz/Cargo.toml", ""), ("fuzz/src/lib.rs", "")]).is_empty(),
            "has its own rules"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let without_licence = MANIFEST.replace("license.workspace = true\n", "");
        assert_eq!(
            complaints(&[
                ("crates/x/Cargo.toml", &without_licence),
                ("crates/x/src/lib.rs", "//! x")
            ]),
            [
                "crates/x/Cargo.toml: lacks `license.workspace = true`",
                "crates/x/src/lib.rs: lacks `#![forbid(unsafe_code)]`",
                "crates/x/src/lib.rs: does not take its README as crate doc",
            ]
        );
        let without_lints = MANIFEST.replace("[lints]", "[other]");
        let found = complaints(&[("bench/Cargo.toml", &without_lints)]);
        assert_eq!(found, ["bench/Cargo.toml: lacks `[lints] workspace = true`"]);
    }
}
