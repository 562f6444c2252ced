//! Why a backup cannot be opened.

use std::fmt;
use std::path::PathBuf;

use extentdb_base::Lsn;
use extentdb_format::mtf::{BackupKind, Tag};
use extentdb_types::Guid;

use crate::backup::chain::stop::StopAt;
use crate::backup::finding::Finding;
use crate::backup::media::summary::SetSummary;

/// The files cannot be opened as a backup set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum Error {
    /// Neither a media header nor a compressed container.
    #[error("{}: not a backup: it starts with {front:02X?}", path.display())]
    NotABackup { path: PathBuf, front: Vec<u8> },
    /// An undocumented container version.
    #[error("{}: compressed backup of container version {version}; 1 and 2 can be read", path.display())]
    UnknownContainer { path: PathBuf, version: u32 },
    /// Container version 1 without the offset of its first record.
    #[error("{}: compressed backup without a first record", path.display())]
    NoFirstRecord { path: PathBuf },
    /// Intact records of another algorithm than XPRESS.
    #[error("{}: the records (first at {offset}) are {algorithm}; only MS_XPRESS can be read", path.display())]
    OtherAlgorithm { path: PathBuf, offset: u64, algorithm: &'static str },
    /// A stream of the backup is encrypted.
    #[error("{}: the backup is encrypted (stream {stream}); it can only be restored with its certificate or key", path.display())]
    Encrypted { path: PathBuf, stream: Tag },
    /// A media header without a backup set after it.
    #[error("{}: a media header without a backup set{}", path.display(), Because(cause))]
    NoSet { path: PathBuf, cause: Option<Box<Finding>> },
    /// No file at all.
    #[error("no backup file was given")]
    NothingGiven,
    /// Two files of two media sets.
    #[error(
        "{} (media set {first_set}) and {} (media set {other_set}) belong to different backups",
        first.display(), other.display()
    )]
    ForeignStripe { first: PathBuf, first_set: Guid, other: PathBuf, other_set: Guid },
    /// Two files with the same family number.
    #[error("{} and {} are both family {family} of media set {media_set}", first.display(), other.display())]
    SameStripe { first: PathBuf, other: PathBuf, family: u16, media_set: Guid },
    #[error(
        "the backup is striped over {families} files: {} of media set {media_set} {} missing",
        Families(missing), if missing.len() == 1 { "is" } else { "are" }
    )]
    MissingStripes { media_set: Guid, families: u16, missing: Vec<u16> },
    /// A stripe does not hold the set.
    #[error("{}: backup set {position} ({set}) is not on this stripe", path.display())]
    StripeWithoutSet { path: PathBuf, position: u32, set: Guid },
    /// Several sets, none chosen.
    #[error("the media holds {} backup sets, choose one by its number:{}", .0.len(), Lines(.0))]
    SeveralSets(Vec<SetSummary>),
    /// No set of that number.
    #[error("there is no backup set {wanted}; the media holds {}", if *sets == 1 { "one".into() } else { sets.to_string() })]
    NoSuchSet { wanted: u32, sets: usize },
    /// The set does not hold a whole database.
    #[error("backup set {position} is a {} backup of {database}: {}", KindName(kind), Needs { kind, base, first_lsn })]
    NotAFullBackup {
        position: u32,
        kind: BackupKind,
        database: String,
        /// Set GUID of the full backup a differential one builds on.
        base: Option<Guid>,
        first_lsn: Lsn,
    },
    /// A set of another database among those of a chain.
    #[error(
        "{set} is of database {database} (family {family}), {base} of database {base_database} \
         (family {base_family})"
    )]
    SetOfOtherDatabase {
        set: Box<SetName>,
        database: String,
        family: Guid,
        base: Box<SetName>,
        base_database: String,
        base_family: Guid,
    },
    /// A differential backup whose full backup was not given.
    #[error(
        "{set} builds on the full backup {}{}, which is not given; {base} is {found}",
        GuidOrNone(wanted),
        AtLsn(wanted_lsn)
    )]
    BaseMissing {
        set: Box<SetName>,
        wanted: Option<Guid>,
        wanted_lsn: Option<Lsn>,
        base: Box<SetName>,
        found: Guid,
    },
    /// The log between two sets of a chain is missing.
    #[error("the log between {} and {} is not given: {before}, the next is {after}",
        before.last_lsn, after.first_lsn)]
    Gap { before: Box<SetName>, after: Box<SetName> },
    /// A log backup from another recovery fork of the database.
    #[error("{after} is on recovery fork {found}, {before} on {fork}: it does not follow")]
    OtherFork { before: Box<SetName>, fork: Guid, after: Box<SetName>, found: Guid },
    /// The stop lies before the end of the full or differential backup.
    #[error("{stop} lies before {}, up to which {set} must be restored to be consistent", set.last_lsn)]
    StopTooEarly { stop: StopAt, set: Box<SetName> },
    /// A log backup that carries pages besides records can only be used as a whole.
    #[error(
        "{stop} lies in {set}, which holds bulk-logged pages: it can only be restored to its end"
    )]
    StopInBulkLog { stop: StopAt, set: Box<SetName> },
    /// The log could not be searched for the stop.
    #[error("the log cannot be read: {0}")]
    Log(String),
    /// Whole, but without extents.
    #[error("backup set {position} of {database} holds no data pages")]
    NoPages { position: u32, database: String },
    /// More than 2^32 extents.
    #[error("backup set {position} claims {extents} extents, more than a database can have")]
    TooManyExtents { position: u32, extents: u64 },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] extentdb_io::Error),
}

