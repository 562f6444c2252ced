//! Numbers of groups: rows whose keys are equal have the same number, 0, 1, 2 … as they appear.
//!
//! A hash table in two levels: the [hash keys](crate::hash_key) of rows, and, for types whose equal
//! values may have different bytes, the sort keys of those that the first level does not know. So
//! the sort key of a text is made once for each text, not for each row.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::batch::Batch;
use crate::byte_table::ByteTable;
use crate::hash_key::HashKeys;
use crate::key::KeyEncoder;

/// The number of a row that has no group.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// Whether NULL is equal to NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// In groups and set operations.
    AreEqual,
    /// In joins: a row with a NULL has no group.
    HaveNoGroup,
}

/// Groups of rows by their keys.
#[derive(Debug)]
pub(crate) struct GroupTable {
    keys: HashKeys,
    nulls: Nulls,
    first: FirstLevel,
    second: SecondLevel,
    scratch: Vec<u8>,
    packed: Vec<u128>,
}

/// Groups by hash keys.
#[derive(Debug)]
enum FirstLevel {
    /// Keys of up to 64 bits.
    Short(FxHashMap<u64, u32>),
    Long(FxHashMap<u128, u32>),
    Bytes(ByteTable),
}

/// Groups by sort keys, where hash keys are not exact; and how many there are.
#[derive(Debug, Default)]
struct SecondLevel {
    is_needed: bool,
    groups: ByteTable,
    scratch: Vec<u8>,
    count: u32,
}

/// Rows whose groups are looked up.
struct Lookup<'l> {
    keys: &'l HashKeys,
    encoder: KeyEncoder,
    batch: &'l Batch,
    skips_nulls: bool,
    /// Gets the rows that make a group; `None`: none is made.
    new: Option<&'l mut Vec<u32>>,
}

impl GroupTable {
    /// No groups yet, of rows with these keys.
    pub(crate) fn new(keys: HashKeys, nulls: Nulls) -> GroupTable {
        let first = match keys.packed_bits() {
            Some(..=64) => FirstLevel::Short(FxHashMap::default()),
            Some(_) => FirstLevel::Long(FxHashMap::default()),
            None => FirstLevel::Bytes(ByteTable::default()),
        };
        let second = SecondLevel { is_needed: !keys.is_exact(), ..SecondLevel::default() };
        GroupTable {
            keys,
            nulls,
            first,
            second,
            scratch: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Number of groups.
    pub(crate) fn len(&self) -> usize {
        self.second.count as usize
    }

    /// Bytes in memory, about.
    pub(crate) fn memory(&self) -> usize {
        let first = match &self.first {
            FirstLevel::Short(groups) => groups.capacity() * size_of::<(u64, u64)>(),
            FirstLevel::Long(groups) => groups.capacity() * size_of::<(u128, u128)>(),
            FirstLevel::Bytes(groups) => groups.memory(),
        };
        first + self.second.groups.memory()
    }

    /// The group of each row, made where there is none; the rows that made one are appended to
    /// `new`.
    pub(crate) fn assign(&mut self, batch: &Batch, numbers: &mut Vec<u32>, new: &mut Vec<u32>) {
        let keys = self.keys.clone();
        self.look_up(&keys, batch, numbers, Some(new));
    }

    /// The same for rows whose columns are the keys, in their order.
    pub(crate) fn assign_values(
        &mut self,
        values: &Batch,
        numbers: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) {
        let keys = self.keys.in_order();
        self.look_up(&keys, values, numbers, Some(new));
    }

    /// The group of each row of another input, by its key columns; [`NO_GROUP`] where there is
    /// none.
    pub(crate) fn find(&mut self, keys: &HashKeys, batch: &Batch, numbers: &mut Vec<u32>) {
        self.look_up(keys, batch, numbers, None);
    }

    /// The group of each row of the same input; [`NO_GROUP`] where there is none.
    pub(crate) fn find_own(&mut self, batch: &Batch, numbers: &mut Vec<u32>) {
        let keys = self.keys.clone();
        self.look_up(&keys, batch, numbers, None);
    }

    fn look_up(
        &mut self,
        keys: &HashKeys,
        batch: &Batch,
        numbers: &mut Vec<u32>,
        new: Option<&mut Vec<u32>>,
    ) {
        numbers.clear();
        numbers.reserve(batch.rows);
        let mut lookup = Lookup {
            keys,
            encoder: KeyEncoder::of_columns(&keys.columns()),
            batch,
            skips_nulls: self.nulls == Nulls::HaveNoGroup && keys.has_nulls(batch),
            new,
        };
        let second = &mut self.second;
        match &mut self.first {
            FirstLevel::Short(groups) => {
                keys.pack(batch, &mut self.packed);
                let packed = self.packed.iter().map(|key| *key as u64);
                look_up_packed(groups, packed, second, &mut lookup, numbers);
            }
            FirstLevel::Long(groups) => {
                keys.pack(batch, &mut self.packed);
                let packed = self.packed.iter().copied();
                look_up_packed(groups, packed, second, &mut lookup, numbers);
            }
            FirstLevel::Bytes(groups) => {
                look_up_bytes(groups, &mut self.scratch, second, &mut lookup, numbers);
            }
        }
    }
}

fn look_up_packed<K: Copy + Eq + Hash>(
    groups: &mut FxHashMap<K, u32>,
    keys: impl Iterator<Item = K>,
    second: &mut SecondLevel,
    lookup: &mut Lookup<'_>,
    numbers: &mut Vec<u32>,
) {
    // Rows of a group often follow each other.
    let mut last = None;
    for (row, key) in keys.enumerate() {
        if lookup.is_skipped(row) {
            numbers.push(NO_GROUP);
            continue;
        }
        let number = match last {
            Some((of, number)) if of == key => number,
            _ => groups.get(&key).copied().unwrap_or_else(|| {
                let found = second.group(lookup, row);
                if found != NO_GROUP {
                    groups.insert(key, found);
                }
                found
            }),
        };
        last = Some((key, number));
        numbers.push(number);
    }
}

fn look_up_bytes(
    groups: &mut ByteTable,
    key: &mut Vec<u8>,
    second: &mut SecondLevel,
    lookup: &mut Lookup<'_>,
    numbers: &mut Vec<u32>,
) {
    for row in 0..lookup.batch.rows {
        if lookup.is_skipped(row) {
            numbers.push(NO_GROUP);
            continue;
        }
        key.clear();
        lookup.keys.push_bytes(lookup.batch, row, key);
        numbers.push(groups.get(key).unwrap_or_else(|| {
            let found = second.group(lookup, row);
            if found != NO_GROUP {
                groups.insert(key, found);
            }
            found
        }));
    }
}

impl Lookup<'_> {
    fn is_skipped(&self, row: usize) -> bool {
        self.skips_nulls && self.keys.has_null(self.batch, row)
    }
}

impl SecondLevel {
    /// The group of a row whose hash key is not known.
    fn group(&mut self, lookup: &mut Lookup<'_>, row: usize) -> u32 {
        if self.is_needed {
            self.scratch.clear();
            lookup.encoder.push_equality(lookup.batch, row, &mut self.scratch);
            if let Some(number) = self.groups.get(&self.scratch) {
                return number;
            }
        }
        let Some(new) = &mut lookup.new else { return NO_GROUP };
        let number = self.count;
        if self.is_needed {
            self.groups.insert(&self.scratch, number);
        }
        self.count += 1;
        new.push(row as u32);
        number
    }
}

#[cfg(test)]
mod tests {
    use extentdb_types::{Collation, SqlType};

