//! Paths, steps, predicates, and what a path begins with.

use super::{
    Axis, Expr, Function, NodeTest, Outside, ParseError, Parsed, Parser, Step, atomic,
    is_name_start,
};

const AXES: [(&str, Axis); 6] = [
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("self", Axis::Self_),
    ("parent", Axis::Parent),
    ("attribute", Axis::Attribute),
];

/// Axes of XPath that the product does not have, either.
const OTHER_AXES: [&str; 6] = [
    "ancestor",
    "ancestor-or-self",
    "following",
    "following-sibling",
    "preceding",
    "preceding-sibling",
];

/// `descendant-or-self::node()`, which `//` stands for.
fn anywhere() -> Step {
    Step {
        axis: Axis::DescendantOrSelf,
        test: NodeTest::Any,
        predicates: Vec::new(),
    }
}

impl Parser<'_> {
    pub(super) fn path(&mut self) -> Parsed {
        let mut steps = Vec::new();
        let from = if self.accept("//") {
            steps.push(anywhere());
            steps.push(self.step()?);
            Expr::Root
        } else if self.accept("/") {
            if self.is_step() {
                steps.push(self.step()?);
            }
            Expr::Root
        } else if self.is_primary() {
            let primary = self.primary()?;
            let predicates = self.predicates()?;
            match predicates.is_empty() {
                true => primary,
                false => Expr::Filter { of: Box::new(primary), predicates },
            }
        } else {
            steps.push(self.step()?);
            Expr::Item
        };
        loop {
            self.skip_space();
            if self.accept("//") {
                steps.push(anywhere());
                steps.push(self.step()?);
            } else if self.accept("/") {
                steps.push(self.step()?);
            } else {
                break;
            }
        }
        match steps.is_empty() {
            true => Ok(from),
            false => Ok(Expr::Path { from: Box::new(from), steps }),
        }
    }

    fn is_step(&mut self) -> bool {
        self.skip_space();
        let rest = self.rest();
        rest.starts_with(is_name_start) || rest.starts_with(['@', '*', '.'])
    }

    /// Does a path begin with a value here, and not with a step?
    fn is_primary(&mut self) -> bool {
        self.skip_space();
        let rest = self.rest();
        if rest.starts_with(['(', '$', '"', '\'', '<'])
            || rest.starts_with(|it: char| it.is_ascii_digit())
        {
            return true;
        }
        if rest.starts_with('.') {
            return !rest.starts_with("..");
        }
        for word in ["attribute", "element", "text", "comment"] {
            if self.is_computed(word) {
                return true;
            }
        }
        let from = self.at;
        let name = self.qualified();
        let is_call = name.is_ok_and(|(prefix, name)| {
            let is_test = prefix.is_none()
                && matches!(&*name, "node" | "text" | "comment" | "processing-instruction");
            self.skip_space();
            self.rest().starts_with('(') && !is_test
        });
        self.at = from;
        is_call
    }

    /// `word {` or `word name {`
    fn is_computed(&mut self, word: &str) -> bool {
        let from = self.at;
        let is_next = self.accept_word(word)
            && (self.accept("{") || (self.qualified().is_ok() && self.accept("{")));
        self.at = from;
        is_next
    }

    fn primary(&mut self) -> Parsed {
        self.skip_space();
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or(' ');
        match first {
            '(' => {
                self.expect("(")?;
                if self.accept(")") {
                    return Ok(Expr::Sequence(Vec::new()));
                }
                let inner = self.sequence()?;
                self.expect(")")?;
                // The brackets keep a position from belonging to the last step.
                Ok(Expr::Sequence(vec![inner]))
            }
            '$' => self.variable().map(Expr::Variable),
            '"' | '\'' => self.literal().map(Expr::Text),
            '<' => self.element(),
            '.' if !rest
                .get(1..)
                .is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit())) =>
            {
                self.expect(".")?;
                Ok(Expr::Item)
            }
            '.' | '0'..='9' => self.number(),
            _ => self.named(),
        }
    }

    fn number(&mut self) -> Parsed {
        let rest = self.rest();
        let is_part = |(at, letter): (usize, char)| {
            let is_sign = matches!(letter, '+' | '-')
                && rest.get(..at).is_some_and(|before| before.ends_with(['e', 'E']));
            !(letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E') || is_sign)
        };
        let end = rest.char_indices().find(|it| is_part(*it)).map_or(rest.len(), |(at, _)| at);
        let number = rest.get(..end).and_then(|digits| digits.parse::<f64>().ok());
        match number {
            Some(number) => {
                self.at += end;
                Ok(Expr::Number(number))
            }
            None => self.unexpected(),
        }
    }

    /// A function, or a computed constructor.
    fn named(&mut self) -> Parsed {
        for word in ["attribute", "element", "text", "comment"] {
            if self.is_computed(word) {
                return self.computed(word);
            }
        }
        let (prefix, name) = self.qualified()?;
        self.expect("(")?;
        match prefix.as_deref() {
            None | Some("fn") => self.call(&name),
            Some("xs" | "xdt") => {
                let Some(to) = atomic(&name) else {
                    return self.refused(format!("the type xs:{name} in XQuery"));
                };
                let of = Box::new(self.single()?);
                self.expect(")")?;
                Ok(Expr::Cast { of, to })
            }
            Some("sql") => self.outside(&name),
            Some(prefix) => {
                let uri = self.uri_of(prefix)?;
                Err(ParseError::UnknownFunction(format!("{{{uri}}}:{name}()")))
            }
        }
    }

    fn call(&mut self, name: &str) -> Parsed {
        let Some((function, least, most)) = Function::named(name) else {
            let uri = self.uri_of("fn")?;
            return Err(ParseError::UnknownFunction(format!("{{{uri}}}:{name}()")));
        };
        let mut arguments = Vec::new();
        if !self.accept(")") {
            loop {
                arguments.push(self.single()?);
                if !self.accept(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if !(least..=most).contains(&arguments.len()) {
            return Err(ParseError::Syntax(name.to_owned()));
        }
        Ok(Expr::Call(function, arguments))
    }

    /// `sql:variable("@name")`, `sql:column("name")`
    fn outside(&mut self, name: &str) -> Parsed {
        let text = self.literal()?;
        self.expect(")")?;
        let own = match name {
            "variable" => Outside::Variable(text),
            "column" => Outside::Column(text),
            _ => return Err(ParseError::UnknownFunction(format!("sql:{name}()"))),
        };
        let known = self.outside.iter().position(|it| *it == own);
        let number = known.unwrap_or(self.outside.len());
        if known.is_none() {
            self.outside.push(own);
        }
        Ok(Expr::Outside(number))
    }

    fn step(&mut self) -> Parsed<Step> {
        if self.accept("..") {
            let predicates = self.predicates()?;
            return Ok(Step { axis: Axis::Parent, test: NodeTest::Any, predicates });
        }
        if self.accept(".") {
            let predicates = self.predicates()?;
            return Ok(Step { axis: Axis::Self_, test: NodeTest::Any, predicates });
        }
        let axis = if self.accept("@") { Axis::Attribute } else { self.axis()? };
        let test = self.node_test(axis)?;
        Ok(Step { axis, test, predicates: self.predicates()? })
    }

    fn axis(&mut self) -> Parsed<Axis> {
        self.skip_space();
        let Some((word, _)) = self.rest().split_once("::") else { return Ok(Axis::Child) };
        if let Some((_, axis)) = AXES.iter().find(|(own, _)| *own == word) {
            self.at += word.len() + 2;
            return Ok(*axis);
        }
        match OTHER_AXES.contains(&word) {
            true => self.refused(format!("the axis {word} in XQuery")),
            false => Ok(Axis::Child),
        }
    }

    fn node_test(&mut self, axis: Axis) -> Parsed<NodeTest> {
        const KINDS: [(&str, NodeTest); 4] = [
            ("node", NodeTest::Any),
            ("text", NodeTest::Text),
            ("comment", NodeTest::Comment),
            ("processing-instruction", NodeTest::Instruction),
        ];
        for (word, test) in KINDS {
            let from = self.at;
            if self.accept_word(word) && self.accept("(") {
                self.expect(")")?;
                return Ok(test);
            }
            self.at = from;
        }
        if self.accept("*:") {
            let local = self.local_name()?;
            return Ok(NodeTest::Named { uri: None, local: Some(local) });
        }
        if self.accept("*") {
            return Ok(NodeTest::Named { uri: None, local: None });
        }
        self.skip_space();
        let from = self.at;
        let first = self.local_name()?;
        if self.rest().starts_with(":*") {
            self.at += 2;
            return Ok(NodeTest::Named { uri: Some(self.uri_of(&first)?), local: None });
        }
        self.at = from;
        let name = self.name(axis != Axis::Attribute)?;
        Ok(NodeTest::Named { uri: Some(name.uri), local: Some(name.local) })
    }

    fn predicates(&mut self) -> Parsed<Vec<Expr>> {
        let mut predicates = Vec::new();
        while self.accept("[") {
            predicates.push(self.sequence()?);
            self.expect("]")?;
        }
        Ok(predicates)
    }
}
