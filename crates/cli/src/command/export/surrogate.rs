//! Unpaired surrogates where the format has no escape for them, or where the user wants another
//! one.

use std::borrow::Cow;
use std::fmt::Write;

use extentdb_types::text::{NText, TextPiece};
use extentdb_types::{Datum, Variant};

use super::sink::RowStop;
use super::style::{Style, Surrogates};

/// A value that can be written, and the number of characters that differ from the stored ones.
pub(super) struct Settled<'d> {
    pub(super) datum: Cow<'d, Datum<'d>>,
    pub(super) changed: u64,
}

/// Makes a value one without unpaired surrogates, unless the format keeps them.
///
/// # Errors
/// [`RowStop::Refused`] where the options say so.
pub(super) fn settle<'d>(datum: &'d Datum<'d>, style: &Style) -> Result<Settled<'d>, RowStop> {
    let as_it_is = Settled { datum: Cow::Borrowed(datum), changed: 0 };
    if style.keeps_surrogates() {
        return Ok(as_it_is);
    }
    let Some(text) = text_of(datum).filter(|text| has_surrogate(text)) else { return Ok(as_it_is) };
    let mut settled = String::with_capacity(text.bytes.len());
    let mut unpaired = Unpaired::default();
    text.for_each_piece(|piece| unpaired.push(piece, style, &mut settled));
    if unpaired.count == 0 {
        return Ok(as_it_is);
    }
    unpaired.refuse(style)?;
    let text = Datum::NChar(NText::from_text(&settled));
    let datum = match datum {
        Datum::Variant(variant) => {
            Datum::Variant(Box::new(Variant { ty: variant.ty, value: text }))
        }
        _ => text,
    };
    Ok(Settled { datum: Cow::Owned(datum), changed: unpaired.count })
}

/// The Unicode text of a value that is or holds one.
fn text_of<'d>(datum: &'d Datum<'d>) -> Option<&'d NText<'d>> {
    match datum {
        Datum::NChar(text) => Some(text),
        Datum::Variant(variant) => match &variant.value {
            Datum::NChar(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn has_surrogate(text: &NText<'_>) -> bool {
    text.bytes.iter().skip(1).step_by(2).any(|high| (0xD8..0xE0).contains(high))
}

/// Unpaired surrogates of one value on its way into a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unpaired {
    pub(super) count: u64,
    first: u16,
}

impl Unpaired {
    /// Appends a piece, an unpaired surrogate as the options say.
    pub(super) fn push(&mut self, piece: TextPiece<'_>, style: &Style, out: &mut String) {
        match piece {
            TextPiece::Text(text) => out.push_str(text),
            TextPiece::Unpaired(unit) => self.replace(unit, style, out),
        }
    }

    /// Counts an unpaired surrogate and writes what stands for it.
    pub(super) fn replace(&mut self, unit: u16, style: &Style, out: &mut String) {
        if self.count == 0 {
            self.first = unit;
        }
        self.count += 1;
        if style.surrogates == Surrogates::Escape {
            // A String takes everything.
            let _ = write!(out, "\\u{unit:04X}");
        } else {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// The value cannot be written when there are any and the options refuse them.
    pub(super) fn refuse(&self, style: &Style) -> Result<(), RowStop> {
        if self.count == 0 || style.surrogates != Surrogates::Error {
            return Ok(());
        }
        Err(RowStop::Refused { unit: self.first })
    }
}
