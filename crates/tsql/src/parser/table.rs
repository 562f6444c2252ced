//! CREATE TABLE, and the elements of table definitions.

use super::{Parsed, Parser};
use crate::syntax::{
    Clause, CreateTable, InlineIndex, StatementKind, Storage, TableElement, TableKind,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `CREATE TABLE …`
    pub(super) fn create_table_statement(&mut self) -> Parsed<StatementKind> {
        self.create_table().map(|table| StatementKind::CreateTable(Box::new(table)))
    }

    pub(super) fn create_table(&mut self) -> Parsed<CreateTable> {
        self.expect_all(&["CREATE", "TABLE"])?;
        let name = self.object_name()?;
        let is_file_table = self.accept_all(&["AS", "FILETABLE"]);
        let mut table = CreateTable {
            name,
            elements: Vec::new(),
            kind: if is_file_table { TableKind::FileTable } else { TableKind::Plain },
            storage: None,
            text_storage: None,
            filestream_storage: None,
            options: Vec::new(),
        };
        if !is_file_table {
            table.elements = self.table_elements()?;
        }
        if self.is("AS") {
            self.at += 1;
            table.kind =
                self.expect_choice(&[("NODE", TableKind::Node), ("EDGE", TableKind::Edge)])?;
        }
        self.table_storage(&mut table)?;
        Ok(table)
    }

    /// `[ ON … ] [ TEXTIMAGE_ON … ] [ FILESTREAM_ON … ] [ WITH ( … ) ]`, in any order
    fn table_storage(&mut self, table: &mut CreateTable) -> Parsed<()> {
        loop {
            if table.storage.is_none() && self.accept("ON") {
                table.storage = Some(self.storage()?);
            } else if table.text_storage.is_none() && self.accept("TEXTIMAGE_ON") {
                table.text_storage = Some(self.name_or_string()?);
            } else if table.filestream_storage.is_none() && self.accept("FILESTREAM_ON") {
                table.filestream_storage = Some(self.storage()?);
            } else if table.options.is_empty() && self.is("WITH") {
                table.options = self.with_clauses("table_option")?;
                if table.options.is_empty() {
                    return Ok(());
                }
            } else {
                return Ok(());
            }
        }
    }

    /// `filegroup | scheme ( column )`
    pub(super) fn storage(&mut self) -> Parsed<Storage> {
        let name = if self.is("PRIMARY") { self.any_word()? } else { self.name_or_string()? };
        Ok(Storage { name, columns: self.optional_list(Parser::name)? })
    }

    /// `( element [ , ] … )`: a comma may be missing before a constraint, and may end the list.
    pub(super) fn table_elements(&mut self) -> Parsed<Vec<TableElement>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let mut elements = vec![self.table_element()?];
        loop {
            let has_comma = self.accept_kind(TokenKind::Comma);
            if self.accept_kind(TokenKind::RightParen) {
                return Ok(elements);
            }
            if !has_comma && !self.is_table_constraint() {
                return Err(self.unexpected());
            }
            elements.push(self.table_element()?);
        }
    }

    /// A column, constraint, index or period.
    pub(super) fn table_element(&mut self) -> Parsed<TableElement> {
        if self.is_table_constraint() {
            return self.table_constraint().map(|it| TableElement::Constraint(Box::new(it)));
        }
        if self.is("INDEX") {
            return self.inline_index().map(|index| TableElement::Index(Box::new(index)));
        }
        if self.are(&["PERIOD", "FOR"]) {
            return self.period();
        }
        self.column_definition().map(|column| TableElement::Column(Box::new(column)))
    }

    /// `PERIOD FOR SYSTEM_TIME ( start , end )`
    fn period(&mut self) -> Parsed<TableElement> {
        self.expect_all(&["PERIOD", "FOR", "SYSTEM_TIME"])?;
        self.parenthesised(|parser| {
            let start = parser.name()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(TableElement::Period { start, end: parser.name()? })
        })
    }

    /// `INDEX name [ UNIQUE ] [ CLUSTERED | NONCLUSTERED ] [ HASH | COLUMNSTORE ] [ ( … ) ] …`
    pub(super) fn inline_index(&mut self) -> Parsed<InlineIndex> {
        let start = self.span();
        self.expect("INDEX")?;
        let name = self.name()?;
        let mut definition = self.index_kind();
        definition.is_hash = self.accept("HASH");
        definition.is_columnstore |= self.accept("COLUMNSTORE");
        if self.is_kind(TokenKind::LeftParen) {
            definition.columns = self.parenthesised_list(Parser::index_column)?;
        }
        let definition = self.index_rest(definition)?;
        Ok(InlineIndex { name, definition, span: self.since(start) })
    }

    /// `[ WITH ( option , … ) ]` of an index, or the older form without parentheses.
    pub(super) fn index_options(&mut self) -> Parsed<Vec<Clause>> {
        if !self.is("WITH") {
            return Ok(Vec::new());
        }
        if self.kind_at(1) == TokenKind::LeftParen {
            return self.with_clauses("index_option");
        }
        let is_option = ["FILLFACTOR", "PAD_INDEX", "IGNORE_DUP_KEY", "DROP_EXISTING"]
            .iter()
            .chain(&["STATISTICS_NORECOMPUTE", "SORT_IN_TEMPDB"])
            .any(|word| self.is_word_at(1, word));
        if !is_option {
            return Ok(Vec::new());
        }
        self.at += 1;
        self.clauses("old_index_option")
    }
}
