//! Whether a line of a script begins within a string, a delimited name or a comment: there it is no
//! command.

/// What a line begins within.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Within {
    /// Nothing: it may be a command.
    #[default]
    Text,
    /// A string or delimited name that ends with this character.
    Quotes(char),
    /// Comments, so many of them nested.
    Comment(u32),
}

impl Within {
    /// What the next line begins within.
    pub(super) fn after(self, line: &str) -> Within {
        let mut within = self;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            within = match (within, c, next) {
                (Within::Text, '-', Some('-')) => break,
                (Within::Text, '/', Some('*')) => {
                    chars.next();
                    Within::Comment(1)
                }
                (Within::Text, '\'' | '"', _) => Within::Quotes(c),
                (Within::Text, '[', _) => Within::Quotes(']'),
                (Within::Quotes(end), _, _) if c == end && next == Some(end) => {
                    chars.next();
                    within
                }
                (Within::Quotes(end), _, _) if c == end => Within::Text,
                (Within::Comment(depth), '/', Some('*')) => {
                    chars.next();
                    Within::Comment(depth + 1)
                }
                (Within::Comment(depth), '*', Some('/')) => {
                    chars.next();
                    if depth > 1 { Within::Comment(depth - 1) } else { Within::Text }
                }
                _ => within,
            };
        }
        within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_go_on_over_lines() {
        let cases = [
            ("SELECT 'a''b', [c]]d], \"e\"", Within::Text),
            ("SELECT 'a''", Within::Quotes('\'')),
            ("SELECT [x", Within::Quotes(']')),
            ("-- it's", Within::Text),
            ("/* a /* b */ '", Within::Comment(1)),
            ("/* a /* b */ */ SELECT 1", Within::Text),
        ];
        for (line, expected) in cases {
            assert_eq!(Within::Text.after(line), expected, "{line}");
        }
        assert_eq!(Within::Quotes('\'').after("b' -- c"), Within::Text);
    }
}
