//! CREATE TYPE and DROP TYPE of alias types, CREATE SYNONYM.

use extentdb_engine::{Error, Nullability, TypeSpec, Unsupported};
use extentdb_tsql::syntax::{CreateSynonym, CreateType, ObjectName, TypeDefinition};

use super::column::named_type;
use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::data_type::TypedColumn;

impl Define for CreateType {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let TypeDefinition::Alias { base, is_nullable } = &self.definition else {
            let what = match self.definition {
                TypeDefinition::Table { .. } => "table types",
                _ => "CLR types",
            };
            return Err(Cause::not_supported(what).into());
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
