//! Container of a compressed backup: the stream of blocks, cut into records that expand one by one.
//!
//! ```text
//! 000  "MSSQLBAK"      magic
//! 008  u32             version: 2 (2014 to 2022); 1 (2008 to 2012) is known from public notes only
//! 00C  u32 residue     3 in every sample
//! 010  not initialised
//! 1E0  first record (version 2)
//!
//! record header, version 2 (version 1 lacks vector and residue, so its common part has 4 bytes)
//! offset size field
//!      0    1 kind      21 data, 24 padding, 2C seek index (hexadecimal)
//!      1    1 units     length of the output in units of 512 bytes; 0 for padding and index
//!      2    2 size      data: bytes of payload; padding: bytes of padding; index: 0
//!      4   16 vector    not initialised in unencrypted sets
//!     20    4 residue   0
//!
//! data      24  checksum u32, 28  payload of `size` bytes
//! padding   24  `size` zero bytes
//! index     24  u16 1, u16 1; 28  entries u32; 32  bytes u32 from 24 to the next SFMB;
//!           36 checksum u32 of the entries;
//!           40  entries: u64 offset in the stream from the set's SSET, u64 offset in the file of
//!               the record there;
//!           its last 16 bytes repeat those from 24 to 40, so that the index can be
//!           found from the filemark after it
//! ```
//!
//! Records follow each other without alignment. Filemarks (SFMB) lie between them in clear, at
//! multiples of their own length. Concatenating filemarks and outputs in file order gives the
//! stream of blocks, byte for byte.
//!
//! The checksum ([`super::checksum::rotate_xor`]) covers payload or entries only. For data that
//! does not shrink no form was ever seen; size 0 with a checksum that fits the plain bytes is read
//! as such.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::rotate_xor;
use super::fault::{Fault, NoRoom};
use super::layout::{put, read_front, u32_at};

/// The first eight bytes of a compressed backup.
pub const MAGIC: [u8; 8] = *b"MSSQLBAK";
/// Offset of the first record in version 2.
pub const FIRST_RECORD_AT: u64 = 0x1E0;
/// In version 1 the first record begins somewhere in this many bytes.
pub const FIRST_RECORD_WITHIN: usize = 4096;
/// Outputs are counted in units of this many bytes.
pub const OUTPUT_UNIT_BYTES: usize = 512;
/// Longest record there can be, header included.
pub const RECORD_BYTES_MAX: usize = 28 + u16::MAX as usize;
/// First bytes of a Zstandard frame: SQL Server 2025 can compress with it.
pub const ZSTANDARD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Version of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerVersion {
    /// 2008 to 2012. Not verified on a file.
    V1,
    /// SQL Server 2014 and later.
    V2,
}

impl ContainerVersion {
    /// Bytes that all records of this version begin with.
    pub fn common_bytes(self) -> usize {
        match self {
            ContainerVersion::V1 => 4,
            ContainerVersion::V2 => 24,
        }
    }

    /// Offset of a data record's payload.
    pub fn payload_at(self) -> usize {
        self.common_bytes() + 4
    }
}

/// What the start of a file says about its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerForm {
    /// No compressed backup.
    None,
    /// A version that is known.
    Known(ContainerVersion),
    /// A version that is not.
    Unknown(u32),
}

impl ContainerForm {
    /// Looks at the first 12 bytes of a file.
    pub fn of(front: &[u8]) -> Self {
        if !front.starts_with(&MAGIC) {
            return ContainerForm::None;
        }
        match u32_at(front, 8) {
            1 => ContainerForm::Known(ContainerVersion::V1),
            2 => ContainerForm::Known(ContainerVersion::V2),
            other => ContainerForm::Unknown(other),
        }
    }
}

/// The bytes before the first record, version 2.
pub fn write_front(to: &mut [u8]) -> Result<usize, NoRoom> {
    let len = FIRST_RECORD_AT as usize;
    let room = to.len();
    to.get_mut(..len).ok_or(NoRoom { needed: len, room })?.fill(0);
    put(to, 0, &MAGIC)?;
    put(to, 8, &2u32.to_le_bytes())?;
    put(to, 12, &3u32.to_le_bytes())?;
    Ok(len)
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Record with compressed data.
    Data,
    /// Fills up to the next filemark.
    Padding,
    /// Seek index, the last record of a set.
    Index,
    /// A kind nobody knows.
    Unknown(u8),
}

impl RecordKind {
    /// The kind a byte names.
    pub fn from_byte(byte: u8) -> Self {
        match byte {
            0x21 => RecordKind::Data,
            0x24 => RecordKind::Padding,
            0x2C => RecordKind::Index,
            other => RecordKind::Unknown(other),
        }
    }

