//! Random values and conditions over a table of the tests.

use crate::support::draw::Draw;

/// A column of the tables, of a kind that its values compare with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Date,
}

/// A literal.
fn literal(draw: &mut Draw, kind: Kind) -> String {
    match kind {
        Kind::Number => match draw.below(8) {
            0 => "NULL".to_owned(),
            1 => format!("{}.5", draw.below(6)),
            2 => format!("-{}", draw.below(4)),
            _ => draw.below(8).to_string(),
        },
        Kind::Text => draw.one(&TEXTS).to_owned(),
        Kind::Date => format!("CAST('2024-01-0{}' AS date)", 1 + draw.below(8)),
    }
}

/// Texts that the tables have, and others.
pub(crate) const TEXTS: [&str; 8] = ["'a'", "'b'", "'A'", "'ab'", "''", "'b '", "N'ab'", "'zz'"];
const PATTERNS: [&str; 7] = ["'a%'", "'%b'", "'_'", "'[a-b]%'", "'%'", "'a_'", "'[^a]%'"];
const TESTS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// Makes expressions over a table by its alias.
pub(crate) struct Maker<'d> {
    pub(crate) draw: &'d mut Draw,
    /// Aliases whose columns may be named.
    pub(crate) aliases: Vec<String>,
    /// Tables that subqueries read.
    pub(crate) tables: &'static [&'static str],
    /// Subqueries allowed within each other.
    pub(crate) queries: u32,
}

impl Maker<'_> {
    fn alias(&mut self) -> String {
        let at = self.draw.below(self.aliases.len() as u64) as usize;
        self.aliases[at].clone()
    }

    fn kind(&mut self) -> Kind {
        match self.draw.below(6) {
            0 => Kind::Text,
            1 => Kind::Date,
            _ => Kind::Number,
        }
    }

    fn column(&mut self, kind: Kind) -> String {
        let alias = self.alias();
        let name = match kind {
            Kind::Number => self.draw.one(&["id", "a", "b", "a", "b", "c"]),
            Kind::Text => self.draw.one(&["s", "s", "n"]),
            Kind::Date => "d",
        };
        format!("{alias}.{name}")
    }

    /// A value.
    fn value(&mut self, kind: Kind, depth: u32) -> String {
        if depth == 0 || self.draw.below(3) == 0 {
            return match self.draw.below(4) {
                0 => literal(self.draw, kind),
                _ => self.column(kind),
            };
        }
        let own = self.value(kind, depth - 1);
        match (self.draw.below(9), kind) {
            (0, _) => {
                let condition = self.condition(depth - 1);
                format!("CASE WHEN {condition} THEN {own} ELSE {} END", self.column(kind))
            }
            (1, _) => format!("COALESCE({}, {own})", self.column(kind)),
            (2, _) => format!("NULLIF({}, {own})", self.column(kind)),
            (3, Kind::Number) => format!("ABS({own})"),
            (4, Kind::Number) => format!("({own} + {})", self.column(kind)),
            (5, Kind::Number) => format!("({own} * 2 - {})", self.column(kind)),
            (3, Kind::Text) => format!("UPPER({own})"),
            (4, Kind::Text) => format!("({own} + {})", self.column(kind)),
            (3, Kind::Date) => format!("DATEADD(day, 1, {own})"),
            (6, _) if self.queries > 0 => self.scalar_query(kind, depth - 1),
            _ => self.column(kind),
        }
    }

    /// A query of one value.
    fn scalar_query(&mut self, kind: Kind, depth: u32) -> String {
        let aggregate = self.draw.one(&["MIN", "MAX"]);
        let (table, alias, condition) = self.inner(depth);
        let column = self.column_of(&alias, kind);
        format!("(SELECT {aggregate}({column}) FROM {table} {alias} WHERE {condition})")
    }

    fn column_of(&mut self, alias: &str, kind: Kind) -> String {
        let outer = std::mem::replace(&mut self.aliases, vec![alias.to_owned()]);
        let column = self.column(kind);
        self.aliases = outer;
        column
    }

    /// The table, alias and condition of a subquery, which may name columns from outside.
    fn inner(&mut self, depth: u32) -> (&'static str, String, String) {
        let table = self.draw.one(self.tables);
        let alias = format!("q{}_{}", self.queries, self.aliases.len());
        self.queries -= 1;
        let outer = self.aliases.clone();
        if self.draw.below(3) == 0 {
            self.aliases.clear();
        }
        self.aliases.push(alias.clone());
        let mut condition = self.condition(depth);
        self.aliases = outer;
        if self.draw.below(2) == 0 {
            let kind = self.kind();
            let (own, other) = (self.column_of(&alias, kind), self.column(kind));
            condition = format!("{own} = {other} AND {condition}");
        }
        self.queries += 1;
        (table, alias, condition)
    }

    /// A condition.
    pub(crate) fn condition(&mut self, depth: u32) -> String {
        if depth > 0 {
            let inner = |maker: &mut Self| maker.condition(depth - 1);
            match self.draw.below(8) {
                0 | 1 => return format!("({} AND {})", inner(self), inner(self)),
                2 | 3 => return format!("({} OR {})", inner(self), inner(self)),
                4 => return format!("(NOT {})", inner(self)),
                5 | 6 if self.queries > 0 => return self.query_condition(depth - 1),
                _ => {}
            }
        }
        self.test(depth)
    }

    fn test(&mut self, depth: u32) -> String {
        let kind = self.kind();
        let own = self.value(kind, depth.min(2));
        let not = if self.draw.below(3) == 0 { "NOT " } else { "" };
        match self.draw.below(9) {
            0 => format!("{own} IS {not}NULL"),
            1 => {
                let (from, to) = (literal(self.draw, kind), self.column(kind));
                format!("{own} {not}BETWEEN {from} AND {to}")
            }
            2 => {
                let list: Vec<String> = (0..3).map(|_| literal(self.draw, kind)).collect();
                format!("{own} {not}IN ({})", list.join(", "))
            }
            3 if kind == Kind::Text => {
                format!("{own} {not}LIKE {}", self.draw.one(&PATTERNS))
            }
            _ => {
                let test = self.draw.one(&TESTS);
                format!("{own} {test} {}", self.value(kind, depth.min(1)))
            }
        }
    }

    fn query_condition(&mut self, depth: u32) -> String {
        let not = if self.draw.below(2) == 0 { "NOT " } else { "" };
        let (table, alias, condition) = self.inner(depth);
        let kind = self.kind();
        let own = self.column(kind);
        let inner = self.column_of(&alias, kind);
        let from = format!("FROM {table} {alias} WHERE {condition}");
        match self.draw.below(4) {
            0 => format!("{not}EXISTS (SELECT * {from})"),
            1 => {
                let test = self.draw.one(&TESTS);
                let quantifier = self.draw.one(&["ANY", "ALL"]);
                format!("{own} {test} {quantifier} (SELECT {inner} {from})")
            }
            2 => {
                let test = self.draw.one(&TESTS);
                format!("{} {test} (SELECT COUNT(*) {from})", self.value(Kind::Number, 0))
            }
            _ => format!("{own} {not}IN (SELECT {inner} {from})"),
        }
    }
}
