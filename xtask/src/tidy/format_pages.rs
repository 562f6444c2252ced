//! Pages of docs/format and the code they describe: neither without the other.
//!
//! A page opens with a paragraph that names its code, in backticks; several files of a folder may
//! share braces:
//!
//! ```text
//! Code: `crates/format/src/record/{status,row}.rs`. Observed in real files of versions 539 to 904.
//! ```
//!
//! Rules
//! - What a page names exists, so a page moves with its code.
//! - Each room of `format` (a folder below its `src`) is named by a page.

use std::collections::BTreeSet;

use crate::house::{Complaint, House, SourceFile};

const PAGES: &str = "docs/format/";
const ROOMS: &str = "crates/format/src/";

/// Pages whose code is gone, and rooms without a page.
pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    let mut described: BTreeSet<&str> = BTreeSet::new();
    for page in house
        .files()
        .iter()
        .filter(|file| file.path.starts_with(PAGES) && !file.path.ends_with("README.md"))
    {
        let paths = named_paths(page);
        if paths.is_empty() {
            complaints.push(page.complain(
                0,
                "does not name its code: a paragraph `Code: …` with paths in backticks",
            ));
        }
        for path in &paths {
            if !exists(house, path) {
                complaints
                    .push(page.complain(0, format!("describes `{path}`, which does not exist")));
            }
        }
        described.extend(
            rooms(house).filter(|room| paths.iter().any(|path| room_of(path) == Some(room))),
        );
    }
    for room in rooms(house).collect::<BTreeSet<_>>().difference(&described) {
        let text = format!("no page describes {ROOMS}{room}");
        complaints.push(Complaint { path: PAGES.to_string(), line: 0, text });
    }
}

/// Folders of the format crate.
fn rooms(house: &House) -> impl Iterator<Item = &str> {
    house
        .rust()
        .filter_map(|file| file.path.strip_prefix(ROOMS)?.split_once('/'))
        .map(|(room, _)| room)
}

fn room_of(path: &str) -> Option<&str> {
    path.strip_prefix(ROOMS)?.split(['/', '.']).next()
}

/// True when `path` is a file or a folder with files.
fn exists(house: &House, path: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    house.files().iter().any(|file| file.path == path || file.path.starts_with(&folder))
}

/// The paths that the `Code:` paragraph of a page names, braces expanded.
fn named_paths(page: &SourceFile) -> Vec<String> {
    let paragraph = page
        .text
        .split("\n\n")
        .find(|paragraph| paragraph.starts_with("Code:"))
        .unwrap_or_default();
    paragraph
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|path| path.starts_with("crates/"))
        .flat_map(expand)
        .collect()
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expand(path: &str) -> Vec<String> {
    match path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (names, after))) => {
            names.split(',').map(|name| format!("{before}{}{after}", name.trim())).collect()
        }
        None => vec![path.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_code_go_together() {
        let house = House::of(&[
            ("crates/format/src/page/header.rs", ""),
            ("crates/format/src/log/block.rs", ""),
            ("crates/format/src/mtf/mod.rs", ""),
            ("docs/format/README.md", "# All pages"),
            (
                "docs/format/log.md",
                "# Log\n\nCode: `crates/format/src/log/{block,vlf}.rs`, see\n`LOP_FORMAT_PAGE`.\n\nMore.",
            ),
            ("docs/format/page.md", "# Page\n\nCode: `crates/format/src/page/`."),
            ("docs/format/stray.md", "# Stray"),
        ]);
        let mut complaints = Vec::new();
        verify(&house, &mut complaints);
        let complaints: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
        assert_eq!(
            complaints,
            [
                "docs/format/log.md: describes `crates/format/src/log/vlf.rs`, which does not exist",
                "docs/format/stray.md: does not name its code: a paragraph `Code: …` with paths in backticks",
                "docs/format/: no page describes crates/format/src/mtf",
            ]
        );
    }
}
