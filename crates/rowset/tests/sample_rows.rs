//! The rows of real files through the shapes that their catalogs describe: what is decoded and
//! encoded again is the same record, and keys rise from slot to slot.

use std::path::PathBuf;

use extentdb_base::{FileId, PageId};
use extentdb_catalog::layout::{Cell, Level};
use extentdb_catalog::model::{AllocUnitKind, Catalog, Rowset};
use extentdb_catalog::{PageError, PageGetter};
use extentdb_format::PageBytes;
use extentdb_format::page::{PageHeader, PageRef, PageType, checksum};
use extentdb_format::record::{Record, RecordKind};
use extentdb_rowset::RowShape;

const DATABASES: [&str; 5] =
    ["northwind-2008", "pubs-2008", "bookshop-2008r2", "northwind-from-2000", "crud-2012"];

struct File(Vec<u8>);

impl File {
    fn open(name: &str) -> Option<File> {
        let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
            PathBuf::from,
        );
        if !folder.is_dir() {
            eprintln!("SKIPPED: no samples in {}", folder.display());
            return None;
        }
        Some(File(
            std::fs::read(folder.join(format!("{name}.mdf"))).expect("a sample of this name"),
        ))
    }

    /// All pages of a tree, from its root down.
    fn pages(&self, root: PageId) -> Vec<Box<PageBytes>> {
        let mut out = Vec::new();
        let mut open = vec![root];
        while let Some(id) = open.pop().filter(|id| !id.is_none()) {
            let mut page: Box<PageBytes> = Box::new([0; 8192]);
            self.page(id, &mut page).expect("a page of the file");
            let view = PageRef::new(&page);
            let header = view.header();
            let is_leaf_of_clustered = header.kind() == PageType::Data;
            let child = |bytes| Record::parse_index(bytes, header.fixed_len.get()).child();
            if !is_leaf_of_clustered && (header.level > 0 || leads_to_data(self, view)) {
                open.extend(view.records().filter_map(|(_, bytes)| child(bytes)));
            }
            out.push(page);
        }
        out
    }
}

/// Roots of level 0 right above data pages come from SQL Server.
fn leads_to_data(file: &File, view: PageRef<'_>) -> bool {
    let header = view.header();
    let first = view
        .record_bytes(0)
        .and_then(|row| Record::parse_index(row, header.fixed_len.get()).child());
    let mut page = [0; 8192];
    let is_there = first.is_some_and(|id| file.page(id, &mut page).is_ok());
    let child = PageHeader::of(&page);
    is_there
        && child.kind() == PageType::Data
        && child.page_id() == first.unwrap_or(PageId::NONE)
        && child.belongs_to(header.alloc_unit())
}

impl PageGetter for File {
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        let start = id.page as usize * 8192;
        let bytes = self.0.get(start..start + 8192).filter(|_| id.file == FileId(1));
        page.copy_from_slice(bytes.ok_or(PageError::NotStored { page: id })?);
        checksum::restore_torn(page);
        Ok(())
    }

    fn page_count(&self, _file: FileId) -> u32 {
        self.total_pages() as u32
    }

    fn total_pages(&self) -> u64 {
        self.0.len() as u64 / 8192
    }
}

/// What was compared.
#[derive(Debug, Default)]
struct Seen {
    leaf_rows: usize,
    separators: usize,
    steps: usize,
}

#[test]
fn rows_of_real_indexes_are_written_as_they_are_read() {
    for name in DATABASES {
        let Some(file) = File::open(name) else { return };
        let catalog = Catalog::load(&file).expect("a sound catalog");
        let mut seen = Seen::default();
        for rowset in catalog.rowsets.values().filter(|rowset| rowset.index.0 > 0) {
            let Some(unit) = rowset.unit(AllocUnitKind::InRow) else { continue };
            let pages = file.pages(unit.root);
            compare(
                &format!("{name} {} {}", rowset.object, rowset.index),
                rowset,
                &pages,
                &mut seen,
            );
        }
        eprintln!("{name}: {seen:?}");
        assert!(
            seen.leaf_rows > 4000 && seen.separators > 20 && seen.steps > 3000,
            "{name}: {seen:?}"
        );
    }
}

fn compare(name: &str, rowset: &Rowset, pages: &[Box<PageBytes>], seen: &mut Seen) {
    let shape = RowShape::of_rowset(rowset).unwrap_or_else(|error| panic!("{name}: {error}"));
    for page in pages {
        let view = PageRef::new(page);
        let header = view.header();
        let is_leaf =
            if shape.is_base() { header.kind() == PageType::Data } else { header.level == 0 };
        let level = if is_leaf { Level::Leaf } else { Level::Interior };
        if header.kind() == PageType::Index {
            assert_eq!(header.fixed_len.get(), shape.pminlen(level), "{name} {}", header.page_id());
        }
        let skipped = u16::from(!is_leaf && header.prev().is_none());
        let mut before: Option<Vec<u8>> = None;
        for slot in skipped..view.slot_count() {
            let row = view.row(slot).unwrap_or_else(|error| panic!("{name}: {error}"));
            let record = match header.kind() {
                PageType::Data => Record::parse_data(row),
                _ => Record::parse_index(row, header.fixed_len.get()),
            };
            let location = format!("{name} {}:{slot}", header.page_id());
            let key =
                shape.key(&record, level).unwrap_or_else(|error| panic!("{location}: {error}"));
            if let Some(before) = &before {
                assert!(*before < key, "{location} is not above its neighbour");
                seen.steps += 1;
            }
            before = Some(key.clone());
            match level {
                Level::Leaf => compare_row(&location, &shape, row, &record, &key, seen),
                Level::Interior => seen.separators += 1,
            }
        }
    }
}

fn compare_row(
    location: &str,
    shape: &RowShape,
    row: &[u8],
    record: &Record<'_>,
    key: &[u8],
    seen: &mut Seen,
) {
    let cells = shape.decode(row).unwrap_or_else(|error| panic!("{location}: {error}"));
    let image = shape.key_image(record).unwrap_or_else(|error| panic!("{location}: {error}"));
    assert_eq!(shape.key_of_image(&image).expect("it was just made"), key, "{location}");
    assert_eq!(shape.key_of_cells(&cells).expect("a key there is"), key, "{location}");
    let is_older = cells.contains(&Cell::Missing);
    let is_row = matches!(record.kind(), RecordKind::Primary | RecordKind::Index);
    if is_older || !is_row {
        return;
    }
    let again = shape.leaf_record(&cells).unwrap_or_else(|error| panic!("{location}: {error}"));
    let mask = shape.layout().defined_bits(record, Level::Leaf);
    let differs = |(at, (a, b)): (usize, (&u8, &u8))| (a ^ b) & mask[at] != 0;
    assert_eq!(again.len(), row.len(), "{location}: {again:x?} {row:x?}");
    assert!(!again.iter().zip(row).enumerate().any(differs), "{location}: {again:x?} {row:x?}");
    seen.leaf_rows += 1;
}
