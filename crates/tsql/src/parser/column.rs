//! Columns of table definitions.

use super::{Parsed, Parser};
use crate::syntax::{ColumnDefinition, ColumnIdentity, ColumnKind, Generated, GeneratedWhat, Name};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `name { type | AS expression } property …`
    pub(super) fn column_definition(&mut self) -> Parsed<ColumnDefinition> {
        let start = self.span();
        let name = self.name()?;
        let kind = self.column_kind(&name)?;
        let mut column = empty_column(name, kind);
        while self.column_property(&mut column)? {}
        column.span = self.since(start);
        Ok(column)
    }

    fn column_kind(&mut self, name: &Name) -> Parsed<ColumnKind> {
        if self.accept("AS") {
            let start = self.span();
            let value = self.expression()?;
            let source = self.since(start);
            let is_persisted = self.accept("PERSISTED");
            return Ok(ColumnKind::Computed { value, source, is_persisted });
        }
        let has_no_type = matches!(self.kind(), TokenKind::Comma | TokenKind::RightParen)
            || self.is_any(&["NULL", "NOT"]);
        if has_no_type && name.text.eq_ignore_ascii_case("timestamp") {
            return Ok(ColumnKind::Timestamp);
        }
        self.data_type().map(ColumnKind::Stored)
    }

    /// Takes one property of a column; false when there is none.
    fn column_property(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        if self.is_column_constraint() {
            column.constraints.push(self.column_constraint()?);
            return Ok(true);
        }
        if self.is("NOT") && self.is_word_at(1, "FOR") {
            self.at += 2;
            self.expect("REPLICATION")?;
            column.is_not_for_replication = true;
            return Ok(true);
        }
        if column.is_nullable.is_none() {
            column.is_nullable = self.nullability()?;
            if column.is_nullable.is_some() {
                return Ok(true);
            }
        }
        if self.accept("COLLATE") {
            column.collation = Some(self.name()?);
        } else if self.accept("IDENTITY") {
            column.identity = Some(self.column_identity()?);
        } else if self.accept("ROWGUIDCOL") {
            column.is_rowguid = true;
        } else if self.is("INDEX") {
            column.index = Some(self.inline_index()?);
        } else {
            return self.rare_property(column);
        }
        Ok(true)
    }

    fn rare_property(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        if self.accept("SPARSE") {
            column.is_sparse = true;
        } else if self.accept("FILESTREAM") {
            column.is_filestream = true;
        } else if self.accept("HIDDEN") {
            match &mut column.generated {
                Some(generated) => generated.is_hidden = true,
                None => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
            }
        } else if self.accept_all(&["GENERATED", "ALWAYS", "AS"]) {
            column.generated = Some(self.generated()?);
        } else if self.accept_all(&["MASKED", "WITH"]) {
            column.mask = Some(self.mask()?);
        } else if self.accept_all(&["ENCRYPTED", "WITH"]) {
            column.encryption = Some(self.clause("column_encryption")?);
        } else if self.accept_all(&["COLUMN_SET", "FOR", "ALL_SPARSE_COLUMNS"]) {
            column.is_column_set = true;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `( FUNCTION = 'mask' )`
    pub(super) fn mask(&mut self) -> Parsed<crate::syntax::StringLiteral> {
        self.parenthesised(|parser| {
            parser.expect("FUNCTION")?;
            parser.expect_kind(TokenKind::Equal)?;
            parser.string()
        })
    }

    /// `[ ( seed , increment ) ] [ NOT FOR REPLICATION ]`
    fn column_identity(&mut self) -> Parsed<ColumnIdentity> {
        let mut identity =
            ColumnIdentity { seed: None, increment: None, is_not_for_replication: false };
        if self.accept_kind(TokenKind::LeftParen) {
            identity.seed = Some(self.simple_value()?);
            self.expect_kind(TokenKind::Comma)?;
            identity.increment = Some(self.simple_value()?);
            self.expect_kind(TokenKind::RightParen)?;
        }
        identity.is_not_for_replication = self.accept_all(&["NOT", "FOR", "REPLICATION"]);
        Ok(identity)
    }

    fn generated(&mut self) -> Parsed<Generated> {
        let what = self.expect_choice(&[
            ("ROW", GeneratedWhat::Row),
            ("TRANSACTION_ID", GeneratedWhat::TransactionId),
            ("SEQUENCE_NUMBER", GeneratedWhat::SequenceNumber),
        ])?;
        let is_start = self.expect_choice(&[("START", true), ("END", false)])?;
        Ok(Generated { what, is_start, is_hidden: self.accept("HIDDEN") })
    }
}

/// A column without properties.
fn empty_column(name: Name, kind: ColumnKind) -> ColumnDefinition {
    let span = name.span;
    ColumnDefinition {
        name,
        kind,
        collation: None,
        is_nullable: None,
        identity: None,
        is_rowguid: false,
        is_sparse: false,
        is_filestream: false,
        is_column_set: false,
        is_not_for_replication: false,
        generated: None,
        mask: None,
        encryption: None,
        constraints: Vec::new(),
        index: None,
        span,
    }
}