    /// The byte of the kind.
    pub fn byte(self) -> u8 {
        match self {
            RecordKind::Data => 0x21,
            RecordKind::Padding => 0x24,
            RecordKind::Index => 0x2C,
            RecordKind::Unknown(byte) => byte,
        }
    }
}

/// The common part of a record, as far as both versions have it, and the checksum word after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// What the record is.
    pub kind: RecordKind,
    /// Length of the output in units of 512 bytes.
    pub units: u8,
    /// Bytes of payload or padding.
    pub size: u16,
    /// Checksum of a data record's payload; other records have something else there.
    pub checksum: u32,
}

impl RecordHeader {
    /// Bytes that parsing looks at.
    pub const BYTES: usize = 28;

    /// The header at the start of `bytes`; missing bytes read as zero.
    pub fn parse(bytes: &[u8], version: ContainerVersion) -> Self {
        let [kind, units, s0, s1] = u32_at(bytes, 0).to_le_bytes();
        RecordHeader {
            kind: RecordKind::from_byte(kind),
            units,
            size: u16::from_le_bytes([s0, s1]),
            checksum: u32_at(bytes, version.common_bytes()),
        }
    }

    /// A data record for `payload`, which expands to `units` times 512 bytes.
    pub fn data(units: u8, payload: &[u8]) -> Result<Self, NoRoom> {
        let size = u16::try_from(payload.len());
        let size =
            size.map_err(|_| NoRoom { needed: payload.len(), room: usize::from(u16::MAX) })?;
        Ok(RecordHeader {
            kind: RecordKind::Data,
            units,
            size,
            checksum: rotate_xor(payload),
        })
    }

    /// A padding record of `size` zero bytes after its header.
    pub fn padding(size: u16) -> Self {
        RecordHeader { kind: RecordKind::Padding, units: 0, size, checksum: 0 }
    }

    /// Bytes the record expands to.
    pub fn output_bytes(&self) -> usize {
        usize::from(self.units) * OUTPUT_UNIT_BYTES
    }

    /// Bytes of a data or padding record, header included.
    pub fn record_bytes(&self, version: ContainerVersion) -> usize {
        let head = match self.kind {
            RecordKind::Data => version.payload_at(),
            _ => version.common_bytes(),
        };
        head + usize::from(self.size)
    }

    /// Writes the common part, and the checksum of a data record; returns the bytes written.
    pub fn write(&self, to: &mut [u8], version: ContainerVersion) -> Result<usize, NoRoom> {
        let head = version.common_bytes();
        let room = to.len();
        to.get_mut(..head).ok_or(NoRoom { needed: head, room })?.fill(0);
        let [s0, s1] = self.size.to_le_bytes();
        put(to, 0, &[self.kind.byte(), self.units, s0, s1])?;
        if self.kind != RecordKind::Data {
            return Ok(head);
        }
        put(to, head, &self.checksum.to_le_bytes())?;
        Ok(head + 4)
    }
}

/// Where the first record of a version 1 container begins: the first data record whose checksum
/// fits its payload. `front`: the first [`FIRST_RECORD_WITHIN`] + [`RECORD_BYTES_MAX`] bytes of the
/// file, or all of it.
pub fn find_first_record(front: &[u8], version: ContainerVersion) -> Option<usize> {
    let head = version.payload_at();
    (MAGIC.len() + 4..FIRST_RECORD_WITHIN).find(|at| {
        let record = front.get(*at..).unwrap_or_default();
        let header = RecordHeader::parse(record, version);
        let payload = record.get(head..head + usize::from(header.size));
        header.kind == RecordKind::Data
            && header.units > 0
            && header.size > 0
            && payload.is_some_and(|payload| rotate_xor(payload) == header.checksum)
    })
}

/// One entry of the seek index: a record that describes what follows it, not pages or log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IndexEntry {
    /// Offset in the stream of blocks, counted from the set's SSET.
    pub stream_offset: U64,
    /// Offset in the file of the record that begins there.
    pub record_at: U64,
}

/// What precedes the entries of an index, after the common part of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct IndexHeader {
    pub residue_0: U16,
    pub residue_2: U16,
    pub entries: U32,
    pub bytes: U32,
    pub checksum: U32,
}

impl IndexHeader {
    /// Bytes on disk.
    pub const BYTES: usize = 16;

    /// Reads what follows the common part of an index record.
    pub fn parse(bytes: &[u8]) -> Self {
        read_front(bytes)
    }
}

