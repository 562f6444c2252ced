//! CREATE SCHEMA and DROP SCHEMA.

use extentdb_base::sync::Arc;
use extentdb_engine::{Error, Unsupported};
use extentdb_tsql::syntax::{
    CreateSchema, CreateTable, Module, Name, ObjectName, Qualifier, SchemaElement,
};

use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::objects::QualifiedName;
use extentdb_connection::security::DBO;
use extentdb_connection::security::permission::code;

impl Define for CreateSchema {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let Some(name) = self.name.as_ref().or(self.owner.as_ref()) else { return Ok(()) };
        let database = ddl.session().database().clone();
        let owner = ddl.schema_owner(self.owner.as_ref())?;
        let made = ddl.in_scope(&database, |ddl| {
            ddl.session().create_schema_of(&name.text, owner)?;
            self.elements.iter().try_for_each(|element| ddl.schema_element(name, element))
        });
        made.map_err(|problem| problem.then(DefinitionCause::SchemaNotCreated))
    }
}

impl Ddl<'_, '_> {
    /// The owner of a new schema: who makes it, or who is named.
    fn schema_owner(&mut self, name: Option<&Name>) -> Result<i32, Cause> {
        let database = self.session().database().clone();
        let rights = self.rights(&database)?;
        let Some(name) = name else { return Ok(rights.user.unwrap_or(DBO)) };
        let found = rights.model().principal(&name.text);
        match found {
            Some(own)
                if rights.is(own.id) || rights.has_on_principal(own.id, code::IMPERSONATE) =>
            {
                Ok(own.id)
            }
            _ => {
                let name = name.text.to_string();
                Err(DefinitionCause::CannotFindPrincipal { kind: "user", name }.into())
            }
        }
    }

    /// Makes an object of a schema that was just made.
    fn schema_element(&mut self, schema: &Name, element: &SchemaElement) -> Defined {
        match element {
            SchemaElement::Table(create) => {
                let create =
                    CreateTable { name: in_schema(&create.name, schema)?, ..(**create).clone() };
                let at = self.schema_place(&create.name, schema);
                self.create_table(&create, &at).map(drop)
            }
            SchemaElement::View(define) => {
                let Module::View(view) = &define.module else { return Ok(()) };
                let name = in_schema(&view.name, schema)?;
                let at = self.schema_place(&name, schema);
                let text = define.source.of(self.text).to_owned();
                self.define_module(define.verb, &define.module, &at, &text)
            }
            SchemaElement::Permission(permission) => {
                let mut permission = (**permission).clone();
                if let Some(on) = permission.on.as_mut().filter(|on| on.class.is_none()) {
                    on.name = in_schema(&on.name, schema)?;
                }
                self.permission(&permission)
            }
        }
    }

    fn schema_place(&mut self, name: &ObjectName, schema: &Name) -> QualifiedName {
        QualifiedName {
            database: Arc::clone(self.session().database()),
            schema: schema.text.to_string(),
            name: name.name.text.to_string(),
        }
    }

    pub(super) fn drop_schema(&mut self, name: &ObjectName, if_exists: bool) -> Defined {
        let shown = written(name);
        let missing = || DefinitionCause::CannotFindToDrop {
            action: "drop",
            kind: "schema",
            name: shown.clone(),
        };
        let database = self.session().database().clone();
        let dropped =
            self.in_scope(&database, |ddl| Ok(ddl.session().drop_schema(&name.name.text)?));
        dropped.or_else(|problem| match problem.into_engine()? {
            Error::NotSupported(Unsupported::NoSchema { .. }) if if_exists => Ok(()),
            Error::NotSupported(Unsupported::NoSchema { .. }) => Err(missing().into()),
            Error::NotSupported(Unsupported::SystemSchema { name }) => {
                Err(DefinitionCause::CannotDrop { action: "drop", kind: "schema", name }.into())
            }
            Error::ReferencedBy { by, .. } => Err(DefinitionCause::ReferencedObject {
                action: "drop schema",
                name: shown.clone(),
                object: by,
            }
            .into()),
            error => Err(Problem::from(error)),
        })
    }
}

/// The name of an object of a schema, which may name the schema and nothing else.
fn in_schema(name: &ObjectName, schema: &Name) -> Result<ObjectName, Cause> {
    let is_other = name.schema().is_some_and(|own| !own.text.eq_ignore_ascii_case(&schema.text));
    if is_other || name.database().is_some() || name.server().is_some() {
        return Err(Cause::not_supported("CREATE SCHEMA with an object of another schema"));
    }
    let qualifier = Qualifier { server: None, database: None, schema: Some(schema.clone()) };
    Ok(ObjectName { qualifier: Some(Box::new(qualifier)), ..name.clone() })
}
