//! Hand-built log blocks of formats 2, 3 and 6, of which no sample is at hand.
//!
//! Each block is written down byte by byte from the layouts in `docs/format/log.md`, its checksum
//! computed by the definition. Reading must give the values, writing the values must give the
//! bytes.

use extentdb_base::{Lsn, XactId};
use extentdb_format::log::block::{BlockBuilder, BlockHeader, BlockView};
use extentdb_format::log::payload::xact::{
    BeginPart, BeginPart2005, BeginXact, BeginXact2005, EndXact, LogText,
};
use extentdb_format::log::payload::{Opaque, Payload};
use extentdb_format::log::record::RecordFlags;
use extentdb_format::log::{
    BlockBuf, BlockFormat, Context, LogTime, Op, Parity, RecordHeader, ResidueBytes,
};

/// One sector of zeros with the given bytes, in hexadecimal, at the given offsets.
fn sector(parts: &[(usize, &str)]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    for (at, hex) in parts {
        for (i, byte) in hex.split_whitespace().enumerate() {
            bytes[at + i] = u8::from_str_radix(byte, 16).expect("two hexadecimal digits");
        }
    }
    bytes
}

/// Stores the checksum of a block of one sector: the XOR of its words, the field taken as 0.
fn seal(mut disk: Vec<u8>) -> Vec<u8> {
    let words = disk.chunks(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    let sum = words.fold(0, |sum, word| sum ^ word);
    disk[0x18..0x1c].copy_from_slice(&sum.to_le_bytes());
    disk
}

fn xact(low: u32) -> XactId {
    XactId { high: 0, low }
}

/// Reads `disk`, compares, writes the same again.
fn check(disk: &[u8], header: &BlockHeader, records: &[(RecordHeader, Payload<'_>)]) {
    let block = BlockBuf::from_disk(disk.to_vec());
    assert_eq!(block.faults(), []);
    let view: BlockView<'_> = block.view();
    let read = view.header();
    assert_eq!(
        (read.flags, read.first_lsn, read.previous_size),
        (header.flags, header.first_lsn, header.previous_size)
    );
    assert_eq!(read.written_at, header.written_at);
    assert_eq!(view.slots().count(), records.len());
    for ((_, found), (header, payload)) in view.slots().zip(records) {
        assert_eq!(found.header(), header);
        assert_eq!(&found.payload(), payload);
    }

    let parity = block.first_stamp().parity().expect("a parity");
    let mut builder = BlockBuilder::new(view.format().expect("a format"));
    for (header, payload) in records {
        builder.push(header, payload).expect("room");
    }
    let written = builder.finish(header, parity).expect("a sector is enough");
    assert!(written == disk, "written: {written:02x?}\nexpected: {disk:02x?}");
}

#[test]
fn a_block_of_format_2() {
    let disk = sector(&[
        // 0 stamp, 2 records, 64 hex bytes used, 512 bytes, no checksum, previous 1024 bytes, LSN
        // 5:10:1
        (0x00, "58 00 02 00 64 00 00 02 01 00 00 04 05 00 00 00 10 00 00 00 01 00 00 00"),
        // 0, length 2E, previous LSN, operation, context, transaction, flags, 22 bytes of payload
        (0x18, "00 00 2e 00 00 00 00 00 00 00 00 00 00 00 80 00 07 00 00 00 00 00 02 00"),
        (0x30, "11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f 20 21 22 23 24 25 26"),
        (0x48, "00 00 18 00 05 00 00 00 10 00 00 00 01 00 81 00 07 00 00 00 00 00 02 00"),
        (0x60, "48 00 18 00"),
        (0x1ff, "02"),
    ]);
    let payload: Vec<u8> = (0x11..0x27).collect();
    let opaque = |bytes: &[u8]| {
        Payload::Opaque(Opaque { residue: ResidueBytes::from(bytes), ..Opaque::default() })
    };
    let first = RecordHeader {
        fixed_len: 0x2e,
        flags: RecordFlags::TRANSACTION,
        xact: xact(7),
        op: Op::BEGIN_XACT,
        ..RecordHeader::default()
    };
    let second = RecordHeader {
        fixed_len: 0x18,
        previous: Lsn::new(5, 0x10, 1),
        op: Op::COMMIT_XACT,
        ..first
    };
    let header = BlockHeader {
        flags: BlockHeader::FLAG_ALWAYS,
        previous_size: 0x400,
        first_lsn: Lsn::new(5, 0x10, 1),
        ..BlockHeader::default()
    };
    check(&disk, &header, &[(first, opaque(&payload)), (second, opaque(&[]))]);
}

#[test]
fn a_block_of_format_3() {
    let disk = seal(sector(&[
        (0x00, "98 00 02 00 9c 00 00 02 03 00 00 02 21 00 00 00 9a 00 00 00 01 00 00 00"),
        // BEGIN_XACT: fixed length 30; flags, transaction, operation, context
        (0x1c, "00 00 30 00 00 00 00 00 00 00 00 00 00 00 02 00 42 11 00 00 00 00 80 00"),
        // SPID at 1C, status at 20, type at 24, time at 28
        (0x34, "00 00 00 00 33 00 00 00 01 00 00 00 03 00 00 00 7b a5 50 01 ca a0 00 00"),
        // two elements: "INSERT" and one byte
        (0x4c, "02 00 0c 00 01 00 00 00 49 00 4e 00 53 00 45 00 52 00 54 00 01"),
        // COMMIT_XACT: time at 18, LSN of the begin at 20, no elements
        (0x64, "00 00 30 00 21 00 00 00 9a 00 00 00 01 00 02 00 42 11 00 00 00 00 81 00"),
        (0x7c, "7c a5 50 01 ca a0 00 00 21 00 00 00 9a 00 00 00 01 00 00 00 00 00 00 00"),
        (0x94, "00 00 00 00 64 00 1c 00"),
        (0x1ff, "03"),
    ]));
    let first = RecordHeader {
        fixed_len: 0x30,
        flags: RecordFlags::TRANSACTION,
        xact: xact(0x1142),
        op: Op::BEGIN_XACT,
        ..RecordHeader::default()
    };
    let lsn = Lsn::new(0x21, 0x9a, 1);
    let name: Vec<u8> = "INSERT".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let begin = BeginXact2005 {
        fixed: BeginPart2005 {
            spid: 51,
            status: 1,
            kind: 3,
            begin_time: LogTime { days: 0xa0ca, ticks: 0x0150_a57b },
            residue: ResidueBytes::from([0; 8].as_slice()),
        },
        name: LogText(&name),
        sid: &[1],
    };
    let second = RecordHeader {
        previous: lsn,
        op: Op::COMMIT_XACT,
        context: Context::NULL,
        ..first
    };
    let commit = EndXact {
        end_time: LogTime { days: 0xa0ca, ticks: 0x0150_a57c },
        begin: lsn,
        xact_id: None,
        residue: ResidueBytes::from([0; 6].as_slice()),
    };
    let header = BlockHeader {
        flags: 3,
        previous_size: 0x200,
        first_lsn: lsn,
        ..BlockHeader::default()
    };
    check(
        &disk,
        &header,
        &[(first, Payload::BeginXact2005(begin)), (second, Payload::EndXact(commit))],
    );
}

#[test]
fn a_block_of_format_6() {
    let disk = seal(sector(&[
        (0x00, "58 00 02 00 0c 01 00 02 03 00 00 10 1d 00 00 00 80 01 00 00 01 00 00 00"),
        // checksum at 18, a counter at 1C, the time of writing at 30, FF bytes at 38
        (0x1c, "05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"),
        (0x30, "80 a5 50 01 ca ac 00 00 fe ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff"),
        // BEGIN_XACT: fixed length 4C
        (0x48, "00 00 4c 00 00 00 00 00 00 00 00 00 00 00 02 00 29 04 00 00 00 00 80 00"),
        (0x60, "33 00 00 00 01 00 00 00 01 00 00 00 00 00 00 00 7b a5 50 01 ca ac 00 00"),
        (
            0x78,
            "35 c6 00 00 00 00 00 00 00 00 00 00 00 00 00 00 29 04 00 00 00 00 00 00 00 00 00 00",
        ),
        (0x94, "02 00 0c 00 01 00 00 00 49 00 4e 00 53 00 45 00 52 00 54 00 01"),
        // COMMIT_XACT: fixed length 50, at the next multiple of 8
        (0xb0, "00 00 50 00 1d 00 00 00 80 01 00 00 01 00 02 00 29 04 00 00 00 00 81 00"),
        (0xc8, "7c a5 50 01 ca ac 00 00 1d 00 00 00 80 01 00 00 01 00 00 00 00 00 00 00"),
        (0xf0, "35 c6 00 00 00 00 00 00"),
        (0x108, "b0 00 48 00"),
        (0x1ff, "06"),
    ]));
    let first = RecordHeader {
        fixed_len: 0x4c,
        flags: RecordFlags::TRANSACTION,
        xact: xact(0x429),
        op: Op::BEGIN_XACT,
        ..RecordHeader::default()
    };
    let lsn = Lsn::new(0x1d, 0x180, 1);
    let name: Vec<u8> = "INSERT".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let begin = BeginXact {
        fixed: BeginPart {
            spid: 51,
            status: 1,
            kind: 1,
            begin_time: LogTime { days: 0xacca, ticks: 0x0150_a57b },
            xact_id: 0xc635,
            outermost: Some(xact(0x429)),
            parent: Some(xact(0)),
            residue: ResidueBytes::from([0; 14].as_slice()),
        },
        name: LogText(&name),
        sid: &[1],
    };
    let second = RecordHeader { fixed_len: 0x50, previous: lsn, op: Op::COMMIT_XACT, ..first };
    let commit = EndXact {
        end_time: LogTime { days: 0xacca, ticks: 0x0150_a57c },
        begin: lsn,
        xact_id: Some(0xc635),
        residue: ResidueBytes::from([0; 30].as_slice()),
    };
    // Byte 1, the two bytes at 16, the counter and zeros at 1C, the FF bytes at 38.
    let mut residue = vec![0, 0, 0, 5];
    residue.resize(3 + 20, 0);
    residue.push(0xfe);
    residue.resize(3 + 20 + 16, 0xff);
    let residue = ResidueBytes::from(residue.as_slice());
    residue_is_where_it_belongs(&disk, &residue);
    let header = BlockHeader {
        flags: 3,
        previous_size: 0x1000,
        first_lsn: lsn,
        written_at: Some(LogTime { days: 0xacca, ticks: 0x0150_a580 }),
        residue,
        ..BlockHeader::default()
    };
    check(
        &disk,
        &header,
        &[(first, Payload::BeginXact(begin)), (second, Payload::EndXact(commit))],
    );
}

fn residue_is_where_it_belongs(disk: &[u8], expected: &ResidueBytes) {
    let block = BlockBuf::from_disk(disk.to_vec());
    assert_eq!(&block.view().header().residue, expected);
}

#[test]
fn header_lengths_are_those_of_the_formats() {
    let lengths = BlockFormat::ALL.map(|format| (format.number(), format.header_bytes()));
    assert_eq!(lengths, [(2, 0x18), (3, 0x1c), (4, 0x28), (5, 0x30), (6, 0x48)]);
    for format in BlockFormat::ALL {
        let header = BlockHeader { size: 512, flags: 1, ..BlockHeader::default() };
        let disk = BlockBuilder::new(format).finish(&header, Parity::Odd).expect("an empty block");
        let block = BlockBuf::from_disk(disk);
        assert_eq!(block.faults(), []);
        assert_eq!(usize::from(block.view().header().used), format.header_bytes());
    }
}
