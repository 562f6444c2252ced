//! Real logs replayed over real pages.
//!
//! Pages whose first record is in the log are made from nothing and must come out as they lie in
//! the data file. Others are first led back, record by record, with the changes turned round, and
//! then forward again.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::PathBuf;

use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBytes;
use extentdb_format::log::block::BlockHeader;
use extentdb_format::log::payload::row::{DeleteRows, InsertRows};
use extentdb_format::log::replay::{Analysis, Applied, ApplyError, page_of, redo};
use extentdb_format::log::{
    BlockBuf, BlockBuilder, BlockFormat, Context, LogReader, Op, Parity, Payload, RecordHeader,
    RecordRef,
};
use extentdb_format::page::{PageHeader, PageRef, PageType, checksum};

const DATABASES: [&str; 4] = ["northwind-2008", "pubs-2008", "northwind-from-2000", "crud-2012"];

fn sample(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    if !folder.is_dir() {
        eprintln!("SKIPPED: no samples in {}", folder.display());
        return None;
    }
    Some(std::fs::read(folder.join(name)).expect("a sample of this name"))
}

/// A record that can be kept.
struct LoggedRecord {
    lsn: Lsn,
    format: BlockFormat,
    bytes: Vec<u8>,
}

impl LoggedRecord {
    fn record(&self) -> RecordRef<'_> {
        RecordRef::parse(self.format, &self.bytes).expect("it was one")
    }
}

/// A data file and the records of its log by page.
struct Database {
    data: Vec<u8>,
    records: BTreeMap<PageId, Vec<LoggedRecord>>,
}

impl Database {
    fn read(name: &str) -> Option<Database> {
        let data = sample(&format!("{name}.mdf"))?;
        let log = sample(&format!("{name}_log.ldf"))?;
        let mut records: BTreeMap<PageId, Vec<LoggedRecord>> = BTreeMap::new();
        let reader = LogReader::open(log.as_slice()).expect("a slice can be read");
        let end = reader.for_each_record(|lsn, record, _| {
            if let Some(part) = page_of(record) {
                let logged =
                    LoggedRecord { lsn, format: record.format(), bytes: record.bytes().to_vec() };
                records.entry(part.page).or_default().push(logged);
            }
            ControlFlow::Continue(())
        });
        assert!(matches!(end, Ok(Some(_))), "{name} ends");
        Some(Database { data, records })
    }

    /// A page of the data file with its displaced bits put back.
    fn page(&self, id: PageId) -> Option<Box<PageBytes>> {
        let at = id.page as usize * 8192;
        let mut page = Box::new(*self.data.get(at..)?.first_chunk()?);
        checksum::restore_torn(&mut page);
        (PageHeader::of(&page).page_id() == id).then_some(page)
    }
}

fn databases() -> Option<Vec<(&'static str, Database)>> {
    DATABASES.iter().map(|name| Some((*name, Database::read(name)?))).collect()
}

/// What a page holds: header fields with a meaning, and the rows by slot. With `with_slots`, where they
/// lie, too.
fn content(page: &PageBytes, with_slots: bool) -> (Vec<u64>, Vec<Vec<u8>>) {
    let view = PageRef::new(page);
    let header = view.header();
    let mut numbers = vec![
        header.page_type.into(),
        header.type_flag_bits.into(),
        header.level.into(),
        header.index_id.get().into(),
        header.object_id.get().into(),
        header.prev().page.into(),
        header.next().page.into(),
        header.fixed_len.get().into(),
        header.slot_count.get().into(),
        header.free_bytes.get().into(),
        header.ghost_count.get().into(),
        header.page_id().page.into(),
    ];
    if with_slots {
        numbers.push(header.free_offset.get().into());
        numbers.extend(view.slot_offsets().map(u64::from));
    }
    let row = |slot| {
        if header.kind().holds_records() {
            view.row(slot).map(<[u8]>::to_vec).unwrap_or_default()
        } else {
            map_record(view, slot).to_vec()
        }
    };
    let mut rows: Vec<Vec<u8>> = (0..view.slot_count()).map(row).collect();
    if header.kind() == PageType::Boot {
        // The mark of a clean shutdown and the highest transaction id change without a record.
        for unlogged in [39..40, 384..390] {
            rows[0][unlogged].fill(0);
        }
    }
    (numbers, rows)
}

