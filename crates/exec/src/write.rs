//! Changes of rows: what INSERT, UPDATE, DELETE and MERGE do with the rows that they have read.
//!
//! Invariants
//! - A row is changed once by a statement, however often it was read.
//! - What does not fit its column is an error; blanks at the end of a text are not missed.

use extentdb_base::sync::Arc;
use extentdb_bind::ColumnSource;
use extentdb_bind::surroundings::StoredTable;
use extentdb_engine::model::ObjectBody;
use extentdb_engine::{
    Address, Database, LoadLock, NewRow, RowSource, Session, Table, Value, Vector,
};
use extentdb_types::{Datum, SqlType};
use rustc_hash::FxHashSet;

use crate::batch::Batch;
use crate::context::{Context, LastIdentity};
use crate::error::Error;
use crate::evaluate::datum;
use crate::operator::scan::{address, within};

/// A table whose rows are changed.
pub struct Target {
    database: Arc<Database>,
    table: Arc<Table>,
    columns: Vec<TargetColumn>,
    /// Position of the identity column.
    identity: Option<usize>,
    /// Places of rows that were changed already.
    changed: FxHashSet<Vec<u8>>,
}

/// A column of a table whose rows are changed.
struct TargetColumn {
    name: String,
    ty: SqlType,
    /// Must a row have a value: neither NULL nor one that the engine makes?
    is_required: bool,
}

/// A row before or after a change.
pub type RowImage = Vec<Datum<'static>>;

impl Target {
    /// The table of a statement.
    pub fn new(stored: &StoredTable) -> Target {
        Target {
            database: stored.database.clone(),
            table: stored.table.clone(),
            columns: columns_of(stored),
            identity: identity_of(stored),
            changed: FxHashSet::default(),
        }
    }

    /// Another statement begins: it may change each row again.
    pub fn begin(&mut self) {
        self.changed.clear();
    }

    /// Types of its columns.
    pub fn types(&self) -> Vec<SqlType> {
        self.columns.iter().map(|column| column.ty).collect()
    }

    /// Inserts the rows of a batch, whose columns `sources` name by position.
    ///
    /// # Errors
    /// A value does not fit its column, a constraint does not allow a row …
    pub fn insert(
        &self,
        context: &mut Context<'_>,
        batch: &Batch,
        sources: &[ColumnSource],
        lock: LoadLock,
    ) -> Result<(), Error> {
        let is_plain = sources.iter().all(|source| *source != ColumnSource::Default);
        if batch.rows > 1 && is_plain {
            return self.insert_set(context, batch, sources, lock);
        }
        for row in 0..batch.rows {
            self.insert_row(context, batch, row, sources)?;
        }
        Ok(())
    }

