//! Sort keys of rows that are read in another order, sorted in memory.
//!
//! Room for [`BYTES_MAX`] bytes: when it is full, half of the rows leave, by a hash of their
//! numbers, and from then on half of those that follow are not taken. What is left is an even
//! sample, however many rows there are.

/// Bytes of keys and of their rows.
const BYTES_MAX: usize = 64 << 20;

/// A row in the sorter.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The first bytes of its key, which decide most comparisons.
    prefix: u64,
    /// The number of the row among those that were pushed.
    number: u64,
    /// Where its ends and its key begin.
    at: u32,
    len: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sorter {
    columns: usize,
    bytes_max: usize,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    pushed: u64,
    /// Rows stay whose hash has none of these bits.
    mask: u64,
}

impl Sorter {
    pub(crate) fn new(columns: usize) -> Sorter {
        Sorter::with_room(columns, BYTES_MAX)
    }

    pub(super) fn with_room(columns: usize, bytes_max: usize) -> Sorter {
        Sorter {
            columns,
            bytes_max,
            bytes: Vec::new(),
            entries: Vec::new(),
            pushed: 0,
            mask: 0,
        }
    }

    /// The next row.
    pub(crate) fn push(&mut self, key: &[u8], ends: &[u16]) {
        let number = self.pushed;
        self.pushed += 1;
        if hash(number) & self.mask != 0 {
            return;
        }
        let len = 2 * self.columns + key.len();
        while self.room() < len + size_of::<Entry>() && !self.entries.is_empty() {
            self.halve();
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
        self.bytes.extend_from_slice(key);
        self.entries.push(Entry { prefix: prefix(key), number, at, len: len as u32 });
    }

    fn room(&self) -> usize {
        let used = self.bytes.len() + self.entries.len() * size_of::<Entry>();
        self.bytes_max.saturating_sub(used)
    }

    /// Takes half of the rows away.
    fn halve(&mut self) {
        self.mask = self.mask << 1 | 1;
        let mut bytes = Vec::with_capacity(self.bytes.len() / 2);
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain_mut(|entry| {
            let stays = hash(entry.number) & self.mask == 0;
            if stays {
                let from = entry.at as usize;
                entry.at = bytes.len() as u32;
                bytes.extend_from_slice(&self.bytes[from..from + entry.len as usize]);
            }
            stays
        });
        self.bytes = bytes;
        self.entries = entries;
    }

    /// Calls `each` with the keys and ends of all rows in ascending order.
    pub(crate) fn drain(mut self, mut each: impl FnMut(&[u8], &[u16])) {
        let bytes = &self.bytes;
        let head = 2 * self.columns;
        let stored = |entry: &Entry| {
            let at = entry.at as usize;
            bytes[at..at + entry.len as usize].split_at(head)
        };
        self.entries.sort_unstable_by(|a, b| {
            a.prefix.cmp(&b.prefix).then_with(|| stored(a).1.cmp(stored(b).1))
        });
        let mut ends = Vec::with_capacity(self.columns);
        for entry in &self.entries {
            let (head, key) = stored(entry);
            ends.clear();
            ends.extend(head.as_chunks::<2>().0.iter().map(|end| u16::from_le_bytes(*end)));
            each(key, &ends);
        }
    }
}

/// The first eight bytes; a shorter key counts as followed by zeros, and is compared again.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = key.len().min(8);
    first[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(first)
}

/// The finalizer of SplitMix64.
fn hash(number: u64) -> u64 {
    let mut hash = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
