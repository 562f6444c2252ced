//! `master.dbo.spt_values`: the numbers that scripts count by.
//!
//! ```text
//! name   number   type   low            high          status
//! NULL   n        P      n / 8 + 1      2 ^ (n % 8)   0         0 ≤ n < 2048: bits of a bitmap
//! ```
//!
//! Of its other types nothing is told: they name what procedures of the product show.

use extentdb_bind::surroundings::MadeRows;
use extentdb_types::{Collation, Datum, SqlType};

use crate::trigger::RowsInMemory;
use crate::variant::nchar;

/// Its name in schema dbo.
pub(super) const NAME: &str = "spt_values";
const NUMBERS: i32 = 2_048;
/// Numbers that a byte of a bitmap stands for.
const PER_BYTE: i32 = 8;

/// Its columns and rows.
pub(super) fn rows(collation: Collation) -> MadeRows {
    let name = SqlType::NVarChar { len: Some(70), collation };
    let ty = SqlType::NChar { len: 6, collation };
    let columns = [
        ("name", name, true),
        ("number", SqlType::Int, false),
        ("type", ty, false),
        ("low", SqlType::Int, true),
        ("high", SqlType::Int, true),
        ("status", SqlType::Int, true),
    ];
    let columns = columns.map(|(name, ty, is_nullable)| (name.to_owned(), ty, is_nullable));
    let row = |number: i32| {
        vec![
            Datum::Null,
            Datum::Int(number),
            nchar("P  "),
            Datum::Int(number / PER_BYTE + 1),
            Datum::Int(1 << (number % PER_BYTE)),
            Datum::Int(0),
        ]
    };
    let made = RowsInMemory::made((0..NUMBERS).map(row).collect(), columns.to_vec());
    MadeRows { schema: Some("dbo".to_owned()), ..made }
}
