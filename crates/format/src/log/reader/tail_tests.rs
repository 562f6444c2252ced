//! Ends of logs: torn, or damaged.

use super::*;
use crate::log::block::{
    BlockBuf, BlockBuilder, BlockFormat, BlockHeader, MAX_BLOCK_BYTES, Parity, mark,
};
use crate::log::fault::{BlockFault, TailFault};
use crate::log::payload::space::HobtDelta;
use crate::log::record::RecordHeader;
use crate::log::vlf::VlfHeader;

/// Offset of the first block in the file.
const BODY: usize = 0x4000;
/// Sequence number of the one VLF.
const SEQUENCE: u32 = 7;

/// A log of one VLF with 32 sectors for blocks.
struct Image {
    bytes: Vec<u8>,
    /// Sectors written so far.
    sectors: usize,
    parity: Parity,
}

impl Image {
    fn new(parity: Parity, uses: u32) -> Self {
        let size = 0x2000 + 0x4000;
        let header = VlfHeader {
            signature: VlfHeader::SIGNATURE,
            parity: parity.byte(),
            format: 4,
            sequence: SEQUENCE,
            uses,
            size,
            offset: 0x2000,
            ..VlfHeader::default()
        };
        let mut bytes = vec![0; 0x2000];
        bytes.extend(header.to_area(0));
        bytes.resize(0x2000 + size as usize, 0);
        Image { bytes, sectors: 0, parity }
    }

    /// Adds a block whose mark says that the log is durable up to `durable` sectors.
    fn block(mut self, size: usize, durable: usize) -> Self {
        let at = BODY + 512 * self.sectors;
        let disk = block(SEQUENCE, self.sectors, size, Some(lsn_of(durable)), self.parity);
        self.bytes[at..at + size].copy_from_slice(&disk);
        self.sectors += size / 512;
        self
    }

    /// Fills the VLF with blocks of one sector of an earlier use.
    fn earlier(mut self) -> Self {
        for sector in 0..32 {
            let disk = block(SEQUENCE - 2, sector, 512, None, self.parity.flipped());
            self.sector_mut(sector).copy_from_slice(&disk);
        }
        self
    }

    fn sector_mut(&mut self, sector: usize) -> &mut [u8] {
        &mut self.bytes[BODY + 512 * sector..][..512]
    }

    fn zero(mut self, sector: usize) -> Self {
        self.sector_mut(sector).fill(0);
        self
    }

    fn set(mut self, sector: usize, at: usize, byte: u8) -> Self {
        self.sector_mut(sector)[at] = byte;
        self
    }

    /// Sector where the chain ends, and what lies past it.
    fn tail(&self) -> (usize, LogTail) {
        let reader = LogReader::open(&self.bytes).unwrap();
        assert_eq!(reader.map().faults(), []);
        let end = reader.summary().unwrap().end.unwrap();
        let tail = reader.tail(&end).unwrap();
        ((end.file_offset as usize - BODY) / 512, tail)
    }

    /// The tail of a log that ends at a sector, torn.
    fn assert_torn(&self, sector: usize) {
        let (end, tail) = self.tail();
        assert_eq!((end, tail.damage, tail.proof), (sector, None, None));
    }

    /// The damage of a log that ends at a sector.
    fn damage(&self, sector: usize) -> (usize, TailFault) {
        let (end, tail) = self.tail();
        assert_eq!((end, tail.proof), (sector, None));
        let damage = tail.damage.unwrap();
        assert_eq!(damage.lsn, Lsn { slot: 1, ..lsn_of_sector(damage.file_offset) });
        ((damage.file_offset as usize - BODY) / 512, damage.fault)
    }
}

fn lsn_of_sector(file_offset: u64) -> Lsn {
    Lsn::new(SEQUENCE, ((file_offset - 0x2000) / 512) as u32, 1)
}

