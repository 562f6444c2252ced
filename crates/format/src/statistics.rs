//! The histogram blob of statistics: `sysobjvalues.imageval` of class 60, format 7. Read only.
//!
//! ```text
//!   0  u32  7                     28  f32  density of values that are no hi keys
//!   4  u32  1/300 s  ┐ built      32  f32 × 33  1 / distinct values of each prefix
//!   8  u32  days     ┘           164  u32  steps, twice
//!  12  i64  rows                 172  u32  columns
//!  20  i64  rows sampled         176  u32  end of the fixed part of a step
//! 180  f32  average key bytes    184  f32  rows sampled again
//! 188  f32  rows with NULL       192  f32 × 33  average bytes of each column
//! 324  u64  sections             332  u64  0
//! 340  i64 × sections  where each ends, counted from after this list
//! ```
//!
//! A section for each bit: 1 the histogram, 2 the index of substrings, 8 values that were appended
//! (not decoded), 10 hex the rows as an i64 (not decoded), 400 hex an i64 (from SQL Server 2019;
//! not decoded). The histogram is an offset (i64) for each step, then the steps, each a record with
//! three `f32` (EQ_ROWS, RANGE_ROWS, AVG_RANGE_ROWS) and the hi key as its fourth column.
//!
//! What is certain and how it was found: `docs/format/statistics.md`.

use zerocopy::little_endian::{F32, I64, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::allocation::field::StoredTime;
use crate::record::Record;

/// The format that is read.
const FORMAT: u32 = 7;
/// Prefixes and columns that the head has room for.
const COLUMNS: usize = 33;
/// Sections that are known; each has an end in the list.
const SECTIONS: u64 = 0x41b;
/// The section of the histogram.
const HISTOGRAM: u64 = 0x1;
/// Where the columns of a step begin, and the bytes of each of the first three.
const STEP_START: usize = 4;
const NUMBER_BYTES: usize = 4;
/// The hi key among the columns of a step, for its bit in the null bitmap.
const HI_KEY: u16 = 3;

/// The head of a blob.
#[derive(Clone, Copy, FromBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
struct Head {
    format: U32,
    ticks: U32,
    days: U32,
    rows: I64,
    rows_sampled: I64,
    density: F32,
    densities: [F32; COLUMNS],
    steps: U32,
    steps_again: U32,
    columns: U32,
    fixed_end: U32,
    average_key_bytes: F32,
    rows_sampled_again: F32,
    null_rows: F32,
    average_bytes: [F32; COLUMNS],
    sections: U64,
    zero: U64,
}

const _: () = assert!(size_of::<Head>() == 340);

/// Why bytes are no such blob.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsFault {
    /// The blob is shorter than its head, or than its list of sections says.
    #[error("it ends within its head or a section")]
    Short,
    /// Another format than 7.
    #[error("it has format {format}")]
    Format {
        /// What it says.
        format: u32,
    },
    /// A section that is not known.
    #[error("it has sections {sections:x}")]
    Sections {
        /// The bits of all its sections.
        sections: u64,
    },
    /// Two numbers of the head that contradict each other.
    #[error("its head contradicts itself")]
    Head,
    /// A step that is no record of four columns.
    #[error("step {number} is no record of four columns")]
    Step {
        /// Which one, from 0.
        number: usize,
    },
}

/// What a blob says.
#[derive(Clone, PartialEq, Debug)]
pub struct StatisticsBlob<'b> {
    /// When it was built.
    pub updated: StoredTime,
    /// Rows of the table then.
    pub rows: i64,
    /// Rows that were read.
    pub rows_sampled: i64,
    /// 1 / distinct values of the first columns: of one, of two, and so on.
    pub densities: Vec<f32>,
    /// Bytes of all columns, on average of a row.
    pub average_key_bytes: f32,
    /// Rows with NULL in the first column.
    pub null_rows: f32,
    /// The steps, in order; none when all values are NULL.
    pub steps: Vec<StatisticsStep<'b>>,
}

/// A step of the histogram.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StatisticsStep<'b> {
    /// EQ_ROWS.
    pub equal_rows: f32,
    /// RANGE_ROWS.
    pub range_rows: f32,
    /// AVG_RANGE_ROWS.
    pub average_range_rows: f32,
    /// RANGE_HI_KEY, as stored in a row; that of a bit is 0 or 1 in its lowest bit.
    pub hi_key: &'b [u8],
}

