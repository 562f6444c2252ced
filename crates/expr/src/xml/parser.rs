//! Parser of XQuery, the part that is known here: paths with predicates, FLWOR, constructors,
//! conditions, the functions of the product's list, and the statements of `modify`.
//!
//! Invariants: recursion is bounded by [`DEPTH_MAX`]; what is XQuery and not known is refused by
//! name, all else is a syntax error near the first letters that fit nowhere.

use super::document::{Name, XML_URI};
use super::query::{
    Arithmetic, Atomic, Axis, Body, Clause, Expr, Flwor, Function, NodeTest, Outside, Place, Query,
    Step, Test,
};

mod construct;
mod path;

/// Expressions within each other.
const DEPTH_MAX: u32 = 60;

/// Why a text is no query here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParseError {
    /// 2209: what stands where nothing like it can.
    Syntax(String),
    /// XQuery that is not known here.
    NotSupported(String),
    /// 2395: no function has this name.
    UnknownFunction(String),
    /// 2229: a prefix that stands for nothing.
    UnknownPrefix(String),
}

type Parsed<T = Expr> = Result<T, ParseError>;

/// Prefixes that every query knows.
const PREFIXES: [(&str, &str); 6] = [
    ("xml", XML_URI),
    ("xs", "http://www.w3.org/2001/XMLSchema"),
    ("xsi", "http://www.w3.org/2001/XMLSchema-instance"),
    ("fn", "http://www.w3.org/2004/07/xpath-functions"),
    ("xdt", "http://www.w3.org/2004/07/xpath-datatypes"),
    ("sql", "urn:schemas-microsoft-com:xml-sql"),
];

