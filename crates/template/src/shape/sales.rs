//! `sales`: a narrow clustered table of many rows with two nonclustered indexes, and a small table.
//!
//! ```text
//! customers   PK customer_id         UQ code          checks, defaults
//! sales       PK sale_id (identity)  IX customer_id include (unit_price)  IX product_code, sold_at
//! ```
//!
//! `sales1` has the first nonclustered index only, `sales8` eight on the same rows.
//! `sales-computed` has a third one on two computed columns that are not stored, and `sales-plain`,
//! its twin, one of the same size on plain columns.
//!
//! Customers and products of the sales are visited in steps that reach each of them before the
//! first one again. So the order of both indexes is known without sorting: the rows of customer *c*
//! are *r*, *r* + C, *r* + 2 C …

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, DateTime, SqlType};

use super::permutation::Permutation;
use super::size::{Size, int_rows_for};
use crate::Error;
use crate::spec::RowOrder;
use crate::{ColumnSpec, DatabaseBuilder, IndexSpec, RowValues, Rows, TableSpec};

const CUSTOMERS_MAX: u64 = 20_000;
const PRODUCTS: u64 = 997;
const FIRST_DAY: i32 = 38_352;
const TICKS_PER_DAY: u64 = 25_920_000;

/// Which indexes the sales have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SalesIndexes {
    One,
    Two,
    Eight,
    Computed,
    Plain,
}

impl SalesIndexes {
    /// Bytes a sale takes, with its entries in all indexes.
    fn bytes_per_row(self) -> u64 {
        match self {
            SalesIndexes::One => 195,
            SalesIndexes::Two => 223,
            SalesIndexes::Eight => 343,
            SalesIndexes::Computed => 246,
            SalesIndexes::Plain => 246,
        }
    }
}

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
    kind: SalesIndexes,
) -> Result<DatabaseBuilder, Error> {
    let count = int_rows_for(size, kind.bytes_per_row())?;
    let customers = (count / 20).clamp(10, CUSTOMERS_MAX);
    Ok(builder
        .table(customers_table(seed, customers))
        .table(sales_table(seed, count, customers, kind)))
}

pub(super) fn varchar(len: u16) -> SqlType {
    SqlType::VarChar { len: Some(len), collation: Collation(DEFAULT_COLLATION) }
}

pub(super) fn nvarchar(characters: u16) -> SqlType {
    SqlType::NVarChar {
        len: Some(2 * characters),
        collation: Collation(DEFAULT_COLLATION),
    }
}

fn chars(len: u16) -> SqlType {
    SqlType::Char { len, collation: Collation(DEFAULT_COLLATION) }
}

fn customers_table(seed: u64, count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("customer_id", SqlType::Int).identity(1, 1),
        ColumnSpec::new("code", chars(8)),
        ColumnSpec::new("name", nvarchar(60)),
        ColumnSpec::nullable("email", varchar(80)),
        ColumnSpec::new("credit_limit", SqlType::Decimal { precision: 12, scale: 2 })
            .default("DF_customers_credit_limit", "((0))"),
        ColumnSpec::nullable("balance", SqlType::Money),
        ColumnSpec::new("since", SqlType::DateTime).default("DF_customers_since", "(getdate())"),
        ColumnSpec::new("is_active", SqlType::Bit).default("DF_customers_is_active", "((1))"),
    ];
    TableSpec::heap("customers", columns, CustomerRows { seed, count })
        .clustered(IndexSpec::primary_key("PK_customers", &["customer_id"]))
        .index(IndexSpec::unique_constraint("UQ_customers_code", &["code"]))
        .check("CK_customers_credit_limit", "credit_limit", "([credit_limit]>=(0))")
}

