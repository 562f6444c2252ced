//! CREATE TYPE and DROP TYPE of alias types and table types, CREATE SYNONYM.

use extentdb_engine::{Error, Nullability, TypeSpec, Unsupported};
use extentdb_tsql::syntax::{
    Clause, ConstraintKind, CreateSynonym, CreateTable, CreateType, ObjectName, TableElement,
    TableKind, TypeDefinition,
};

use super::column::named_type;
use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::data_type::TypedColumn;

impl Define for CreateType {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let (base, is_nullable) = match &self.definition {
            TypeDefinition::Alias { base, is_nullable } => (base, is_nullable),
            TypeDefinition::Table { elements, options } => {
                return ddl.define_table_type(self, elements, options);
            }
            _ => return Err(Cause::not_supported("CLR types").into()),
        };
        let at = ddl.place_of(&self.name)?;
        let model = ddl.model(&at.database)?;
        let column = TypedColumn { name: &self.name.name.text, position: 1 };
        let named = named_type(&model, base, column, model.collation())?;
        if named.user_type.is_some() {
            return Err(Cause::not_supported("an alias type of an alias type").into());
        }
        let nullability = match is_nullable {
            Some(false) => Nullability::NotNull,
            _ => Nullability::Nullable,
        };
        let spec = TypeSpec {
            schema: Some(at.schema.clone()),
            name: at.name.clone(),
            ty: named.ty,
            nullability,
        };
        let name = written(&self.name);
        ddl.in_scope(&at.database, |ddl| match ddl.session().create_type(&spec) {
            Ok(_) => Ok(()),
            Err(Error::Exists { .. }) => Err(DefinitionCause::TypeExists { name }.into()),
            Err(error) => Err(error.into()),
        })
    }
}

impl Define for CreateSynonym {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let at = ddl.place_of(&self.name)?;
        if ddl.connection().object_at(&at)?.is_some() {
            return Err(DefinitionCause::ObjectExists { name: at.name }.into());
        }
        let base = self.object.to_string();
        ddl.in_scope(&at.database, |ddl| {
            Ok(ddl.session().create_synonym(&at.schema, &at.name, &base)?)
        })
    }
}

impl Ddl<'_, '_> {
    fn define_table_type(
        &mut self,
        own: &CreateType,
        elements: &[TableElement],
        options: &[Clause],
    ) -> Defined {
        if !options.is_empty() {
            return Err(Cause::not_supported("options of a table type").into());
        }
        let at = self.place_of(&own.name)?;
        let create = CreateTable {
            name: own.name.clone(),
            elements: elements.to_vec(),
            kind: TableKind::Plain,
            storage: None,
            text_storage: None,
            filestream_storage: None,
            options: Vec::new(),
        };
        verify_type_elements(elements)?;
        let made = self.in_scope(&at.database.clone(), |ddl| ddl.create_table_type(&create, &at));
        let name = written(&own.name);
        made.or_else(|problem| match problem.into_engine()? {
            Error::Exists { .. } => Err(DefinitionCause::TypeExists { name }.into()),
            error => Err(Problem::from(error)),
        })
    }

    pub(super) fn drop_type(&mut self, name: &ObjectName, if_exists: bool) -> Defined {
        let at = self.place_of(name)?;
        let shown = written(name);
        let dropped =
            self.in_scope(&at.database, |ddl| Ok(ddl.session().drop_type(&at.schema, &at.name)?));
        dropped.or_else(|problem| match problem.into_engine()? {
            Error::NotSupported(Unsupported::NoType { .. }) if if_exists => Ok(()),
            Error::NotSupported(Unsupported::NoType { .. }) => {
                Err(DefinitionCause::TypeNotFound { name: shown }.into())
            }
            Error::ReferencedBy { by, .. } => {
                Err(DefinitionCause::ReferencedType { name: shown, object: by }.into())
            }
            error => Err(Problem::from(error)),
        })
    }
}

/// A table type has no foreign keys, and its constraints have no names.
fn verify_type_elements(elements: &[TableElement]) -> Defined {
    let of_columns = elements.iter().flat_map(|element| match element {
        TableElement::Column(column) => &*column.constraints,
        _ => &[],
    });
    let of_table = elements.iter().filter_map(|element| match element {
        TableElement::Constraint(constraint) => Some(&**constraint),
        _ => None,
    });
    for constraint in of_columns.chain(of_table) {
        let is_foreign = matches!(constraint.kind, ConstraintKind::ForeignKey { .. });
        let keyword = match (&constraint.name, is_foreign) {
            (Some(_), _) => "CONSTRAINT",
            (None, true) => "FOREIGN",
            (None, false) => continue,
        };
        return Err(Cause::Syntax(extentdb_tsql::Cause::Keyword { keyword: keyword.into() }).into());
    }
    Ok(())
}
