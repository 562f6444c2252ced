//! SFGI: a filegroup.
//!
//! ```text
//! offset size field
//!      0    4 tag      "SFGI"
//!      4    4 bytes    of the section
//!      8    4 residue  16
//!     12    4 id       1 PRIMARY
//!     16    4 name     span
//!     20    4 residue  1
//!     24      tail     24 bytes in 2008, 200 from 2012 on (LSNs and recovery forks), then the name
//! ```

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{finish_section, section_faults, tail};
use crate::mtf::fault::{Fault, NoRoom};
use crate::mtf::layout::{Filler, Span, TextKind, read_front, utf16_text};

/// Fixed part of SFGI; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct FilegroupInfoFields {
    pub tag: [u8; 4],
    pub bytes: U32,
    pub residue_8: U32,
    pub id: U32,
    pub name: Span,
    pub residue_20: U32,
}

const KNOWN_BYTES: usize = size_of::<FilegroupInfoFields>();
const _: () = assert!(KNOWN_BYTES == 24);

/// SFGI: a filegroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilegroupInfo {
    /// Numbers. The span and the length are computed again when writing.
    pub fields: FilegroupInfoFields,
    /// Bytes between the known part and the name.
    pub tail: Vec<u8>,
    /// `FileGroupName` of RESTORE FILELISTONLY.
    pub name: String,
}

impl FilegroupInfo {
    /// A filegroup as 2008 R2 writes it.
    pub fn new(id: u32, name: &str) -> Self {
        let mut fields: FilegroupInfoFields = read_front(b"SFGI");
        fields.residue_8 = 16.into();
        fields.residue_20 = 1.into();
        fields.id = id.into();
        FilegroupInfo { fields, tail: vec![0; 24], name: name.to_owned() }
    }

    /// Reads a section as SFGI.
    pub fn parse(section: &[u8], faults: &mut Vec<Fault>) -> Self {
        let fields: FilegroupInfoFields = read_front(section);
        section_faults(section, KNOWN_BYTES, &[fields.name], faults);
        FilegroupInfo {
            tail: tail(section, KNOWN_BYTES, &[fields.name]).to_vec(),
            name: utf16_text(fields.name.of(section).unwrap_or_default()),
            fields,
        }
    }

    /// Writes the section; returns its length.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let mut filler = Filler::new(to, TextKind::Utf16, KNOWN_BYTES + self.tail.len())?;
        fields.name = filler.text(&self.name)?;
        finish_section(filler, fields.as_bytes(), &self.tail)
    }
}