const _: () = assert!(size_of::<IndexHeader>() == IndexHeader::BYTES);

/// Reads the entries of an index. `body`: what follows the common part of the record, to its end.
pub fn parse_index(body: &[u8]) -> (Vec<IndexEntry>, Option<Fault>) {
    let header = IndexHeader::parse(body);
    let listed = body.get(IndexHeader::BYTES..).unwrap_or_default();
    let bytes = (header.entries.get() as usize).saturating_mul(size_of::<IndexEntry>());
    let listed = listed.get(..bytes).unwrap_or(listed);
    let (entries, _) = listed.as_chunks::<{ size_of::<IndexEntry>() }>();
    let stored = header.checksum.get();
    let computed = rotate_xor(listed);
    let fault = (stored != computed).then_some(Fault::IndexChecksum { stored, computed });
    (entries.iter().map(|entry| read_front(entry)).collect(), fault)
}

/// Writes an index record of exactly `to.len()` bytes, which should end where the next filemark
/// begins.
pub fn write_index(
    to: &mut [u8],
    entries: &[IndexEntry],
    version: ContainerVersion,
) -> Result<(), NoRoom> {
    let head = version.common_bytes();
    let listed = entries.as_bytes();
    let needed = head + 2 * IndexHeader::BYTES + listed.len();
    let room = to.len();
    if needed > room {
        return Err(NoRoom { needed, room });
    }
    to.fill(0);
    put(to, 0, &[RecordKind::Index.byte(), 0, 0, 0])?;
    let header = IndexHeader {
        residue_0: 1.into(),
        residue_2: 1.into(),
        entries: (entries.len() as u32).into(),
        bytes: ((room - head) as u32).into(),
        checksum: rotate_xor(listed).into(),
    };
    put(to, head, header.as_bytes())?;
    put(to, head + IndexHeader::BYTES, listed)?;
    put(to, room - IndexHeader::BYTES, header.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [ContainerVersion; 2] = [ContainerVersion::V1, ContainerVersion::V2];

    #[test]
    fn a_data_record_reads_back_as_written() {
        for version in BOTH {
            let header = RecordHeader::data(128, &[1, 2, 3, 4, 5]).unwrap();
            let mut bytes = [0xEE; 64];
            let len = header.write(&mut bytes, version).unwrap();
            assert_eq!(len, version.payload_at());
            assert_eq!(RecordHeader::parse(&bytes, version), header);
            assert_eq!(header.record_bytes(version), len + 5);
            assert_eq!(header.output_bytes(), 65_536);
        }
    }

    #[test]
    fn an_index_fills_its_room_and_reads_back() {
        let entry = IndexEntry { stream_offset: 0x722000.into(), record_at: 0xFAB92.into() };
        for version in BOTH {
            let mut bytes = [0xEE; 200];
            write_index(&mut bytes, &[entry, entry], version).unwrap();
            let (entries, fault) = parse_index(&bytes[version.common_bytes()..]);
            assert_eq!((entries, fault), (vec![entry, entry], None));
            bytes[version.common_bytes() + 20] ^= 1;
            assert!(parse_index(&bytes[version.common_bytes()..]).1.is_some());
            assert!(write_index(&mut [0; 51], &[entry], version).is_err());
            assert_eq!(IndexHeader::parse(&bytes[184..]).entries.get(), 2);
        }
    }

    #[test]
    fn an_index_that_claims_billions_of_entries_ends_with_its_bytes() {
        let mut bytes = [0; 64];
        bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(parse_index(&bytes).0.len(), 3);
        assert_eq!(parse_index(&[]).0.len(), 0);
    }

    #[test]
    fn the_first_record_of_version_one_is_found_by_its_checksum() {
        let mut front = vec![0x21; 6000];
        let header = RecordHeader::data(2, &[7; 300]).unwrap();
        header.write(&mut front[1000..], ContainerVersion::V1).unwrap();
        front[1008..1308].fill(7);
        assert_eq!(find_first_record(&front, ContainerVersion::V1), Some(1000));
        assert_eq!(find_first_record(&front[..1200], ContainerVersion::V1), None);
    }

    #[test]
    fn the_form_is_recognized_by_magic_and_version() {
        assert_eq!(ContainerForm::of(b"TAPE"), ContainerForm::None);
        assert_eq!(
            ContainerForm::of(b"MSSQLBAK\x02\0\0\0"),
            ContainerForm::Known(ContainerVersion::V2)
        );
        assert_eq!(ContainerForm::of(b"MSSQLBAK\x09\0\0\0"), ContainerForm::Unknown(9));
    }
}
