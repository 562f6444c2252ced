//! Cursors.

use super::{Parsed, Parser};
use crate::syntax::{
    CursorAccess, CursorDefinition, CursorName, CursorOption, DeclareCursor, Fetch, FetchDirection,
    StatementKind,
};
use crate::token::TokenKind;

const OPTIONS: [(&str, CursorOption); 12] = [
    ("LOCAL", CursorOption::Local),
    ("GLOBAL", CursorOption::Global),
    ("FORWARD_ONLY", CursorOption::ForwardOnly),
    ("SCROLL", CursorOption::Scroll),
    ("STATIC", CursorOption::Static),
    ("KEYSET", CursorOption::Keyset),
    ("DYNAMIC", CursorOption::Dynamic),
    ("FAST_FORWARD", CursorOption::FastForward),
    ("READ_ONLY", CursorOption::ReadOnly),
    ("SCROLL_LOCKS", CursorOption::ScrollLocks),
    ("OPTIMISTIC", CursorOption::Optimistic),
    ("TYPE_WARNING", CursorOption::TypeWarning),
];

impl Parser<'_> {
    /// `DECLARE name [ INSENSITIVE ] [ SCROLL ] CURSOR …`
    pub(super) fn declare_cursor(&mut self) -> Parsed<StatementKind> {
        self.expect("DECLARE")?;
        let name = self.name()?;
        let is_insensitive = self.accept("INSENSITIVE");
        let is_scroll = self.accept("SCROLL");
        self.expect("CURSOR")?;
        let mut definition = self.cursor_definition()?;
        definition.is_insensitive = is_insensitive;
        if is_scroll {
            definition.options.insert(0, CursorOption::Scroll);
        }
        Ok(StatementKind::DeclareCursor(Box::new(DeclareCursor { name, definition })))
    }

    /// What follows CURSOR.
    pub(super) fn cursor_definition(&mut self) -> Parsed<CursorDefinition> {
        let mut options = Vec::new();
        while let Some(option) = self.choose(&OPTIONS) {
            options.push(option);
        }
        self.expect("FOR")?;
        let query = self.query_with_tables()?;
        let mut hints = self.option_clause()?;
        let has_access = self.accept("FOR");
        let access = self.when(has_access, Parser::cursor_access)?;
        if hints.is_empty() {
            hints = self.option_clause()?;
        }
        Ok(CursorDefinition { is_insensitive: false, options, query, hints, access })
    }

    fn cursor_access(&mut self) -> Parsed<CursorAccess> {
        if self.accept_all(&["READ", "ONLY"]) {
            return Ok(CursorAccess::ReadOnly);
        }
        self.expect("UPDATE")?;
        let columns = if self.accept("OF") { self.names()? } else { Vec::new() };
        Ok(CursorAccess::Update(columns))
    }

    /// OPEN, CLOSE or DEALLOCATE of a cursor.
    pub(super) fn cursor_statement(
        &mut self,
        kind: fn(CursorName) -> StatementKind,
    ) -> Parsed<StatementKind> {
        self.at += 1;
        self.cursor_name().map(kind)
    }

    /// `FETCH [ [ direction ] FROM ] cursor [ INTO @v , … ]`
    pub(super) fn fetch(&mut self) -> Parsed<StatementKind> {
        self.expect("FETCH")?;
        let direction = self.fetch_direction()?;
        if direction.is_some() {
            self.expect("FROM")?;
        } else {
            self.accept("FROM");
        }
        let cursor = self.cursor_name()?;
        let into = if self.accept("INTO") { self.list(Parser::variable)? } else { Vec::new() };
        let direction = direction.unwrap_or(FetchDirection::Next);
        Ok(StatementKind::Fetch(Box::new(Fetch { direction, cursor, into })))
    }

    /// The direction, when FROM follows it.
    fn fetch_direction(&mut self) -> Parsed<Option<FetchDirection>> {
        if self.is_word_at(1, "FROM") {
            let direction = if self.accept("NEXT") {
                FetchDirection::Next
            } else if self.accept("PRIOR") {
                FetchDirection::Prior
            } else if self.accept("FIRST") {
                FetchDirection::First
            } else if self.accept("LAST") {
                FetchDirection::Last
            } else {
                return Err(self.unexpected());
            };
            return Ok(Some(direction));
        }
        let is_position = matches!(
            self.kind_at(1),
            TokenKind::Integer | TokenKind::Minus | TokenKind::Plus | TokenKind::Variable
        );
        if is_position && self.accept("ABSOLUTE") {
            return self.simple_value().map(FetchDirection::Absolute).map(Some);
        }
        if is_position && self.accept("RELATIVE") {
            return self.simple_value().map(FetchDirection::Relative).map(Some);
        }
        Ok(None)
    }
}
