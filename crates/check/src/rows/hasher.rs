//! Rows as the lanes of the indexes they belong to, for a whole page at a time.
//!
//! ```text
//! hashes      one per row and hashed column, column after column         each column once, however many indexes hold it
//! combined    one per row for the index at hand: sum of hash × multiplier of its place in the key
//! lanes       two of 64 bits, from the combined hash: what the sums add up
//! ```

use extentdb_base::Rid;
use extentdb_catalog::access::LobReader;
use extentdb_expr::EvalError;
use extentdb_format::record::Record;
use extentdb_format::record::lob::LobPointer;
use extentdb_reader::{CheckedPages, PageSource};

use super::column::{ColumnPlan, Content};
use super::computed::Batches;
use super::cross::CrossNumber;
use super::page::{PageRows, Row, Visit, is_plain_entry};
use super::plan::{Input, RowPlan, Target};
use crate::hash::HashKey;
use crate::plan::Plan;
use crate::relation::{Acc, Side};
use crate::sound::{Records, Sound};
use crate::spots::{Spot, Spots};

/// A value pushed off its row is not longer than a row.
pub(super) const OVERFLOW_BYTES_MAX: usize = 8192;
/// Columns of an index whose entries are summed in one loop.
const ALIKE_MAX: usize = 16;
/// No value of four bytes; one of eight is met with a chance of 2^-64.
const NULL_WORD: u64 = 0x6e75_6c6c_9d3f_c1e5;

/// A column of entries that are alike.
#[derive(Clone, Copy, Default)]
struct Part {
    at: usize,
    end: usize,
    multiplier: u64,
}

/// Such a column whose values are numbers of four or eight bytes.
#[derive(Clone, Copy, Default)]
struct Word {
    at: usize,
    mask: u64,
    multiplier: u64,
}

impl Word {
    fn of(part: &Part) -> Option<Word> {
        let mask = match part.end - part.at {
            4 => u64::from(u32::MAX),
            8 => u64::MAX,
            _ => return None,
        };
        Some(Word { at: part.at, mask, multiplier: part.multiplier })
    }
}

/// The sum of entries: what is combined of each so far, and their last columns.
#[inline(always)]
fn sum_of<const WORDS: usize>(
    key: &HashKey,
    bytes: &[u8],
    entries: impl Iterator<Item = (impl Spot, u64)>,
    words: [Word; WORDS],
) -> Option<Acc> {
    let reach = words.iter().map(|word| word.at + size_of::<u64>()).max().unwrap_or(0);
    let key = *key;
    let mut sum = Acc::default();
    for (spot, mut combined) in entries {
        let record = bytes.get(spot.start()..)?.get(..reach)?;
        for word in &words {
            let value = u64::from_le_bytes(*record.get(word.at..)?.first_chunk()?) & word.mask;
            combined = combined.wrapping_add(key.word(value).wrapping_mul(word.multiplier));
        }
        sum.subtract(key.row(combined));
    }
    Some(sum)
}

/// True for records that are as long as the first of them, and say so.
#[inline(always)]
fn are_alike(bytes: &[u8], spots: impl Spots) -> bool {
    let Some(first) = spots.first() else { return false };
    let (len, status) = (first.end() - first.start(), bytes.get(first.start()));
    spots.iter().all(|spot| spot.end() - spot.start() == len && bytes.get(spot.start()) == status)
}

/// Turns rows into the lanes of the indexes they belong to. Its memory is used for one page after the other.
pub(super) struct RowHasher<'p> {
    key: &'p HashKey,
    pages: CheckedPages<'p>,
    pub(super) batches: Batches,
    /// By hashed column, then by row.
    hashes: Vec<u64>,
    /// Values that could not be read: hashed column and row.
    unread: Vec<(u16, usize)>,
    combined: Vec<u64>,
}

