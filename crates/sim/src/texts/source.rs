//! Random texts that are hard on an order: all planes, what comparisons skip, what languages
//! contract.

use extentdb_base::env::{Rng, SplitMix64};

/// UTF-16 units of a text at most, and bytes of one of a code page.
pub(super) const UNITS_MAX: u64 = 40;

/// Pieces that are equal or adjacent under some collation.
const CONFUSABLE: &[&str] = &[
    "a", "A", "b", "e", "E", "é", "è", "e\u{301}", "\u{301}", "\u{323}", "-", "'", " ", "_", ".",
    "0", "1", "\0", "ß", "ss", "æ", "ae", "ø", "o", "ı", "i", "İ", "I", "\u{ad}", "\u{200d}", "ａ",
    "ﬁ", "fi", "²", "2",
];

/// Letters of their own, contractions and expansions of languages.
const OF_LANGUAGES: &[&str] = &[
    "aa", "Aa", "å", "ä", "ö", "ch", "CH", "c", "h", "ll", "ñ", "n", "cs", "dz", "dzs", "ddz",
    "gy", "ny", "sz", "ty", "zs", "ssz", "lj", "nj", "dž", "đ", "ð", "þ", "v", "w", "y", "z", "ž",
    "š", "ş", "ğ", "ơ", "ư", "ĳ",
];

/// Ranges of code points.
const SCRIPTS: &[(u32, u32)] = &[
    (0x20, 0x7e),
    (0xa0, 0xff),
    (0x100, 0x24f),
    (0x300, 0x36f),
    (0x370, 0x3ff),
    (0x400, 0x4ff),
    (0x590, 0x5ff),
    (0x600, 0x6ff),
    (0x900, 0x97f),
    (0xe00, 0xe7f),
    (0x1100, 0x11ff),
    (0x1e00, 0x1fff),
    (0x2000, 0x206f),
    (0x3000, 0x30ff),
    (0x3400, 0x34ff),
    (0x4e00, 0x4fff),
    (0xac00, 0xacff),
    (0xd800, 0xdfff),
    (0xe000, 0xe0ff),
    (0xfe00, 0xffff),
    (0x1_0000, 0x1_04ff),
    (0x1_f300, 0x1_f6ff),
    (0x2_0000, 0x2_00ff),
    (0x10_ff00, 0x10_ffff),
    (0, 0x10_ffff),
];

/// A text as UTF-16, unpaired surrogates among its units.
pub(super) fn any_units(rng: &mut SplitMix64) -> Vec<u16> {
    let mut units = Vec::new();
    let mut script = any(rng, SCRIPTS);
    for _ in 0..rng.below(7) {
        match rng.below(8) {
            0..=2 => units.extend(any(rng, CONFUSABLE).encode_utf16()),
            3 => units.extend(any(rng, OF_LANGUAGES).encode_utf16()),
            4 => script = any(rng, SCRIPTS),
            _ => push(script.0 + rng.below(u64::from(script.1 - script.0) + 1) as u32, &mut units),
        }
    }
    units.extend(vec![0x20; if rng.below(6) == 0 { 1 + rng.below(3) as usize } else { 0 }]);
    units.truncate(UNITS_MAX as usize);
    units
}

fn push(code_point: u32, units: &mut Vec<u16>) {
    match char::from_u32(code_point) {
        Some(it) => units.extend(it.encode_utf16(&mut [0; 2]).iter()),
        None => units.push(code_point as u16),
    }
}

/// A text of a code page: any bytes.
pub(super) fn any_bytes(rng: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.below(7) {
        match rng.below(4) {
            0 => bytes.push(rng.below(256) as u8),
            1 => bytes.extend(any(rng, &["co-op", "coop", "O'Neil", "a_b", "a.b", "ab"]).bytes()),
            _ => bytes.push(b"abAB-' _.019\0"[rng.below(13) as usize]),
        }
    }
    bytes.truncate(UNITS_MAX as usize);
    bytes
}

/// One that is often equal to this text: letters of the other case, blanks at the end.
pub(super) fn varied(rng: &mut SplitMix64, bytes: &[u8], is_wide: bool) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let step = if is_wide { 2 } else { 1 };
    for at in (0..bytes.len()).step_by(step) {
        let is_ascii = !is_wide || bytes[at + 1] == 0;
        if is_ascii && bytes[at].is_ascii_alphabetic() && rng.below(2) == 0 {
            bytes[at] ^= 0x20;
        }
    }
    if bytes.len() + step <= step * UNITS_MAX as usize && rng.below(3) == 0 {
        bytes.extend(&b" \0"[..step]);
    }
    bytes
}

fn any<T: Copy>(rng: &mut SplitMix64, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}
