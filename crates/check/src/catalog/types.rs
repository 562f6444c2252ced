//! Columns of tables against the types: `syscolpars.utype` and `xtype`, `sysscalartypes.id` and
//! `xtype`.

use extentdb_base::ObjectId;
use extentdb_catalog::model::{Catalog, ObjectType};

use super::rows::{Key, Rows, Table};
use super::{report_unmatched, report_value};
use crate::finding::Findings;

/// Type codes that are stored alike, or that one may be made of the other without touching the
/// rows.
const ALIKE: [&[u8]; 4] = [
    &[106, 108],                    // decimal, numeric
    &[35, 167],                     // text, varchar
    &[99, 231],                     // ntext, nvarchar
    &[34, 165, 173, 189, 240, 241], // image, varbinary, binary, rowversion, CLR, xml
];
/// Encrypted columns are stored as varbinary, whatever they are.
const VARBINARY: u8 = 165;

/// True when values of one type may be stored as the other.
pub(super) fn is_same_storage(a: u8, b: u8) -> bool {
    let is_alike = |group: &&[u8]| group.contains(&a) && group.contains(&b);
    a == b || a == VARBINARY || b == VARBINARY || ALIKE.iter().any(is_alike)
}

/// Types that columns of tables have: each exists and is what the column says.
pub(super) fn verify_types(catalog: &Catalog, rows: &Rows, findings: &mut Findings) {
    let is_judged = |object: i64| {
        let id = i32::try_from(object).map(ObjectId).ok();
        let table = id.and_then(|id| catalog.tables.get(&id));
        let kinds = [ObjectType::USER_TABLE, ObjectType::SYSTEM_TABLE];
        object > 0 && table.is_some_and(|table| kinds.contains(&table.kind))
    };
    for column in rows.column_types().iter().filter(|column| is_judged(column.row.0[0])) {
        let row = Table::Columns.row(column.row);
        match rows.xtype(column.user_type) {
            Some(xtype) if is_same_storage(xtype, column.xtype) => {}
            Some(_) => report_value(&format!("system_type_id={}", column.xtype), row, findings),
            // Types of the user are a relation of their own.
            None if column.user_type >= super::rows::USER_TYPES => {}
            None => {
                report_unmatched(None, row, Table::Types.row(Key::one(column.user_type)), findings)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_were_altered_in_the_catalog_only_have_the_same_storage() {
        for (a, b) in [(35, 167), (99, 231), (34, 165), (106, 108), (189, 173), (56, 165), (36, 36)]
        {
            assert!(is_same_storage(a, b) && is_same_storage(b, a), "{a} {b}");
        }
        for (a, b) in [(56, 127), (167, 231), (61, 36), (56, 5), (175, 167)] {
            assert!(!is_same_storage(a, b) && !is_same_storage(b, a), "{a} {b}");
        }
    }
}
