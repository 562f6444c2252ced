//! The parser: precedence climbing over tokens.
//!
//! ```text
//! level   operators                              public table "Operator Precedence"
//! 8       COLLATE
//! 7       ~
//! 6       * / %
//! 5       + - (both forms) & ^ |
//! 4       = <> < <= > >= LIKE IN BETWEEN IS
//! 3       NOT
//! 2       AND
//! 1       OR
//! ```
//!
//! A sign is on level 5, below the product: `-100 / -100 * 10` is `-(100 / -(100 * 10))`, which is
//! 0.
//!
//! Invariants
//! - Recursion is bounded by [`MAX_DEPTH`]; chains of operators on one level do not recurse.
//! - Whatever the text, the parser ends with a tree or an error.

use crate::error::CompileError;
use crate::lexer::{self, Token, TokenKind};
use crate::syntax::{Id, Infix, Node, Syntax, Test, TypeName};

/// Deepest nesting of parentheses, functions and signs.
pub(crate) const MAX_DEPTH: usize = 100;

const OR: u8 = 1;
const AND: u8 = 2;
const PREDICATE: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const BIT_NOT: u8 = 7;
const COLLATE: u8 = 8;

/// Functions whose first argument is the name of a part of a date.
const DATE_FUNCTIONS: [&str; 5] = ["datepart", "datename", "dateadd", "datediff", "datediff_big"];

/// Words that are no value and no name.
const RESERVED: [&str; 14] = [
    "and", "or", "is", "in", "like", "between", "escape", "when", "then", "else", "end", "as",
    "collate", "select",
];

/// Functions of the session that are written without parentheses.
const SESSION: [&str; 5] =
    ["current_timestamp", "current_user", "session_user", "system_user", "user"];

