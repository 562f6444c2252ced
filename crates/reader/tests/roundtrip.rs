//! Every allocated page of every sample is rebuilt from its typed values onto a page filled with
//! 0xEE.
//!
//! Nothing is copied: header fields, slot offsets and record parts are read, every column is
//! decoded to its SQL value and encoded again, every map, header and boot page goes through its own
//! writer. Bytes that then differ must be free space or bits that the layout calls undefined.
//! Coverage is printed per page type.

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_base::{FileId, PageId};
use extentdb_catalog::layout::{Cell, Level, cell};
use extentdb_catalog::model::{AllocUnitKind, Rowset};
use extentdb_catalog::{Catalog, PageGetter, RowLayout};
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::allocation::{PageStamp, bitmap, boot, file_header, iam, pfs};
use extentdb_format::page::{PageHeader, PageMut, PageRef, PageType};
use extentdb_format::record::lob::{self, LobContent, LobPointer, LobRecord};
use extentdb_format::record::{Record, RecordBuilder, RecordKind, builder};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_reader::{CheckedPages, Database, OpenOptions};
use extentdb_types::Datum;

#[derive(Default)]
struct Coverage {
    pages: u64,
    typed: u64,
    residue: u64,
    undefined: u64,
    free: u64,
}

/// Information per byte of a page: 0xff = must be rebuilt, 0 = free or undefined.
struct Rebuilt {
    page: PageBuf,
    mask: PageBuf,
    residue: u64,
}

impl Rebuilt {
    fn new() -> Self {
        let mut page = PageBuf::zeroed();
        page.fill(0xee);
        Rebuilt { page, mask: PageBuf::zeroed(), residue: 0 }
    }

    fn put(&mut self, offset: usize, bytes: &[u8], mask: &[u8]) {
        self.page[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.mask[offset..offset + mask.len()].copy_from_slice(mask);
    }
}

#[test]
fn every_page_of_every_sample_is_rebuilt_from_typed_values() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");
    let dir =
        std::env::var_os("EXTENTDB_SAMPLES").map_or_else(|| PathBuf::from(default), PathBuf::from);
    if !dir.is_dir() {
        return eprintln!("SKIPPED: no samples in {}", dir.display());
    }
    let mut coverage: BTreeMap<String, Coverage> = BTreeMap::new();
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains("stripe") || !(name.ends_with(".mdf") || name.ends_with(".bak")) {
            continue;
        }
        let database = Database::open(&[path], &OpenOptions::default()).unwrap();
        rebuild_database(&name, &database, &mut coverage);
    }
    eprintln!(
        "{:<12} {:>7} {:>10} {:>9} {:>9} {:>10}",
        "page type", "pages", "typed", "residue", "undefined", "free"
    );
    for (kind, c) in &coverage {
        eprintln!(
            "{kind:<12} {:>7} {:>10} {:>9} {:>9} {:>10}",
            c.pages, c.typed, c.residue, c.undefined, c.free
        );
    }
    assert!(coverage.values().map(|c| c.pages).sum::<u64>() > 2500);
}

fn rebuild_database(name: &str, database: &Database, coverage: &mut BTreeMap<String, Coverage>) {
    let pages = database.pages();
    let leftmost = leftmost_interior_pages(database.catalog(), &pages);
    for id in allocated_pages(&pages) {
        let mut original = PageBuf::zeroed();
        pages.page(id, &mut original).unwrap_or_else(|e| panic!("{name}: {e}"));
        let kind = PageHeader::of(&original).kind();
        if kind == PageType::Unformatted {
            continue;
        }
        let rebuilt = rebuild(
            &original,
            id,
            database.catalog(),
            leftmost.contains(&id),
            &format!("{name} {id}"),
        );
        compare(
            &format!("{name} {id} ({kind})"),
            &original,
            &rebuilt,
            coverage.entry(kind.to_string()).or_default(),
        );
    }
}

fn allocated_pages(pages: &CheckedPages<'_>) -> Vec<PageId> {
    let file = FileId(1);
    let count = pages.page_count(file);
    let mut out = Vec::new();
    for first in (0..count).step_by(8088) {
        let pfs_id = PageId { file, page: first.max(1) };
        let mut page = PageBuf::zeroed();
        pages.page(pfs_id, &mut page).unwrap();
        let view = PfsView::new(&page);
        out.extend(
            (first..count.min(first + 8088))
                .filter(|&p| view.entry(p).is_allocated())
                .map(|page| PageId { file, page }),
        );
    }
    out
}

