//! The grammar tables: administrative statements and options in the notation of manuals.
//!
//! ```text
//! CREATE ROUTE ::= name [ AUTHORIZATION name ] WITH <route_option> ,...     a statement
//! route_option ::= ADDRESS = string | LIFETIME = integer                   a rule
//!
//! WORD            a keyword                   name object string …   a terminal
//! ( ) , = . ::    themselves, and "x" too     <rule>                 what a rule matches
//! [ x ]           x or nothing                { x | y }              x, else y
//! x ...           one x or more               x ,...                 with commas between them
//! ```
//!
//! Invariants
//! - The first alternative that matches is taken, and repetitions take all they can; the tables
//!   are written so that this decides by the next few tokens.
//! - Every rule that is named exists, and every table can be read: tests hold this, and a part of
//!   a table that cannot be read matches nothing.

use std::collections::HashMap;

use extentdb_base::sync::OnceLock;

use crate::token::TokenKind;

/// The tables.
const TABLES: [&str; 9] = [
    include_str!("../grammar/option.bnf"),
    include_str!("../grammar/database.bnf"),
    include_str!("../grammar/backup.bnf"),
    include_str!("../grammar/security.bnf"),
    include_str!("../grammar/event.bnf"),
    include_str!("../grammar/server.bnf"),
    include_str!("../grammar/broker.bnf"),
    include_str!("../grammar/text_index.bnf"),
    include_str!("../grammar/storage.bnf"),
];

/// A part of a rule.
#[derive(Debug)]
pub(super) enum Node {
    Word(&'static str),
    Symbol {
        kind: TokenKind,
        text: &'static str,
    },
    Terminal(Terminal),
    Rule(usize),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Optional(Box<Node>),
    Repeated(Box<Node>),
    List(Box<Node>),
    /// What could not be read.
    Nothing,
}

/// What stands for many texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Terminal {
    Name,
    /// A name, or a reserved word.
    Word,
    Object,
    String,
    Integer,
    Number,
    Binary,
    Variable,
    /// A literal with its sign, or a variable.
    Value,
    Expr,
    Condition,
    Type,
}

/// A rule of the tables; statements are rules.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) node: Node,
}

/// All rules.
#[derive(Debug, Default)]
pub(super) struct Grammar {
    pub(super) rules: Vec<Rule>,
    by_name: HashMap<&'static str, usize>,
    /// Statements by their first word, those of more words first.
    statements: HashMap<&'static str, Vec<usize>>,
}

/// The grammar of all tables, read once.
pub(super) fn grammar() -> &'static Grammar {
    static GRAMMAR: OnceLock<Grammar> = OnceLock::new();
    GRAMMAR.get_or_init(|| Grammar::read(&TABLES))
}

impl Grammar {
    fn read(tables: &[&'static str]) -> Grammar {
        let definitions: Vec<Definition> = tables.iter().flat_map(|table| read(table)).collect();
        let mut grammar = Grammar::default();
        for (at, definition) in definitions.iter().enumerate() {
            grammar.by_name.insert(definition.name, at);
            if definition.name.starts_with(|c: char| c.is_ascii_uppercase()) {
                let first = definition.name.split(' ').next().unwrap_or_default();
                grammar.statements.entry(first).or_default().push(at);
            }
        }
        for definition in &definitions {
            let mut reader = Reader { words: &definition.words, at: 0, grammar: &grammar };
            let node = reader.choice();
            let is_whole = reader.at == reader.words.len();
            let node = if is_whole { node } else { Node::Nothing };
            grammar.rules.push(Rule { name: definition.name, node });
        }
        grammar.sort();
        grammar
    }

    fn sort(&mut self) {
        let rules = &self.rules;
        let length = |at: &usize| rules.get(*at).map_or(0, |rule| rule.name.split(' ').count());
        for heads in self.statements.values_mut() {
            heads.sort_by_key(|at| std::cmp::Reverse(length(at)));
        }
    }

    pub(super) fn rule(&self, name: &str) -> Option<&Rule> {
        self.by_name.get(name).and_then(|at| self.rules.get(*at))
    }

    /// The statements that begin with a word, in capitals.
    pub(super) fn statements(&self, first: &str) -> impl Iterator<Item = &Rule> {
        let heads = self.statements.get(first).into_iter().flatten();
        heads.filter_map(|at| self.rules.get(*at))
    }
}

/// A name with the words after `::=`.
struct Definition {
    name: &'static str,
    words: Vec<&'static str>,
}

/// The definitions of a table. Lines that begin with a blank continue the one before.
fn read(table: &'static str) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match line.split_once("::=") {
            Some((name, rest)) if !line.starts_with(' ') => {
                let words = rest.split_whitespace().collect();
                definitions.push(Definition { name: name.trim(), words });
            }
            _ => {
                if let Some(last) = definitions.last_mut() {
                    last.words.extend(line.split_whitespace());
                }
            }
        }
    }
    definitions
}

