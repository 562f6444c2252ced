//! Why an extent or a block of log of a backup cannot be read.

use std::path::PathBuf;

use extentdb_base::Extent;
use extentdb_format::mtf::xpress;

/// Why bytes of a backup could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum ReadError {
    /// The backup does not carry the extent.
    #[error("the extent of page {} is not in the backup", extent.first_page())]
    NotStored { extent: Extent },
    /// A record of a compressed backup cannot be expanded.
    #[error("{}: record at {offset}: {what}", path.display())]
    Damaged {
        path: PathBuf,
        /// Offset of the record in the file.
        offset: u64,
        what: Undecoded,
    },
    /// The operating system refused, or the file ends before.
    #[error(transparent)]
    Io(#[from] extentdb_io::Error),
}

/// Damage to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum Undecoded {
    #[error("checksum {stored:08X} stored, {computed:08X} computed")]
    Checksum { stored: u32, computed: u32 },
    #[error(transparent)]
    Payload(#[from] xpress::Damage),
    #[error("its header is damaged")]
    Lost,
}
