//! Synonyms: objects of type `SN` whose text is the name that they stand for, as written: nothing
//! need have it.

use extentdb_base::ObjectId;
use extentdb_base::sync::lock;
use extentdb_catalog::model::ObjectType;

use crate::ddl::module::{ModuleSettings, NewModule};
use crate::error::Error;
use crate::error::invalid::verify_name;
use crate::session::Session;

pub(crate) const SYNONYM: ObjectType = ObjectType(*b"SN");

impl Session {
    /// Makes a synonym for the object that `base` names, `[db].[schema].[name]`.
    ///
    /// # Errors
    /// The name is taken; the schema is not there.
    pub fn create_synonym(&mut self, schema: &str, name: &str, base: &str) -> Result<(), Error> {
        self.statement("CREATE SYNONYM", |context| {
            verify_name("synonym", name)?;
            let schema = context.schema_id(schema)?;
            context.lock_name(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            let module = NewModule {
                kind: SYNONYM,
                schema,
                parent: ObjectId(0),
                name,
                text: base,
                columns: &[],
                parameters: &[],
                settings: ModuleSettings::default(),
            };
            context.insert_module(&module).map(drop)
        })
    }

    /// Drops a synonym.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_synonym(&mut self, schema: &str, name: &str) -> Result<(), Error> {
        self.statement("DROP SYNONYM", |context| {
            let schema = context.schema_id(schema)?;
            context.lock_name(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            let id = context.object_of(schema, name, &[SYNONYM])?;
            context.forget_object(id)
        })
    }
}
