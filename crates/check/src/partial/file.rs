//! A partial as a file: what one process found in its part of a database, for another one to add
//! up.
//!
//! ```text
//! +0  "EXTDBCHK" 8 bytes
//! +8  version    u16
//! +10 digest     u64   of the database, its plan and the options: only partials of one digest can
//!                      be added
//! +18 partial    its fields in order
//! end checksum   u64   of everything before
//! ```
//!
//! Adding up is not idempotent: a partial that is added twice would count twice. What a partial
//! covers is part of it, and two that cover the same page are refused.

use super::Partial;
use crate::hash::HashKey;
use crate::wire::{Wire, WireError, WireReader};

const MAGIC: &[u8; 8] = b"EXTDBCHK";
const VERSION: u16 = 6;
const CHECKSUM_BYTES: usize = 8;

/// Why a file is no partial, or none of this database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartialError {
    /// It is something else.
    #[error("it is no partial result of a check")]
    Magic,
    /// It is from another version of the program.
    #[error("it has version {found}, this program reads {VERSION}")]
    Version {
        /// Version in the file.
        found: u16,
    },
    /// Its bytes are not those that were written.
    #[error("its checksum is wrong")]
    Checksum,
    /// It cannot be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It belongs to another database, another state of it, or was made with other options.
    #[error("it is of another database, of another state of it, or was made with other options")]
    Digest,
    /// It was made under another key.
    #[error("it was made under another hash key")]
    Key,
    /// Two partials cover the same page.
    #[error(transparent)]
    Overlap(#[from] crate::page_set::Overlap),
}

fn checksum(bytes: &[u8]) -> u64 {
    HashKey::new([0x6578_7465, 0x6e74_6462]).bytes(bytes)
}

/// Writes a partial.
pub(crate) fn to_bytes(partial: &Partial, digest: u64) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    VERSION.write(&mut out);
    digest.write(&mut out);
    partial.write(&mut out);
    checksum(&out).write(&mut out);
    out
}

/// Reads a partial of the plan with this digest.
pub(crate) fn from_bytes(bytes: &[u8], digest: u64) -> Result<Partial, PartialError> {
    let body = bytes.strip_prefix(MAGIC).ok_or(PartialError::Magic)?;
    let found = u16::read(&mut WireReader::new(body))?;
    if found != VERSION {
        return Err(PartialError::Version { found });
    }
    let at = bytes.len().saturating_sub(CHECKSUM_BYTES).max(MAGIC.len());
    let (content, sum) = bytes.split_at_checked(at).ok_or(PartialError::Checksum)?;
    if u64::read(&mut WireReader::new(sum))? != checksum(content) {
        return Err(PartialError::Checksum);
    }
    let mut input =
        WireReader::new(content.get(MAGIC.len() + size_of::<u16>()..).unwrap_or_default());
    if u64::read(&mut input)? != digest {
        return Err(PartialError::Digest);
    }
    let partial = Partial::read(&mut input)?;
    if input.is_at_end() { Ok(partial) } else { Err(input.wrong("end").into()) }
}