    /// Inserts one row; returns where it is.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn insert_row(
        &self,
        context: &mut Context<'_>,
        batch: &Batch,
        row: usize,
        sources: &[ColumnSource],
    ) -> Result<Address, Error> {
        let mut values: Vec<Value<'_>> = Vec::with_capacity(sources.len());
        for (ordinal, source) in sources.iter().enumerate() {
            values.push(match source {
                ColumnSource::Value(column) => {
                    Value::Datum(self.value(batch, *column, row, ordinal)?)
                }
                _ => Value::Default,
            });
        }
        let (address, identity) = within(context.session()?, &self.database, |session| {
            let identity = self.identity_value(session, &mut values, sources)?;
            let inserted = session.insert_values(&self.table, values);
            let address = inserted.map_err(|error| self.failure(error))?;
            self.given_identity(session, sources, &identity)?;
            Ok((address, identity))
        })?;
        context.identity = identity;
        Ok(address)
    }

    /// The identity value of a row, drawn where the row does not have it.
    fn identity_value(
        &self,
        session: &mut Session,
        values: &mut [Value<'_>],
        sources: &[ColumnSource],
    ) -> Result<LastIdentity, Error> {
        let Some(ordinal) = self.identity else { return Ok(LastIdentity::Missing) };
        let Some(value) = values.get_mut(ordinal) else { return Ok(LastIdentity::Missing) };
        if sources.get(ordinal) == Some(&ColumnSource::Identity) {
            *value = Value::Datum(session.next_identity(&self.table)?);
        }
        Ok(match value {
            Value::Datum(value) => LastIdentity::Value(value.clone().into_owned()),
            _ => LastIdentity::Unchanged,
        })
    }

    /// Identity values that rows have brought along are used up.
    fn given_identity(
        &self,
        session: &mut Session,
        sources: &[ColumnSource],
        identity: &LastIdentity,
    ) -> Result<(), Error> {
        let source = self.identity.and_then(|ordinal| sources.get(ordinal));
        if let (Some(ColumnSource::Value(_)), LastIdentity::Value(value)) = (source, identity) {
            session.raise_identity(&self.table, value)?;
        }
        Ok(())
    }

    fn insert_set(
        &self,
        context: &mut Context<'_>,
        batch: &Batch,
        sources: &[ColumnSource],
        lock: LoadLock,
    ) -> Result<(), Error> {
        let mut drawn = Vec::new();
        within(context.session()?, &self.database, |session| {
            if sources.contains(&ColumnSource::Identity) {
                for _ in 0..batch.rows {
                    drawn.push(session.next_identity(&self.table)?);
                }
            }
            let mut rows = BatchRows {
                target: self,
                batch,
                sources,
                drawn: &drawn,
                given: 0,
                refused: None,
            };
            let inserted = session.insert_set(&self.table, &mut rows, lock);
            inserted.map_err(|error| rows.refused.take().unwrap_or_else(|| self.failure(error)))?;
            self.given_identities(session, batch, sources)
        })?;
        if let Some(identity) = self.last_identity(batch, sources, &drawn)? {
            context.identity = identity;
        }
        Ok(())
    }

    /// The identity values that the rows of a batch have brought along are used up.
    fn given_identities(
        &self,
        session: &mut Session,
        batch: &Batch,
        sources: &[ColumnSource],
    ) -> Result<(), Error> {
        let Some(ordinal) = self.identity else { return Ok(()) };
        let Some(ColumnSource::Value(column)) = sources.get(ordinal) else { return Ok(()) };
        for row in 0..batch.rows {
            let value = self.value(batch, *column, row, ordinal)?;
            session.raise_identity(&self.table, &value)?;
        }
        Ok(())
    }

    /// The identity value of the last row of a batch.
    fn last_identity(
        &self,
        batch: &Batch,
        sources: &[ColumnSource],
        drawn: &[Datum<'static>],
    ) -> Result<Option<LastIdentity>, Error> {
        let Some(last) = batch.rows.checked_sub(1) else { return Ok(None) };
        let Some(ordinal) = self.identity else { return Ok(Some(LastIdentity::Missing)) };
        Ok(Some(match sources.get(ordinal) {
            Some(ColumnSource::Value(column)) => {
                LastIdentity::Value(self.value(batch, *column, last, ordinal)?)
            }
            Some(ColumnSource::Identity) => {
                LastIdentity::Value(drawn.get(last).cloned().unwrap_or(Datum::Null))
            }
            Some(ColumnSource::Generated | ColumnSource::Default) => {
                LastIdentity::Value(Datum::Null)
            }
            None => LastIdentity::Missing,
        }))
    }

    /// Gives columns of a row their new values; returns where the row is from then on. `None` when
    /// the statement has changed it before.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn update(
        &mut self,
        context: &mut Context<'_>,
        place: &[u8],
        values: &[(usize, &Vector)],
        row: usize,
    ) -> Result<Option<Address>, Error> {
        if self.changed.contains(place) {
            return Ok(None);
        }
        let at = address_of(place)?;
        let mut all: Vec<Value<'_>> = Vec::new();
        all.resize_with(self.columns.len(), || Value::Unchanged);
        for (ordinal, vector) in values {
            let value = self.fitted(vector, row, *ordinal)?;
            if let Some(slot) = all.get_mut(*ordinal) {
                *slot = Value::Datum(value);
            }
        }
        let address = within(context.session()?, &self.database, |session| {
            let updated = session.update_values(&self.table, &at, all);
            updated.map_err(|error| self.failure(error))
        })?;
        self.changed.insert(place.to_vec());
        // The row may be met again at its new place.
        self.changed.insert(crate::operator::scan::place(&address));
        Ok(Some(address))
    }

    /// Deletes a row; false when the statement has done so before.
    ///
    /// # Errors
    /// A constraint needs the row.
    pub fn delete(&mut self, context: &mut Context<'_>, place: &[u8]) -> Result<bool, Error> {
        let Some(at) = self.first_change(place)? else { return Ok(false) };
        within(context.session()?, &self.database, |session| {
            let deleted = session.delete(&self.table, &at);
            deleted.map_err(|error| self.failure(error))
        })?;
        Ok(true)
    }

    /// Was the row at this place not changed by the statement yet?
    pub fn is_unchanged(&self, place: &[u8]) -> bool {
        !self.changed.contains(place)
    }

    fn first_change(&mut self, place: &[u8]) -> Result<Option<Address>, Error> {
        if !self.changed.insert(place.to_vec()) {
            return Ok(None);
        }
        address_of(place).map(Some)
    }

    /// The row at a place, as it is now.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn image(
        &self,
        context: &mut Context<'_>,
        at: &Address,
    ) -> Result<Option<RowImage>, Error> {
        within(context.session()?, &self.database, |session| Ok(session.get(&self.table, at)?))
    }

    /// The row at a place of a relation.
    ///
    /// # Errors
    /// As for [`image`](Self::image).
    pub fn image_at(
        &self,
        context: &mut Context<'_>,
        place: &[u8],
    ) -> Result<Option<RowImage>, Error> {
        match address(place) {
            Some(at) => self.image(context, &at),
            None => Ok(None),
        }
    }

    /// Adds a value to a new row: as it is stored when it is one of just the column's type.
    fn push(
        &self,
        row: &mut NewRow<'_>,
        vector: &Vector,
        at: usize,
        ordinal: usize,
    ) -> Result<(), Error> {
        let is_stored = |own: &&TargetColumn| own.ty == vector.ty && !own.ty.is_bit();
        let own = self.columns.get(ordinal).filter(is_stored);
        let pushed = match own {
            Some(_) if !vector.is_null(at) && !vector.is_off_row(at) => {
                row.push_stored(|bytes| vector.stored_bytes(at, bytes))
            }
            _ => row.push(&self.fitted(vector, at, ordinal)?),
        };
        pushed.map_err(|error| self.failure(error))
    }

    fn value(
        &self,
        batch: &Batch,
        column: usize,
        row: usize,
        ordinal: usize,
    ) -> Result<Datum<'static>, Error> {
        let Some(vector) = batch.columns.get(column) else { return Ok(Datum::Null) };
        self.fitted(vector, row, ordinal)
    }

    /// A value as one of its column.
    fn fitted(&self, vector: &Vector, row: usize, ordinal: usize) -> Result<Datum<'static>, Error> {
        let Some(TargetColumn { name, ty, is_required }) = self.columns.get(ordinal) else {
            return Ok(Datum::Null);
        };
        if vector.is_null(row) {
            if *is_required {
                return Err(Error::Null { table: self.full_name(), column: name.clone() });
            }
            return Ok(Datum::Null);
        }
        let unit: &[u8] = match (vector.ty, ty) {
            (own, ty) if own == *ty => return datum(vector, row),
            (SqlType::VarChar { .. }, _) => b" ",
            (SqlType::NVarChar { .. }, _) => b" \0",
            (SqlType::VarBinary { .. }, _) => b"\0",
            _ => return datum(vector, row),
        };
        let is_binary = matches!(vector.ty, SqlType::VarBinary { .. });
        let mut bytes = vector.bytes(row).to_vec();
        if let Some(most) = ty.max_bytes()
            && bytes.len() > most
        {
            let rest = bytes.get(most..).unwrap_or_default();
            if is_binary || rest.chunks(unit.len()).any(|chunk| chunk != unit) {
                return Err(self.truncated(name, vector, row));
            }
            bytes.truncate(most);
        }
        if let Some(width) = ty.fixed_bytes() {
            while bytes.len() < width {
                bytes.extend_from_slice(unit);
            }
        }
        let value = Datum::decode(ty, &bytes).map(Datum::into_owned);
        value.map_err(|error| Error::NotSupported(format!("column {name}: {error}")))
    }

    fn truncated(&self, column: &str, vector: &Vector, row: usize) -> Error {
        let shown = match datum(vector, row) {
            Ok(Datum::NChar(text)) => text.decode().0,
            Ok(Datum::Char(text)) => text.decode().0.into_owned(),
            _ => String::new(),
        };
        Error::Truncated {
            table: self.full_name(),
            column: column.to_owned(),
            value: shown.chars().take(100).collect(),
        }
    }

    /// `database.schema.table`
    fn full_name(&self) -> String {
        format!("{}.{}.{}", self.database.name(), self.table.schema(), self.table.name())
    }

    /// An error of the engine with the table that it happened in.
    fn failure(&self, error: extentdb_engine::Error) -> Error {
        Error::Change { error: Box::new(error), table: self.full_name() }
    }
}

