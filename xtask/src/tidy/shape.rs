//! Shape of a file: a module doc first, lines that fit, one subject.

use crate::house::{Complaint, House, SourceFile};

const WIDEST: usize = 100;
const LONGEST: usize = 900;

/// Module doc present, lines narrow enough.
pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    for file in house.rust() {
        // The doc of `x/tests.rs` is that of `x`; a fuzz target is one line that calls its body.
        let has_doc_elsewhere =
            file.path.ends_with("/tests.rs") || file.path.starts_with("fuzz/targets/");
        if !has_doc_elsewhere && !opens_with_doc(file) {
            complaints.push(file.complain(
                1,
                "begins without a module doc (`//!`): what is this, which invariants hold?",
            ));
        }
        // Tests quote whole rows and statements as they must come out.
        if file.path.contains("/tests/") || file.path.ends_with("tests.rs") {
            continue;
        }
        for (number, line) in before_tests(file).filter(|(_, line)| !is_one_piece(line)) {
            let width = line.chars().count();
            if width > WIDEST {
                complaints
                    .push(file.complain(number, format!("{width} columns; at most {WIDEST}")));
            }
        }
    }
}

/// The lines of a file up to the tests at its foot, which quote bytes and statements, too.
fn before_tests(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.lines().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
}

/// True for what cannot be broken: a text literal, and in a comment the row of a table or a line
/// of a drawing.
fn is_one_piece(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("//") {
        let is_row = line.trim_start_matches(['/', '!', ' ']).starts_with('|');
        return is_row || line.contains(['│', '─', '→', '▶', '▼']);
    }
    line.contains('"') || line.ends_with('\\')
}

/// Files that have grown too long. A long plain table is fine, so this is a warning.
pub(super) fn warnings(house: &House) -> Vec<Complaint> {
    let long = |file: &SourceFile| {
        let lines = file.text.lines().count();
        (lines > LONGEST)
            .then(|| file.complain(0, format!("{lines} lines; two subjects? split it")))
    };
    house.rust().filter_map(long).collect()
}

/// True when the first thing in the file, inner attributes aside, is its documentation.
fn opens_with_doc(file: &SourceFile) -> bool {
    for line in file.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("//!") || line.starts_with("#![doc = ") {
            return true;
        }
        if !line.starts_with("#![") {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_begins_with_its_doc() {
        let house = House::of(&[
            ("a.rs", "//! What it is.\nuse x;"),
            ("b.rs", "#![doc = include_str!(\"../README.md\")]\n#![forbid(unsafe_code)]"),
            ("c.rs", "#![no_main]\n\n//! A program."),
            ("d.rs", "use x;\n//! too late"),
            ("e.rs", ""),
            ("d/tests.rs", "use super::*;"),
        ]);
        let mut complaints = Vec::new();
        verify(&house, &mut complaints);
        let paths: Vec<&str> = complaints.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["d.rs", "e.rs"]);
    }

    #[test]
    fn wide_lines_are_counted_in_characters() {
        let fits = format!("//! {}", "ö".repeat(96));
        let wide = format!("//! {}", "ö".repeat(97));
        let mut complaints = Vec::new();
        verify(&House::of(&[("a.rs", &fits), ("b.rs", &wide)]), &mut complaints);
        assert_eq!(complaints.len(), 1);
        assert_eq!(complaints[0].to_string(), "b.rs:1: 101 columns; at most 100");
    }

    #[test]
    fn a_long_file_is_only_warned_about() {
        let long = format!("//! Long.\n{}", "\n".repeat(900));
        let house = House::of(&[("a.rs", &long)]);
        let mut complaints = Vec::new();
        verify(&house, &mut complaints);
        assert_eq!((complaints.len(), warnings(&house).len()), (0, 1));
    }
}
