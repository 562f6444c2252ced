//! `fixture`: the database of the fault catalog (`docs/faults.md`), small, with everything that
//! faults can be made in.
//!
//! ```text
//! CI  clustered, unique, three levels      IX included column   UX unique   IS datetime key
//!     every type with a range
//! CN  clustered, not unique: uniquifiers   IX included column
//! HP  heap with forwarded rows             IX included column
//! LB  values off their rows: (max) columns of one to four parts
//! ```
//!
//! Keys of CI have gaps, so that a key between two others exists. Forwarded rows of HP are on some
//! of its pages only: a page without them can be damaged without consequences elsewhere.
//!
//! The rest of the catalog's fixture are shapes of their own: `partitioned` (filegroups,
//! partitions, IAM chains), `compressed`, `computed` (stored computed columns, filtered indexes),
//! `history` (ghosts, versions), `lob` and `wide` (trees of values, row-overflow), `sparse`
//! (several GAM intervals). The faults are made in them, too.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, SqlType};

use super::size::Size;
use crate::Error;
use crate::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, RowValues, TableSpec};

/// Rows of CI unless their number is given; the other tables are in proportion.
const ROWS: u64 = 4_000;
/// Distance of keys of CI.
const GAP: i32 = 10;
const TICKS_PER_DAY: u64 = 25_920_000;
/// Rows of CN with the same key.
const ALIKE: u64 = 5;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let rows = match size {
        Size::Rows(rows) => rows,
        Size::Bytes(_) => ROWS,
    };
    if rows > (i32::MAX / GAP) as u64 {
        return Err(Error::TooManyRows { rows });
    }
    Ok(builder
        .table(values(seed, rows / 40))
        .table(clustered(seed, rows))
        .table(heap(seed, rows / 2))
        .table(duplicates(seed, rows / 2)))
}

fn varchar(len: u16) -> SqlType {
    SqlType::VarChar { len: Some(len), collation: Collation(DEFAULT_COLLATION) }
}

fn chars(len: u16) -> SqlType {
    SqlType::Char { len, collation: Collation(DEFAULT_COLLATION) }
}

