//! Columns of CREATE TABLE and ALTER TABLE: types, NULL, defaults, identities, computed values.
//!
//! NULL or NOT NULL, the first that says it: the column itself, its primary key, identity or
//! rowversion, its alias type, SET ANSI_NULL_DFLT_ON; else NOT NULL.

use extentdb_engine::model::CatalogModel;
use extentdb_engine::{ColumnSpec, Computed, DefaultSpec, IdentitySpec};
use extentdb_expr::{CompileError, Environment, Program};
use extentdb_tsql::stored_expression;
use extentdb_tsql::syntax::{
    ColumnDefinition, ColumnIdentity, ColumnKind, Constraint, ConstraintKind, DataType, Expr,
    ExprKind, Literal, UnaryOperator,
};
use extentdb_types::{Collation, SqlType};

use super::names::Namer;
use super::problem::{Defined, Problem};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::data_type::{self, TypedColumn};
use extentdb_connection::objects::DEFAULT_SCHEMA;
use extentdb_connection::options::SetOptions;

/// `user_type_id` of `sysname`; alias types have greater ones.
const SYSNAME: i32 = 256;

/// A type by its name.
pub(super) struct NamedType {
    pub(super) ty: SqlType,
    /// Of an alias type.
    pub(super) user_type: Option<i32>,
    pub(super) is_not_null: bool,
}

/// What columns are defined with.
pub(super) struct Columns<'c> {
    pub(super) model: &'c CatalogModel,
    pub(super) options: &'c SetOptions,
    /// The table as the statement names it.
    pub(super) table: &'c str,
}

/// Where a column stands.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    /// From 1.
    pub(super) position: usize,
    pub(super) is_in_primary_key: bool,
}

/// The type that a name stands for.
///
/// # Errors
/// 2715, or a size beyond what the type has.
pub(super) fn named_type(
    model: &CatalogModel,
    data_type: &DataType,
    column: TypedColumn<'_>,
    collation: Collation,
) -> Result<NamedType, Cause> {
    if let Some(ty) = data_type::of_column(data_type, column, collation)? {
        let is_sysname = data_type.name.name.text.eq_ignore_ascii_case("sysname");
        let user_type = is_sysname.then_some(SYSNAME);
        return Ok(NamedType { ty, user_type, is_not_null: is_sysname });
    }
    if data_type::is_absent(data_type) {
        let name = data_type.name.name.text.to_lowercase();
        return Err(Cause::not_supported(format!("type {name}")));
    }
    let unknown = || Cause::UnknownType {
        position: column.position,
        name: data_type.name.to_string().replace(['[', ']'], ""),
    };
    let schema = data_type.name.schema().map_or(DEFAULT_SCHEMA, |schema| &schema.text);
    let schema = model.schema(schema).ok_or_else(unknown)?;
    let found = model.scalar_type_named(schema.id, &data_type.name.name.text);
    let found = found.filter(|found| found.id > SYSNAME).ok_or_else(unknown)?;
    if found.table.is_some() {
        let text = format!(
            "The column \"{}\" does not have a valid data type. A column cannot be of a user-defined \
             table type.",
            column.name
        );
        return Err(Cause::Failed { number: 350, severity: 16, text });
    }
    let ty = found.ty.ok_or_else(|| Cause::not_supported(format!("type {}", found.name)))?;
    Ok(NamedType { ty, user_type: Some(found.id), is_not_null: found.not_null })
}

/// The collation of a name.
pub(super) fn collation_named(name: &str, model: &CatalogModel) -> Result<Collation, Cause> {
    if name.eq_ignore_ascii_case("database_default") {
        return Ok(model.collation());
    }
    let unknown = || DefinitionCause::UnknownCollation { name: name.to_owned() }.into();
    Collation::from_name(name).ok_or_else(unknown)
}

