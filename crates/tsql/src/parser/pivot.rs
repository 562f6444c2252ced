//! PIVOT and UNPIVOT.

use super::{Parsed, Parser};
use crate::syntax::{Pivot, TableSource, TableSourceKind, Unpivot};
use crate::token::TokenKind;

impl Parser<'_> {
    /// The pivots after a source.
    pub(super) fn pivots_after(&mut self, mut source: TableSource) -> Parsed<TableSource> {
        let mut length = 0;
        loop {
            let start = source.span;
            let kind = if self.accept("PIVOT") {
                self.pivot(source)?
            } else if self.accept("UNPIVOT") {
                self.unpivot(source)?
            } else {
                return Ok(source);
            };
            let alias = self.table_alias()?;
            if alias.is_none() {
                return Err(self.unexpected());
            }
            source = TableSource { kind, alias, span: self.since(start) };
            length += 1;
            self.verify_chain(length)?;
        }
    }

    fn pivot(&mut self, source: TableSource) -> Parsed<TableSourceKind> {
        self.parenthesised(|parser| {
            let name = parser.object_name()?;
            let aggregate = parser.function_call(name)?;
            parser.expect("FOR")?;
            let column = parser.column_name()?;
            parser.expect("IN")?;
            let values = parser.parenthesised_names()?;
            Ok(TableSourceKind::Pivot(Box::new(Pivot { source, aggregate, column, values })))
        })
    }

    fn unpivot(&mut self, source: TableSource) -> Parsed<TableSourceKind> {
        self.expect_kind(TokenKind::LeftParen)?;
        let value = self.name()?;
        self.expect("FOR")?;
        let column = self.name()?;
        self.expect("IN")?;
        let columns = self.parenthesised_list(Parser::column_name)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(TableSourceKind::Unpivot(Box::new(Unpivot { source, value, column, columns })))
    }
}
