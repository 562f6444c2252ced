//! TSMP stream of the first ESET: the set map, a copy of the SSET and VOLB values of the sets on
//! the media.
//!
//! ```text
//! offset size field     entry of a set, from its own start       entry of a volume
//!      0    4 family_id      0    2 bytes  size of the entry          0    2 bytes
//!      4    2 sets           2    2 sequence                          2    4 "VOLB"
//!      6    2 residue        4    4 block_attributes                  6    2 sequence
//!      8      entries        8    4 set_attributes                    8    4 block_attributes
//!                           12    8 position       of SSET           12    8 address       of VOLB
//!                           20    8 residue                          20    8 displayable_size
//!                           28    2 residue                          28    4 residue
//!                           30    2 set_number                       32    1 os_id
//!                           32   20 residue                          33    1 os_version
//!                           52    8 backup_bytes                     34    1 string_type
//!                           60    2 volumes        entries after    35    1 residue
//!                           62    2 residue                          36    4 attributes
//!                           64    4 name           span              40    4 device        span
//!                           68    4 password       span              44    4 volume        span
//!                           72    4 description    span              48    4 machine       span
//!                           76    4 user           span              52    4 residue
//!                           80    5 written        date              56    5 written       date
//!                           85    1 time_zone                        61    1 residue
//!                           86    1 os_id                            62      texts
//!                           87    1 os_version
//!                           88    1 string_type
//!                           89    1 residue
//!                           90    1 catalog_version
//!                           91    1 residue
//!                           92      texts
//! ```
//!
//! Names of the fields follow the public tape format; values were observed in files of 2008 R2,
//! 2012, 2014 and 2016.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::date::MtfDate;
use super::fault::{Fault, NoRoom};
use super::layout::{Filler, Span, TextKind, put, read_front, u16_at, u32_at};

/// Bytes before the first entry.
const MAP_HEADER_BYTES: usize = 8;

/// Fixed part of a set's entry; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct SetEntryFields {
    pub bytes: U16,
    pub sequence: U16,
    pub block_attributes: U32,
    pub set_attributes: U32,
    pub position: U64,
    pub residue_20: U64,
    pub residue_28: U16,
    pub set_number: U16,
    pub residue_32: [u8; 20],
    pub backup_bytes: U64,
    pub volumes: U16,
    pub residue_62: U16,
    pub name: Span,
    pub password: Span,
    pub description: Span,
    pub user: Span,
    pub written: MtfDate,
    pub time_zone: i8,
    pub os_id: u8,
    pub os_version: u8,
    pub string_type: u8,
    pub residue_89: u8,
    pub catalog_version: u8,
    pub residue_91: u8,
}

/// Fixed part of a volume's entry; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct VolumeEntryFields {
    pub bytes: U16,
    pub kind: [u8; 4],
    pub sequence: U16,
    pub block_attributes: U32,
    pub address: U64,
    pub displayable_size: U64,
    pub residue_28: U32,
    pub os_id: u8,
    pub os_version: u8,
    pub string_type: u8,
    pub residue_35: u8,
    pub attributes: U32,
    pub device: Span,
    pub volume: Span,
    pub machine: Span,
    pub residue_52: U32,
    pub written: MtfDate,
    pub residue_61: u8,
}

const _: () = assert!(size_of::<SetEntryFields>() == 92);
const _: () = assert!(size_of::<VolumeEntryFields>() == 62);

/// A set in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMapEntry {
    /// Numbers and dates. Sizes and spans are computed again when writing.
    pub fields: SetEntryFields,
    /// `BackupName` of RESTORE HEADERONLY.
    pub name: String,
    /// `BackupDescription` of RESTORE HEADERONLY.
    pub description: String,
    /// `UserName` of RESTORE HEADERONLY.
    pub user: String,
    /// The set's volumes.
    pub volumes: Vec<SetMapVolume>,
}

/// A volume in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMapVolume {
    /// Numbers and dates. Sizes and spans are computed again when writing.
    pub fields: VolumeEntryFields,
    /// Drive of the volume, such as `C:`.
    pub device: String,
    /// Name of the volume.
    pub volume: String,
    /// `MachineName` of RESTORE HEADERONLY.
    pub machine: String,
}

/// The set map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetMap {
    /// `family_id` of TAPE.
    pub family_id: u32,
    /// Fills the header.
    pub residue_6: u16,
    /// Entries of the sets, in order of their numbers.
    pub sets: Vec<SetMapEntry>,
}

