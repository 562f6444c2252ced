//! What each language of a collation changes in the order of the tables, and how far that is known.
//!
//! Letters and sequences of their own are facts of the newest published table. For collations of
//! versions 80 and 90 they are inferred, and taken for certain where the alphabet of the language
//! says the same (Latin and Cyrillic letters). Languages without a table here use the common order,
//! and what they may order differently is uncertain.

use extentdb_base::sync::OnceLock;

use super::data::{Generation, Ideographs, Tailoring};
use super::{Collation, CollationVersion};

/// Languages with letters of their own, in the order of the file.
pub(super) const TAILORINGS: [&str; 29] = [
    "Albanian",
    "Croatian",
    "Cyrillic_General",
    "Czech",
    "Danish_Norwegian",
    "Estonian",
    "Finnish_Swedish",
    "Georgian_Modern_Sort",
    "German_PhoneBook",
    "Hindi",
    "Hungarian",
    "Hungarian_Technical",
    "Icelandic",
    "Japanese",
    "Korean_Wansung",
    "Latvian",
    "Lithuanian",
    "Lithuanian_Classic",
    "Macedonian_FYROM_90",
    "Modern_Spanish",
    "Polish",
    "Romanian",
    "Slovak",
    "Slovenian",
    "Thai",
    "Traditional_Spanish",
    "Turkish",
    "Ukrainian",
    "Vietnamese",
];

/// Orders of ideographs, in the order of the file.
pub(super) const IDEOGRAPHS: [&str; 7] = [
    "Chinese_PRC",
    "Chinese_PRC_Stroke",
    "Chinese_Taiwan_Bopomofo",
    "Chinese_Taiwan_Stroke",
    "Japanese",
    "Japanese_Radical_Stroke",
    "Korean_Wansung",
];

/// How well the order of a language's own letters is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// As far as the tables go.
    Tables,
    /// The language has letters of its own among the characters beyond ASCII that no table here
    /// knows.
    Ascii,
    /// Latin letters or sequences of them may have places of their own, too.
    Nothing,
}

/// What a language changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Language {
    pub(super) tailoring: Option<Tailoring>,
    pub(super) ideographs: Option<Ideographs>,
    pub(super) knowledge: Knowledge,
    /// Accents are compared from the end.
    pub(super) reverses_accents: bool,
    /// A letter before a sequence that begins with it counts as the sequence: `ccs` as `cscs`.
    pub(super) doubles_sequences: bool,
    /// W is an accented V: versions 80 and 90 of Finnish_Swedish.
    pub(super) has_w_as_v: bool,
    /// Letters of ASCII whose place is not known.
    pub(super) doubted_letters: u128,
}

/// How far the first difference of two texts decides, when it is one of ASCII letters or digits
/// after nothing but ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlainAscii {
    Always,
    /// When ASCII follows: a mark could make another letter of it.
    BeforeAscii,
    /// Some ASCII letters have places of their own.
    Never,
}

impl PlainAscii {
    /// What holds for nchar under a Windows collation that is not binary.
    pub(super) fn of(collation: Collation) -> PlainAscii {
        static LANGUAGES: OnceLock<[[PlainAscii; 256]; 2]> = OnceLock::new();
        let find_all = || {
            let all = |version: u32| {
                std::array::from_fn(|at| PlainAscii::find(Collation(version | at as u32)))
            };
            [all(0), all(VERSION_100)]
        };
        if collation.has_unknown_bits() {
            return PlainAscii::Never;
        }
        LANGUAGES.get_or_init(find_all)[usize::from(!is_old(collation))]
            [usize::from(collation.language())]
    }

    /// A bit per ASCII character that has no common place under the language of a collation.
    pub(super) fn exceptions(collation: Collation) -> u128 {
        static LANGUAGES: OnceLock<[[u128; 256]; 2]> = OnceLock::new();
        let find_all = || {
            let find = |id: u32| Language::of(Collation(id), Generation::Win10).ascii();
            let all = |version: u32| std::array::from_fn(|at| find(version | at as u32));
            [all(0), all(VERSION_100)]
        };
        LANGUAGES.get_or_init(find_all)[usize::from(!is_old(collation))]
            [usize::from(collation.language())]
    }

    fn find(collation: Collation) -> PlainAscii {
        let language = Language::of(collation, Generation::Win10);
        let is_known = collation.lcid().is_some() && language.knowledge != Knowledge::Nothing;
        match language.tailoring {
            _ if !is_known || language.ascii() != 0 => PlainAscii::Never,
            Some(_) => PlainAscii::BeforeAscii,
            None => PlainAscii::Always,
        }
    }
}

/// The version bits of `_100`.
const VERSION_100: u32 = 2 << 17;

fn is_old(collation: Collation) -> bool {
    matches!(collation.version(), CollationVersion::V80 | CollationVersion::V90)
}