fn sales_table(seed: u64, count: u64, customers: u64, kind: SalesIndexes) -> TableSpec {
    let mut columns = vec![
        ColumnSpec::new("sale_id", SqlType::Int).identity(1, 1),
        ColumnSpec::new("customer_id", SqlType::Int),
        ColumnSpec::new("product_code", chars(10)),
        ColumnSpec::new("sold_at", SqlType::DateTime),
        ColumnSpec::new("quantity", SqlType::SmallInt).default("DF_sales_quantity", "((1))"),
        ColumnSpec::new("unit_price", SqlType::Money),
    ];
    if kind == SalesIndexes::Computed {
        columns.push(ColumnSpec::computed("sale_year", SqlType::Int, "(datepart(year,[sold_at]))"));
        columns.push(ColumnSpec::computed("total", SqlType::Money, "([quantity]*[unit_price])"));
    }
    columns.extend([
        ColumnSpec::nullable("discount", SqlType::Decimal { precision: 5, scale: 2 }),
        ColumnSpec::new("status", SqlType::TinyInt).default("DF_sales_status", "((0))"),
        ColumnSpec::nullable("shipped_at", SqlType::DateTime),
        ColumnSpec::new("token", SqlType::UniqueIdentifier),
        ColumnSpec::nullable("ship_to", nvarchar(60)),
        ColumnSpec::nullable("note", varchar(120)),
    ]);
    let (indexes, orders): (Vec<IndexSpec>, Vec<SaleOrder>) = indexes(kind).into_iter().unzip();
    let rows = SaleRows::new(seed, count, customers, orders, kind == SalesIndexes::Computed);
    let mut table = TableSpec::heap("sales", columns, rows)
        .clustered(IndexSpec::primary_key("PK_sales", &["sale_id"]))
        .check("CK_sales_quantity", "quantity", "([quantity]>(0))")
        .foreign_key("FK_sales_customers", "customer_id", "customers", "customer_id");
    table.indexes = indexes;
    table
}

/// The order of an index, as the numbers of the rows give it.
#[derive(Clone, Copy)]
enum SaleOrder {
    Number,
    NumberDescending,
    Customer,
    CustomerDescending,
    Product,
    ProductDescending,
}

/// The nonclustered indexes and their orders.
fn indexes(kind: SalesIndexes) -> Vec<(IndexSpec, SaleOrder)> {
    use SaleOrder::{
        Customer, CustomerDescending, Number, NumberDescending, Product, ProductDescending,
    };
    let new = |name: &str, columns: &[&str], order| {
        (IndexSpec::new(&format!("IX_sales_{name}"), columns), order)
    };
    let include =
        |(index, order): (IndexSpec, SaleOrder), columns: &[&str]| (index.include(columns), order);
    let descending =
        |(index, order): (IndexSpec, SaleOrder), column: &str| (index.descending(column), order);
    let mut out = vec![
        include(new("customer", &["customer_id"], Customer), &["unit_price"]),
        new("product", &["product_code", "sold_at"], Product),
    ];
    match kind {
        SalesIndexes::One => out.truncate(1),
        SalesIndexes::Two => {}
        SalesIndexes::Eight => out.extend([
            new("sold", &["sold_at"], Number),
            include(new("history", &["customer_id", "sold_at"], Customer), &["quantity"]),
            descending(new("latest", &["sold_at"], NumberDescending), "sold_at"),
            descending(new("last_product", &["product_code"], ProductDescending), "product_code"),
            include(
                descending(
                    new("last_customer", &["customer_id"], CustomerDescending),
                    "customer_id",
                ),
                &["product_code"],
            ),
            include(new("price", &["product_code"], Product), &["quantity", "unit_price"]),
        ]),
        SalesIndexes::Computed => {
            out.push(include(new("year", &["sale_year"], Number), &["total"]))
        }
        SalesIndexes::Plain => {
            out.push(include(new("when", &["sold_at"], Number), &["unit_price"]))
        }
    }
    out
}

struct CustomerRows {
    seed: u64,
    count: u64,
}

impl Rows for CustomerRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        let mut rng = SplitMix64::new(self.seed ^ (number + 1).wrapping_mul(0xd134_2543_de82_ef95));
        // The code runs against the id, so that the two indexes differ.
        row.int(number as i32 + 1).text(&format!("C{:07}", self.count - number));
        row.ntext(&format!("{} {number}", pick(&NAMES, &mut rng)));
        match rng.below(4) {
            0 => row.null(),
            _ => row.text(&format!("customer{number}@example.com")),
        };
        row.decimal19(rng.below(10_000_000) as i64);
        match rng.below(5) {
            0 => row.null(),
            _ => row.money(rng.below(1_000_000_000) as i64 - 500_000_000),
        };
        row.datetime(FIRST_DAY - rng.below(3_000) as i32, rng.below(TICKS_PER_DAY) as u32);
        row.bit(rng.below(10) > 0);
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            0 => Box::new(0..self.count),
            _ => Box::new((0..self.count).rev()),
        })
    }
}

struct SaleRows {
    seed: u64,
    count: u64,
    customers: Permutation,
    products: Permutation,
    /// Ticks from one sale to the next, so that all of them lie within ten years.
    pace: u64,
    /// By nonclustered index.
    orders: Vec<SaleOrder>,
    has_computed: bool,
}

impl SaleRows {
    fn new(
        seed: u64,
        count: u64,
        customers: u64,
        orders: Vec<SaleOrder>,
        has_computed: bool,
    ) -> Self {
        SaleRows {
            seed,
            count,
            customers: Permutation::new(customers, customers * 618 / 1000),
            products: Permutation::new(PRODUCTS, 367),
            pace: (3_650 * TICKS_PER_DAY / count.max(1)).max(1),
            orders,
            has_computed,
        }
    }

