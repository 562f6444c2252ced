use super::*;
use crate::log::source::OutOfBytes;

fn header(offset: u64, size: u64, sequence: u32) -> VlfHeader {
    VlfHeader {
        signature: VlfHeader::SIGNATURE,
        parity: if sequence == 0 { 0 } else { 0x40 },
        format: 4,
        sequence,
        size,
        offset,
        ..VlfHeader::default()
    }
}

/// A log file with VLFs of these sizes.
fn file(sizes: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; FIRST_VLF_OFFSET as usize];
    for (i, size) in sizes.iter().enumerate() {
        let offset = bytes.len();
        bytes.extend(header(offset as u64, *size, i as u32 + 1).to_area(0));
        bytes.resize(offset + *size as usize, 0);
    }
    bytes
}

fn walk(bytes: &Vec<u8>) -> VlfMap {
    VlfMap::read(bytes).unwrap()
}

fn offsets(map: &VlfMap) -> Vec<u64> {
    map.vlfs().iter().map(|vlf| vlf.offset).collect()
}

#[test]
fn a_header_is_read_and_written_field_by_field() {
    let mut bytes = [0; 64];
    bytes[..5].copy_from_slice(&[0xab, 0x80, 5, 0, 0x23]);
    bytes[0xc] = 2;
    bytes[0x10..0x13].copy_from_slice(&[0, 0x40, 4]);
    bytes[0x18..0x1b].copy_from_slice(&[0, 0, 4]);
    bytes[0x20] = 0x1f;
    bytes[0x3f] = 9;
    let header = VlfHeader::parse(&bytes).unwrap();
    assert_eq!((header.sequence, header.uses, header.format), (0x23, 2, 5));
    assert_eq!((header.size, header.offset), (0x44000, 0x40000));
    assert_eq!(header.create_lsn, Lsn::new(0x1f, 0, 0));
    assert_eq!(header.block_parity(), Some(Parity::Even));
    assert_eq!(header.residue.nonzero(), 1);
    assert_eq!(header.to_bytes(), bytes);
    assert_eq!(header.faults().count(), 0);
    assert_eq!(VlfHeader::parse(&bytes[..63]), None);
}

#[test]
fn vlfs_fill_the_file() {
    let map = walk(&file(&[0x4000, 0x6000, 0x4000]));
    assert_eq!(offsets(&map), [0x2000, 0x6000, 0xc000]);
    assert_eq!(map.faults(), []);
}

#[test]
fn the_walk_continues_after_a_damaged_header() {
    let mut bytes = file(&[0x4000, 0x6000, 0x4000]);
    bytes[0x6000] = 0;
    let map = walk(&bytes);
    assert_eq!(offsets(&map), [0x2000, 0xc000]);
    let expected = [
        (0x6000, VlfFault::Signature { found: 0 }),
        (0x6000, VlfFault::Unreachable { bytes: 0x6000 }),
    ];
    assert_eq!(map.faults(), expected);
}

#[test]
fn sizes_that_cannot_be_do_not_lead_astray() {
    for size in [0, 1, 0x2000, 0x4001, 0x10_0000, u64::MAX] {
        let mut bytes = file(&[0x4000, 0x6000, 0x4000]);
        bytes[0x6010..0x6018].copy_from_slice(&size.to_le_bytes());
        let map = walk(&bytes);
        assert_eq!(offsets(&map), [0x2000, 0xc000], "size {size:#x}");
        assert_eq!(map.faults()[0], (0x6000, VlfFault::Size { size, available: 0xa000 }));
    }
}

#[test]
fn a_file_that_ends_early_keeps_the_vlfs_before_it() {
    let bytes = file(&[0x4000, 0x6000]);
    for len in [0x0, 0x2000, 0x2010, 0x5fff] {
        let map = walk(&bytes[..len].to_vec());
        assert_eq!(offsets(&map), [], "{len:#x} bytes");
        assert_eq!(map.faults().is_empty(), len <= 0x2000);
    }
    let map = walk(&bytes[..0x6020].to_vec());
    assert_eq!(offsets(&map), [0x2000]);
    assert_eq!(map.faults(), [(0x6000, VlfFault::Unreachable { bytes: 0x20 })]);
}

#[test]
fn order_is_by_sequence_and_unused_vlfs_have_none() {
    let mut bytes = file(&[0x4000, 0x4000, 0x4000]);
    bytes[0x2004] = 9;
    bytes[0x6001] = 0;
    bytes[0x6004] = 0;
    let map = walk(&bytes);
    let sequences: Vec<u32> = map.by_sequence().iter().map(|vlf| vlf.header.sequence).collect();
    assert_eq!(sequences, [3, 9]);
    assert_eq!(map.faults(), []);
}

#[test]
fn what_a_header_says_wrongly_is_a_fault() {
    let mut bytes = file(&[0x4000, 0x4000, 0x4000]);
    bytes[0x2001] = 0x20;
    bytes[0x2002] = 77;
    bytes[0x6018] = 1;
    bytes[0xa001] = 0;
    bytes[0xa004] = 2;
    let expected = [
        (0x2000, VlfFault::Parity { found: 0x20 }),
        (0x2000, VlfFault::Format { found: 77 }),
        (0x6000, VlfFault::Offset { stored: 0x6001 }),
        (0xa000, VlfFault::UnstampedUse { sequence: 2 }),
        (0xa000, VlfFault::DuplicateSequence { sequence: 2 }),
    ];
    assert_eq!(walk(&bytes).faults(), expected);
}

#[test]
fn descriptions_of_a_backup_are_checked_against_the_file_length() {
    let headers =
        [header(0x40000, 0x3e000, 0), header(0x2000, 0x3e000, 5), header(u64::MAX, 0x3e000, 6)];
    let map = VlfMap::from_descriptions(headers, 0x7e000);
    assert_eq!(offsets(&map), [0x2000, 0x40000]);
    assert_eq!(map.faults(), [(u64::MAX, VlfFault::Size { size: 0x3e000, available: 0 })]);
}

/// A file of 2 TB that is one hole; it counts how often it is read.
struct Hole(std::cell::Cell<u32>);

impl LogBytes for Hole {
    type Error = OutOfBytes;

    fn len(&self) -> u64 {
        1 << 41
    }

    fn read_at(&self, _: u64, buf: &mut [u8]) -> Result<(), OutOfBytes> {
        self.0.set(self.0.get() + 1);
        buf.fill(0);
        Ok(())
    }
}

#[test]
fn a_huge_file_of_zeros_is_given_up_soon() {
    let hole = Hole(std::cell::Cell::new(0));
    let map = VlfMap::read(&hole).unwrap();
    assert_eq!(map.vlfs(), []);
    assert_eq!(map.faults().len(), 2);
    assert!(hole.0.get() <= 65_537, "{} reads", hole.0.get());
}