impl<'b> StatisticsBlob<'b> {
    /// Reads a blob.
    ///
    /// # Errors
    /// It is another format, or damaged.
    pub fn read(bytes: &'b [u8]) -> Result<StatisticsBlob<'b>, StatisticsFault> {
        let (head, rest) = Head::ref_from_prefix(bytes).map_err(|_| StatisticsFault::Short)?;
        let columns = head.verified_columns()?;
        let steps = match head.histogram(rest)? {
            Some(section) => read_steps(section, head.steps.get(), head.fixed_end.get())?,
            None => Vec::new(),
        };
        let densities = head.densities.iter().take(columns).map(|density| density.get());
        Ok(StatisticsBlob {
            updated: StoredTime { ticks: head.ticks.get(), days: head.days.get() as i32 },
            rows: head.rows.get(),
            rows_sampled: head.rows_sampled.get(),
            densities: densities.collect(),
            average_key_bytes: head.average_key_bytes.get(),
            null_rows: head.null_rows.get(),
            steps,
        })
    }
}

impl Head {
    fn verified_columns(&self) -> Result<usize, StatisticsFault> {
        let format = self.format.get();
        if format != FORMAT {
            return Err(StatisticsFault::Format { format });
        }
        let sections = self.sections.get();
        if sections & !SECTIONS != 0 {
            return Err(StatisticsFault::Sections { sections });
        }
        let columns = self.columns.get() as usize;
        if self.steps != self.steps_again || columns > COLUMNS || self.zero.get() != 0 {
            return Err(StatisticsFault::Head);
        }
        Ok(columns)
    }

    /// The bytes of the histogram, the first section, in what follows the head.
    fn histogram<'b>(&self, rest: &'b [u8]) -> Result<Option<&'b [u8]>, StatisticsFault> {
        let count = self.sections.get().count_ones() as usize;
        let (ends, sections) =
            <[I64]>::ref_from_prefix_with_elems(rest, count).map_err(|_| StatisticsFault::Short)?;
        let ends = ends.iter().map(|end| usize::try_from(end.get()).ok());
        let ends: Vec<usize> = ends.collect::<Option<_>>().ok_or(StatisticsFault::Head)?;
        if !ends.is_sorted() || ends.last().is_some_and(|end| *end != sections.len()) {
            return Err(StatisticsFault::Short);
        }
        if self.sections.get() & HISTOGRAM == 0 {
            return Ok(None);
        }
        let end = ends.first().copied().unwrap_or(0);
        sections.get(..end).map(Some).ok_or(StatisticsFault::Short)
    }
}

fn read_steps(
    section: &[u8],
    steps: u32,
    fixed_end: u32,
) -> Result<Vec<StatisticsStep<'_>>, StatisticsFault> {
    let (offsets, _) = <[I64]>::ref_from_prefix_with_elems(section, steps as usize)
        .map_err(|_| StatisticsFault::Short)?;
    let ends = offsets.iter().skip(1).map(|offset| offset.get()).chain([section.len() as i64]);
    let step = |(number, (from, to)): (usize, (i64, i64))| {
        let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        let record = range.and_then(|(from, to)| section.get(from..to));
        record
            .and_then(|record| read_step(record, fixed_end as usize))
            .ok_or(StatisticsFault::Step { number })
    };
    offsets.iter().map(|offset| offset.get()).zip(ends).enumerate().map(step).collect()
}

fn read_step(bytes: &[u8], fixed_end: usize) -> Option<StatisticsStep<'_>> {
    let record = Record::parse_data(bytes);
    if record.fault().is_some()
        || record.fixed_end() != fixed_end
        || record.column_count() != HI_KEY + 1
    {
        return None;
    }
    let number = |at: usize| {
        let bytes = record.fixed(STEP_START + at * NUMBER_BYTES, NUMBER_BYTES)?;
        Some(f32::from_le_bytes(bytes.try_into().ok()?))
    };
    let fixed_key = STEP_START + 3 * NUMBER_BYTES;
    let hi_key = if fixed_end > fixed_key {
        record.fixed(fixed_key, fixed_end - fixed_key)?
    } else {
        // An empty value of variable length is left out.
        record.var(0).map_or(&[][..], |var| var.bytes)
    };
    Some(StatisticsStep {
        equal_rows: number(0)?,
        range_rows: number(1)?,
        average_range_rows: number(2)?,
        hi_key,
    })
}

#[cfg(test)]
mod tests;
