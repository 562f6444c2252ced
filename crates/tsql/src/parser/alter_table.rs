//! ALTER TABLE.

use super::{Parsed, Parser};
use crate::syntax::{
    AllOrNames, AlterColumn, AlterTable, AlterTableAction, Clause, ColumnChange, ColumnProperty,
    Expr, PartitionNumber, StatementKind, Switch, TableDrop, TableElement,
};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn alter_table(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["ALTER", "TABLE"])?;
        let name = self.object_name()?;
        let action = self.alter_table_action()?;
        Ok(StatementKind::AlterTable(Box::new(AlterTable { name, action })))
    }

    fn alter_table_action(&mut self) -> Parsed<AlterTableAction> {
        if self.are(&["ALTER", "COLUMN"]) {
            return self.alter_column();
        }
        if self.accept("DROP") {
            return self.list(Parser::table_drop).map(AlterTableAction::Drop);
        }
        if self.accept("SWITCH") {
            return self.switch();
        }
        if self.is("REBUILD") {
            self.at += 1;
            let partition = self.partition_number()?;
            let options = self.with_clauses("index_option")?;
            return Ok(AlterTableAction::Rebuild { partition, options });
        }
        let is_trigger = self.is_word_at(1, "TRIGGER");
        if is_trigger && self.is_any(&["ENABLE", "DISABLE"]) {
            let is_enabled = self.expect_choice(&[("ENABLE", true), ("DISABLE", false)])?;
            self.at += 1;
            return Ok(AlterTableAction::Triggers { is_enabled, names: self.all_or_names()? });
        }
        if self.is_any(&["WITH", "ADD", "CHECK", "NOCHECK"]) {
            return self.checked_action();
        }
        self.clause("alter_table_other").map(AlterTableAction::Other)
    }

    /// `[ WITH CHECK | WITH NOCHECK ] { ADD … | CHECK CONSTRAINT … | NOCHECK CONSTRAINT … }`
    fn checked_action(&mut self) -> Parsed<AlterTableAction> {
        let has_with = self.accept("WITH");
        let checks = [("CHECK", true), ("NOCHECK", false)];
        let is_checked = self.when(has_with, |parser| parser.expect_choice(&checks))?;
        if self.accept("ADD") {
            let elements = self.added_elements()?;
            return Ok(AlterTableAction::Add { is_checked, elements });
        }
        let is_enabled = self.expect_choice(&checks)?;
        self.expect("CONSTRAINT")?;
        let names = self.all_or_names()?;
        Ok(AlterTableAction::Constraints { is_checked, is_enabled, names })
    }

    /// Elements with commas between them; each may repeat ADD.
    fn added_elements(&mut self) -> Parsed<Vec<TableElement>> {
        self.list(|parser| {
            parser.accept("ADD");
            parser.table_element()
        })
    }

    fn all_or_names(&mut self) -> Parsed<AllOrNames> {
        if self.accept("ALL") {
            return Ok(AllOrNames::All);
        }
        self.names().map(AllOrNames::Names)
    }

    fn alter_column(&mut self) -> Parsed<AlterTableAction> {
        self.expect_all(&["ALTER", "COLUMN"])?;
        let name = self.name()?;
        let change = if self.accept("ADD") {
            ColumnChange::Add(self.changed_property(true)?)
        } else if self.accept("DROP") {
            ColumnChange::Drop(self.changed_property(false)?)
        } else {
            let start = self.at;
            self.at = self.index_of(name.span);
            let definition = self.column_definition()?;
            if self.at == start {
                return Err(self.unexpected());
            }
            ColumnChange::Type(Box::new(definition))
        };
        let options: Vec<Clause> = self.with_clauses("alter_column_option")?;
        Ok(AlterTableAction::AlterColumn(Box::new(AlterColumn { name, change, options })))
    }

    fn changed_property(&mut self, is_added: bool) -> Parsed<ColumnProperty> {
        if self.accept_all(&["NOT", "FOR", "REPLICATION"]) {
            return Ok(ColumnProperty::NotForReplication);
        }
        if self.accept("MASKED") {
            let mask = self.when(is_added, |parser| {
                parser.expect("WITH")?;
                parser.mask()
            })?;
            return Ok(ColumnProperty::Masked(mask));
        }
        if self.accept("ROWGUIDCOL") {
            return Ok(ColumnProperty::RowGuid);
        }
        if self.accept("PERSISTED") {
            return Ok(ColumnProperty::Persisted);
        }
        if self.accept("SPARSE") {
            return Ok(ColumnProperty::Sparse);
        }
        self.expect("HIDDEN")?;
        Ok(ColumnProperty::Hidden)
    }

    fn table_drop(&mut self) -> Parsed<TableDrop> {
        if self.accept_all(&["PERIOD", "FOR", "SYSTEM_TIME"]) {
            return Ok(TableDrop::Period);
        }
        if self.accept("COLUMN") {
            let if_exists = self.if_exists();
            return Ok(TableDrop::Column { if_exists, name: self.name()? });
        }
        if self.accept("INDEX") {
            let if_exists = self.if_exists();
            return Ok(TableDrop::Index { if_exists, name: self.name()? });
        }
        self.accept("CONSTRAINT");
        let if_exists = self.if_exists();
        let name = self.name()?;
        let options = self.with_clauses("drop_index_option")?;
        Ok(TableDrop::Constraint { if_exists, name, options })
    }

    /// `[ IF EXISTS ]`
    pub(super) fn if_exists(&mut self) -> bool {
        self.accept_all(&["IF", "EXISTS"])
    }

    fn switch(&mut self) -> Parsed<AlterTableAction> {
        let partition = self.switched_partition()?;
        self.expect("TO")?;
        let target = self.object_name()?;
        let target_partition = self.switched_partition()?;
        let options = self.with_clauses("switch_option")?;
        let switch = Switch { partition, target, target_partition, options };
        Ok(AlterTableAction::Switch(Box::new(switch)))
    }

    fn switched_partition(&mut self) -> Parsed<Option<Expr>> {
        let has_partition = self.accept("PARTITION");
        self.when(has_partition, Parser::expression)
    }

    /// `[ PARTITION = { ALL | number } ]`
    pub(super) fn partition_number(&mut self) -> Parsed<Option<PartitionNumber>> {
        let has_partition = self.accept("PARTITION");
        self.when(has_partition, |parser| {
            parser.expect_kind(TokenKind::Equal)?;
            if parser.accept("ALL") {
                return Ok(PartitionNumber::All);
            }
            parser.expression().map(PartitionNumber::Number)
        })
    }
}
