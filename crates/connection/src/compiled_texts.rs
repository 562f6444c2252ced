//! Texts that a connection has compiled, with the plans of their statements.
//!
//! A text is kept when it comes a second time: most texts come once, and a connection that keeps
//! nothing needs no memory. What is found by its text was compiled with the same parameters and
//! options.
//!
//! Invariant: names are not resolved here; plans know themselves whether they are still right
//! ([`KeptPlan`](crate::query::KeptPlan)).

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_expr::Settings;
use extentdb_types::Collation;

use crate::variable::Variable;

/// Texts that are kept, and the longest of them.
const TEXTS_MAX: usize = 64;
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Hashes of texts that have come once.
const SEEN_MAX: usize = 64;

/// What a text is compiled to: known to the caller that runs it.
pub type Compiled = Arc<dyn Any + Send + Sync>;

/// What a text is compiled with.
#[derive(Debug, Clone, PartialEq)]
pub struct Compilation {
    /// Its parameters.
    pub parameters: Vec<Variable>,
    /// That of the database.
    pub collation: Collation,
    /// Options that values depend on.
    pub settings: Settings,
    /// QUOTED_IDENTIFIER.
    pub quoted_identifier: bool,
}

/// The texts of a connection.
#[derive(Default)]
pub struct CompiledTexts {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    texts: HashMap<Box<str>, Kept>,
    seen: VecDeque<u64>,
    hasher: RandomState,
    /// Counts what is found or added.
    now: u64,
}

struct Kept {
    compilation: Compilation,
    compiled: Compiled,
    used: u64,
}

impl CompiledTexts {
    /// A text that was compiled so.
    pub fn find(&self, text: &str, compilation: &Compilation) -> Option<Compiled> {
        let mut state = lock(&self.state);
        state.now += 1;
        let now = state.now;
        let kept = state.texts.get_mut(text).filter(|kept| kept.compilation == *compilation)?;
        kept.used = now;
        Some(kept.compiled.clone())
    }

    /// Keeps a text that has come before.
    pub fn keep(&self, text: &str, compilation: Compilation, compiled: Compiled) {
        let mut state = lock(&self.state);
        if text.len() > TEXT_BYTES_MAX || !state.was_seen(text) {
            return;
        }
        let used = state.now;
        state.make_room();
        state.texts.insert(text.into(), Kept { compilation, compiled, used });
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        lock(&self.state).texts.clear();
    }
}

impl State {
    /// Has the text come before? From now on it has.
    fn was_seen(&mut self, text: &str) -> bool {
        let hash = self.hasher.hash_one(text);
        if self.seen.contains(&hash) {
            return true;
        }
        if self.seen.len() >= SEEN_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(hash);
        false
    }

    /// Forgets the text that was not used for longest.
    fn make_room(&mut self) {
        if self.texts.len() < TEXTS_MAX {
            return;
        }
        let oldest = self.texts.iter().min_by_key(|(_, kept)| kept.used);
        if let Some(text) = oldest.map(|(text, _)| text.clone()) {
            self.texts.remove(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use extentdb_expr::StatementOptions;

    use super::*;

    fn compilation(quoted_identifier: bool) -> Compilation {
        Compilation {
            parameters: Vec::new(),
            collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
            settings: Settings::statement(StatementOptions::default()),
            quoted_identifier,
        }
    }

    fn flow() -> Compiled {
        Arc::new("compiled")
    }

    #[test]
    fn a_text_is_kept_the_second_time() {
        let texts = CompiledTexts::default();
        texts.keep("SELECT 1", compilation(true), flow());
        assert!(texts.find("SELECT 1", &compilation(true)).is_none());
        texts.keep("SELECT 1", compilation(true), flow());
        assert!(texts.find("SELECT 1", &compilation(true)).is_some());
        assert!(texts.find("SELECT 1", &compilation(false)).is_none());
        texts.clear();
        assert!(texts.find("SELECT 1", &compilation(true)).is_none());
    }

    #[test]
    fn the_text_that_is_used_least_makes_room() {
        let texts = CompiledTexts::default();
        let text = |number: usize| format!("SELECT {number}");
        for number in 0..=TEXTS_MAX {
            for _ in 0..2 {
                texts.keep(&text(number), compilation(true), flow());
            }
            assert!(texts.find(&text(number), &compilation(true)).is_some());
            assert!(texts.find(&text(0), &compilation(true)).is_some());
        }
        assert!(texts.find(&text(1), &compilation(true)).is_none());
        assert!(texts.find(&text(2), &compilation(true)).is_some());
    }
}
