//! Code that stands twice: the same [`WINDOW`] lines of product code, one after the other, in two
//! places. Imports, comments, and lines without a word do not count.

use std::collections::BTreeMap;

use crate::house::{Complaint, House, SourceFile};

/// Equal lines in a row that are no coincidence any more.
const WINDOW: usize = 12;

/// A run of lines that stands elsewhere, too, at its first place; longer runs are named once.
pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    let mut seen: BTreeMap<[&str; WINDOW], (&str, usize)> = BTreeMap::new();
    let sources = house.rust().filter(|file| file.path.contains("/src/"));
    for file in sources {
        let mut named_until = 0;
        let lines = telling_lines(file);
        for window in lines.windows(WINDOW) {
            let number = window[0].0;
            let Ok(texts) = <[&str; WINDOW]>::try_from(
                window.iter().map(|(_, text)| *text).collect::<Vec<_>>(),
            ) else {
                continue;
            };
            let Some((path, first)) = seen.get(&texts) else {
                seen.insert(texts, (&file.path, number));
                continue;
            };
            if number > named_until {
                let text =
                    format!("{WINDOW} lines that stand at {path}:{first}, too: write them once");
                complaints.push(file.complain(number, text));
            }
            named_until = window[WINDOW - 1].0;
        }
    }
}

/// Product lines that have a word, without `use` items, with their numbers.
fn telling_lines(file: &SourceFile) -> Vec<(usize, &str)> {
    let mut in_use = false;
    let mut lines = Vec::new();
    for (number, line) in file.product_lines() {
        let line = line.trim();
        let starts_use = line.starts_with("use ") || line.starts_with("pub use ");
        in_use = (in_use || starts_use) && !line.ends_with(';');
        if !starts_use && !in_use && line.contains(char::is_alphanumeric) {
            lines.push((number, line));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: &str, b: &str) -> Vec<String> {
        let mut complaints = Vec::new();
        let house = House::of(&[("crates/x/src/a.rs", a), ("crates/x/src/b.rs", b)]);
        verify(&house, &mut complaints);
        complaints.iter().map(ToString::to_string).collect()
    }

    fn lines(numbers: std::ops::Range<usize>) -> String {
        numbers.map(|number| format!("    call_{number}();\n")).collect()
    }

    #[test]
    fn equal_lines_are_named_once_with_their_first_line() {
        let twice = found(&lines(0..20), &format!("fn other() {{\n{}}}", lines(2..18)));
        assert_eq!(
            twice,
            [
                "crates/x/src/b.rs:2: 12 lines that stand at crates/x/src/a.rs:3, too: write them once"
            ]
        );
    }

    #[test]
    fn fewer_equal_lines_are_a_coincidence() {
        assert_eq!(found(&lines(0..11), &lines(0..11)), Vec::<String>::new());
    }

    #[test]
    fn imports_and_brackets_are_no_lines() {
        let imports: String = (0..20).map(|number| format!("use crate::a_{number};\n")).collect();
        let brackets = "}\n{\n".repeat(20);
        assert_eq!(found(&imports, &imports), Vec::<String>::new());
        assert_eq!(found(&brackets, &brackets), Vec::<String>::new());
    }
}
