//! The read plan: which bytes of which files, in which order.
//!
//! ```text
//! ranges   |###|  |####|           |##|            what is worth reading, per file, ascending
//! bridged  |###########|           |##|            a gap shorter than a seek is read along
//! chunks   |####|####|#|           |##|            cut to size
//! order    chunks of all files, at the same position in the plan as in the file
//! ```
//!
//! Files are drained in proportion to their size, so that they end together and all devices work
//! until the end.

use std::ops::Range;

/// A run of bytes of one file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Chunk {
    /// Place of the file in the list of sources.
    pub file: usize,
    /// Bytes of the file that the chunk covers.
    pub range: Range<u64>,
}

/// Chunks of at most `chunk_bytes` that cover the ascending `ranges` of each file. Gaps of at most
/// `max_gap` bytes are covered as well: the caller ignores them.
///
/// # Panics
/// When `chunk_bytes` is 0.
pub fn plan(files: &[Vec<Range<u64>>], max_gap: u64, chunk_bytes: u64) -> Vec<Chunk> {
    assert!(chunk_bytes > 0, "a chunk holds something");
    let mut placed: Vec<(f64, Chunk)> = Vec::new();
    for (file, ranges) in files.iter().enumerate() {
        let bridged = bridge(ranges, max_gap);
        let total: u64 = bridged.iter().map(|range| range.end - range.start).sum();
        let mut before = 0;
        for range in bridged {
            for chunk in cut(range, chunk_bytes) {
                let share = before as f64 / total as f64;
                before += chunk.end - chunk.start;
                placed.push((share, Chunk { file, range: chunk }));
            }
        }
    }
    // Stable: within a file the shares ascend with the offsets, and equal shares keep the order of
    // the files.
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed.into_iter().map(|(_, chunk)| chunk).collect()
}

/// Joins adjacent ranges and drops empty ones.
fn bridge(ranges: &[Range<u64>], max_gap: u64) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges.iter().filter(|range| range.start < range.end) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(max_gap) => {
                last.end = last.end.max(range.end)
            }
            _ => joined.push(range.clone()),
        }
    }
    joined
}

fn cut(range: Range<u64>, chunk_bytes: u64) -> impl Iterator<Item = Range<u64>> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let end = range.end.min(start.saturating_add(chunk_bytes));
        (start < end).then(|| std::mem::replace(&mut start, end)..end)
    })
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        files: &[&[Range<u64>]],
        max_gap: u64,
        chunk_bytes: u64,
        expected: &[(usize, Range<u64>)],
    ) {
        let files: Vec<Vec<Range<u64>>> = files.iter().map(|ranges| ranges.to_vec()).collect();
        let got: Vec<_> =
            plan(&files, max_gap, chunk_bytes).into_iter().map(|it| (it.file, it.range)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn short_gaps_are_bridged_and_long_ones_are_not() {
        check(&[&[0..10, 12..20, 30..40]], 2, 100, &[(0, 0..20), (0, 30..40)]);
        check(&[&[0..10, 12..20, 30..40]], 0, 100, &[(0, 0..10), (0, 12..20), (0, 30..40)]);
        check(&[&[0..10, 10..20, 20..20, 50..50]], 0, 100, &[(0, 0..20)]);
    }

    #[test]
    fn ranges_are_cut_to_size() {
        check(&[&[5..30]], 0, 10, &[(0, 5..15), (0, 15..25), (0, 25..30)]);
        check(&[&[u64::MAX - 3..u64::MAX]], 0, u64::MAX, &[(0, u64::MAX - 3..u64::MAX)]);
        check(&[&[], &[]], 0, 10, &[]);
    }

    #[test]
    fn files_are_drained_in_proportion_to_their_size() {
        let expected = [(0, 0..10), (1, 0..10), (0, 10..20), (0, 20..30), (1, 10..20), (0, 30..40)];
        check(&[&[0..40], &[0..20]], 0, 10, &expected);
    }
}
