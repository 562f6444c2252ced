//! Random records, blocks and headers come back as they went in.

use extentdb_base::{Lsn, XactId};
use extentdb_format::log::block::{BlockBuilder, BlockHeader, stamp};
use extentdb_format::log::op::VariablePart;
use extentdb_format::log::record::{RECORD_HEADER_BYTES, RecordFlags, Tail};
use extentdb_format::log::{
    BlockBuf, BlockFormat, Context, LogTime, Op, Parity, RecordHeader, RecordRef, VlfDescription,
    VlfHeader,
};
use proptest::prelude::*;

/// What a record is made from. Payload values come out of random bytes, so that every value of
/// every field occurs.
#[derive(Clone, Debug)]
struct Seed {
    op: u8,
    context: u8,
    previous: [u8; 10],
    flags: u16,
    xact: (u16, u32),
    fixed: Vec<u8>,
    elements: Vec<Vec<u8>>,
}

fn seed() -> impl Strategy<Value = Seed> {
    let ops: Vec<u8> = Op::all().map(|op| op.0).chain([0x17, 0xff]).collect();
    let element = prop::collection::vec(any::<u8>(), 0..40);
    (
        prop::sample::select(ops),
        any::<u8>(),
        any::<[u8; 10]>(),
        any::<u16>(),
        any::<(u16, u32)>(),
        // The fixed parts of all operations end at even offsets from 18 to D0 hex.
        prop::collection::vec(any::<[u8; 2]>(), 0..100),
        prop::collection::vec(element, 0..9),
    )
        .prop_map(|(op, context, previous, flags, xact, fixed, elements)| Seed {
            op,
            context,
            previous,
            flags,
            xact,
            fixed: fixed.concat(),
            elements,
        })
}

impl Seed {
    fn header(&self) -> RecordHeader {
        RecordHeader {
            tag_bits: 0,
            fixed_len: (RECORD_HEADER_BYTES + self.fixed.len()) as u16,
            previous: Lsn::from_bytes(self.previous),
            flags: RecordFlags(self.flags),
            xact: XactId { high: self.xact.0, low: self.xact.1 },
            op: Op(self.op),
            context: Context(self.context),
        }
    }

    /// The record by the layout, written here once more.
    fn bytes(&self, format: BlockFormat) -> Vec<u8> {
        let mut bytes = vec![0; RECORD_HEADER_BYTES];
        self.header().write(format, &mut bytes);
        bytes.extend_from_slice(&self.fixed);
        if format == BlockFormat::V2 || Op(self.op).variable_part() == VariablePart::Absent {
            return bytes;
        }
        bytes.extend((self.elements.len() as u16).to_le_bytes());
        for element in &self.elements {
            bytes.extend((element.len() as u16).to_le_bytes());
        }
        for element in &self.elements {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend_from_slice(element);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }
}

fn format() -> impl Strategy<Value = BlockFormat> {
    prop::sample::select(BlockFormat::ALL.to_vec())
}

fn parity() -> impl Strategy<Value = Parity> {
    prop::sample::select(vec![Parity::Odd, Parity::Even])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn records_go_into_a_block_and_come_back(
        format in format(), parity in parity(), seeds in prop::collection::vec(seed(), 0..30),
        flags in any::<u16>(), lsn in any::<(u32, u32)>(),
    ) {
        let stored: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.bytes(format)).collect();
        let mut builder = BlockBuilder::with_fill(format, 0xee);
        for bytes in &stored {
            let record = RecordRef::parse(format, bytes).unwrap();
            builder.push(record.header(), &record.payload()).unwrap();
        }
        let header = BlockHeader { flags, first_lsn: Lsn::new(lsn.0, lsn.1, 1), ..BlockHeader::default() };
        let block = BlockBuf::from_disk(builder.finish(&header, parity).unwrap());

        let view = block.view();
        prop_assert!(block.checksum().is_intact());
        prop_assert_eq!(view.header().flags, flags);
        prop_assert_eq!(view.records().count(), seeds.len());
        for (((read_lsn, read), bytes), slot) in view.records().zip(&stored).zip(1..) {
            prop_assert_eq!(read_lsn, Lsn::new(lsn.0, lsn.1, slot));
            let record = RecordRef::parse(format, bytes).unwrap();
            prop_assert_eq!(read.header(), record.header());
            prop_assert_eq!(read.payload(), record.payload());
            prop_assert_eq!(read.len(), record.len());
            let undefined: Vec<_> = read.undefined().into_iter().collect();
            for (at, (one, other)) in read.bytes().iter().zip(bytes).enumerate() {
                let is_undefined = undefined.iter().any(|range| range.contains(&at));
                prop_assert!(one == other || is_undefined, "byte {} of {:?}", at, read.header());
            }
        }
    }

    #[test]
    fn every_seed_with_its_elements_is_taken_for_what_it_is(seed in seed()) {
        let bytes = seed.bytes(BlockFormat::V4);
        let record = RecordRef::parse(BlockFormat::V4, &bytes).unwrap();
        prop_assert_eq!(record.len(), bytes.len());
        match Op(seed.op).variable_part() {
            VariablePart::Absent => prop_assert_eq!(record.tail(), &Tail::Absent),
            _ => prop_assert_eq!(record.elements(), seed.elements.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        }
    }

    #[test]
    fn any_bytes_are_stamped_and_unstamped(sectors in 1usize..120, seed in any::<u64>(), parity in parity()) {
        let mut state = seed;
        let mut bytes: Vec<u8> = (0..512 * sectors).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        }).collect();
        let before = bytes.clone();
        stamp::stamp(&mut bytes, parity);
        prop_assert_eq!(stamp::verify_stamps(&bytes, parity), None);
        prop_assert!(stamp::verify_stamps(&bytes, parity.flipped()).is_some());
        stamp::unstamp(&mut bytes);
        let used = 511 * sectors;
        prop_assert_eq!(&bytes[..used], &before[..used]);
    }

    #[test]
    fn vlf_headers_and_descriptions_keep_every_byte(bytes in prop::collection::vec(any::<u8>(), 64)) {
        prop_assert_eq!(VlfHeader::parse(&bytes).unwrap().to_bytes().to_vec(), bytes.clone());
        prop_assert_eq!(VlfDescription::parse(&bytes).unwrap().to_bytes(64), bytes);
    }

    #[test]
    fn every_time_prints(days in any::<u32>(), ticks in any::<u32>()) {
        let time = LogTime { days, ticks };
        prop_assert_eq!(time.to_string().starts_with("invalid"), !time.is_valid());
    }
}
