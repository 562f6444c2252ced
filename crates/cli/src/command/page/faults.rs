//! What is wrong with a page by itself: protection, header, slot array, records.

use extentdb_base::PageId;
use extentdb_base::size::{PAGE_BODY_BYTES, PAGE_HEADER_BYTES};
use extentdb_format::PageBytes;
use extentdb_format::allocation::MapFault;
use extentdb_format::allocation::bitmap::{MapKind, MapView, fixed_page_type};
use extentdb_format::allocation::boot::{BootFault, BootView};
use extentdb_format::allocation::file_header::{FileHeaderFault, FileHeaderView};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::checksum::Protection;
use extentdb_format::page::edit::DATA_FOOTPRINT_MIN;
use extentdb_format::page::header::HEADER_VERSION;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::RecordFault;
use extentdb_format::record::compressed::{CdRecord, CiView};
use extentdb_format::record::lob::{LobFault, LobRecord};
use extentdb_format::record::{Record, RecordKind};
use extentdb_reader::source::is_zero;

/// `m_objId` of sysfiles1, whose records are padded to four bytes.
const SYS_FILES_OBJECT: u32 = 8;

/// Something that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageFault {
    /// The slot, where it concerns one.
    pub(super) slot: Option<u16>,
    /// The byte of the page, where it has one.
    pub(super) byte_offset: Option<usize>,
    pub(super) what: String,
}

impl PageFault {
    fn new(byte_offset: Option<usize>, what: String) -> PageFault {
        PageFault { slot: None, byte_offset, what }
    }

    /// A fault of a record.
    pub(super) fn of_slot(slot: u16, byte_offset: Option<usize>, what: String) -> PageFault {
        PageFault { slot: Some(slot), byte_offset, what }
    }
}

/// All faults of a page that was read as `id`; `page` has its displaced bits back.
pub(super) fn of_page(id: PageId, page: &PageBytes, protection: Protection) -> Vec<PageFault> {
    if is_zero(page) {
        return vec![PageFault::new(
            None,
            "the page is all zeros: it was never written".to_owned(),
        )];
    }
    let mut faults = Vec::new();
    protection_faults(protection, &mut faults);
    header_faults(id, PageHeader::of(page), &mut faults);
    match PageHeader::of(page).kind() {
        PageType::Data | PageType::Index | PageType::TextMix | PageType::TextTree => {
            record_page_faults(page, &mut faults)
        }
        PageType::Boot => faults.extend(BootView::new(page).faults().iter().map(boot_fault)),
        PageType::FileHeader => {
            faults.extend(FileHeaderView::new(page).faults().iter().map(file_header_fault))
        }
        PageType::Pfs => map_faults(&mut faults, PfsView::new(page).faults()),
        PageType::Iam => map_faults(&mut faults, IamView::new(page).faults()),
        kind => {
            let map = MapKind::of(kind).map(|map| MapView::new(page, map).faults());
            map_faults(&mut faults, map.unwrap_or_default());
        }
    }
    faults
}

fn protection_faults(protection: Protection, faults: &mut Vec<PageFault>) {
    match protection {
        Protection::Checksum { stored, computed } if stored != computed => {
            let what = format!("checksum: {stored:#010x} in the header, {computed:#010x} computed");
            faults.push(PageFault::new(Some(60), what));
        }
        Protection::Torn { torn_sectors, .. } if torn_sectors != 0 => {
            for sector in (1..16).filter(|sector| torn_sectors >> sector & 1 == 1) {
                let what = format!("torn: sector {sector} was not written with the others");
                faults.push(PageFault::new(Some(512 * sector + 511), what));
            }
        }
        _ => {}
    }
}