/// A backup set as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in SetHeader")]
pub struct SetName {
    pub path: PathBuf,
    pub position: u32,
    pub kind: BackupKind,
    pub first_lsn: Lsn,
    pub last_lsn: Lsn,
}

impl fmt::Display for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SetName { path, position, kind, first_lsn, last_lsn } = self;
        write!(f, "{}", path.display())?;
        if *position > 1 {
            write!(f, " set {position}")?;
        }
        write!(f, " ({} {first_lsn} to {last_lsn})", kind.description().to_lowercase())
    }
}

struct GuidOrNone<'a>(&'a Option<Guid>);

impl fmt::Display for GuidOrNone<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(guid) => write!(f, "{guid}"),
            None => f.write_str("(not named)"),
        }
    }
}

struct AtLsn<'a>(&'a Option<Lsn>);

impl fmt::Display for AtLsn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |lsn| write!(f, " of LSN {lsn}"))
    }
}

struct Because<'a>(&'a Option<Box<Finding>>);

impl fmt::Display for Because<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .as_ref()
            .map_or(Ok(()), |finding| write!(f, " ({}: {})", finding.offset, finding.what))
    }
}

/// A media set has at most 64 families; a damaged number must not fill the screen.
const FAMILIES_SHOWN: usize = 64;

/// Family numbers as text: `family 2`, or `families 1, 3`.
pub(crate) struct Families<'a>(pub(crate) &'a [u16]);

impl fmt::Display for Families<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "family " } else { "families " })?;
        for (n, family) in self.0.iter().take(FAMILIES_SHOWN).enumerate() {
            write!(f, "{}{family}", if n == 0 { "" } else { ", " })?;
        }
        let more = self.0.len().saturating_sub(FAMILIES_SHOWN);
        if more == 0 { Ok(()) } else { write!(f, " and {more} more") }
    }
}

struct Lines<'a>(&'a [SetSummary]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|set| write!(f, "\n  {set}"))
    }
}

struct KindName<'a>(&'a BackupKind);

impl fmt::Display for KindName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            BackupKind::Other(letter) => write!(f, "type {:?}", char::from(*letter)),
            kind => f.write_str(&kind.description().to_lowercase()),
        }
    }
}

struct Needs<'a> {
    kind: &'a BackupKind,
    base: &'a Option<Guid>,
    first_lsn: &'a Lsn,
}

impl fmt::Display for Needs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            BackupKind::Log => {
                let lsn = self.first_lsn;
                write!(
                    f,
                    "it holds log only, and needs the full backup and all log backups up to LSN {lsn}"
                )
            }
            kind if kind.is_differential() => {
                f.write_str(
                    "it holds changed extents only, and needs the full backup it builds on",
                )?;
                self.base.map_or(Ok(()), |base| write!(f, " (backup set {base})"))
            }
            BackupKind::File | BackupKind::Partial => {
                f.write_str("it lacks the primary data file, and needs the backup that holds it")
            }
            _ => f.write_str("only full backups can be read as a database"),
        }
    }
}