/// The newest record of a log whose last block ends before this sector.
fn lsn_of(sector: usize) -> Lsn {
    Lsn::new(SEQUENCE, 15 + sector as u32, 2)
}

fn block(
    sequence: u32,
    sector: usize,
    size: usize,
    durable: Option<Lsn>,
    parity: Parity,
) -> Vec<u8> {
    let mut builder = BlockBuilder::new(BlockFormat::V4);
    if let Some(durable) = durable {
        let (header, payload) = mark::durable_mark(Lsn::ZERO);
        assert_eq!(
            BlockBuilder::bytes_of(BlockFormat::V4, &header, &payload),
            Ok(mark::DURABLE_MARK_BYTES)
        );
        builder.push(&header, &payload).unwrap();
        assert_ne!(durable, Lsn::ZERO);
    }
    let record = RecordHeader {
        fixed_len: 0x40,
        op: Op::HOBT_DELTA,
        ..RecordHeader::default()
    };
    builder.push(&record, &Payload::HobtDelta(HobtDelta::default())).unwrap();
    let header = BlockHeader {
        size: size as u16,
        flags: BlockHeader::FLAG_ALWAYS | BlockHeader::FLAG_CHECKSUM,
        first_lsn: Lsn::new(sequence, 16 + sector as u32, 1),
        ..BlockHeader::default()
    };
    let mut disk = builder.finish(&header, parity).unwrap();
    if let Some(durable) = durable {
        mark::set(&mut disk, durable);
        assert_eq!(mark::read(&disk), Some(durable));
    }
    assert_eq!(BlockBuf::from_disk(disk.clone()).faults(), []);
    disk
}

#[test]
fn a_mark_is_set_in_blocks_of_any_size_and_keeps_their_checksum() {
    for size in (512..=MAX_BLOCK_BYTES).step_by(512) {
        let disk = block(SEQUENCE, 0, size, Some(Lsn::new(3, 0x0102_0304, 5)), Parity::Even);
        let buf = BlockBuf::from_disk(disk);
        assert!(buf.checksum().is_intact(), "{size}");
        let records: Vec<_> = buf.view().records().collect();
        let Payload::DurableMark(mark) = records[0].1.payload() else { panic!("{records:?}") };
        assert_eq!(mark.durable, Lsn::new(3, 0x0102_0304, 5));
        assert_eq!(records[0].1.header().op.to_string(), "LOP_X_DURABLE");
    }
    let mut foreign = block(SEQUENCE, 0, 512, None, Parity::Odd);
    let before = foreign.clone();
    mark::set(&mut foreign, Lsn::new(9, 9, 9));
    assert_eq!((mark::read(&foreign), foreign), (None, before));
}

#[test]
fn a_marked_block_without_its_checksum_flag_is_damaged() {
    let mut disk = block(SEQUENCE, 0, 512, Some(lsn_of(1)), Parity::Odd);
    disk[8] &= !2;
    assert!(!BlockBuf::from_disk(disk).checksum().is_intact());
    let mut foreign = block(SEQUENCE, 0, 512, None, Parity::Odd);
    foreign[8] &= !2;
    assert!(BlockBuf::from_disk(foreign).checksum().is_intact(), "blocks of others may have none");
}

#[test]
fn zeros_and_earlier_uses_past_the_end_are_no_damage() {
    let (end, tail) = Image::new(Parity::Odd, 1).block(512, 0).tail();
    assert_eq!((end, tail), (1, LogTail::default()));
    let (end, tail) = Image::new(Parity::Even, 2).earlier().block(512, 0).tail();
    assert_eq!((end, tail), (1, LogTail::default()));
}

