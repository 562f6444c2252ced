//! Damaged and truncated backups: existing parts are read, missing ones are named, nothing panics
//! or hangs.

use std::ops::Range;
use std::time::Duration;

use super::builder::{LogSpec, MediaSpec, SetSpec, formatted};
use super::sets::log;
use super::*;
use extentdb_base::env::{Clock, Rng, SplitMix64, SystemClock};
use extentdb_format::mtf::container::{
    ContainerVersion, FIRST_RECORD_AT, RecordHeader, RecordKind,
};

/// Limits that hold for any damage.
const TIME_MAX: Duration = Duration::from_secs(10);

/// A set with log whose extents 0 to 5 are known, on one file.
fn media_spec() -> MediaSpec {
    let mut set = SetSpec::full(1, 6, (0..6).map(|index| formatted(1, index, 1)).collect());
    set.logs =
        vec![log(41, 0x2000, 0x4000, 0x1000), LogSpec { bytes: vec![], ..log(0, 0x62000, 0, 0) }];
    MediaSpec::of(vec![set])
}

/// Asserts that what can be read is right; returns how many extents that are.
fn assert_extents_are_true(set: &BackupSet) -> usize {
    let mut count = 0;
    for index in indexes(set, 1) {
        if let Ok(bytes) = read(set, extent(1, index)) {
            assert!(bytes == formatted(1, index, 1), "extent {index}");
            count += 1;
        }
    }
    count
}

/// Opens and reads everything that can be read; only the time matters.
fn read_everything(files: Vec<Vec<u8>>) -> Result<(), Error> {
    let clock = SystemClock::new();
    let media = media(files)?;
    let _ = (media.family(), media.sets().len(), texts(media.findings()));
    let options = SetOptions { allow_missing_stripes: true, any_kind: true, jobs: 1 };
    for position in 1..=media.sets().len().min(4) as u32 {
        let Ok(set) = media.open_set(Some(position), &options) else { continue };
        for file in set.files() {
            for extent in set.stored_extents(file.id) {
                let _ = read(&set, extent);
            }
        }
        for part in set.log() {
            let mut buf = vec![0; 4096];
            let _ = set.read_log(part, part.carried.start, &mut buf);
        }
    }
    assert!(clock.monotonic() < TIME_MAX, "took {:?}", clock.monotonic());
    Ok(())
}

#[test]
fn a_backup_truncated_anywhere_is_read_up_to_its_end() {
    for (media_spec, whole) in [(media_spec(), 6), (media_spec().packed(), 6)] {
        let file = media_spec.build();
        let step = if media_spec.packed.is_some() { 7 } else { 1021 };
        let mut opened = 0;
        let mut best = 0;
        for len in (0..file.len()).step_by(step).chain([file.len() - 1]) {
            let Ok(media) = media(vec![file[..len].to_vec()]) else { continue };
            assert!(!media.findings().is_empty(), "cut off at {len} of {}", file.len());
            if let Ok(set) = media.open_set(None, &SetOptions::default()) {
                opened += 1;
                best = best.max(assert_extents_are_true(&set));
            }
        }
        assert!(opened > 20, "{opened} of the cut files opened");
        assert_eq!(best, whole);
    }
}

#[test]
fn the_truncated_part_is_named() {
    let file = media_spec().build();
    let find = |tag: &[u8], nth: usize| {
        let places =
            file.windows(4).enumerate().filter(|(_, bytes)| *bytes == tag).map(|(at, _)| at);
        places.clone().nth(nth).unwrap_or_else(|| panic!("{nth} of {}", places.count()))
    };
    let after = |parts: &[&str]| {
        parts.iter().map(|part| format!("backup set 1: {part} is missing")).collect::<Vec<_>>()
    };
    let last_config = "the final configuration (MSLS)";
    let (map, end, mark) =
        ("the set map (ESET)", "the end of the set (ESET)", "the filemark at the end (SFMB)");
    let pages_cut = vec!["the file ends inside MQDA: 327682 bytes are missing".to_owned()];
    for (cut, expected) in [
        (
            find(b"MQDA", 0) + 24 + EXTENT_BYTES - 2,
            [pages_cut, after(&[last_config, map, end, mark])].concat(),
        ),
        (find(b"MSLS", 0), after(&[last_config, map, end, mark])),
        (find(b"SFMB", 1), after(&[map, end, mark])),
        (find(b"ESET", 1), after(&[end, mark])),
        (find(b"SFMB", 2), after(&[mark])),
    ] {
        let media = media(vec![file[..cut].to_vec()]).unwrap();
        assert_eq!(texts(media.findings()), expected, "cut at {cut}");
    }
    // Of a compressed file nothing but the missing parts shows that it was cut between two records.
    let packed = media_spec().packed().build();
    let records = records_of(&packed);
    let media = media(vec![packed[..records[4].start].to_vec()]).unwrap();
    let texts = texts(media.findings());
    assert_eq!(texts[0], "the file ends inside MQDA: 262144 bytes are missing");
    assert!(texts.contains(&"backup set 1: the seek index is missing".to_owned()), "{texts:?}");
    let set = media.open_set(None, &SetOptions::default()).unwrap();
    assert_eq!(assert_extents_are_true(&set), 2);
}

