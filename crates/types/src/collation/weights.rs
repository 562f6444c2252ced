//! Primary weights of the characters whose order is certain.
//!
//! ```text
//! 0x0100        blank                    lowest
//! 0x02xx        symbols                  in the order of SYMBOLS
//! 0x0300-0x0309 digits 0-9
//! 0x0400-0x0419 letters a-z              accent and case are secondary
//! ```
//!
//! Classes (blank < symbols < digits < letters) are verified on 75,000 adjacent index keys of real files. The order
//! among symbols holds for the tables of versions 100 and 140; older tables order symbols differently.

/// Symbols in the order of the version 100 tables.
const SYMBOLS: &[u8; 32] = b"_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

const BLANK: u16 = 0x0100;
const SYMBOL: u16 = 0x0200;
const DIGIT: u16 = 0x0300;
const LETTER: u16 = 0x0400;

/// What one character contributes to the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    /// Compared first.
    pub(super) primary: u16,
    /// 0 = none. Equal numbers are equal accents; the order between two accents is not certain.
    pub(super) accent: u8,
    /// Upper case: compared last, lower before upper.
    pub(super) is_upper: bool,
}

impl Weight {
    /// Is this a symbol other than the blank?
    pub(super) fn is_symbol(self) -> bool {
        self.primary & 0xFF00 == SYMBOL
    }
}

/// The weights of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weights {
    /// One weight.
    One(Weight),
    /// Two: ß as ss, æ as ae.
    Two(Weight, Weight),
    /// Nothing certain is known.
    Unknown,
}

/// Weights of ASCII characters.
static ASCII: [Weights; 128] = ascii_table();

const fn ascii_table() -> [Weights; 128] {
    let mut table = [Weights::Unknown; 128];
    table[b' ' as usize] = plain(BLANK);
    let mut at = 0;
    while at < SYMBOLS.len() {
        table[SYMBOLS[at] as usize] = plain(SYMBOL + at as u16);
        at += 1;
    }
    let mut digit = 0;
    while digit < 10 {
        table[b'0' as usize + digit as usize] = plain(DIGIT + digit);
        digit += 1;
    }
    let mut letter = 0;
    while letter < 26 {
        table[b'a' as usize + letter as usize] = plain(LETTER + letter);
        table[b'A' as usize + letter as usize] =
            Weights::One(Weight { primary: LETTER + letter, accent: 0, is_upper: true });
        letter += 1;
    }
    table
}

const fn plain(primary: u16) -> Weights {
    Weights::One(Weight { primary, accent: 0, is_upper: false })
}

const fn letter(base: u8, accent: u8) -> Weight {
    let is_upper = base.is_ascii_uppercase();
    Weight { primary: LETTER + (base.to_ascii_lowercase() - b'a') as u16, accent, is_upper }
}

/// Stroke of ø: an accent of its own that no decomposition gives.
pub(super) const STROKE: u8 = 100;
/// The part of an expansion that tells ß from ss and æ from ae.
pub(super) const LIGATURE: u8 = 101;

/// The weights of a code point.
pub(super) fn of(code: u32) -> Weights {
    match code {
        0..=0x7F => ASCII[code as usize],
        0xD8 => Weights::One(letter(b'O', STROKE)),
        0xF8 => Weights::One(letter(b'o', STROKE)),
        0xDF => Weights::Two(letter(b's', LIGATURE), letter(b's', LIGATURE)),
        0xC6 => Weights::Two(letter(b'A', LIGATURE), letter(b'E', LIGATURE)),
        0xE6 => Weights::Two(letter(b'a', LIGATURE), letter(b'e', LIGATURE)),
        0x152 => Weights::Two(letter(b'O', LIGATURE), letter(b'E', LIGATURE)),
        0x153 => Weights::Two(letter(b'o', LIGATURE), letter(b'e', LIGATURE)),
        _ => ACCENTED.binary_search_by_key(&code, |(accented, _, _)| u32::from(*accented)).map_or(
            Weights::Unknown,
            |at| {
                let (_, base, accent) = ACCENTED[at];
                Weights::One(letter(base, accent))
            },
        ),
    }
}

/// The weight of an ASCII letter, digit or blank; `None` of anything else.
pub(super) fn of_plain(code: u16) -> Option<Weight> {
    match ASCII.get(usize::from(code)) {
        Some(Weights::One(weight)) if !weight.is_symbol() => Some(*weight),
        _ => None,
    }
}

