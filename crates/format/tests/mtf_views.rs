//! Views of damaged structures: they say what is wrong, and never fail.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::mtf::section::ConfigurationSection;
use extentdb_format::mtf::{
    Block, BlockKind, Configuration, DataSection, EndOfSet, Fault, FileInfo, FilegroupInfo,
    Filemark, LogSection, MtfDate, SetFlags, SetInfo, SetMap, StartOfSet, StreamHeader, StreamKind,
    Tag, Tape, VlfDescription, Volume, config::FileKind,
};
use extentdb_types::Guid;

const DATE: MtfDate = MtfDate::new(2021, 1, 2, 3, 4, 5);

/// Writes onto 0xEE and cuts the buffer to what was written.
fn written(write: impl Fn(&mut [u8]) -> usize) -> Vec<u8> {
    let mut bytes = vec![0xEE; 8192];
    let len = write(&mut bytes);
    bytes.truncate(len);
    bytes
}

fn start_of_set() -> Vec<u8> {
    let mut start = StartOfSet::new(3, Guid([7; 16]), DATE);
    start.name = "nightly, größer".into();
    start.description = "all of it".into();
    start.user = "HOUSE\\me".into();
    written(|to| start.write(to).unwrap())
}

fn log_section() -> LogSection {
    let vlf = VlfDescription {
        bytes: 0x40000.into(),
        offset: 0x2000.into(),
        ..VlfDescription::default()
    };
    LogSection::new(vlf, 0x4000, 0x6000)
}

fn configuration() -> Vec<u8> {
    let mut config = Configuration {
        set: Some(SetInfo::new("Db", "SRV")),
        ..Configuration::default()
    };
    config.filegroups = vec![FilegroupInfo::new(1, "PRIMARY"), FilegroupInfo::new(2, "MORE")];
    for (id, kind, group) in [(1, FileKind::Data, 1), (3, FileKind::Data, 2), (2, FileKind::Log, 0)]
    {
        let mut file = FileInfo::new(id, kind, 1 << 20, &format!("f{id}"), &format!("C:\\f{id}"));
        file.fields.filegroup = group.into();
        config.files.push(file);
    }
    written(|to| config.write(to).unwrap())
}

/// One of each block.
fn blocks() -> Vec<Vec<u8>> {
    vec![
        written(|to| Tape::new(1, 512, DATE).write(to).unwrap()),
        written(|to| Filemark::new(512, vec![9, 8, 7]).write(to).unwrap()),
        start_of_set(),
        written(|to| Volume::new("C:", "HOUSE", DATE).write(to).unwrap()),
        written(|to| EndOfSet::new(1, 0, DATE).write(to).unwrap()),
        written(|to| DataSection::new().write(to).unwrap()),
        written(|to| log_section().write(to).unwrap()),
        written(|to| ConfigurationSection::new(BlockKind::Msci).write(to).unwrap()),
    ]
}

/// Every view there is, of any bytes.
fn look_at_everything(bytes: &[u8]) -> usize {
    let block = Block::parse(bytes);
    let mut out = vec![0xEE; 1 << 17];
    let _ = Tape::parse(&block).write(&mut out);
    let _ = Filemark::parse(&block).write(&mut out);
    let _ = StartOfSet::parse(&block).write(&mut out);
    let _ = Volume::parse(&block).write(&mut out);
    let _ = EndOfSet::parse(&block).write(&mut out);
    let _ = DataSection::parse(&block).write(&mut out);
    let _ = LogSection::parse(&block).write(&mut out);
    let _ = LogSection::parse(&block).carried();
    let (config, config_faults) = Configuration::parse(bytes);
    let _ = config.write(&mut out);
    let (map, map_faults) = SetMap::parse(bytes);
    let _ = map.write(&mut out);
    let stream = StreamHeader::parse(bytes);
    let _ = (stream.payload_gap(), stream.is_encrypted());
    [
        Tape::faults(&block),
        Filemark::faults(&block),
        StartOfSet::faults(&block),
        Volume::faults(&block),
        EndOfSet::faults(&block),
        DataSection::faults(&block),
        LogSection::faults(&block),
        config_faults,
        map_faults,
        stream.fault().into_iter().collect(),
    ]
    .iter()
    .map(Vec::len)
    .sum()
}

#[test]
fn views_of_any_bytes_do_not_fail() {
    let mut rng = SplitMix64::new(5);
    let sources: Vec<Vec<u8>> = blocks().into_iter().chain([configuration()]).collect();
    let mut faults = 0;
    for round in 0..3000usize {
        let mut bytes = sources[round % sources.len()].clone();
        for _ in 0..=rng.below(6) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] = rng.next_u64() as u8,
                1 => bytes[at] = 0xFF,
                _ => bytes.truncate(at.max(1)),
            }
        }
        faults += look_at_everything(&bytes);
    }
    for len in 0..200 {
        look_at_everything(&vec![0xFF; len]);
        look_at_everything(&vec![0; len]);
    }
    assert!(faults > 10_000);
}

#[test]
fn written_blocks_have_no_faults() {
    for bytes in blocks() {
        let block = Block::parse(&bytes);
        assert!(block.header().starts_a_block());
        let faults = match block.kind().unwrap() {
            BlockKind::Tape => Tape::faults(&block),
            BlockKind::Sfmb => Filemark::faults(&block),
            BlockKind::Sset => StartOfSet::faults(&block),
            BlockKind::Volb => Volume::faults(&block),
            BlockKind::Eset => EndOfSet::faults(&block),
            BlockKind::Msda => DataSection::faults(&block),
            BlockKind::Mstl => LogSection::faults(&block),
            _ => ConfigurationSection::faults(&block),
        };
        assert_eq!(faults, []);
    }
}

