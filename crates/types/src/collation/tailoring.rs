//! Where a language's order departs from the common Latin order, as far as that is known.
//!
//! Only departures are listed, not the language's own positions: a letter or pair that is listed makes a comparison
//! that depends on it undecided. A language without an entry decides nothing but identity.

/// What is *not* certain in a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tailoring {
    /// ASCII letters with a place of their own, lower case.
    letters: &'static str,
    /// Pairs of ASCII letters that may be one letter of the alphabet, lower case.
    pairs: &'static [&'static str],
    /// Are accented Latin letters ordered by their base letter, but for the exceptions?
    pub(super) has_common_accents: bool,
    /// Accented letters with a place of their own.
    exceptions: &'static str,
    /// Accents may be compared from the end of the text.
    pub(super) may_reverse_accents: bool,
}

const COMMON: Tailoring = Tailoring {
    letters: "",
    pairs: &[],
    has_common_accents: true,
    exceptions: "",
    may_reverse_accents: false,
};
const ASCII_ONLY: Tailoring = Tailoring { has_common_accents: false, ..COMMON };
const HUNGARIAN_PAIRS: &[&str] =
    &["cs", "dz", "gy", "ly", "ny", "sz", "ty", "zs", "cc", "dd", "gg", "ll", "nn", "ss", "tt", "zz"];
const ALBANIAN_PAIRS: &[&str] = &["dh", "gj", "ll", "nj", "rr", "sh", "th", "xh", "zh"];

impl Tailoring {
    /// The departures of a language index; `None` when too little is known.
    pub(super) fn of(language: u8) -> Option<Tailoring> {
        Some(match language {
            // Latin1_General, and languages of other scripts that leave the Latin letters alone.
            0x01 | 0x07 | 0x08 | 0x0C | 0x15 | 0x1B => COMMON,
            // French
            0x0B => Tailoring { may_reverse_accents: true, ..COMMON },
            // Modern_Spanish, Traditional_Spanish
            0x28 => Tailoring { exceptions: "ñÑ", ..COMMON },
            0x09 => Tailoring { exceptions: "ñÑ", pairs: &["ch", "ll"], ..COMMON },
            // German_PhoneBook
            0x29 => Tailoring { exceptions: "äöüÄÖÜ", ..COMMON },
            // Czech, Slovak
            0x04 | 0x17 => Tailoring { pairs: &["ch"], ..ASCII_ONLY },
            // Danish_Norwegian, Norwegian
            0x05 | 0x4A => Tailoring { pairs: &["aa"], letters: "vw", ..ASCII_ONLY },
            // Finnish_Swedish
            0x0A => Tailoring { letters: "vw", ..ASCII_ONLY },
            // Hungarian
            0x0D => Tailoring { pairs: HUNGARIAN_PAIRS, ..ASCII_ONLY },
            // Croatian
            0x16 => Tailoring { pairs: &["lj", "nj"], ..ASCII_ONLY },
            // Albanian
            0x18 => Tailoring { pairs: ALBANIAN_PAIRS, ..ASCII_ONLY },
            // Turkish
            0x1A => Tailoring { letters: "i", ..ASCII_ONLY },
            // Estonian
            0x1D => Tailoring { letters: "vwz", ..ASCII_ONLY },
            // Latvian, Lithuanian
            0x1E | 0x1F => Tailoring { letters: "iy", ..ASCII_ONLY },
            // Icelandic, Polish, Romanian, Slovenian, Thai, Georgian, Indic and Cyrillic alphabets, Syriac, Divehi:
            // ASCII in common order
            0x0E | 0x13 | 0x14 | 0x19 | 0x1C | 0x2D | 0x35 | 0x37 | 0x39..=0x3C => ASCII_ONLY,
            // Chinese, Japanese, Korean
            0x03 | 0x10 | 0x11 | 0x24 | 0x2B | 0x2E..=0x34 | 0x3E | 0x40..=0x46 | 0x48 | 0x49 => ASCII_ONLY,
            _ => return None,
        })
    }

    /// No departure at all within ASCII?
    pub(super) fn leaves_ascii_alone(&self) -> bool {
        self.letters.is_empty() && self.pairs.is_empty()
    }

    /// Is the place of this character uncertain, given the one after it?
    pub(super) fn is_uncertain(&self, code: u32, next: Option<u32>) -> bool {
        let Some(character) = char::from_u32(code) else { return true };
        if !character.is_ascii() {
            return !self.has_common_accents || self.exceptions.contains(character);
        }
        let lower = character.to_ascii_lowercase();
        let next = next.and_then(char::from_u32).map(|next| next.to_ascii_lowercase());
        self.letters.contains(lower)
            || self.pairs.iter().any(|pair| {
                let mut letters = pair.chars();
                letters.next() == Some(lower) && letters.next() == next
            })
    }
}
