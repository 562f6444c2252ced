//! The status byte that opens every record.
//!
//! ```text
//! bit  meaning
//!   0  0 (1 opens a record of a compressed page, see [`compressed`](super::compressed))
//! 1-3  kind, see [`RecordKind`]
//!   4  null bitmap present
//!   5  variable part present
//!   6  versioning tag present (14 bytes at the end)
//!   7  0
//! ```
//!
//! Observed in real files, except bit 6 and kind 7 (public documentation).

/// Status bit: a null bitmap follows the fixed part.
pub const HAS_NULL_BITMAP: u8 = 0x10;
/// Status bit: a variable part follows.
pub const HAS_VARIABLE: u8 = 0x20;
/// Status bit: a versioning tag closes the record.
pub const HAS_VERSION_TAG: u8 = 0x40;
/// Status bit of the records of compressed pages; 0 in all others.
pub const COMPRESSED: u8 = 0x01;
/// Status bits that are 0 in records of pages that are not compressed.
pub const RESERVED_BITS: u8 = 0x81;

/// Bit 0 of the second status byte of a ghost: it was a forwarded row (public documentation). Its
/// stub may still be there.
pub const GHOST_FORWARDED: u8 = 0x01;

/// Status bits that name the kind.
pub const KIND_BITS: u8 = 0x0e;

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordKind {
    /// 0: a row in its home slot.
    Primary,
    /// 1: a row that an update moved here; its home slot holds a stub.
    Forwarded,
    /// 2: the stub in the home slot of a forwarded row.
    ForwardingStub,
    /// 3: an index entry.
    Index,
    /// 4: a fragment of off-row data.
    Blob,
    /// 5: an index entry that is deleted but still there.
    GhostIndex,
    /// 6: a row that is deleted but still there.
    GhostData,
    /// 7: kept only for its older versions.
    GhostVersion,
}

impl RecordKind {
    /// The kind that a status byte names.
    #[inline]
    pub const fn of(status: u8) -> RecordKind {
        match (status >> 1) & 7 {
            0 => RecordKind::Primary,
            1 => RecordKind::Forwarded,
            2 => RecordKind::ForwardingStub,
            3 => RecordKind::Index,
            4 => RecordKind::Blob,
            5 => RecordKind::GhostIndex,
            6 => RecordKind::GhostData,
            _ => RecordKind::GhostVersion,
        }
    }

    /// Bits 1 to 3 of the status byte.
    pub const fn bits(self) -> u8 {
        (self as u8) << 1
    }

    /// True for records that are deleted but still in their slot.
    #[inline]
    pub const fn is_ghost(self) -> bool {
        matches!(self, RecordKind::GhostIndex | RecordKind::GhostData | RecordKind::GhostVersion)
    }

    /// The name DBCC PAGE prints.
    pub const fn name(self) -> &'static str {
        match self {
            RecordKind::Primary => "PRIMARY_RECORD",
            RecordKind::Forwarded => "FORWARDED_RECORD",
            RecordKind::ForwardingStub => "FORWARDING_STUB",
            RecordKind::Index => "INDEX_RECORD",
            RecordKind::Blob => "BLOB_FRAGMENT",
            RecordKind::GhostIndex => "GHOST_INDEX_RECORD",
            RecordKind::GhostData => "GHOST_DATA_RECORD",
            RecordKind::GhostVersion => "GHOST_VERSION_RECORD",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_seen_in_real_files() {
        let cases = [
            (0x10, RecordKind::Primary),
            (0x30, RecordKind::Primary),
            (0x32, RecordKind::Forwarded),
            (0x04, RecordKind::ForwardingStub),
            (0x3c, RecordKind::GhostData),
            (0x08, RecordKind::Blob),
            (0x36, RecordKind::Index),
            (0x0a, RecordKind::GhostIndex),
        ];
        for (status, kind) in cases {
            assert_eq!(RecordKind::of(status), kind);
            assert_eq!(status & 0x0e, kind.bits());
        }
    }
}
