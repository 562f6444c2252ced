//! `history`: tables that were altered and changed after their creation.
//!
//! ```text
//! accounts  clustered, not unique: ghosts (whole pages), versions, columns added and dropped
//!           3 indexes
//! events    heap: the same, and forwarded rows, empty slots
//!           3 indexes
//! ```
//!
//! Of *n* rows, columns were added after a quarter, a half and three quarters of them, and one was
//! dropped then.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, SqlType};

use super::size::{Size, int_rows_for, letters};
use crate::Error;
use crate::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};

/// Bytes of an account and an event with all their index entries.
const BYTES_PER_ROW: u64 = 590;
/// The value of the column `score` in rows older than the column.
const SCORE: i32 = 100;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let count = int_rows_for(size, BYTES_PER_ROW)?;
    let accounts = table("accounts", seed, count)
        .clustered(IndexSpec::new("CX_accounts", &["kind", "opened"]));
    let events = table("events", !seed, count)
        .vacated(|number| number % 17 == 4)
        .forwarded(|number| number % 23 == 6);
    Ok(builder.table(accounts).table(events))
}

fn table(name: &str, seed: u64, count: u64) -> TableSpec {
    let collation = Collation(DEFAULT_COLLATION);
    let [quarter, half, three_quarters] = [1, 2, 3].map(|quarters| count * quarters / 4);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("kind", SqlType::TinyInt),
        ColumnSpec::new("opened", SqlType::DateTime),
        ColumnSpec::nullable("old_code", SqlType::Char { len: 12, collation }).dropped(half),
        ColumnSpec::new("owner", SqlType::NVarChar { len: Some(40), collation }),
        ColumnSpec::new("text", SqlType::VarChar { len: Some(200), collation }),
        ColumnSpec::nullable("remark", SqlType::VarChar { len: Some(50), collation })
            .added(quarter),
        ColumnSpec::new("score", SqlType::Int)
            .added_with(half, &SCORE.to_le_bytes())
            .default(&format!("DF_{name}_score"), "((100))"),
        ColumnSpec::new("open", SqlType::Bit)
            .added_with(half, &[1])
            .default(&format!("DF_{name}_open"), "((1))"),
        ColumnSpec::new("region", SqlType::VarChar { len: Some(20), collation })
            .added_with(three_quarters, b"north")
            .default(&format!("DF_{name}_region"), "('north')"),
    ];
    let row = move |number: u64, row: &mut RowValues| {
        let mut rng = SplitMix64::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        row.int(number as i32 + 1).tinyint((number % 5) as u8);
        row.datetime(41_000 + (number / 40 % 900) as i32, 0).text(&format!("C{:011}", number));
        row.ntext(["Ada", "ada ", "B\u{e9}la", "Bela", "\u{d6}zg\u{fc}r"][(rng.below(5)) as usize]);
        row.raw(&letters(rng.below(200) as usize, &mut rng));
        match number {
            _ if number < quarter || number.is_multiple_of(3) => row.null(),
            _ => row.text("has a remark"),
        };
        row.int(if number < half { SCORE } else { rng.below(50) as i32 });
        row.bit(number < half || number.is_multiple_of(2));
        row.text(if number < three_quarters {
            "north"
        } else {
            ["south", "north", "East"][(number % 3) as usize]
        });
    };
    TableSpec::heap(name, columns, FnRows::new(count, row))
        // Every seventh row is deleted, and of every ten thousand, several hundred in a row.
        .ghosts(|number| number % 7 == 5 || number % 10_000 / 400 == 3)
        .versioned(|number| number % 6 == 1)
        .index(
            IndexSpec::new(&format!("IX_{name}_score"), &["score", "region"])
                .include(&["open"])
                .descending("score"),
        )
        .index(IndexSpec::new(&format!("IX_{name}_owner"), &["owner"]).include(&["remark"]))
        .index(IndexSpec::new(&format!("UX_{name}_id"), &["id"]).unique())
}
