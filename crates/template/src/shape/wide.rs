//! `wide`: rows that are long or have many columns, and a column of every type.
//!
//! ```text
//! overflow  IX key, IX id         heap, up to 28,000 bytes a row: columns in row-overflow pages
//! columns   IX of last columns    PK id, 300 columns, rows of up to 8,060 bytes
//! types     four indexes          PK id, every type with its extreme values
//! ```

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, SqlType};

use super::size::{Size, letters, rows_for};
use super::types;
use crate::Error;
use crate::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};

/// Bytes of a row of `overflow` with its share of the other tables.
const BYTES_PER_ROW: u64 = 18_500;
const COLUMNS: usize = 300;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let count = rows_for(size, BYTES_PER_ROW);
    if count > i32::MAX as u64 / 2 {
        return Err(Error::TooManyRows { rows: count });
    }
    let builder = builder.table(overflow_table(seed, count)).table(columns_table(seed, count));
    Ok(builder.table(types::table(count)))
}

fn varchar(len: u16) -> SqlType {
    SqlType::VarChar { len: Some(len), collation: Collation(DEFAULT_COLLATION) }
}

fn overflow_table(seed: u64, count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("key", varchar(20)),
        ColumnSpec::nullable("first", varchar(8000)),
        ColumnSpec::new("second", SqlType::VarBinary { len: Some(8000) }),
        ColumnSpec::new(
            "third",
            SqlType::NVarChar { len: Some(8000), collation: Collation(DEFAULT_COLLATION) },
        ),
        ColumnSpec::nullable("fourth", varchar(8000)),
    ];
    let row = move |number: u64, row: &mut RowValues| {
        let mut rng = SplitMix64::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        row.int(number as i32 + 1).text(&format!("key {}", number * 7919 % 10_007));
        // Some rows are short enough to stay whole.
        let max = [900, 2_500, 7_900][(number % 3) as usize];
        let mut text = |even: bool| {
            let len = rng.below(max) as usize & if even { !1 } else { !0 };
            letters(len, &mut rng)
        };
        match number % 5 {
            0 => row.null(),
            _ => row.raw(&text(false)),
        };
        row.raw(&text(false)).raw(&text(true)).raw(&text(false));
    };
    TableSpec::heap("overflow", columns, FnRows::new(count, row).ordered(&[2]))
        .forwarded(|number| number % 40 == 11)
        .index(IndexSpec::new("IX_overflow_key", &["key"]))
        .index(IndexSpec::new("UX_overflow_id", &["id"]).unique())
}

fn columns_table(seed: u64, count: u64) -> TableSpec {
    let column = |at: usize| match at % 6 {
        0 => ColumnSpec::nullable(&format!("c{at}"), varchar(80)),
        1 => ColumnSpec::nullable(&format!("c{at}"), SqlType::Bit),
        2 => ColumnSpec::nullable(&format!("c{at}"), SqlType::Int),
        3 => ColumnSpec::nullable(&format!("c{at}"), SqlType::DateTime),
        4 => ColumnSpec::nullable(&format!("c{at}"), SqlType::Decimal { precision: 9, scale: 2 }),
        _ => ColumnSpec::nullable(&format!("c{at}"), SqlType::SmallInt),
    };
    let mut columns = vec![ColumnSpec::new("id", SqlType::Int)];
    columns.extend((1..COLUMNS).map(column));
    let row = move |number: u64, row: &mut RowValues| {
        let mut rng = SplitMix64::new(seed ^ !number);
        row.int(number as i32 + 1);
        // The rows of every tenth number are as long as they can be.
        let is_full = number % 10 == 9;
        for at in 1..COLUMNS {
            let bits = rng.next_u64();
            if !is_full && bits.is_multiple_of(4) {
                row.null();
                continue;
            }
            let len = if is_full { 80 } else { bits as usize % 60 };
            match at % 6 {
                0 => row.raw(&letters(len, &mut rng)),
                1 => row.bit(bits & 16 == 0),
                2 => row.int(bits as i32),
                3 => row.datetime(40_000 + (bits % 1_000) as i32, (bits >> 16 & 0xff_ffff) as u32),
                4 => row.decimal9((bits % 999_999_999) as i32 - 499_999_999),
                _ => row.smallint(bits as i16),
            };
        }
    };
    TableSpec::heap("columns", columns, FnRows::new(count, row).ordered(&[0]))
        .clustered(IndexSpec::primary_key("PK_columns", &["id"]))
        .index(
            IndexSpec::new("IX_columns_c6", &["c6", "c1", "c4"])
                .include(&["c296", "c294"])
                .descending("c4"),
        )
}
