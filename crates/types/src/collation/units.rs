//! Texts as code units: UTF-16LE bytes as they lie, single bytes through a table, everything else
//! decoded.

use extentdb_base::sync::OnceLock;

use crate::text::{CharDecoder, CodePage};

/// A text whose code units can be read at any position.
pub(super) trait Units: Copy {
    /// Number of units.
    fn len(&self) -> usize;

    /// A unit below `len`.
    fn unit(&self, at: usize) -> u16;

    /// The unit, if the text is that long.
    fn get(&self, at: usize) -> Option<u16> {
        (at < self.len()).then(|| self.unit(at))
    }
}

/// UTF-16LE; a dangling odd byte is ignored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide<'a>(pub(super) &'a [[u8; 2]]);

impl Units for Wide<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn unit(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.0[at])
    }
}

/// Bytes as their numbers: those of ASCII are their characters in every code page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Narrow<'a>(pub(super) &'a [u8]);

impl Units for Narrow<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn unit(&self, at: usize) -> u16 {
        u16::from(self.0[at])
    }
}

/// Bytes of a code page of single bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a> {
    bytes: &'a [u8],
    high: &'static [u16; 128],
}

impl Units for Bytes<'_> {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn unit(&self, at: usize) -> u16 {
        let byte = self.bytes[at];
        if byte.is_ascii() { u16::from(byte) } else { self.high[usize::from(byte & 0x7f)] }
    }
}

/// Units that had to be decoded.
impl Units for &[u16] {
    fn len(&self) -> usize {
        <[u16]>::len(self)
    }

    fn unit(&self, at: usize) -> u16 {
        self[at]
    }
}

/// The upper half of a code page of single bytes.
pub(super) struct Half(&'static [u16; 128]);

impl Half {
    /// `None` for a code page whose characters have several bytes. Bytes of an unknown code page
    /// keep their numbers.
    pub(super) fn of(code_page: CodePage) -> Option<Half> {
        static HALVES: [OnceLock<[u16; 128]>; CodePage::Utf8 as usize] =
            [const { OnceLock::new() }; CodePage::Utf8 as usize];
        let is_wide = matches!(
            code_page,
            CodePage::Utf8 | CodePage::Cp932 | CodePage::Cp936 | CodePage::Cp949 | CodePage::Cp950
        );
        let half = HALVES.get(code_page as usize).filter(|_| !is_wide)?;
        Some(Half(
            half.get_or_init(|| std::array::from_fn(|at| character(code_page, at as u8 | 0x80))),
        ))
    }

    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { bytes, high: self.0 }
    }
}

fn character(code_page: CodePage, byte: u8) -> u16 {
    if code_page == CodePage::Unknown {
        return u16::from(byte);
    }
    decode(code_page, &[byte]).first().copied().unwrap_or(0xFFFD)
}

/// The units of char text; a byte that the code page does not know is U+FFFD.
pub(super) fn decode(code_page: CodePage, text: &[u8]) -> Vec<u16> {
    let mut decoded = String::new();
    let mut decoder = CharDecoder::new(code_page);
    decoder.push(text, &mut decoded);
    decoder.finish(&mut decoded);
    decoded.encode_utf16().collect()
}

/// Number of units that both texts begin with.
pub(super) fn common(a: impl Units, b: impl Units) -> usize {
    let len = a.len().min(b.len());
    (0..len).find(|at| a.unit(*at) != b.unit(*at)).unwrap_or(len)
}
