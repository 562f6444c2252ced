//! Fields of the file header and the boot page: typed values at fixed places, and what is left
//! over.

use std::fmt;

use extentdb_base::{Lsn, PageId};
use extentdb_types::{DateTime, Guid};

/// A value with a fixed disk form.
pub trait Field: Sized {
    /// Bytes of the disk form.
    const BYTES: usize;
    /// Reads the value; `None` when the bytes are fewer.
    fn read(bytes: &[u8]) -> Option<Self>;
    /// Writes the value at the start of `out`; nothing when `out` is shorter.
    fn write(&self, out: &mut [u8]);
}

macro_rules! integer_field {
    ($($int:ty),*) => {$(
        impl Field for $int {
            const BYTES: usize = size_of::<$int>();

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|b| <$int>::from_le_bytes(*b))
            }

            fn write(&self, out: &mut [u8]) {
                if let Some(target) = out.first_chunk_mut() {
                    *target = self.to_le_bytes();
                }
            }
        }
    )*};
}
integer_field!(u8, u16, u32, i32, u64, i64);

macro_rules! array_field {
    ($($ty:ty, $bytes:expr, $read:expr, $write:expr;)*) => {$(
        impl Field for $ty {
            const BYTES: usize = $bytes;

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|b| $read(*b))
            }

            fn write(&self, out: &mut [u8]) {
                if let Some(target) = out.first_chunk_mut() {
                    *target = $write(self);
                }
            }
        }
    )*};
}
array_field! {
    Lsn, 10, Lsn::from_bytes, |lsn: &Lsn| lsn.to_bytes();
    PageId, 6, PageId::from_bytes, |page: &PageId| page.to_bytes();
    Guid, 16, Guid, |guid: &Guid| guid.0;
}

/// A field that older versions do not have: `None` where the record ends before it.
impl<T: Field> Field for Option<T> {
    const BYTES: usize = T::BYTES;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(T::read(bytes))
    }

    fn write(&self, out: &mut [u8]) {
        if let Some(value) = self {
            value.write(out);
        }
    }
}

/// A datetime as stored, whatever it holds: ticks of 1/300 s, then days since 1900-01-01.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct StoredTime {
    /// Parts of 1/300 s since midnight.
    pub ticks: u32,
    /// Days since 1900-01-01.
    pub days: i32,
}

impl StoredTime {
    /// The point in time; `None` when the numbers are out of range.
    pub fn value(self) -> Option<DateTime> {
        DateTime::new(self.days, self.ticks).ok()
    }

    /// True for 1900-01-01 00:00, which stands for "never".
    pub fn is_never(self) -> bool {
        self == StoredTime::default()
    }
}

impl Field for StoredTime {
    const BYTES: usize = 8;

    fn read(bytes: &[u8]) -> Option<Self> {
        let (ticks, rest) = bytes.split_at_checked(4)?;
        Some(StoredTime { ticks: u32::read(ticks)?, days: i32::read(rest)? })
    }

    fn write(&self, out: &mut [u8]) {
        if let Some((ticks, days)) = out.split_at_mut_checked(4) {
            self.ticks.write(ticks);
            self.days.write(days);
        }
    }
}

/// A point where the history of a database forked: LSN, two undefined bytes, id of the fork.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ForkPoint {
    /// Where the fork begins.
    pub lsn: Lsn,
    /// Between LSN and id; zero in every file seen.
    pub padding: u16,
    /// Recovery fork that the LSN lies on.
    pub guid: Guid,
}

impl Default for ForkPoint {
    fn default() -> Self {
        ForkPoint { lsn: Lsn::ZERO, padding: 0, guid: Guid([0; 16]) }
    }
}

impl Field for ForkPoint {
    const BYTES: usize = 28;

    fn read(bytes: &[u8]) -> Option<Self> {
        let (lsn, rest) = bytes.split_at_checked(Lsn::BYTES)?;
        let (padding, guid) = rest.split_at_checked(2)?;
        Some(ForkPoint {
            lsn: Lsn::read(lsn)?,
            padding: u16::read(padding)?,
            guid: Guid::read(guid)?,
        })
    }

    fn write(&self, out: &mut [u8]) {
        let Some((lsn, rest)) = out.split_at_mut_checked(Lsn::BYTES) else { return };
        let Some((padding, guid)) = rest.split_at_mut_checked(2) else { return };
        self.lsn.write(lsn);
        self.padding.write(padding);
        self.guid.write(guid);
    }
}

/// Characters of a database name on the boot page.
pub const NAME_CHARS: usize = 128;
/// What fills the rest: the byte 0x20 twice, which as UTF-16 is a dagger and not a blank.
const NAME_PAD: u16 = 0x2020;

/// A database name as the boot page keeps it: nchar(128), filled up with U+2020.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredName([u16; NAME_CHARS]);

