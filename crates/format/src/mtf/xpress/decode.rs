//! The decoder.
//!
//! It keeps up to 64 bits at hand, more than the format's rule loads. What the rule would have
//! loaded is known without counting: of the bits at hand, `16 + at_hand % 16` belong to it, because
//! the rule leaves 16 to 31 bits after each step. Length bytes lie after those, so
//! [`Bits::length_byte`] first gives back the units loaded too early.

use super::table::CodeTable;
use super::{CHUNK_BYTES, Damage, TABLE_BYTES};

/// Expands payloads. Keep one per thread: it holds the table, 6 KB.
pub struct Decoder {
    table: CodeTable,
}

impl Decoder {
    /// A decoder with empty tables; reusable for any number of payloads.
    pub fn new() -> Self {
        Decoder { table: CodeTable::new() }
    }

    /// Expands `payload` to exactly fill `out`. On damage, `out` holds the bytes up to the place
    /// that the error names, and rubbish after it.
    pub fn decode(&mut self, payload: &[u8], out: &mut [u8]) -> Result<(), Damage> {
        let total = out.len();
        let end = self.run(payload, out, total)?;
        let left = payload.len().saturating_sub(end);
        if left > 2 { Err(Damage::LeftOver { bytes: left }) } else { Ok(()) }
    }

    /// Expands only the first `front.len()` of the `total` bytes of the output.
    pub fn decode_front(
        &mut self,
        payload: &[u8],
        front: &mut [u8],
        total: usize,
    ) -> Result<(), Damage> {
        self.run(payload, front, total.max(front.len())).map(|_| ())
    }

    /// Fills `out`; matches may reach to `total`. Returns how many bytes of the payload the rule
    /// has loaded.
    fn run(&mut self, payload: &[u8], out: &mut [u8], total: usize) -> Result<usize, Damage> {
        let mut at = 0;
        let mut input_at = 0;
        while at < out.len() {
            let packed = payload.get(input_at..).unwrap_or_default();
            let table = packed.first_chunk::<TABLE_BYTES>();
            let table = table.ok_or(Damage::ShortTable { bytes: packed.len() })?;
            self.table.fill(table).map_err(|filled| Damage::CodeSpace { filled })?;
            let mut bits = Bits::new(payload, input_at + TABLE_BYTES);
            let chunk_end = (at + CHUNK_BYTES).min(out.len());
            at = self.chunk(&mut bits, out, at, chunk_end, total)?;
            bits.refill();
            input_at = bits.ruled_at();
            if bits.is_exhausted() {
                return Err(Damage::InputEnds { at });
            }
        }
        Ok(input_at)
    }

    /// Expands up to `chunk_end` or, by the last match, a little further.
    fn chunk(
        &self,
        bits: &mut Bits<'_>,
        out: &mut [u8],
        mut at: usize,
        chunk_end: usize,
        total: usize,
    ) -> Result<usize, Damage> {
        while at < chunk_end {
            bits.refill();
            let (mut symbol, code_bits) = self.table.look_up(bits.buffer);
            bits.take(code_bits);
            if symbol < 256 {
                put(out, at, symbol);
                at += 1;
                // At least 17 bits are left, which is another symbol, but not a match after it.
                let (next, code_bits) = self.table.look_up(bits.buffer);
                if next >= 256 || at >= chunk_end {
                    continue;
                }
                bits.take(code_bits);
                symbol = next;
                put(out, at, symbol);
                at += 1;
                continue;
            }
            let packed = symbol - 256;
            let length = match packed & 15 {
                15 => bits.long_length().map_err(|stored| Damage::LongForm { at, stored })?,
                short => short as usize,
            } + 3;
            let distance = bits.distance(packed >> 4);
            if distance > at {
                return Err(Damage::Distance { at, distance });
            }
            if length > total - at {
                return Err(Damage::Length { at, length });
            }
            at += copy_match(out, at, distance, length);
        }
        Ok(at)
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Stores a literal. The caller keeps `at` inside; a wrong place is ignored, not a panic.
#[inline(always)]
fn put(out: &mut [u8], at: usize, symbol: u32) {
    if let Some(to) = out.get_mut(at) {
        *to = symbol as u8;
    }
}

/// Copies a match, at most to the end of `out`; returns the bytes copied. `distance <= at`.
#[inline(always)]
fn copy_match(out: &mut [u8], at: usize, distance: usize, length: usize) -> usize {
    let length = length.min(out.len() - at);
    let end = at + length;
    if distance >= 8 && end + 8 <= out.len() {
        copy_words(out, at, distance, end);
    } else if distance == 1 {
        let byte = out.get(at - 1).copied().unwrap_or(0);
        if let Some(run) = out.get_mut(at..end) {
            run.fill(byte);
        }
    } else {
        copy_doubling(out, at, distance, length);
    }
    length
}

/// Copies in steps of eight bytes and may write up to seven bytes after `end`, which later output
/// overwrites.
#[inline(always)]
fn copy_words(out: &mut [u8], at: usize, distance: usize, end: usize) {
    let mut to = at;
    while to < end {
        let Some(window) = out.get_mut(to - distance..to + 8) else { return };
        let Some(word) = window.first_chunk::<8>().copied() else { return };
        if let Some(target) = window.last_chunk_mut::<8>() {
            *target = word;
        }
        to += 8;
    }
}

/// Copies an overlapping match: what was copied becomes source, so the pieces double.
fn copy_doubling(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let from = at - distance;
    let mut copied = 0;
    while copied < length {
        let piece = (distance + copied).min(length - copied);
        out.copy_within(from..from + piece, at + copied);
        copied += piece;
    }
}

/// The bit stream, read by the format's rule but loaded ahead of it.
struct Bits<'a> {
    input: &'a [u8],
    /// Place of the next unit that is not in the buffer.
    next: usize,
    /// The bits at hand, left-aligned, zeros after them.
    buffer: u64,
    /// How many they are.
    at_hand: u32,
    /// A length byte was wanted past the end of the payload.
    is_short: bool,
}

impl<'a> Bits<'a> {
    fn new(input: &'a [u8], start: usize) -> Self {
        Bits { input, next: start, buffer: 0, at_hand: 0, is_short: false }
    }

