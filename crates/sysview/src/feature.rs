//! Features that the server does not have: their views are rightly empty.
//!
//! ```text
//! data/absent.tsv   feature TAB view view prefix* …
//! ```

const DATA: &str = include_str!("../data/absent.tsv");

/// The feature that a view is about, when the server does not have it.
pub(crate) fn absent(name: &str) -> Option<&'static str> {
    let mut lines = DATA.lines().filter_map(|line| line.split_once('\t'));
    let found = lines.find(|(_, patterns)| patterns.split(' ').any(|it| is_like(it, name)));
    found.map(|(feature, _)| feature)
}

fn is_like(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, view, views};

    #[test]
    fn every_pattern_is_of_a_view() {
        for (_, patterns) in DATA.lines().filter_map(|line| line.split_once('\t')) {
            for pattern in patterns.split(' ') {
                assert!(views().any(|view| is_like(pattern, view.name)), "no view {pattern}");
            }
        }
    }

    #[test]
    fn a_filled_view_is_of_no_absent_feature() {
        for view in views().filter(|view| view.content() == Content::Filled) {
            assert_eq!(absent(view.name), None, "{}", view.name);
        }
    }

    #[test]
    fn views_of_absent_features_are_empty_and_others_are_refused_until_filled() {
        let cases = [
            ("service_queues", Content::Empty),
            ("assemblies", Content::Empty),
            ("dm_hadr_cluster", Content::Empty),
            ("objects", Content::Filled),
            ("dm_os_buffer_descriptors", Content::Refused),
        ];
        for (name, expected) in cases {
            assert_eq!(view("sys", name).unwrap().content(), expected, "{name}");
        }
    }
}