impl<'p> RowHasher<'p> {
    pub(super) fn new(plan: &'p Plan, source: &'p dyn PageSource) -> RowHasher<'p> {
        RowHasher {
            key: &plan.key,
            pages: CheckedPages::new(source),
            batches: Batches::default(),
            hashes: Vec::new(),
            unread: Vec::new(),
            combined: Vec::new(),
        }
    }

    /// Evaluates the expressions of a table over the rows of a page; to be called before anything that needs them.
    #[inline]
    pub(super) fn evaluate(&mut self, page: &Sound<'_>, of_page: &PageRows<'_>, rows: &RowPlan) {
        if rows.expressions.is_empty() {
            return;
        }
        let mut batches = std::mem::take(&mut self.batches);
        batches.run(rows, self, page, of_page);
        self.batches = batches;
    }

    /// Hands the lanes of each row to `state`, index after index; no lanes when a value of it could not be read.
    #[inline]
    pub(super) fn page(
        &mut self,
        page: &Sound<'_>,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
        mut state: impl FnMut(&Row, CrossNumber, Side, Option<[u64; 2]>),
    ) {
        if rows.targets.is_empty() {
            return;
        }
        self.hash_columns(page, of_page, rows);
        let side = if rows.is_base { Side::Plus } else { Side::Minus };
        for target in &rows.targets {
            let is_certain = self.combine(page, of_page, target);
            let plain = is_certain && target.filter.is_none();
            for (at, (row, combined)) in of_page.iter().zip(&self.combined).enumerate() {
                let outcome = if plain { Ok(true) } else { self.outcome(target, at) };
                match outcome {
                    Ok(true) => state(row, target.cross, side, Some(self.key.row(*combined))),
                    Ok(false) => {}
                    Err(Unread) => state(row, target.cross, side, None),
                }
            }
        }
    }

    /// Adds up the lanes of a page: for each index the sum of its rows, and `None` for each row that could
    /// not be read.
    #[inline]
    pub(super) fn sums(
        &mut self,
        page: &Sound<'_>,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
        mut state: impl FnMut(CrossNumber, Option<Acc>),
    ) {
        let [target] = rows.targets.as_slice() else {
            return self.sums_of_all(page, of_page, rows, state);
        };
        if rows.is_base || !self.combine_columns(of_page, rows, target) {
            return self.sums_of_all(page, of_page, rows, state);
        }
        state(target.cross, Some(self.sum(Side::Minus)));
    }

    /// The sum of the entries of an index that are alike and have a fixed part only, as most indexes have them, straight from the
    /// page. `None` where it is not as simple as that.
    #[inline]
    pub(super) fn sum_of_entries(&mut self, page: &Sound<'_>, rows: &RowPlan) -> Option<(CrossNumber, Acc)> {
        let [target] = rows.targets.as_slice() else { return None };
        let mut parts = [Part::default(); ALIKE_MAX];
        if rows.is_base || target.filter.is_some() || target.inputs.len() > ALIKE_MAX {
            return None;
        }
        for (part, (input, multiplier)) in parts.iter_mut().zip(&target.inputs) {
            let Input::Column(place) = input else { return None };
            let column = rows.columns.get(usize::from(*rows.hashed.get(usize::from(*place))?))?;
            let (at, end) = column.fixed_place().filter(|(_, end)| *end <= page.pminlen())?;
            *part = Part { at, end, multiplier: *multiplier };
        }
        let parts = parts.get(..target.inputs.len())?;
        let sum = match page.records() {
            Records::Even(bytes, even) => self.sum_alike(bytes, even, parts),
            Records::OnPage(bytes, spots) => {
                are_alike(bytes, spots).then(|| self.sum_alike(bytes, spots, parts))?
            }
            Records::Expanded(bytes, spots) => {
                are_alike(bytes, spots).then(|| self.sum_alike(bytes, spots, parts))?
            }
        };
        Some((target.cross, sum?))
    }

    /// The sum of entries that are like the first of them. Columns that are numbers are hashed and combined in the loop that adds up
    /// the entries, the others each in a loop before: nothing in a loop depends on what its columns are.
    fn sum_alike<S: Spots>(&mut self, bytes: &[u8], spots: S, parts: &[Part]) -> Option<Acc> {
        if !is_plain_entry(*bytes.get(spots.first()?.start())?) {
            return None;
        }
        let (mut words, mut count) = ([Word::default(); 3], 0);
        self.combined.clear();
        for part in parts {
            match (Word::of(part), words.get_mut(count)) {
                (Some(word), Some(place)) => {
                    *place = word;
                    count += 1;
                }
                _ => self.add_column(bytes, spots, part),
            }
        }
        if self.combined.is_empty() {
            return self.sum_words(bytes, spots, &words, count, std::iter::repeat(0));
        }
        self.sum_words(bytes, spots, &words, count, self.combined.iter().copied())
    }

    /// Adds the last columns to the combined entries, and the entries up. `None` where the bytes end too early.
    #[inline(always)]
    fn sum_words<S: Spots>(
        &self,
        bytes: &[u8],
        spots: S,
        words: &[Word; 3],
        count: usize,
        combined: impl Iterator<Item = u64>,
    ) -> Option<Acc> {
        let [a, b, c] = *words;
        let entries = spots.iter().zip(combined);
        match count {
            0 => sum_of(self.key, bytes, entries, []),
            1 => sum_of(self.key, bytes, entries, [a]),
            2 => sum_of(self.key, bytes, entries, [a, b]),
            _ => sum_of(self.key, bytes, entries, [a, b, c]),
        }
    }

    /// Adds a column to the combined entries.
    fn add_column<S: Spots>(&mut self, bytes: &[u8], spots: S, part: &Part) {
        let (Part { at, end, multiplier }, key) = (*part, *self.key);
        let value = move |spot: S::Spot| bytes.get(spot.start() + at..spot.start() + end);
        match end - at {
            2 => self.add_hashes(spots.iter().map(move |spot| {
                let number = value(spot).and_then(<[u8]>::first_chunk::<2>).copied().unwrap_or_default();
                key.bytes(&number).wrapping_mul(multiplier)
            })),
            len @ 9..16 => self.add_hashes(spots.iter().map(move |spot| {
                let ends = value(spot).and_then(|value| Some((*value.first_chunk()?, *value.last_chunk()?)));
                let (low, high) = ends.unwrap_or_default();
                let ends = (u64::from_le_bytes(low), u64::from_le_bytes(high));
                key.short(ends, len).wrapping_mul(multiplier)
            })),
            _ => self.add_hashes(spots.iter().map(move |spot| {
                number_or_bytes(&key, value(spot).unwrap_or_default()).wrapping_mul(multiplier)
            })),
        }
    }

    /// The first hashes that are combined, or more of them.
    #[inline(always)]
    fn add_hashes(&mut self, hashes: impl Iterator<Item = u64>) {
        if self.combined.is_empty() {
            return self.combined.extend(hashes);
        }
        for (combined, hash) in self.combined.iter_mut().zip(hashes) {
            *combined = combined.wrapping_add(hash);
        }
    }

    fn sums_of_all(
        &mut self,
        page: &Sound<'_>,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
        mut state: impl FnMut(CrossNumber, Option<Acc>),
    ) {
        if rows.targets.is_empty() {
            return;
        }
        self.hash_columns(page, of_page, rows);
        let side = if rows.is_base { Side::Plus } else { Side::Minus };
        for target in &rows.targets {
            if let Some(sum) = self.sum_of_columns(of_page.len(), target, side) {
                state(target.cross, Some(sum));
                continue;
            }
            let is_certain = self.combine(page, of_page, target);
            if is_certain && target.filter.is_none() {
                state(target.cross, Some(self.sum(side)));
                continue;
            }
            let mut sum = Acc::default();
            for at in 0..of_page.len() {
                match (self.outcome(target, at), self.combined.get(at)) {
                    (Ok(true), Some(combined)) => sum.state(side, self.key.row(*combined)),
                    (Ok(_), _) => {}
                    (Err(Unread), _) => state(target.cross, None),
                }
            }
            state(target.cross, Some(sum));
        }
    }

    /// The sum of the rows of an index that holds a few columns of every row, combined while they are added up.
    #[inline]
    fn sum_of_columns(&self, rows: usize, target: &Target, side: Side) -> Option<Acc> {
        if target.filter.is_some() || !self.unread.is_empty() {
            return None;
        }
        let hashes = |at: usize| {
            let (Input::Column(place), multiplier) = target.inputs.get(at)? else { return None };
            let begin = usize::from(*place) * rows;
            Some((self.hashes.get(begin..begin + rows)?, *multiplier))
        };
        let of = |at: usize| {
            let (hashes, multiplier) = hashes(at)?;
            Some(hashes.iter().map(move |hash| hash.wrapping_mul(multiplier)))
        };
        let two = |(a, b): (u64, u64)| a.wrapping_add(b);
        Some(match target.inputs.len() {
            1 => self.sum_rows(of(0)?, side),
            2 => self.sum_rows(of(0)?.zip(of(1)?).map(two), side),
            3 => self.sum_rows(of(0)?.zip(of(1)?).map(two).zip(of(2)?).map(two), side),
            4 => self.sum_rows(of(0)?.zip(of(1)?).map(two).zip(of(2)?.zip(of(3)?).map(two)).map(two), side),
            _ => return None,
        })
    }

    /// The sum of rows that are combined.
    #[inline(always)]
    fn sum_rows(&self, combined: impl Iterator<Item = u64>, side: Side) -> Acc {
        let key = *self.key;
        let mut sum = Acc::default();
        combined.for_each(|combined| sum.add(key.row(combined)));
        match side {
            Side::Plus => sum,
            Side::Minus => Acc { plus: 0, minus: sum.plus, sum: sum.sum.map(u64::wrapping_neg) },
        }
    }

    /// The sum of the combined rows.
    #[inline]
    fn sum(&self, side: Side) -> Acc {
        self.sum_rows(self.combined.iter().copied(), side)
    }

    /// Combines the columns of an index that belongs to nothing else, without keeping their hashes. False when a value is not in
    /// its row.
    fn combine_columns(&mut self, of_page: &PageRows<'_>, rows: &RowPlan, target: &Target) -> bool {
        self.combined.clear();
        self.combined.resize(of_page.len(), 0);
        target.filter.is_none()
            && target.inputs.iter().all(|(input, multiplier)| {
                let Input::Column(place) = input else { return false };
                let column =
                    rows.hashed.get(usize::from(*place)).and_then(|at| rows.columns.get(usize::from(*at)));
                let mut visit = Combining {
                    key: self.key,
                    null: self.key.word(NULL_WORD),
                    multiplier: *multiplier,
                    combined: self.combined.iter_mut(),
                    is_whole: true,
                };
                column.is_some_and(|column| {
                    of_page.each(column, &mut visit);
                    visit.is_whole
                })
            })
    }

    fn hash_columns(&mut self, page: &Sound<'_>, of_page: &PageRows<'_>, rows: &RowPlan) {
        self.hashes.clear();
        self.hashes.reserve(rows.hashed.len() * of_page.len());
        self.unread.clear();
        for (at, place) in (0u16..).zip(&rows.hashed) {
            match rows.columns.get(usize::from(*place)) {
                Some(column) => self.hash_column(page, of_page, (at, column)),
                None => self.hashes.extend(of_page.iter().map(|_| 0)),
            }
        }
    }

    fn hash_column(
        &mut self,
        page: &Sound<'_>,
        of_page: &PageRows<'_>,
        (number, column): (u16, &ColumnPlan),
    ) {
        let begin = self.hashes.len();
        let mut visit = Hashing {
            key: self.key,
            null: self.key.word(NULL_WORD),
            number,
            hashes: &mut self.hashes,
            unread: &mut self.unread,
            has_complex: false,
        };
        of_page.each(column, &mut visit);
        if visit.has_complex {
            self.hash_complex(page, of_page, (number, column), begin);
        }
    }

    /// Values that were pushed off their rows, which an index may hold in the row.
    #[cold]
    fn hash_complex(
        &mut self,
        page: &Sound<'_>,
        of_page: &PageRows<'_>,
        (number, column): (u16, &ColumnPlan),
        begin: usize,
    ) {
        for (at, row) in of_page.iter().enumerate() {
            let Some(Content::Complex(pointer)) = column.of(&of_page.cells(row)) else { continue };
            match self.off_row(column, pointer, page.rid(row.slot)) {
                Some(bytes) => {
                    if let Some(hash) = self.hashes.get_mut(begin + at) {
                        *hash = number_or_bytes(self.key, &bytes);
                    }
                }
                None => self.unread.push((number, at)),
            }
        }
    }

    /// Combines the hashes of what an index holds; true when all of them could be had.
    fn combine(&mut self, page: &Sound<'_>, of_page: &PageRows<'_>, target: &Target) -> bool {
        let count = of_page.len();
        self.combined.clear();
        self.combined.resize(count, 0);
        let mut is_certain = self.unread.is_empty();
        for (input, multiplier) in &target.inputs {
            match input {
                Input::Column(place) => {
                    let begin = usize::from(*place) * count;
                    let hashes = self.hashes.get(begin..begin + count).unwrap_or_default();
                    for (combined, hash) in self.combined.iter_mut().zip(hashes) {
                        *combined = combined.wrapping_add(hash.wrapping_mul(*multiplier));
                    }
                }
                Input::Rid => {
                    for (combined, row) in self.combined.iter_mut().zip(of_page.iter()) {
                        let hash = number_or_bytes(self.key, &home(page, of_page, row).to_bytes());
                        *combined = combined.wrapping_add(hash.wrapping_mul(*multiplier));
                    }
                }
                Input::Computed(expression) => {
                    let mut add = |combined: &mut u64, value| match computed(self.key, value) {
                        Some(hash) => *combined = combined.wrapping_add(hash.wrapping_mul(*multiplier)),
                        None => is_certain = false,
                    };
                    match self.batches.values(*expression) {
                        Some(values) => {
                            self.combined
                                .iter_mut()
                                .zip(values)
                                .for_each(|(combined, value)| add(combined, value));
                        }
                        None => {
                            for (row, combined) in self.combined.iter_mut().enumerate() {
                                add(combined, self.batches.value(*expression, row));
                            }
                        }
                    }
                }
            }
        }
        is_certain
    }

    /// Whether a row belongs to an index, where that is not plain.
    #[cold]
    fn outcome(&self, target: &Target, row: usize) -> Result<bool, Unread> {
        if let Some(filter) = target.filter
            && !self.batches.passes(filter, row).map_err(|_| Unread)?
        {
            return Ok(false);
        }
        let is_read = |(input, _): &(Input, u64)| match input {
            Input::Column(place) => !self.unread.contains(&(*place, row)),
            Input::Computed(expression) => self.batches.value(*expression, row).is_ok(),
            Input::Rid => true,
        };
        if target.inputs.iter().all(is_read) { Ok(true) } else { Err(Unread) }
    }

    /// A value that was pushed off its row.
    #[cold]
    pub(super) fn off_row(&self, column: &ColumnPlan, pointer: &[u8], rid: Rid) -> Option<Vec<u8>> {
        let pointer = LobPointer::parse(pointer, column.ty.is_lob());
        let reader = LobReader::new(&self.pages, rid, &pointer).ok()?;
        reader.read_to_vec(OVERFLOW_BYTES_MAX).ok()
    }
}