/// Reads the words of one definition.
struct Reader<'a> {
    words: &'a [&'static str],
    at: usize,
    grammar: &'a Grammar,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&'static str> {
        self.words.get(self.at).copied()
    }

    /// `sequence | sequence …`
    fn choice(&mut self) -> Node {
        let mut choices = vec![self.sequence()];
        while self.peek() == Some("|") {
            self.at += 1;
            choices.push(self.sequence());
        }
        if choices.len() == 1 {
            choices.pop().unwrap_or(Node::Nothing)
        } else {
            Node::Choice(choices)
        }
    }

    fn sequence(&mut self) -> Node {
        let mut nodes = Vec::new();
        while let Some(word) = self.peek()
            && !matches!(word, "|" | "]" | "}")
        {
            self.at += 1;
            let node = self.node(word);
            nodes.push(self.repeated(node));
        }
        if nodes.len() == 1 { nodes.pop().unwrap_or(Node::Nothing) } else { Node::Sequence(nodes) }
    }

    /// A node with the dots after it.
    fn repeated(&mut self, node: Node) -> Node {
        let repeated = match self.peek() {
            Some("...") => Node::Repeated(Box::new(node)),
            Some(",...") => Node::List(Box::new(node)),
            _ => return node,
        };
        self.at += 1;
        match repeated {
            Node::Repeated(inner) if matches!(*inner, Node::Optional(_)) => {
                let Node::Optional(inner) = *inner else { return Node::Nothing };
                Node::Optional(Box::new(Node::Repeated(inner)))
            }
            repeated => repeated,
        }
    }

    fn node(&mut self, word: &'static str) -> Node {
        match word {
            "[" => {
                let inner = self.choice();
                self.close("]", Node::Optional(Box::new(inner)))
            }
            "{" => {
                let inner = self.choice();
                self.close("}", inner)
            }
            _ => self.single(word),
        }
    }

    fn close(&mut self, end: &str, node: Node) -> Node {
        if self.peek() == Some(end) {
            self.at += 1;
            node
        } else {
            Node::Nothing
        }
    }

    fn single(&self, word: &'static str) -> Node {
        if let Some(rule) = word.strip_prefix('<').and_then(|word| word.strip_suffix('>')) {
            return self.grammar.by_name.get(rule).map_or(Node::Nothing, |at| Node::Rule(*at));
        }
        if word.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') {
            return Node::Word(word);
        }
        if let Some(terminal) = terminal(word) {
            return Node::Terminal(terminal);
        }
        let text = word.trim_matches('"');
        symbol(text).map_or(Node::Nothing, |kind| Node::Symbol { kind, text })
    }
}

fn terminal(word: &str) -> Option<Terminal> {
    Some(match word {
        "name" => Terminal::Name,
        "word" => Terminal::Word,
        "object" => Terminal::Object,
        "string" => Terminal::String,
        "integer" => Terminal::Integer,
        "number" => Terminal::Number,
        "binary" => Terminal::Binary,
        "variable" => Terminal::Variable,
        "value" => Terminal::Value,
        "expr" => Terminal::Expr,
        "condition" => Terminal::Condition,
        "type" => Terminal::Type,
        _ => return None,
    })
}

fn symbol(text: &str) -> Option<TokenKind> {
    Some(match text {
        "(" => TokenKind::LeftParen,
        ")" => TokenKind::RightParen,
        "," => TokenKind::Comma,
        "=" => TokenKind::Equal,
        "." => TokenKind::Dot,
        "::" => TokenKind::DoubleColon,
        ":" => TokenKind::Colon,
        "*" => TokenKind::Star,
        "+" => TokenKind::Plus,
        "-" => TokenKind::Minus,
        "%" => TokenKind::Percent,
        "<" => TokenKind::Less,
        "<=" => TokenKind::LessOrEqual,
        ">" => TokenKind::Greater,
        ">=" => TokenKind::GreaterOrEqual,
        "<>" => TokenKind::NotEqual,
        "+=" => TokenKind::PlusEqual,
        "-=" => TokenKind::MinusEqual,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothings(node: &Node) -> usize {
        match node {
            Node::Nothing => 1,
            Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().map(nothings).sum(),
            Node::Optional(node) | Node::Repeated(node) | Node::List(node) => nothings(node),
            _ => 0,
        }
    }

    #[test]
    fn every_table_can_be_read() {
        let grammar = grammar();
        assert!(grammar.rules.len() > 100);
        for rule in &grammar.rules {
            assert_eq!(nothings(&rule.node), 0, "{}: {:?}", rule.name, rule.node);
        }
    }

    #[test]
    fn no_rule_is_defined_twice() {
        let grammar = grammar();
        for (at, rule) in grammar.rules.iter().enumerate() {
            assert_eq!(grammar.by_name.get(rule.name), Some(&at), "{}", rule.name);
        }
    }
}
