//! `partitioned`: three filegroups of four files, and tables in partitions.
//!
//! ```text
//! filegroups  PRIMARY (1 file), ARCHIVE (1), RECENT (2)
//! by_time     datetime, RIGHT, 4 partitions    ARCHIVE, ARCHIVE, RECENT, RECENT
//! by_sensor   int, LEFT, 4 partitions          PRIMARY, ARCHIVE, RECENT, ARCHIVE
//!
//! orders      by_time     PK order_id, ordered_at     IX customer_id aligned     UX order_id on
//!                                                     PRIMARY
//! readings    by_sensor   CX sensor_id, day           IX value aligned           IX note_id on
//!                                                     RECENT
//! events      by_sensor   heap                        UX event_id, sensor_id aligned
//! archive     ARCHIVE     PK archive_id               IX code on PRIMARY
//! ```
//!
//! Some rows lie exactly on a boundary, and one event in sixteen has no sensor.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_types::SqlType;

use super::permutation::Permutation;
use super::sales::varchar;
use super::size::{Size, int_rows_for};
use crate::Error;
use crate::spec::RowOrder;
use crate::{
    ColumnSpec, DatabaseBuilder, IndexSpec, PartitionFunctionSpec, RowValues, Rows, TableSpec,
};

/// Bytes that an order takes, with a reading, half an event and a tenth of a row of the archive.
const BYTES_PER_ROW: u64 = 284;
/// What many small units leave unused.
const UNUSED_BYTES: u64 = 1 << 20;
const FIRST_DAY: i32 = 39_000;
const TICKS_PER_DAY: u64 = 25_920_000;
const CUSTOMERS: u64 = 1_009;
const SENSORS: u64 = 997;
/// Events between two days of the readings.
const READINGS_PER_DAY: u64 = 4_000;
const NO_SENSOR_EVERY: u64 = 16;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let size = match size {
        Size::Bytes(bytes) => Size::Bytes(bytes.saturating_sub(UNUSED_BYTES)),
        rows @ Size::Rows(_) => rows,
    };
    let count = int_rows_for(size, BYTES_PER_ROW)?;
    // The boundaries are the times of three of the orders.
    let by_time = PartitionFunctionSpec::right("by_time", SqlType::DateTime, |row| {
        for quarter in 1..4 {
            put_time(row, (count * quarter / 4).max(quarter));
        }
    });
    let by_sensor = PartitionFunctionSpec::left("by_sensor", SqlType::Int, |row| {
        row.int(100).int(500).int(800);
    });
    Ok(builder
        .filegroup("ARCHIVE", 1)
        .filegroup("RECENT", 2)
        .partition_function(by_time)
        .partition_function(by_sensor)
        .partition_scheme("by_time", "by_time", &["ARCHIVE", "ARCHIVE", "RECENT", "RECENT"])
        .partition_scheme("by_sensor", "by_sensor", &["PRIMARY", "ARCHIVE", "RECENT", "ARCHIVE"])
        .table(orders(seed, count))
        .table(readings(seed, count))
        .table(events(count / 2))
        .table(archive(count / 10)))
}

/// A second passes from one number to the next.
fn put_time(row: &mut RowValues, number: u64) {
    let ticks = number * 300;
    row.datetime(FIRST_DAY + (ticks / TICKS_PER_DAY) as i32, (ticks % TICKS_PER_DAY) as u32);
}

