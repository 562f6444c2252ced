//! `compressed`: the same rows with ROW and PAGE compression, in tables and in indexes.
//!
//! ```text
//!              table        IX customer   UX id
//! orders_page  clustered P  none          row
//! orders_none  clustered -  page          page
//! log_row      heap R       page          none        some rows moved
//! log_page     heap P       row           page
//! ```

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::layout::Compression;
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, SqlType};

use super::size::{Size, int_rows_for, letters};
use crate::Error;
use crate::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};

/// Bytes of a row in all four tables and their indexes.
const BYTES_PER_ROW: u64 = 610;
const CUSTOMERS: u64 = 400;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let count = int_rows_for(size, BYTES_PER_ROW)?;
    let none = Compression::None;
    let row = Compression::Row;
    let page = Compression::Page;
    let clustered = |name: &str| IndexSpec::new(&format!("CX_{name}"), &["sold", "id"]).unique();
    let orders_page = table("orders_page", seed, count, page, [none, row]);
    let orders_none = table("orders_none", seed, count, none, [page, page]);
    Ok(builder
        .table(orders_page.clustered(clustered("orders_page")))
        .table(orders_none.clustered(IndexSpec::new("CX_orders_none", &["city"])))
        .table(
            table("log_row", seed, count, row, [page, none]).forwarded(|number| number % 60 == 13),
        )
        .table(table("log_page", seed, count, page, [row, page])))
}

fn table(
    name: &str,
    seed: u64,
    count: u64,
    base: Compression,
    indexes: [Compression; 2],
) -> TableSpec {
    let collation = Collation(DEFAULT_COLLATION);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("customer", SqlType::Char { len: 14, collation }),
        ColumnSpec::new("sold", SqlType::DateTime),
        ColumnSpec::nullable("city", SqlType::NVarChar { len: Some(60), collation }),
        ColumnSpec::new("amount", SqlType::Decimal { precision: 18, scale: 4 }),
        ColumnSpec::nullable("discount", SqlType::SmallInt),
        ColumnSpec::new("paid", SqlType::Bit),
        ColumnSpec::new("total", SqlType::BigInt),
        ColumnSpec::new("state", SqlType::NChar { len: 20, collation }),
        ColumnSpec::nullable("remark", SqlType::VarChar { len: Some(80), collation }),
    ];
    let [customer, id] = indexes;
    TableSpec::heap(
        name,
        columns,
        FnRows::new(count, move |number, row| put_row(seed, number, row)),
    )
    .compressed(base)
    .index(IndexSpec::new(&format!("IX_{name}"), &["customer", "amount"]).compressed(customer))
    .index(
        IndexSpec::new(&format!("UX_{name}"), &["id"])
            .unique()
            .include(&["remark", "total"])
            .compressed(id),
    )
}

fn put_row(seed: u64, number: u64, row: &mut RowValues) {
    let mut rng = SplitMix64::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    row.int(number as i32 + 1).text(&format!("CUSTOMER-{:05}", number * 13 % CUSTOMERS));
    row.datetime(39_000 + (number / 500 % 3_000) as i32, rng.below(25_920_000) as u32);
    let cities = [
        "Bern",
        "M\u{fc}nchen",
        "\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430}",
        "\u{5927}\u{962a}",
        "Boston",
    ];
    match number % 6 {
        5 => row.null(),
        city => row.ntext(cities[city as usize]),
    };
    row.decimal19(rng.below(1 << (4 + number % 36)) as i64 - (1 << 10));
    match number % 4 {
        0 => row.null(),
        _ => row.smallint((number % 50) as i16 - 25),
    };
    row.bit(!number.is_multiple_of(3)).bigint((number as i64 - 1_000) * 997);
    row.ntext(&format!("{:<10}", ["open", "sent", "closed"][(number / 7 % 3) as usize]));
    match number % 5 {
        0 => row.null(),
        1 => row.text("delivered as ordered"),
        _ => row.raw(&letters(rng.below(60) as usize, &mut rng)),
    };
}