/// The rows of a batch on their way into the table.
struct BatchRows<'b> {
    target: &'b Target,
    batch: &'b Batch,
    sources: &'b [ColumnSource],
    /// Identity values of the rows.
    drawn: &'b [Datum<'static>],
    /// How many rows were given.
    given: usize,
    /// Why a row does not fit the table.
    refused: Option<Error>,
}

impl RowSource for BatchRows<'_> {
    fn next_row(&mut self, row: &mut NewRow<'_>) -> Result<bool, extentdb_engine::Error> {
        let at = self.given;
        if at == self.batch.rows {
            return Ok(false);
        }
        self.given += 1;
        match self.push_row(row, at) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.refused = Some(error);
                // The statement ends with the error that is kept.
                Err(extentdb_engine::Error::Cancelled)
            }
        }
    }
}

impl BatchRows<'_> {
    fn push_row(&self, row: &mut NewRow<'_>, at: usize) -> Result<(), Error> {
        for (ordinal, source) in self.sources.iter().enumerate() {
            let vector = match source {
                ColumnSource::Value(column) => self.batch.columns.get(*column),
                _ => None,
            };
            if let Some(vector) = vector {
                self.target.push(row, vector, at, ordinal)?;
                continue;
            }
            let drawn = self.drawn.get(at).filter(|_| *source == ColumnSource::Identity);
            let pushed = row.push(drawn.unwrap_or(&Datum::Null));
            pushed.map_err(|error| self.target.failure(error))?;
        }
        Ok(())
    }
}