/// W and w.
const W: u128 = 1 << b'W' | 1 << b'w';

impl Language {
    /// The language of a collation, by its index.
    pub(super) fn of(collation: Collation, generation: Generation) -> Language {
        let index = collation.language();
        let is_swedish = index == 0x0A && is_old(collation);
        let is_danish = index == 0x05 && is_old(collation);
        Language {
            tailoring: tailoring(index).map(|number| Tailoring::read(number, generation)),
            ideographs: ideographs(index).map(Ideographs::read),
            knowledge: knowledge(index),
            reverses_accents: index == 0x0B,
            doubles_sequences: matches!(index, 0x0D | 0x2A),
            has_w_as_v: is_swedish,
            doubted_letters: if is_swedish || is_danish { W } else { 0 },
        }
    }
}

impl Language {
    /// A bit per ASCII character that the language treats in its own way, or that begins a sequence
    /// of such characters.
    pub(super) fn ascii(&self) -> u128 {
        self.tailoring.map_or(0, |tailoring| tailoring.ascii) | self.doubted_letters
    }
}

/// The number of a language with letters of its own.
fn tailoring(index: u8) -> Option<usize> {
    let name = match index {
        0x04 => "Czech",
        0x05 | 0x47 | 0x4A => "Danish_Norwegian",
        0x09 => "Traditional_Spanish",
        0x0A => "Finnish_Swedish",
        0x0D => "Hungarian",
        0x0E => "Icelandic",
        0x10 | 0x2B | 0x30 | 0x48 | 0x49 => "Japanese",
        0x11 | 0x40 => "Korean_Wansung",
        0x13 => "Polish",
        0x14 => "Romanian",
        0x15 => "Cyrillic_General",
        0x16 | 0x4C | 0x4E => "Croatian",
        0x17 => "Slovak",
        0x18 => "Albanian",
        0x19 => "Thai",
        0x1A => "Turkish",
        0x1B => "Ukrainian",
        0x1C => "Slovenian",
        0x1D => "Estonian",
        0x1E => "Latvian",
        0x1F => "Lithuanian",
        0x20 => "Vietnamese",
        0x28 => "Modern_Spanish",
        0x29 => "German_PhoneBook",
        0x2A => "Hungarian_Technical",
        0x2D => "Georgian_Modern_Sort",
        0x35 => "Hindi",
        0x3A => "Macedonian_FYROM_90",
        _ => return None,
    };
    TAILORINGS.iter().position(|known| *known == name)
}

/// The number of an order of ideographs.
fn ideographs(index: u8) -> Option<usize> {
    let name = match index {
        0x24 | 0x31 | 0x43 | 0x45 => "Chinese_PRC",
        0x2E | 0x32 | 0x44 | 0x46 => "Chinese_PRC_Stroke",
        0x2F | 0x33 | 0x42 => "Chinese_Taiwan_Bopomofo",
        0x03 | 0x34 | 0x3E | 0x41 => "Chinese_Taiwan_Stroke",
        0x10 | 0x2B | 0x30 | 0x48 => "Japanese",
        0x49 => "Japanese_Radical_Stroke",
        0x11 | 0x40 => "Korean_Wansung",
        _ => return None,
    };
    IDEOGRAPHS.iter().position(|known| *known == name)
}

fn knowledge(index: u8) -> Knowledge {
    match index {
        // Arabic, Greek, Latin1_General, French, Hebrew: the common order.
        0x01 | 0x07 | 0x08 | 0x0B | 0x0C => Knowledge::Tables,
        // Taken from a language beside them: Danish_Greenlandic, Norwegian, Serbian_Latin,
        // Bosnian_Latin, Indic_General, Chinese_Traditional_Pinyin,
        // Chinese_Traditional_Stroke_Order, Chinese_Hong_Kong_Stroke.
        0x35 | 0x3E | 0x45 | 0x46 | 0x47 | 0x4A | 0x4C | 0x4E => Knowledge::Ascii,
        _ if tailoring(index).is_some() || ideographs(index).is_some() => Knowledge::Tables,
        // Languages of other scripts: Dari, Yakut, Uighur, Kazakh, Tatar, Syriac, Divehi,
        // Serbian_Cyrillic, Bosnian_Cyrillic, Urdu, Persian, Bashkir, Bengali, Assamese, Pashto,
        // Tibetan, Khmer, Lao, Nepali, Azeri_Cyrillic.
        0x02
        | 0x06
        | 0x25
        | 0x37
        | 0x39
        | 0x3B
        | 0x3C
        | 0x4D
        | 0x4F..=0x51
        | 0x54
        | 0x59..=0x5C
        | 0x5E
        | 0x5F => Knowledge::Ascii,
        0x62 | 0x64 => Knowledge::Ascii,
        _ => Knowledge::Nothing,
    }
}
