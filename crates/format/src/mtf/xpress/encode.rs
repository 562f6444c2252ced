//! A plain encoder: greedy matches found by a hash of three bytes, length-limited Huffman codes.
//!
//! It exists to prove the decoder and to build backups in tests; what it writes is valid input for
//! any decoder.

use super::{CHUNK_BYTES, TABLE_BYTES};

const SYMBOLS: usize = 2 * TABLE_BYTES;
const CODE_BITS: usize = 15;
const MATCH_MIN: usize = 3;
const DISTANCE_MAX: usize = 65_535;
const END_MARK: u16 = 256;

/// One step of the output: a byte, or a match.
#[derive(Clone, Copy)]
enum Step {
    Literal(u8),
    Match { length: usize, distance: usize },
    End,
}

impl Step {
    fn symbol(self) -> u16 {
        match self {
            Step::Literal(byte) => u16::from(byte),
            Step::Match { length, distance } => {
                256 + ((distance.ilog2() as u16) << 4) + (length - MATCH_MIN).min(15) as u16
            }
            Step::End => END_MARK,
        }
    }
}

/// Compresses a block; [`decode`](super::decode) restores it.
pub fn encode(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut heads = vec![usize::MAX; 1 << 15];
    let mut start = 0;
    while start < data.len() {
        let end = (start + CHUNK_BYTES).min(data.len());
        let mut steps = find_steps(data, start, end, &mut heads);
        if end == data.len() {
            steps.push(Step::End);
        }
        write_chunk(&steps, &mut out);
        start = end;
    }
    out
}

fn hash(data: &[u8], at: usize) -> Option<usize> {
    let [a, b, c] = *data.get(at..)?.first_chunk::<3>()?;
    Some(((u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9E37_79B1)) >> 17) as usize)
}

fn find_steps(data: &[u8], start: usize, end: usize, heads: &mut [usize]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = start;
    while at < end {
        let earlier = hash(data, at)
            .and_then(|key| heads.get_mut(key))
            .map(|head| std::mem::replace(head, at));
        let length = earlier
            .filter(|earlier| *earlier < at && at - earlier <= DISTANCE_MAX)
            .map_or(0, |earlier| common_bytes(data, earlier, at, end));
        match earlier {
            Some(earlier) if length >= MATCH_MIN => {
                steps.push(Step::Match { length, distance: at - earlier });
                at += length;
            }
            _ => {
                steps.push(Step::Literal(data.get(at).copied().unwrap_or(0)));
                at += 1;
            }
        }
    }
    steps
}

fn common_bytes(data: &[u8], earlier: usize, at: usize, end: usize) -> usize {
    let source = data.get(earlier..).unwrap_or_default();
    let target = data.get(at..end).unwrap_or_default();
    source.iter().zip(target).take_while(|(a, b)| a == b).count()
}

/// Code lengths of at most 15 bits that fill the code space (package-merge).
fn code_lengths(counts: &[u32; SYMBOLS]) -> [u8; SYMBOLS] {
    let mut used: Vec<(u64, Vec<u16>)> = (0u16..)
        .zip(counts)
        .filter(|(_, count)| **count > 0)
        .map(|(symbol, count)| (u64::from(*count), vec![symbol]))
        .collect();
    // A single symbol cannot fill a code space: it gets a companion.
    for companion in [0, 1] {
        if used.len() == 1 && used.iter().all(|(_, symbols)| !symbols.contains(&companion)) {
            used.push((1, vec![companion]));
        }
    }
    used.sort();
    let mut level = used.clone();
    for _ in 1..CODE_BITS {
        let mut packages: Vec<(u64, Vec<u16>)> = level
            .chunks_exact(2)
            .map(|pair| {
                let symbols =
                    pair.iter().flat_map(|(_, symbols)| symbols.iter().copied()).collect();
                (pair.iter().map(|(weight, _)| weight).sum(), symbols)
            })
            .collect();
        packages.extend(used.iter().cloned());
        packages.sort();
        level = packages;
    }
    let mut lengths = [0; SYMBOLS];
    for (_, symbols) in level.iter().take(2 * used.len() - 2) {
        for symbol in symbols {
            if let Some(length) = lengths.get_mut(usize::from(*symbol)) {
                *length += 1;
            }
        }
    }
    lengths
}

/// Canonical codes: shorter first, equal lengths by symbol.
fn codes(lengths: &[u8; SYMBOLS]) -> [u32; SYMBOLS] {
    let mut codes = [0; SYMBOLS];
    let mut next = 0;
    for wanted in 1..=CODE_BITS as u8 {
        next <<= 1;
        for (code, length) in codes.iter_mut().zip(lengths) {
            if *length == wanted {
                *code = next;
                next += 1;
            }
        }
    }
    codes
}

fn write_chunk(steps: &[Step], out: &mut Vec<u8>) {
    let mut counts = [0; SYMBOLS];
    for step in steps {
        if let Some(count) = counts.get_mut(usize::from(step.symbol())) {
            *count += 1;
        }
    }
    let lengths = code_lengths(&counts);
    let codes = codes(&lengths);
    out.extend(lengths.as_chunks::<2>().0.iter().map(|[low, high]| low | high << 4));
    let mut bits = BitWriter::new(out);
    for step in steps {
        let symbol = usize::from(step.symbol());
        let length = lengths.get(symbol).copied().unwrap_or(0);
        bits.put(codes.get(symbol).copied().unwrap_or(0), u32::from(length));
        if let Step::Match { length, distance } = *step {
            bits.put_length(length - MATCH_MIN);
            let power = distance.ilog2();
            bits.put(distance as u32 - (1 << power), power);
        }
    }
    bits.store_unit();
}

/// Writes units at the places where a decoder that follows the format's rule loads them.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Places of the unit being filled and of the next one.
    units_at: [usize; 2],
    unit: u32,
    filled: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        let at = out.len();
        out.extend([0; 4]);
        BitWriter { out, units_at: [at, at + 2], unit: 0, filled: 0 }
    }

    fn put(&mut self, value: u32, bits: u32) {
        for bit in (0..bits).rev() {
            if self.filled == 16 {
                self.next_unit();
            }
            self.unit = self.unit << 1 | (value >> bit & 1);
            self.filled += 1;
        }
    }

    fn next_unit(&mut self) {
        self.store_unit();
        let [_, following] = self.units_at;
        self.units_at = [following, self.out.len()];
        self.out.extend([0; 2]);
        (self.unit, self.filled) = (0, 0);
    }

    fn store_unit(&mut self) {
        let aligned = (self.unit << (16 - self.filled)) as u16;
        let [at, _] = self.units_at;
        if let Some(to) = self.out.get_mut(at..at + 2) {
            to.copy_from_slice(&aligned.to_le_bytes());
        }
    }

    fn put_length(&mut self, length: usize) {
        match length {
            0..15 => {}
            15..270 => self.out.push((length - 15) as u8),
            _ => {
                // A match stays inside a chunk, so its length fits.
                self.out.push(255);
                self.out.extend((length as u16).to_le_bytes());
            }
        }
    }
}