/// The first record of these pages has no meaningful key.
fn leftmost_interior_pages(catalog: &Catalog, pages: &CheckedPages<'_>) -> Vec<PageId> {
    let mut out = Vec::new();
    for unit in catalog.units.values().filter(|unit| unit.kind == AllocUnitKind::InRow) {
        let mut id = unit.root;
        while !id.is_none() {
            let mut page = PageBuf::zeroed();
            if pages.page(id, &mut page).is_err() || PageHeader::of(&page).kind() != PageType::Index
            {
                break;
            }
            let rowset = &catalog.rowsets[&unit.owner];
            if rowset.index.0 > 1 && PageHeader::of(&page).level == 0 {
                break;
            }
            out.push(id);
            let pminlen = PageHeader::of(&page).fixed_len.get();
            id = PageRef::new(&page)
                .record_bytes(0)
                .and_then(|b| Record::parse_index(b, pminlen).child())
                .unwrap_or(PageId::NONE);
        }
    }
    out
}

fn compare(name: &str, original: &PageBytes, rebuilt: &Rebuilt, coverage: &mut Coverage) {
    for (at, byte) in original.iter().enumerate() {
        let wrong = (byte ^ rebuilt.page[at]) & rebuilt.mask[at];
        assert_eq!(wrong, 0, "{name}: byte {at} is {byte:#04x}, rebuilt {:#04x}", rebuilt.page[at]);
    }
    let defined: u32 = rebuilt.mask.iter().map(|b| b.count_ones()).sum();
    let free = rebuilt.mask.iter().filter(|b| **b == 0).count() as u64;
    coverage.pages += 1;
    coverage.free += free;
    coverage.residue += rebuilt.residue;
    coverage.typed += u64::from(defined) / 8 - rebuilt.residue;
    coverage.undefined += 8192 - free - u64::from(defined) / 8;
}

fn rebuild(
    original: &PageBytes,
    id: PageId,
    catalog: &Catalog,
    leftmost: bool,
    name: &str,
) -> Rebuilt {
    let header = PageHeader::of(original);
    match header.kind() {
        PageType::Data | PageType::Index => rebuild_rows(original, catalog, leftmost, name),
        PageType::TextMix | PageType::TextTree => rebuild_lob(original),
        kind => rebuild_fixed(original, id, kind),
    }
}

/// Every header field, taken as a value and put back.
fn rebuild_header(original: &PageBytes, rebuilt: &mut Rebuilt) {
    let from = PageHeader::of(original).clone();
    let to = PageHeader::of_mut(&mut rebuilt.page);
    to.header_version = from.header_version;
    to.page_type = from.kind().to_byte();
    to.type_flag_bits = from.type_flag_bits;
    to.level = from.level;
    to.flag_bits.set(from.flag_bits.get());
    to.index_id.set(from.alloc_unit().header_index_id());
    to.prev_bytes = from.prev().to_bytes();
    to.fixed_len.set(from.fixed_len.get());
    to.next_bytes = from.next().to_bytes();
    to.slot_count.set(from.slot_count.get());
    to.object_id.set(from.alloc_unit().header_object_id());
    to.free_bytes.set(from.free_bytes.get());
    to.free_offset.set(from.free_offset.get());
    to.page_id_bytes = from.page_id().to_bytes();
    to.reserved_bytes.set(from.reserved_bytes.get());
    to.lsn_bytes = from.lsn().to_bytes();
    to.xact_reserved.set(from.xact_reserved.get());
    to.xdes_id_bytes = from.xdes_id_bytes;
    to.ghost_count.set(from.ghost_count.get());
    to.checksum.set(from.checksum.get());
    to.reserved = [0; 32];
    rebuilt.mask[..96].fill(0xff);
}

fn rebuild_slots(original: &PageBytes, rebuilt: &mut Rebuilt) {
    let view = PageRef::new(original);
    rebuilt.mask[view.slot_array_start()..].fill(0xff);
    for (slot, offset) in view.slot_offsets().enumerate() {
        PageMut::new(&mut rebuilt.page).set_slot_offset(slot as u16, offset);
    }
}

