//! One file of a media set.

use extentdb_base::sync::Arc;
use extentdb_io::ReadAt;
use extentdb_types::Guid;

use crate::backup::error::{Error, Families};
use crate::backup::finding::Findings;
use crate::backup::media::scan::{Scan, SetScan, scan};
use crate::backup::stream::BlockStream;

/// The media set that the files belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaFamily {
    /// Media set GUID, the same in all stripes; `None` when the stream that holds it is missing.
    pub media_set: Option<Guid>,
    /// The media name given to BACKUP (MEDIANAME).
    pub name: String,
    /// The media description given to BACKUP (MEDIADESCRIPTION).
    pub description: String,
    /// Product that wrote it.
    pub software_name: String,
    /// Files that the media set consists of.
    pub families: u16,
    /// Numbers of the files that were given, ascending.
    pub given: Vec<u16>,
    /// Numbers of those that were not.
    pub missing: Vec<u16>,
}

impl MediaFamily {
    /// The missing families, as text.
    pub fn describe_missing(&self) -> String {
        let are = if self.missing.len() == 1 { "is" } else { "are" };
        format!("{} of {} {are} not given", Families(&self.missing), self.families)
    }
}

/// A scanned file.
pub(crate) struct MediaFile {
    pub(crate) stream: Arc<BlockStream>,
    pub(crate) scan: Scan,
}

impl MediaFile {
    pub(crate) fn open(source: Arc<dyn ReadAt>, number: usize) -> Result<Self, Error> {
        let mut findings = Findings::default();
        let stream = BlockStream::open(source, number, &mut findings)?;
        let scan = scan(&stream, findings)?;
        Ok(MediaFile { stream: Arc::new(stream), scan })
    }

    pub(crate) fn media_set(&self) -> Option<Guid> {
        self.scan.raid.map(|raid| raid.media_set.get())
    }

    /// Number of this file, and the number of files.
    pub(crate) fn family(&self) -> (u16, u16) {
        let raid = self.scan.raid.map_or((1, 1), |raid| (raid.family.get(), raid.families.get()));
        (raid.0.max(1), raid.1.max(1))
    }

    /// The set with this GUID.
    pub(crate) fn set(&self, guid: Guid) -> Option<&SetScan> {
        self.scan.sets.iter().find(|set| set.start.set_guid == guid)
    }
}