/// The tree of a text.
pub(crate) fn parse(text: &str) -> Result<Syntax, CompileError> {
    let mut parser = Parser {
        tokens: lexer::tokens(text)?,
        next: 0,
        syntax: Syntax::default(),
        depth: 0,
    };
    parser.expression(0)?;
    match parser.peek() {
        TokenKind::End => Ok(parser.syntax),
        _ => Err(parser.error("the end")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    syntax: Syntax,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &TokenKind {
        self.tokens.get(self.next).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |token| token.at)
    }

    fn take(&mut self) -> TokenKind {
        let kind = self.peek().clone();
        self.next += 1;
        kind
    }

    fn error(&self, what: &'static str) -> CompileError {
        CompileError::Syntax { what, at: self.at() }
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if *found == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn accept_symbol(&mut self, symbol: &str) -> bool {
        let is_here = self.is_symbol(symbol);
        self.next += usize::from(is_here);
        is_here
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let is_here = self.is_word(word);
        self.next += usize::from(is_here);
        is_here
    }

    fn expect_symbol(&mut self, symbol: &'static str) -> Result<(), CompileError> {
        if self.accept_symbol(symbol) { Ok(()) } else { Err(self.error(symbol)) }
    }

    fn expect_word(&mut self, word: &'static str) -> Result<(), CompileError> {
        if self.accept_word(word) { Ok(()) } else { Err(self.error(word)) }
    }

    /// An expression of operators on `level` and above.
    fn expression(&mut self, level: u8) -> Result<Id, CompileError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(CompileError::TooLarge { what: "nesting", limit: MAX_DEPTH });
        }
        let mut left = self.prefix()?;
        while let Some(next) = self.infix(left, level)? {
            left = next;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// One more operator after `left`, if it is on `level` or above.
    fn infix(&mut self, left: Id, level: u8) -> Result<Option<Id>, CompileError> {
        let at = self.at();
        if let TokenKind::Symbol(symbol) = *self.peek() {
            if let Some((own, infix)) = arithmetic(symbol).filter(|(own, _)| *own >= level) {
                self.next += 1;
                let right = self.expression(own + 1)?;
                return self.syntax.push(Node::Infix(infix, left, right), at).map(Some);
            }
            if let Some(test) = comparison(symbol).filter(|_| level <= PREDICATE) {
                self.next += 1;
                let right = self.expression(SUM)?;
                return self.syntax.push(Node::Compare(test, left, right), at).map(Some);
            }
            return Ok(None);
        }
        if level <= OR && self.accept_word("or") {
            let right = self.expression(AND)?;
            return self.syntax.push(Node::Or(left, right), at).map(Some);
        }
        if level <= AND && self.accept_word("and") {
            let right = self.expression(AND + 1)?;
            return self.syntax.push(Node::And(left, right), at).map(Some);
        }
        if level <= COLLATE && self.accept_word("collate") {
            let name = self.name()?;
            return self.syntax.push(Node::Collate(left, name), at).map(Some);
        }
        if level <= PREDICATE { self.predicate(left) } else { Ok(None) }
    }

    /// IS, IN, LIKE, BETWEEN and their negations.
    fn predicate(&mut self, of: Id) -> Result<Option<Id>, CompileError> {
        let at = self.at();
        if self.accept_word("is") {
            let is_negated = self.accept_word("not");
            self.expect_word("null")?;
            let node = self.syntax.push(Node::IsNull(of), at)?;
            return self.negated(node, is_negated, at).map(Some);
        }
        let is_negated = self.accept_word("not");
        let node = if self.accept_word("in") {
            self.in_list(of, at)?
        } else if self.accept_word("like") {
            self.like(of, at)?
        } else if self.accept_word("between") {
            self.between(of, at)?
        } else if is_negated {
            return Err(self.error("IN, LIKE or BETWEEN"));
        } else {
            return Ok(None);
        };
        self.negated(node, is_negated, at).map(Some)
    }

    fn negated(&mut self, node: Id, is_negated: bool, at: usize) -> Result<Id, CompileError> {
        if is_negated { self.syntax.push(Node::Not(node), at) } else { Ok(node) }
    }

    fn in_list(&mut self, of: Id, at: usize) -> Result<Id, CompileError> {
        self.expect_symbol("(")?;
        let mut any: Option<Id> = None;
        loop {
            let value = self.expression(SUM)?;
            let equal = self.syntax.push(Node::Compare(Test::Equal, of, value), at)?;
            let either = match any {
                Some(before) => self.syntax.push(Node::Or(before, equal), at)?,
                None => equal,
            };
            if !self.accept_symbol(",") {
                self.expect_symbol(")")?;
                return Ok(either);
            }
            any = Some(either);
        }
    }

    fn like(&mut self, of: Id, at: usize) -> Result<Id, CompileError> {
        let pattern = self.expression(SUM)?;
        let escape = if self.accept_word("escape") { Some(self.expression(SUM)?) } else { None };
        self.syntax.push(Node::Like { of, pattern, escape }, at)
    }

    fn between(&mut self, of: Id, at: usize) -> Result<Id, CompileError> {
        let low = self.expression(SUM)?;
        self.expect_word("and")?;
        let high = self.expression(SUM)?;
        let from = self.syntax.push(Node::Compare(Test::GreaterOrEqual, of, low), at)?;
        let to = self.syntax.push(Node::Compare(Test::LessOrEqual, of, high), at)?;
        self.syntax.push(Node::And(from, to), at)
    }

    fn prefix(&mut self) -> Result<Id, CompileError> {
        let at = self.at();
        let node = match self.take() {
            TokenKind::Symbol("(") => {
                let inner = self.expression(0)?;
                self.expect_symbol(")")?;
                return Ok(inner);
            }
            TokenKind::Symbol("-") => Node::Negate(self.expression(PRODUCT)?),
            TokenKind::Symbol("+") => Node::Plus(self.expression(PRODUCT)?),
            TokenKind::Symbol("~") => Node::BitNot(self.expression(BIT_NOT)?),
            TokenKind::Integer(digits) => Node::Integer(digits),
            TokenKind::Decimal(digits) => Node::Decimal(digits),
            TokenKind::Float(digits) => Node::Float(digits),
            TokenKind::Money(digits) => Node::Money(digits),
            TokenKind::Text { text, is_wide } => Node::Text { text, is_wide },
            TokenKind::Binary(bytes) => Node::Binary(bytes),
            TokenKind::Quoted(name) => return self.after_name(name, at, true),
            TokenKind::Word(word) => return self.word(word, at),
            TokenKind::Symbol(_) | TokenKind::End => {
                return Err(CompileError::Syntax { what: "a value", at });
            }
        };
        self.syntax.push(node, at)
    }

    fn word(&mut self, word: String, at: usize) -> Result<Id, CompileError> {
        let lower = word.to_ascii_lowercase();
        match lower.as_str() {
            "null" => self.syntax.push(Node::Null, at),
            "not" => {
                let of = self.expression(PREDICATE)?;
                self.syntax.push(Node::Not(of), at)
            }
            "case" => self.case(at),
            "convert" if self.is_symbol("(") => self.convert(at),
            "cast" if self.is_symbol("(") => self.cast(at),
            word if RESERVED.contains(&word) => Err(CompileError::Syntax { what: "a value", at }),
            word if SESSION.contains(&word) => {
                Err(CompileError::Unsupported { what: format!("the function {word}"), at })
            }
            _ => self.after_name(word, at, false),
        }
    }

    /// A column, or a function with its arguments.
    fn after_name(&mut self, name: String, at: usize, is_quoted: bool) -> Result<Id, CompileError> {
        if self.is_symbol(".") {
            let what = "a function of the user, a method or a qualified name".to_owned();
            return Err(CompileError::Unsupported { what, at });
        }
        if is_quoted || !self.accept_symbol("(") {
            return self.syntax.push(Node::Column(name), at);
        }
        let name = name.to_ascii_lowercase();
        let part = if DATE_FUNCTIONS.contains(&name.as_str()) {
            let part = self.name()?.to_ascii_lowercase();
            self.expect_symbol(",")?;
            Some(part)
        } else {
            None
        };
        let args = self.arguments()?;
        self.syntax.push(Node::Call { name, part, args }, at)
    }

    /// Arguments up to and with the closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<Id>, CompileError> {
        let mut args = Vec::new();
        if self.accept_symbol(")") {
            return Ok(args);
        }
        loop {
            args.push(self.expression(0)?);
            if !self.accept_symbol(",") {
                self.expect_symbol(")")?;
                return Ok(args);
            }
        }
    }

    fn case(&mut self, at: usize) -> Result<Id, CompileError> {
        let operand = if self.is_word("when") { None } else { Some(self.expression(0)?) };
        let mut arms = Vec::new();
        while self.accept_word("when") {
            let condition = self.expression(0)?;
            self.expect_word("then")?;
            arms.push((condition, self.expression(0)?));
        }
        if arms.is_empty() {
            return Err(self.error("WHEN"));
        }
        let other = if self.accept_word("else") { Some(self.expression(0)?) } else { None };
        self.expect_word("end")?;
        self.syntax.push(Node::Case { operand, arms, other }, at)
    }

    fn convert(&mut self, at: usize) -> Result<Id, CompileError> {
        self.expect_symbol("(")?;
        let to = self.type_name()?;
        self.expect_symbol(",")?;
        let of = self.expression(0)?;
        let style = if self.accept_symbol(",") { Some(self.expression(0)?) } else { None };
        self.expect_symbol(")")?;
        self.syntax.push(Node::Convert { to, of, style }, at)
    }

    fn cast(&mut self, at: usize) -> Result<Id, CompileError> {
        self.expect_symbol("(")?;
        let of = self.expression(0)?;
        self.expect_word("as")?;
        let to = self.type_name()?;
        self.expect_symbol(")")?;
        self.syntax.push(Node::Convert { to, of, style: None }, at)
    }

    fn name(&mut self) -> Result<String, CompileError> {
        let at = self.at();
        match self.take() {
            TokenKind::Word(name) | TokenKind::Quoted(name) => Ok(name),
            _ => Err(CompileError::Syntax { what: "a name", at }),
        }
    }

    /// `[decimal](10,2)`, `varchar(max)`, `[sys].[int]`.
    fn type_name(&mut self) -> Result<TypeName, CompileError> {
        let mut name = self.name()?.to_ascii_lowercase();
        if name == "sys" && self.accept_symbol(".") {
            name = self.name()?.to_ascii_lowercase();
        }
        if self.is_symbol(".") {
            let what = "a type of the user".to_owned();
            return Err(CompileError::Unsupported { what, at: self.at() });
        }
        let mut first = None;
        let mut second = None;
        if self.accept_symbol("(") {
            first = Some(self.type_parameter()?);
            if self.accept_symbol(",") {
                second = self.type_parameter()?;
            }
            self.expect_symbol(")")?;
        }
        Ok(TypeName { name, first, second })
    }

    /// A number; `None` for max.
    fn type_parameter(&mut self) -> Result<Option<u32>, CompileError> {
        let at = self.at();
        match self.take() {
            TokenKind::Integer(digits) => {
                digits.parse().map(Some).map_err(|_| CompileError::Syntax { what: "a length", at })
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("max") => Ok(None),
            _ => Err(CompileError::Syntax { what: "a length", at }),
        }
    }
}

fn arithmetic(symbol: &str) -> Option<(u8, Infix)> {
    Some(match symbol {
        "*" => (PRODUCT, Infix::Multiply),
        "/" => (PRODUCT, Infix::Divide),
        "%" => (PRODUCT, Infix::Modulo),
        "+" => (SUM, Infix::Add),
        "-" => (SUM, Infix::Subtract),
        "&" => (SUM, Infix::BitAnd),
        "|" => (SUM, Infix::BitOr),
        "^" => (SUM, Infix::BitXor),
        _ => return None,
    })
}

fn comparison(symbol: &str) -> Option<Test> {
    Some(match symbol {
        "=" => Test::Equal,
        "<>" | "!=" => Test::NotEqual,
        "<" => Test::Less,
        "<=" | "!>" => Test::LessOrEqual,
        ">" => Test::Greater,
        ">=" | "!<" => Test::GreaterOrEqual,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
