//! Fields at fixed offsets, and the bytes between them.
//!
//! A log structure has a part whose fields lie at known offsets; what lies between them is of
//! unknown meaning. The macro [`fixed_part!`] turns one table of `offset name: type` into a struct,
//! its reader and its writer, so that the two cannot disagree, and keeps every byte outside the
//! table in a field named `residue`.
//!
//! Invariants
//! - The offsets of a table ascend and its fields do not overlap (a test walks all tables).
//! - `write(read(bytes)) == bytes`: each byte belongs to exactly one field or to the residue.

use std::ops::Range;

use extentdb_base::{AllocUnitId, HobtId, Lsn, PageId, XactId};
use smallvec::SmallVec;

/// Something with a fixed size on disk.
pub(crate) trait Field: Sized {
    /// Bytes on disk.
    const BYTES: usize;
    /// False when a structure may end before this field.
    const REQUIRED: bool = true;
    /// Reads the field at `at`; `None` when it does not fit.
    fn read(bytes: &[u8], at: usize) -> Option<Self>;
    /// Writes the field at `at`, which must fit.
    fn write(&self, bytes: &mut [u8], at: usize);
}

/// `N` bytes at `at`.
pub(crate) fn read_chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Puts `value` at `at`. The caller has measured: a value that does not fit is left out.
pub(crate) fn write_chunk(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(target) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..value.len())) {
        target.copy_from_slice(value);
    }
}

macro_rules! plain_field {
    ($($ty:ty [$bytes:literal]: $read:expr, $write:expr;)*) => {$(
        impl Field for $ty {
            const BYTES: usize = $bytes;
            fn read(bytes: &[u8], at: usize) -> Option<Self> {
                read_chunk::<$bytes>(bytes, at).map($read)
            }
            fn write(&self, bytes: &mut [u8], at: usize) {
                let write: fn(&$ty) -> [u8; $bytes] = $write;
                write_chunk(bytes, at, &write(self));
            }
        }
    )*};
}

plain_field! {
    u8 [1]: |[b]| b, |v| [*v];
    u16 [2]: u16::from_le_bytes, |v| v.to_le_bytes();
    u32 [4]: u32::from_le_bytes, |v| v.to_le_bytes();
    u64 [8]: u64::from_le_bytes, |v| v.to_le_bytes();
    i64 [8]: i64::from_le_bytes, |v| v.to_le_bytes();
    AllocUnitId [8]: |b| AllocUnitId(i64::from_le_bytes(b)), |v| v.0.to_le_bytes();
    HobtId [8]: |b| HobtId(i64::from_le_bytes(b)), |v| v.0.to_le_bytes();
    Lsn [10]: Lsn::from_bytes, |v| v.to_bytes();
    PageId [6]: PageId::from_bytes, |v| v.to_bytes();
    XactId [6]: xact_from_bytes, |v| xact_to_bytes(*v);
}

/// The disk form of a transaction id: low u32, high u16.
fn xact_from_bytes([l0, l1, l2, l3, h0, h1]: [u8; 6]) -> XactId {
    XactId {
        high: u16::from_le_bytes([h0, h1]),
        low: u32::from_le_bytes([l0, l1, l2, l3]),
    }
}

fn xact_to_bytes(id: XactId) -> [u8; 6] {
    let [l0, l1, l2, l3] = id.low.to_le_bytes();
    let [h0, h1] = id.high.to_le_bytes();
    [l0, l1, l2, l3, h0, h1]
}

impl<T: Field> Field for Option<T> {
    const BYTES: usize = T::BYTES;
    const REQUIRED: bool = false;

    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        Some(T::read(bytes, at))
    }

    fn write(&self, bytes: &mut [u8], at: usize) {
        match self {
            Some(value) => value.write(bytes, at),
            // A structure that reaches over the field without a value for it: zero means "none"
            // throughout the log. One that ends within the field keeps those bytes as residue.
            None if at + T::BYTES <= bytes.len() => {
                bytes.iter_mut().skip(at).take(T::BYTES).for_each(|b| *b = 0)
            }
            None => {}
        }
    }
}

impl<T: Field + Default + Copy, const N: usize> Field for [T; N] {
    const BYTES: usize = T::BYTES * N;

    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let mut all = [T::default(); N];
        for (i, one) in all.iter_mut().enumerate() {
            *one = T::read(bytes, at + i * T::BYTES)?;
        }
        Some(all)
    }

    fn write(&self, bytes: &mut [u8], at: usize) {
        for (i, one) in self.iter().enumerate() {
            one.write(bytes, at + i * T::BYTES);
        }
    }
}

/// Where a field of a structure is: what the tables of [`fixed_part!`] turn into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRange {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) required: bool,
}

impl FieldRange {
    pub(crate) const fn of<T: Field>(at: usize) -> Self {
        FieldRange { at, bytes: T::BYTES, required: T::REQUIRED }
    }

    pub(crate) const fn end(self) -> usize {
        self.at + self.bytes
    }
}

/// A structure made by [`fixed_part!`].
pub(crate) trait FixedPart: Sized {
    /// The fields, ascending.
    const FIELDS: &'static [FieldRange];
    /// Offset of the first byte that belongs to the structure.
    const START: usize;

    /// Reads the structure from bytes that end where it ends; `None` when a required field does not
    /// fit.
    fn read(bytes: &[u8]) -> Option<Self>;
    /// Writes the structure over all of `bytes` from its start on.
    fn write(&self, bytes: &mut [u8]);
    /// The bytes outside the fields.
    fn residue(&self) -> &ResidueBytes;

    /// The bytes the structure must have for its required fields to fit.
    fn least_bytes() -> usize {
        Self::FIELDS
            .iter()
            .filter(|p| p.required)
            .map(|p| p.end())
            .max()
            .unwrap_or(0)
            .max(Self::START)
    }
}

