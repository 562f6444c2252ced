//! Alias types (CREATE TYPE … FROM) in declarations: each becomes the type that it stands for
//! before a text is compiled.

use extentdb_connection::connection::Connection;
use extentdb_connection::objects::DEFAULT_SCHEMA;
use extentdb_tsql::syntax::{
    ColumnKind, DataType, DeclarationKind, Parameter, ParameterType, Statement, StatementKind,
    TableElement,
};
use extentdb_tsql::{Options, parse};

/// Replaces alias types in declarations; true when there was one.
pub(crate) fn resolve(connection: &Connection, statements: &mut [Statement]) -> bool {
    let mut found = false;
    for statement in statements {
        found |= in_statement(connection, &mut statement.kind);
    }
    found
}

/// The same in the parameters of a module.
pub(crate) fn resolve_parameters(connection: &Connection, parameters: &mut [Parameter]) {
    for parameter in parameters {
        if let ParameterType::Type(data_type) = &mut parameter.data_type {
            replace(connection, data_type);
        }
    }
}

fn in_statement(connection: &Connection, kind: &mut StatementKind) -> bool {
    match kind {
        StatementKind::Block(statements) => resolve(connection, statements),
        StatementKind::If(choice) => {
            let mut found = false;
            for branch in &mut choice.branches {
                found |= in_statement(connection, &mut branch.statement.kind);
            }
            if let Some(otherwise) = &mut choice.otherwise {
                found |= in_statement(connection, &mut otherwise.kind);
            }
            found
        }
        StatementKind::While(turn) => in_statement(connection, &mut turn.statement.kind),
        StatementKind::TryCatch(blocks) => {
            let in_body = resolve(connection, &mut blocks.body);
            resolve(connection, &mut blocks.handler) | in_body
        }
        StatementKind::Declare(declare) => {
            let mut found = false;
            for declaration in &mut declare.declarations {
                found |= match &mut declaration.kind {
                    DeclarationKind::Scalar { data_type, .. } => replace(connection, data_type),
                    DeclarationKind::Table(elements) => in_columns(connection, elements),
                    DeclarationKind::Cursor => false,
                };
            }
            found
        }
        _ => false,
    }
}

fn in_columns(connection: &Connection, elements: &mut [TableElement]) -> bool {
    let mut found = false;
    for element in elements {
        if let TableElement::Column(column) = element
            && let ColumnKind::Stored(data_type) = &mut column.kind
        {
            found |= replace(connection, data_type);
        }
    }
    found
}

/// Replaces an alias type; false when it is none.
fn replace(connection: &Connection, data_type: &mut DataType) -> bool {
    let schema = data_type.name.schema().map_or(DEFAULT_SCHEMA, |schema| &*schema.text);
    if !data_type.parameters.is_empty() || schema.eq_ignore_ascii_case("sys") {
        return false;
    }
    let Ok(model) = connection.session.database().model() else { return false };
    let Some(schema) = model.schema(schema) else { return false };
    let found = model.scalar_type_named(schema.id, &data_type.name.name.text);
    let Some(ty) = found.filter(|found| found.id > LAST_OF_SYSTEM).and_then(|found| found.ty)
    else {
        return false;
    };
    let text = format!("DECLARE @v {ty}");
    let Ok(script) = parse(&text, Options::default()) else { return false };
    let declared = script.statements.into_iter().find_map(|statement| match statement.kind {
        StatementKind::Declare(declare) => declare.declarations.into_iter().next(),
        _ => None,
    });
    match declared.map(|declaration| declaration.kind) {
        Some(DeclarationKind::Scalar { data_type: plain, .. }) => {
            *data_type = DataType { span: data_type.span, ..plain };
            true
        }
        _ => false,
    }
}

/// Ids of types up to this one are those of the system.
const LAST_OF_SYSTEM: i32 = 256;
