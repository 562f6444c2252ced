//! Sequences: created, altered, dropped, and their next values.
//!
//! A value is used up, whatever becomes of the transaction that has drawn it. Values are reserved
//! in the catalog, durable, before one of them is handed out: a restart never hands one out again,
//! and may lose what was reserved. A clean close loses none.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::layout::Cell;
use extentdb_catalog::model::ObjectType;
use extentdb_catalog::table::describe::{PropertyDefinition, SystemRows, add_object, add_property};
use extentdb_change::in_own_system;
use extentdb_txn::lock::{LockMode, Resource};
use extentdb_types::{Collation, Datum};

use crate::catalog::DeferredChange;
use crate::catalog::sequence::{
    DEFINITION, NEXT, Reservation, SequenceDefinition, SequenceState, next_of_text, next_to_text,
    property_bytes, property_text,
};
use crate::catalog::system_table::{byte, bytes, int, name_cell};
use crate::database::Database;
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

const SEQUENCE: ObjectType = ObjectType(*b"SO");
/// Class of extended properties of objects, and where their value is.
const OF_OBJECT: u8 = 1;
const VALUE: usize = 4;

impl Session {
    /// Makes a sequence.
    ///
    /// # Errors
    /// The name is taken; the schema is not there.
    pub fn create_sequence(
        &mut self,
        schema: &str,
        name: &str,
        definition: &SequenceDefinition,
    ) -> Result<(), Error> {
        self.statement("CREATE SEQUENCE", |context| {
            verify_name("sequence", name)?;
            let schema = context.schema_id(schema)?;
            context.lock_name(schema, name)?;
            let ddl = lock(&context.db().ddl);
            if context.db().catalog.object_named(schema, name)?.is_some() {
                return Err(Error::Exists { name: name.to_owned() });
            }
            let id = context.object_id()?;
            drop(ddl);
            context.lock(Resource::Object(id), LockMode::SchM, None)?;
            let _ddl = lock(&context.db().ddl);
            let mut rows = SystemRows::new();
            add_object(id, name, schema, SEQUENCE, context.now(), &mut rows);
            context.add_sequence_properties(id, definition, Some(definition.start), &mut rows)?;
            context.insert_system_rows(&rows)?;
            context.defer_change(DeferredChange::Sequence(id));
            Ok(())
        })
    }

    /// Gives a sequence another definition; with `restart` it goes on there.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn alter_sequence(
        &mut self,
        schema: &str,
        name: &str,
        definition: &SequenceDefinition,
        restart: Option<i128>,
    ) -> Result<(), Error> {
        self.statement("ALTER SEQUENCE", |context| {
            let id = context.lock_sequence(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            let old = context.db().sequence_definition(id)?;
            let next = match (restart, context.db().current_next(id)?) {
                (Some(restart), _) => Some(restart),
                // The next value is the new increment away from the last one.
                (None, next) => match old.state(next).last {
                    Some(last) if old.increment != definition.increment => definition.after(last),
                    _ => next,
                },
            };
            let range = definition.minimum..=definition.maximum;
            if let Some(value) = next.filter(|next| !range.contains(next)) {
                return Err(Unsupported::SequenceValue { value }.into());
            }
            context.delete_where(
                "sysxprops",
                &[byte(OF_OBJECT), int(id.0), int(0), name_cell(DEFINITION)],
            )?;
            context.delete_where(
                "sysxprops",
                &[byte(OF_OBJECT), int(id.0), int(0), name_cell(NEXT)],
            )?;
            let mut rows = SystemRows::new();
            context.add_sequence_properties(id, definition, next, &mut rows)?;
            context.insert_system_rows(&rows)?;
            context.db().catalog.sequences.forget(id);
            context.defer_change(DeferredChange::Sequence(id));
            Ok(())
        })
    }

    /// Drops a sequence.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn drop_sequence(&mut self, schema: &str, name: &str) -> Result<(), Error> {
        self.statement("DROP SEQUENCE", |context| {
            let id = context.lock_sequence(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            context.forget_object(id)?;
            context.defer_change(DeferredChange::Sequence(id));
            Ok(())
        })
    }

    /// The next value of a sequence: NEXT VALUE FOR. It is used up, whatever becomes of the
    /// transaction.
    ///
    /// # Errors
    /// [`Error::SequenceEnd`]: it has no more. It was dropped: [`Error::Gone`].
    pub fn next_value(&mut self, sequence: ObjectId) -> Result<Datum<'static>, Error> {
        self.in_transaction("NEXT VALUE FOR", |context| {
            context.lock(Resource::Object(sequence), LockMode::SchS, None)?;
            let definition = context.db().sequence_definition(sequence)?;
            let value = context.next_of(sequence, &definition)?;
            definition.datum(value).ok_or(Error::SequenceEnd { sequence })
        })
    }
}