/// The record of a map or header page: it ends where the next one, or the free space, begins.
fn map_record(view: PageRef<'_>, slot: u16) -> &[u8] {
    let start = view.slot_offset(slot).unwrap_or(0);
    let free = view.header().free_offset.get();
    let end = view.slot_offsets().filter(|offset| *offset > start).min().unwrap_or(free);
    view.bytes().get(usize::from(start)..usize::from(end)).unwrap_or_default()
}

#[test]
fn pages_made_from_their_first_record_on_come_out_as_they_lie_in_the_file() {
    let Some(databases) = databases() else { return };
    let mut done: BTreeMap<(Op, Context), u64> = BTreeMap::new();
    let mut pages = 0;
    let mut broken = Vec::new();
    for (name, database) in &databases {
        for (id, records) in &database.records {
            let Some(first) =
                records.iter().position(|logged| logged.record().header().op == Op::FORMAT_PAGE)
            else {
                continue;
            };
            let mut page = Box::new([0xee; 8192]);
            let mut stopped = None;
            for logged in records.iter().skip(first) {
                let record = logged.record();
                match redo(logged.lsn, &record, &mut page) {
                    Ok(Applied::Changed) => {
                        *done.entry((record.header().op, record.header().context)).or_default() += 1
                    }
                    other => {
                        stopped = Some(other);
                        break;
                    }
                }
            }
            let target = database.page(*id).expect("a page of the file");
            match stopped {
                None => {
                    assert_eq!(
                        PageHeader::of(&page).lsn(),
                        PageHeader::of(&target).lsn(),
                        "{name} {id}"
                    );
                    assert!(content(&page, true) == content(&target, true), "{name} {id}");
                    pages += 1;
                }
                Some(stop) => broken.push((*name, *id, stop)),
            }
        }
    }
    let records: u64 = done.values().sum();
    for ((op, context), count) in &done {
        println!("{count:6} {op} {context}");
    }
    println!("{pages} pages, {records} records; broken: {broken:?}");
    assert_eq!((pages, broken.len()), (167, 1));
    assert!(records > 14_000, "{records}");
    // An index was built over this page without a record of it: the next one follows on the commit.
    assert!(matches!(broken[..], [("northwind-from-2000", _, Err(ApplyError::PageLsn { .. }))]));
}

#[test]
fn the_last_change_of_a_page_is_on_it() {
    let Some(databases) = databases() else { return };
    let mut seen = 0;
    let mut by_op = BTreeMap::<Op, u64>::new();
    for (name, database) in &databases {
        for (id, records) in &database.records {
            let (Some(page), Some(last)) = (database.page(*id), records.last()) else { continue };
            if PageHeader::of(&page).lsn() != last.lsn {
                continue;
            }
            let record = last.record();
            let mut again = page.clone();
            assert_eq!(redo(last.lsn, &record, &mut again), Ok(Applied::Already), "{name} {id}");
            assert!(again == page);
            if PageHeader::of(&page).kind() == PageType::Boot {
                continue;
            }
            assert!(
                has_effect(&record.payload(), &page),
                "{name} {id} {} {}",
                last.lsn,
                record.header().op
            );
            seen += 1;
            *by_op.entry(record.header().op).or_default() += 1;
        }
    }
    println!("{seen} pages: {by_op:?}");
    assert!(seen > 230, "{seen}");
}

