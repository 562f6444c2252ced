//! ALTER SCHEMA … TRANSFER.

use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::security::permission::code;
use extentdb_engine::Error;
use extentdb_engine::model::SchemaModel;
use extentdb_tsql::syntax::{AdminStatement, Clause, ObjectName, Part};

use super::guard::Guarded;
use super::problem::{Defined, Problem};
use super::{Ddl, Define, written};

/// `ALTER SCHEMA schema TRANSFER object`
pub(super) struct Transfer {
    pub(super) schema: String,
    pub(super) object: ObjectName,
    /// TYPE or XML SCHEMA COLLECTION.
    other_class: Option<&'static str>,
}

impl Transfer {
    /// The statement, if it is one.
    pub(super) fn of(admin: &AdminStatement) -> Option<Transfer> {
        if admin.head != "ALTER SCHEMA" {
            return None;
        }
        let schema = admin.clause.names().next()?.text.to_string();
        let classes = [("XML", "XML SCHEMA COLLECTION"), ("TYPE", "TYPE")];
        let is_class = |(word, _): &&(&str, &str)| has(&admin.clause, word);
        let other_class = classes.iter().find(is_class).map(|(_, class)| *class);
        Some(Transfer { schema, object: object_of(&admin.clause)?, other_class })
    }
}

/// Is a word in a clause, or in one within?
fn has(clause: &Clause, word: &str) -> bool {
    let within = |part: &Part| matches!(part, Part::Clause(inner) if has(inner, word));
    clause.has(word) || clause.parts.iter().any(within)
}

fn object_of(clause: &Clause) -> Option<ObjectName> {
    clause.parts.iter().find_map(|part| match part {
        Part::Object(name) => Some(name.clone()),
        Part::Clause(inner) => object_of(inner),
        _ => None,
    })
}

/// 15151
fn cannot(action: &str, kind: &str, name: &str) -> Cause {
    let text = format!(
        "Cannot {action} the {kind} '{name}', because it does not exist or you do not have \
         permission."
    );
    Cause::Denied { number: 15151, text }
}

impl Define for Transfer {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        if let Some(class) = self.other_class {
            return Err(Cause::not_supported(format!("ALTER SCHEMA TRANSFER of a {class}")).into());
        }
        let missing = || cannot("find", "object", &self.object.name.text);
        let found = ddl.connection().object(&self.object)?.ok_or_else(missing)?;
        let to: SchemaModel = ddl.schema_to(&self.schema)?;
        if found.object.object.parent.0 != 0 {
            return Err(missing().into());
        }
        let from = found.schema_name();
        if from.eq_ignore_ascii_case(&to.name) {
            return Ok(());
        }
        let own = found.object.object.name.clone();
        let database = found.database.clone();
        let table = found.table.clone();
        let moved = ddl.in_scope(&database, |ddl| {
            let session = ddl.session();
            let moved = match &table {
                Some(table) => session.transfer_table(table, &to.name).map(drop),
                None => session.transfer_object((&from, &own), &to.name),
            };
            moved.map_err(Problem::from)
        });
        let Err(problem) = moved else { return Ok(()) };
        Err(match problem.into_engine()? {
            Error::Exists { name } => DefinitionCause::ObjectExists { name }.into(),
            error => error.into(),
        })
    }
}

impl Ddl<'_, '_> {
    /// The schema that an object is moved to.
    fn schema_to(&mut self, name: &str) -> Defined<SchemaModel> {
        let database = self.session().database().clone();
        let model = self.model(&database)?;
        let schema = model.schema(name).cloned();
        Ok(schema.ok_or_else(|| cannot("alter", "schema", name))?)
    }
}

impl Guarded for Transfer {
    fn verify(&self, ddl: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        let database = ddl.session().database().clone();
        let rights = ddl.rights(&database)?;
        match rights.model().schema(&self.schema) {
            Some(own) if rights.has_on_schema(own.id, code::ALTER) => {}
            _ => return Err(cannot("alter", "schema", &self.schema)),
        }
        match ddl.connection().object(&self.object)? {
            Some(found) if rights.has_on_object(&found.object, code::CONTROL) => Ok(()),
            _ => Err(cannot("find", "object", &written(&self.object))),
        }
    }
}
