//! Random changes of rows with values off them, beside a simple model.

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, ColumnSpec, Database, Error, IndexSpec, LobPart, Session, Table, TableSpec, Value,
};
use extentdb_types::{Collation, Datum, SqlType};

use super::{rows, rows_by_reader, varchar};

const COLLATION: Collation = Collation(0x3400_d008);
/// Columns with random values, after the id; a rowversion follows.
pub const VALUES: usize = 6;

/// The bytes of the values of a row; `None` for NULL.
pub type Bytes = Vec<Option<Vec<u8>>>;

/// What must be in the table: rows by id.
pub type Model = BTreeMap<i32, Bytes>;

pub fn types() -> [SqlType; VALUES] {
    [
        varchar(6000),
        SqlType::VarBinary { len: Some(5000) },
        SqlType::NVarChar { len: None, collation: COLLATION },
        SqlType::VarBinary { len: None },
        SqlType::Text { collation: COLLATION },
        SqlType::Image,
    ]
}

fn name_of(column: usize) -> String {
    format!("v{column}")
}

/// Where the rows lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Heap,
    /// A heap with an index.
    Indexed,
    Clustered,
    /// By a key that is not unique.
    Uniquified,
}

pub const FORMS: [Form; 4] = [Form::Heap, Form::Indexed, Form::Clustered, Form::Uniquified];

pub fn create(session: &mut Session, name: &str, form: Form) -> Arc<Table> {
    let mut columns = vec![ColumnSpec::new("id", SqlType::Int).not_null()];
    let values = types().into_iter().enumerate();
    columns.extend(values.map(|(at, ty)| ColumnSpec::new(&name_of(at), ty)));
    columns.push(ColumnSpec::new("version", SqlType::RowVersion).not_null());
    let spec = TableSpec::heap(name, columns);
    let key = IndexSpec::new("pk", &["id"]);
    let spec = match form {
        Form::Heap | Form::Indexed => spec,
        Form::Clustered => spec.clustered(key.unique()),
        Form::Uniquified => spec.clustered(key),
    };
    let table = session.create_table(&spec).unwrap();
    if form == Form::Indexed {
        session.create_index(&table, &IndexSpec::new("ix", &["id"])).unwrap();
    }
    table
}

pub fn datum(column: usize, bytes: Option<&[u8]>) -> Datum<'_> {
    bytes.map_or(Datum::Null, |bytes| Datum::decode(&types()[column], bytes).unwrap())
}

/// Lengths around the thresholds, and some that are longer.
fn random_len(rng: &mut SplitMix64, most: usize) -> usize {
    let len = match rng.below(12) {
        0 => 0,
        1 => rng.below(65) + 1,
        2..=4 => rng.below(200),
        5 | 6 => rng.below(4000),
        7 | 8 => 3900 + rng.below(4200),
        9 => 8000 + rng.below(60),
        10 => rng.below(50_000),
        _ => rng.below(most as u64 + 1),
    };
    (len as usize).min(most)
}

pub fn random_bytes(rng: &mut SplitMix64, len: usize) -> Vec<u8> {
    let letter = rng.below(26) as usize;
    (0..len).map(|at| b'a' + ((letter + at / 7) % 26) as u8).collect()
}

pub fn random_value(rng: &mut SplitMix64, column: usize, most: usize) -> Option<Vec<u8>> {
    let most = types()[column].max_bytes().unwrap_or(most);
    if rng.below(5) == 0 {
        return None;
    }
    let len = random_len(rng, most) & !1;
    Some(random_bytes(rng, len))
}