fn rng(seed: u64, number: u64) -> SplitMix64 {
    SplitMix64::new(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn orders(seed: u64, count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("order_id", SqlType::Int).identity(1, 1),
        ColumnSpec::new("ordered_at", SqlType::DateTime),
        ColumnSpec::new("customer_id", SqlType::Int),
        ColumnSpec::new("amount", SqlType::Money),
        ColumnSpec::nullable("remark", varchar(100)),
    ];
    TableSpec::heap(
        "orders",
        columns,
        OrderRows { seed, count, customers: Permutation::shuffle(CUSTOMERS) },
    )
    .clustered(IndexSpec::primary_key("PK_orders", &["order_id", "ordered_at"]))
    .index(IndexSpec::new("IX_orders_customer", &["customer_id"]).include(&["amount"]))
    .index(IndexSpec::new("UX_orders_id", &["order_id"]).unique().on("PRIMARY"))
    .partitioned("by_time", "ordered_at")
}

struct OrderRows {
    seed: u64,
    count: u64,
    customers: Permutation,
}

impl Rows for OrderRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        let mut rng = rng(self.seed, number);
        row.int(number as i32 + 1);
        put_time(row, number);
        row.int(self.customers.at(number) as i32 + 1).money(rng.below(90_000_000) as i64);
        match rng.below(3) {
            0 => row.null(),
            words => row.text(&"as agreed by telephone; ".repeat(words as usize * 2)),
        };
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            1 => Box::new(self.customers.order(self.count)),
            _ => Box::new(0..self.count),
        })
    }
}

fn readings(seed: u64, count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("sensor_id", SqlType::Int),
        ColumnSpec::new("day", SqlType::Int),
        ColumnSpec::new("value", SqlType::Int),
        ColumnSpec::new("reading_id", SqlType::Int),
        ColumnSpec::nullable("quality", SqlType::Float),
    ];
    let rows = ReadingRows {
        seed,
        count,
        sensors: Permutation::shuffle(SENSORS),
        values: Permutation::shuffle(3_001),
    };
    TableSpec::heap("readings", columns, rows)
        .clustered(IndexSpec::new("CX_readings", &["sensor_id", "day"]))
        .index(IndexSpec::new("IX_readings_value", &["value", "reading_id"]))
        .index(IndexSpec::new("IX_readings_id", &["reading_id"]).on("RECENT"))
        .partitioned("by_sensor", "sensor_id")
}

struct ReadingRows {
    seed: u64,
    count: u64,
    sensors: Permutation,
    values: Permutation,
}

impl Rows for ReadingRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.int(self.sensors.at(number) as i32).int((number / READINGS_PER_DAY) as i32);
        row.int(self.values.at(number) as i32).int(number as i32);
        match number % 5 {
            0 => row.null(),
            _ => row.float(rng(self.seed, number).below(1 << 30) as f64 / 1024.0),
        };
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            0 => Box::new(self.sensors.order(self.count)),
            1 => Box::new(self.values.order(self.count)),
            _ => Box::new(0..self.count),
        })
    }
}

fn events(count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("event_id", SqlType::Int),
        ColumnSpec::nullable("sensor_id", SqlType::Int),
        ColumnSpec::new("text", varchar(200)),
    ];
    TableSpec::heap("events", columns, EventRows { count })
        .index(IndexSpec::new("UX_events_id", &["event_id", "sensor_id"]).unique())
        .partitioned("by_sensor", "sensor_id")
}

struct EventRows {
    count: u64,
}

impl Rows for EventRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.int(number as i32);
        match number % NO_SENSOR_EVERY {
            0 => row.null(),
            _ => row.int((number * 7 % SENSORS) as i32),
        };
        row.text(&format!("event {number}: {}", "checked, ".repeat((number % 12) as usize)));
    }

    fn order(&self, _index: usize) -> Option<RowOrder<'_>> {
        Some(Box::new(0..self.count))
    }

    fn is_forwarded(&self, number: u64) -> bool {
        number % 40 == 39
    }
}

fn archive(count: u64) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("archive_id", SqlType::Int).identity(1, 1),
        ColumnSpec::new("code", varchar(20)),
        ColumnSpec::nullable("content", varchar(400)),
    ];
    TableSpec::heap("archive", columns, ArchiveRows { count })
        .clustered(IndexSpec::primary_key("PK_archive", &["archive_id"]))
        .index(IndexSpec::new("IX_archive_code", &["code"]).on("PRIMARY"))
        .on("ARCHIVE")
}

struct ArchiveRows {
    count: u64,
}

impl Rows for ArchiveRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        row.int(number as i32 + 1).text(&format!("A{:010}", self.count - number));
        match number % 4 {
            0 => row.null(),
            words => row.text(&"kept for seven years. ".repeat(words as usize * 3)),
        };
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            0 => Box::new(0..self.count),
            _ => Box::new((0..self.count).rev()),
        })
    }
}
