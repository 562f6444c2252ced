//! How a backup describes a VLF whose log it may carry.
//!
//! ```text
//! offset size field
//!     00    4 sequence     0 when none of its log is carried
//!     04    8 size         bytes of the VLF
//!     0C    8 offset       of the VLF in the log file
//!     14    2 file_id
//!     16    1 parity
//!     17    1 residue
//!     18   10 create_lsn
//!     22    2 format       of the VLF
//! ```
//!
//! Offsets are hexadecimal. The structure lies in an MSTL block of a backup, one per VLF, and is
//! padded with zeros to 1F4 (2008) or 1F8 (from 2012 on) hex bytes. Observed in real backups of
//! versions 655 to 782.

use extentdb_base::Lsn;

use super::VlfHeader;
use crate::log::field::{FixedPart, fixed_part};

fixed_part! {
    /// A VLF as a backup describes it.
    pub struct VlfDescription from 0x0 {
        /// Sequence number; 0 when none of its log is carried.
        0x0 sequence: u32,
        /// Bytes of the VLF.
        0x4 size: u64,
        /// Its offset in the log file.
        0xc offset: u64,
        /// File of the database.
        0x14 file_id: u16,
        /// Parity: 0, 40 or 80 hex.
        0x16 parity: u8,
        /// LSN current when the file grew by this VLF.
        0x18 create_lsn: Lsn,
        /// Format of the VLF.
        0x22 format: u16,
    }
}

impl VlfDescription {
    /// Reads a description; `None` when there are fewer bytes than its fields take.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::read(bytes)
    }

    /// The description's bytes, `len` of them.
    pub fn to_bytes(&self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len.max(Self::least_bytes())];
        self.write(&mut bytes);
        bytes
    }

    /// The header that a restore writes for this VLF. A format too large for its byte becomes FF
    /// hex, which the header's faults then name.
    pub fn to_header(&self) -> VlfHeader {
        VlfHeader {
            signature: VlfHeader::SIGNATURE,
            parity: self.parity,
            format: u8::try_from(self.format).unwrap_or(u8::MAX),
            sequence: self.sequence,
            size: self.size,
            offset: self.offset,
            create_lsn: self.create_lsn,
            ..VlfHeader::default()
        }
    }
}