fn rebuild_rows(original: &PageBytes, catalog: &Catalog, leftmost: bool, name: &str) -> Rebuilt {
    let mut rebuilt = Rebuilt::new();
    rebuild_header(original, &mut rebuilt);
    rebuild_slots(original, &mut rebuilt);
    let view = PageRef::new(original);
    let header = view.header();
    let unit = header.alloc_unit();
    let unit = if catalog.units.contains_key(&unit) {
        unit
    } else {
        extentdb_base::AllocUnitId(unit.0 | 1 << 48)
    };
    let (_, rowset) =
        catalog.owner_of(unit).unwrap_or_else(|| panic!("{name}: unit {unit} unknown"));
    let index_page = header.kind() == PageType::Index;
    let level = if index_page && (rowset.index.0 <= 1 || header.level > 0) {
        Level::Interior
    } else {
        Level::Leaf
    };
    for (slot, bytes) in view.records() {
        let record = if index_page {
            Record::parse_index(bytes, header.fixed_len.get())
        } else {
            Record::parse_data(bytes)
        };
        assert_eq!(record.fault(), None, "{name} slot {slot}");
        let offset = usize::from(view.slot_offset(slot).unwrap());
        let location = format!("{name} slot {slot}");
        let keyless = leftmost && slot == 0 && level == Level::Interior;
        let (bytes, mask) = rebuild_record(&record, rowset, level, keyless, &location);
        rebuilt.put(offset, &bytes, &mask);
    }
    rebuilt
}

fn rebuild_record(
    record: &Record<'_>,
    rowset: &Rowset,
    level: Level,
    keyless: bool,
    location: &str,
) -> (Vec<u8>, Vec<u8>) {
    if let Some(target) = record.stub_target() {
        return (builder::forwarding_stub(target).to_vec(), vec![0xff; record.len()]);
    }
    let layout = &rowset.layout;
    let mut builder = if record.fixed_start() == 4 {
        RecordBuilder::data(record.kind(), record.fixed_end())
    } else {
        RecordBuilder::index(record.kind(), record.fixed_end())
    };
    builder.status_b(record.status_b().unwrap_or(0));
    if record.has_null_bitmap() {
        builder.columns(record.column_count());
    }
    let mut mask = layout.defined_bits(record, level);
    let vars = rebuild_columns(record, layout, level, keyless, location, &mut builder);
    for i in 0..record.var_count() {
        match vars.get(&i) {
            Some((bytes, complex)) => builder.var(bytes, *complex),
            None if i + 1 == record.var_count() && record.kind() == RecordKind::Forwarded => {
                builder.back_pointer(
                    record.back_pointer().unwrap_or_else(|| panic!("{location}: no back pointer")),
                )
            }
            None => {
                assert!(
                    record.var(i).is_none_or(|v| v.bytes.is_empty()),
                    "{location}: variable column {i} is nobody's"
                );
                builder.var(&[], false)
            }
        };
    }
    if level == Level::Interior {
        builder.child(record.child().unwrap());
    }
    if keyless {
        mask[1..record.fixed_end() - 6].fill(0);
    }
    let bytes = builder.to_vec();
    assert_eq!(bytes.len(), record.len(), "{location}: length");
    (bytes, mask)
}

type Vars = BTreeMap<u16, (Vec<u8>, bool)>;

fn rebuild_columns(
    record: &Record<'_>,
    layout: &RowLayout,
    level: Level,
    keyless: bool,
    location: &str,
    builder: &mut RecordBuilder,
) -> Vars {
    let mut vars = Vars::new();
    for column in &layout.columns {
        let at = if level == Level::Leaf { column.leaf } else { column.interior };
        let Some(ty) = column.ty else {
            panic!("{location}: type of column {} unknown", column.column_id)
        };
        match cell(record, column, level).unwrap() {
            Cell::Null => {
                builder.null(at.null_bit);
            }
            Cell::Missing => {}
            Cell::Bit(bit) => {
                builder.fixed_bit(at.offset as usize, at.bit, bit);
            }
            Cell::Bytes(bytes) if keyless && at.offset > 0 => {
                builder.fixed(at.offset as usize, &bytes);
            }
            Cell::Bytes(bytes) => {
                let mut out = Vec::new();
                // A variable column without bytes is empty, or a NULL of an index without null
                // bits.
                if !(bytes.is_empty() && at.offset < 0) {
                    let datum = Datum::decode(&ty, &bytes)
                        .unwrap_or_else(|e| panic!("{location} {}: {e}", column.column_id));
                    datum
                        .encode(&ty, &mut out)
                        .unwrap_or_else(|e| panic!("{location} {}: {e}", column.column_id));
                }
                if at.offset > 0 {
                    builder.fixed(at.offset as usize, &out);
                } else {
                    vars.insert(at.offset.unsigned_abs() - 1, (out, false));
                }
            }
            Cell::Complex(bytes) => {
                vars.insert(
                    at.offset.unsigned_abs() - 1,
                    (rebuild_pointer(&bytes, ty.is_lob(), location), true),
                );
            }
        }
    }
    vars
}