impl Columns<'_> {
    /// The collation that texts of a column get.
    fn collation_of(&self, definition: &ColumnDefinition) -> Result<Collation, Cause> {
        match &definition.collation {
            Some(name) => collation_named(&name.text, self.model),
            None => Ok(self.model.collation()),
        }
    }

    /// A column with its default, which may need a name. Computed ones:
    /// [`Columns::computed`].
    pub(super) fn stored(
        &self,
        definition: &ColumnDefinition,
        at: Standing,
        namer: &mut Namer<'_>,
    ) -> Defined<ColumnSpec> {
        verify_kept(definition)?;
        let name = &*definition.name.text;
        let named = self.type_of(definition, at)?;
        let mut spec = ColumnSpec::new(name, named.ty);
        spec.user_type = named.user_type;
        spec.row_guid = definition.is_rowguid;
        if spec.row_guid && named.ty != SqlType::UniqueIdentifier {
            return Err(DefinitionCause::RowGuidType.into());
        }
        spec.nullable = self.is_nullable(definition, at, &named)?;
        spec.identity = definition
            .identity
            .as_ref()
            .map(|identity| identity_of(name, &named, identity))
            .transpose()?;
        spec.default = self.default_of(definition, &spec, namer)?;
        spec.with_values = definition.constraints.iter().any(|constraint| {
            matches!(constraint.kind, ConstraintKind::Default { with_values: true, .. })
        });
        Ok(spec)
    }

    /// The type of a column that ALTER COLUMN gives it.
    pub(super) fn altered(
        &self,
        definition: &ColumnDefinition,
        at: Standing,
    ) -> Defined<ColumnSpec> {
        verify_kept(definition)?;
        let named = self.type_of(definition, at)?;
        let mut spec = ColumnSpec::new(&definition.name.text, named.ty);
        spec.user_type = named.user_type;
        spec.nullable = self.is_nullable(definition, at, &named)?;
        Ok(spec)
    }

    fn type_of(&self, definition: &ColumnDefinition, at: Standing) -> Result<NamedType, Cause> {
        let ColumnKind::Stored(data_type) = &definition.kind else {
            let ty = SqlType::RowVersion;
            return Ok(NamedType { ty, user_type: None, is_not_null: true });
        };
        let column = TypedColumn { name: &definition.name.text, position: at.position };
        let collation = self.collation_of(definition)?;
        let named = named_type(self.model, data_type, column, collation)?;
        let is_alias = named.user_type.is_some_and(|id| id > SYSNAME);
        if is_alias && definition.collation.is_some() {
            return Err(DefinitionCause::CollationOfType.into());
        }
        Ok(named)
    }

    fn is_nullable(
        &self,
        definition: &ColumnDefinition,
        at: Standing,
        named: &NamedType,
    ) -> Defined<bool> {
        let table = || self.table.to_owned();
        match definition.is_nullable {
            Some(true) if definition.identity.is_some() => Err(DefinitionCause::NotNullTwice {
                column: definition.name.text.to_string(),
                table: table(),
            }
            .into()),
            Some(true) if at.is_in_primary_key => {
                let cause = DefinitionCause::NullablePrimaryKey { table: table() };
                Err(Problem::from(cause).then(DefinitionCause::NotCreated))
            }
            Some(is_nullable) => Ok(is_nullable),
            None if definition.identity.is_some() || at.is_in_primary_key => Ok(false),
            None if named.ty == SqlType::RowVersion => Ok(false),
            None if named.user_type.is_some() => Ok(!named.is_not_null),
            None => Ok(self.options.ansi_null_dflt_on),
        }
    }

    fn default_of(
        &self,
        definition: &ColumnDefinition,
        spec: &ColumnSpec,
        namer: &mut Namer<'_>,
    ) -> Defined<Option<DefaultSpec>> {
        let mut found = None;
        for constraint in &definition.constraints {
            let ConstraintKind::Default { value, .. } = &constraint.kind else { continue };
            let column = definition.name.text.to_string();
            let table = self.table.to_owned();
            if found.is_some() {
                let kind = "DEFAULT";
                return Err(DefinitionCause::SecondColumnConstraint { kind, column, table }.into());
            }
            verify_takes_default(spec, self.table)?;
            found = Some(default_spec(constraint, value, &column, namer)?);
        }
        Ok(found)
    }

    /// A computed column; `columns` are those that it may name.
    pub(super) fn computed(
        &self,
        definition: &ColumnDefinition,
        at: Standing,
        columns: &[ColumnSpec],
    ) -> Defined<ColumnSpec> {
        let ColumnKind::Computed { value, is_persisted, .. } = &definition.kind else {
            return Err(Cause::not_supported("a computed column without a value").into());
        };
        verify_kept(definition)?;
        let text = stored_expression(value);
        let program = self.program(&text, &definition.name.text, columns)?;
        let name = definition.name.text.to_string();
        if *is_persisted && !program.is_deterministic() {
            let table = self.table.to_owned();
            return Err(DefinitionCause::PersistedNondeterministic { column: name, table }.into());
        }
        if definition.is_nullable == Some(false) && !is_persisted {
            return Err(DefinitionCause::ComputedConstraint.into());
        }
        let is_not_null = definition.is_nullable == Some(false) || at.is_in_primary_key;
        Ok(ColumnSpec {
            nullable: !(is_not_null && *is_persisted),
            computed: Some(Computed { text, persisted: *is_persisted }),
            ..ColumnSpec::new(&name, program.result_type())
        })
    }

    fn program(&self, text: &str, own: &str, columns: &[ColumnSpec]) -> Defined<Program> {
        let plain = columns.iter().filter(|column| column.computed.is_none());
        let environment = Environment {
            columns: plain.map(|column| (column.name.clone(), column.ty)).collect(),
            database_collation: self.model.collation(),
            settings: extentdb_expr::Settings::stored(),
        };
        Program::compile(text, &environment.with_context()).map_err(|error| match error {
            CompileError::UnknownColumn { name, .. } => {
                let is_it = |column: &&ColumnSpec| column.name.eq_ignore_ascii_case(&name);
                let table = self.table.to_owned();
                match columns.iter().find(is_it) {
                    Some(_) => DefinitionCause::ComputedOfComputed { column: name, table }.into(),
                    None => Cause::UnknownColumn { name }.into(),
                }
            }
            other => Cause::not_supported(format!("computed column {own}: {other}")).into(),
        })
    }
}