/// True when the page is as the change leaves it.
fn has_effect(payload: &Payload<'_>, page: &PageBytes) -> bool {
    let view = PageRef::new(page);
    let at = |slot: u16, offset: u16, bytes: &[u8]| {
        let start = usize::from(view.slot_offset(slot).unwrap_or(0)) + usize::from(offset);
        page.get(start..start + bytes.len()) == Some(bytes)
    };
    match payload {
        Payload::InsertRows(p) => p
            .rows
            .iter()
            .zip(p.fixed.page.slot..)
            .all(|(row, slot)| view.row(slot).is_ok_and(|found| found == *row)),
        Payload::ModifyRow(p) => at(p.fixed.page.slot, p.fixed.offset_in_row, p.after),
        Payload::ModifyColumns(p) => {
            p.chunks.iter().all(|c| at(p.fixed.page.slot, c.new_offset, c.after))
        }
        Payload::ModifyHeader(p) => page[usize::from(p.fixed.offset_in_row)..].starts_with(p.after),
        Payload::RootChange(p) => at(p.page.slot, p.row_offset, &p.new_page.to_bytes()),
        Payload::FileHeaderModify(p) => at(p.fixed.page.slot, 0, p.after),
        Payload::CountDelta(p) => {
            p.fixed.cells.iter().filter(|cell| cell.row_offset != 0).all(|cell| {
                let bytes = if cell.bytes == 0 { 8 } else { cell.bytes as usize };
                at(p.fixed.page.slot, cell.row_offset as u16, &cell.value.to_le_bytes()[..bytes])
            })
        }
        Payload::ColumnCountDelta(p) => {
            p.fixed.cells.iter().filter(|cell| cell.row_offset != 0).all(|cell| {
                at(
                    p.fixed.page.slot,
                    cell.row_offset as u16,
                    &cell.value.to_le_bytes()[..cell.bytes as usize],
                )
            })
        }
        Payload::SetBits(p) => {
            let bits = &p.fixed;
            let start = usize::from(view.slot_offset(bits.page.slot).unwrap_or(0));
            (bits.first_bit..bits.first_bit + bits.bit_count).all(|bit| {
                let bit = usize::from(bit);
                u16::from(page[start + bit / 8] >> (bit % 8) & 1) == bits.value
            })
        }
        // What is gone leaves no trace.
        Payload::DeleteRows(_) | Payload::RowTouch(_) => true,
        _ => false,
    }
}

/// The record that takes a change back; `None` for those that do not say what was before.
fn turned<'a>(record: &RecordRef<'a>) -> Option<(RecordHeader, Payload<'a>)> {
    let mut header = *record.header();
    let payload = match record.payload() {
        Payload::InsertRows(p) if p.rows.len() == 1 => {
            header.op = Op::DELETE_ROWS;
            Payload::DeleteRows(DeleteRows { fixed: p.fixed, rows: p.rows, lock_info: &[] })
        }
        Payload::DeleteRows(p) if header.context != Context::MARK_AS_GHOST => {
            header.op = Op::INSERT_ROWS;
            Payload::InsertRows(InsertRows {
                fixed: p.fixed,
                rows: p.rows,
                key: &[],
                lock_info: &[],
            })
        }
        Payload::ModifyRow(mut p) => {
            std::mem::swap(&mut p.before, &mut p.after);
            p.fixed.modify_size = p.before.len() as u16;
            Payload::ModifyRow(p)
        }
        Payload::ModifyColumns(mut p) => {
            for chunk in &mut p.chunks {
                std::mem::swap(&mut chunk.before, &mut chunk.after);
                std::mem::swap(&mut chunk.old_offset, &mut chunk.new_offset);
                chunk.old_len = chunk.before.len() as u16;
            }
            Payload::ModifyColumns(p)
        }
        Payload::ModifyHeader(mut p) => {
            std::mem::swap(&mut p.before, &mut p.after);
            Payload::ModifyHeader(p)
        }
        Payload::FileHeaderModify(mut p) => {
            std::mem::swap(&mut p.before, &mut p.after);
            Payload::FileHeaderModify(p)
        }
        Payload::RootChange(mut p) => {
            std::mem::swap(&mut p.old_page, &mut p.new_page);
            Payload::RootChange(p)
        }
        Payload::SetBits(mut p) => {
            p.fixed.value ^= 1;
            Payload::SetBits(p)
        }
        Payload::SetFreeSpace(mut p) => {
            std::mem::swap(&mut p.old_value, &mut p.new_value);
            Payload::SetFreeSpace(p)
        }
        _ => return None,
    };
    Some((header, payload))
}

/// Takes the change of a record back; false when it does not say how.
fn undo_record(logged: &LoggedRecord, page: &mut PageBytes) -> Result<bool, ApplyError> {
    let record = logged.record();
    let part = page_of(&record).expect("a page");
    let Some((header, payload)) = turned(&record) else { return Ok(false) };
    let mut builder = BlockBuilder::new(BlockFormat::V4);
    builder.push(&header, &payload).expect("room for one record");
    let block = BlockHeader { flags: 3, ..BlockHeader::default() };
    let block = BlockBuf::from_disk(builder.finish(&block, Parity::Odd).expect("a block"));
    // The turned record claims to follow on whatever the page is now.
    let mut earlier = Box::new(*page);
    PageHeader::of_mut(&mut earlier).lsn_bytes = part.previous_page_lsn.to_bytes();
    let view = block.view();
    let (_, turned) = view.records().next().expect("the record");
    redo(Lsn::new(u32::MAX, 1, 1), &turned, &mut earlier)?;
    PageHeader::of_mut(&mut earlier).lsn_bytes = part.previous_page_lsn.to_bytes();
    *page = *earlier;
    Ok(true)
}

