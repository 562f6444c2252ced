//! Rows as the lanes of the indexes they belong to, for a whole page at a time.
//!
//! ```text
//! hashes   one per row and hashed column, column after column         each column once, however
//!                                                                     many indexes hold it
//! combined one per row for the index at hand: sum of hash × multiplier of its position in the key
//! lanes    two of 64 bits, from the combined hash: what the hashes add up
//! ```

use extentdb_base::Rid;
use extentdb_catalog::access::LobReader;
use extentdb_expr::EvalError;
use extentdb_format::record::Record;
use extentdb_format::record::lob::LobPointer;
use extentdb_reader::{CheckedPages, PageSource};

use super::column::{ColumnPlan, Content};
use super::comparison::ComparisonNumber;
use super::computed::Batches;
use super::page::{PageRows, Row, Visit};
use super::plan::{HashInput, Hashed, IndexTarget, RowPlan};
use crate::hash::HashKey;
use crate::plan::Plan;
use crate::relation::{MultisetHash, Side};
use crate::sound::SoundPage;

/// A value pushed off its row is not longer than a row.
pub(super) const OVERFLOW_BYTES_MAX: usize = 8192;
/// No value of four bytes; one of eight collides with a probability of 2^-64.
const NULL_WORD: u64 = 0x6e75_6c6c_9d3f_c1e5;