    /// The columns of indexes. The following columns continue the same random numbers.
    fn put_first_columns(&self, number: u64, row: &mut RowValues) -> SplitMix64 {
        let mut rng = SplitMix64::new(self.seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (day, tick) = datetime(number * self.pace);
        row.int(number as i32 + 1).int(self.customers.at(number) as i32 + 1);
        let mut code = *b"P000000000";
        decimal(self.products.at(number), &mut code[1..]);
        row.raw(&code).datetime(day, tick);
        let quantity = 1 + rng.below(20) as i16;
        let price = 10_000 + rng.below(5_000_000) as i64;
        row.smallint(quantity).money(price);
        if self.has_computed {
            row.int(year_of(day)).money(i64::from(quantity) * price);
        }
        rng
    }
}

/// The year of a day counted from 1900-01-01.
pub(super) fn year_of(day: i32) -> i32 {
    DateTime::new(day, 0).map_or(0, |value| value.date().ymd().0.into())
}

const NAMES: [&str; 8] = [
    "M\u{fc}ller",
    "Smith",
    "Garc\u{ed}a",
    "Nov\u{e1}k",
    "Rossi",
    "Dubois",
    "Jansen",
    "O\u{2019}Neill",
];
const CITIES: [&str; 8] =
    ["Z\u{fc}rich", "Lyon", "Graz", "Bergen", "Porto", "Krak\u{f3}w", "Ume\u{e5}", "Gent"];
const STREETS: [&str; 4] = ["Bahnhofstrasse", "Rue du Moulin", "Via Garibaldi", "Harbour Road"];
const NOTES: [&str; 4] = [
    "please call before delivery",
    "gift, no invoice in the parcel",
    "leave at the neighbour's door",
    "fragile, this side up",
];

fn pick(from: &[&'static str], rng: &mut SplitMix64) -> &'static str {
    from[rng.below(from.len() as u64) as usize]
}

impl Rows for SaleRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        let mut rng = self.put_first_columns(number, row);
        put_other_columns(row, &mut rng, number * self.pace);
    }

    fn entry(&self, _index: usize, number: u64, row: &mut RowValues) {
        self.put_first_columns(number, row);
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        let order = index
            .checked_sub(1)
            .map_or(Some(SaleOrder::Number), |at| self.orders.get(at).copied())?;
        Some(match order {
            SaleOrder::Number => Box::new(0..self.count),
            SaleOrder::NumberDescending => Box::new((0..self.count).rev()),
            SaleOrder::Customer => Box::new(self.customers.order(self.count)),
            SaleOrder::CustomerDescending => Box::new(self.customers.descending(self.count)),
            SaleOrder::Product => Box::new(self.products.order(self.count)),
            SaleOrder::ProductDescending => Box::new(self.products.descending(self.count)),
        })
    }
}

fn datetime(ticks: u64) -> (i32, u32) {
    (FIRST_DAY + (ticks / TICKS_PER_DAY) as i32, (ticks % TICKS_PER_DAY) as u32)
}

fn put_other_columns(row: &mut RowValues, rng: &mut SplitMix64, ticks: u64) {
    match rng.below(3) {
        0 => row.decimal9(rng.below(50) as i32 * 100),
        _ => row.null(),
    };
    row.tinyint(rng.below(4) as u8);
    let (day, tick) = datetime(ticks + rng.below(5 * TICKS_PER_DAY));
    match rng.below(4) {
        0 => row.null(),
        _ => row.datetime(day, tick),
    };
    let mut token = [0; 16];
    token[..8].copy_from_slice(&rng.next_u64().to_le_bytes());
    token[8..].copy_from_slice(&rng.next_u64().to_le_bytes());
    row.raw(&token);
    match rng.below(8) {
        0 => row.null(),
        _ => {
            let street = pick(&STREETS, rng);
            let number = 1 + rng.below(90);
            let code = 1_000 + rng.below(9_000);
            let city = pick(&CITIES, rng);
            row.ntext(&format!("{street} {number}, {code} {city}"))
        }
    };
    match rng.below(4) {
        0 => row.null(),
        which => {
            // One to three remarks, so that rows differ in length.
            let mut note = String::with_capacity(120);
            (0..which).for_each(|_| {
                note.push_str(pick(&NOTES, rng));
                note.push_str("; ");
            });
            row.text(note.trim_end())
        }
    };
}

/// Writes the digits of a number, right-aligned.
fn decimal(mut number: u64, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}
