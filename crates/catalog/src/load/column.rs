//! Columns: `syscolpars`, with identity, default and computed text.

use std::collections::BTreeMap;

use extentdb_base::ObjectId;
use extentdb_types::{Decimal, SqlType};

use super::Loader;
use super::texts::Texts;
use crate::model::{Column, Identity, ScalarType};
use crate::system::{SystemRow, object};

/// Status bits of `syscolpars`; the first three were observed, the rest is from public
/// documentation.
mod status {
    pub(super) const NOT_NULL: u32 = 0x1;
    pub(super) const IDENTITY: u32 = 0x4;
    pub(super) const ROW_GUID: u32 = 0x8;
    pub(super) const COMPUTED: u32 = 0x10;
    pub(super) const FILESTREAM: u32 = 0x20;
    pub(super) const SPARSE: u32 = 0x100_0000;
    pub(super) const COLUMN_SET: u32 = 0x200_0000;
}

/// Id of `sysname`; user types have higher ids, system types those of their xtype.
const SYSNAME: i32 = 256;

impl Loader<'_> {
    pub(super) fn columns(
        &mut self,
        types: &BTreeMap<i32, ScalarType>,
        schemas: &BTreeMap<i32, String>,
        texts: &Texts,
    ) -> BTreeMap<ObjectId, Vec<Column>> {
        let mut out: BTreeMap<ObjectId, Vec<Column>> = BTreeMap::new();
        self.tables.each(object::SYSCOLPARS, &mut self.faults, |row| {
            // Parameters of procedures have a number above 0.
            if row.int(2) != Some(0) {
                return;
            }
            let Some(table) = row.int32(1).map(ObjectId) else { return };
            if let Some(mut column) = read_column(row) {
                column.user_type = user_type(row.int32(6).unwrap_or(0), types, schemas);
                if column.status & status::COMPUTED != 0 {
                    column.computed = Some(texts.of_column(table, column.id).unwrap_or_default());
                }
                out.entry(table).or_default().push(column);
            }
        });
        for columns in out.values_mut() {
            columns.sort_by_key(|column| column.id);
        }
        out
    }
}

pub(super) fn read_column(row: &SystemRow<'_>) -> Option<Column> {
    let xtype = row.int8(5)?;
    let utype = row.int32(6)?;
    let length = row.int(7)? as i16;
    let collation_id = row.bits(10)?;
    let bits = row.bits(11)?;
    let ty = SqlType::from_column(xtype, utype, length, row.int8(8)?, row.int8(9)?, collation_id);
    let identity = if bits & status::IDENTITY != 0 { row.bytes(16) } else { None };
    Some(Column {
        id: row.int32(3)?,
        name: row.text(4).unwrap_or_default(),
        ty,
        user_type: None,
        xtype,
        nullable: bits & status::NOT_NULL == 0,
        identity: identity.and_then(|bytes| read_identity(ty?, &bytes)),
        computed: None,
        persisted: false,
        row_guid: bits & status::ROW_GUID != 0,
        sparse: bits & status::SPARSE != 0,
        column_set: bits & status::COLUMN_SET != 0,
        filestream: bits & status::FILESTREAM != 0,
        default_object: ObjectId(row.int32(14)?),
        rule_object: ObjectId(row.int32(15)?),
        collation_id,
        status: bits,
    })
}

pub(super) fn user_type(
    id: i32,
    types: &BTreeMap<i32, ScalarType>,
    schemas: &BTreeMap<i32, String>,
) -> Option<String> {
    let ty = types.get(&id).filter(|_| id >= SYSNAME)?;
    if id == SYSNAME {
        return Some(ty.name.clone());
    }
    let schema = schemas.get(&ty.schema_id).map_or("dbo", String::as_str);
    Some(format!("{schema}.{}", ty.name))
}

/// `idtval`: last value, increment, seed, each as wide as the column, then a flag byte; bit 0 = no
/// value yet.
fn read_identity(ty: SqlType, bytes: &[u8]) -> Option<Identity> {
    let (flag, numbers) = bytes.split_last()?;
    let width = numbers.len() / 3;
    if width == 0 || width * 3 != numbers.len() {
        return None;
    }
    let mut numbers = numbers.chunks_exact(width).map(|bytes| identity_number(ty, bytes));
    let last = numbers.next()??;
    let increment = numbers.next()??;
    let seed = numbers.next()??;
    Some(Identity { seed, increment, last: (flag & 1 == 0).then_some(last) })
}

fn identity_number(ty: SqlType, bytes: &[u8]) -> Option<String> {
    if let SqlType::Decimal { .. } | SqlType::Numeric { .. } = ty {
        return identity_decimal(bytes);
    }
    let value = match *bytes {
        [a] => i64::from(a),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => i64::from_le_bytes(bytes.try_into().ok()?),
    };
    Some(value.to_string())
}

/// `05 precision scale sign` and a magnitude of 16 bytes.
fn identity_decimal(bytes: &[u8]) -> Option<String> {
    let [_, _, scale, sign, magnitude @ ..] = bytes else { return None };
    let magnitude = u128::from_le_bytes(magnitude.try_into().ok()?);
    Decimal::new(*sign == 0, magnitude, *scale).map(|value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_of_an_int_column_as_the_catalog_stores_it() {
        let bytes = [8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0];
        let identity = read_identity(SqlType::Int, &bytes).unwrap();
        assert_eq!(
            identity,
            Identity {
                seed: "1".into(),
                increment: "1".into(),
                last: Some("8".into())
            }
        );
        let unused = [1, 0, 1, 0, 1, 0, 1];
        assert_eq!(read_identity(SqlType::SmallInt, &unused).unwrap().last, None);
        assert_eq!(read_identity(SqlType::Int, &[1, 2, 3]), None);
    }
}