impl StatementContext<'_> {
    /// Nobody else draws from the sequence from here on.
    fn lock_sequence(&mut self, schema: &str, name: &str) -> Result<ObjectId, Error> {
        let schema = self.schema_id(schema)?;
        self.lock_name(schema, name)?;
        let id = self.object_of(schema, name, &[SEQUENCE])?;
        self.lock(Resource::Object(id), LockMode::SchM, None)?;
        Ok(id)
    }

    fn add_sequence_properties(
        &self,
        id: ObjectId,
        definition: &SequenceDefinition,
        next: Option<i128>,
        rows: &mut SystemRows,
    ) -> Result<(), Error> {
        let collation = self.db().property_collation();
        for (name, text) in [(DEFINITION, definition.to_text()), (NEXT, next_to_text(next))] {
            let value = property_bytes(&text, collation);
            let value = value.ok_or_else(|| Error::catalog("a property that is too long"))?;
            add_property(&PropertyDefinition { object: id, name, value: &value }, rows);
        }
        Ok(())
    }

    fn next_of(&mut self, id: ObjectId, definition: &SequenceDefinition) -> Result<i128, Error> {
        let db = self.db();
        if let Some(value) = db.catalog.sequences.take(id, definition) {
            return Ok(value);
        }
        let is_own =
            |change: &DeferredChange| matches!(change, DeferredChange::Sequence(own) if *own == id);
        let is_own = self.changes().iter().any(is_own);
        let ddl = lock(&db.ddl);
        // Another session may have reserved some meanwhile.
        if let Some(value) = db.catalog.sequences.take(id, definition) {
            return Ok(value);
        }
        let first = db.stored_next(id)?.ok_or(Error::SequenceEnd { sequence: id })?;
        let reservation = Reservation::of(definition, first);
        let row = db.next_row(id, reservation.next)?;
        let properties = db.catalog.system("sysxprops")?;
        if is_own {
            // The row is this transaction's own: what others wrote into it could not be rolled
            // back with it.
            properties.replace(self.tx()?, &row)?;
            // What a rollback of this statement undoes is not handed out from memory.
            self.defer_change(DeferredChange::Sequence(id));
        } else {
            in_own_system(&*db.space, "Sequence", |system| properties.replace(system, &row))?;
        }
        drop(ddl);
        if !is_own {
            db.log.flush_all()?;
        }
        db.catalog.sequences.add(id, reservation);
        let value = db.catalog.sequences.take(id, definition);
        value.ok_or(Error::SequenceEnd { sequence: id })
    }
}

impl Database {
    /// Where a sequence is now.
    ///
    /// # Errors
    /// There is none of this id.
    pub fn sequence(&self, id: ObjectId) -> Result<SequenceState, Error> {
        let definition = self.sequence_definition(id)?;
        let next = match self.catalog.sequences.peek(id) {
            Some(next) => Some(next),
            None => self.stored_next(id)?,
        };
        Ok(definition.state(next))
    }

    /// The collation that values of extended properties name.
    fn property_collation(&self) -> Collation {
        Collation(extentdb_catalog::table::DEFAULT_COLLATION)
    }

    /// The definition of a sequence that is locked.
    fn sequence_definition(&self, id: ObjectId) -> Result<Arc<SequenceDefinition>, Error> {
        let text = self.property(id, DEFINITION)?.ok_or(Error::Gone { id })?;
        let definition = SequenceDefinition::of_text(&text);
        let unknown = || Unsupported::Sequence { definition: text.clone() };
        Ok(Arc::new(definition.ok_or_else(unknown)?))
    }

    /// Where the sequence goes on after a restart.
    fn stored_next(&self, id: ObjectId) -> Result<Option<i128>, Error> {
        let text = self.property(id, NEXT)?.ok_or(Error::Gone { id })?;
        let unknown = || Unsupported::Sequence { definition: text.clone() };
        Ok(next_of_text(&text).ok_or_else(unknown)?)
    }

    /// The next value as it would be handed out, and nothing of it is reserved any more.
    fn current_next(&self, id: ObjectId) -> Result<Option<i128>, Error> {
        let definition = self.sequence_definition(id)?;
        match self.catalog.sequences.take(id, &definition) {
            Some(value) => Ok(Some(value)),
            None => self.stored_next(id),
        }
    }

    fn property(&self, id: ObjectId, name: &str) -> Result<Option<String>, Error> {
        let row = self.property_row(id, name)?;
        Ok(row.and_then(|row| property_text(bytes(row.get(VALUE)?))))
    }

    fn property_row(&self, id: ObjectId, name: &str) -> Result<Option<Vec<Cell<'static>>>, Error> {
        let key = [byte(OF_OBJECT), int(id.0), int(0), name_cell(name)];
        Ok(self.catalog.system("sysxprops")?.rows(&key)?.into_iter().next())
    }

    /// The row of the next value, with another one.
    fn next_row(&self, id: ObjectId, next: Option<i128>) -> Result<Vec<Cell<'static>>, Error> {
        let mut row = self.property_row(id, NEXT)?.ok_or(Error::Gone { id })?;
        let value = property_bytes(&next_to_text(next), self.property_collation());
        let value = value.ok_or_else(|| Error::catalog("a property that is too long"))?;
        if let Some(cell) = row.get_mut(VALUE) {
            *cell = Cell::Bytes(value.into());
        }
        Ok(row)
    }

    /// Before a clean close: nothing that was reserved is lost.
    pub(crate) fn store_sequences(&self) -> Result<(), Error> {
        for (id, next) in self.catalog.sequences.take_all() {
            let _ddl = lock(&self.ddl);
            if self.property_row(id, NEXT)?.is_none() {
                continue;
            }
            let row = self.next_row(id, Some(next))?;
            let properties = self.catalog.system("sysxprops")?;
            in_own_system(&*self.space, "Sequence", |system| properties.replace(system, &row))?;
        }
        Ok(())
    }
}