/// Where the data records of a compressed file lie.
fn records_of(file: &[u8]) -> Vec<Range<usize>> {
    let mut records = Vec::new();
    let mut at = FIRST_RECORD_AT as usize;
    while at < file.len() {
        if file[at..].starts_with(b"SFMB") {
            at += 512;
            continue;
        }
        let header = RecordHeader::parse(&file[at..], ContainerVersion::V2);
        let len = match header.kind {
            RecordKind::Index => {
                24 + u32::from_le_bytes(file[at + 32..at + 36].try_into().unwrap()) as usize
            }
            _ => header.record_bytes(ContainerVersion::V2),
        };
        if header.kind == RecordKind::Data {
            records.push(at..at + len);
        }
        at += len;
    }
    records
}

#[test]
fn one_damaged_payload_loses_one_extent() {
    let mut file = media_spec().packed().build();
    let record = records_of(&file)[2 + 3].clone();
    file[record.end - 40] ^= 4;
    let set = only_set(file).unwrap();
    assert_eq!(assert_extents_are_true(&set), 5);
    let Err(error) = read(&set, extent(1, 3)) else { panic!("extent 3 is damaged") };
    let text = error.to_string();
    assert!(text.starts_with(&format!("a.bak: record at {}: checksum ", record.start)), "{text}");
    assert_eq!(set.location_of(extent(1, 3)).map(|(_, offset)| offset), Some(record.start as u64));
}

#[test]
fn a_damaged_record_header_loses_one_extent() {
    let whole = media_spec().packed().build();
    let record = records_of(&whole)[2 + 3].clone();
    // Kind, length of the output, size (smaller, larger, none), checksum.
    for (at, value) in
        [(0, 0x22), (0, 0x2C), (0, 0x24), (1, 0), (2, 0x11), (3, 0xF0), (3, 0), (24, 0x55)]
    {
        let mut file = whole.clone();
        let old = std::mem::replace(&mut file[record.start + at], value);
        if old == value {
            continue;
        }
        let set = only_set(file).unwrap();
        assert_eq!(
            assert_extents_are_true(&set),
            5,
            "byte {at} = {value:02X}: {:?}",
            texts(set.findings())
        );
        assert!(read(&set, extent(1, 3)).is_err());
        let expected = format!("the record is taken as {EXTENT_BYTES} bytes of output");
        let texts = texts(set.findings());
        assert!(
            at == 24 || texts.iter().any(|text| text.contains(&expected)),
            "byte {at} = {value:02X}: {texts:?}"
        );
    }
}

#[test]
fn damaged_blocks_and_streams_are_reported_and_skipped() {
    let whole = media_spec().build();
    let find = |tag: &[u8]| whole.windows(4).position(|bytes| bytes == tag).unwrap();
    // A byte that only the checksum of the block or stream header covers.
    for (tag, skip, expected) in [
        (b"TAPE", 40, "TAPE block: checksum"),
        (b"SSET", 40, "SSET block: checksum"),
        (b"MSDA", 40, "MSDA block: checksum"),
        (b"MSTL", 28, "MSTL block: checksum"),
        (b"MQDA", 4, "MQDA stream header: checksum"),
        (b"APAD", 4, "APAD stream header: checksum"),
        (b"ESET", 30, "ESET block: checksum"),
        (b"SFMB", 30, "SFMB block: checksum"),
    ] {
        let mut file = whole.clone();
        file[find(tag) + skip] ^= 0x40;
        let set = only_set(file).unwrap();
        assert_eq!(assert_extents_are_true(&set), 6);
        let texts = texts(set.findings());
        assert!(texts.len() == 1 && texts[0].starts_with(expected), "{texts:?}");
    }
    // An overwritten tag: the block is skipped, the next one found.
    for tag in [b"VOLB", b"MSTL", b"MSLS", b"MSCI"] {
        let mut file = whole.clone();
        file[find(tag)] = b'?';
        let set = only_set(file).unwrap();
        assert_eq!(assert_extents_are_true(&set), 6);
        assert!(
            texts(set.findings())
                .iter()
                .any(|text| text.contains("bytes that are no block were passed over"))
        );
    }
}

#[test]
fn zeros_after_the_end_are_no_finding() {
    for media_spec in [media_spec(), media_spec().packed()] {
        let mut file = media_spec.build();
        file.resize(file.len() + 100_000, 0);
        let set = only_set(file).unwrap();
        assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
        assert_eq!(assert_extents_are_true(&set), 6);
    }
}

