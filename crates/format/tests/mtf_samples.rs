//! Real backups, rebuilt from typed values onto buffers of 0xEE: every byte of every block, stream
//! and record header must come back. Pages and log blocks are copied; they are other modules'
//! concern.

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_format::mtf::checksum::rotate_xor;
use extentdb_format::mtf::container::{self, ContainerVersion, RecordHeader, RecordKind};
use extentdb_format::mtf::section::ConfigurationSection;
use extentdb_format::mtf::stream::{self, STREAM_HEADER_BYTES};
use extentdb_format::mtf::xpress::{Decoder, encode};
use extentdb_format::mtf::{
    Block, BlockKind, Configuration, DataSection, EndOfSet, Fault, Filemark, LogSection, Raid,
    SetMap, StartOfSet, StreamHeader, StreamKind, Tape, Volume, extent,
};

/// A sample's bytes; `None`, with a word on stderr, when there are no samples.
fn sample(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    let bytes = std::fs::read(folder.join(name)).ok();
    if bytes.is_none() {
        eprintln!("SKIPPED: no samples: {name} not found in {}", folder.display());
    }
    bytes
}

/// What the rebuilding of a stream saw.
#[derive(Default)]
struct Rebuilt {
    bytes: Vec<u8>,
    blocks: usize,
    streams: usize,
    faults: Vec<Fault>,
    /// Bytes rebuilt, by block or stream.
    coverage: BTreeMap<String, usize>,
    /// Bytes copied because they are pages or log blocks.
    payload: usize,
    raid: Option<Raid>,
    extents: Vec<Vec<u8>>,
    configurations: Vec<Configuration>,
    logs: Vec<LogSection>,
}

/// Parses a block, writes it again and returns the faults of its view.
fn rewrite_block(block: &Block<'_>, to: &mut [u8], seen: &mut Rebuilt) -> (usize, Vec<Fault>) {
    let kind = block.kind().expect("a known block");
    match kind {
        BlockKind::Tape => (Tape::parse(block).write(to).unwrap(), Tape::faults(block)),
        BlockKind::Sfmb => (Filemark::parse(block).write(to).unwrap(), Filemark::faults(block)),
        BlockKind::Sset => (StartOfSet::parse(block).write(to).unwrap(), StartOfSet::faults(block)),
        BlockKind::Volb => (Volume::parse(block).write(to).unwrap(), Volume::faults(block)),
        BlockKind::Eset => (EndOfSet::parse(block).write(to).unwrap(), EndOfSet::faults(block)),
        BlockKind::Msda => {
            (DataSection::parse(block).write(to).unwrap(), DataSection::faults(block))
        }
        BlockKind::Mstl => {
            let log = LogSection::parse(block);
            seen.logs.push(log.clone());
            (log.write(to).unwrap(), LogSection::faults(block))
        }
        BlockKind::Msci | BlockKind::Msls => {
            let section = ConfigurationSection::parse(block);
            (section.write(to).unwrap(), ConfigurationSection::faults(block))
        }
        other => panic!("{other:?} is not in the samples"),
    }
}

fn rewrite_stream(header: &StreamHeader, data: &[u8], seen: &mut Rebuilt) -> Vec<u8> {
    let mut out = vec![0xEE; data.len()];
    let written = match header.stream_kind().expect("a known stream") {
        StreamKind::Raid => {
            seen.raid = Some(Raid::parse(data));
            Raid::parse(data).write(&mut out).unwrap()
        }
        StreamKind::Mqci => {
            let (config, faults) = Configuration::parse(data);
            seen.faults.extend(faults);
            let written = config.write(&mut out).unwrap();
            seen.configurations.push(config);
            written
        }
        StreamKind::Tsmp => {
            let (map, faults) = SetMap::parse(data);
            seen.faults.extend(faults);
            map.write(&mut out).unwrap()
        }
        StreamKind::Mqda | StreamKind::Mqtl => {
            let gap = header.payload_gap() as usize;
            out[..gap].fill(0);
            out[gap..].copy_from_slice(&data[gap..]);
            seen.payload += data.len() - gap;
            if header.stream_kind() == Some(StreamKind::Mqda) {
                seen.extents.extend(data[gap..].chunks(65_536).map(<[u8]>::to_vec));
            }
            data.len()
        }
        StreamKind::Spad | StreamKind::Apad | StreamKind::Otcp | StreamKind::Csum => {
            out.fill(0);
            data.len()
        }
    };
    assert_eq!(written, data.len(), "{} is rebuilt whole", header.tag());
    out
}

