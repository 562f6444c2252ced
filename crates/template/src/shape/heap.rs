//! `heap`: one table without clustered index, rows of very different length.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, SqlType};

use super::size::{Size, int_rows_for};
use crate::Error;
use crate::spec::RowOrder;
use crate::{ColumnSpec, DatabaseBuilder, IndexSpec, RowValues, Rows, TableSpec};

/// Body lengths: with the other columns, rows of about 100 to 4000 bytes.
const BODY_BYTES: std::ops::Range<u64> = 20..3900;
const BODY_MAX: u16 = 3900;
/// Lengths of values off the row: one to five LOB records.
const ATTACHMENT_BYTES: std::ops::Range<u64> = 4_000..40_000;
/// Average bytes of a row, with its index entry and the unused ends of pages.
const BYTES_PER_ROW: u64 = 3_320;
/// One of this many rows is forwarded.
const FORWARDED_EVERY: u64 = 50;

struct HeapRows {
    seed: u64,
    count: u64,
}

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let count = int_rows_for(size, BYTES_PER_ROW)?;
    let collation = Collation(DEFAULT_COLLATION);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("kind", SqlType::TinyInt),
        ColumnSpec::new("created", SqlType::DateTime),
        ColumnSpec::nullable("amount", SqlType::Decimal { precision: 9, scale: 2 }),
        ColumnSpec::nullable("ratio", SqlType::Float),
        ColumnSpec::nullable("is_open", SqlType::Bit),
        ColumnSpec::new("is_paid", SqlType::Bit),
        ColumnSpec::new("tag", SqlType::Char { len: 8, collation }),
        ColumnSpec::nullable("title", SqlType::NVarChar { len: Some(100), collation }),
        ColumnSpec::new("token", SqlType::UniqueIdentifier),
        ColumnSpec::nullable("body", SqlType::VarChar { len: Some(BODY_MAX), collation }),
        ColumnSpec::nullable("attachment", SqlType::VarChar { len: None, collation }),
        ColumnSpec::nullable("digest", SqlType::VarBinary { len: Some(20) }),
    ];
    let table = TableSpec::heap("heap", columns, HeapRows { seed, count });
    Ok(builder.table(table.index(IndexSpec::new("IX_heap_id", &["id"]).unique())))
}

impl Rows for HeapRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        let mut rng = SplitMix64::new(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bits = rng.next_u64();
        row.int(number as i32 + 1).tinyint(rng.below(7) as u8);
        row.datetime(40_000 + rng.below(1_000) as i32, rng.below(25_920_000) as u32);
        match bits % 5 {
            0 => row.null(),
            _ => row.decimal9(rng.below(1_000_000_000) as i32 - 500_000_000),
        };
        match bits >> 8 & 7 {
            0 => row.null(),
            _ => row.float(rng.below(1 << 40) as f64 / 1024.0),
        };
        match bits >> 16 & 3 {
            0 => row.null(),
            flag => row.bit(flag == 1),
        };
        row.bit(bits >> 24 & 1 == 1).text(&format!("T{:07}", number % 10_000_000));
        match bits >> 32 & 3 {
            0 => row.null(),
            _ => row.ntext(&format!("Row {number} \u{2013} gr\u{fc}n")),
        };
        let low = rng.next_u64();
        let high = rng.next_u64();
        row.raw(&[low.to_le_bytes(), high.to_le_bytes()].concat());
        let len = BODY_BYTES.start + rng.below(BODY_BYTES.end - BODY_BYTES.start);
        put_body(row, &mut rng, len as usize);
        put_attachment(row, &mut rng, bits >> 48);
        match bits >> 40 & 1 {
            0 => row.null(),
            _ => row.raw(&low.to_be_bytes()),
        };
    }

    fn entry(&self, _index: usize, number: u64, row: &mut RowValues) {
        row.int(number as i32 + 1);
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        (index == 1).then(|| -> RowOrder<'_> { Box::new(0..self.count) })
    }

    fn is_forwarded(&self, number: u64) -> bool {
        number % FORWARDED_EVERY == FORWARDED_EVERY - 1
    }
}

fn put_body(row: &mut RowValues, rng: &mut SplitMix64, len: usize) {
    let mut body = [0; BODY_BYTES.end as usize + 8];
    fill(&mut body[..len.next_multiple_of(8)], rng);
    row.raw(&body[..len]);
}

/// Most rows have none; of the others, some lie in the row and some in LOB pages.
fn put_attachment(row: &mut RowValues, rng: &mut SplitMix64, bits: u64) {
    let len = match bits % 32 {
        0 => ATTACHMENT_BYTES.start + rng.below(ATTACHMENT_BYTES.end - ATTACHMENT_BYTES.start),
        1..4 => 8 + rng.below(100),
        _ => {
            row.null();
            return;
        }
    };
    let mut value = vec![0; (len as usize).next_multiple_of(8)];
    fill(&mut value, rng);
    value.truncate(len as usize);
    if bits.is_multiple_of(32) {
        row.lob(&value)
    } else {
        row.raw(&value)
    };
}

/// Letters and blanks, eight at a time.
fn fill(text: &mut [u8], rng: &mut SplitMix64) {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz eats ";
    for chunk in text.as_chunks_mut::<8>().0 {
        let bits = rng.next_u64();
        for (at, letter) in chunk.iter_mut().enumerate() {
            *letter = LETTERS[(bits >> (5 * at) & 31) as usize];
        }
    }
}
