//! Indexes and statistics.

use super::{Parsed, Parser};
use crate::syntax::{
    AlterIndex, AlterIndexAction, CreateIndex, CreateStatistics, DropIndex, DroppedIndex, Filter,
    IndexColumn, IndexDefinition, StatementKind, UpdateStatistics,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// True when CREATE is followed by an index that the tables do not describe.
    pub(super) fn is_create_index(&self) -> bool {
        ["UNIQUE", "CLUSTERED", "NONCLUSTERED", "COLUMNSTORE", "INDEX"]
            .iter()
            .any(|word| self.is_word_at(1, word))
    }

    pub(super) fn create_index(&mut self) -> Parsed<StatementKind> {
        self.expect("CREATE")?;
        let mut definition = self.index_kind();
        definition.is_columnstore = self.accept("COLUMNSTORE");
        self.expect("INDEX")?;
        let name = self.name()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let has_columns = !(definition.is_columnstore && definition.is_clustered == Some(true));
        if has_columns || self.is_kind(TokenKind::LeftParen) {
            definition.columns = self.parenthesised_list(Parser::index_column)?;
        }
        let definition = self.index_rest(definition)?;
        Ok(StatementKind::CreateIndex(Box::new(CreateIndex { name, table, definition })))
    }

    /// `[ UNIQUE ] [ CLUSTERED | NONCLUSTERED ]`
    pub(super) fn index_kind(&mut self) -> IndexDefinition {
        IndexDefinition {
            is_unique: self.accept("UNIQUE"),
            is_clustered: self.choose(&[("CLUSTERED", true), ("NONCLUSTERED", false)]),
            ..IndexDefinition::default()
        }
    }

    pub(super) fn index_column(&mut self) -> Parsed<IndexColumn> {
        let name = self.name()?;
        Ok(IndexColumn { name, direction: self.direction() })
    }

    /// What follows the columns of an index.
    pub(super) fn index_rest(&mut self, mut index: IndexDefinition) -> Parsed<IndexDefinition> {
        if self.accept("ORDER") {
            index.order = self.parenthesised_names()?;
        }
        if self.accept("INCLUDE") {
            index.include = self.parenthesised_names()?;
        }
        index.filter = self.filter()?;
        index.options = self.index_options()?;
        if self.accept("ON") {
            index.storage = Some(self.storage()?);
        }
        if self.accept("FILESTREAM_ON") {
            index.filestream_storage = Some(self.storage()?);
        }
        Ok(index)
    }

    /// `[ WHERE condition ]`
    fn filter(&mut self) -> Parsed<Option<Filter>> {
        if !self.accept("WHERE") {
            return Ok(None);
        }
        let (condition, source) = self.with_source(Parser::condition)?;
        Ok(Some(Filter { condition, source }))
    }

    pub(super) fn alter_index(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["ALTER", "INDEX"])?;
        let is_all = self.accept("ALL");
        let name = self.when(!is_all, Parser::name)?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let action = self.alter_index_action()?;
        Ok(StatementKind::AlterIndex(Box::new(AlterIndex { name, table, action })))
    }

    fn alter_index_action(&mut self) -> Parsed<AlterIndexAction> {
        if self.accept("REBUILD") {
            let partition = self.partition_number()?;
            let options = self.with_clauses("index_option")?;
            return Ok(AlterIndexAction::Rebuild { partition, options });
        }
        if self.accept("REORGANIZE") {
            let partition = self.partition_number()?;
            let options = self.with_clauses("reorganize_option")?;
            return Ok(AlterIndexAction::Reorganize { partition, options });
        }
        if self.accept("SET") {
            return self.parenthesised_clauses("index_option").map(AlterIndexAction::Set);
        }
        if self.accept("RESUME") {
            return self.with_clauses("index_option").map(AlterIndexAction::Resume);
        }
        if self.accept("DISABLE") {
            return Ok(AlterIndexAction::Disable);
        }
        if self.accept("PAUSE") {
            return Ok(AlterIndexAction::Pause);
        }
        if self.accept("ABORT") {
            return Ok(AlterIndexAction::Abort);
        }
        self.clause("xml_paths").map(AlterIndexAction::Paths)
    }

    pub(super) fn drop_index(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["DROP", "INDEX"])?;
        let if_exists = self.if_exists();
        let items = self.list(Parser::dropped_index)?;
        Ok(StatementKind::DropIndex(DropIndex { if_exists, items }))
    }

    /// `name ON table [ WITH ( … ) ] | [ schema. ] table.name`
    fn dropped_index(&mut self) -> Parsed<DroppedIndex> {
        let start = self.span();
        let full = self.object_name()?;
        if self.accept("ON") {
            let table = self.object_name()?;
            let options = self.with_clauses("drop_index_option")?;
            return Ok(DroppedIndex { name: full.name, table, options });
        }
        let (mut parts, name) = full.into_parts();
        let Some(Some(table)) = parts.pop() else { return Err(self.unexpected()) };
        let table = self.qualified(parts, table, start);
        Ok(DroppedIndex { name, table, options: Vec::new() })
    }

    pub(super) fn create_statistics(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["CREATE", "STATISTICS"])?;
        let name = self.name()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let columns = self.parenthesised_names()?;
        let filter = self.filter()?;
        let options = self.statistics_options()?;
        let create = CreateStatistics { name, table, columns, filter, options };
        Ok(StatementKind::CreateStatistics(Box::new(create)))
    }

    fn statistics_options(&mut self) -> Parsed<Vec<crate::syntax::Clause>> {
        if self.accept("WITH") { self.clauses("statistics_option") } else { Ok(Vec::new()) }
    }

    pub(super) fn update_statistics(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["UPDATE", "STATISTICS"])?;
        let table = self.object_name()?;
        let names = if self.is_kind(TokenKind::LeftParen) {
            self.parenthesised_names()?
        } else if self.is_name() && !self.is_word_statement() {
            vec![self.name()?]
        } else {
            Vec::new()
        };
        let options = self.statistics_options()?;
        let update = UpdateStatistics { table, names, options };
        Ok(StatementKind::UpdateStatistics(Box::new(update)))
    }
}
