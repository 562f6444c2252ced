//! A database in memory with pages that can be changed, and ways to find pages of a kind.
#![allow(dead_code, unreachable_pub, reason = "every test uses its part")]

pub mod cases;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extentdb_base::env::SystemClock;
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::{Extent, FileId, PageId};
use extentdb_catalog::Catalog;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind};
use extentdb_check::{Control, Options, Report, run};
use extentdb_format::page::{PageHeader, PageRef, PageType, checksum};
use extentdb_format::record::Record;
use extentdb_format::{PageBuf, PageBytes};
use extentdb_reader::{CheckedPages, PageSource, ReadError, SourceFile};
use extentdb_template::{MakeOptions, Size, make};

/// One data file in memory; changed pages lie over the file as it was.
#[derive(Clone)]
pub struct Memory {
    base: Arc<Vec<u8>>,
    changed: BTreeMap<u32, PageBuf>,
    files: Vec<SourceFile>,
}

impl Memory {
    pub fn new(bytes: Vec<u8>) -> Memory {
        let pages = (bytes.len() / PAGE_BYTES) as u32;
        let trailing_bytes = (bytes.len() % PAGE_BYTES) as u32;
        let path = PathBuf::from("memory.mdf");
        let files = vec![SourceFile { id: FileId(1), pages, trailing_bytes, path }];
        Memory { base: Arc::new(bytes), changed: BTreeMap::new(), files }
    }

    pub fn pages(&self) -> u32 {
        self.files[0].pages
    }

    /// Ends the file before this page.
    pub fn truncate(&mut self, pages: u32) {
        self.files[0].pages = pages;
    }

    /// A page as stored.
    pub fn stored(&self, page: u32) -> PageBuf {
        let mut buf = PageBuf::zeroed();
        self.read(PageId::new(1, page), &mut buf).unwrap();
        buf
    }

    /// Changes stored bytes: the checksum is wrong from then on.
    pub fn raw(&mut self, page: u32, change: impl FnOnce(&mut PageBytes)) {
        let mut buf = self.stored(page);
        change(&mut buf);
        self.changed.insert(page, buf);
    }

    /// Changes a page and protects it again.
    pub fn edit(&mut self, page: u32, change: impl FnOnce(&mut PageBytes)) {
        self.raw(page, |bytes| {
            change(bytes);
            checksum::seal(bytes);
        });
    }

    pub fn header(&mut self, page: u32, change: impl FnOnce(&mut PageHeader)) {
        self.edit(page, |bytes| change(PageHeader::of_mut(bytes)));
    }

    pub fn check(&self) -> Report {
        self.check_with(&Options::default())
    }

    pub fn check_with(&self, options: &Options) -> Report {
        let clock = SystemClock::new();
        let cancel = AtomicBool::new(false);
        run(self, options, &Control::new(&clock, &cancel))
    }
}

impl PageSource for Memory {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        if first.file != FileId(1) {
            return Err(ReadError::NoFile { file: first.file });
        }
        for (page, out) in (first.page..).zip(buf.chunks_exact_mut(PAGE_BYTES)) {
            if page >= self.pages() {
                return Err(ReadError::BeyondEnd {
                    page: PageId { page, ..first },
                    pages: self.pages(),
                });
            }
            match self.changed.get(&page) {
                Some(changed) => out.copy_from_slice(&changed[..]),
                None => out.copy_from_slice(&self.base[page as usize * PAGE_BYTES..][..PAGE_BYTES]),
            }
        }
        Ok(())
    }

    fn is_stored(&self, _: Extent) -> bool {
        true
    }
}

/// The demo database with trees of three levels, a heap, and where to find what.
pub struct Demo {
    pub memory: Memory,
    pub catalog: Catalog,
}

impl Demo {
    pub fn new() -> Demo {
        Demo::sized(Size::Rows(60_000))
    }

    /// So small that it can be checked hundreds of times.
    pub fn small() -> Demo {
        Demo::sized(Size::Rows(2_000))
    }

    /// With free extents after the tables, which are smaller.
    pub fn with_free_space() -> Demo {
        Demo::sized(Size::Bytes(16 << 20))
    }

    fn sized(size: Size) -> Demo {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo.mdf");
        let options = MakeOptions { shape: "demo".to_owned(), size, seed: 3 };
        make(&options, &[Path::new(&path)], &mut |_| {}).unwrap();
        let memory = Memory::new(std::fs::read(path).unwrap());
        let catalog = Catalog::load(&CheckedPages::new(&memory)).unwrap();
        Demo { memory, catalog }
    }

    /// The in-row unit of an index of a user table.
    pub fn unit(&self, table: &str, index: i32) -> &AllocUnit {
        let table = self.catalog.tables.values().find(|it| it.name == table).unwrap();
        let index = table.indexes.iter().find(|it| it.id.0 == index).unwrap();
        self.catalog.rowsets[&index.rowsets[0]].unit(AllocUnitKind::InRow).unwrap()
    }

    /// The pages from the root down to a leaf in the middle, at each level the child in the middle.
    pub fn path(&self, unit: &AllocUnit) -> Vec<u32> {
        let mut path = vec![unit.root.page];
        loop {
            let page = self.memory.stored(*path.last().unwrap());
            let view = PageRef::new(&page);
            let is_leaf = view.header().kind() == PageType::Data || view.header().level == 0;
            if is_leaf {
                return path;
            }
            let slot = view.slot_count() / 2;
            path.push(self.child(*path.last().unwrap(), slot).page);
        }
    }

    pub fn child(&self, page: u32, slot: u16) -> PageId {
        let page = self.memory.stored(page);
        let view = PageRef::new(&page);
        let bytes = view.record_bytes(slot).unwrap();
        Record::parse_index(bytes, view.header().fixed_len.get()).child().unwrap()
    }

    /// A page in the middle of a heap.
    pub fn heap_page(&self) -> u32 {
        let unit = self.unit("heap", 0);
        let own: Vec<u32> = (8..self.memory.pages())
            .filter(|page| {
                let stored = self.memory.stored(*page);
                let header = PageHeader::of(&stored);
                header.alloc_unit() == unit.id && header.kind() == PageType::Data
            })
            .collect();
        own[own.len() / 2]
    }

    pub fn header(&self, page: u32) -> PageHeader {
        PageHeader::of(&self.memory.stored(page)).clone()
    }
}

/// Offset of a slot's record.
pub fn offset(page: &PageBytes, slot: u16) -> usize {
    usize::from(PageRef::new(page).slot_offset(slot).unwrap())
}
