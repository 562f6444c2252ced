//! Any text: never a panic, never a hang, and what is displayed parses to the same tree. The body
//! is that of the fuzz target, over the corpus and mutations of it.

use proptest::prelude::*;

#[path = "../../../fuzz/statements.rs"]
mod statements;

const CORPUS: [&str; 5] = [
    include_str!("corpus/query.sql"),
    include_str!("corpus/dml.sql"),
    include_str!("corpus/procedural.sql"),
    include_str!("corpus/ddl.sql"),
    include_str!("corpus/admin.sql"),
];

/// The batches of the corpus.
fn seeds() -> Vec<&'static str> {
    CORPUS.iter().flat_map(|text| text.split("\nGO\n")).collect()
}

/// The words of the corpus, and symbols that decide.
fn words() -> Vec<&'static str> {
    let symbols =
        ["(", ")", ",", ".", ";", "=", "*", "'", "[", "\"", "/*", "--", "{", "}", "@", "$"];
    let words = CORPUS.iter().flat_map(|text| text.split_whitespace());
    words.chain(symbols).collect()
}

#[test]
fn beginnings_of_the_corpus_end_with_a_tree_or_an_error() {
    for seed in seeds() {
        for end in (0..seed.len()).step_by(7) {
            statements::tsql(&seed.as_bytes()[..end]);
        }
        statements::tsql(seed.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn mutated_batches_end_with_a_tree_or_an_error(
        seed in prop::sample::select(seeds()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, any::<prop::sample::Index>()), 1..6),
    ) {
        let words = words();
        let mut text = seed.to_owned();
        for (at, removed, word) in edits {
            let mut start = at.index(text.len() + 1);
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + removed).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, word.get::<&str>(&words));
        }
        statements::tsql(text.as_bytes());
    }

    #[test]
    fn words_in_any_order_end_with_a_tree_or_an_error(
        picked in prop::collection::vec(prop::sample::select(words()), 1..60),
    ) {
        statements::tsql(picked.join(" ").as_bytes());
    }

    #[test]
    fn any_bytes_end_with_a_tree_or_an_error(data in prop::collection::vec(any::<u8>(), 0..200)) {
        statements::tsql(&data);
    }
}