/// Refuses what of a column is not kept here.
fn verify_kept(definition: &ColumnDefinition) -> Result<(), Cause> {
    let refused = [
        (definition.is_sparse, "sparse columns"),
        (definition.is_filestream, "FILESTREAM columns"),
        (definition.is_column_set, "column sets"),
        (definition.generated.is_some(), "columns GENERATED ALWAYS"),
        (definition.mask.is_some(), "masked columns"),
        (definition.encryption.is_some(), "encrypted columns"),
    ];
    match refused.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(Cause::not_supported(*what)),
        None => Ok(()),
    }
}

/// Refuses a default for a column with values of its own.
pub(super) fn verify_takes_default(spec: &ColumnSpec, table: &str) -> Result<(), Cause> {
    let column = spec.name.clone();
    let table = table.to_owned();
    if spec.identity.is_some() {
        return Err(DefinitionCause::DefaultOfIdentity { column, table }.into());
    }
    if spec.ty == SqlType::RowVersion {
        return Err(DefinitionCause::DefaultOfTimestamp { column, table }.into());
    }
    Ok(())
}

/// The default of a column.
pub(super) fn default_spec(
    constraint: &Constraint,
    value: &Expr,
    column: &str,
    namer: &mut Namer<'_>,
) -> Defined<DefaultSpec> {
    let text = stored_expression(value);
    let environment = Environment {
        columns: Vec::new(),
        database_collation: namer.model.collation(),
        settings: extentdb_expr::Settings::stored(),
    };
    // What is not evaluated here is refused when a row needs the default.
    if let Err(CompileError::UnknownColumn { name, .. }) =
        Program::compile(&text, &environment.with_context())
    {
        return Err(DefinitionCause::ColumnNameInDefault { name }.into());
    }
    let name = match &constraint.name {
        Some(name) => name.text.to_string(),
        None => namer.rule("DF", Some(column), &text),
    };
    Ok(DefaultSpec { name, text })
}

fn identity_of(
    column: &str,
    named: &NamedType,
    identity: &ColumnIdentity,
) -> Result<IdentitySpec, Cause> {
    let is_whole = match named.ty {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => true,
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => scale == 0,
        _ => false,
    };
    if !is_whole {
        return Err(DefinitionCause::IdentityType { column: column.to_owned() }.into());
    }
    let number = |expr: &Option<Expr>| match expr {
        None => Ok(1),
        Some(expr) => integer(expr)
            .ok_or_else(|| Cause::not_supported("a seed or increment that is no whole number")),
    };
    let seed = number(&identity.seed)?;
    let increment = number(&identity.increment)?;
    if increment == 0 {
        return Err(Cause::not_supported("an identity with the increment 0"));
    }
    Ok(IdentitySpec { seed, increment })
}

/// A whole number, with a sign if it has one.
pub(super) fn integer(expr: &Expr) -> Option<i128> {
    match &expr.kind {
        ExprKind::Literal(Literal::Integer(text)) => text.parse().ok(),
        ExprKind::Literal(Literal::Decimal(text)) => {
            let (whole, rest) = text.split_once('.')?;
            rest.bytes().all(|digit| digit == b'0').then(|| whole.parse().ok())?
        }
        ExprKind::Unary { operator: UnaryOperator::Minus, operand } => {
            integer(operand).map(|number| -number)
        }
        ExprKind::Unary { operator: UnaryOperator::Plus, operand } => integer(operand),
        _ => None,
    }
}
