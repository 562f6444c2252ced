//! Code table: from the next 15 bits to a symbol and the length of its code.
//!
//! A first table answers codes of up to [`FAST_BITS`] bits; it is small enough for the first-level
//! cache. Longer codes, rare by construction, are found by comparing with the end of each length's
//! range.

use super::TABLE_BYTES;

/// Bits that the first table answers.
const FAST_BITS: u32 = 11;
const FAST_ENTRIES: usize = 1 << FAST_BITS;
/// Longest code of the alphabet, in bits.
const CODE_BITS: u32 = 15;
const CODE_SPACE: u32 = 1 << CODE_BITS;
const SYMBOLS: usize = 2 * TABLE_BYTES;

/// Symbols by code.
pub(super) struct CodeTable {
    /// `symbol << 4 | length` by the first bits of the code; 0 for longer codes.
    fast: [u16; FAST_ENTRIES],
    /// Symbols in the order of their codes.
    by_code: [u16; SYMBOLS],
    /// For each length, the codes of which are left-aligned in 15 bits:
    ranges: [Range; CODE_BITS as usize + 1],
}

/// The codes of one length.
#[derive(Clone, Copy, Default)]
struct Range {
    /// First code of this length.
    start: u32,
    /// After the last code.
    end: u32,
    /// Where its symbols begin in `by_code`.
    symbols_at: u32,
}

impl CodeTable {
    pub(super) fn new() -> Self {
        CodeTable {
            fast: [0; FAST_ENTRIES],
            by_code: [0; SYMBOLS],
            ranges: [Range::default(); CODE_BITS as usize + 1],
        }
    }

    /// Sets up the codes for packed code lengths. On error says how many of the 32,768 codes they
    /// fill.
    pub(super) fn fill(&mut self, packed: &[u8; TABLE_BYTES]) -> Result<(), u32> {
        self.lay_out_ranges(packed)?;
        self.sort_symbols(packed);
        self.fill_fast();
        Ok(())
    }

    fn lay_out_ranges(&mut self, packed: &[u8; TABLE_BYTES]) -> Result<(), u32> {
        let mut counts = [0u32; 16];
        for length in packed.iter().flat_map(|byte| [byte & 15, byte >> 4]) {
            if let Some(count) = counts.get_mut(usize::from(length)) {
                *count += 1;
            }
        }
        let mut code = 0;
        let mut symbols_at = 0;
        for (length, (range, count)) in (0u32..).zip(self.ranges.iter_mut().zip(counts)).skip(1) {
            let end = code + (count << (CODE_BITS - length));
            *range = Range { start: code, end, symbols_at };
            code = end;
            symbols_at += count;
        }
        if code == CODE_SPACE { Ok(()) } else { Err(code) }
    }

    fn sort_symbols(&mut self, packed: &[u8; TABLE_BYTES]) {
        let mut next = self.ranges.map(|range| range.symbols_at);
        let mut assign = |length: u8, symbol: u16| {
            if length > 0
                && let Some(next) = next.get_mut(usize::from(length))
                && let Some(to) = self.by_code.get_mut(*next as usize)
            {
                *to = symbol;
                *next += 1;
            }
        };
        for (pair, byte) in (0u16..).zip(packed) {
            assign(byte & 15, 2 * pair);
            assign(byte >> 4, 2 * pair + 1);
        }
    }

    fn fill_fast(&mut self) {
        let mut rest = self.fast.as_mut_slice();
        for (length, range) in (0u32..).zip(&self.ranges).take(FAST_BITS as usize + 1).skip(1) {
            let run = 1 << (FAST_BITS - length);
            let count = (range.end - range.start) >> (CODE_BITS - length);
            let symbols = self.by_code.iter().skip(range.symbols_at as usize).take(count as usize);
            for symbol in symbols {
                let (entries, after_run) = rest.split_at_mut_checked(run).unwrap_or_default();
                entries.fill(symbol << 4 | length as u16);
                rest = after_run;
            }
        }
        rest.fill(0);
    }

    /// Symbol and code length for the bits at the top of `bits`.
    #[inline(always)]
    pub(super) fn look_up(&self, bits: u64) -> (u32, u32) {
        let entry = self.fast.get((bits >> (64 - FAST_BITS)) as usize).copied().unwrap_or(0);
        if entry == 0 {
            return self.look_up_long(bits);
        }
        (u32::from(entry >> 4), u32::from(entry & 15))
    }

    #[cold]
    fn look_up_long(&self, bits: u64) -> (u32, u32) {
        let code = (bits >> (64 - CODE_BITS)) as u32;
        let mut ranges = (0u32..).zip(&self.ranges).skip(FAST_BITS as usize + 1);
        let found = ranges.find(|(_, range)| code < range.end).and_then(|(length, range)| {
            let nth = code.saturating_sub(range.start) >> (CODE_BITS - length);
            let symbol = self.by_code.get((range.symbols_at + nth) as usize)?;
            Some((u32::from(*symbol), length))
        });
        // The code space is full, so every code is found.
        found.unwrap_or((0, CODE_BITS))
    }
}