/// The query that a text is.
pub(crate) fn parse(text: &str, is_modify: bool) -> Parsed<Query> {
    let namespaces = PREFIXES.map(|(prefix, uri)| (prefix.to_owned(), uri.to_owned()));
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        namespaces: namespaces.to_vec(),
        outside: Vec::new(),
    };
    parser.prolog()?;
    let body = if is_modify { parser.change()? } else { Body::Value(parser.sequence()?) };
    parser.skip_space();
    match parser.rest().is_empty() {
        true => Ok(Query { body, outside: parser.outside }),
        false => parser.unexpected(),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
    /// The default namespace of elements has an empty prefix.
    namespaces: Vec<(String, String)>,
    outside: Vec<Outside>,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Blanks and comments `(: … :)`.
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            match self.rest().strip_prefix("(:").and_then(|rest| rest.find(":)")) {
                Some(end) => self.at += end + 4,
                None => return,
            }
        }
    }

    fn unexpected<T>(&self) -> Parsed<T> {
        let rest = self.rest().trim_start();
        let word = rest.find(|letter: char| !is_name_part(letter)).unwrap_or(rest.len());
        let word = word.max(rest.chars().next().map_or(0, char::len_utf8));
        let near = rest.get(..word).filter(|word| !word.is_empty()).unwrap_or("<eof>");
        Err(ParseError::Syntax(near.to_owned()))
    }

    fn refused<T>(&self, what: impl Into<String>) -> Parsed<T> {
        Err(ParseError::NotSupported(what.into()))
    }

    /// Is a mark next? It is passed over then.
    fn accept(&mut self, mark: &str) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(mark);
        if is_next {
            self.at += mark.len();
        }
        is_next
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.accept(mark) { Ok(()) } else { self.unexpected() }
    }

    /// Is a word next, and not the beginning of a longer one?
    fn is_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let after = self.rest().strip_prefix(word);
        after.is_some_and(|rest| !rest.starts_with(is_name_part))
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let is_next = self.is_word(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// Words one after the other, or none of them.
    fn accept_words(&mut self, words: &[&str]) -> bool {
        let from = self.at;
        let is_next = words.iter().all(|word| self.accept_word(word));
        if !is_next {
            self.at = from;
        }
        is_next
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { self.unexpected() }
    }

    /// A name without a prefix.
    fn local_name(&mut self) -> Parsed<String> {
        let rest = self.rest();
        let end = rest.find(|letter| !is_name_part(letter)).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default().trim_end_matches('.');
        if !name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
            return self.unexpected();
        }
        self.at += name.len();
        Ok(name.to_owned())
    }

    /// A name with its prefix, if it has one.
    fn qualified(&mut self) -> Parsed<(Option<String>, String)> {
        self.skip_space();
        let first = self.local_name()?;
        let is_prefix = self.rest().starts_with(':')
            && self.rest().get(1..).is_some_and(|rest| rest.starts_with(is_name_start));
        if !is_prefix {
            return Ok((None, first));
        }
        self.at += 1;
        Ok((Some(first), self.local_name()?))
    }

    fn uri_of(&self, prefix: &str) -> Parsed<String> {
        let known = self.namespaces.iter().rev().find(|(own, _)| own == prefix);
        match known {
            Some((_, uri)) => Ok(uri.clone()),
            None if prefix.is_empty() => Ok(String::new()),
            None => Err(ParseError::UnknownPrefix(prefix.to_owned())),
        }
    }

    /// A name as one of an element or attribute.
    fn name(&mut self, is_element: bool) -> Parsed<Name> {
        let (prefix, local) = self.qualified()?;
        let uri = match &prefix {
            None if !is_element => String::new(),
            _ => self.uri_of(prefix.as_deref().unwrap_or_default())?,
        };
        Ok(Name { uri, prefix: prefix.unwrap_or_default(), local })
    }

    /// A text in quotes, a doubled quote is one.
    fn literal(&mut self) -> Parsed<String> {
        self.skip_space();
        let quote = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => return self.unexpected(),
        };
        self.at += 1;
        let mut raw = String::new();
        loop {
            let Some((part, after)) = self.rest().split_once(quote) else {
                return self.unexpected();
            };
            raw.push_str(part);
            self.at += part.len() + 1;
            if !after.starts_with(quote) {
                break;
            }
            raw.push(quote);
            self.at += 1;
        }
        super::document::unescaped(&raw).map_or_else(|| self.unexpected(), Ok)
    }

    fn prolog(&mut self) -> Parsed<()> {
        loop {
            if self.accept_words(&["declare", "namespace"]) {
                self.skip_space();
                let prefix = self.local_name()?;
                self.expect("=")?;
                let uri = self.literal()?;
                self.namespaces.push((prefix, uri));
            } else if self.accept_words(&["declare", "default", "element", "namespace"]) {
                let uri = self.literal()?;
                self.namespaces.push((String::new(), uri));
            } else if self.is_word("declare") && !self.rest().starts_with("declare(") {
                return self.refused("a declaration of XQuery other than of namespaces");
            } else {
                return Ok(());
            }
            self.expect(";")?;
        }
    }

    /// `insert`, `delete`, `replace value of`
    fn change(&mut self) -> Parsed<Body> {
        if self.accept_word("delete") {
            return Ok(Body::Delete(self.sequence()?));
        }
        if self.accept_words(&["replace", "value", "of"]) {
            let target = self.sequence()?;
            self.expect_word("with")?;
            return Ok(Body::Replace { target, with: self.sequence()? });
        }
        self.expect_word("insert")?;
        let what = self.sequence()?;
        let place = if self.accept_words(&["as", "first", "into"]) {
            Place::First
        } else if self.accept_words(&["as", "last", "into"]) || self.accept_word("into") {
            Place::Last
        } else if self.accept_word("before") {
            Place::Before
        } else if self.accept_word("after") {
            Place::After
        } else {
            return self.unexpected();
        };
        Ok(Body::Insert { what, place, target: self.sequence()? })
    }

    /// Expressions with commas between them.
    fn sequence(&mut self) -> Parsed {
        let first = self.single()?;
        self.skip_space();
        if !self.rest().starts_with(',') {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.accept(",") {
            parts.push(self.single()?);
        }
        Ok(Expr::Sequence(parts))
    }

    fn single(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.refused("an XQuery of so many levels");
        }
        let done = self.single_inner();
        self.depth -= 1;
        done
    }

    fn single_inner(&mut self) -> Parsed {
        if self.is_before("for", "$") || self.is_before("let", "$") {
            return self.flwor();
        }
        if self.is_before("some", "$") || self.is_before("every", "$") {
            return self.quantified();
        }
        if self.is_before("if", "(") {
            return self.choice();
        }
        for word in ["typeswitch", "validate", "unordered", "ordered"] {
            if self.is_before(word, "(") || self.is_before(word, "{") {
                return self.refused(format!("the XQuery expression {word}"));
            }
        }
        self.or()
    }

    /// Is a word next with a mark after it?
    fn is_before(&mut self, word: &str, mark: &str) -> bool {
        let from = self.at;
        let is_next = self.accept_word(word) && self.accept(mark);
        self.at = from;
        is_next
    }

    /// `$name`
    fn variable(&mut self) -> Parsed<String> {
        self.expect("$")?;
        let (prefix, name) = self.qualified()?;
        Ok(prefix.map_or(name.clone(), |prefix| format!("{prefix}:{name}")))
    }

    fn flwor(&mut self) -> Parsed {
        let mut clauses = Vec::new();
        loop {
            if self.is_before("for", "$") {
                self.expect_word("for")?;
                self.bindings(&mut clauses, "in")?;
            } else if self.is_before("let", "$") {
                self.expect_word("let")?;
                self.bindings(&mut clauses, ":=")?;
            } else if self.accept_word("where") {
                clauses.push(Clause::Where(self.single()?));
            } else {
                break;
            }
        }
        let mut order = Vec::new();
        if self.accept_words(&["order", "by"]) {
            loop {
                let key = self.single()?;
                let descends = self.accept_word("descending");
                if !descends {
                    self.accept_word("ascending");
                }
                order.push((key, descends));
                if !self.accept(",") {
                    break;
                }
            }
        }
        self.expect_word("return")?;
        let result = self.single()?;
        Ok(Expr::Flwor(Box::new(Flwor { clauses, order, result })))
    }

    fn bindings(&mut self, clauses: &mut Vec<Clause>, mark: &str) -> Parsed<()> {
        loop {
            let variable = self.variable()?;
            if self.is_word("at") {
                return self.refused("a position in a FLWOR expression");
            }
            self.expect(mark)?;
            let of = self.single()?;
            clauses.push(match mark {
                "in" => Clause::For { variable, of },
                _ => Clause::Let { variable, of },
            });
            if !self.accept(",") {
                return Ok(());
            }
        }
    }

    fn quantified(&mut self) -> Parsed {
        let is_every = self.accept_word("every");
        if !is_every {
            self.expect_word("some")?;
        }
        let mut bindings = Vec::new();
        loop {
            let variable = self.variable()?;
            self.expect_word("in")?;
            bindings.push((variable, self.single()?));
            if !self.accept(",") {
                break;
            }
        }
        self.expect_word("satisfies")?;
        let satisfies = Box::new(self.single()?);
        Ok(Expr::Quantified { is_every, bindings, satisfies })
    }

    fn choice(&mut self) -> Parsed {
        self.expect_word("if")?;
        self.expect("(")?;
        let condition = Box::new(self.sequence()?);
        self.expect(")")?;
        self.expect_word("then")?;
        let then = Box::new(self.single()?);
        self.expect_word("else")?;
        let other = Box::new(self.single()?);
        Ok(Expr::If { condition, then, other })
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while self.accept_word("or") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.comparison()?;
        while self.accept_word("and") {
            left = Expr::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Parsed {
        const MARKS: [(&str, Test); 8] = [
            ("<<", Test::Precedes),
            (">>", Test::Follows),
            ("!=", Test::NotEqual),
            ("<=", Test::LessOrEqual),
            (">=", Test::GreaterOrEqual),
            ("=", Test::Equal),
            ("<", Test::Less),
            (">", Test::Greater),
        ];
        const WORDS: [(&str, Test); 7] = [
            ("eq", Test::Equal),
            ("ne", Test::NotEqual),
            ("lt", Test::Less),
            ("le", Test::LessOrEqual),
            ("gt", Test::Greater),
            ("ge", Test::GreaterOrEqual),
            ("is", Test::Same),
        ];
        let left = self.sum()?;
        let mark = MARKS.iter().find(|(mark, _)| self.accept(mark)).map(|(_, test)| *test);
        let word = WORDS.iter().find(|(word, _)| mark.is_none() && self.accept_word(word));
        let Some(test) = mark.or(word.map(|(_, test)| *test)) else { return Ok(left) };
        let right = Box::new(self.sum()?);
        Ok(Expr::Compare { left: Box::new(left), test, right, is_value: word.is_some() })
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let operator = if self.accept("+") {
                Arithmetic::Add
            } else if self.accept("-") {
                Arithmetic::Subtract
            } else {
                return Ok(left);
            };
            left = Expr::Arithmetic(Box::new(left), operator, Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let operator = if self.accept("*") {
                Arithmetic::Multiply
            } else if self.accept_word("div") {
                Arithmetic::Divide
            } else if self.accept_word("mod") {
                Arithmetic::Modulo
            } else if self.is_word("idiv") || self.rest().starts_with('|') {
                return self.refused("idiv and unions in XQuery");
            } else if self.is_word("union") || self.is_word("intersect") || self.is_word("except") {
                return self.refused("union, intersect and except in XQuery");
            } else {
                return Ok(left);
            };
            left = Expr::Arithmetic(Box::new(left), operator, Box::new(self.unary()?));
        }
    }

    fn unary(&mut self) -> Parsed {
        if self.accept("-") {
            return Ok(Expr::Negate(Box::new(self.cast()?)));
        }
        self.accept("+");
        self.cast()
    }

    /// `value cast as xs:type ?`
    fn cast(&mut self) -> Parsed {
        let of = self.path()?;
        if self.accept_words(&["cast", "as"]) {
            let (prefix, name) = self.qualified()?;
            self.accept("?");
            let to = match prefix.as_deref() {
                Some("xs" | "xdt") => atomic(&name),
                _ => None,
            };
            let Some(to) = to else { return self.refused(format!("cast as {name} in XQuery")) };
            return Ok(Expr::Cast { of: Box::new(of), to });
        }
        if self.is_word("instance") {
            return self.refused("instance of in XQuery");
        }
        Ok(of)
    }
}

/// What values of a type of XML Schema are here.
fn atomic(name: &str) -> Option<Atomic> {
    Some(match name {
        "double" | "float" | "decimal" => Atomic::Number,
        "integer" | "int" | "long" | "short" | "byte" | "unsignedInt" | "unsignedLong"
        | "unsignedShort" | "unsignedByte" | "positiveInteger" | "nonNegativeInteger" => {
            Atomic::Integer
        }
        "string" | "token" | "normalizedString" | "untypedAtomic" | "date" | "dateTime"
        | "time" | "anyURI" => Atomic::Text,
        "boolean" => Atomic::Boolean,
        _ => return None,
    })
}

fn is_name_start(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_'
}

fn is_name_part(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

#[cfg(test)]
mod tests;
