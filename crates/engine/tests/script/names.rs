//! Names of what is locked: tables, indexes, and the values of keys and rows, which the script's
//! own statements have shown. A lock of a key is known by a hash only.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Bound, ControlFlow};

use extentdb_base::{HobtId, Rid};
use extentdb_engine::{Address, Database, Isolation, Range, Table, Timeout};
use extentdb_txn::lock::Resource;
use extentdb_types::key_order::{KeyValue, push_sort_key};
use extentdb_types::{Datum, SqlType};

use super::statement::IndexInfo;
use super::syntax::plain;
use super::worker::SeenRow;

/// A row locator in an index over a heap.
const RID: SqlType = SqlType::Binary { len: 8 };
/// A uniquifier at the end of a key: a byte that says that it is there, then four.
const UNIQUIFIER_BYTES: usize = 5;

#[derive(Default)]
pub(super) struct Names {
    indexes: HashMap<HobtId, String>,
    keys: HashMap<u64, String>,
    rows: HashMap<Rid, String>,
}

impl Names {
    pub(super) fn resource(&self, db: &Database, resource: Resource) -> String {
        let table = |id| db.tables().into_iter().find(|table| table.id() == id);
        match resource {
            Resource::Object(id) => match table(id) {
                Some(table) => format!("OBJECT {}", table.name()),
                None => "OBJECT".to_owned(),
            },
            Resource::Key(index, hash) => {
                let name = self.indexes.get(&index).map_or("?", |name| name);
                let is_end = resource == Resource::end_of(index);
                let key = if is_end { Some("end of index") } else { self.key(hash) };
                format!("KEY {name} ({})", key.unwrap_or("?"))
            }
            Resource::Rid(rid) => {
                format!("RID {}", self.rows.get(&rid).map_or("?", |row| row))
            }
            other => other.to_string(),
        }
    }

    fn key(&self, hash: u64) -> Option<&str> {
        self.keys.get(&hash).map(|key| key.as_str())
    }

    /// Remembers the keys of rows.
    pub(super) fn see(&mut self, db: &Database, indexes: &[IndexInfo], seen: &[SeenRow]) {
        let tables = db.tables();
        for row in seen {
            let Some(table) = tables.iter().find(|table| table.name() == row.table) else {
                continue;
            };
            if let Address::Rid(rid) = row.address {
                let first = row.row.first().map(plain).unwrap_or_default();
                self.rows.insert(rid, format!("{} ({first})", row.table));
            }
            let own: Vec<&IndexInfo> = indexes.iter().filter(|it| it.table == row.table).collect();
            let clustered = own.iter().find(|index| index.is_clustered);
            for index in &own {
                let key = Key { index, clustered: clustered.copied(), table, row };
                if let (Some(bytes), Some(text)) = (key.bytes(), key.text()) {
                    self.keys.insert(hash_of(&bytes), text);
                }
            }
        }
    }

    /// Finds out which locks are those of which index: a serializable session locks the end of one.
    pub(super) fn learn(&mut self, db: &Database) {
        for table in db.tables() {
            for index in table.indexes() {
                let name = format!("{}.{index}", table.name());
                if !self.indexes.values().any(|known| *known == name) {
                    self.learn_index(db, &table, &index, name);
                }
            }
        }
    }

    /// Forgets which index has which locks: an index that is built again has others.
    pub(super) fn forget_indexes(&mut self) {
        self.indexes.clear();
    }

    fn learn_index(&mut self, db: &Database, table: &Table, index: &str, name: String) {
        let before = db.locks().locks();
        let mut session = db.session();
        session.set_lock_timeout(Timeout::NoWait);
        session.set_isolation(Isolation::Serializable);
        session.begin();
        // After the last key there is only the end.
        let range = Range { from: Bound::Excluded(&[]), ..Range::all(index) };
        let none = &mut |_: Address, _| ControlFlow::Break(());
        let _ = session.range(table, &range, none);
        let locks = db.locks().locks().into_iter().filter(|row| !before.contains(row));
        let of_base = table.unit().hobt();
        let hobts = locks.filter_map(|row| match row.resource {
            Resource::Key(hobt, _) => Some(hobt),
            _ => None,
        });
        let hobts: Vec<HobtId> = hobts.collect();
        let found = hobts.iter().find(|hobt| **hobt != of_base).or(hobts.first());
        if let Some(hobt) = found {
            self.indexes.entry(*hobt).or_insert(name);
        }
        let _ = session.rollback();
    }
}

fn hash_of(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The key of a row in an index.
struct Key<'k> {
    index: &'k IndexInfo,
    clustered: Option<&'k IndexInfo>,
    table: &'k Table,
    row: &'k SeenRow,
}

impl Key<'_> {
    fn value(&self, column: &str) -> Option<(SqlType, &Datum<'static>)> {
        let columns = self.table.columns();
        let at = columns.iter().position(|(name, _)| name == column)?;
        Some((columns[at].1, self.row.row.get(at)?))
    }

    /// Its values, as they are printed.
    fn text(&self) -> Option<String> {
        let values = self.index.keys.iter().map(|(name, _)| Some(plain(self.value(name)?.1)));
        let text = values.collect::<Option<Vec<_>>>()?.join(", ");
        match &self.row.address {
            Address::Key(key) if self.index.is_clustered && !self.index.is_unique => {
                let last = key.last().copied().unwrap_or(0);
                Some(if last == 0 { text } else { format!("{text} #{}", last + 1) })
            }
            _ => Some(text),
        }
    }

    /// Its bytes, by which it is locked.
    fn bytes(&self) -> Option<Vec<u8>> {
        let address = &self.row.address;
        if let (Address::Key(key), true) = (address, self.index.is_clustered) {
            return Some(key.to_vec());
        }
        let mut bytes = Vec::new();
        for (column, descending) in &self.index.keys {
            self.push(column, *descending, &mut bytes)?;
        }
        if self.index.is_unique {
            return Some(bytes);
        }
        match address {
            Address::Rid(rid) => {
                push_sort_key(&RID, KeyValue::Bytes(&rid.to_bytes()), false, &mut bytes);
            }
            Address::Key(key) => {
                let clustered = self.clustered?;
                let is_new = |name: &str| !self.index.keys.iter().any(|(own, _)| own == name);
                for (column, descending) in &clustered.keys {
                    if is_new(column) {
                        self.push(column, *descending, &mut bytes)?;
                    }
                }
                if !clustered.is_unique {
                    bytes.extend_from_slice(key.last_chunk::<UNIQUIFIER_BYTES>()?);
                }
            }
        }
        Some(bytes)
    }

    fn push(&self, column: &str, descending: bool, out: &mut Vec<u8>) -> Option<()> {
        let (ty, value) = self.value(column)?;
        let mut bytes = Vec::new();
        let value = match value {
            Datum::Null => KeyValue::Null,
            Datum::Bit(value) => KeyValue::Bit(*value),
            value => {
                value.encode(&ty, &mut bytes).ok()?;
                KeyValue::Bytes(&bytes)
            }
        };
        push_sort_key(&ty, value, descending, out);
        Some(())
    }
}
