//! The explanations: `explanations.md`, parsed at compile time, one per message.
//!
//! ```text
//! ## 8905
//! **Meaning.** An extent counts as used, but nobody owns it. …
//! **Cause.** …
//! **Next step.** …
//! ```
//!
//! Invariant: the sections are exactly the numbers of `messages.tsv`, in the same order. A message
//! without an explanation and an explanation without a message do not compile.

use crate::parse;
use crate::table::MESSAGES;

/// What a message means to the person who has to act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// Number of the message.
    pub number: u32,
    /// What is wrong.
    pub meaning: &'static str,
    /// What usually made it so.
    pub cause: &'static str,
    /// What to do next.
    pub next_step: &'static str,
}

/// The explanation of the message with this number.
pub fn explain(number: u32) -> Option<Explanation> {
    EXPLANATIONS.binary_search_by_key(&number, |it| it.number).ok().map(|at| EXPLANATIONS[at])
}

const SOURCE: &str = include_str!("../explanations.md");
const COUNT: usize = parse::count_lines(SOURCE, HEADING);
const HEADING: &str = "## ";
static EXPLANATIONS: [Explanation; COUNT] = read_sections(SOURCE);

const fn read_sections(mut source: &'static str) -> [Explanation; COUNT] {
    let messages = &MESSAGES;
    assert!(COUNT == messages.len(), "every message has one explanation");
    let mut sections = [Explanation { number: 0, meaning: "", cause: "", next_step: "" }; COUNT];
    let mut count = 0;
    while !source.is_empty() {
        let (line, rest) = parse::split_once(source, b'\n');
        source = rest;
        if let Some(number) = parse::strip_prefix(line, HEADING) {
            let (meaning, rest) = read_paragraph(source, "**Meaning.** ");
            let (cause, rest) = read_paragraph(rest, "**Cause.** ");
            let (next_step, rest) = read_paragraph(rest, "**Next step.** ");
            sections[count] =
                Explanation { number: parse::number(number), meaning, cause, next_step };
            assert!(
                sections[count].number == messages[count].number,
                "same numbers, same order as the messages"
            );
            count += 1;
            source = rest;
        }
    }
    sections
}

/// The line at the front, which begins with `label`, and what follows it.
const fn read_paragraph(source: &'static str, label: &str) -> (&'static str, &'static str) {
    let (line, rest) = parse::split_once(source, b'\n');
    match parse::strip_prefix(line, label) {
        Some(text) => (text, rest),
        None => panic!("a section has Meaning, Cause and Next step, in this order, one line each"),
    }
}