fn header_faults(id: PageId, header: &PageHeader, faults: &mut Vec<PageFault>) {
    if header.header_version != HEADER_VERSION {
        faults.push(PageFault::new(
            Some(0),
            format!("m_headerVersion is {}, not 1", header.header_version),
        ));
    }
    if let PageType::Unknown(byte) = header.kind() {
        faults.push(PageFault::new(Some(1), format!("m_type {byte} is no type of page")));
    }
    if header.page_id() != id {
        faults.push(PageFault::new(
            Some(32),
            format!("m_pageId says {}: another page lies here", header.page_id()),
        ));
    }
    if let Some(expected) = fixed_page_type(id).filter(|expected| *expected != header.kind()) {
        let what =
            format!("m_type says {}; the page at this place is a {expected} page", header.kind());
        faults.push(PageFault::new(Some(1), what));
    }
}

/// Slot array, space accounting and records of a page of rows, index entries or LOB fragments.
fn record_page_faults(page: &PageBytes, faults: &mut Vec<PageFault>) {
    let view = PageRef::new(page);
    let header = PageHeader::of(page);
    let Some(slots_at) = header.slot_array_start() else {
        let what = format!("m_slotCnt {} does not fit on a page", header.slot_count.get());
        faults.push(PageFault::new(Some(22), what));
        return;
    };
    let free_offset = usize::from(header.free_offset.get());
    if !(PAGE_HEADER_BYTES..=slots_at).contains(&free_offset) {
        let what = format!(
            "m_freeData {free_offset} is not between the header and the slot array at {slots_at}"
        );
        faults.push(PageFault::new(Some(30), what));
    }
    let before = faults.len();
    let mut extents = Vec::with_capacity(usize::from(view.slot_count()));
    for (slot, offset) in (0u16..).zip(view.slot_offsets()) {
        extents.extend(slot_extent(view, slot, offset, faults));
    }
    overlaps(&mut extents, free_offset, faults);
    // With a broken record nobody knows how much space is free.
    if faults.len() == before && CiView::of(page).is_none() {
        free_bytes_fault(header, &extents, faults);
    }
}

/// A record's place: offset, length, slot.
type Extent = (usize, usize, u16);

fn slot_extent(
    view: PageRef<'_>,
    slot: u16,
    offset: u16,
    faults: &mut Vec<PageFault>,
) -> Option<Extent> {
    let at = usize::from(offset);
    let may_be_empty = view.header().kind() != PageType::Index;
    if offset == 0 && may_be_empty {
        return None;
    }
    let Some(bytes) = view.record_bytes(slot).filter(|bytes| !bytes.is_empty()) else {
        let what = format!("the slot points to byte {at}, outside the records");
        faults.push(PageFault::of_slot(slot, Some(8190 - 2 * usize::from(slot)), what));
        return None;
    };
    let (len, fault) = record_len(view, bytes);
    if let Some(what) = fault {
        faults.push(PageFault::of_slot(slot, Some(at), what));
        return None;
    }
    Some((at, len, slot))
}

/// Length of the record at the front of `bytes`, or what is wrong with it.
fn record_len(view: PageRef<'_>, bytes: &[u8]) -> (usize, Option<String>) {
    let is_compressed = bytes.first().is_some_and(|status| CdRecord::is_one(*status));
    match view.header().kind() {
        PageType::TextMix | PageType::TextTree => {
            let record = LobRecord::parse(bytes);
            (record.len(), record.fault().map(|fault| lob_fault(&fault)))
        }
        _ if is_compressed => {
            let record = CdRecord::parse(bytes);
            (record.len(), record.fault().map(|fault| format!("compressed record: {fault:?}")))
        }
        PageType::Index => {
            let record = Record::parse_index(bytes, view.header().fixed_len.get());
            let kinds = [RecordKind::Index, RecordKind::GhostIndex];
            let odd = !kinds.contains(&record.kind());
            let odd = odd.then(|| format!("a {} on an index page", record.kind().name()));
            (record.len(), record.fault().map(|fault| record_fault(&fault)).or(odd))
        }
        _ => {
            let record = Record::parse_data(bytes);
            let odd = matches!(
                record.kind(),
                RecordKind::Index | RecordKind::GhostIndex | RecordKind::Blob
            );
            let odd = odd.then(|| format!("a {} on a data page", record.kind().name()));
            (record.len(), record.fault().map(|fault| record_fault(&fault)).or(odd))
        }
    }
}

