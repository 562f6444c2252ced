//! Words we do not use, each with the better one, and file names that say nothing.
//!
//! The list is `banned_words.tsv` beside this file. An entry of letters matches whole words, any
//! other matches wherever it stands.

use crate::house::{Complaint, House};

const BANNED: &str = include_str!("banned_words.tsv");
/// The glossary names the words that are not used here; it is the one page that may.
const EXEMPT: [&str; 1] = ["docs/glossary.md"];
const EMPTY_NAMES: [&str; 7] = ["common", "helper", "helpers", "manager2", "misc", "util", "utils"];

/// Banned words and file names without meaning.
pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    let banned: Vec<(&str, &str)> = BANNED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    for file in house.files() {
        let parts = file.path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
        for part in parts.filter(|part| EMPTY_NAMES.contains(part)) {
            complaints.push(
                file.complain(0, format!("`{part}` says nothing: name the thing or the verb")),
            );
        }
        let is_text = [".rs", ".md", ".toml"].iter().any(|ending| file.path.ends_with(ending));
        if !is_text || EXEMPT.contains(&file.path.as_str()) {
            continue;
        }
        for (number, line) in file.lines() {
            for (word, instead) in banned.iter().filter(|(word, _)| contains(line, word)) {
                complaints.push(file.complain(number, format!("`{word}`: say {instead}")));
            }
        }
    }
}

/// True when `line` has `word`, whole if it is made of letters, in any case if it is made of small
/// ones.
fn contains(line: &str, word: &str) -> bool {
    let folded;
    let line = if word.chars().any(char::is_uppercase) {
        line
    } else {
        folded = line.to_ascii_lowercase();
        &folded
    };
    let whole = |at: usize| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.into_iter().chain(after).any(char::is_alphanumeric)
    };
    let is_word = word.chars().all(|c| c.is_alphabetic() || c == ' ');
    line.match_indices(word).any(|(at, _)| !is_word || whole(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut complaints = Vec::new();
        verify(&House::of(&[("crates/x/src/a.rs", text)]), &mut complaints);
        let words: Vec<&str> =
            complaints.iter().filter_map(|it| it.text.split('`').nth(1)).collect();
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn words_match_whole_and_in_any_case() {
        check(concat!("a Tu", "ple of values"), &[concat!("tu", "ple")]);
        check(concat!("let my_tu", "ple = 1;"), &[concat!("tu", "ple")]);
        check("quintuple", &[]);
        check(concat!("// FIX", "ME later"), &[concat!("FIX", "ME")]);
        check("// fixme is a word in small letters", &[]);
        check(concat!("fn ge", "t_page()"), &[concat!("fn ge", "t_")]);
        check(concat!("\"/ho", "me/me\""), &[concat!("/ho", "me/")]);
    }

    #[test]
    fn file_names_must_say_something() {
        let mut complaints = Vec::new();
        let house = House::of(&[
            ("crates/x/src/utils.rs", ""),
            ("crates/x/src/helpers/a.rs", ""),
            ("docs/glossary.md", concat!("tu", "ple")),
        ]);
        verify(&house, &mut complaints);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    }
}