#[test]
fn pages_led_back_and_forward_again_are_as_they_were() {
    let Some(databases) = databases() else { return };
    let mut pages = 0;
    let mut records = 0;
    let mut by_kind: BTreeMap<(String, Op), u64> = BTreeMap::new();
    for (name, database) in &databases {
        for (id, all) in &database.records {
            let Some(target) = database.page(*id) else { continue };
            if all.last().is_none_or(|last| last.lsn != PageHeader::of(&target).lsn()) {
                continue;
            }
            let mut page = target.clone();
            let mut first = all.len();
            for (at, logged) in all.iter().enumerate().rev() {
                if PageHeader::of(&page).lsn() != logged.lsn {
                    break;
                }
                match undo_record(logged, &mut page) {
                    Ok(true) => first = at,
                    Ok(false) => break,
                    Err(stop) => {
                        panic!(
                            "{name} {id} back over {} {}: {stop}",
                            logged.lsn,
                            logged.record().header().op
                        )
                    }
                }
            }
            for logged in &all[first..] {
                let record = logged.record();
                let outcome = redo(logged.lsn, &record, &mut page);
                let op = record.header().op;
                let kind = PageHeader::of(&page).kind();
                assert_eq!(outcome, Ok(Applied::Changed), "{name} {id} {} {op}", logged.lsn);
                *by_kind.entry((kind.to_string(), op)).or_default() += 1;
                records += 1;
            }
            let found = content(&page, false);
            let expected = content(&target, false);
            assert_eq!(found.0, expected.0, "{name} {id} from record {first}");
            let differs = found.1.iter().zip(&expected.1).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{name} {id} from record {first}");
            pages += u64::from(first < all.len());
        }
    }
    for ((kind, op), count) in &by_kind {
        println!("{count:6} {kind} {op}");
    }
    println!("{pages} pages, {records} records");
    assert!(pages > 150 && records > 3_000, "{pages} pages, {records} records");
    let of = |kind: PageType, op| by_kind.get(&(kind.to_string(), op)).copied().unwrap_or(0);
    assert!(of(PageType::Pfs, Op::MODIFY_ROW) > 100 && of(PageType::Gam, Op::SET_BITS) > 20);
}

#[test]
fn closed_databases_have_no_open_transactions() {
    for name in DATABASES {
        let Some(log) = sample(&format!("{name}_log.ldf")) else { return };
        let reader = LogReader::open(log.as_slice()).expect("a slice can be read");
        let mut analysis = Analysis::new();
        let mut most = 0;
        let mut begun: HashMap<Lsn, String> = HashMap::new();
        let end = reader.for_each_record(|lsn, record, _| {
            analysis.add(lsn, record);
            most = most.max(analysis.unfinished().len());
            begun.extend(
                analysis.unfinished().values().filter_map(|x| Some((x.begin?, x.name.clone()))),
            );
            ControlFlow::Continue(())
        });
        assert!(matches!(end, Ok(Some(_))), "{name} ends");
        assert_eq!(analysis.unfinished().len(), 0, "{name}");
        assert!(most > 0 && analysis.has_all_pages(), "{name}");
        assert!(begun.values().all(|name| !name.is_empty()), "{name}");
        assert!(analysis.left_out().is_empty(), "{name}: {:?}", analysis.left_out());
        let data = sample(&format!("{name}.mdf")).expect("its data file");
        let boot = Lsn::from_bytes(*data[9 * 8192 + 0x1bc..].first_chunk().expect("a boot page"));
        assert_eq!(
            analysis.checkpoint(),
            Some(boot),
            "{name}: the boot page names the last checkpoint"
        );
    }
}

mod random {
    use extentdb_base::AllocUnitId;
    use extentdb_format::page::PageMut;
    use extentdb_format::record::{RecordBuilder, RecordKind};
    use proptest::prelude::*;

    use super::*;

