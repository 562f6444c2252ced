//! Paths into JSON: `[ append ] [ lax | strict ] $.key."other key"[0]`.

use super::json_text::{Kind, Value};

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// A path taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    pub(crate) is_append: bool,
    pub(crate) is_strict: bool,
    pub(crate) steps: Vec<Step>,
}

impl Path {
    /// The path of a text; `None` where it is none.
    pub(crate) fn parse(text: &str) -> Option<Path> {
        let mut rest = text.trim();
        let mut word = |word: &str| {
            let found = rest.strip_prefix(word).filter(|it| it.starts_with([' ', '\t']));
            if let Some(after) = found {
                rest = after.trim_start();
            }
            found.is_some()
        };
        let is_append = word("append");
        let is_strict = word("strict");
        if !is_strict {
            word("lax");
        }
        let mut rest = rest.strip_prefix('$')?;
        let mut steps = Vec::new();
        while let Some(first) = rest.chars().next() {
            let (step, after) = match first {
                '.' => key(rest.get(1..)?)?,
                '[' => index(rest.get(1..)?)?,
                _ => return None,
            };
            steps.push(step);
            rest = after;
        }
        Some(Path { is_append, is_strict, steps })
    }

    /// The value that the path leads to.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.steps.iter().try_fold(value, |value, step| next(value, step))
    }
}

/// The value one step on.
pub(crate) fn next<'v>(value: &'v Value, step: &Step) -> Option<&'v Value> {
    match (&value.kind, step) {
        (Kind::Object(members), Step::Key(key)) => {
            members.iter().find(|member| member.key == *key).map(|member| &member.value)
        }
        (Kind::Array(values), Step::Index(at)) => values.get(*at),
        _ => None,
    }
}

fn key(text: &str) -> Option<(Step, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut key = String::new();
        let mut characters = quoted.char_indices();
        while let Some((at, it)) = characters.next() {
            match it {
                '"' => return Some((Step::Key(key), quoted.get(at + 1..)?)),
                '\\' => key.push(characters.next()?.1),
                other => key.push(other),
            }
        }
        return None;
    }
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    let end = text.find(|it| !is_part(it)).unwrap_or(text.len());
    let name = text.get(..end).filter(|name| !name.is_empty())?;
    // A key begins with a letter.
    let is_name = !name.starts_with(|it: char| it.is_ascii_digit());
    is_name.then_some((Step::Key(name.to_owned()), text.get(end..)?))
}

fn index(text: &str) -> Option<(Step, &str)> {
    let (digits, rest) = text.split_once(']')?;
    Some((Step::Index(digits.trim().parse().ok()?), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_keys_and_places() {
        let path = Path::parse("strict $.a.\"b c\"[2]").unwrap();
        assert!(path.is_strict && !path.is_append);
        assert_eq!(
            path.steps,
            [Step::Key("a".to_owned()), Step::Key("b c".to_owned()), Step::Index(2)]
        );
        assert!(Path::parse("append lax $.a").unwrap().is_append);
        assert_eq!(Path::parse("$").unwrap().steps, []);
        for text in ["", "a", "$a", "$.", "$[x]", "$.1a", "$.\"a"] {
            assert_eq!(Path::parse(text), None, "{text}");
        }
    }
}