/// Any sectors of the last write may be missing, replaced by zeros or by what lay there before.
#[test]
fn what_a_power_cut_leaves_of_one_write_is_torn() {
    for image in [Image::new(Parity::Odd, 1), Image::new(Parity::Even, 2).earlier()] {
        let before = Image { bytes: image.bytes.clone(), ..image }.block(1024, 0).block(512, 2);
        let sizes = [512, 1536, 512, 2048];
        let after = sizes
            .into_iter()
            .fold(Image { bytes: before.bytes.clone(), ..before }, |image, size| {
                image.block(size, 3)
            });
        let sectors: Vec<usize> = (before.sectors..after.sectors).collect();
        for written in 0..1u32 << sectors.len() {
            let mut torn = Image { bytes: after.bytes.clone(), ..after };
            for (bit, sector) in
                sectors.iter().enumerate().filter(|(bit, _)| written & (1 << bit) == 0)
            {
                let old = before.bytes[BODY + 512 * sector..][..512].to_vec();
                torn.sector_mut(*sector).copy_from_slice(&old);
                if bit % 3 == 0 {
                    torn.sector_mut(*sector).fill(0);
                }
            }
            let (_, tail) = torn.tail();
            assert_eq!((tail.damage, tail.proof), (None, None), "{written:b}");
        }
    }
}

#[test]
fn a_later_mark_proves_that_the_log_went_on() {
    let log =
        || Image::new(Parity::Odd, 1).block(512, 0).block(1024, 1).block(512, 3).block(1536, 4);
    let (end, tail) = log().zero(1).tail();
    let proof = TailProof { by: Lsn::new(SEQUENCE, 20, 1), durable: lsn_of(4) };
    assert_eq!((end, tail.proof), (1, Some(proof)));
    let (end, tail) = log().zero(2).tail();
    assert_eq!((end, tail.proof), (1, Some(proof)));
    // The mark of a torn block counts: its first sector was written as a whole.
    let (end, tail) = log().zero(3).zero(5).tail();
    assert_eq!((end, tail.proof), (3, Some(proof)));
    // Of the last write itself nothing is known.
    log().zero(4).assert_torn(4);
    log().zero(6).assert_torn(4);
    log().zero(1).zero(3).zero(4).assert_torn(1);
}

#[test]
fn a_block_without_marks_proves_nothing() {
    let mut image = Image::new(Parity::Odd, 1).block(512, 0);
    let later = block(SEQUENCE, 3, 512, None, Parity::Odd);
    image.sector_mut(3).copy_from_slice(&later);
    image.assert_torn(1);
    let reader = LogReader::open(&image.bytes).unwrap();
    let end = reader.summary().unwrap().end.unwrap();
    assert_eq!(reader.leftovers(&end).unwrap().lost_blocks, 1, "as SQL Server's are reported");
    let marked = Image::new(Parity::Odd, 1).block(512, 0).block(512, 1).block(512, 1).zero(1);
    let reader = LogReader::open(&marked.bytes).unwrap();
    let end = reader.summary().unwrap().end.unwrap();
    let leftovers = reader.leftovers(&end).unwrap();
    assert_eq!((leftovers.lost_blocks, leftovers.torn_blocks), (0, 1));
}

#[test]
fn a_damaged_sector_at_the_end_is_no_torn_write() {
    let log = || Image::new(Parity::Odd, 1).block(512, 0).block(1536, 1);
    let cases: [(Image, usize, TailFault); 9] = [
        (log().set(1, 0, 0x00), 1, TailFault::Foreign { found: 0x00 }),
        (log().set(1, 0, 0xc0), 1, TailFault::Foreign { found: 0xc0 }),
        (log().set(1, 0, 0xd0), 1, TailFault::Foreign { found: 0xd0 }),
        (log().set(1, 0, 0x90), 1, TailFault::FirstUse { found: 0x90 }),
        (log().set(1, 0, 0x40), 1, TailFault::NotFirst { found: 0x40 }),
        (log().set(1, 6, 1), 1, TailFault::Size { found: 1537 }),
        (log().set(1, 0xc, 8), 1, TailFault::Lsn { found: Lsn::new(8, 17, 1) }),
        (log().set(2, 0, 0x13), 2, TailFault::Foreign { found: 0x13 }),
        (log().set(3, 0, 0x00), 3, TailFault::Foreign { found: 0x00 }),
    ];
    for (image, sector, fault) in cases {
        assert_eq!(image.damage(1), (sector, fault));
    }
}