impl StoredName {
    /// The disk form of a name; `None` when it has more than 128 UTF-16 units.
    pub fn new(name: &str) -> Option<StoredName> {
        let mut units = [NAME_PAD; NAME_CHARS];
        let mut places = units.iter_mut();
        for unit in name.encode_utf16() {
            *places.next()? = unit;
        }
        Some(StoredName(units))
    }

    /// The UTF-16 units before the filling, which is daggers or zeros.
    pub fn units(&self) -> &[u16] {
        unpadded(&self.0)
    }
}

/// A name as it is before the first zero: real names are filled up with zeros, too (`master`, and
/// many others). No name of a database or file contains a zero.
pub fn before_zero(units: &[u16]) -> &[u16] {
    let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    units.get(..end).unwrap_or_default()
}

/// A name of the boot page without its filling.
fn unpadded(units: &[u16]) -> &[u16] {
    let units = before_zero(units);
    let end = units.iter().rposition(|unit| *unit != NAME_PAD).map_or(0, |last| last + 1);
    units.get(..end).unwrap_or_default()
}

impl fmt::Display for StoredName {
    /// The name; an unpaired surrogate as U+FFFD.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf16_lossy(self.units()))
    }
}

impl fmt::Debug for StoredName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Field for StoredName {
    const BYTES: usize = 2 * NAME_CHARS;

    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 2 * NAME_CHARS] = bytes.first_chunk()?;
        let mut units = [0; NAME_CHARS];
        for (unit, pair) in units.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *unit = u16::from_le_bytes(*pair);
        }
        Some(StoredName(units))
    }

    fn write(&self, out: &mut [u8]) {
        let Some(out) = out.first_chunk_mut::<{ 2 * NAME_CHARS }>() else { return };
        for (unit, pair) in self.0.iter().zip(out.as_chunks_mut::<2>().0) {
            *pair = unit.to_le_bytes();
        }
    }
}

/// Bytes of a structure that no field covers and that are not zero: kept so that they can be
/// written again and counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Residue {
    /// Offset in the structure, or index of the column.
    pub index: u16,
    /// Bytes of the column, as stored.
    pub bytes: Vec<u8>,
}

impl Residue {
    /// Number of bytes of unknown meaning, zeros left out.
    pub fn count(residue: &[Residue]) -> usize {
        residue.iter().flat_map(|run| &run.bytes).filter(|byte| **byte != 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_with_the_byte_0x20() {
        let name = StoredName::new("Northwind").unwrap();
        let mut bytes = [0; 256];
        name.write(&mut bytes);
        assert_eq!(&bytes[..4], b"N\0o\0");
        assert!(bytes[18..].iter().all(|byte| *byte == 0x20));
        assert_eq!(StoredName::read(&bytes).unwrap().to_string(), "Northwind");
        assert_eq!(StoredName::new("").unwrap().to_string(), "");
        assert!(StoredName::new(&"x".repeat(128)).is_some());
        assert!(StoredName::new(&"x".repeat(129)).is_none());
    }

    #[test]
    fn values_survive_their_disk_form() {
        let fork = ForkPoint { lsn: Lsn::new(1, 2, 3), padding: 0, guid: Guid([7; 16]) };
        let mut bytes = [0xee; 28];
        fork.write(&mut bytes);
        assert_eq!(ForkPoint::read(&bytes), Some(fork));
        assert_eq!(ForkPoint::read(&bytes[..27]), None);
        let time = StoredTime { ticks: 300, days: -53_690 };
        let mut bytes = [0xee; 8];
        time.write(&mut bytes);
        assert_eq!(StoredTime::read(&bytes), Some(time));
        assert_eq!(time.value().unwrap().to_string(), "1753-01-01T00:00:01.000");
        assert_eq!(StoredTime { ticks: u32::MAX, days: 0 }.value(), None);
    }

    /// A stored name that begins with this text and goes on with one unit to its end.
    fn stored(text: &str, filling: u16) -> StoredName {
        let mut units: Vec<u16> = text.encode_utf16().collect();
        units.resize(NAME_CHARS, filling);
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        StoredName::read(&bytes).unwrap()
    }

    #[test]
    fn names_end_where_their_filling_begins() {
        for (name, expected) in [
            (stored("master", 0), "master"),
            (stored("pubs", NAME_PAD), "pubs"),
            (stored("old\0new", NAME_PAD), "old"),
            (stored("pubs\u{2020}\u{2020}", 0), "pubs"),
            (stored("a b ", 0), "a b "),
            (stored("", 0), ""),
        ] {
            assert_eq!(name.to_string(), expected);
        }
    }

    #[test]
    fn a_name_is_written_as_it_was_read() {
        let name = stored("master", 0);
        let mut bytes = [0xff; 2 * NAME_CHARS];
        name.write(&mut bytes);
        assert_eq!(StoredName::read(&bytes), Some(name));
        assert_eq!(bytes[12..], [0; 2 * NAME_CHARS - 12]);
    }
}