fn overlaps(extents: &mut [Extent], free_offset: usize, faults: &mut Vec<PageFault>) {
    extents.sort_unstable();
    for pair in extents.windows(2) {
        let [(at, len, slot), (next, _, other)] = pair else { continue };
        if at + len > *next {
            let what = format!(
                "the record ends at byte {}, within that of slot {other} at {next}",
                at + len
            );
            faults.push(PageFault::of_slot(*slot, Some(*at), what));
        }
    }
    if let Some((at, len, slot)) = extents.last().filter(|(at, len, _)| at + len > free_offset) {
        let what = format!("the record ends at byte {}, past m_freeData {free_offset}", at + len);
        faults.push(PageFault::of_slot(*slot, Some(*at), what));
    }
}

fn free_bytes_fault(header: &PageHeader, extents: &[Extent], faults: &mut Vec<PageFault>) {
    let least = if header.kind() == PageType::Data { DATA_FOOTPRINT_MIN } else { 0 };
    let grain = if header.object_id.get() == SYS_FILES_OBJECT { 4 } else { 1 };
    let used: usize =
        extents.iter().map(|(_, len, _)| len.next_multiple_of(grain).max(least)).sum();
    let taken = used + 2 * usize::from(header.slot_count.get());
    let free = usize::from(header.free_bytes.get());
    if taken + free != PAGE_BODY_BYTES {
        let expected = PAGE_BODY_BYTES.saturating_sub(taken);
        faults.push(PageFault::new(
            Some(28),
            format!("m_freeCnt is {free}; the records leave {expected} bytes"),
        ));
    }
}

fn boot_fault(fault: &BootFault) -> PageFault {
    match *fault {
        BootFault::PageType { found } => {
            PageFault::new(Some(1), format!("m_type says {found}, not boot"))
        }
        BootFault::Slot { found } => {
            PageFault::of_slot(0, None, format!("the slot points to byte {found}"))
        }
        BootFault::RecordLength { found, limit } => PageFault::of_slot(
            0,
            None,
            format!("a boot record of {found} bytes; there is room for {limit}"),
        ),
        BootFault::Time { field } => PageFault::new(None, format!("{field} is no point in time")),
    }
}

fn file_header_fault(fault: &FileHeaderFault) -> PageFault {
    match *fault {
        FileHeaderFault::PageType { found } => {
            PageFault::new(Some(1), format!("m_type says {found}, not file header"))
        }
        FileHeaderFault::Slot { found } => {
            PageFault::of_slot(0, None, format!("the slot points to byte {found}"))
        }
        FileHeaderFault::Record(fault) => PageFault::of_slot(0, None, record_fault(&fault)),
        FileHeaderFault::ColumnCount { found } => {
            PageFault::of_slot(0, None, format!("{found} columns are fewer than any version has"))
        }
        FileHeaderFault::ColumnLength { index, found } => PageFault::of_slot(
            0,
            None,
            format!("column {index} has {found} bytes, which is not its length"),
        ),
        FileHeaderFault::FileId { found, expected } => PageFault::of_slot(
            0,
            None,
            format!("the record says file {found}, the page header file {expected}"),
        ),
    }
}

fn map_faults(faults: &mut Vec<PageFault>, found: Vec<MapFault>) {
    faults.extend(found.into_iter().map(|fault| match fault {
        MapFault::PageType { expected, found } => {
            PageFault::new(Some(1), format!("m_type says {found}, not {expected}"))
        }
        MapFault::Header { field, expected, found } => {
            PageFault::new(None, format!("{field} is {found}, not {expected}"))
        }
        MapFault::Slot { slot, expected, found } => PageFault::of_slot(
            slot,
            None,
            format!("the slot points to byte {found}, not {expected}"),
        ),
        MapFault::RecordHeader { slot, expected, found } => {
            let found = super::hex::word(&found);
            let expected = super::hex::word(&expected);
            PageFault::of_slot(
                slot,
                None,
                format!("the record begins with {found}, not {expected}"),
            )
        }
        MapFault::NotZero { offset } => {
            PageFault::new(Some(offset), "bytes that are always zero are not".to_owned())
        }
    }));
}