fn rng(seed: u64, table: u64, number: u64) -> SplitMix64 {
    SplitMix64::new(seed ^ table << 56 ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn clustered(seed: u64, rows: u64) -> TableSpec {
    let title = SqlType::NVarChar { len: Some(80), collation: Collation(DEFAULT_COLLATION) };
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("tag", chars(180)),
        ColumnSpec::new("code", SqlType::Int),
        ColumnSpec::nullable("price", SqlType::Money),
        ColumnSpec::new("serial", SqlType::Int),
        ColumnSpec::new("amount", SqlType::Decimal { precision: 9, scale: 2 }),
        ColumnSpec::new("seen", SqlType::DateTime),
        ColumnSpec::nullable("changed", SqlType::DateTime),
        ColumnSpec::nullable("due", SqlType::SmallDateTime),
        ColumnSpec::nullable("ratio", SqlType::Float),
        ColumnSpec::nullable("day", SqlType::Date),
        ColumnSpec::nullable("hour", SqlType::Time { scale: 7 }),
        ColumnSpec::nullable("stamp", SqlType::DateTimeOffset { scale: 7 }),
        ColumnSpec::nullable("title", title),
        ColumnSpec::nullable("note", varchar(60)),
        ColumnSpec::nullable("extra", SqlType::SqlVariant),
    ];
    // The serial number runs against the key, so that the two orders differ.
    let fill =
        move |number, row: &mut RowValues| fill_clustered(rng(seed, 1, number), number, rows, row);
    TableSpec::heap("CI", columns, FnRows::new(rows, fill))
        .clustered(IndexSpec::primary_key("PK_CI", &["id", "tag"]))
        .index(IndexSpec::new("IX_CI_code", &["code"]).include(&["price"]))
        .index(IndexSpec::new("UX_CI_serial", &["serial"]).unique())
        .index(IndexSpec::new("IS_CI_seen", &["seen"]))
}

fn fill_clustered(mut rng: SplitMix64, number: u64, rows: u64, row: &mut RowValues) {
    row.int((number as i32 + 1) * GAP).text(&format!("{:180}", format!("Tag {number}")));
    row.int(rng.below(300) as i32).money(rng.below(1_000_000) as i64).int((rows - number) as i32);
    row.decimal9(rng.below(900_000_000) as i32);
    row.datetime(38_000 + rng.below(3_000) as i32, rng.below(TICKS_PER_DAY) as u32);
    row.datetime(39_000 + rng.below(3_000) as i32, rng.below(TICKS_PER_DAY) as u32);
    let minutes = rng.below(1_440) as u16;
    let days = rng.below(65_536) as u16;
    row.raw(&[minutes.to_le_bytes(), days.to_le_bytes()].concat());
    row.float(rng.below(1 << 40) as f64 / 1024.0);
    let day = rng.below(3_652_059).to_le_bytes();
    row.raw(&day[..3]);
    let time = rng.below(864_000_000_000).to_le_bytes();
    row.raw(&time[..5]);
    let offset = rng.below(841) as i16;
    row.raw(&[&time[..5], &day[..3], &offset.to_le_bytes()].concat());
    match rng.below(4) {
        0 => row.null(),
        _ => row.ntext(&format!("Title {number} \u{2013} gr\u{fc}n")),
    };
    // Never all 60 letters, and never none.
    let len = 8 + rng.below(40) as usize;
    row.text(&"some words of a note, and some more of them".repeat(2)[..len]);
    match rng.below(4) {
        0 => row.null(),
        _ => row.raw(&[&[56, 1][..], &(rng.below(1_000) as i32).to_le_bytes()].concat()),
    };
}

fn duplicates(seed: u64, rows: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("kind", SqlType::Int),
        ColumnSpec::new("value", SqlType::Int),
        ColumnSpec::new("label", chars(20)),
    ];
    let fill = move |number: u64, row: &mut RowValues| {
        let mut rng = rng(seed, 2, number);
        row.int((number / ALIKE) as i32 * 3)
            .int(rng.below(100_000) as i32)
            .text(&format!("{:20}", number % 97));
    };
    TableSpec::heap("CN", columns, FnRows::new(rows, fill))
        .clustered(IndexSpec::new("CX_CN_kind", &["kind"]))
        .index(IndexSpec::new("IX_CN_value", &["value"]).include(&["label"]))
}

fn heap(seed: u64, rows: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("amount", SqlType::Int),
        ColumnSpec::nullable("body", varchar(400)),
    ];
    let table = TableSpec::heap("HP", columns, HeapRows { seed, rows });
    table.index(IndexSpec::new("IX_HP_id", &["id"]).include(&["amount"]))
}

struct HeapRows {
    seed: u64,
    rows: u64,
}

impl crate::Rows for HeapRows {
    fn count(&self) -> u64 {
        self.rows
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        let mut rng = rng(self.seed, 3, number);
        let id = (number * 7_919 % self.rows.max(1)) as i32;
        row.int(id).int(rng.below(1_000_000) as i32);
        row.text(&"heap rows of many lengths ".repeat(20)[..100 + rng.below(250) as usize]);
    }

    /// Some rows of every third run of a hundred.
    fn is_forwarded(&self, number: u64) -> bool {
        number / 100 % 3 == 1 && number % 20 == 7
    }
}

fn values(seed: u64, rows: u64) -> TableSpec {
    let collation = Collation(DEFAULT_COLLATION);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("name", varchar(40)),
        ColumnSpec::nullable("body", SqlType::VarChar { len: None, collation }),
        ColumnSpec::nullable("image", SqlType::VarBinary { len: None }),
    ];
    let fill = move |number: u64, row: &mut RowValues| {
        let mut rng = rng(seed, 4, number);
        row.int(number as i32 + 1).text(&format!("value {number}"));
        let len = 2_000 + rng.below(28_000) as usize;
        row.lob(
            &"a long text that does not fit on its row, ".repeat(len / 40).as_bytes()
                [..len / 40 * 40],
        );
        match number % 3 {
            0 => row.null(),
            _ => row.lob(&vec![number as u8; 3_000 + rng.below(9_000) as usize]),
        };
    };
    TableSpec::heap("LB", columns, FnRows::new(rows, fill))
        .clustered(IndexSpec::primary_key("PK_LB", &["id"]))
}
