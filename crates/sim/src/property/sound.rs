//! The full check reports no finding.

use extentdb_base::env::SystemClock;
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::{Extent, FileId, PageId};
use extentdb_check::{Control, Options, Report, Verdict};
use extentdb_engine::Paths;
use extentdb_io::MemDisk;
use extentdb_reader::{PageSource, ReadError, SourceFile};

/// The data files of a disk in memory.
pub(crate) struct DiskFiles {
    files: Vec<SourceFile>,
    bytes: Vec<Vec<u8>>,
}

impl DiskFiles {
    /// The index in the list gives the file id: 1, then 3 and up; 2 is the log.
    pub(crate) fn of(memory: &MemDisk, paths: &Paths) -> DiskFiles {
        let mut image = DiskFiles { files: Vec::new(), bytes: Vec::new() };
        for (number, path) in paths.data.iter().enumerate() {
            let bytes = memory.contents(path).unwrap_or_default();
            let id = FileId(if number == 0 { 1 } else { number as u16 + 2 });
            let pages = (bytes.len() / PAGE_BYTES) as u32;
            let trailing_bytes = (bytes.len() % PAGE_BYTES) as u32;
            image.files.push(SourceFile { id, pages, trailing_bytes, path: path.clone() });
            image.bytes.push(bytes);
        }
        image
    }

    /// The full check.
    pub(crate) fn check(&self) -> Report {
        let clock = SystemClock::new();
        let cancel = AtomicBool::new(false);
        extentdb_check::run(self, &Options::default(), &Control::new(&clock, &cancel))
    }
}

impl PageSource for DiskFiles {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let at = self.files.iter().position(|file| file.id == first.file);
        let at = at.ok_or(ReadError::NoFile { file: first.file })?;
        let start = first.page as usize * PAGE_BYTES;
        let pages = self.files[at].pages;
        let beyond = PageId { page: first.page.max(pages), ..first };
        let bytes = self.bytes[at].get(start..start.saturating_add(buf.len()));
        buf.copy_from_slice(bytes.ok_or(ReadError::BeyondEnd { page: beyond, pages })?);
        Ok(())
    }

    fn is_stored(&self, extent: Extent) -> bool {
        extent.first_page().page < self.page_count(extent.file)
    }
}

/// The findings of the check as text; `None` when the files are sound.
pub(crate) fn complaint(memory: &MemDisk, paths: &Paths) -> Option<String> {
    let report = DiskFiles::of(memory, paths).check();
    // Free pages of mixed extents that SGAM does not mark: no damage, but a bug of the engine.
    if let Some(note) = report.notes.iter().find(|note| note.error == 59031) {
        return Some(note.message.clone());
    }
    if report.findings.is_empty() && report.verdict == Verdict::Clean {
        return None;
    }
    let findings: Vec<String> =
        report.findings.iter().take(8).map(|finding| format!("{finding:?}")).collect();
    let not_checked = report.coverage.not_checked.iter().take(3);
    let not_checked: Vec<String> = not_checked.map(|part| format!("{part:?}")).collect();
    Some(format!(
        "{:?}, {} findings: {}{}",
        report.verdict,
        report.findings.len(),
        findings.join("\n  "),
        not_checked.join("\n  ")
    ))
}

/// Runs the full check over the files of a test.
///
/// # Panics
/// The full check found something.
pub fn assert_sound(memory: &MemDisk, paths: &Paths) {
    if let Some(complaint) = complaint(memory, paths) {
        panic!("{complaint}");
    }
}