fn id_at(row: &[Datum<'_>]) -> i32 {
    if let Datum::Int(id) = row[0] { id } else { panic!("no id") }
}

fn bytes_of(row: &[Datum<'_>]) -> Bytes {
    let bytes = |(column, value): (usize, &Datum<'_>)| {
        (!value.is_null()).then(|| {
            let mut bytes = Vec::new();
            value.encode(&types()[column], &mut bytes).unwrap();
            bytes
        })
    };
    row[1..=VALUES].iter().enumerate().map(bytes).collect()
}

/// The rows as a scan finds them.
pub fn found(session: &mut Session, table: &Table) -> (Model, BTreeMap<i32, Address>) {
    let mut model = Model::new();
    let mut places = BTreeMap::new();
    for (at, row) in rows(session, table) {
        assert!(model.insert(id_at(&row), bytes_of(&row)).is_none(), "an id twice");
        places.insert(id_at(&row), at);
    }
    (model, places)
}

/// The rows as the offline reader finds them.
pub fn found_by_reader(files: &[PathBuf], name: &str) -> Model {
    let read = rows_by_reader(files, name);
    read.into_iter().map(|row| (id_at(&row), bytes_of(&row))).collect()
}

/// A table under random changes.
pub struct Workload {
    pub rng: SplitMix64,
    /// The longest value.
    pub most: usize,
    pub next_id: i32,
    pub model: Model,
    pub places: BTreeMap<i32, Address>,
}

impl Workload {
    pub fn new(seed: u64, most: usize) -> Workload {
        Workload {
            rng: SplitMix64::new(seed),
            most,
            next_id: 0,
            model: Model::new(),
            places: BTreeMap::new(),
        }
    }

    fn any(&mut self) -> Option<i32> {
        let at = self.rng.below(self.model.len().max(1) as u64) as usize;
        self.model.keys().nth(at).copied()
    }

    /// One random statement.
    pub fn statement(&mut self, session: &mut Session, table: &Table) -> Result<(), Error> {
        match (self.rng.below(10), self.any()) {
            (0..=3, _) | (_, None) => self.insert(session, table),
            (4 | 5, Some(id)) => self.update(session, table, id),
            (6..=8, Some(id)) => self.write_part(session, table, id),
            (_, Some(id)) => {
                session.delete(table, &self.places[&id])?;
                self.model.remove(&id);
                self.places.remove(&id);
                Ok(())
            }
        }
    }

    fn insert(&mut self, session: &mut Session, table: &Table) -> Result<(), Error> {
        let id = self.next_id;
        self.next_id += 1;
        let bytes: Bytes =
            (0..VALUES).map(|at| random_value(&mut self.rng, at, self.most)).collect();
        let mut streams: Vec<&[u8]> = bytes.iter().map(|b| b.as_deref().unwrap_or(&[])).collect();
        let mut values = vec![Value::Datum(Datum::Int(id))];
        for (at, (bytes, stream)) in bytes.iter().zip(&mut streams).enumerate() {
            let is_stream = bytes.is_some() && self.rng.below(2) == 0;
            values.push(match is_stream {
                true => Value::Stream(stream),
                false => Value::Datum(datum(at, bytes.as_deref())),
            });
        }
        values.push(Value::Default);
        let at = session.insert_values(table, values)?;
        self.model.insert(id, bytes);
        self.places.insert(id, at);
        Ok(())
    }

    fn update(&mut self, session: &mut Session, table: &Table, id: i32) -> Result<(), Error> {
        let mut bytes = self.model[&id].clone();
        let moves = self.rng.below(4) == 0;
        let to = if moves { self.next_id } else { id };
        self.next_id += i32::from(moves);
        let mut values = vec![Value::Datum(Datum::Int(to))];
        let mut is_new = [false; VALUES];
        for (at, own) in bytes.iter_mut().enumerate() {
            if self.rng.below(3) == 0 {
                *own = random_value(&mut self.rng, at, self.most);
                is_new[at] = true;
            }
        }
        for (at, own) in bytes.iter().enumerate() {
            // The same value once more, or not named at all.
            let is_named = is_new[at] || self.rng.below(3) == 0;
            values.push(match is_named {
                true => Value::Datum(datum(at, own.as_deref())),
                false => Value::Unchanged,
            });
        }
        values.push(Value::Unchanged);
        let at = session.update_values(table, &self.places[&id], values)?;
        self.model.remove(&id);
        self.places.remove(&id);
        self.model.insert(to, bytes);
        self.places.insert(to, at);
        Ok(())
    }

    /// A random `.WRITE`; of a NULL, which takes none, nothing.
    fn write_part(&mut self, session: &mut Session, table: &Table, id: i32) -> Result<(), Error> {
        let column = 2 + self.rng.below(VALUES as u64 - 2) as usize;
        let Some(mut bytes) = self.model[&id][column].clone() else { return Ok(()) };
        let len = bytes.len();
        let offset = match self.rng.below(4) {
            0 => len,
            _ => self.rng.below(len as u64 + 1) as usize & !1,
        };
        let rest = len - offset;
        let length = match self.rng.below(4) {
            0 => None,
            1 => Some(0),
            _ => Some(self.rng.below(rest as u64 + 1) as usize & !1),
        };
        let replaced = length.unwrap_or(rest);
        let (data_len, data) = match self.rng.below(4) {
            0 => (Some(replaced as u64), random_bytes(&mut self.rng, replaced)),
            1 => (None, Vec::new()),
            _ => {
                let len = random_len(&mut self.rng, self.most / 4) & !1;
                (None, random_bytes(&mut self.rng, len))
            }
        };
        bytes.splice(offset..offset + replaced, data.iter().copied());
        let part = LobPart {
            offset: (offset != len || self.rng.below(2) == 0).then_some(offset as u64),
            length: length.map(|length| length as u64),
            data_len,
        };
        let at = &self.places[&id];
        let at = session.write_lob(table, at, &name_of(column), part, &mut data.as_slice())?;
        self.model.get_mut(&id).unwrap()[column] = Some(bytes);
        self.places.insert(id, at);
        Ok(())
    }

    /// A transaction with a savepoint, perhaps; returns the model that a commit would have made.
    pub fn transaction(&mut self, session: &mut Session, table: &Table) -> Result<(), Error> {
        session.begin();
        for _ in 0..1 + self.rng.below(6) {
            self.statement(session, table)?;
        }
        if self.rng.below(3) == 0 {
            session.save("s")?;
            let model = self.model.clone();
            let places = self.places.clone();
            for _ in 0..self.rng.below(4) {
                self.statement(session, table)?;
            }
            if self.rng.below(2) == 0 {
                session.rollback_to("s")?;
                self.model = model;
                self.places = places;
                self.statement(session, table)?;
            }
        }
        Ok(())
    }

    /// The same, and its end: committed, or rolled back.
    pub fn ended_transaction(&mut self, session: &mut Session, table: &Table) -> Result<(), Error> {
        let model = self.model.clone();
        let places = self.places.clone();
        self.transaction(session, table)?;
        if self.rng.below(4) == 0 {
            session.rollback()?;
            self.model = model;
            self.places = places;
            Ok(())
        } else {
            session.commit()
        }
    }

    /// The table has the rows of the model.
    pub fn assert_rows(&mut self, db: &Arc<Database>, name: &str, what: &str) {
        let mut session = db.session();
        let table = session.table(name).unwrap();
        let (model, places) = found(&mut session, &table);
        assert_same(&self.model, &model, what);
        self.places = places;
    }
}

#[track_caller]
pub fn assert_same(expected: &Model, found: &Model, what: &str) {
    let ids: Vec<_> = expected.keys().collect();
    assert_eq!(ids, found.keys().collect::<Vec<_>>(), "{what}");
    for (id, row) in expected {
        for (column, (expected, found)) in row.iter().zip(&found[id]).enumerate() {
            let len = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(Vec::len);
            assert!(
                expected == found,
                "{what}: row {id}, column {column}: {:?} bytes expected, {:?} found",
                len(expected),
                len(found)
            );
        }
    }
}
