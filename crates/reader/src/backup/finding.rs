//! Findings: damage to a backup that does not prevent reading the rest.

use std::fmt;
use std::path::PathBuf;

use extentdb_base::sync::Arc;
use extentdb_format::mtf::{Fault, Tag};

/// Findings that are kept per file; further ones are only counted.
const KEPT_MAX: usize = 1000;

/// Damage at an offset of a backup file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Path of the backup file.
    pub path: Arc<PathBuf>,
    /// Offset in the file.
    pub offset: u64,
    /// The kind of damage.
    pub what: FindingKind,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.path.display(), self.offset, self.what)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum FindingKind {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("the file ends inside {part}: {missing} bytes are missing")]
    Truncated { part: Tag, missing: u64 },
    #[error("the file ends inside a record: {missing} bytes are missing")]
    TruncatedRecord { missing: u64 },
    #[error("backup set {set}: {part} is missing")]
    Missing { set: u32, part: SetPart },
    #[error("{bytes} bytes that are no block were passed over")]
    PassedOver { bytes: u64 },
    #[error("no block begins here; the rest of the file is not read")]
    Unreadable,
    #[error("a record header is damaged; the record is taken as {bytes} bytes of output")]
    LostRecord { bytes: u32 },
    #[error("record: {0}")]
    Undecoded(crate::backup::read_error::Undecoded),
    #[error(
        "{extents} extents (from number {first} of the set) name no page and could not be placed"
    )]
    Unplaced { first: u64, extents: u64 },
    #[error("the extent could not be read: {reason}")]
    Extent { reason: String },
    #[error("family {family} of {families} is not given")]
    MissingStripe { family: u16, families: u16 },
    #[error("container version 1 is known from public notes only: what was read is not verified")]
    UnverifiedVersion,
}

/// Parts that every backup set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetPart {
    /// The SSET block at the start of the set.
    Start,
    /// The MSCI stream: configuration at the start.
    Configuration,
    /// The MSLS stream: configuration at the end.
    FinalConfiguration,
    /// TSMP in the first ESET.
    SetMap,
    /// The second ESET block.
    End,
    /// SFMB after the second ESET.
    Filemark,
    /// Seek index of a compressed backup.
    SeekIndex,
}

impl fmt::Display for SetPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetPart::Start => "its start (SSET)",
            SetPart::Configuration => "the configuration at the start (MSCI)",
            SetPart::FinalConfiguration => "the final configuration (MSLS)",
            SetPart::SetMap => "the set map (ESET)",
            SetPart::End => "the end of the set (ESET)",
            SetPart::Filemark => "the filemark at the end (SFMB)",
            SetPart::SeekIndex => "the seek index",
        })
    }
}

/// The findings of one file, or of all.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    more: u64,
}

impl Findings {
    pub(crate) fn add(&mut self, path: &Arc<PathBuf>, offset: u64, what: impl Into<FindingKind>) {
        if self.kept.len() < KEPT_MAX {
            self.kept.push(Finding { path: path.clone(), offset, what: what.into() });
        } else {
            self.more += 1;
        }
    }

    /// Adds those of `other`.
    pub(crate) fn join(&mut self, other: &Findings) {
        let room = KEPT_MAX.saturating_sub(self.kept.len());
        self.kept.extend(other.kept.iter().take(room).cloned());
        self.more += other.more + other.kept.len().saturating_sub(room) as u64;
    }

    /// The first findings, in order.
    pub fn kept(&self) -> &[Finding] {
        &self.kept
    }

    /// Number of further findings.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// True when nothing was wrong.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.more == 0
    }
}