    const PAGE: PageId = PageId { file: extentdb_base::FileId(1), page: 200 };

    fn page(kind: PageType, damage: &[(usize, u8)]) -> Box<PageBytes> {
        let mut bytes = Box::new([0; 8192]);
        let mut page = PageMut::format(&mut bytes, PAGE, kind, AllocUnitId::from_header(77, 256));
        page.header_mut().fixed_len.set(8);
        for key in 0..20u8 {
            let builder = match kind {
                PageType::Data => &mut RecordBuilder::data(RecordKind::Primary, 8),
                _ => &mut RecordBuilder::index(RecordKind::Index, 8),
            };
            let row = builder.columns(2).var(&[key; 30], false).to_vec();
            page.push(&row).expect("room");
        }
        for (at, value) in damage {
            bytes[*at] = *value;
        }
        // The record follows on the page: what comes after that test is meant here.
        PageHeader::of_mut(&mut bytes).page_id_bytes = PAGE.to_bytes();
        PageHeader::of_mut(&mut bytes).lsn_bytes = Lsn::new(3, 16, 1).to_bytes();
        bytes
    }

    fn kinds() -> impl Strategy<Value = PageType> {
        let all = [1u8, 2, 3, 4, 8, 10, 11, 13, 15].map(PageType::from_byte);
        prop::sample::select(all.to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_record_says_the_page_changes_as_a_whole_or_not_at_all(
            kind in kinds(),
            (op, context) in (1u8..0x17, 0u8..0x19),
            flags in 0u16..4,
            (slot, small) in (0u16..24, prop::collection::vec(0u16..60, 24)),
            fixed in prop::collection::vec(any::<u8>(), 0..4),
            elements in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..8),
            damage in prop::collection::vec((0usize..8192, any::<u8>()), 0..6),
        ) {
            let mut bytes = vec![0; 24];
            let fixed_len = Op(op).fixed_len(BlockFormat::V4).unwrap_or(0x3e);
            bytes.extend(PAGE.to_bytes());
            bytes.extend(slot.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(Lsn::new(3, 16, 1).to_bytes());
            small.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
            bytes.resize(usize::from(fixed_len), 0);
            for (at, value) in fixed.iter().enumerate() {
                bytes[usize::from(fixed_len) - 1 - at] = *value;
            }
            RecordHeader {
                fixed_len,
                op: Op(op),
                context: Context(context),
                flags: extentdb_format::log::record::RecordFlags(flags),
                ..RecordHeader::default()
            }
            .write(BlockFormat::V4, &mut bytes);
            bytes.extend((elements.len() as u16).to_le_bytes());
            elements.iter().for_each(|element| bytes.extend((element.len() as u16).to_le_bytes()));
            for element in &elements {
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                bytes.extend(element);
            }
            let record = RecordRef::parse(BlockFormat::V4, &bytes).expect("a header");
            let mut page = page(kind, &damage);
            let before = page.clone();
            match redo(Lsn::new(3, 16, 2), &record, &mut page) {
                Ok(_) => prop_assert_eq!(PageHeader::of(&page).lsn(), Lsn::new(3, 16, 2)),
                Err(_) => prop_assert!(page == before),
            }
            Analysis::new().add(Lsn::new(3, 16, 2), &record);
        }
    }

    #[test]
    fn damaged_records_never_panic() {
        let Some(databases) = databases() else { return };
        let (_, database) = &databases[2];
        let mut seed = 1u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut changed = 0;
        let mut stopped = 0;
        for (id, records) in database.records.iter().take(120) {
            let Some(mut page) = database.page(*id) else { continue };
            for logged in records.iter().take(200) {
                let mut bytes = logged.bytes.clone();
                let at = 24 + next(bytes.len() - 24);
                bytes[at] = next(256) as u8;
                let Some(record) = RecordRef::parse(logged.format, &bytes) else { continue };
                let Some(part) = page_of(&record) else { continue };
                PageHeader::of_mut(&mut page).lsn_bytes = part.previous_page_lsn.to_bytes();
                match redo(Lsn::new(u32::MAX, 1, 1), &record, &mut page) {
                    Ok(_) => changed += 1,
                    Err(_) => stopped += 1,
                }
            }
        }
        assert!(changed > 500 && stopped > 500, "{changed} changed, {stopped} stopped");
    }
}
