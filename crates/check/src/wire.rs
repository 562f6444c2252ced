//! The serialised form of plain data: little-endian, lengths before contents, nothing else.
//!
//! ```text
//! integers   as many bytes as they have         bool, Option   one byte, then the content
//! text, lists, sets, maps   u32 count, then the entries        structs   their fields in order
//! ```
//!
//! Reading checks every count against the bytes that are left, so that no count can ask for more
//! memory than the input has.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{AllocUnitId, FileId, HobtId, IndexId, Lsn, ObjectId, PageId, Rid, Slot};
use extentdb_messages::RepairLevel;

use crate::hash::HashKey;

/// Why bytes are not what they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WireError {
    /// They end too early.
    #[error("the data ends after {at} bytes, in the middle of a value")]
    Truncated {
        /// Offset in the data.
        at: usize,
    },
    /// A value that cannot be.
    #[error("byte {at}: no such {what}")]
    Value {
        /// Offset in the data.
        at: usize,
        /// What it should be.
        what: &'static str,
    },
}

/// Bytes that are read from front to back.
pub(crate) struct WireReader<'i> {
    bytes: &'i [u8],
    at: usize,
}

impl<'i> WireReader<'i> {
    pub(crate) fn new(bytes: &'i [u8]) -> WireReader<'i> {
        WireReader { bytes, at: 0 }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'i [u8], WireError> {
        let end = self.at.checked_add(len);
        let taken = end
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or(WireError::Truncated { at: self.at })?;
        self.at += len;
        Ok(taken)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn wrong(&self, what: &'static str) -> WireError {
        WireError::Value { at: self.at, what }
    }

    /// A count of things that take at least a byte each.
    fn count(&mut self) -> Result<usize, WireError> {
        let count = u32::read(self)? as usize;
        if count > self.bytes.len() - self.at {
            return Err(self.wrong("count"));
        }
        Ok(count)
    }
}

/// Something that can be written and read again.
pub(crate) trait Wire: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError>;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Wire for $ty {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
                let bytes = input.take(size_of::<$ty>())?;
                let bytes = bytes.first_chunk().ok_or(WireError::Truncated { at: 0 })?;
                Ok(<$ty>::from_le_bytes(*bytes))
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 i16 i32 i64);

/// Implements [`Wire`] for structs field by field; a field that is missing here does not compile.
macro_rules! wire_structs {
    ($($name:ident $(<$param:ident>)? { $($field:ident),* $(,)? })*) => {$(
        impl $(<$param: $crate::wire::Wire>)? $crate::wire::Wire for $name $(<$param>)? {
            fn write(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::wire::Wire::write($field, out);)*
            }

            fn read(
                input: &mut $crate::wire::WireReader<'_>,
            ) -> Result<Self, $crate::wire::WireError> {
                $(let $field = $crate::wire::Wire::read(input)?;)*
                Ok(Self { $($field),* })
            }
        }
    )*};
}
pub(crate) use wire_structs;

/// Implements [`Wire`] for numbers in a coat.
macro_rules! newtypes {
    ($($name:ident)*) => {$(
        impl Wire for $name {
            fn write(&self, out: &mut Vec<u8>) {
                self.0.write(out);
            }

            fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
                Ok($name(Wire::read(input)?))
            }
        }
    )*};
}

impl Wire for usize {
    fn write(&self, out: &mut Vec<u8>) {
        (*self as u64).write(out);
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        usize::try_from(u64::read(input)?).map_err(|_| input.wrong("number"))
    }
}

/// Implements [`Wire`] for enums without data: a byte, the variant's discriminant.
macro_rules! wire_enums {
    ($($name:ident { $($variant:ident),* })*) => {$(
        impl $crate::wire::Wire for $name {
            fn write(&self, out: &mut Vec<u8>) {
                (*self as u8).write(out);
            }

            fn read(
                input: &mut $crate::wire::WireReader<'_>,
            ) -> Result<Self, $crate::wire::WireError> {
                let byte = u8::read(input)?;
                let mut all = [$($name::$variant),*].into_iter();
                all.find(|it| *it as u8 == byte).ok_or(input.wrong(stringify!($name)))
            }
        }
    )*};
}
pub(crate) use wire_enums;

