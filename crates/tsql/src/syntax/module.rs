//! Views, procedures, functions and triggers.

use super::clause::Clause;
use super::data_type::DataType;
use super::execute::ExecuteContext;
use super::expression::Expr;
use super::name::{Name, ObjectName, VariableName};
use super::query::Query;
use super::statement::Statement;
use super::table::TableElement;
use crate::span::Span;

/// How a module is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefinitionVerb {
    Create,
    Alter,
    CreateOrAlter,
}

/// A module with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineModule {
    pub verb: DefinitionVerb,
    pub module: Module,
    /// The text that the catalog stores: the whole batch with the comments around the statement; in
    /// CREATE SCHEMA, the statement.
    pub source: Span,
}

/// Kinds of modules.
#[derive(Debug, Clone, PartialEq)]
pub enum Module {
    View(View),
    Procedure(Procedure),
    Function(Function),
    Trigger(Trigger),
}

/// `VIEW name [ ( column , … ) ] [ WITH option , … ] AS query [ WITH CHECK OPTION ]`
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub name: ObjectName,
    pub columns: Vec<Name>,
    pub options: ModuleOptions,
    pub query: Box<Query>,
    /// Of the query in the text.
    pub query_source: Span,
    pub with_check_option: bool,
}

/// Options of all kinds of modules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModuleOptions {
    pub has_encryption: bool,
    pub has_schemabinding: bool,
    pub has_recompile: bool,
    pub has_view_metadata: bool,
    pub is_native: bool,
    /// `RETURNS NULL ON NULL INPUT` is true, `CALLED ON NULL INPUT` is false.
    pub returns_null_on_null: Option<bool>,
    /// `INLINE = { ON | OFF }`
    pub inline: Option<bool>,
    pub execute_as: Option<ExecuteContext>,
}

/// `{ PROC | PROCEDURE } name [ ; number ] [ parameter , … ] [ WITH … ] [ FOR REPLICATION ] AS …`
#[derive(Debug, Clone, PartialEq)]
pub struct Procedure {
    pub name: ObjectName,
    pub number: Option<u32>,
    pub parameters: Vec<Parameter>,
    pub options: ModuleOptions,
    pub is_for_replication: bool,
    pub body: ModuleBody,
}

/// `@name [ AS ] type [ VARYING ] [ NULL | NOT NULL ] [ = default ] [ OUTPUT ] [ READONLY ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: VariableName,
    pub data_type: ParameterType,
    pub is_nullable: Option<bool>,
    pub default: Option<Expr>,
    pub is_output: bool,
    pub is_readonly: bool,
    pub span: Span,
}

/// The type of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterType {
    Type(DataType),
    /// `CURSOR VARYING`
    Cursor,
}

/// What a module does.
#[derive(Debug, Clone, PartialEq)]
pub enum ModuleBody {
    Statements(Vec<Statement>),
    /// `EXTERNAL NAME assembly.class.method`
    External(ExternalName),
}

/// `assembly [ . class . method ]`
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalName {
    pub assembly: Name,
    pub class: Option<Name>,
    pub method: Option<Name>,
}

/// `FUNCTION name ( [ parameter , … ] ) RETURNS … [ WITH … ] [ AS ] body`
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: ObjectName,
    pub parameters: Vec<Parameter>,
    pub options: ModuleOptions,
    pub body: FunctionBody,
}

/// What a function returns, and how.
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionBody {
    /// `RETURNS type … BEGIN … END`
    Scalar { returns: DataType, statements: Vec<Statement> },
    /// `RETURNS TABLE … RETURN ( query )`
    Inline { query: Box<Query>, query_source: Span },
    /// `RETURNS @name TABLE ( … ) … BEGIN … END`
    Table { variable: VariableName, elements: Vec<TableElement>, statements: Vec<Statement> },
    /// `… EXTERNAL NAME …`
    ExternalScalar { returns: DataType, name: ExternalName },
    /// `RETURNS TABLE ( … ) … EXTERNAL NAME …`
    ExternalTable {
        elements: Vec<TableElement>,
        /// `ORDER ( column , … )`: clause of rule `clr_order`.
        order: Option<Clause>,
        name: ExternalName,
    },
}

/// `TRIGGER name ON target [ WITH … ] { FOR | AFTER | INSTEAD OF } event , … AS body`
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    pub name: ObjectName,
    pub target: TriggerTarget,
    pub options: ModuleOptions,
    pub timing: TriggerTiming,
    /// `INSERT`, `UPDATE`, `DELETE`, or DDL events, in capitals.
    pub events: Vec<Name>,
    pub with_append: bool,
    pub is_not_for_replication: bool,
    pub body: ModuleBody,
}

/// `table | DATABASE | ALL SERVER`
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerTarget {
    Object(ObjectName),
    Database,
    AllServer,
}

/// `FOR | AFTER | INSTEAD OF`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerTiming {
    After,
    InsteadOf,
}

/// `{ ENABLE | DISABLE } TRIGGER { name , … | ALL } ON target`
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchTrigger {
    pub is_enabled: bool,
    /// Empty for ALL.
    pub names: Vec<ObjectName>,
    pub target: TriggerTarget,
}