#[test]
fn a_size_that_does_not_agree_with_the_stamps_is_damage() {
    // A block of one sector that claims three: the others are not missing, they never were.
    let image = Image::new(Parity::Odd, 1).block(512, 0).block(512, 1).set(1, 7, 6);
    assert_eq!(image.damage(1), (1, TailFault::Size { found: 1536 }));
    // A block of three that claims two, or four.
    let longer = |size| Image::new(Parity::Odd, 1).block(512, 0).block(1536, 1).set(1, 7, size);
    let stamp =
        |sector, found, expected| TailFault::Block(BlockFault::Stamp { sector, found, expected });
    assert_eq!(longer(4).damage(1), (2, stamp(1, 0x40, 0x48)));
    assert_eq!(longer(8).damage(1), (3, stamp(2, 0x48, 0x40)));
}

#[test]
fn a_whole_block_with_a_wrong_checksum_is_damage() {
    let image = Image::new(Parity::Odd, 1).block(512, 0).block(512, 1).block(1024, 1);
    // The first of a write is missing, the second is there and damaged.
    let image = image.zero(1).set(3, 100, 1);
    let (sector, fault) = image.damage(1);
    assert!(matches!(fault, TailFault::Block(BlockFault::Checksum { .. })), "{fault}");
    assert_eq!(sector, 2);
}

#[test]
fn sectors_of_an_earlier_use_name_their_position_in_an_earlier_use() {
    let log = || Image::new(Parity::Even, 2).earlier().block(512, 0);
    log().assert_torn(1);
    let fault = |found| TailFault::Lsn { found };
    assert_eq!(log().set(4, 0xc, 7).damage(1), (4, fault(Lsn::new(7, 20, 1))), "of this use");
    assert_eq!(log().set(4, 0x10, 9).damage(1), (4, fault(Lsn::new(5, 9, 1))), "another place");
    // A restore keeps the parity and resets the count: whole earlier blocks say that there was a
    // use.
    let mut restored = Image::new(Parity::Odd, 1).earlier().block(512, 0);
    restored.assert_torn(1);
    for sector in 1..32 {
        let byte = if sector == 5 { 0x80 } else { 0 };
        restored.sector_mut(sector).fill(byte);
    }
    assert_eq!(restored.damage(1), (5, TailFault::FirstUse { found: 0x80 }));
}

#[test]
fn a_header_older_than_its_blocks_is_a_stray_use() {
    let strays = |image: &Image| LogReader::open(&image.bytes).unwrap().stray_uses().unwrap();
    let log = || Image::new(Parity::Even, 2).block(512, 0);
    assert_eq!(strays(&log()), []);
    let at = |field: usize| 0x2000 + field;
    let mut older = log();
    older.bytes[at(4)] = 6;
    let stray = StrayUse { file_offset: 0x2000, header: 6, block: Lsn::new(7, 16, 1) };
    assert_eq!(strays(&older), [stray]);
    // A newer header is that of a use that has written nothing yet.
    let mut newer = log();
    newer.bytes[at(4)] = 8;
    newer.bytes[at(1)] = 0x40;
    assert_eq!(strays(&newer), []);
    let mut flipped = log();
    flipped.bytes[at(1)] = 0x40;
    assert_eq!(strays(&flipped), [StrayUse { header: 7, ..stray }]);
    // Never used by its header; a restore keeps the parity of what lies there.
    let mut unused = log();
    unused.bytes[at(4)] = 0;
    assert_eq!(strays(&unused), []);
    unused.bytes[at(1)] = 0;
    assert_eq!(strays(&unused), [StrayUse { header: 0, ..stray }]);
}