/// Rebuilds a whole stream of blocks.
fn rebuild(stream: &[u8]) -> Rebuilt {
    let mut seen = Rebuilt { bytes: vec![0xEE; stream.len()], ..Rebuilt::default() };
    let mut at = 0;
    while at < stream.len() {
        let block = Block::parse(&stream[at..]);
        let mut to = std::mem::take(&mut seen.bytes);
        let (len, faults) = rewrite_block(&block, &mut to[at..], &mut seen);
        seen.bytes = to;
        seen.faults.extend(faults);
        seen.blocks += 1;
        *seen.coverage.entry(block.header().tag().to_string()).or_default() += len;
        at += len;
        if block.kind() == Some(BlockKind::Sfmb) {
            continue;
        }
        loop {
            let header = StreamHeader::parse(&stream[at..]);
            seen.faults.extend(header.fault());
            seen.streams += 1;
            let data = &stream[at + STREAM_HEADER_BYTES..][..header.bytes.get() as usize];
            let rebuilt = rewrite_stream(&header, data, &mut seen);
            let fresh = StreamHeader { checksum: 0.into(), ..header };
            at += stream::write_stream(&mut seen.bytes[at..], &fresh, &rebuilt).unwrap();
            *seen.coverage.entry(header.tag().to_string()).or_default() +=
                STREAM_HEADER_BYTES + data.len();
            if header.stream_kind() == Some(StreamKind::Spad) {
                break;
            }
        }
    }
    seen
}

fn assert_same(name: &str, expected: &[u8], got: &[u8]) {
    assert_eq!(expected.len(), got.len());
    let differ = expected.iter().zip(got).position(|(a, b)| a != b);
    assert_eq!(differ, None, "{name}: first differing byte");
}

/// Bytes of MQCI whose meaning is not known: kept in tails.
fn tail_bytes(config: &Configuration) -> usize {
    let files: usize = config.files.iter().map(|file| file.tail.len()).sum();
    let groups: usize = config.filegroups.iter().map(|group| group.tail.len()).sum();
    config.set.iter().map(|set| set.tail.len()).sum::<usize>() + files + groups
}

fn report(name: &str, seen: &Rebuilt) {
    let residue: usize = seen.configurations.iter().map(tail_bytes).sum::<usize>()
        + seen.logs.iter().map(|log| log.residue.len()).sum::<usize>();
    println!(
        "{name}: {} blocks, {} streams, {} bytes of pages and log",
        seen.blocks, seen.streams, seen.payload
    );
    println!("  rebuilt: {:?}; of these residue in tails: {residue}", seen.coverage);
}

#[test]
fn plain_backups_are_rebuilt_byte_for_byte() {
    for (name, pages, families, family) in [
        ("northwind-2014.bak", 352, 1, 1),
        ("pubs-2012.bak", 392, 1, 1),
        ("northwind-stripe-2-of-2.bak", 216, 2, 2),
    ] {
        let Some(file) = sample(name) else { return };
        let seen = rebuild(&file);
        report(name, &seen);
        assert_eq!(seen.faults, [], "{name}");
        assert_same(name, &file, &seen.bytes);
        assert_eq!(8 * seen.extents.len(), pages, "{name}");
        let raid = seen.raid.expect("a RAID stream");
        assert_eq!((raid.families.get(), raid.family.get()), (families, family), "{name}");
        assert_extents_ascend(name, &seen.extents);
    }
}

/// Every extent names itself, and an unstriped backup holds them in order.
fn assert_extents_ascend(name: &str, extents: &[Vec<u8>]) {
    let claims: Vec<_> = extents.iter().map(|bytes| extent::first_claim(bytes)).collect();
    assert!(claims.iter().all(Option::is_some), "{name}");
    assert!(claims.is_sorted(), "{name}");
}

#[test]
fn header_values_of_a_backup_are_those_of_restore_headeronly() {
    let Some(file) = sample("northwind-2014.bak") else { return };
    let seen = rebuild(&file);
    let last = seen.configurations.last().expect("MSLS");
    let set = last.set.as_ref().expect("SCIN");
    assert_eq!(set.database_name, "NORTHWIND_DB");
    assert_eq!(set.product_version(), (12, 0, 2269));
    assert_eq!(set.fields.database_version.get(), 782);
    assert_eq!(set.fields.first_lsn.get().to_string(), "0000002b:000001b5:0025");
    assert_eq!(set.fields.last_lsn.get().to_string(), "0000002b:000001c6:0001");
    assert_eq!(set.fields.checkpoint_lsn, set.fields.first_lsn);
    assert_eq!(set.fields.started.to_string(), "2019-04-18T18:07:16");
    assert_eq!(set.fields.finished, set.fields.started);
    assert_eq!((set.kind().description(), set.kind().letter()), ("DATABASE", b'D'));
    let files: Vec<_> = last
        .files
        .iter()
        .map(|f| (f.fields.id.get(), f.logical_name.as_str(), f.fields.size.get()))
        .collect();
    assert_eq!(files, [(1, "NORTHWND", 4_390_912), (2, "NORTHWND_log", 1_638_400)]);
    assert_eq!(last.filegroup_name(1), Some("PRIMARY"));
    // The first log section carries what the log file's entry counts.
    assert_eq!(seen.logs[0].carried(), Some(0x38A00..0x3AC00));
    assert_eq!(last.files[1].fields.backup_bytes.get(), 0x2200);
}

