//! Page protection: checksum and torn-page signature.
//!
//! The page header's `flag_bits` say which of the two, if any, the `checksum` field (bytes 60..64)
//! holds.
//!
//! **Checksum** (0x0200). The page is 16 sectors of 128 u32, with the field itself taken as 0. The
//! words of each sector are XORed; the result of sector *s* is rotated left by 15 - *s*; the 16
//! results are XORed.
//!
//! **Torn-page signature** (0x0100). The field holds 16 pairs of bits, pair *s* in bits 2*s* and
//! 2*s* + 1. Pair 0 is the signature, which changes with every write. In sectors 1..15 the two low
//! bits of the last byte were replaced by the signature, and pair *s* keeps the bits that stood
//! there. A sector whose bits differ was not written with the others. Nothing else on such a page
//! may be read before [`restore_torn`]: sector 15 ends with the slot array.
//!
//! Both observed on every protected page of real files of versions 539 to 904.

use extentdb_base::size::SECTOR_BYTES;

use super::PageBytes;
use super::header::{FLAG_CHECKSUM, FLAG_TORN_BITS, PageHeader};

/// Sectors of a page.
const SECTORS: usize = 16;

/// What the protection of a page says about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// Neither flag is set: nothing can be said.
    None,
    /// A checksum, as stored and as computed now.
    Checksum {
        /// Value in the header.
        stored: u32,
        /// Value of the bytes.
        computed: u32,
    },
    /// A torn-page signature. Bit *s* of `torn_sectors` is set when sector *s* does not carry it.
    Torn {
        /// The two bits of pair 0.
        signature: u8,
        /// One bit per sector.
        torn_sectors: u16,
    },
}

impl Protection {
    /// False when the bytes are provably not those that were written.
    pub fn is_intact(self) -> bool {
        match self {
            Protection::None => true,
            Protection::Checksum { stored, computed } => stored == computed,
            Protection::Torn { torn_sectors, .. } => torn_sectors == 0,
        }
    }
}

/// The checksum of a page. The checksum field itself does not count.
#[inline]
pub fn compute(page: &PageBytes) -> u32 {
    let (sectors, _) = page.as_chunks::<SECTOR_BYTES>();
    let mut sum = 0u32;
    for (s, sector) in (0u32..).zip(sectors) {
        sum ^= xor_words(sector).rotate_left(15 - s);
    }
    // The field lies in sector 0, which is rotated by 15; XOR takes it out again.
    sum ^ PageHeader::of(page).checksum.get().rotate_left(15)
}

/// XOR of the 128 words of a sector, in eight lanes of u64 so that the compiler uses vector
/// registers.
#[inline]
fn xor_words(sector: &[u8; SECTOR_BYTES]) -> u32 {
    let mut lanes = [0u64; 8];
    let (rows, _) = sector.as_chunks::<64>();
    for row in rows {
        let (words, _) = row.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane ^= u64::from_le_bytes(*word);
        }
    }
    let folded = lanes.into_iter().fold(0, |a, b| a ^ b);
    (folded ^ (folded >> 32)) as u32
}

/// Checks a page as it was read, before anything is restored.
#[inline]
pub fn verify(page: &PageBytes) -> Protection {
    let header = PageHeader::of(page);
    let flags = header.flag_bits.get();
    if flags & FLAG_CHECKSUM != 0 {
        Protection::Checksum { stored: header.checksum.get(), computed: compute(page) }
    } else if flags & FLAG_TORN_BITS != 0 {
        verify_torn(page, header.checksum.get())
    } else {
        Protection::None
    }
}

fn verify_torn(page: &PageBytes, pairs: u32) -> Protection {
    let signature = (pairs & 3) as u8;
    let (sectors, _) = page.as_chunks::<SECTOR_BYTES>();
    let mut torn_sectors = 0u16;
    for (s, sector) in sectors.iter().enumerate().skip(1) {
        let [.., last] = sector;
        if last & 3 != signature {
            torn_sectors |= 1 << s;
        }
    }
    Protection::Torn { signature, torn_sectors }
}

