//! `lob`: long values in and off their rows.
//!
//! ```text
//! documents  IX title  PK id; varchar(max), varbinary(max), xml: from nothing to trees of records
//! notes      IX id     heap; text, ntext, image: text pointers to small roots, large roots, trees
//! ```
//!
//! A database of 128 MB or more has one value of an eighth of its size, up to 320 MB: a tree of two
//! levels above its data.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::table::DEFAULT_COLLATION;
use extentdb_types::{Collation, SqlType};

use super::size::{Size, letters, rows_for};
use crate::Error;
use crate::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, LobStream, RowValues, TableSpec};

/// Bytes of a document with its note.
const BYTES_PER_ROW: u64 = 72_000;
/// Lengths of the values off the row, the short ones first: a database of few rows is small.
const LENS: [u64; 16] = [
    1, 100, 8_000, 0, 8_040, 9_000, 2_000, 16_080, 40_200, 0, 12_000, 40_201, 64, 60_000, 3_000,
    500_000,
];
const GIANT_FROM: u64 = 128 << 20;
const GIANT_MAX: u64 = 320 << 20;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let (giant, size) = match size {
        Size::Bytes(bytes) if bytes >= GIANT_FROM => {
            let giant = (bytes / 8).min(GIANT_MAX);
            (giant, Size::Bytes(bytes - giant - giant / 32))
        }
        other => (0, other),
    };
    let count = rows_for(size, BYTES_PER_ROW);
    if count > i32::MAX as u64 / 2 {
        return Err(Error::TooManyRows { rows: count });
    }
    Ok(builder.table(documents(seed, count, giant)).table(notes(seed, count)))
}

/// A value of repeated lines, each with its number.
fn stream(seed: u64, len: u64) -> LobStream {
    LobStream::new(len, move |offset, part| {
        for (at, byte) in (offset..).zip(part) {
            let line = at / 64;
            *byte = match at % 64 {
                63 => b'\n',
                column @ 0..8 => b'0' + (line >> (4 * (7 - column)) & 7) as u8,
                column => b'a' + ((seed ^ line.wrapping_mul(column)) % 26) as u8,
            };
        }
    })
}

fn documents(seed: u64, count: u64, giant: u64) -> TableSpec {
    let collation = Collation(DEFAULT_COLLATION);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::new("title", SqlType::NVarChar { len: Some(120), collation }),
        ColumnSpec::nullable("body", SqlType::VarChar { len: None, collation }),
        ColumnSpec::nullable("file", SqlType::VarBinary { len: None }),
        ColumnSpec::nullable("description", SqlType::Xml),
        ColumnSpec::new("pages", SqlType::Int),
    ];
    let row = move |number: u64, row: &mut RowValues| {
        let mut rng = SplitMix64::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        row.int(number as i32 + 1).ntext(&format!(
            "Document {} \u{2013} {}",
            number * 31 % 1_009,
            number
        ));
        match LENS[(number % 16) as usize] {
            0 => row.null(),
            len if number.is_multiple_of(3) && len <= 3_000 => {
                row.raw(&letters(len as usize, &mut rng))
            }
            len => row.lob_stream(stream(number, len)),
        };
        match number {
            0 if giant > 0 => row.lob_stream(stream(seed, giant)),
            _ if number.is_multiple_of(4) => row.raw(&letters(300, &mut rng)),
            _ if number % 4 == 1 => row.lob(&letters(4_000, &mut rng)),
            _ => row.null(),
        };
        let xml: Vec<u8> =
            format!("<doc n=\"{number}\"/>").encode_utf16().flat_map(u16::to_le_bytes).collect();
        row.raw(&xml).int((number % 100) as i32);
    };
    TableSpec::heap("documents", columns, FnRows::new(count, row).ordered(&[0]))
        .clustered(IndexSpec::primary_key("PK_documents", &["id"]))
        .index(IndexSpec::new("IX_documents_title", &["title"]).include(&["pages"]))
}

fn notes(seed: u64, count: u64) -> TableSpec {
    let collation = Collation(DEFAULT_COLLATION);
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int),
        ColumnSpec::nullable("note", SqlType::Text { collation }),
        ColumnSpec::new("code", SqlType::Char { len: 6, collation }),
        ColumnSpec::nullable("wide", SqlType::NText { collation }),
        ColumnSpec::nullable("picture", SqlType::Image),
    ];
    let row = move |number: u64, row: &mut RowValues| {
        let mut rng = SplitMix64::new(!seed ^ number);
        row.int(number as i32 + 1);
        match number % 7 {
            0 => row.null(),
            1 => row.raw(b""),
            2 => row.raw(&letters(64, &mut rng)),
            3 => row.raw(&letters(65, &mut rng)),
            _ => row.raw(&letters(rng.below(9_000) as usize, &mut rng)),
        };
        row.text(&format!("C{:05}", number * 17 % 100_000));
        match number % 3 {
            0 => row.null(),
            _ => row.raw(&letters(rng.below(4_000) as usize * 2, &mut rng)),
        };
        match number % 11 {
            10 => row.lob_stream(stream(number, 90_000)),
            0..4 => row.null(),
            _ => row.lob_stream(stream(number, rng.below(20_000))),
        };
    };
    TableSpec::heap("notes", columns, FnRows::new(count, row).ordered(&[1]))
        .forwarded(|number| number % 30 == 7)
        .index(IndexSpec::new("UX_notes_id", &["id"]).unique())
        .index(IndexSpec::new("IX_notes_code", &["code"]).descending("code"))
}