/// The records of a compressed file, and the stream they expand to.
struct Expanded {
    stream: Vec<u8>,
    rebuilt: Vec<u8>,
    records: usize,
    indexes: usize,
}

fn expand(file: &[u8]) -> Expanded {
    let version = ContainerVersion::V2;
    let mut out = Expanded {
        stream: vec![],
        rebuilt: vec![0xEE; file.len()],
        records: 0,
        indexes: 0,
    };
    let mut at = container::FIRST_RECORD_AT as usize;
    // What lies before the first record is not initialised.
    out.rebuilt[..at].copy_from_slice(&file[..at]);
    let mut decoder = Decoder::new();
    while at < file.len() {
        let rest = &file[at..];
        let block = Block::parse(rest);
        let to = &mut out.rebuilt[at..];
        if block.kind() == Some(BlockKind::Sfmb) {
            assert_eq!(Filemark::faults(&block), []);
            at += Filemark::parse(&block).write(to).unwrap();
            out.stream.extend(block.bytes());
            continue;
        }
        let header = RecordHeader::parse(rest, version);
        let mut len = header.record_bytes(version);
        header.write(to, version).unwrap();
        match header.kind {
            RecordKind::Data => {
                let payload = &rest[version.payload_at()..len];
                assert_eq!(rotate_xor(payload), header.checksum);
                let start = out.stream.len();
                out.stream.resize(start + header.output_bytes(), 0xEE);
                decoder.decode(payload, &mut out.stream[start..]).unwrap();
                to[4..20].copy_from_slice(&rest[4..20]);
                to[version.payload_at()..len].copy_from_slice(payload);
                out.records += 1;
            }
            RecordKind::Padding => to[version.common_bytes()..len].fill(0),
            RecordKind::Index => {
                let body = &rest[version.common_bytes()..];
                let (entries, fault) = container::parse_index(body);
                assert_eq!(fault, None);
                len = version.common_bytes()
                    + container::IndexHeader::parse(body).bytes.get() as usize;
                container::write_index(&mut to[..len], &entries, version).unwrap();
                out.indexes += 1;
            }
            RecordKind::Unknown(byte) => panic!("record kind {byte:02X} at {at:X}"),
        }
        at += len;
    }
    out
}

#[test]
fn a_compressed_backup_expands_and_is_rebuilt_byte_for_byte() {
    let name = "tsql2012-compressed.bak";
    let Some(file) = sample(name) else { return };
    let expanded = expand(&file);
    println!("{name}: {} records, {} seek indexes", expanded.records, expanded.indexes);
    assert_eq!(expanded.stream.len(), 7_589_888);
    assert_same(name, &file, &expanded.rebuilt);
    assert_eq!((expanded.records, expanded.indexes), (120, 1));
    let seen = rebuild(&expanded.stream);
    report(name, &seen);
    assert_eq!(seen.faults, []);
    assert_same(name, &expanded.stream, &seen.bytes);
    assert_eq!(seen.extents.len(), 0x72);
    assert_extents_ascend(name, &seen.extents);
}

#[test]
fn the_front_of_every_extent_decodes_alone() {
    let Some(file) = sample("tsql2012-compressed.bak") else { return };
    let version = ContainerVersion::V2;
    let mut at = container::FIRST_RECORD_AT as usize;
    let mut decoder = Decoder::new();
    let mut fronts = 0;
    while at < file.len() && !file[at..].starts_with(b"SFMB") || at < 0x2000 {
        let header = RecordHeader::parse(&file[at..], version);
        let len = header.record_bytes(version);
        if header.kind == RecordKind::Data {
            let payload = &file[at + version.payload_at()..][..header.size as usize];
            let mut whole = vec![0; header.output_bytes()];
            decoder.decode(payload, &mut whole).unwrap();
            for wanted in [1, 40, 511] {
                let mut front = vec![0; wanted];
                decoder.decode_front(payload, &mut front, whole.len()).unwrap();
                assert_eq!(front, whole[..wanted]);
            }
            fronts += 1;
        }
        // The padding after TAPE ends at the first filemark.
        at += if header.kind == RecordKind::Padding { len + 0x1000 } else { len };
        if header.kind == RecordKind::Index {
            break;
        }
    }
    assert_eq!(fronts, 119);
}

#[test]
fn what_we_pack_expands_again() {
    let Some(file) = sample("pubs-2012.bak") else { return };
    let mut decoder = Decoder::new();
    for extent in file[0x4000..].chunks_exact(65_536).take(49) {
        let packed = encode::encode(extent);
        let mut out = vec![0xEE; extent.len()];
        decoder.decode(&packed, &mut out).unwrap();
        assert_same("extent", extent, &out);
    }
}
