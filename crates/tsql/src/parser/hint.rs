//! Hints of tables and queries.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::syntax::{
    ForceSeek, IndexReference, Literal, OptimizeFor, QueryHint, QueryHintKind, SignedLiteral,
    TableHint, TableHintKind,
};
use crate::token::TokenKind;

/// Table hints of one word.
const TABLE_WORDS: [&str; 22] = [
    "NOLOCK",
    "UPDLOCK",
    "HOLDLOCK",
    "ROWLOCK",
    "PAGLOCK",
    "TABLOCK",
    "TABLOCKX",
    "XLOCK",
    "READPAST",
    "READUNCOMMITTED",
    "READCOMMITTED",
    "READCOMMITTEDLOCK",
    "REPEATABLEREAD",
    "SERIALIZABLE",
    "SNAPSHOT",
    "NOWAIT",
    "NOEXPAND",
    "FORCESCAN",
    "KEEPIDENTITY",
    "KEEPDEFAULTS",
    "IGNORE_CONSTRAINTS",
    "IGNORE_TRIGGERS",
];

/// Hints that older servers accept without WITH before FASTFIRSTROW was removed.
const OLD_WORD: &str = "FASTFIRSTROW";

/// Query hints without value, the longer before their beginnings.
const QUERY_WORDS: [&str; 29] = [
    "HASH GROUP",
    "ORDER GROUP",
    "CONCAT UNION",
    "HASH UNION",
    "MERGE UNION",
    "KEEP UNION",
    "LOOP JOIN",
    "MERGE JOIN",
    "HASH JOIN",
    "EXPAND VIEWS",
    "FORCE ORDER",
    "FORCE EXTERNALPUSHDOWN",
    "DISABLE EXTERNALPUSHDOWN",
    "FORCE SCALEOUTEXECUTION",
    "DISABLE SCALEOUTEXECUTION",
    "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
    "KEEP PLAN",
    "KEEPFIXED PLAN",
    "NO_PERFORMANCE_SPOOL",
    "PARAMETERIZATION SIMPLE",
    "PARAMETERIZATION FORCED",
    "RECOMPILE",
    "ROBUST PLAN",
    "OPTIMIZE FOR UNKNOWN",
    "OPTIMIZE CORRELATED UNION ALL",
    "CHECKCONSTRAINTS PLAN",
    "SHRINKDB PLAN",
    "ALTERCOLUMN PLAN",
    "BYPASS OPTIMIZER_QUEUE",
];

/// Query hints with a number, and whether `=` stands before it.
const QUERY_NUMBERS: [(&str, bool); 7] = [
    ("FAST", false),
    ("MAXDOP", false),
    ("MAXRECURSION", false),
    ("QUERYTRACEON", false),
    ("MAX_GRANT_PERCENT", true),
    ("MIN_GRANT_PERCENT", true),
    ("CARDINALITY_TUNER_LIMIT", false),
];