    /// Makes sure that 32 bits are at hand.
    #[inline(always)]
    fn refill(&mut self) {
        if self.at_hand < 32 {
            let ahead = self.input.get(self.next..).unwrap_or_default();
            let word = ahead.first_chunk::<4>().copied().unwrap_or_else(|| last_word(ahead));
            // Two units: the first one's bits come first.
            let units = u32::from_le_bytes(word).rotate_left(16);
            self.buffer |= u64::from(units) << (32 - self.at_hand);
            self.at_hand += 32;
            self.next += 4;
        }
    }

    #[inline(always)]
    fn take(&mut self, bits: u32) {
        self.buffer <<= bits;
        self.at_hand -= bits;
    }

    /// Takes the distance of a match, whose power of two is known.
    #[inline(always)]
    fn distance(&mut self, power: u32) -> usize {
        let below = (self.buffer >> 1 >> (63 - power)) as usize;
        self.take(power);
        (1 << power) + below
    }

    /// How many bits the rule has loaded and not yet given out. At least 16 bits must be at hand.
    fn ruled_bits(&self) -> u32 {
        16 + self.at_hand % 16
    }

    /// Where the rule would load its next unit.
    fn ruled_at(&self) -> usize {
        self.next - (self.at_hand - self.ruled_bits()) as usize / 8
    }

    /// True when bits or bytes were given out that lie past the end of the payload.
    fn is_exhausted(&self) -> bool {
        self.is_short || self.ruled_at() * 8 > self.input.len() * 8 + self.ruled_bits() as usize
    }

    /// The byte after the last unit that the rule has loaded.
    fn length_byte(&mut self) -> u32 {
        let at = self.ruled_at();
        let keep = self.ruled_bits();
        self.buffer &= !(u64::MAX >> keep);
        self.at_hand = keep;
        self.next = at + 1;
        let byte = self.input.get(at).copied();
        self.is_short |= byte.is_none();
        byte.map_or(0, u32::from)
    }

    /// A length whose four bits said 15. On error the value that should have had a shorter form.
    fn long_length(&mut self) -> Result<usize, u32> {
        let first = self.length_byte();
        if first < 255 {
            return Ok(15 + first as usize);
        }
        let mut long = self.length_byte() | self.length_byte() << 8;
        if long == 0 {
            long = (0..4).fold(0, |value, byte| value | self.length_byte() << (8 * byte));
        }
        if long < 15 { Err(long) } else { Ok(long as usize) }
    }
}

/// The last few bytes of the payload, zeros after them.
#[cold]
fn last_word(ahead: &[u8]) -> [u8; 4] {
    let mut word = [0; 4];
    for (to, from) in word.iter_mut().zip(ahead) {
        *to = *from;
    }
    word
}