/// A record fault as a sentence.
pub(super) fn record_fault(fault: &RecordFault) -> String {
    match *fault {
        RecordFault::Header { limit } => format!("{limit} bytes are no record"),
        RecordFault::FixedEnd { fixed_end, limit } => {
            format!("the fixed part ends at byte {fixed_end} of {limit} that there are")
        }
        RecordFault::NullBitmap { end, limit } => {
            format!("the null bitmap ends at byte {end} of {limit} that there are")
        }
        RecordFault::OffsetArray { end, limit } => {
            format!("the column offset array ends at byte {end} of {limit} that there are")
        }
        RecordFault::EndOffset { column, end, start, limit } => {
            format!(
                "variable column {column} ends at byte {end}, which is not between {start} and {limit}"
            )
        }
        RecordFault::VersionTag { end, limit } => {
            format!("the versioning tag ends at byte {end} of {limit} that there are")
        }
    }
}

/// A fault of a LOB record as a sentence.
pub(super) fn lob_fault(fault: &LobFault) -> String {
    match *fault {
        LobFault::Status(status) => {
            format!("status byte {status:#04x} does not begin a LOB record")
        }
        LobFault::Length { len, limit } => {
            format!("a LOB record of {len} bytes, {limit} are there")
        }
        LobFault::Kind(kind) => format!("{kind} is no kind of LOB record"),
        LobFault::Content { needed, len } => {
            format!("the content takes {needed} bytes of a record of {len}")
        }
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::AllocUnitId;
    use extentdb_format::page::PageMut;
    use extentdb_format::page::checksum::{seal, verify};

    use super::*;

    fn sound_page() -> PageBytes {
        let mut page = [0; 8192];
        let mut edit =
            PageMut::format(&mut page, PageId::new(1, 153), PageType::Data, AllocUnitId(1 << 24));
        edit.push(&[0x10, 0, 8, 0, 1, 0, 0, 0, 1, 0, 0]).unwrap();
        edit.push(&[0x10, 0, 8, 0, 2, 0, 0, 0, 1, 0, 0]).unwrap();
        seal(&mut page);
        page
    }

    fn faults(change: impl FnOnce(&mut PageBytes)) -> Vec<String> {
        let mut page = sound_page();
        change(&mut page);
        let faults = of_page(PageId::new(1, 153), &page, verify(&page));
        faults.into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn a_sound_page_has_no_faults() {
        assert_eq!(faults(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn each_damage_is_named() {
        type Damage = fn(&mut PageBytes);
        let cases: [(&str, Damage); 7] = [
            ("checksum", |page| page[100] ^= 1),
            ("m_freeCnt is", |page| PageHeader::of_mut(page).free_bytes.set(17)),
            ("another page lies here", |page| PageHeader::of_mut(page).page_id_bytes[0] ^= 1),
            ("outside the records", |page| page[8190..].copy_from_slice(&9000u16.to_le_bytes())),
            ("m_slotCnt 60000", |page| PageHeader::of_mut(page).slot_count.set(60000)),
            ("the fixed part ends at byte 9000", |page| {
                page[98..100].copy_from_slice(&9000u16.to_le_bytes())
            }),
            ("within that of slot", |page| page[8190..].copy_from_slice(&105u16.to_le_bytes())),
        ];
        for (words, change) in cases {
            let found = faults(change);
            assert!(found.iter().any(|what| what.contains(words)), "{words}: {found:?}");
        }
        assert_eq!(faults(|page| page.fill(0)), ["the page is all zeros: it was never written"]);
    }
}