/// Turns rows into the lanes of the indexes they belong to. Its memory is used for one page after
/// the other.
pub(super) struct RowHasher<'p> {
    pub(super) key: &'p HashKey,
    pages: CheckedPages<'p>,
    pub(super) batches: Batches,
    /// By hashed column, then by row.
    hashes: Vec<u64>,
    /// Values that could not be read: hashed column and row.
    unread: Vec<(u16, usize)>,
    pub(super) combined: Vec<u64>,
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

    /// Evaluates the expressions of a table over the rows of a page; to be called before anything
    /// that needs them.
    #[inline]
    pub(super) fn evaluate(
        &mut self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
    ) {
        if rows.expressions.is_empty() {
            return;
        }
        let mut batches = std::mem::take(&mut self.batches);
        batches.run(rows, self, page, of_page);
        self.batches = batches;
    }

    /// Hands the lanes of each row to `state`, index after index; no lanes when a value of it could
    /// not be read.
    #[inline]
    pub(super) fn page(
        &mut self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
        mut state: impl FnMut(&Row, ComparisonNumber, Side, Option<[u64; 2]>),
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
                    Ok(true) => state(row, target.comparison, side, Some(self.key.row(*combined))),
                    Ok(false) => {}
                    Err(Unread) => state(row, target.comparison, side, None),
                }
            }
        }
    }

    /// Adds up the lanes of a page: for each index the sum of its rows, and `None` for each row
    /// that could not be read.
    #[inline]
    pub(super) fn sums(
        &mut self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
        mut state: impl FnMut(ComparisonNumber, Option<MultisetHash>),
    ) {
        let [target] = rows.targets.as_slice() else {
            return self.sums_of_all(page, of_page, rows, state);
        };
        if rows.is_base || !self.combine_columns(of_page, rows, target) {
            return self.sums_of_all(page, of_page, rows, state);
        }
        state(target.comparison, Some(self.sum(Side::Minus)));
    }

    fn sums_of_all(
        &mut self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
        mut state: impl FnMut(ComparisonNumber, Option<MultisetHash>),
    ) {
        if rows.targets.is_empty() {
            return;
        }
        self.hash_columns(page, of_page, rows);
        let side = if rows.is_base { Side::Plus } else { Side::Minus };
        for target in &rows.targets {
            if let Some(sum) = self.sum_of_columns(of_page.len(), target, side) {
                state(target.comparison, Some(sum));
                continue;
            }
            let is_certain = self.combine(page, of_page, target);
            if is_certain && target.filter.is_none() {
                state(target.comparison, Some(self.sum(side)));
                continue;
            }
            let mut sum = MultisetHash::default();
            for at in 0..of_page.len() {
                match (self.outcome(target, at), self.combined.get(at)) {
                    (Ok(true), Some(combined)) => sum.state(side, self.key.row(*combined)),
                    (Ok(_), _) => {}
                    (Err(Unread), _) => state(target.comparison, None),
                }
            }
            state(target.comparison, Some(sum));
        }
    }

    /// The sum of the rows of an index that holds a few columns of every row, combined while they
    /// are added up.
    #[inline]
    fn sum_of_columns(
        &self,
        rows: usize,
        target: &IndexTarget,
        side: Side,
    ) -> Option<MultisetHash> {
        if target.filter.is_some() || !self.unread.is_empty() {
            return None;
        }
        let hashes = |at: usize| {
            let (HashInput::Hashed(place), multiplier) = target.inputs.get(at)? else {
                return None;
            };
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
            4 => self.sum_rows(
                of(0)?.zip(of(1)?).map(two).zip(of(2)?.zip(of(3)?).map(two)).map(two),
                side,
            ),
            _ => return None,
        })
    }

    /// The sum of rows that are combined.
    #[inline(always)]
    fn sum_rows(&self, combined: impl ExactSizeIterator<Item = u64>, side: Side) -> MultisetHash {
        let key = *self.key;
        let count = combined.len() as u64;
        let mut sum = [0u64; 2];
        combined.for_each(|combined| {
            let row = key.row(combined);
            sum = [sum[0].wrapping_add(row[0]), sum[1].wrapping_add(row[1])];
        });
        match side {
            Side::Plus => MultisetHash { plus: count, minus: 0, sum },
            Side::Minus => MultisetHash { plus: 0, minus: count, sum: sum.map(u64::wrapping_neg) },
        }
    }

    /// The sum of the combined rows.
    #[inline]
    fn sum(&self, side: Side) -> MultisetHash {
        self.sum_rows(self.combined.iter().copied(), side)
    }

    /// Combines the columns of an index that belongs to nothing else, without keeping their hashes.
    /// False when a value is not in its row.
    fn combine_columns(
        &mut self,
        of_page: &PageRows<'_>,
        rows: &RowPlan,
        target: &IndexTarget,
    ) -> bool {
        self.combined.clear();
        self.combined.resize(of_page.len(), 0);
        target.filter.is_none()
            && target.inputs.iter().all(|(input, multiplier)| {
                let HashInput::Hashed(place) = input else { return false };
                let mut visit = Combining {
                    key: self.key,
                    null: self.key.word(NULL_WORD),
                    multiplier: *multiplier,
                    combined: self.combined.iter_mut(),
                    is_whole: true,
                };
                rows.hashed_column(*place).is_some_and(|column| {
                    of_page.each(column, &mut visit);
                    visit.is_whole
                })
            })
    }

    fn hash_columns(&mut self, page: &SoundPage<'_>, of_page: &PageRows<'_>, rows: &RowPlan) {
        self.hashes.clear();
        self.hashes.reserve(rows.hashed.len() * of_page.len());
        self.unread.clear();
        for (at, hashed) in (0u16..).zip(&rows.hashed) {
            match hashed {
                Hashed::Column(place) => match rows.columns.get(usize::from(*place)) {
                    Some(column) => self.hash_column(page, of_page, at, column),
                    None => self.hashes.extend(of_page.iter().map(|_| 0)),
                },
                Hashed::Computed(expression) => self.hash_computed(of_page.len(), at, *expression),
            }
        }
    }

    /// The values of an expression.
    fn hash_computed(&mut self, rows: usize, number: u16, expression: u16) {
        let key = self.key;
        let unread = &mut self.unread;
        match self.batches.numbers(expression) {
            Some((4, numbers)) => {
                return self
                    .hashes
                    .extend(numbers.iter().map(|number| key.word(u64::from(*number as u32))));
            }
            Some((8, numbers)) => {
                return self.hashes.extend(numbers.iter().map(|number| key.word(*number as u64)));
            }
            _ => {}
        }
        let mut hash = |at, value| {
            computed(key, value).unwrap_or_else(|| {
                unread.push((number, at));
                0
            })
        };
        match self.batches.values(expression) {
            Some(values) => {
                self.hashes.extend(values.enumerate().map(|(at, value)| hash(at, value)))
            }
            None => {
                let values = (0..rows).map(|row| hash(row, self.batches.value(expression, row)));
                self.hashes.extend(values);
            }
        }
    }

    fn hash_column(
        &mut self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        number: u16,
        column: &ColumnPlan,
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
            self.hash_complex(page, of_page, number, column, begin);
        }
    }

    /// Values that were pushed off their rows, which an index may hold in the row.
    #[cold]
    fn hash_complex(
        &mut self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        number: u16,
        column: &ColumnPlan,
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
    fn combine(
        &mut self,
        page: &SoundPage<'_>,
        of_page: &PageRows<'_>,
        target: &IndexTarget,
    ) -> bool {
        let count = of_page.len();
        self.combined.clear();
        self.combined.resize(count, 0);
        for (input, multiplier) in &target.inputs {
            match input {
                HashInput::Hashed(place) => {
                    let begin = usize::from(*place) * count;
                    let hashes = self.hashes.get(begin..begin + count).unwrap_or_default();
                    for (combined, hash) in self.combined.iter_mut().zip(hashes) {
                        *combined = combined.wrapping_add(hash.wrapping_mul(*multiplier));
                    }
                }
                HashInput::Rid => {
                    for (combined, row) in self.combined.iter_mut().zip(of_page.iter()) {
                        let hash = number_or_bytes(self.key, &home(page, of_page, row).to_bytes());
                        *combined = combined.wrapping_add(hash.wrapping_mul(*multiplier));
                    }
                }
            }
        }
        self.unread.is_empty()
    }

    /// Whether a row belongs to an index, where that is not plain.
    #[cold]
    fn outcome(&self, target: &IndexTarget, row: usize) -> Result<bool, Unread> {
        if let Some(filter) = target.filter
            && !self.batches.passes(filter, row).map_err(|_| Unread)?
        {
            return Ok(false);
        }
        let is_read = |(input, _): &(HashInput, u64)| match input {
            HashInput::Hashed(place) => !self.unread.contains(&(*place, row)),
            HashInput::Rid => true,
        };
        if target.inputs.iter().all(is_read) { Ok(true) } else { Err(Unread) }
    }

    /// A value that was pushed off its row.
    #[cold]
    pub(super) fn off_row(&self, column: &ColumnPlan, pointer: &[u8], rid: Rid) -> Option<Vec<u8>> {
        let pointer = LobPointer::parse(pointer, column.ty.may_have_text_pointer());
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
fn home(page: &SoundPage<'_>, of_page: &PageRows<'_>, row: &Row) -> Rid {
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

/// Values of four or eight bytes are numbers; their length is that of the type, or goes into the
/// hash.
#[inline(always)]
pub(super) fn number_or_bytes(key: &HashKey, bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => key.word(u64::from(u32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => key.word(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => key.bytes(bytes),
    }
}