/// The ranges of `start..end` that no field of `fields` covers. A field that reaches over `end`
/// covers nothing.
fn gaps(
    fields: &'static [FieldRange],
    start: usize,
    end: usize,
) -> impl Iterator<Item = Range<usize>> {
    let mut next = start;
    let fitting = fields.iter().filter(move |p| p.end() <= end).map(|p| (p.at, p.end()));
    fitting.chain([(end, end)]).filter_map(move |(from, to)| {
        let gap = next..from;
        next = to.max(next);
        (gap.start < gap.end).then_some(gap)
    })
}

/// Bytes of unknown meaning, in file order. They are kept so that nothing is lost, and counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResidueBytes(SmallVec<[u8; 32]>);

impl ResidueBytes {
    /// The bytes, in file order, joined.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when every byte of the structure has a known meaning.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of the bytes are not zero.
    pub fn nonzero(&self) -> usize {
        self.0.iter().filter(|b| **b != 0).count()
    }

    /// All of `bytes` from `start` on, for a structure nothing is known about.
    pub(crate) fn all(bytes: &[u8], start: usize) -> Self {
        ResidueBytes(SmallVec::from_slice(bytes.get(start..).unwrap_or_default()))
    }

    /// What lies in `bytes[start..]` outside `fields`.
    pub(crate) fn collect(bytes: &[u8], start: usize, fields: &'static [FieldRange]) -> Self {
        let mut stored = SmallVec::new();
        for gap in gaps(fields, start, bytes.len()) {
            stored.extend_from_slice(bytes.get(gap).unwrap_or_default());
        }
        ResidueBytes(stored)
    }

    /// Puts the bytes back where [`collect`](Self::collect) found them; what is missing becomes
    /// zero.
    pub(crate) fn spread(&self, bytes: &mut [u8], start: usize, fields: &'static [FieldRange]) {
        let mut stored = self.0.iter().copied();
        for gap in gaps(fields, start, bytes.len()) {
            for target in bytes.get_mut(gap).unwrap_or_default() {
                *target = stored.next().unwrap_or(0);
            }
        }
    }
}

impl From<&[u8]> for ResidueBytes {
    fn from(bytes: &[u8]) -> Self {
        ResidueBytes(SmallVec::from_slice(bytes))
    }
}

/// Defines a structure by its table; see the module's head.
///
/// `from` names the offset of the first byte that belongs to the structure: 0, or 18 hex for the
/// part of a record after the common header.
macro_rules! fixed_part {
    ($(#[$doc:meta])* pub struct $name:ident from $start:literal {
        $($(#[$field_doc:meta])* $at:literal $field:ident: $ty:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = concat!("`", stringify!($at), "`")] $(#[$field_doc])* pub $field: $ty,)*
            /// The bytes outside the fields above.
            pub residue: $crate::log::field::ResidueBytes,
        }

        impl $crate::log::field::FixedPart for $name {
            const FIELDS: &'static [$crate::log::field::FieldRange] =
                &[$($crate::log::field::FieldRange::of::<$ty>($at),)*];
            const START: usize = $start;

            fn read(bytes: &[u8]) -> Option<Self> {
                Some($name {
                    $($field: $crate::log::field::Field::read(bytes, $at)?,)*
                    residue: $crate::log::field::ResidueBytes::collect(
                        bytes,
                        Self::START,
                        Self::FIELDS,
                    ),
                })
            }

            fn write(&self, bytes: &mut [u8]) {
                self.residue.spread(bytes, Self::START, Self::FIELDS);
                $($crate::log::field::Field::write(&self.$field, bytes, $at);)*
            }

            fn residue(&self) -> &$crate::log::field::ResidueBytes {
                &self.residue
            }
        }
    };
}
pub(crate) use fixed_part;

#[cfg(test)]
mod tests {
    use super::*;

    fixed_part! {
        /// A structure of a few fields with holes.
        #[allow(unreachable_pub, reason = "the macro makes public structures")]
        pub struct Sample from 0x2 {
            0x2 small: u8,
            0x4 page: PageId,
            0xc late: Option<u16>,
        }
    }

    #[test]
    fn bytes_outside_the_table_are_kept_and_put_back() {
        let bytes: Vec<u8> = (0..16).collect();
        let sample = Sample::read(&bytes).unwrap();
        assert_eq!(sample.small, 2);
        assert_eq!(sample.page, PageId::new(0x0908, 0x0706_0504));
        assert_eq!(sample.late, Some(0x0d0c));
        assert_eq!(sample.residue.as_bytes(), [3, 10, 11, 14, 15]);
        let mut back = vec![0xee; 16];
        sample.write(&mut back);
        assert_eq!(back[2..], bytes[2..]);
        assert_eq!(back[..2], [0xee, 0xee], "what lies before the start is not touched");
    }

    #[test]
    fn an_optional_field_may_be_cut_off_and_a_required_one_not() {
        let bytes: Vec<u8> = (0..13).collect();
        let sample = Sample::read(&bytes).unwrap();
        assert_eq!(sample.late, None);
        assert_eq!(sample.residue.as_bytes(), [3, 10, 11, 12], "half a field is residue");
        let mut back = vec![0xee; 13];
        sample.write(&mut back);
        assert_eq!(back[2..], bytes[2..]);
        assert_eq!(Sample::read(&bytes[..9]), None);
        assert_eq!(Sample::least_bytes(), 10);
    }

    #[test]
    fn missing_residue_is_written_as_zero() {
        let mut back = vec![0xee; 16];
        Sample { small: 7, ..Sample::default() }.write(&mut back);
        assert_eq!(back[2..], [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