/// A file whose data section is a hole of two terabytes.
struct Sparse {
    front: Vec<u8>,
    len: u64,
}

impl ReadAt for Sparse {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, extentdb_io::Error> {
        let count =
            usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX).min(buf.len());
        buf[..count].fill(0);
        self.front.read_at(offset, &mut buf[..count])?;
        Ok(count)
    }

    fn path(&self) -> &Path {
        Path::new("sparse.bak")
    }

    fn next_data(&self, from: u64) -> Option<Range<u64>> {
        (from < self.front.len() as u64).then_some(from..self.front.len() as u64)
    }
}

#[test]
fn a_hole_of_two_terabytes_is_skipped() {
    use extentdb_format::mtf::{StreamHeader, StreamKind};
    let mut front = media_spec().build();
    let at = front.windows(4).position(|bytes| bytes == b"MQDA").unwrap();
    StreamHeader::new(StreamKind::Mqda, 2, (2 << 40) + 2).write(&mut front[at..]).unwrap();
    front.truncate(at + 24 + 3 * EXTENT_BYTES);
    let clock = SystemClock::new();
    let media = BackupMedia::open(vec![Arc::new(Sparse { front, len: 2 << 40 })]).unwrap();
    let set = media.open_set(None, &SetOptions::default()).unwrap();
    assert_eq!(indexes(&set, 1), [0, 1, 2]);
    assert!(clock.monotonic() < TIME_MAX, "took {:?}", clock.monotonic());
    println!("2 TB of hole in {:?}", clock.monotonic());
}

/// Flips bits, overwrites, cuts, doubles or removes a piece; mostly near the front of something.
fn mutate(file: &mut Vec<u8>, rng: &mut SplitMix64) {
    let tags: [&[u8]; 12] = [
        b"TAPE", b"RAID", b"SSET", b"MSCI", b"MQCI", b"SFIN", b"SCIN", b"MSDA", b"MQDA", b"MSTL",
        b"MQTL", b"ESET",
    ];
    let anywhere = rng.below(file.len() as u64) as usize;
    let at = match rng.below(4) {
        0 => anywhere,
        1 => FIRST_RECORD_AT as usize + rng.below(64) as usize,
        _ => {
            let tag = tags[rng.below(tags.len() as u64) as usize];
            let near = file
                .iter()
                .enumerate()
                .skip(rng.below(2) as usize * anywhere / 2)
                .position(|(at, _)| file[at..].starts_with(tag));
            near.unwrap_or(anywhere) + rng.below(200) as usize
        }
    };
    let at = at.min(file.len() - 1);
    match rng.below(8) {
        0 => file.truncate(at),
        1 => {
            let to = file.len().min(at + 1 + rng.below(600) as usize);
            file.drain(at..to);
        }
        2 => {
            let part = file[at..file.len().min(at + 700)].to_vec();
            file.splice(at..at, part);
        }
        3 => {
            let end = file.len().min(at + 8);
            let value = [0, u64::MAX, 1 << 63, 0x7FFF_FFFF, 0xFFFF_FFFF][rng.below(5) as usize];
            file[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
        _ => file[at] ^= 1 << rng.below(8),
    }
}

/// Mutates the files of `media` again and again and reads everything.
fn hammer(files: &[Vec<u8>], rounds: u32, seed: u64) {
    let mut rng = SplitMix64::new(seed);
    let mut refused = 0;
    for _ in 0..rounds {
        let mut hit = files.to_vec();
        let victim = rng.below(hit.len() as u64) as usize;
        for _ in 0..=rng.below(3) {
            if !hit[victim].is_empty() {
                mutate(&mut hit[victim], &mut rng);
            }
        }
        refused += u32::from(read_everything(hit).is_err());
    }
    println!("{refused} of {rounds} damaged media were refused");
    assert!(refused < rounds, "some open all the same");
}

#[test]
fn mutated_built_media_are_read_in_bounded_time() {
    let set =
        |number| SetSpec::full(number, 3, (0..3).map(|index| formatted(1, index, 1)).collect());
    let plain = MediaSpec::of(vec![set(1), set(2)]);
    hammer(&[plain.build()], 1200, 1);
    hammer(&[plain.packed().build()], 1200, 2);
    hammer(&[MediaSpec { packed: Some(ContainerVersion::V1), ..media_spec() }.build()], 200, 3);
    let stripe = |family| MediaSpec { family, families: 2, ..media_spec() };
    hammer(&[stripe(1).build(), stripe(2).build()], 300, 4);
}

#[test]
fn mutated_samples_are_read_in_bounded_time() {
    for (name, rounds) in [
        ("northwind-stripe-2-of-2.bak", 150),
        ("northwind-2014.bak", 150),
        ("tsql2012-compressed.bak", 200),
    ] {
        let Some(bytes) = super::samples::sample(name) else { return };
        hammer(&[bytes], rounds, u64::from(rounds));
    }
}