    use super::*;
    use crate::testing::{Cell, batch};

    fn table(types: &[SqlType], nulls: Nulls) -> GroupTable {
        let columns: Vec<usize> = (0..types.len()).collect();
        GroupTable::new(HashKeys::new(&columns, types), nulls)
    }

    fn assigned(table: &mut GroupTable, batch: &Batch) -> (Vec<u32>, Vec<u32>) {
        let mut numbers = Vec::new();
        let mut new = Vec::new();
        table.assign(batch, &mut numbers, &mut new);
        (numbers, new)
    }

    #[test]
    fn texts_are_grouped_under_their_collation() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        for ty in [
            SqlType::VarChar { len: Some(10), collation },
            SqlType::NVarChar { len: Some(20), collation },
            SqlType::Char { len: 3, collation },
        ] {
            let mut table = table(&[ty], Nulls::AreEqual);
            let texts = ["abc", "ABC", "xy ", "xy", "aBc"];
            let rows: Vec<Vec<Cell>> = texts.map(|text| vec![Cell::from(text)]).to_vec();
            let (numbers, new) = assigned(&mut table, &batch(&[ty], &rows));
            assert_eq!(numbers, [0, 0, 1, 1, 0], "{ty:?}");
            assert_eq!(new, [0, 2]);
            let rows = [vec![Cell::Null], vec![Cell::from("XY")], vec![Cell::Null]];
            assert_eq!(assigned(&mut table, &batch(&[ty], &rows)).0, [2, 1, 2]);
        }
    }

    #[test]
    fn in_joins_null_has_no_group() {
        for types in [[SqlType::Int, SqlType::Int], [SqlType::Int, SqlType::UniqueIdentifier]] {
            let mut table = table(&types, Nulls::HaveNoGroup);
            let second = if types[1] == SqlType::Int { Cell::Int(7) } else { Cell::Guid(7) };
            let rows = [
                vec![Cell::Int(1), second.clone()],
                vec![Cell::Null, second.clone()],
                vec![Cell::Int(1), Cell::Null],
                vec![Cell::Int(1), second],
            ];
            let batch = batch(&types, &rows);
            assert_eq!(assigned(&mut table, &batch).0, [0, NO_GROUP, NO_GROUP, 0]);
            let mut found = Vec::new();
            let keys = HashKeys::new(&[0, 1], &types);
            table.find(&keys, &batch, &mut found);
            assert_eq!(found, [0, NO_GROUP, NO_GROUP, 0]);
            assert_eq!(table.len(), 1);
        }
    }
}
