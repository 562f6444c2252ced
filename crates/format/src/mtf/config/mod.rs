//! Configuration of a set: the MQCI stream of MSCI and MSLS.
//!
//! ```text
//! SCIN   the set: what RESTORE HEADERONLY shows
//! SFGI   a filegroup
//! SFIN   a file of it: what RESTORE FILELISTONLY shows
//! …      further files, further filegroups
//! SFIN   the log file
//! ```
//!
//! Each section starts with its tag and its total length (u32). Names are spans from the section's
//! start, UTF-16LE. MSCI holds the values as the backup began, MSLS those at its end: finish date,
//! sizes, the new differential base.

mod file;
mod filegroup;
mod set;

pub use file::{FileInfo, FileInfoFields, FileKind, GROWTH_IS_PERCENT, NO_LIMIT};
pub use filegroup::{FilegroupInfo, FilegroupInfoFields};
pub use set::{BackupKind, SetFlags, SetInfo, SetInfoFields};

use super::fault::{Fault, NoRoom, Tag};
use super::layout::{Span, put, u32_at};

/// Bytes of tag and length.
const SECTION_HEADER_BYTES: usize = 8;

/// A file's section with fewer bytes does not even hold the spans of its names.
const FILE_BYTES_MIN: usize = 56;

/// A section as it lies in the stream.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Four characters that name the structure.
    pub tag: Tag,
    /// The whole section, header included.
    pub bytes: &'a [u8],
}

/// Walks the sections of a stream; ends at the first that does not fit, which [`Sections::fault`]
/// then names.
#[derive(Clone, Debug)]
pub struct Sections<'a> {
    data: &'a [u8],
    at: usize,
    fault: Option<Fault>,
}

impl<'a> Sections<'a> {
    /// Starts at the front of an MQCI stream's data.
    pub fn new(data: &'a [u8]) -> Self {
        Sections { data, at: 0, fault: None }
    }

    /// Why the walk ended before the end of the stream.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = Section<'a>;

    fn next(&mut self) -> Option<Section<'a>> {
        let rest = self.data.get(self.at..).filter(|rest| !rest.is_empty())?;
        let tag = Tag(super::layout::u32_at(rest, 0).to_le_bytes());
        let size = u32_at(rest, 4);
        let bytes = rest.get(..size as usize).filter(|bytes| bytes.len() >= SECTION_HEADER_BYTES);
        if bytes.is_none() {
            self.fault =
                Some(Fault::Section { kind: tag, offset: self.at, size, left: rest.len() });
            self.at = self.data.len();
        }
        let bytes = bytes?;
        self.at += bytes.len();
        Some(Section { tag, bytes })
    }
}

/// The configuration of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The set itself.
    pub set: Option<SetInfo>,
    /// Its filegroups, in stream order.
    pub filegroups: Vec<FilegroupInfo>,
    /// Its files, in stream order: each filegroup's, then the log's.
    pub files: Vec<FileInfo>,
}

impl Configuration {
    /// Reads an MQCI stream's data. Sections with an unknown tag, and those too short to name a
    /// file, are passed over.
    pub fn parse(data: &[u8]) -> (Self, Vec<Fault>) {
        let mut config = Configuration::default();
        let mut faults = Vec::new();
        let mut sections = Sections::new(data);
        for section in sections.by_ref() {
            match &section.tag.0 {
                b"SCIN" => {
                    config.set = config.set.or(Some(SetInfo::parse(section.bytes, &mut faults)))
                }
                b"SFGI" => config.filegroups.push(FilegroupInfo::parse(section.bytes, &mut faults)),
                b"SFIN" if section.bytes.len() >= FILE_BYTES_MIN => {
                    config.files.push(FileInfo::parse(section.bytes, &mut faults));
                }
                b"SFIN" => {
                    let bytes = section.bytes.len();
                    let needed = FILE_BYTES_MIN;
                    faults.push(Fault::ShortBlock { kind: section.tag, bytes, needed });
                }
                _ => {}
            }
        }
        faults.extend(sections.fault());
        (config, faults)
    }

    /// Name of a filegroup.
    pub fn filegroup_name(&self, id: u32) -> Option<&str> {
        let found = self.filegroups.iter().find(|group| group.fields.id.get() == id);
        found.map(|group| group.name.as_str())
    }

    /// Writes the stream's data in the order SQL Server uses; returns its length.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut at = 0;
        if let Some(set) = &self.set {
            at += set.write(to)?;
        }
        for group in &self.filegroups {
            at += group.write(to.get_mut(at..).unwrap_or_default())?;
            let id = group.fields.id;
            for file in self.files.iter().filter(|file| file.fields.filegroup == id) {
                at += file.write(to.get_mut(at..).unwrap_or_default())?;
            }
        }
        let grouped = |file: &FileInfo| {
            self.filegroups.iter().any(|group| group.fields.id == file.fields.filegroup)
        };
        for file in self.files.iter().filter(|file| !grouped(file)) {
            at += file.write(to.get_mut(at..).unwrap_or_default())?;
        }
        Ok(at)
    }
}

/// Bytes between the known fixed part and the first text: newer versions write a longer fixed part.
fn tail<'a>(section: &'a [u8], known: usize, spans: &[Span]) -> &'a [u8] {
    let named =
        spans.iter().filter(|span| span.size.get() > 0).map(|span| usize::from(span.offset.get()));
    let texts_at = named.min().unwrap_or(section.len());
    section.get(known..texts_at).unwrap_or_default()
}

/// What is wrong with a section's size and texts.
fn section_faults(section: &[u8], needed: usize, spans: &[Span], faults: &mut Vec<Fault>) {
    let kind = Tag(u32_at(section, 0).to_le_bytes());
    if section.len() < needed {
        faults.push(Fault::ShortBlock { kind, bytes: section.len(), needed });
    }
    faults.extend(spans.iter().filter_map(|span| span.fault(section, kind)));
}

/// Ends a section: fixed part, the bytes after it, total length.
fn finish_section(
    filler: super::layout::Filler<'_>,
    fixed: &[u8],
    tail: &[u8],
) -> Result<usize, NoRoom> {
    let (whole, len) = filler.finish(1, fixed)?;
    put(whole, fixed.len(), tail)?;
    let size = u32::try_from(len).map_err(|_| NoRoom { needed: len, room: u32::MAX as usize })?;
    put(whole, 4, &size.to_le_bytes())?;
    Ok(len)
}