impl Parser<'_> {
    /// `[ [ WITH ] ( hint , … ) ]`
    pub(super) fn table_hints(&mut self) -> Parsed<Vec<TableHint>> {
        if self.is_kind(TokenKind::LeftParen) && self.are_old_hints() {
            return self.hint_list();
        }
        if !self.is("WITH") || self.is_view_end() {
            return Ok(Vec::new());
        }
        if self.kind_at(1) != TokenKind::LeftParen {
            return self.not_a_hint();
        }
        self.at += 1;
        self.hint_list()
    }

    /// WITH after a table that begins no hints: WITH CHECK OPTION of a view is left where it is, a
    /// common table needs a semicolon before it.
    fn is_view_end(&self) -> bool {
        self.is_word_at(1, "CHECK") || self.is_word_at(1, "CUBE") || self.is_word_at(1, "ROLLUP")
    }

    fn not_a_hint(&mut self) -> Parsed<Vec<TableHint>> {
        let is_common_table = self.is_name_at(1)
            && (self.is_word_at(2, "AS") || self.kind_at(2) == TokenKind::LeftParen);
        if is_common_table {
            let near = self.shown(self.token(1));
            self.at += 1;
            return Err(self.error(Cause::CommonTableNeedsTerminator { near }));
        }
        self.at += 1;
        Err(self.unexpected())
    }

    /// True when the parentheses that follow hold hints, not arguments.
    pub(super) fn are_old_hints(&self) -> bool {
        let word = self.token(1).span.of(self.text);
        let after = self.kind_at(2);
        let is_word = TABLE_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
            || OLD_WORD.eq_ignore_ascii_case(word);
        let is_index = word.eq_ignore_ascii_case("INDEX");
        let is_seek = word.eq_ignore_ascii_case("FORCESEEK");
        self.is_kind(TokenKind::LeftParen)
            && matches!(self.kind_at(1), TokenKind::Word | TokenKind::Reserved)
            && (is_index || is_seek || is_word)
            && (is_index || after != TokenKind::Dot)
    }

    /// `( hint [ , ] hint … )`
    fn hint_list(&mut self) -> Parsed<Vec<TableHint>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut hints = vec![self.table_hint()?];
        while !self.accept_kind(TokenKind::RightParen) {
            self.accept_kind(TokenKind::Comma);
            hints.push(self.table_hint()?);
        }
        Ok(hints)
    }

    fn table_hint(&mut self) -> Parsed<TableHint> {
        let start = self.span();
        let kind = if let Some(word) = self.choose_word(&TABLE_WORDS) {
            TableHintKind::Word(word)
        } else if self.accept(OLD_WORD) {
            TableHintKind::Word(OLD_WORD)
        } else if self.accept("INDEX") {
            TableHintKind::Index(self.index_hint()?)
        } else if self.accept("FORCESEEK") {
            let has_index = self.is_kind(TokenKind::LeftParen);
            TableHintKind::ForceSeek(
                self.when(has_index, |parser| parser.parenthesised(Parser::force_seek))?,
            )
        } else if self.accept("SPATIAL_WINDOW_MAX_CELLS") {
            self.expect_kind(TokenKind::Equal)?;
            TableHintKind::SpatialWindowMaxCells(self.integer()?)
        } else if self.is_kind(TokenKind::Word) {
            return Err(self.error(Cause::UnknownTableHint { word: self.word().into() }));
        } else {
            return Err(self.unexpected());
        };
        Ok(TableHint { kind, span: self.since(start) })
    }

    fn index_hint(&mut self) -> Parsed<Vec<IndexReference>> {
        if self.accept_kind(TokenKind::Equal) && !self.is_kind(TokenKind::LeftParen) {
            return Ok(vec![self.index_reference()?]);
        }
        self.parenthesised_list(Parser::index_reference)
    }

    fn index_reference(&mut self) -> Parsed<IndexReference> {
        if self.is_kind(TokenKind::Integer) {
            return self.integer().map(IndexReference::Number);
        }
        self.name().map(IndexReference::Name)
    }

    fn force_seek(&mut self) -> Parsed<ForceSeek> {
        let index = self.index_reference()?;
        Ok(ForceSeek { index, columns: self.parenthesised_names()? })
    }

    /// `[ OPTION ( hint , … ) ]`
    pub(super) fn option_clause(&mut self) -> Parsed<Vec<QueryHint>> {
        if self.accept("OPTION") {
            return self.parenthesised_list(Parser::query_hint);
        }
        Ok(Vec::new())
    }

    fn query_hint(&mut self) -> Parsed<QueryHint> {
        let start = self.span();
        let kind = self.query_hint_kind()?;
        Ok(QueryHint { kind, span: self.since(start) })
    }

    fn query_hint_kind(&mut self) -> Parsed<QueryHintKind> {
        if let Some(words) = self.query_words() {
            return Ok(QueryHintKind::Words(words));
        }
        if let Some((name, has_equal)) = QUERY_NUMBERS.iter().find(|(name, _)| self.is(name)) {
            self.at += 1;
            if *has_equal {
                self.expect_kind(TokenKind::Equal)?;
            }
            return Ok(QueryHintKind::Number { name, value: self.number()? });
        }
        if self.accept("LABEL") {
            self.expect_kind(TokenKind::Equal)?;
            return Ok(QueryHintKind::Text { name: "LABEL", value: self.string()?.value });
        }
        if self.accept_all(&["USE", "PLAN"]) {
            return Ok(QueryHintKind::Text { name: "USE PLAN", value: self.string()?.value });
        }
        if self.accept_all(&["USE", "HINT"]) {
            let hints = self.parenthesised_list(Parser::string)?;
            let hints = hints.into_iter().map(|hint| hint.value).collect();
            return Ok(QueryHintKind::UseHint(hints));
        }
        self.long_query_hint()
    }

    fn long_query_hint(&mut self) -> Parsed<QueryHintKind> {
        if self.accept_all(&["OPTIMIZE", "FOR"]) {
            return self.parenthesised_list(Parser::optimize_for).map(QueryHintKind::OptimizeFor);
        }
        if self.accept_all(&["FOR", "TIMESTAMP", "AS", "OF"]) {
            return Ok(QueryHintKind::ForTimestamp(self.string()?.value));
        }
        self.expect_all(&["TABLE", "HINT"])?;
        self.parenthesised(|parser| {
            let name = parser.object_name()?;
            let mut hints = Vec::new();
            while parser.accept_kind(TokenKind::Comma) {
                hints.push(parser.table_hint()?);
            }
            Ok(QueryHintKind::Table { name, hints })
        })
    }

    fn query_words(&mut self) -> Option<&'static str> {
        let are_here = |words: &&&str| {
            let mut count = 0;
            let all = words.split(' ').enumerate().all(|(ahead, word)| {
                count = ahead + 1;
                self.is_word_at(ahead, word)
            });
            all && count > 0
        };
        let words = QUERY_WORDS.iter().find(are_here)?;
        self.at += words.split(' ').count();
        Some(words)
    }

    /// A numeric literal.
    fn number(&mut self) -> Parsed<Literal> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => self.expect_literal(),
            _ => Err(self.unexpected()),
        }
    }

    fn optimize_for(&mut self) -> Parsed<OptimizeFor> {
        let variable = self.variable()?;
        if self.accept("UNKNOWN") {
            return Ok(OptimizeFor { variable, value: None });
        }
        self.expect_kind(TokenKind::Equal)?;
        let is_negative = self.accept_kind(TokenKind::Minus);
        let value = Some(SignedLiteral { is_negative, value: self.expect_literal()? });
        Ok(OptimizeFor { variable, value })
    }
}