/// Letters with one accent: code point, base letter, number of the accent. From the canonical decompositions of
/// Unicode, Latin-1 and Latin Extended-A.
#[rustfmt::skip]
static ACCENTED: &[(u16, u8, u8)] = &[
    (0x0C0, b'A', 1), (0x0C1, b'A', 2), (0x0C2, b'A', 3), (0x0C3, b'A', 4), (0x0C4, b'A', 5),
    (0x0C5, b'A', 6), (0x0C7, b'C', 7), (0x0C8, b'E', 1), (0x0C9, b'E', 2), (0x0CA, b'E', 3),
    (0x0CB, b'E', 5), (0x0CC, b'I', 1), (0x0CD, b'I', 2), (0x0CE, b'I', 3), (0x0CF, b'I', 5),
    (0x0D1, b'N', 4), (0x0D2, b'O', 1), (0x0D3, b'O', 2), (0x0D4, b'O', 3), (0x0D5, b'O', 4),
    (0x0D6, b'O', 5), (0x0D9, b'U', 1), (0x0DA, b'U', 2), (0x0DB, b'U', 3), (0x0DC, b'U', 5),
    (0x0DD, b'Y', 2), (0x0E0, b'a', 1), (0x0E1, b'a', 2), (0x0E2, b'a', 3), (0x0E3, b'a', 4),
    (0x0E4, b'a', 5), (0x0E5, b'a', 6), (0x0E7, b'c', 7), (0x0E8, b'e', 1), (0x0E9, b'e', 2),
    (0x0EA, b'e', 3), (0x0EB, b'e', 5), (0x0EC, b'i', 1), (0x0ED, b'i', 2), (0x0EE, b'i', 3),
    (0x0EF, b'i', 5), (0x0F1, b'n', 4), (0x0F2, b'o', 1), (0x0F3, b'o', 2), (0x0F4, b'o', 3),
    (0x0F5, b'o', 4), (0x0F6, b'o', 5), (0x0F9, b'u', 1), (0x0FA, b'u', 2), (0x0FB, b'u', 3),
    (0x0FC, b'u', 5), (0x0FD, b'y', 2), (0x0FF, b'y', 5), (0x100, b'A', 8), (0x101, b'a', 8),
    (0x102, b'A', 9), (0x103, b'a', 9), (0x104, b'A', 10), (0x105, b'a', 10), (0x106, b'C', 2),
    (0x107, b'c', 2), (0x108, b'C', 3), (0x109, b'c', 3), (0x10A, b'C', 11), (0x10B, b'c', 11),
    (0x10C, b'C', 12), (0x10D, b'c', 12), (0x10E, b'D', 12), (0x10F, b'd', 12), (0x112, b'E', 8),
    (0x113, b'e', 8), (0x114, b'E', 9), (0x115, b'e', 9), (0x116, b'E', 11), (0x117, b'e', 11),
    (0x118, b'E', 10), (0x119, b'e', 10), (0x11A, b'E', 12), (0x11B, b'e', 12), (0x11C, b'G', 3),
    (0x11D, b'g', 3), (0x11E, b'G', 9), (0x11F, b'g', 9), (0x120, b'G', 11), (0x121, b'g', 11),
    (0x122, b'G', 7), (0x123, b'g', 7), (0x124, b'H', 3), (0x125, b'h', 3), (0x128, b'I', 4),
    (0x129, b'i', 4), (0x12A, b'I', 8), (0x12B, b'i', 8), (0x12C, b'I', 9), (0x12D, b'i', 9),
    (0x12E, b'I', 10), (0x12F, b'i', 10), (0x130, b'I', 11), (0x134, b'J', 3), (0x135, b'j', 3),
    (0x136, b'K', 7), (0x137, b'k', 7), (0x139, b'L', 2), (0x13A, b'l', 2), (0x13B, b'L', 7),
    (0x13C, b'l', 7), (0x13D, b'L', 12), (0x13E, b'l', 12), (0x143, b'N', 2), (0x144, b'n', 2),
    (0x145, b'N', 7), (0x146, b'n', 7), (0x147, b'N', 12), (0x148, b'n', 12), (0x14C, b'O', 8),
    (0x14D, b'o', 8), (0x14E, b'O', 9), (0x14F, b'o', 9), (0x150, b'O', 13), (0x151, b'o', 13),
    (0x154, b'R', 2), (0x155, b'r', 2), (0x156, b'R', 7), (0x157, b'r', 7), (0x158, b'R', 12),
    (0x159, b'r', 12), (0x15A, b'S', 2), (0x15B, b's', 2), (0x15C, b'S', 3), (0x15D, b's', 3),
    (0x15E, b'S', 7), (0x15F, b's', 7), (0x160, b'S', 12), (0x161, b's', 12), (0x162, b'T', 7),
    (0x163, b't', 7), (0x164, b'T', 12), (0x165, b't', 12), (0x168, b'U', 4), (0x169, b'u', 4),
    (0x16A, b'U', 8), (0x16B, b'u', 8), (0x16C, b'U', 9), (0x16D, b'u', 9), (0x16E, b'U', 6),
    (0x16F, b'u', 6), (0x170, b'U', 13), (0x171, b'u', 13), (0x172, b'U', 10), (0x173, b'u', 10),
    (0x174, b'W', 3), (0x175, b'w', 3), (0x176, b'Y', 3), (0x177, b'y', 3), (0x178, b'Y', 5),
    (0x179, b'Z', 2), (0x17A, b'z', 2), (0x17B, b'Z', 11), (0x17C, b'z', 11), (0x17D, b'Z', 12),
    (0x17E, b'z', 12),
];