wire_enums! { RepairLevel { None, Rebuild, AllowDataLoss } }

/// A key is written as what it was made from.
impl Wire for HashKey {
    fn write(&self, out: &mut Vec<u8>) {
        self.seed().write(out);
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        Ok(HashKey::new(Wire::read(input)?))
    }
}

newtypes!(FileId ObjectId IndexId HobtId AllocUnitId Slot);

wire_structs! {
    PageId { file, page }
    Rid { page, slot }
    Lsn { vlf, block, slot }
}

impl Wire for bool {
    fn write(&self, out: &mut Vec<u8>) {
        u8::from(*self).write(out);
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        match u8::read(input)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(input.wrong("truth value")),
        }
    }
}

impl Wire for String {
    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u32).write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        let len = input.count()?;
        let bytes = input.take(len)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| input.wrong("text"))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        Ok(if bool::read(input)? { Some(T::read(input)?) } else { None })
    }
}

impl<T: Wire> Wire for Box<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_ref().write(out);
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        T::read(input).map(Box::new)
    }
}

macro_rules! collections {
    ($($name:ident<T $(: $bound:ident)?>)*) => {$(
        impl<T: Wire $(+ $bound)?> Wire for $name<T> {
            fn write(&self, out: &mut Vec<u8>) {
                (self.len() as u32).write(out);
                self.iter().for_each(|entry| entry.write(out));
            }

            fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
                let count = input.count()?;
                (0..count).map(|_| T::read(input)).collect()
            }
        }
    )*};
}

collections!(Vec<T> BTreeSet<T: Ord>);

impl<T: Wire, const N: usize> Wire for [T; N] {
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|entry| entry.write(out));
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        let entries = (0..N).map(|_| T::read(input)).collect::<Result<Vec<T>, _>>()?;
        entries.try_into().map_err(|_| input.wrong("array"))
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u32).write(out);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }

    fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
        let count = input.count()?;
        (0..count).map(|_| Ok((K::read(input)?, V::read(input)?))).collect()
    }
}

macro_rules! pairs {
    ($(($($name:ident $at:tt),*))*) => {$(
        impl<$($name: Wire),*> Wire for ($($name,)*) {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$at.write(out);)*
            }

            fn read(input: &mut WireReader<'_>) -> Result<Self, WireError> {
                Ok(($($name::read(input)?,)*))
            }
        }
    )*};
}

pairs!((A 0, B 1) (A 0, B 1, C 2));

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn comes_back<T: Wire + PartialEq + Debug>(value: &T) {
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        let mut input = WireReader::new(&bytes);
        assert_eq!(T::read(&mut input).as_ref(), Ok(value));
        assert!(input.is_at_end());
        for len in 0..bytes.len() {
            assert!(
                T::read(&mut WireReader::new(&bytes[..len])).is_err(),
                "{len} of {} bytes",
                bytes.len()
            );
        }
    }

    #[test]
    fn written_values_are_read_back_and_truncated_ones_are_refused() {
        comes_back(&0x0123_4567_89ab_cdef_u64);
        comes_back(&-5i32);
        comes_back(&(true, String::from("Čapek")));
        comes_back(&vec![Some(Rid::new(PageId::new(3, 70_000), 12)), None]);
        comes_back(&BTreeMap::from([(1u32, vec![2u16]), (7, vec![])]));
        comes_back(&BTreeSet::from([AllocUnitId(-9), AllocUnitId(4)]));
        comes_back(&[1u8, 2, 3]);
        comes_back(&Lsn { vlf: 1, block: 2, slot: 3 });
    }

    #[test]
    fn a_count_cannot_ask_for_more_than_there_is() {
        let bytes = [0xff, 0xff, 0xff, 0x7f, 1, 2, 3];
        let read: Result<Vec<u8>, _> = Wire::read(&mut WireReader::new(&bytes));
        assert_eq!(read, Err(WireError::Value { at: 4, what: "count" }));
    }
}
