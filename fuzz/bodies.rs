//! What each fuzz target does with its bytes. Included by path: from the fuzz targets, and from the
//! plain robustness test.
//!
//! A body calls every reading function of its decoder and asserts what must hold whatever the bytes
//! are. It must end: a decoder that loops is a finding.

#![allow(dead_code, reason = "every includer uses its own part")]

use extentdb_base::FileId;
use extentdb_base::sync::Arc;
use extentdb_catalog::{Catalog, Table};
use extentdb_format::allocation::{bitmap, boot, file_header, iam, pfs};
use extentdb_format::log::block::BlockBuf;
use extentdb_format::page::{PageRef, checksum};
use extentdb_format::record::Record;
use extentdb_format::record::compressed::{CdRecord, CiView};
use extentdb_format::record::lob::{LobContent, LobPointer, LobRecord};
use extentdb_format::record::sparse::SparseVector;
use extentdb_format::{PageBuf, PageBytes};
use extentdb_reader::backup::{BackupMedia, SetOptions};
use extentdb_reader::{CheckedPages, MemoryFile, TableScan, Value};
use extentdb_types::{Collation, Datum, SqlType};

/// Every view of a page. The bytes are repeated to fill it.
pub(crate) fn page(data: &[u8]) {
    let mut page = PageBuf::zeroed();
    if !data.is_empty() {
        page.iter_mut().zip(data.iter().cycle()).for_each(|(to, from)| *to = *from);
    }
    every_view(&page);
    checksum::restore_torn(&mut page);
    checksum::seal(&mut page);
    assert!(checksum::verify(&page).is_intact());
}

/// Looks at a page as every kind there is.
pub(crate) fn every_view(page: &PageBytes) {
    let view = PageRef::new(page);
    assert!(view.records().count() <= usize::from(view.slot_count()));
    for (_, bytes) in view.records() {
        parse_record(bytes, view.header().fixed_len.get());
    }
    let _ = (CiView::of(page).map(|ci| ci.anchors().len()), checksum::verify(page));
    let iam = iam::IamView::new(page);
    let _ = (iam.head(), iam.faults(), iam.extents().count());
    let pfs = pfs::PfsView::new(page);
    let _ = (pfs.faults(), pfs.entries().filter(|entry| entry.is_allocated()).count());
    for kind in bitmap::MapKind::ALL {
        let map = bitmap::MapView::new(page, kind);
        let _ = (map.faults(), map.bitmap().runs(63_904).count());
    }
    let boot = boot::BootView::new(page);
    let _ = (boot.record(), boot.faults());
    let header = file_header::FileHeaderView::new(page);
    let _ = (header.header(), header.boot_copy(), header.faults(), header.undefined());
}

/// Every form of record and value.
pub(crate) fn record(data: &[u8]) {
    let (pminlen, bytes) =
        data.split_first_chunk::<2>().map_or((0, data), |(n, rest)| (u16::from_le_bytes(*n), rest));
    parse_record(bytes, pminlen);
    for ty in every_type() {
        if let Ok(datum) = Datum::decode(&ty, bytes) {
            let mut out = Vec::new();
            datum.encode(&ty, &mut out).expect("what was decoded can be encoded");
        }
    }
}

fn parse_record(bytes: &[u8], pminlen: u16) {
    for record in [Record::parse_data(bytes), Record::parse_index(bytes, pminlen)] {
        assert!(record.len() <= bytes.len());
        let _ = (
            record.vars().count(),
            record.child(),
            record.stub_target(),
            record.back_pointer(),
            record.version_tag(),
        );
    }
    let lob = LobRecord::parse(bytes);
    if let LobContent::Links(node) = lob.content() {
        assert!(node.links().count() <= bytes.len());
    }
    for text in [false, true] {
        let _ = LobPointer::parse(bytes, text);
    }
    let cd = CdRecord::parse(bytes);
    let _ = (cd.columns().count(), cd.child(), cd.stub_target());
    assert!(SparseVector::parse(bytes).entries().count() <= bytes.len());
}