#[test]
fn a_filemark_of_2005_lists_the_earlier_ones_without_an_offset() {
    let mut mark = Filemark::new(512, vec![0x35_3a00, 0x400]);
    mark.fields.header.attributes = 0.into();
    mark.fields.slots = 56.into();
    let bytes = written(|to| mark.write(to).unwrap());
    assert_eq!(bytes[60..76], [0, 0x3a, 0x35, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0]);
    let block = Block::parse(&bytes);
    assert_eq!(Filemark::faults(&block), []);
    let read = Filemark::parse(&block);
    assert_eq!(read.earlier, [0x35_3a00, 0x400]);
    assert_eq!(written(|to| read.write(to).unwrap()), bytes);

    mark.earlier = (0..100).collect();
    let full = written(|to| mark.write(to).unwrap());
    assert_eq!(Filemark::parse(&Block::parse(&full)).earlier, (0..56).collect::<Vec<u64>>());
    let mut bytes = full;
    bytes[56] = 57;
    assert!(Filemark::faults(&Block::parse(&bytes)).contains(&Fault::Filemark {
        slots: 56,
        used: 57,
        bytes: 512
    }));
}

#[test]
fn texts_and_numbers_come_back() {
    let bytes = start_of_set();
    let start = StartOfSet::parse(&Block::parse(&bytes));
    assert_eq!(
        (&*start.name, &*start.description, &*start.user),
        ("nightly, größer", "all of it", "HOUSE\\me")
    );
    assert_eq!((start.set_guid, start.fields.set_number.get()), (Guid([7; 16]), 3));
    assert_eq!(start.fields.written.to_string(), "2021-01-02T03:04:05");

    let (config, faults) = Configuration::parse(&configuration());
    assert_eq!(faults, []);
    // Files follow their filegroup, the log comes last.
    let files: Vec<_> = config
        .files
        .iter()
        .map(|file| (file.fields.id.get(), file.kind(), &*file.physical_name))
        .collect();
    assert_eq!(
        files,
        [
            (1, FileKind::Data, "C:\\f1"),
            (3, FileKind::Data, "C:\\f3"),
            (2, FileKind::Log, "C:\\f2")
        ]
    );
    assert_eq!(config.filegroup_name(2), Some("MORE"));
    assert!(config.set.unwrap().flags().has(SetFlags::ALWAYS));

    let mark = written(|to| Filemark::new(512, (0..100).collect()).write(to).unwrap());
    assert_eq!(Filemark::parse(&Block::parse(&mark)).earlier, (0..55).collect::<Vec<u64>>());
}

#[test]
fn faults_name_their_offset() {
    let mut bytes = start_of_set();
    bytes[40] ^= 0xFF;
    let [Fault::BlockChecksum { kind, stored, computed }] =
        StartOfSet::faults(&Block::parse(&bytes))[..]
    else {
        panic!()
    };
    assert_eq!((kind, stored ^ computed), (Tag(*b"SSET"), 0x00FF));

    let bytes = start_of_set();
    let short = StartOfSet::faults(&Block::parse(&bytes[..110]));
    assert!(short.contains(&Fault::ShortBlock { kind: Tag(*b"SSET"), bytes: 110, needed: 121 }));
    assert!(
        short
            .iter()
            .any(|fault| fault.to_string() == "SSET: text of 16 bytes at offset 170 lies outside"),
        "{short:?}"
    );

    let mut log = log_section();
    log.fields.end = 0x50000.into();
    let bytes = written(|to| log.write(to).unwrap());
    let faults: Vec<_> =
        LogSection::faults(&Block::parse(&bytes)).iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        ["log of VLF at 8192: bytes 16384 to 327680 do not lie inside its 262144 bytes"]
    );
    assert_eq!(log.carried(), None);

    let mut sections = configuration();
    let at = sections.windows(4).rposition(|tag| tag == b"SFIN").unwrap();
    sections[at + 4..at + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    let (config, faults) = Configuration::parse(&sections);
    assert_eq!(config.files.len(), 2);
    let left = sections.len() - at;
    assert_eq!(faults, [Fault::Section { kind: Tag(*b"SFIN"), offset: at, size: u32::MAX, left }]);

    let mut header = [0; 22];
    StreamHeader::new(StreamKind::Mqda, 2, 65_538).write(&mut header).unwrap();
    assert_eq!(
        (StreamHeader::parse(&header).fault(), StreamHeader::parse(&header).payload_gap()),
        (None, 2)
    );
    header[9] ^= 1;
    assert!(StreamHeader::parse(&header).fault().is_some());
}

#[test]
fn a_buffer_too_small_is_an_error_not_a_panic() {
    for len in [0, 51, 60, 93] {
        assert!(Tape::new(1, 512, DATE).write(&mut vec![0; len]).is_err());
    }
    assert!(Filemark::new(512, vec![]).write(&mut [0; 511]).is_err());
    let mut start = StartOfSet::new(1, Guid([0; 16]), DATE);
    start.name = "x".repeat(40_000);
    assert!(start.write(&mut vec![0; 200_000]).is_err(), "a text of 80,000 bytes has no span");
}
