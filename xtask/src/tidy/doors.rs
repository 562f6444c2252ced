//! Doors to the outside world: files, threads, locks, sockets, the environment.
//!
//! Storage crates take them from `base` and `io` or as arguments, so that a simulator can own all
//! of them. Clippy cannot tell product code from tests, which may write files into their scratch
//! folders as they like; hence this rule.

use crate::house::{Complaint, House};

/// Crates at the edge, where the outside world is handed in: the program, the server, its client,
/// and the simulator, whose program reads its arguments.
const EDGE: [&str; 4] = ["cli", "client", "server", "sim"];
/// Module of std, the crate that may use it, what to use instead.
const DOORS: [(&str, &str, &str); 6] = [
    ("fs", "io", "extentdb_io"),
    ("thread", "base", "extentdb_base::sync::thread"),
    ("sync", "base", "extentdb_base::sync"),
    ("net", "", "nothing: only the server and its client open sockets"),
    ("env", "", "an argument"),
    ("process", "", "nothing: storage starts no programs"),
];

/// Product code of storage crates that goes past the doors.
pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    for file in house.rust() {
        let mut parts = file.path.split('/');
        let (Some("crates"), Some(krate), Some("src")) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if EDGE.contains(&krate) {
            continue;
        }
        for (number, line) in file.product_lines() {
            for (module, keeper, instead) in DOORS {
                if krate != keeper && uses(line, module) {
                    complaints.push(file.complain(number, format!("std::{module}: use {instead}")));
                }
            }
        }
    }
}

/// True when `line` names `std::module`, alone or in a list.
fn uses(line: &str, module: &str) -> bool {
    line.split("std::").skip(1).any(|rest| {
        let list = rest.strip_prefix('{').map(|list| list.split('}').next().unwrap_or(list));
        let mut names = list.unwrap_or(rest).split([',', '{']);
        let matches = |name: &str| {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            &name[..end] == module
        };
        if list.is_some() { names.any(|name| matches(name.trim())) } else { matches(rest) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: usize) {
        let mut complaints = Vec::new();
        verify(&House::of(&[(path, text)]), &mut complaints);
        assert_eq!(complaints.len(), expected, "{path}: {text}: {complaints:?}");
    }

    #[test]
    fn storage_crates_go_through_the_doors() {
        check("crates/check/src/a.rs", "use std::fs;", 1);
        check("crates/check/src/a.rs", "use std::{fmt, fs::File, io};", 1);
        check("crates/check/src/a.rs", "use std::{fmt, io};", 0);
        check(
            "crates/check/src/a.rs",
            "let x = std::sync::Arc::new(1); std::thread::yield_now();",
            2,
        );
        check("crates/check/src/a.rs", "use std::fsync_like;", 0);
        check("crates/check/src/a.rs", "let x = env!(\"CARGO_MANIFEST_DIR\");", 0);
    }

    #[test]
    fn keepers_tests_and_the_edge_are_free() {
        check("crates/io/src/file.rs", "use std::fs;", 0);
        check("crates/base/src/sync.rs", "pub use std::sync::Mutex;", 0);
        check("crates/cli/src/main.rs", "use std::fs;", 0);
        check("crates/check/src/a/tests.rs", "use std::fs;", 0);
        check("crates/check/tests/samples.rs", "use std::fs;", 0);
        check(
            "crates/check/src/a.rs",
            "//! std::fs is not used\n#[cfg(test)]\nmod tests {\n use std::fs;\n}",
            0,
        );
    }
}