fn rebuild_pointer(bytes: &[u8], text_type: bool, location: &str) -> Vec<u8> {
    match LobPointer::parse(bytes, text_type) {
        LobPointer::Text { blob_id, root } => lob::write_text_pointer(blob_id, root).to_vec(),
        LobPointer::Inline(root) => {
            let links: Vec<_> = root.links().collect();
            let mut out = lob::write_inline_root(
                root.is_overflow(),
                root.level(),
                root.update_sequence(),
                root.blob_id(),
                &links,
            );
            out[3] = bytes[3]; // undefined
            out
        }
        other => panic!("{location}: {other:?}"),
    }
}

fn rebuild_lob(original: &PageBytes) -> Rebuilt {
    let mut rebuilt = Rebuilt::new();
    rebuild_header(original, &mut rebuilt);
    rebuild_slots(original, &mut rebuilt);
    let view = PageRef::new(original);
    for (slot, bytes) in view.records() {
        let record = LobRecord::parse(bytes);
        assert_eq!(record.fault(), None);
        let id = record.blob_id();
        let mut mask = vec![0xff; record.len()];
        let out = match record.content() {
            LobContent::Data(data) => lob::write_data(id, data),
            LobContent::SmallRoot(data) => {
                mask[16..20].fill(0);
                mask[20 + data.len()..].fill(0);
                lob::write_small_root(id, data)
            }
            LobContent::Links(node) => {
                let links: Vec<_> = node.links().collect();
                if node.internal {
                    mask[20 + 16 * links.len()..].fill(0);
                    let mut out = lob::write_internal(id, node.links_max, node.level, &links);
                    out.resize(record.len(), 0);
                    out[2..4].copy_from_slice(&(record.len() as u16).to_le_bytes());
                    out
                } else {
                    mask[20..24].fill(0);
                    mask[24 + 12 * links.len()..].fill(0);
                    lob::write_large_root(id, record.kind(), node.links_max, node.level, &links)
                }
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(out.len(), record.len());
        rebuilt.put(usize::from(view.slot_offset(slot).unwrap()), &out, &mask);
    }
    rebuilt
}

/// Maps, file header and boot page: each by its own writer, which lays out the whole page.
fn rebuild_fixed(original: &PageBytes, id: PageId, kind: PageType) -> Rebuilt {
    let mut rebuilt = Rebuilt::new();
    rebuilt.mask.fill(0xff);
    let stamp = PageStamp::of(PageHeader::of(original));
    match kind {
        PageType::Pfs => {
            let view = PfsView::new(original);
            let mut map = pfs::write_pfs(&mut rebuilt.page, id, &stamp);
            for (n, entry) in (view.first_page().page..).zip(view.entries()) {
                map.set(n, entry);
            }
            rebuilt.mask[view.undefined()].fill(0);
        }
        PageType::Iam => {
            let view = iam::IamView::new(original);
            let mut map = iam::write_iam(&mut rebuilt.page, &view.head(), &stamp);
            view.bitmap().ones().for_each(|extent| map.set(extent, true));
            view.undefined().into_iter().for_each(|range| rebuilt.mask[range].fill(0));
        }
        PageType::Boot => {
            let view = boot::BootView::new(original);
            let record = view.record().unwrap();
            boot::write_boot(&mut rebuilt.page, id, &record, &stamp);
            rebuilt.residue = record.residue.iter().map(|r| r.bytes.len() as u64).sum();
            view.undefined().into_iter().for_each(|range| rebuilt.mask[range].fill(0));
        }
        PageType::FileHeader => rebuild_file_header(original, &stamp, &mut rebuilt),
        other => {
            let map = bitmap::MapKind::of(other).unwrap_or_else(|| panic!("{id}: {other}"));
            let view = bitmap::MapView::new(original, map);
            let mut bits = bitmap::write_map(&mut rebuilt.page, id, map, &stamp);
            bits.fill(false);
            view.bitmap().ones().for_each(|extent| bits.set(extent, true));
            rebuilt.mask[view.undefined()].fill(0);
        }
    }
    // The checksum is the last thing written; it must come out the same.
    PageHeader::of_mut(&mut rebuilt.page).checksum.set(PageHeader::of(original).checksum.get());
    rebuilt
}

fn rebuild_file_header(original: &PageBytes, stamp: &PageStamp, rebuilt: &mut Rebuilt) {
    let view = file_header::FileHeaderView::new(original);
    let header = view.header();
    let content = file_header::FileHeaderPage {
        id: view.page_header().page_id(),
        header: &header,
        offset: view.record_offset() as u16,
        boot: None,
    };
    file_header::write_file_header(&mut rebuilt.page, &content, stamp);
    rebuilt.residue = header.residue.iter().map(|r| r.bytes.len() as u64).sum();
    view.undefined().into_iter().for_each(|range| rebuilt.mask[range].fill(0));
}
