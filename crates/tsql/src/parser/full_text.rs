//! Full-text predicates and tables.

use super::{Parsed, Parser};
use crate::syntax::{
    ConditionKind, Expr, FullText, FullTextColumns, FullTextTable, Name, ObjectName,
    TableSourceKind,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `{ CONTAINS | FREETEXT } ( columns , search [ , LANGUAGE language ] )`
    pub(super) fn full_text(&mut self) -> Parsed<ConditionKind> {
        let is_freetext = self.is("FREETEXT");
        self.at += 1;
        self.parenthesised(|parser| {
            let columns = parser.full_text_columns()?;
            parser.expect_kind(TokenKind::Comma)?;
            let search = parser.expression()?;
            let has_language = parser.accept_kind(TokenKind::Comma);
            let language = parser.when(has_language, Parser::language)?;
            let full_text = FullText { is_freetext, columns, search, language };
            Ok(ConditionKind::FullText(Box::new(full_text)))
        })
    }

    fn language(&mut self) -> Parsed<Expr> {
        self.expect("LANGUAGE")?;
        self.expression()
    }

    fn full_text_columns(&mut self) -> Parsed<FullTextColumns> {
        if self.accept_kind(TokenKind::Star) {
            return Ok(FullTextColumns::All(None));
        }
        if self.is("PROPERTY") && self.kind_at(1) == TokenKind::LeftParen {
            self.at += 1;
            return self.parenthesised(|parser| {
                let column = parser.column_name()?;
                parser.expect_kind(TokenKind::Comma)?;
                Ok(FullTextColumns::Property { column, property: parser.string()?.value })
            });
        }
        if !self.is_kind(TokenKind::LeftParen) {
            if self.is_star_after_names() {
                return self.qualified_star().map(|table| FullTextColumns::All(Some(table)));
            }
            return Ok(FullTextColumns::Columns(vec![self.column_name()?]));
        }
        if self.kind_at(1) == TokenKind::Star {
            self.at += 2;
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(FullTextColumns::All(None));
        }
        self.parenthesised_list(Parser::column_name).map(FullTextColumns::Columns)
    }

    /// `CONTAINSTABLE ( table , columns , search [ , LANGUAGE l ] [ , top ] )` and its relatives
    pub(super) fn full_text_table(&mut self) -> Parsed<TableSourceKind> {
        let function = self.any_word()?;
        self.expect_kind(TokenKind::LeftParen)?;
        let table = self.object_name()?;
        self.expect_kind(TokenKind::Comma)?;
        let columns = self.table_columns()?;
        let full = FullTextTable {
            function,
            table,
            columns,
            arguments: Vec::new(),
            language: None,
            top: None,
        };
        let full = self.full_text_arguments(full)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(TableSourceKind::FullText(Box::new(full)))
    }

    /// `, search [ , LANGUAGE language ] [ , top ]`, or the keys and columns of semantic tables.
    fn full_text_arguments(&mut self, mut full: FullTextTable) -> Parsed<FullTextTable> {
        let is_semantic = full.function.text.len() > "FREETEXTTABLE".len();
        if is_semantic {
            while self.accept_kind(TokenKind::Comma) {
                full.arguments.push(self.expression()?);
            }
            return Ok(full);
        }
        self.expect_kind(TokenKind::Comma)?;
        full.arguments.push(self.expression()?);
        if self.is_kind(TokenKind::Comma) && self.is_word_at(1, "LANGUAGE") {
            self.at += 1;
            full.language = Some(self.language()?);
        }
        let has_top = self.accept_kind(TokenKind::Comma);
        full.top = self.when(has_top, Parser::expression)?;
        Ok(full)
    }

    /// `* | column | ( column , … )`
    fn table_columns(&mut self) -> Parsed<Vec<Name>> {
        if self.accept_kind(TokenKind::Star) {
            return Ok(Vec::new());
        }
        if self.is_kind(TokenKind::LeftParen) {
            if self.kind_at(1) == TokenKind::Star {
                self.at += 2;
                self.expect_kind(TokenKind::RightParen)?;
                return Ok(Vec::new());
            }
            return self.parenthesised_names();
        }
        Ok(vec![self.name()?])
    }

    /// `[ qualifier. ] *` where the star must be.
    pub(super) fn qualified_star(&mut self) -> Parsed<ObjectName> {
        let start = self.span();
        let mut parts: Vec<Option<Name>> = Vec::new();
        while !self.is_kind(TokenKind::Star) {
            let has_name = self.is_name();
            parts.push(self.when(has_name, Parser::name)?);
            self.expect_kind(TokenKind::Dot)?;
        }
        let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
        let qualifier = self.qualified(parts, name, start);
        self.expect_kind(TokenKind::Star)?;
        Ok(qualifier)
    }

    /// True when the next tokens are names with points and a star after them.
    pub(super) fn is_star_after_names(&self) -> bool {
        let mut ahead = 0;
        while ahead < 8 && self.is_name_at(ahead) || self.kind_at(ahead) == TokenKind::Dot {
            if ahead >= 8 {
                return false;
            }
            ahead += 1;
        }
        ahead > 1
            && self.kind_at(ahead) == TokenKind::Star
            && self.kind_at(ahead - 1) == TokenKind::Dot
            && self.is_name_at(0)
    }
}
