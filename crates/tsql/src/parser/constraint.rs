//! Constraints of tables and columns.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::syntax::{
    Constraint, ConstraintKind, EdgePair, ForeignKey, KeyConstraint, Name, ReferentialAction,
};
use crate::token::TokenKind;

/// What a constraint is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Table,
    Column,
}

impl Parser<'_> {
    /// True when a constraint of a table begins here.
    pub(super) fn is_table_constraint(&self) -> bool {
        self.is_any(&["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "DEFAULT"])
            || self.is("CONNECTION") && self.kind_at(1) == TokenKind::LeftParen
    }

    /// True when a constraint of a column begins here.
    pub(super) fn is_column_constraint(&self) -> bool {
        self.is_any(&[
            "CONSTRAINT",
            "PRIMARY",
            "UNIQUE",
            "FOREIGN",
            "REFERENCES",
            "CHECK",
            "DEFAULT",
        ])
    }

    pub(super) fn table_constraint(&mut self) -> Parsed<Constraint> {
        self.constraint(Owner::Table)
    }

    pub(super) fn column_constraint(&mut self) -> Parsed<Constraint> {
        self.constraint(Owner::Column)
    }

    fn constraint(&mut self, owner: Owner) -> Parsed<Constraint> {
        let start = self.span();
        let has_name = self.accept("CONSTRAINT");
        let name = self.when(has_name, Parser::name)?;
        let kind = self.constraint_kind(owner)?;
        Ok(Constraint { name, kind, span: self.since(start) })
    }

    fn constraint_kind(&mut self, owner: Owner) -> Parsed<ConstraintKind> {
        if self.accept("PRIMARY") {
            self.expect("KEY")?;
            return self.key(owner, true);
        }
        if self.accept("UNIQUE") {
            return self.key(owner, false);
        }
        if self.is_any(&["FOREIGN", "REFERENCES"]) {
            return self.foreign_key(owner);
        }
        if self.accept("CHECK") {
            return self.check();
        }
        if self.accept("DEFAULT") {
            return self.default(owner);
        }
        if owner == Owner::Table && self.accept("CONNECTION") {
            return self.connection();
        }
        Err(self.unexpected())
    }

    fn key(&mut self, owner: Owner, is_primary: bool) -> Parsed<ConstraintKind> {
        let is_clustered = self.choose(&[("CLUSTERED", true), ("NONCLUSTERED", false)]);
        let is_hash = self.accept("HASH");
        let has_columns = self.is_kind(TokenKind::LeftParen);
        if !has_columns && owner == Owner::Table {
            return Err(self.error(Cause::Constraint { kind: "TABLE" }));
        }
        let columns =
            if has_columns { self.parenthesised_list(Parser::index_column)? } else { Vec::new() };
        let options = self.index_options()?;
        let has_storage = self.is("ON") && !self.is_word_at(1, "DELETE");
        self.at += usize::from(has_storage);
        let storage = self.when(has_storage, Parser::storage)?;
        let is_not_enforced = self.accept_all(&["NOT", "ENFORCED"]);
        Ok(ConstraintKind::Key(Box::new(KeyConstraint {
            is_primary,
            is_clustered,
            is_hash,
            columns,
            options,
            storage,
            is_not_enforced,
        })))
    }

    /// `[ FOREIGN KEY [ ( … ) ] ] REFERENCES table [ ( … ) ] …`
    fn foreign_key(&mut self, owner: Owner) -> Parsed<ConstraintKind> {
        let mut columns: Vec<Name> = Vec::new();
        if self.accept("FOREIGN") {
            self.expect("KEY")?;
            columns = self.optional_list(Parser::name)?;
        }
        if columns.is_empty() && owner == Owner::Table {
            return Err(self.error(Cause::Constraint { kind: "TABLE" }));
        }
        self.expect("REFERENCES")?;
        let table = self.object_name()?;
        let referenced = self.optional_list(Parser::name)?;
        let mut key = ForeignKey {
            columns,
            table,
            referenced,
            on_delete: None,
            on_update: None,
            is_not_for_replication: false,
        };
        while self.foreign_key_option(&mut key)? {}
        Ok(ConstraintKind::ForeignKey(Box::new(key)))
    }

    fn foreign_key_option(&mut self, key: &mut ForeignKey) -> Parsed<bool> {
        if self.accept_all(&["ON", "DELETE"]) {
            key.on_delete = Some(self.referential_action()?);
        } else if self.accept_all(&["ON", "UPDATE"]) {
            key.on_update = Some(self.referential_action()?);
        } else if self.accept_all(&["NOT", "FOR", "REPLICATION"]) {
            key.is_not_for_replication = true;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn referential_action(&mut self) -> Parsed<ReferentialAction> {
        if self.accept("CASCADE") {
            return Ok(ReferentialAction::Cascade);
        }
        if self.accept_all(&["NO", "ACTION"]) {
            return Ok(ReferentialAction::NoAction);
        }
        self.expect("SET")?;
        self.expect_choice(&[
            ("NULL", ReferentialAction::SetNull),
            ("DEFAULT", ReferentialAction::SetDefault),
        ])
    }

    /// `[ NOT FOR REPLICATION ] ( condition )`
    fn check(&mut self) -> Parsed<ConstraintKind> {
        let is_not_for_replication = self.accept_all(&["NOT", "FOR", "REPLICATION"]);
        let (condition, source) =
            self.parenthesised(|parser| parser.with_source(Parser::condition))?;
        Ok(ConstraintKind::Check { condition, source, is_not_for_replication })
    }

    /// `value [ FOR column ] [ WITH VALUES ]`
    fn default(&mut self, owner: Owner) -> Parsed<ConstraintKind> {
        let (value, source) = self.with_source(Parser::expression)?;
        let has_column = owner == Owner::Table && self.accept("FOR");
        let column = self.when(has_column, Parser::name)?;
        let with_values = self.accept_all(&["WITH", "VALUES"]);
        Ok(ConstraintKind::Default { value, source, column, with_values })
    }

    /// `( node TO node , … ) [ ON DELETE … ]`
    fn connection(&mut self) -> Parsed<ConstraintKind> {
        let pairs = self.parenthesised_list(|parser| {
            let from = parser.object_name()?;
            parser.expect("TO")?;
            Ok(EdgePair { from, to: parser.object_name()? })
        })?;
        let has_action = self.accept_all(&["ON", "DELETE"]);
        let on_delete = self.when(has_action, Parser::referential_action)?;
        Ok(ConstraintKind::Connection { pairs, on_delete })
    }
}