/// Puts the displaced bits of a page with a torn-page signature back, so that it can be read. Does
/// nothing to other pages. Call [`verify`] first: afterwards the signature is gone.
pub fn restore_torn(page: &mut PageBytes) {
    let header = PageHeader::of(page);
    let flags = header.flag_bits.get();
    if flags & FLAG_CHECKSUM != 0 || flags & FLAG_TORN_BITS == 0 {
        return;
    }
    let pairs = header.checksum.get();
    let (sectors, _) = page.as_chunks_mut::<SECTOR_BYTES>();
    for (s, sector) in sectors.iter_mut().enumerate().take(SECTORS).skip(1) {
        let [.., last] = sector;
        *last = (*last & 0xfc) | ((pairs >> (2 * s)) & 3) as u8;
    }
}

/// Protects a finished page by a checksum. The last thing to do before the page is written.
pub fn seal(page: &mut PageBytes) {
    let header = PageHeader::of_mut(page);
    let flags = header.flag_bits.get();
    header.flag_bits.set(flags & !FLAG_TORN_BITS | FLAG_CHECKSUM);
    let sum = compute(page);
    PageHeader::of_mut(page).checksum.set(sum);
}

/// Protects a finished page by a torn-page signature, 1 or 2, which should differ from that of the
/// image it replaces.
pub fn seal_torn(page: &mut PageBytes, signature: u8) {
    let signature = signature & 3;
    let mut pairs = u32::from(signature);
    let (sectors, _) = page.as_chunks_mut::<SECTOR_BYTES>();
    for (s, sector) in sectors.iter_mut().enumerate().take(SECTORS).skip(1) {
        let [.., last] = sector;
        pairs |= u32::from(*last & 3) << (2 * s);
        *last = (*last & 0xfc) | signature;
    }
    let header = PageHeader::of_mut(page);
    let flags = header.flag_bits.get();
    header.flag_bits.set(flags & !FLAG_CHECKSUM | FLAG_TORN_BITS);
    header.checksum.set(pairs);
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    fn random_page(seed: u64) -> PageBytes {
        let mut rng = SplitMix64::new(seed);
        std::array::from_fn(|_| rng.next_u64() as u8)
    }

    /// The rule as the format description words it.
    fn by_the_book(page: &PageBytes) -> u32 {
        let mut page = *page;
        page[60..64].fill(0);
        (0..16).fold(0, |sum, s| {
            let words = page[512 * s..512 * (s + 1)].chunks(4);
            let x = words.fold(0, |x, w| x ^ u32::from_le_bytes(w.try_into().unwrap()));
            sum ^ x.rotate_left(15 - s as u32)
        })
    }

    #[test]
    fn the_fast_checksum_is_the_checksum() {
        for seed in 0..50 {
            let page = random_page(seed);
            assert_eq!(compute(&page), by_the_book(&page));
        }
    }

    #[test]
    fn a_sealed_page_is_intact_until_any_bit_flips() {
        let mut page = random_page(1);
        seal(&mut page);
        assert!(verify(&page).is_intact());
        for bit in (0..8192 * 8).step_by(997) {
            // A flip in flag_bits may change which protection applies; every other flip must be
            // seen.
            if (4..6).contains(&(bit / 8)) {
                continue;
            }
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&page).is_intact(), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_torn_sector_is_named_and_displaced_bits_come_back() {
        let original = random_page(2);
        let mut page = original;
        seal_torn(&mut page, 1);
        assert_eq!(verify(&page), Protection::Torn { signature: 1, torn_sectors: 0 });
        page[512 * 7 + 511] ^= 3;
        assert_eq!(verify(&page), Protection::Torn { signature: 1, torn_sectors: 1 << 7 });
        page[512 * 7 + 511] ^= 3;
        restore_torn(&mut page);
        assert_eq!(page[64..], original[64..]);
    }
}