impl SetMap {
    /// Reads the stream's data; stops at the first entry that does not fit.
    pub fn parse(data: &[u8]) -> (Self, Vec<Fault>) {
        let mut map = SetMap {
            family_id: u32_at(data, 0),
            residue_6: u16_at(data, 6),
            ..SetMap::default()
        };
        let mut at = MAP_HEADER_BYTES;
        for _ in 0..u16_at(data, 4) {
            let (set, next) = match Self::parse_set(data, at) {
                Ok(found) => found,
                Err(fault) => return (map, vec![fault]),
            };
            map.sets.push(set);
            at = next;
        }
        (map, Vec::new())
    }

    fn parse_set(data: &[u8], at: usize) -> Result<(SetMapEntry, usize), Fault> {
        let entry = entry_at(data, at, size_of::<SetEntryFields>())?;
        let mut set = SetMapEntry::parse(entry);
        let mut next = at + entry.len();
        for _ in 0..set.fields.volumes.get() {
            let volume = entry_at(data, next, size_of::<VolumeEntryFields>())?;
            set.volumes.push(SetMapVolume::parse(volume));
            next += volume.len();
        }
        Ok((set, next))
    }

    /// Writes the stream's data; returns its length.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let sets = u16::try_from(self.sets.len()).unwrap_or(u16::MAX);
        put(to, 0, &self.family_id.to_le_bytes())?;
        put(to, 4, &sets.to_le_bytes())?;
        put(to, 6, &self.residue_6.to_le_bytes())?;
        let mut at = MAP_HEADER_BYTES;
        for set in self.sets.iter().take(usize::from(sets)) {
            at += set.write(to.get_mut(at..).unwrap_or_default())?;
            for volume in &set.volumes {
                at += volume.write(to.get_mut(at..).unwrap_or_default())?;
            }
        }
        Ok(at)
    }
}

/// The entry at `at`, by its own size; at least `needed` bytes.
fn entry_at(data: &[u8], at: usize, needed: usize) -> Result<&[u8], Fault> {
    let size = u16_at(data, at);
    let entry = data.get(at..at + usize::from(size)).filter(|entry| entry.len() >= needed);
    entry.ok_or(Fault::SetMapEntry { offset: at, size, left: data.len().saturating_sub(at) })
}

fn text(entry: &[u8], string_type: u8, span: Span) -> String {
    span.of(entry).map_or_else(String::new, |bytes| TextKind::from_byte(string_type).decode(bytes))
}

/// Pads an entry, writes its fixed part and its size.
fn finish_entry(filler: Filler<'_>, fixed: &[u8]) -> Result<usize, NoRoom> {
    let (whole, len) = filler.finish(1, fixed)?;
    let size =
        u16::try_from(len).map_err(|_| NoRoom { needed: len, room: usize::from(u16::MAX) })?;
    put(whole, 0, &size.to_le_bytes())?;
    Ok(len)
}

impl SetMapEntry {
    fn parse(entry: &[u8]) -> Self {
        let fields: SetEntryFields = read_front(entry);
        SetMapEntry {
            name: text(entry, fields.string_type, fields.name),
            description: text(entry, fields.string_type, fields.description),
            user: text(entry, fields.string_type, fields.user),
            volumes: Vec::new(),
            fields,
        }
    }

    fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let kind = TextKind::from_byte(fields.string_type);
        let mut filler = Filler::new(to, kind, size_of::<SetEntryFields>())?;
        fields.name = filler.text(&self.name)?;
        fields.description = filler.text(&self.description)?;
        fields.password = Span::default();
        fields.user = filler.text(&self.user)?;
        fields.volumes = u16::try_from(self.volumes.len()).unwrap_or(u16::MAX).into();
        finish_entry(filler, fields.as_bytes())
    }
}

impl SetMapVolume {
    fn parse(entry: &[u8]) -> Self {
        let fields: VolumeEntryFields = read_front(entry);
        SetMapVolume {
            device: text(entry, fields.string_type, fields.device),
            volume: text(entry, fields.string_type, fields.volume),
            machine: text(entry, fields.string_type, fields.machine),
            fields,
        }
    }

    fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let kind = TextKind::from_byte(fields.string_type);
        let mut filler = Filler::new(to, kind, size_of::<VolumeEntryFields>())?;
        fields.device = filler.text(&self.device)?;
        fields.volume = filler.text(&self.volume)?;
        fields.machine = filler.text(&self.machine)?;
        finish_entry(filler, fields.as_bytes())
    }
}
