//! `computed`: columns whose values follow from others, and indexes that leave rows out.
//!
//! ```text
//! lines  PK line_id
//!        total     ([quantity]*[price])            not stored     IX include (order_year)
//!        net       ([price]-[discount])            not stored     IX; NULL when the discount is
//!        order_year (datepart(year,[ordered_at]))  stored         IX include (name_upper)
//!        name_upper (upper([name]))                stored         IX
//!        filtered   ([status]=(1))    ([note] IS NOT NULL)
//!                   ([quantity]>=(10) AND [quantity]<=(15))
//! ```

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_types::SqlType;

use super::sales::{varchar, year_of};
use super::size::{Size, int_rows_for};
use crate::Error;
use crate::spec::RowOrder;
use crate::{Cell, ColumnSpec, DatabaseBuilder, IndexSpec, RowValues, Rows, TableSpec};

const BYTES_PER_ROW: u64 = 182;
const FIRST_DAY: i32 = 38_000;
const TICKS_PER_DAY: u64 = 25_920_000;
const NAMES: [&str; 8] =
    ["Bolt", "Washer", "Nut m8", "Hinge", "Latch", "Spring", "Bracket", "Screw"];

/// Columns by position, for the filters.
mod column {
    pub(super) const QUANTITY: usize = 1;
    pub(super) const STATUS: usize = 5;
    pub(super) const NOTE: usize = 7;
}

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let count = int_rows_for(size, BYTES_PER_ROW)?;
    let columns = vec![
        ColumnSpec::new("line_id", SqlType::Int).identity(1, 1),
        ColumnSpec::new("quantity", SqlType::SmallInt),
        ColumnSpec::new("price", SqlType::Money),
        ColumnSpec::nullable("discount", SqlType::Money),
        ColumnSpec::new("ordered_at", SqlType::DateTime),
        ColumnSpec::new("status", SqlType::TinyInt),
        ColumnSpec::new("name", varchar(40)),
        ColumnSpec::nullable("note", varchar(60)),
        ColumnSpec::computed("total", SqlType::Money, "([quantity]*[price])"),
        ColumnSpec::computed("net", SqlType::Money, "([price]-[discount])"),
        ColumnSpec::computed("order_year", SqlType::Int, "(datepart(year,[ordered_at]))")
            .persisted(),
        ColumnSpec::computed("name_upper", varchar(40), "(upper([name]))").persisted(),
    ];
    let table = TableSpec::heap("lines", columns, LineRows { seed, count })
        .clustered(IndexSpec::primary_key("PK_lines", &["line_id"]))
        .index(IndexSpec::new("IX_lines_total", &["total"]).include(&["order_year"]))
        .index(IndexSpec::new("IX_lines_net", &["net"]))
        .index(IndexSpec::new("IX_lines_year", &["order_year"]).include(&["name_upper"]))
        .index(IndexSpec::new("IX_lines_name", &["name_upper"]))
        .index(
            IndexSpec::new("IX_lines_open", &["ordered_at"])
                .filter("([status]=(1))", |_, row| row.cell(column::STATUS) == Cell::Bytes(&[1])),
        )
        .index(
            IndexSpec::new("IX_lines_noted", &["note"])
                .filter("([note] IS NOT NULL)", |_, row| row.cell(column::NOTE) != Cell::Null),
        )
        .index(
            IndexSpec::new("IX_lines_some", &["quantity"])
                .include(&["price"])
                .filter("([quantity]>=(10) AND [quantity]<=(15))", |_, row| {
                    matches!(row.cell(column::QUANTITY), Cell::Bytes(&[10..=15, 0]))
                }),
        );
    Ok(builder.table(table))
}

struct LineRows {
    seed: u64,
    count: u64,
}

impl Rows for LineRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        let mut rng = SplitMix64::new(self.seed ^ (number + 1).wrapping_mul(0xd134_2543_de82_ef95));
        let quantity = 1 + rng.below(40) as i16;
        let price = 10_000 + rng.below(5_000_000) as i64;
        let discount = (rng.below(3) > 0).then(|| rng.below(9_000) as i64);
        row.int(number as i32 + 1).smallint(quantity).money(price);
        match discount {
            Some(value) => row.money(value),
            None => row.null(),
        };
        let day = FIRST_DAY + rng.below(2_200) as i32;
        row.datetime(day, rng.below(TICKS_PER_DAY) as u32).tinyint(rng.below(5) as u8);
        let name = format!("{} {}", NAMES[rng.below(8) as usize], rng.below(1_000));
        row.text(&name);
        match rng.below(4) {
            0 => row.text(&format!("see page {}", rng.below(500))),
            _ => row.null(),
        };
        row.money(i64::from(quantity) * price);
        match discount {
            Some(value) => row.money(price - value),
            None => row.null(),
        };
        row.int(year_of(day)).text(&name.to_ascii_uppercase());
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        // The values that the other indexes are on are random: these are sorted.
        (index == 0).then(|| -> RowOrder<'_> { Box::new(0..self.count) })
    }
}
