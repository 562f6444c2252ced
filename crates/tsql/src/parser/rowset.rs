//! Rowset functions: OPENROWSET, OPENQUERY, OPENDATASOURCE, OPENXML, CHANGETABLE, PREDICT.

use super::{Parsed, Parser};
use crate::syntax::{
    BulkOption, BulkOrder, ChangeTable, Expr, OpenRowset, OpenXml, OpenXmlSchema, Predict,
    RowsetColumn, RowsetTarget, StringLiteral, TableSourceKind,
};
use crate::token::TokenKind;

const FULL_TEXT_TABLES: [&str; 5] = [
    "CONTAINSTABLE",
    "FREETEXTTABLE",
    "SEMANTICKEYPHRASETABLE",
    "SEMANTICSIMILARITYTABLE",
    "SEMANTICSIMILARITYDETAILSTABLE",
];

impl Parser<'_> {
    /// A rowset function with a grammar of its own; `None` for another source.
    pub(super) fn rowset_source(&mut self) -> Parsed<Option<TableSourceKind>> {
        if self.kind_at(1) != TokenKind::LeftParen {
            return Ok(None);
        }
        let kind = match self.kind() {
            TokenKind::Reserved => self.reserved_rowset()?,
            TokenKind::Word if self.is("CHANGETABLE") => {
                self.at += 1;
                let table = self.parenthesised(Parser::change_table)?;
                TableSourceKind::ChangeTable(Box::new(table))
            }
            TokenKind::Word if self.is("PREDICT") => self.predict()?,
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn reserved_rowset(&mut self) -> Parsed<TableSourceKind> {
        if self.accept("OPENROWSET") {
            return self.open_rowset();
        }
        if self.accept("OPENQUERY") {
            return self.open_query();
        }
        if self.accept("OPENDATASOURCE") {
            return self.open_datasource();
        }
        if self.accept("OPENXML") {
            return self.open_xml();
        }
        if self.is_any(&FULL_TEXT_TABLES) {
            return self.full_text_table();
        }
        Err(self.unexpected())
    }

    fn open_query(&mut self) -> Parsed<TableSourceKind> {
        self.parenthesised(|parser| {
            let server = parser.name()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(TableSourceKind::OpenQuery { server, query: parser.string()? })
        })
    }

    fn open_datasource(&mut self) -> Parsed<TableSourceKind> {
        self.expect_kind(TokenKind::LeftParen)?;
        let provider = self.string()?;
        self.expect_kind(TokenKind::Comma)?;
        let connection = self.string()?;
        self.expect_kind(TokenKind::RightParen)?;
        self.expect_kind(TokenKind::Dot)?;
        let object = self.object_name()?;
        Ok(TableSourceKind::OpenDatasource { provider, connection, object })
    }

    fn open_xml(&mut self) -> Parsed<TableSourceKind> {
        let arguments = self.parenthesised_list(Parser::expression)?;
        let schema = if !self.accept("WITH") {
            OpenXmlSchema::None
        } else {
            self.parenthesised(Parser::open_xml_schema)?
        };
        Ok(TableSourceKind::OpenXml(Box::new(OpenXml { arguments, schema })))
    }

    /// Columns, or the name of a table.
    fn open_xml_schema(&mut self) -> Parsed<OpenXmlSchema> {
        let is_table = matches!(self.kind_at(1), TokenKind::RightParen | TokenKind::Dot);
        if is_table {
            return self.object_name().map(OpenXmlSchema::Table);
        }
        self.list(Parser::rowset_column).map(OpenXmlSchema::Columns)
    }

    /// `name type [ COLLATE … ] [ 'path' | ordinal ] [ AS JSON ]`
    pub(super) fn rowset_column(&mut self) -> Parsed<RowsetColumn> {
        let name = self.name()?;
        let data_type = self.data_type()?;
        let has_collation = self.accept("COLLATE");
        let collation = self.when(has_collation, Parser::name)?;
        let has_path = self.is_string() || self.is_kind(TokenKind::Integer);
        let path = self.when(has_path, Parser::primary)?;
        let is_json = self.accept_all(&["AS", "JSON"]);
        Ok(RowsetColumn { name, data_type, collation, path, is_json })
    }

    fn open_rowset(&mut self) -> Parsed<TableSourceKind> {
        self.expect_kind(TokenKind::LeftParen)?;
        let rowset = if self.accept("BULK") {
            self.bulk_rowset()?
        } else if self.accept("TABLE") {
            self.internal_rowset()?
        } else {
            self.provider_rowset()?
        };
        self.expect_kind(TokenKind::RightParen)?;
        let rowset = match rowset {
            OpenRowset::Bulk { files, options, .. } if self.is_columns() => {
                self.at += 1;
                let columns = self.parenthesised_list(Parser::rowset_column)?;
                OpenRowset::Bulk { files, options, columns }
            }
            other => other,
        };
        Ok(TableSourceKind::OpenRowset(Box::new(rowset)))
    }

    /// `WITH ( name type …`, which hints are not.
    fn is_columns(&self) -> bool {
        self.is("WITH")
            && self.kind_at(1) == TokenKind::LeftParen
            && self.is_name_at(2)
            && self.is_name_at(3)
    }

    fn bulk_rowset(&mut self) -> Parsed<OpenRowset> {
        let files = if self.is_kind(TokenKind::LeftParen) {
            self.parenthesised_list(Parser::string)?
        } else {
            vec![self.string()?]
        };
        let mut options = Vec::new();
        while self.accept_kind(TokenKind::Comma) {
            options.push(self.bulk_option()?);
        }
        Ok(OpenRowset::Bulk { files, options, columns: Vec::new() })
    }

    fn internal_rowset(&mut self) -> Parsed<OpenRowset> {
        let name = self.name()?;
        let mut arguments: Vec<Expr> = Vec::new();
        while self.accept_kind(TokenKind::Comma) {
            arguments.push(self.expression()?);
        }
        Ok(OpenRowset::Internal { name, arguments })
    }

    fn provider_rowset(&mut self) -> Parsed<OpenRowset> {
        let provider = self.string()?;
        self.expect_kind(TokenKind::Comma)?;
        let mut connection: Vec<StringLiteral> = vec![self.string()?];
        while self.accept_kind(TokenKind::Semicolon) {
            connection.push(self.string()?);
        }
        if !matches!(connection.len(), 1 | 3) {
            return Err(self.unexpected());
        }
        self.expect_kind(TokenKind::Comma)?;
        let target = if self.is_string() {
            RowsetTarget::Query(self.string()?)
        } else {
            RowsetTarget::Object(self.object_name()?)
        };
        Ok(OpenRowset::Provider { provider, connection, target })
    }

    /// An option of a bulk load.
    pub(super) fn bulk_option(&mut self) -> Parsed<BulkOption> {
        let form = BULK_OPTIONS.iter().find(|form| self.is(form.name)).copied();
        let form = form.ok_or_else(|| self.unexpected())?;
        self.at += 1;
        let mut option = BulkOption {
            name: form.name.into(),
            value: None,
            order: Vec::new(),
            is_unique: false,
        };
        match form.value {
            BulkValue::None => {}
            BulkValue::Order => {
                option.order = self.parenthesised_list(Parser::bulk_order)?;
                option.is_unique = self.accept("UNIQUE");
            }
            BulkValue::Required => {
                self.expect_kind(TokenKind::Equal)?;
                option.value = Some(self.expression()?);
            }
        }
        Ok(option)
    }

    fn bulk_order(&mut self) -> Parsed<BulkOrder> {
        let column = self.name()?;
        let is_descending = self.choose(&[("ASC", false), ("DESC", true)]).unwrap_or(false);
        Ok(BulkOrder { column, is_descending })
    }

    /// `CHANGES table , version | VERSION table , ( columns ) , ( values )`
    fn change_table(&mut self) -> Parsed<ChangeTable> {
        if self.accept("CHANGES") {
            let table = self.object_name()?;
            self.expect_kind(TokenKind::Comma)?;
            let version = self.expression()?;
            let has_option = self.accept_kind(TokenKind::Comma);
            let option = self.when(has_option, Parser::name)?;
            return Ok(ChangeTable::Changes { table, version, option });
        }
        self.expect("VERSION")?;
        let table = self.object_name()?;
        self.expect_kind(TokenKind::Comma)?;
        let columns = self.parenthesised_names()?;
        self.expect_kind(TokenKind::Comma)?;
        let values = self.parenthesised_list(Parser::expression)?;
        let has_option = self.accept_kind(TokenKind::Comma);
        let option = self.when(has_option, Parser::name)?;
        Ok(ChangeTable::Version { table, columns, values, option })
    }

    fn predict(&mut self) -> Parsed<TableSourceKind> {
        self.at += 1;
        self.expect_kind(TokenKind::LeftParen)?;
        self.expect("MODEL")?;
        self.expect_kind(TokenKind::Equal)?;
        let model = self.expression()?;
        self.expect_kind(TokenKind::Comma)?;
        self.expect("DATA")?;
        self.expect_kind(TokenKind::Equal)?;
        let data = self.nested(Parser::single_source)?;
        let has_runtime = self.accept_kind(TokenKind::Comma);
        let runtime = self.when(has_runtime, |parser| {
            parser.expect("RUNTIME")?;
            parser.expect_kind(TokenKind::Equal)?;
            parser.name()
        })?;
        self.expect_kind(TokenKind::RightParen)?;
        self.expect("WITH")?;
        let columns = self.parenthesised_list(Parser::rowset_column)?;
        let predict = Predict { model, data, runtime, columns };
        Ok(TableSourceKind::Predict(Box::new(predict)))
    }
}

/// An option of a bulk load and what follows its name.
#[derive(Debug, Clone, Copy)]
struct BulkForm {
    name: &'static str,
    value: BulkValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BulkValue {
    None,
    /// `= value`
    Required,
    /// `( column , … )`
    Order,
}

const fn form(name: &'static str, value: BulkValue) -> BulkForm {
    BulkForm { name, value }
}

/// Options of BULK INSERT, INSERT BULK and OPENROWSET ( BULK … ).
const BULK_OPTIONS: [BulkForm; 31] = [
    form("BATCHSIZE", BulkValue::Required),
    form("CHECK_CONSTRAINTS", BulkValue::None),
    form("CODEPAGE", BulkValue::Required),
    form("DATAFILETYPE", BulkValue::Required),
    form("DATA_SOURCE", BulkValue::Required),
    form("DATA_COMPRESSION", BulkValue::Required),
    form("ERRORFILE", BulkValue::Required),
    form("ERRORFILE_DATA_SOURCE", BulkValue::Required),
    form("ESCAPECHAR", BulkValue::Required),
    form("FIELDQUOTE", BulkValue::Required),
    form("FIELDTERMINATOR", BulkValue::Required),
    form("FIRSTROW", BulkValue::Required),
    form("FIRE_TRIGGERS", BulkValue::None),
    form("FORMAT", BulkValue::Required),
    form("FORMATFILE", BulkValue::Required),
    form("FORMATFILE_DATA_SOURCE", BulkValue::Required),
    form("HEADER_ROW", BulkValue::Required),
    form("KEEPIDENTITY", BulkValue::None),
    form("KEEPNULLS", BulkValue::None),
    form("KEEP_NULLS", BulkValue::None),
    form("KILOBYTES_PER_BATCH", BulkValue::Required),
    form("LASTROW", BulkValue::Required),
    form("MAXERRORS", BulkValue::Required),
    form("ORDER", BulkValue::Order),
    form("PARSER_VERSION", BulkValue::Required),
    form("ROWS_PER_BATCH", BulkValue::Required),
    form("ROWTERMINATOR", BulkValue::Required),
    form("SINGLE_BLOB", BulkValue::None),
    form("SINGLE_CLOB", BulkValue::None),
    form("SINGLE_NCLOB", BulkValue::None),
    form("TABLOCK", BulkValue::None),
];
