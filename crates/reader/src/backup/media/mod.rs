//! The files of a media set: the given stripes and their backup sets.

pub(crate) mod file;
pub(crate) mod header;
pub(crate) mod scan;
pub(crate) mod summary;

use std::path::PathBuf;

use extentdb_base::sync::{Arc, thread};
use extentdb_io::ReadAt;
use extentdb_types::Guid;

use crate::backup::error::Error;
use crate::backup::finding::Findings;
use crate::backup::media::file::{MediaFamily, MediaFile};
use crate::backup::media::header::{BackupFile, SetHeader, files_of};
use crate::backup::media::scan::SetScan;
use crate::backup::media::summary::SetSummary;
use crate::backup::set::{BackupSet, SetOptions};

/// The opened files of a backup: headers are read, pages are not.
pub struct BackupMedia {
    files: Vec<MediaFile>,
    findings: Findings,
}

impl BackupMedia {
    /// Opens the files of a media set, in any order.
    ///
    /// # Errors
    /// A file is no backup, or cannot be read by anybody without a key; files of several backups
    /// were given.
    pub fn open(sources: Vec<Arc<dyn ReadAt>>) -> Result<Self, Error> {
        Self::of_files(open_files(sources)?)
    }

    /// Opens the files of any number of media sets, in any order.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for files of several backups.
    pub fn open_all(sources: Vec<Arc<dyn ReadAt>>) -> Result<Vec<Self>, Error> {
        let mut groups: Vec<(Option<Guid>, Vec<MediaFile>)> = Vec::new();
        for file in open_files(sources)? {
            let media_set = file.media_set();
            match groups.iter_mut().find(|(known, _)| *known == media_set) {
                Some((_, group)) => group.push(file),
                None => groups.push((media_set, vec![file])),
            }
        }
        groups.into_iter().map(|(_, files)| Self::of_files(files)).collect()
    }

    fn of_files(files: Vec<MediaFile>) -> Result<Self, Error> {
        one_media_set(&files)?;
        let mut findings = Findings::default();
        files.iter().for_each(|file| findings.join(&file.scan.findings));
        Ok(BackupMedia { files, findings })
    }

    /// The first file given.
    pub(crate) fn first_path(&self) -> PathBuf {
        self.files.first().map(|file| file.stream.path().to_path_buf()).unwrap_or_default()
    }

    /// The backup sets in a few words each.
    pub(crate) fn summaries(&self) -> Vec<SetSummary> {
        self.sets().iter().map(SetHeader::summary).collect()
    }

    /// The media set.
    pub fn family(&self) -> MediaFamily {
        let tape = self.files.iter().find_map(|file| file.scan.tape.as_ref());
        let text = |of: fn(&extentdb_format::mtf::Tape) -> &String| {
            tape.map_or_else(String::new, |tape| of(tape).trim_end_matches('\0').to_owned())
        };
        let families = self.files.iter().map(|file| file.family().1).max().unwrap_or(1);
        let mut given: Vec<u16> = self.files.iter().map(|file| file.family().0).collect();
        given.sort_unstable();
        MediaFamily {
            media_set: self.files.iter().find_map(MediaFile::media_set),
            name: text(|tape| &tape.name),
            description: text(|tape| &tape.description),
            software_name: text(|tape| &tape.software_name),
            families,
            missing: (1..=families).filter(|family| given.binary_search(family).is_err()).collect(),
            given,
        }
    }

    /// The backup sets, in the order of the media.
    pub fn sets(&self) -> Vec<SetHeader> {
        self.set_guids()
            .iter()
            .enumerate()
            .filter_map(|(n, guid)| self.header(*guid, n as u32 + 1))
            .collect()
    }

    /// The files of the database that a set lists.
    pub fn files(&self, position: u32) -> Vec<BackupFile> {
        let guids = self.set_guids();
        let guid = guids.get((position as usize).wrapping_sub(1));
        let set = guid.and_then(|guid| self.best_scan(*guid));
        set.map_or_else(Vec::new, |(set, _)| files_of(set))
    }