fn every_type() -> Vec<SqlType> {
    let collation = Collation(0x3400_d008);
    let decimal = (9, 2);
    vec![
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Decimal { precision: decimal.0, scale: decimal.1 },
        SqlType::Numeric { precision: 38, scale: 10 },
        SqlType::Money,
        SqlType::Float,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Date,
        SqlType::Time { scale: 7 },
        SqlType::DateTime2 { scale: 3 },
        SqlType::DateTimeOffset { scale: 0 },
        SqlType::VarChar { len: None, collation },
        SqlType::NVarChar { len: None, collation },
        SqlType::VarBinary { len: None },
        SqlType::UniqueIdentifier,
        SqlType::SqlVariant,
        SqlType::RowVersion,
        SqlType::Xml,
    ]
}

/// A whole database: `data` is a list of patches (page u16, offset u16, byte) to the base image.
pub(crate) fn catalog(data: &[u8]) {
    static BASE: std::sync::OnceLock<Option<Vec<u8>>> = std::sync::OnceLock::new();
    let base = BASE.get_or_init(|| std::fs::read(std::env::var_os("EXTENTDB_FUZZ_BASE")?).ok());
    let Some(base) = base else { return };
    let mut bytes = base.clone();
    for patch in data.as_chunks::<5>().0 {
        let [p0, p1, o0, o1, byte] = *patch;
        let page = usize::from(u16::from_le_bytes([p0, p1])) % (bytes.len() / 8192).max(1);
        let at = page * 8192 + usize::from(u16::from_le_bytes([o0, o1])) % 8192;
        if let Some(target) = bytes.get_mut(at) {
            *target = byte;
        }
    }
    // Checksums are made right again: the decoders behind them are what is tried.
    for page in bytes.as_chunks_mut::<8192>().0 {
        if checksum::verify(page) != checksum::Protection::None {
            checksum::seal(page);
        }
    }
    read_everything(bytes);
}

/// Loads the catalog of a data file and reads every row of every table. Returns the rows.
pub(crate) fn read_everything(bytes: Vec<u8>) -> u64 {
    let budget = bytes.len() as u64;
    let source = MemoryFile::new(FileId(1), bytes);
    let pages = CheckedPages::new(&source);
    let Ok(catalog) = Catalog::load(&pages) else { return 0 };
    let mut rows = 0;
    for table in catalog.tables.values() {
        rows += read_table(&pages, &catalog, table);
        // Each row has at least one byte of the file; damaged trees may lead to a page several
        // times.
        assert!(rows <= budget * 64, "a scan that does not end");
    }
    rows
}

fn read_table(pages: &CheckedPages<'_>, catalog: &Catalog, table: &Table) -> u64 {
    let Ok(mut scan) = TableScan::new(pages, catalog, table) else { return 0 };
    let mut rows = 0;
    let mut chunk = Vec::new();
    while let Some(row) = scan.next_row() {
        rows += 1;
        let Ok(row) = row else { continue };
        for i in 0..row.len() {
            if let Ok(Value::Lob(mut lob)) = row.value(i) {
                while let Ok(true) = lob.reader.read_chunk(&mut chunk) {
                    chunk.clear();
                }
            }
        }
    }
    rows
}

/// A log block of any format.
pub(crate) fn log_block(data: &[u8]) {
    let block = BlockBuf::from_disk(data.to_vec());
    let _ = (block.faults(), block.checksum());
    let view = block.view();
    for (lsn, record) in view.records() {
        let _ = extentdb_format::log::dblog::columns(lsn, &record);
    }
    let _ = view.undefined();
}

/// A backup, plain or compressed, of one file.
pub(crate) fn backup_stream(data: &[u8]) {
    let source: Arc<dyn extentdb_io::ReadAt> = Arc::new(data.to_vec());
    let Ok(media) = BackupMedia::open(vec![source]) else { return };
    let options = SetOptions { allow_missing_stripes: true, any_kind: true, jobs: 1 };
    for position in (1..).take(media.sets().len().min(4)) {
        let Ok(set) = media.open_set(Some(position), &options) else { continue };
        let mut bytes = vec![0; 65_536];
        for file in set.files() {
            for extent in set.stored_extents(file.id).take(64) {
                let _ = set.read_pages(extent.first_page(), &mut bytes);
            }
        }
        for part in set.log().iter().take(8) {
            let _ = set.read_log(part, part.carried.start, &mut bytes);
        }
    }
}