/// Rows as a batch with these types.
///
/// # Errors
/// A value is not one of its type.
pub fn batch_of(types: &[SqlType], rows: &[RowImage]) -> Result<Batch, Error> {
    let mut columns: Vec<Vector> = types.iter().map(|ty| Vector::computed(*ty)).collect();
    let mut bytes = Vec::new();
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            bytes.clear();
            let ty = column.ty;
            let pushed = if value.is_null() {
                column.push_stored(None)
            } else {
                let encoded = value.encode(&ty, &mut bytes);
                encoded.map_err(|error| Error::NotSupported(error.to_string()))?;
                column.push_stored(Some(&bytes))
            };
            pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
        }
    }
    Ok(Batch { rows: rows.len(), columns })
}

fn address_of(place: &[u8]) -> Result<Address, Error> {
    address(place).ok_or_else(|| Error::NotSupported("a place where no row can be".to_owned()))
}

/// Position of the identity column.
fn identity_of(stored: &StoredTable) -> Option<usize> {
    let ObjectBody::Table(model) = &stored.object.body else { return None };
    let own = model.columns.iter().find(|column| column.identity.is_some())?;
    stored.table.columns().iter().position(|(name, _)| *name == own.name)
}

fn columns_of(stored: &StoredTable) -> Vec<TargetColumn> {
    let model = match &stored.object.body {
        ObjectBody::Table(table) => table.columns.as_slice(),
        _ => &[],
    };
    let columns = stored.table.columns().into_iter();
    columns
        .map(|(name, ty)| {
            let own = model.iter().find(|column| column.name == name);
            let is_required = own.is_some_and(|own| !own.nullable && own.computed.is_none());
            TargetColumn { name, ty, is_required }
        })
        .collect()
}