    /// Findings about the headers of the files.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Opens a set: finds out where each of its extents lies. `position`: from 1; may be left out
    /// when it is the only one.
    ///
    /// # Errors
    /// No such set, or several and none was chosen; not a full backup; a stripe is
    /// missing.
    pub fn open_set(
        &self,
        position: Option<u32>,
        options: &SetOptions,
    ) -> Result<BackupSet, Error> {
        let guids = self.set_guids();
        let position = match position {
            Some(position) => position,
            None if guids.len() == 1 => 1,
            None => {
                return Err(Error::SeveralSets(
                    self.sets().iter().map(SetHeader::summary).collect(),
                ));
            }
        };
        let found = guids.get((position as usize).wrapping_sub(1));
        let guid = *found.ok_or(Error::NoSuchSet { wanted: position, sets: guids.len() })?;
        let header = self.header(guid, position);
        let header = header.ok_or(Error::NoSuchSet { wanted: position, sets: guids.len() })?;
        for file in &self.files {
            if file.set(guid).is_none() && !options.allow_missing_stripes {
                let path = file.stream.path().to_path_buf();
                return Err(Error::StripeWithoutSet { path, position, set: guid });
            }
        }
        let parts: Vec<_> =
            self.files.iter().filter_map(|file| file.set(guid).map(|set| (file, set))).collect();
        BackupSet::open(header, &parts, &self.family(), &self.findings, options)
    }

    /// The GUIDs of all sets, each once.
    fn set_guids(&self) -> Vec<Guid> {
        let mut guids: Vec<Guid> = Vec::new();
        for set in self.files.iter().flat_map(|file| &file.scan.sets) {
            if !guids.contains(&set.start.set_guid) {
                guids.push(set.start.set_guid);
            }
        }
        guids
    }

    /// The best stripe for the header of a set: one with its final configuration.
    fn best_scan(&self, guid: Guid) -> Option<(&SetScan, &MediaFile)> {
        let scans = || self.files.iter().filter_map(|file| file.set(guid).map(|set| (set, file)));
        scans().find(|(set, _)| set.last.is_some()).or_else(|| scans().next())
    }

    fn header(&self, guid: Guid, position: u32) -> Option<SetHeader> {
        self.best_scan(guid)
            .map(|(set, file)| SetHeader::of(set, position, file.stream.is_packed()))
    }
}

/// Scans files, each on its own thread.
fn open_files(sources: Vec<Arc<dyn ReadAt>>) -> Result<Vec<MediaFile>, Error> {
    let opened: Vec<_> = thread::scope(|scope| {
        let tasks: Vec<_> = sources
            .into_iter()
            .enumerate()
            .map(|(number, source)| scope.spawn(move || MediaFile::open(source, number)))
            .collect();
        tasks
            .into_iter()
            .map(|task| task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    opened.into_iter().collect()
}

/// All files must name the same media set, each another family of it.
fn one_media_set(files: &[MediaFile]) -> Result<(), Error> {
    let Some(first) = files.first() else { return Err(Error::NothingGiven) };
    for (n, other) in files.iter().enumerate().skip(1) {
        let path = |file: &MediaFile| file.stream.path().to_path_buf();
        let first_set = first.media_set();
        let other_set = other.media_set();
        if first_set != other_set {
            let none = Guid([0; 16]);
            return Err(Error::ForeignStripe {
                first: path(first),
                first_set: first_set.unwrap_or(none),
                other: path(other),
                other_set: other_set.unwrap_or(none),
            });
        }
        let twin = files.iter().take(n).find(|file| file.family().0 == other.family().0);
        if let Some(twin) = twin {
            return Err(Error::SameStripe {
                first: path(twin),
                other: path(other),
                family: other.family().0,
                media_set: other_set.unwrap_or(Guid([0; 16])),
            });
        }
    }
    Ok(())
}
