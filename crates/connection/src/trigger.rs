//! What a trigger sees of the statement that fired it.
//!
//! ```text
//! INSERT   inserted: the new rows
//! UPDATE   deleted: the rows before, inserted: after; UPDATE(c): was c named after SET?
//! DELETE   deleted: the rows
//! ```

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_bind::provider::{KeptRows, RequestedColumn, RowProvider, RowStream};
use extentdb_bind::surroundings::{MadeRows, StoredTable};
use extentdb_engine::model::ObjectBody;
use extentdb_tsql::syntax::ObjectName;
use extentdb_types::{Datum, SqlType};

pub use extentdb_sysview::ddl_event;

/// Rows in memory that a query reads like a table.
pub struct RowsInMemory(pub Arc<[Vec<Datum<'static>>]>);

impl RowProvider for RowsInMemory {
    fn open(&self, columns: &[RequestedColumn]) -> Result<Box<dyn RowStream>, String> {
        Ok(Box::new(KeptRows::new(self.0.clone(), columns)))
    }
}

impl RowsInMemory {
    /// Rows of these columns: names, types, nullability.
    pub fn made(rows: Vec<Vec<Datum<'static>>>, columns: Vec<(String, SqlType, bool)>) -> MadeRows {
        MadeRows {
            schema: None,
            columns,
            provider: Arc::new(RowsInMemory(rows.into())),
        }
    }
}

/// What a trigger sees.
pub struct TriggerRows {
    inserted: MadeRows,
    deleted: MadeRows,
    /// Columns that the statement has given values to.
    updated: Vec<String>,
    /// The same as `COLUMNS_UPDATED()` has them: a bit for each column id, from 1.
    bits: Vec<u8>,
    /// What a trigger of the database is told, which sees no rows.
    event: Option<Arc<str>>,
}

impl TriggerRows {
    /// Rows of a table before and after a statement; `updated`: positions of the columns that it
    /// has given values to, `None` for all.
    pub fn new(
        table: &StoredTable,
        deleted: Vec<Vec<Datum<'static>>>,
        inserted: Vec<Vec<Datum<'static>>>,
        updated: Option<&[usize]>,
    ) -> TriggerRows {
        let model = match &table.object.body {
            ObjectBody::Table(table) => table.columns.as_slice(),
            _ => &[],
        };
        let mut columns = Vec::new();
        let (mut names, mut bits) = (Vec::new(), Vec::new());
        for (ordinal, (name, ty)) in table.table.columns().into_iter().enumerate() {
            let own = model.iter().find(|column| column.name == name);
            if updated.is_none_or(|updated| updated.contains(&ordinal)) {
                let bit = own.map_or(ordinal, |own| (own.id as usize).saturating_sub(1));
                if bits.len() <= bit / 8 {
                    bits.resize(bit / 8 + 1, 0u8);
                }
                bits.get_mut(bit / 8).into_iter().for_each(|byte| *byte |= 1 << (bit % 8));
                names.push(name.clone());
            }
            columns.push((name, ty, own.is_none_or(|column| column.nullable)));
        }
        bits.resize(bits.len().max(model.len().div_ceil(8)), 0);
        TriggerRows {
            inserted: RowsInMemory::made(inserted, columns.clone()),
            deleted: RowsInMemory::made(deleted, columns),
            updated: names,
            bits,
            event: None,
        }
    }

    /// Rows of what is no table, or of one that the statement itself does not change: with their
    /// columns by name, type and nullability.
    pub fn of_columns(
        columns: Vec<(String, SqlType, bool)>,
        deleted: Vec<Vec<Datum<'static>>>,
        inserted: Vec<Vec<Datum<'static>>>,
        updated: Option<&[usize]>,
    ) -> TriggerRows {
        let mut bits = vec![0u8; columns.len().div_ceil(8)];
        let mut names = Vec::new();
        for (ordinal, (name, ..)) in columns.iter().enumerate() {
            if updated.is_none_or(|updated| updated.contains(&ordinal)) {
                bits.get_mut(ordinal / 8).into_iter().for_each(|byte| *byte |= 1 << (ordinal % 8));
                names.push(name.clone());
            }
        }
        TriggerRows {
            inserted: RowsInMemory::made(inserted, columns.clone()),
            deleted: RowsInMemory::made(deleted, columns),
            updated: names,
            bits,
            event: None,
        }
    }

    /// A change of a definition: what `EVENTDATA()` says of it.
    pub fn of_event(event: &str) -> TriggerRows {
        let mut none = TriggerRows::of_columns(Vec::new(), Vec::new(), Vec::new(), None);
        none.event = Some(event.into());
        none
    }

    /// `EVENTDATA()`
    pub fn event(&self) -> Option<&str> {
        self.event.as_deref()
    }

    /// The rows that a name means.
    pub fn named(&self, name: &ObjectName) -> Option<MadeRows> {
        if !name.is_simple() || self.event.is_some() {
            return None;
        }
        match name.name.text.to_ascii_lowercase().as_str() {
            "inserted" => Some(self.inserted.clone()),
            "deleted" => Some(self.deleted.clone()),
            _ => None,
        }
    }

    /// `UPDATE(column)`
    pub fn is_updated(&self, column: &str) -> bool {
        self.updated.iter().any(|own| own.eq_ignore_ascii_case(column))
    }

    /// `COLUMNS_UPDATED()`
    pub fn updated_bits(&self) -> &[u8] {
        &self.bits
    }
}

impl std::fmt::Debug for TriggerRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TriggerRows({:?})", self.updated)
    }
}

/// Triggers that run, outermost first: `TRIGGER_NESTLEVEL()` is how many.
pub type Firing = Vec<ObjectId>;
