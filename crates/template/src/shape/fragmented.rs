//! `fragmented`: a table with rows inserted by random GUIDs and partly deleted, so that its trees
//! are in disorder.
//!
//! ```text
//! visits   PK visit_id (random GUID)    IX source, seen_at    UX number    all fragmented
//! ```
//!
//! One row in seven was deleted, and every ninth run of 700 neighbours by GUID.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_types::SqlType;

use super::permutation::Permutation;
use super::sales::varchar;
use super::size::{Size, int_rows_for};
use crate::Error;
use crate::spec::RowOrder;
use crate::{ColumnSpec, DatabaseBuilder, IndexSpec, RowValues, Rows, TableSpec};

/// Bytes that a row takes, whether it was deleted or not.
const BYTES_PER_ROW: u64 = 224;
const SOURCES: u64 = 4_999;
const DELETED_RUN: u64 = 700;
const FIRST_DAY: i32 = 40_000;
const TICKS_PER_DAY: u64 = 25_920_000;

pub(super) fn add(
    builder: DatabaseBuilder,
    seed: u64,
    size: Size,
) -> Result<DatabaseBuilder, Error> {
    let count = int_rows_for(size, BYTES_PER_ROW)?;
    let columns = vec![
        ColumnSpec::new("visit_id", SqlType::UniqueIdentifier),
        ColumnSpec::new("number", SqlType::Int),
        ColumnSpec::new("source", varchar(40)),
        ColumnSpec::new("seen_at", SqlType::DateTime),
        ColumnSpec::nullable("remark", varchar(200)),
    ];
    let rows = VisitRows {
        seed,
        count,
        ranks: Permutation::shuffle(count),
        sources: Permutation::shuffle(SOURCES),
    };
    let table = TableSpec::heap("visits", columns, rows)
        .clustered(IndexSpec::primary_key("PK_visits", &["visit_id"]).fragmented())
        .index(IndexSpec::new("IX_visits_source", &["source", "seen_at"]).fragmented())
        .index(IndexSpec::new("UX_visits_number", &["number"]).unique().fragmented());
    Ok(builder.table(table))
}

struct VisitRows {
    seed: u64,
    count: u64,
    /// The rank of each row among the GUIDs.
    ranks: Permutation,
    sources: Permutation,
}

impl VisitRows {
    /// A random GUID of this rank: GUIDs compare by their last six bytes first.
    fn guid(&self, rank: u64, rng: &mut SplitMix64) -> [u8; 16] {
        let step = (1 << 48) / self.count.max(1);
        let high = rank * step + rng.below(step.max(1));
        let mut guid = [0; 16];
        guid[..8].copy_from_slice(&rng.next_u64().to_le_bytes());
        guid[8..10].copy_from_slice(&rng.next_u64().to_le_bytes()[..2]);
        guid[10..].copy_from_slice(&high.to_be_bytes()[2..]);
        guid[7] = guid[7] & 0x0f | 0x40;
        guid[8] = guid[8] & 0x3f | 0x80;
        guid
    }
}

impl Rows for VisitRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn row(&self, number: u64, row: &mut RowValues) {
        let mut rng = SplitMix64::new(self.seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        row.raw(&self.guid(self.ranks.at(number), &mut rng)).int(number as i32);
        row.text(&format!("source {:05}", self.sources.at(number)));
        row.datetime(FIRST_DAY + (number / TICKS_PER_DAY) as i32, (number % TICKS_PER_DAY) as u32);
        match rng.below(3) {
            0 => row.null(),
            words => row.text(
                &"seen again and noted ".repeat(words as usize * (1 + rng.below(4) as usize)),
            ),
        };
    }

    fn order(&self, index: usize) -> Option<RowOrder<'_>> {
        Some(match index {
            0 => Box::new(self.ranks.order(self.count)),
            1 => Box::new(self.sources.order(self.count)),
            _ => Box::new(0..self.count),
        })
    }

    fn is_deleted(&self, number: u64) -> bool {
        let chance = SplitMix64::new(self.seed ^ !number).next_u64();
        chance.is_multiple_of(7) || self.ranks.at(number) / DELETED_RUN % 9 == 4
    }
}
