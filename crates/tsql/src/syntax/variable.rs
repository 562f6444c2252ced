//! DECLARE and SET.

use super::cursor::CursorDefinition;
use super::data_type::DataType;
use super::expression::{Assignment, Expr};
use super::name::{Name, ObjectName, VariableName};
use super::table::TableElement;
use crate::span::Span;

/// `DECLARE declaration , …`
#[derive(Debug, Clone, PartialEq)]
pub struct Declare {
    pub declarations: Vec<Declaration>,
}

/// A declared variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    pub name: VariableName,
    pub kind: DeclarationKind,
    pub span: Span,
}

/// Kinds of variables.
#[derive(Debug, Clone, PartialEq)]
pub enum DeclarationKind {
    /// `[ AS ] type [ NULL | NOT NULL ] [ = value ]`
    Scalar {
        data_type: DataType,
        is_nullable: Option<bool>,
        value: Option<Expr>,
    },
    /// `[ AS ] TABLE ( element , … )`
    Table(Vec<TableElement>),
    Cursor,
}

/// SET of variables and options.
#[derive(Debug, Clone, PartialEq)]
pub enum Set {
    Variable(Assignment),
    /// `SET @v.name = value`
    Property {
        variable: VariableName,
        property: Name,
        value: Expr,
    },
    /// `SET @v.name ( arguments )`
    Method {
        variable: VariableName,
        method: Name,
        arguments: Vec<Expr>,
    },
    /// `SET @cursor = CURSOR …`
    Cursor {
        variable: VariableName,
        definition: Box<CursorDefinition>,
    },
    /// `SET option , … { ON | OFF }`: names in capitals
    Switch {
        options: Vec<&'static str>,
        is_on: bool,
    },
    /// `SET STATISTICS { IO | TIME | XML | PROFILE } , … { ON | OFF }`
    Statistics {
        what: Vec<&'static str>,
        is_on: bool,
    },
    /// `SET IDENTITY_INSERT table { ON | OFF }`
    IdentityInsert {
        table: ObjectName,
        is_on: bool,
    },
    IsolationLevel(IsolationLevel),
    /// `SET option value`: LOCK_TIMEOUT, ROWCOUNT, DATEFIRST, LANGUAGE …
    Value {
        option: &'static str,
        value: Expr,
    },
    /// `SET FIPS_FLAGGER { 'level' | OFF }`
    FipsFlagger(Option<Box<str>>),
    /// `SET OFFSETS keyword , … { ON | OFF }`
    Offsets {
        keywords: Vec<Box<str>>,
        is_on: bool,
    },
}

/// `SET TRANSACTION ISOLATION LEVEL …`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}
