//! Primary keys, unique constraints and indexes, from their syntax to what the engine makes.

use extentdb_engine::{ColumnSpec, Constraint, IndexSpec};
use extentdb_tsql::stored_condition;
use extentdb_tsql::syntax::{
    Direction, Filter, IndexColumn, IndexDefinition, KeyConstraint, Name, Storage,
};
use extentdb_types::SqlType;

use super::options::IndexOptions;
use super::problem::Defined;
use extentdb_connection::cause::{Cause, DefinitionCause};

/// Key columns of an index.
const KEY_COLUMNS_MAX: usize = 16;

/// A column as an index sees it.
#[derive(Clone)]
pub(super) struct KeyColumn {
    pub(super) name: String,
    pub(super) ty: SqlType,
    pub(super) is_nullable: bool,
}

impl From<&ColumnSpec> for KeyColumn {
    fn from(spec: &ColumnSpec) -> KeyColumn {
        KeyColumn {
            name: spec.name.clone(),
            ty: spec.ty,
            is_nullable: spec.nullable,
        }
    }
}

/// The filegroup that a clause names; `None` for the default one.
pub(super) fn filegroup(storage: Option<&Storage>) -> Result<Option<String>, Cause> {
    let Some(storage) = storage else { return Ok(None) };
    if !storage.columns.is_empty() {
        return Err(Cause::not_supported("partition schemes"));
    }
    let name = &*storage.name.text;
    let is_default = name.eq_ignore_ascii_case("default");
    Ok((!is_default).then(|| name.to_owned()))
}

/// The index of a primary key or unique constraint.
pub(super) fn of_constraint(
    key: &KeyConstraint,
    name: String,
    column: Option<&Name>,
    is_clustered: bool,
) -> Result<IndexSpec, Cause> {
    if key.is_hash || key.is_not_enforced {
        return Err(Cause::not_supported("HASH keys and keys NOT ENFORCED"));
    }
    let options = IndexOptions::of(&key.options)?;
    let mut spec = IndexSpec::new(&name, &[]);
    spec.keys = match column {
        Some(column) if key.columns.is_empty() => vec![(column.text.to_string(), false)],
        _ => key.columns.iter().map(key_column).collect(),
    };
    spec.unique = true;
    spec.constraint = if key.is_primary { Constraint::PrimaryKey } else { Constraint::Unique };
    spec.clustered = is_clustered;
    spec.filegroup = filegroup(key.storage.as_ref())?;
    Ok(with_options(spec, options))
}

/// An index by its definition.
pub(super) fn of_definition(name: &Name, definition: &IndexDefinition) -> Result<IndexSpec, Cause> {
    if definition.is_columnstore {
        return Err(Cause::not_supported("columnstore indexes"));
    }
    if definition.is_hash || definition.filestream_storage.is_some() {
        return Err(Cause::not_supported("HASH indexes and FILESTREAM_ON"));
    }
    let options = IndexOptions::of(&definition.options)?;
    let mut spec = IndexSpec::new(&name.text, &[]);
    spec.keys = definition.columns.iter().map(key_column).collect();
    spec.unique = definition.is_unique;
    spec.clustered = definition.is_clustered == Some(true);
    spec.included = definition.include.iter().map(|name| name.text.to_string()).collect();
    spec.filter = definition.filter.as_ref().map(filter_text);
    spec.filegroup = filegroup(definition.storage.as_ref())?;
    Ok(with_options(spec, options))
}

fn with_options(spec: IndexSpec, options: IndexOptions) -> IndexSpec {
    IndexSpec {
        fill_factor: options.fill_factor.unwrap_or(0),
        pad_index: options.pad_index,
        ..spec
    }
}

fn key_column(column: &IndexColumn) -> (String, bool) {
    (column.name.text.to_string(), column.direction == Some(Direction::Descending))
}

fn filter_text(filter: &Filter) -> String {
    stored_condition(&filter.condition)
}

/// Refuses an index over what the table has not got, by the numbers of the messages.
pub(super) fn verify(spec: &IndexSpec, table: &str, columns: &[KeyColumn]) -> Defined {
    let is_constraint = spec.constraint != Constraint::None;
    verify_columns(spec, table, columns).map_err(|problem| {
        if is_constraint { problem.then(DefinitionCause::NotCreated) } else { problem }
    })
}

fn verify_columns(spec: &IndexSpec, table: &str, columns: &[KeyColumn]) -> Defined {
    if spec.keys.len() > KEY_COLUMNS_MAX {
        return Err(DefinitionCause::IndexColumnCount {
            index: spec.name.clone(),
            table: table.to_owned(),
            count: spec.keys.len(),
        }
        .into());
    }
    let keys = spec.keys.iter().map(|(name, _)| name);
    let mut seen: Vec<&String> = Vec::new();
    for name in keys.chain(&spec.included) {
        let found = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        let Some(column) = found else {
            return Err(DefinitionCause::NoColumnInIndex { column: name.clone() }.into());
        };
        if seen.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            return Err(DefinitionCause::ColumnTwice { kind: "index", column: name.clone() }.into());
        }
        let is_key = seen.len() < spec.keys.len();
        seen.push(name);
        if is_key {
            verify_key_column(spec, table, column)?;
        }
    }
    Ok(())
}

fn verify_key_column(spec: &IndexSpec, table: &str, column: &KeyColumn) -> Defined {
    let table = table.to_owned();
    let ty = column.ty;
    let is_no_key = ty.is_max() || ty.is_lob() || matches!(ty, SqlType::Udt { .. } | SqlType::Xml);
    if is_no_key {
        return Err(DefinitionCause::TypeInIndex { column: column.name.clone(), table }.into());
    }
    if spec.constraint == Constraint::PrimaryKey && column.is_nullable {
        return Err(DefinitionCause::NullablePrimaryKey { table }.into());
    }
    Ok(())
}