/// Hashes one column, row after row.
struct Hashing<'h> {
    key: &'h HashKey,
    null: u64,
    number: u16,
    hashes: &'h mut Vec<u64>,
    unread: &'h mut Vec<(u16, usize)>,
    has_complex: bool,
}

impl<'r> Visit<'r> for Hashing<'_> {
    #[inline(always)]
    fn visit(&mut self, at: usize, content: Option<Content<'r>>) {
        self.hashes.push(match content {
            Some(Content::Bytes(bytes)) => number_or_bytes(self.key, bytes),
            Some(Content::Null) => self.null,
            Some(Content::Complex(_)) => {
                self.has_complex = true;
                0
            }
            None => {
                self.unread.push((self.number, at));
                0
            }
        });
    }
}

/// Adds one column to what an index holds, row after row.
struct Combining<'h> {
    key: &'h HashKey,
    null: u64,
    multiplier: u64,
    combined: std::slice::IterMut<'h, u64>,
    is_whole: bool,
}

impl<'r> Visit<'r> for Combining<'_> {
    #[inline(always)]
    fn visit(&mut self, _: usize, content: Option<Content<'r>>) {
        let hash = match content {
            Some(Content::Bytes(bytes)) => number_or_bytes(self.key, bytes),
            Some(Content::Null) => self.null,
            Some(Content::Complex(_)) | None => {
                self.is_whole = false;
                0
            }
        };
        if let Some(combined) = self.combined.next() {
            *combined = combined.wrapping_add(hash.wrapping_mul(self.multiplier));
        }
    }
}

/// A value of the row could not be read.
struct Unread;

/// Where the indexes say that a row is: a row that was moved is where its stub stands.
fn home(page: &Sound<'_>, of_page: &PageRows<'_>, row: &Row) -> Rid {
    let own = page.rid(row.slot);
    if row.is_forwarded() {
        Record::parse_data(of_page.record(row)).back_pointer().unwrap_or(own)
    } else {
        own
    }
}

/// The hash of a value that is not in the row.
#[inline(always)]
fn computed(key: &HashKey, value: Result<Option<&[u8]>, EvalError>) -> Option<u64> {
    match value {
        Ok(Some(bytes)) => Some(number_or_bytes(key, bytes)),
        Ok(None) => Some(key.word(NULL_WORD)),
        Err(_) => None,
    }
}

/// Values of four or eight bytes are numbers; their length is that of the type, or goes into the hash.
#[inline(always)]
fn number_or_bytes(key: &HashKey, bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => key.word(u64::from(u32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => key.word(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => key.bytes(bytes),
    }
}
