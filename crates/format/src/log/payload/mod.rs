//! Payloads: what a record says beyond its header, by operation.
//!
//! One type per operation: a fixed part made of fields at known offsets, and elements with names.
//! Bytes of unknown meaning are not dropped: those of the fixed part go to `residue`, elements
//! nobody can read keep their bytes and are counted by [`Payload::unknown_bytes`]. An operation
//! without a type here, and a record that does not have the shape of its operation, is
//! [`Payload::Opaque`]; neither is damage. Payloads of format 2 are not decoded.
//!
//! Invariants
//! - `write(read(record))` gives the record's bytes back, apart from padding.

pub mod checkpoint;
mod dispatch;
pub mod mark;
pub mod page;
pub mod row;
pub mod space;
#[cfg(test)]
mod tests;
pub mod xact;

pub use dispatch::Payload;

use super::field::{FixedPart, ResidueBytes};
use super::record::{ElementList, RECORD_HEADER_BYTES, RecordRef, Slices, Tail};

/// A payload type: a fixed part joined with elements.
pub(crate) trait Body<'a>: Sized {
    /// The fixed part.
    type Fixed: FixedPart;

    /// Joins the two; `None` when the elements are not what the operation has.
    fn join(fixed: Self::Fixed, elements: Option<Slices<'a>>) -> Option<Self>;
    /// The fixed part.
    fn fixed(&self) -> &Self::Fixed;
    /// The elements; `None` when the operation has no variable part.
    fn elements(&self) -> Option<ElementList<'_>>;
    /// Bytes of elements whose meaning is unknown.
    fn unknown_elements(&self) -> usize {
        0
    }

    /// Reads the payload of a sound record.
    fn read(record: &RecordRef<'a>) -> Option<Self> {
        let elements = match record.tail() {
            Tail::Absent => None,
            Tail::Elements(slices) => Some(slices.clone()),
            Tail::Raw(_) => return None,
        };
        Self::join(Self::Fixed::read(record.fixed())?, elements)
    }
}

/// Makes a fixed part the whole payload. The second argument is what it writes as elements: none at
/// all, or an empty list, which is a count of 0.
macro_rules! body_without_elements {
    ($name:ident, $elements:expr) => {
        impl Body<'_> for $name {
            type Fixed = $name;

            fn join(fixed: $name, elements: Option<Slices<'_>>) -> Option<Self> {
                let expected: Option<ElementList<'_>> = $elements;
                let fits = elements.as_ref().map(|e| e.len()) == expected.map(|e| e.len());
                fits.then_some(fixed)
            }

            fn fixed(&self) -> &$name {
                self
            }

            fn elements(&self) -> Option<ElementList<'_>> {
                $elements
            }
        }
    };
}
pub(crate) use body_without_elements;

/// A fixed part with elements of unknown meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undecoded<'a, F> {
    /// The fixed part.
    pub fixed: F,
    /// Elements of unknown meaning.
    pub more: Slices<'a>,
}

impl<'a, F: FixedPart> Body<'a> for Undecoded<'a, F> {
    type Fixed = F;

    fn join(fixed: F, elements: Option<Slices<'a>>) -> Option<Self> {
        Some(Undecoded { fixed, more: elements? })
    }

    fn fixed(&self) -> &F {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(element_list(self.more.iter().copied()))
    }

    fn unknown_elements(&self) -> usize {
        len_of(&self.more)
    }
}

/// A fixed part with elements of unknown meaning that only some formats have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MayHaveElements<'a, F> {
    /// The fixed part.
    pub fixed: F,
    /// Elements of unknown meaning; `None`: there is no variable part.
    pub elements: Option<Slices<'a>>,
}

impl<'a, F: FixedPart> Body<'a> for MayHaveElements<'a, F> {
    type Fixed = F;

    fn join(fixed: F, elements: Option<Slices<'a>>) -> Option<Self> {
        Some(MayHaveElements { fixed, elements })
    }

    fn fixed(&self) -> &F {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        self.elements.as_ref().map(|all| element_list(all.iter().copied()))
    }

    fn unknown_elements(&self) -> usize {
        self.elements.as_deref().map_or(0, len_of)
    }
}

/// Elements as they are about to be written.
fn element_list<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> ElementList<'b> {
    parts.into_iter().map(Into::into).collect()
}

/// Bytes of elements whose meaning is unknown.
fn len_of(elements: &[&[u8]]) -> usize {
    elements.iter().map(|e| e.len()).sum()
}

/// No element or one; `None` when there are more.
fn lone_element<'a>(elements: &Slices<'a>) -> Option<Option<&'a [u8]>> {
    match elements.as_slice() {
        [] => Some(None),
        [one] => Some(Some(*one)),
        _ => None,
    }
}

/// A payload whose meaning is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opaque<'a> {
    /// The fixed part after the header.
    pub residue: ResidueBytes,
    /// The elements, when there are such.
    pub elements: Option<Slices<'a>>,
    /// What follows the fixed part when that is not elements.
    pub tail: &'a [u8],
}

impl<'a> Opaque<'a> {
    /// Keeps everything of a record after its header.
    fn read(record: &RecordRef<'a>) -> Self {
        let residue = ResidueBytes::all(record.fixed(), RECORD_HEADER_BYTES);
        match record.tail() {
            Tail::Absent => Opaque { residue, elements: None, tail: &[] },
            Tail::Elements(slices) => Opaque { residue, elements: Some(slices.clone()), tail: &[] },
            Tail::Raw(tail) => Opaque { residue, elements: None, tail },
        }
    }

    pub(crate) fn unknown_bytes(&self) -> usize {
        self.residue.len() + self.elements.as_deref().map_or(0, len_of) + self.tail.len()
    }
}
