//! Rows per second: a row of ten columns, written into packets and read back.
//!
//! `cargo run --release -p extentdb-tds --example throughput`

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
#![expect(clippy::print_stdout, reason = "the figures are the result")]

use std::time::{Duration, Instant};

use extentdb_tds::column::ColumnSource;
use extentdb_tds::packet::{HEADER_BYTES, PacketWriter};
use extentdb_tds::token::{Token, TokenDecoder};
use extentdb_tds::type_info::Nullability;
use extentdb_tds::{Column, Protocol, TdsVersion, TokenWriter};
use extentdb_types::{
    CharText, CodePage, Collation, Date, DateTime2, Datum, Decimal, Guid, NText, SqlType, Time,
};

const ROWS: u32 = 2_000_000;
const PACKET_BYTES: u16 = 8_000;
/// Bytes that are kept before they are "sent".
const SEND_BYTES: usize = 64 * 1024;

fn main() {
    let version = TdsVersion::V7_4;
    let protocol = Protocol::new(version, Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let types = types(protocol.collation());
    let column = |ty: &SqlType| Column::of("c", *ty, Nullability::Nullable, &protocol);
    let columns: Vec<Column> = types.iter().map(column).collect();
    let values = values();
    let stored: Vec<Vec<u8>> = types
        .iter()
        .zip(&values)
        .map(|(ty, value)| {
            let mut bytes = Vec::new();
            value.encode(ty, &mut bytes).map(|()| bytes).unwrap_or_default()
        })
        .collect();
    let stored: Vec<Option<&[u8]>> = stored.iter().map(|bytes| Some(bytes.as_slice())).collect();

    report("values", || write(version, &columns, |writer| writer.row(&columns, &values).is_ok()));
    report("stored bytes", || {
        write(version, &columns, |writer| writer.row_from_stored(&columns, &types, &stored).is_ok())
    });
    report("values, NBCROW", || {
        write(version, &columns, |writer| writer.nbc_row(&columns, &values).is_ok())
    });
    let body = one_packet_of_rows(version, &columns, &values);
    report("read back", || read(protocol, &body));
}

fn types(collation: Collation) -> Vec<SqlType> {
    vec![
        SqlType::Int,
        SqlType::BigInt,
        SqlType::NVarChar { len: Some(100), collation },
        SqlType::VarChar { len: Some(20), collation },
        SqlType::Decimal { precision: 18, scale: 4 },
        SqlType::DateTime2 { scale: 7 },
        SqlType::Bit,
        SqlType::Float,
        SqlType::Date,
        SqlType::UniqueIdentifier,
    ]
}

fn values() -> Vec<Datum<'static>> {
    let date = Date::from_ymd(2026, 11, 24);
    let time = Time::new(657_141_234_567, 7);
    let datetime2 = date.zip(time.ok()).map(|(date, time)| DateTime2 { date, time });
    vec![
        Datum::Int(42),
        Datum::BigInt(1 << 40),
        Datum::NChar(NText::from_text("a name of some length")),
        Datum::Char(CharText { bytes: b"SKU-00012345".into(), code_page: CodePage::Cp1252 }),
        Decimal::parse("12345.6789").map_or(Datum::Null, Datum::Decimal),
        datetime2.map_or(Datum::Null, Datum::DateTime2),
        Datum::Bit(true),
        Datum::Float(0.25),
        date.map_or(Datum::Null, Datum::Date),
        Datum::Guid(Guid([7; 16])),
    ]
}

/// Bytes that a run has passed.
struct Passed {
    bytes: usize,
    rows: u32,
}

fn report(what: &str, run: impl Fn() -> Passed) {
    run();
    let start = Instant::now();
    let passed = run();
    let took = start.elapsed().max(Duration::from_micros(1));
    let per_second = f64::from(passed.rows) / took.as_secs_f64();
    let mebibytes = passed.bytes as f64 / took.as_secs_f64() / f64::from(1 << 20);
    println!("{what:16} {:6.2} million rows/s {mebibytes:7.0} MiB/s", per_second / 1e6);
}

fn write(
    version: TdsVersion,
    columns: &[Column],
    row: impl Fn(&mut TokenWriter) -> bool,
) -> Passed {
    let mut writer = TokenWriter::new(version, PacketWriter::new(PACKET_BYTES, 51));
    let mut passed = Passed { bytes: 0, rows: 0 };
    writer.begin();
    if writer.columns(columns).is_err() {
        return passed;
    }
    while passed.rows < ROWS && row(&mut writer) {
        passed.rows += 1;
        if writer.ready().len() >= SEND_BYTES {
            passed.bytes += writer.ready().len();
            writer.consume(writer.ready().len());
        }
    }
    writer.end();
    passed.bytes += writer.ready().len();
    passed
}

fn one_packet_of_rows(version: TdsVersion, columns: &[Column], values: &[Datum<'_>]) -> Vec<u8> {
    let mut writer = TokenWriter::new(version, PacketWriter::new(32_000, 51));
    writer.begin();
    let mut is_written = writer.columns(columns).is_ok();
    for _ in 0..200 {
        is_written &= writer.row(columns, values).is_ok();
    }
    writer.end();
    if !is_written {
        return Vec::new();
    }
    writer.ready().get(HEADER_BYTES..).unwrap_or(&[]).to_vec()
}

fn read(protocol: Protocol, body: &[u8]) -> Passed {
    let mut passed = Passed { bytes: 0, rows: 0 };
    while passed.rows < ROWS / 4 {
        let mut decoder = TokenDecoder::new(protocol, ColumnSource::Result, 1 << 20);
        decoder.push(body);
        passed.bytes += body.len();
        let before = passed.rows;
        while let Ok(Some(token)) = decoder.next_token() {
            if let Token::Row(row) = token {
                passed.rows += u32::from(row.to_values().is_ok());
            }
        }
        if passed.rows == before {
            return passed;
        }
    }
    passed
}
