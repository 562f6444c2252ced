//! Types, schemas, sequences, synonyms, rules and defaults, and DROP.

use super::clause::Clause;
use super::data_type::DataType;
use super::expression::{Condition, Expr};
use super::module::{DefineModule, ExternalName};
use super::name::{Name, ObjectName};
use super::permission::Permission;
use super::table::{CreateTable, TableElement};
use crate::span::Span;

/// `CREATE TYPE name …`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    pub name: ObjectName,
    pub definition: TypeDefinition,
}

/// What a type is.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeDefinition {
    /// `FROM type [ NULL | NOT NULL ]`
    Alias { base: DataType, is_nullable: Option<bool> },
    /// `AS TABLE ( element , … ) [ WITH ( option , … ) ]`
    Table { elements: Vec<TableElement>, options: Vec<Clause> },
    /// `EXTERNAL NAME assembly [ . class ]`
    External(ExternalName),
}

/// `CREATE SCHEMA { name [ AUTHORIZATION owner ] | AUTHORIZATION owner } [ element … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSchema {
    pub name: Option<Name>,
    pub owner: Option<Name>,
    pub elements: Vec<SchemaElement>,
}

/// What CREATE SCHEMA creates in it.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaElement {
    Table(Box<CreateTable>),
    View(Box<DefineModule>),
    Permission(Box<Permission>),
}

/// `{ CREATE | ALTER } SEQUENCE name …`
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    pub is_alter: bool,
    pub name: ObjectName,
    /// `AS type`
    pub data_type: Option<DataType>,
    /// `START WITH value`
    pub start: Option<Expr>,
    /// `RESTART [ WITH value ]`
    pub restart: Option<Option<Expr>>,
    pub increment: Option<Expr>,
    pub minimum: Option<Limit>,
    pub maximum: Option<Limit>,
    /// `CYCLE | NO CYCLE`
    pub is_cycle: Option<bool>,
    pub cache: Option<Cache>,
}

/// `MINVALUE value | NO MINVALUE`
#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    None,
    Value(Expr),
}

/// `CACHE [ size ] | NO CACHE`
#[derive(Debug, Clone, PartialEq)]
pub enum Cache {
    None,
    Default,
    Size(Expr),
}

/// `CREATE SYNONYM name FOR object`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSynonym {
    pub name: ObjectName,
    pub object: ObjectName,
}

/// `CREATE RULE name AS condition`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRule {
    pub name: ObjectName,
    pub condition: Condition,
    pub source: Span,
}

/// `CREATE DEFAULT name AS value`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateDefault {
    pub name: ObjectName,
    pub value: Expr,
    pub source: Span,
}

/// `DROP class [ IF EXISTS ] name , …` of objects and databases
#[derive(Debug, Clone, PartialEq)]
pub struct DropObjects {
    pub class: DropClass,
    pub if_exists: bool,
    pub names: Vec<ObjectName>,
    /// `CASCADE | RESTRICT`, which DROP accepts after some classes and ignores
    pub behaviour: Option<&'static str>,
    /// `ON { DATABASE | ALL SERVER }` of triggers
    pub scope: Option<super::module::TriggerTarget>,
}

/// What DROP drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropClass {
    Aggregate,
    Database,
    Default,
    Function,
    Procedure,
    Rule,
    Schema,
    Sequence,
    Statistics,
    Synonym,
    Table,
    Trigger,
    Type,
    View,
}
