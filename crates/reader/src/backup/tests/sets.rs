//! Backup sets built here: every kind and shape that no sample has.

use super::builder::{LogSpec, MediaSpec, SetSpec, formatted};
use super::*;
use extentdb_format::mtf::BackupKind;
use extentdb_format::mtf::container::ContainerVersion;

/// A set of file 1 with extents 0, 1, 2, 5 and 7.
fn small(number: u8) -> SetSpec {
    let extents = [0, 1, 2, 5, 7].map(|index| formatted(1, index, number.into())).to_vec();
    SetSpec::full(number, 10, extents)
}

/// The same media, plain and compressed, on both sector sizes.
fn shapes(media: &MediaSpec) -> Vec<Vec<u8>> {
    let mut shapes = Vec::new();
    for device_block in [512, 4096] {
        let media = MediaSpec { device_block, ..media.clone() };
        shapes.push(media.build());
        shapes.push(media.packed().build());
    }
    shapes
}

#[test]
fn a_built_backup_reads_back_without_findings() {
    for bytes in shapes(&MediaSpec::of(vec![small(1)])) {
        let set = only_set(bytes).unwrap();
        assert_eq!(texts(set.findings()), Vec::<String>::new());
        assert_eq!(indexes(&set, 1), [0, 1, 2, 5, 7]);
        for index in [0, 1, 2, 5, 7] {
            assert!(read(&set, extent(1, index)).unwrap() == formatted(1, index, 1));
        }
        assert!(matches!(read(&set, extent(1, 3)), Err(ReadError::NotStored { .. })));
        assert!(matches!(read(&set, extent(3, 0)), Err(ReadError::NotStored { .. })));
        assert_eq!(set.header().user_name, "HOUSE\\somebody");
        assert_eq!(set.header().machine_name, "HOUSE");
    }
}

#[test]
fn container_version_one_is_read_and_marked_unverified() {
    let media = MediaSpec {
        packed: Some(ContainerVersion::V1),
        ..MediaSpec::of(vec![small(1)])
    };
    let set = only_set(media.build()).unwrap();
    assert_eq!(indexes(&set, 1), [0, 1, 2, 5, 7]);
    assert!(read(&set, extent(1, 7)).unwrap() == formatted(1, 7, 1));
    assert_eq!(
        texts(set.findings()),
        ["container version 1 is known from public notes only: what was read is not verified"]
    );
}

#[test]
fn appended_sets_are_listed_and_each_is_read() {
    for bytes in shapes(&MediaSpec::of(vec![small(1), small(2), small(3)])) {
        let media = media(vec![bytes]).unwrap();
        assert!(media.findings().is_empty(), "{:?}", texts(media.findings()));
        assert_eq!(media.sets().len(), 3);
        let error = media.open_set(None, &SetOptions::default()).map(|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the media holds 3 backup sets, choose one by its number:\n  \
             1: database of Test, 2020-02-29T12:34:56 (set 1)\n  \
             2: database of Test, 2020-02-29T12:34:56 (set 2)\n  \
             3: database of Test, 2020-02-29T12:34:56 (set 3)"
        );
        for number in 1..=3u8 {
            let set = media.open_set(Some(number.into()), &SetOptions::default()).unwrap();
            assert_eq!(set.header().backup_name, format!("set {number}"));
            assert!(read(&set, extent(1, 5)).unwrap() == formatted(1, 5, number.into()));
        }
        for wanted in [0, 4] {
            let error =
                media.open_set(Some(wanted), &SetOptions::default()).map(|_| ()).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("there is no backup set {wanted}; the media holds 3")
            );
        }
    }
}

#[test]
fn one_backup_holds_several_files() {
    let mut spec = small(1);
    spec.files = vec![(1, 10), (3, 20), (4, 20)];
    let of = |file, indexes: &[u32]| {
        indexes.iter().map(|index| formatted(file, *index, 1)).collect::<Vec<_>>()
    };
    // One section per file, and one with two files in two runs.
    spec.sections = vec![
        vec![of(1, &[0, 1, 4])],
        vec![[of(3, &[0, 9]), of(4, &[0, 2])].concat(), of(4, &[19])],
        vec![of(3, &[12])],
    ];
    for bytes in shapes(&MediaSpec::of(vec![spec])) {
        let set = only_set(bytes).unwrap();
        assert!(set.findings().is_empty());
        assert_eq!(
            (indexes(&set, 1), indexes(&set, 3), indexes(&set, 4)),
            (vec![0, 1, 4], vec![0, 9, 12], vec![0, 2, 19])
        );
        assert!(read(&set, extent(4, 19)).unwrap() == formatted(4, 19, 1));
        assert!(read(&set, extent(3, 12)).unwrap() == formatted(3, 12, 1));
        let files: Vec<_> = set.files().iter().map(|file| (file.id.0, file.pages())).collect();
        assert_eq!(files, [(1, 80), (2, 128), (3, 160), (4, 160)]);
    }
}

#[test]
fn of_repeated_extents_the_last_image_wins() {
    let mut spec = small(1);
    // Two repeats in a second section, as from 2019 on, and one within the first.
    spec.sections[0][0].push(formatted(1, 2, 77));
    spec.sections.push(vec![vec![formatted(1, 0, 88), formatted(1, 1, 99)]]);
    for bytes in shapes(&MediaSpec::of(vec![spec])) {
        let set = only_set(bytes).unwrap();
        assert_eq!(indexes(&set, 1), [0, 1, 2, 5, 7]);
        assert_eq!((set.stored_images(), set.repeated_images()), (8, 3));
        for (index, seed) in [(0, 88), (1, 99), (2, 77), (5, 1), (7, 1)] {
            assert!(
                read(&set, extent(1, index)).unwrap() == formatted(1, index, seed),
                "extent {index}"
            );
        }
    }
}

/// Log bytes that encode their offset in the log file.
fn log_bytes(first: u64, len: u64) -> Vec<u8> {
    (first..first + len).map(|at| (at % 251) as u8).collect()
}

pub(super) fn log(sequence: u32, vlf_offset: u64, first: u64, len: u64) -> LogSpec {
    let bytes = log_bytes(first, len);
    LogSpec {
        sequence,
        vlf_offset,
        vlf_bytes: 0x60000,
        first,
        bytes,
        is_here: true,
        parity: [0x40, 0],
    }
}

#[test]
fn log_of_several_vlfs_is_found_at_its_offsets() {
    let mut spec = small(1);
    spec.logs = vec![
        log(41, 0x62000, 0x64000, 0x5E000),
        log(42, 0x2000, 0x4000, 0x1400),
        LogSpec { bytes: vec![], ..log(0, 0xC2000, 0, 0) },
    ];
    for bytes in shapes(&MediaSpec::of(vec![spec])) {
        let set = only_set(bytes).unwrap();
        assert!(set.findings().is_empty(), "{:?}", texts(set.findings()));
        let [first, second, unused] = set.log() else { panic!("three VLFs") };
        assert_eq!(
            (first.carried.clone(), second.carried.clone()),
            (0x64000..0xC2000, 0x4000..0x5400)
        );
        assert!(unused.carried.is_empty() && unused.is_complete());
        assert_eq!(first.vlf.sequence.get(), 41);
        // Across the borders of the 64 KB pieces, and up to the end.
        for (part, at, wanted, there) in [
            (first, 0x64000, 10, 10),
            (first, 0x73FF0, 0x20, 0x20),
            (first, 0xC1F00, 0x200, 0x100),
            (second, 0x5000, 0x1000, 0x400),
        ] {
            let mut buf = vec![0xEE; wanted];
            assert_eq!(set.read_log(part, at, &mut buf).unwrap(), there);
            assert!(buf[..there] == log_bytes(at, there as u64));
        }
        assert_eq!(set.read_log(first, 0x4000, &mut [0; 8]).unwrap(), 0);
    }
}

#[test]
fn other_kinds_are_reported_with_the_sets_they_need() {
    let cases = [
        (
            BackupKind::Log,
            "backup set 1 is a transaction log backup of Test: \
             it holds log only, \
             and needs the full backup and all log backups up to LSN 00000028:00000010:0001",
        ),
        (
            BackupKind::Differential,
            "backup set 1 is a database differential backup of Test: \
             it holds changed extents only, \
             and needs the full backup it builds on (backup set 07070707-0707-0707-0707-070707070707)",
        ),
        (
            BackupKind::DifferentialFile,
            "backup set 1 is a file differential backup of Test: \
             it holds changed extents only, \
             and needs the full backup it builds on (backup set 07070707-0707-0707-0707-070707070707)",
        ),
        (
            BackupKind::DifferentialPartial,
            "backup set 1 is a partial differential backup of Test: \
             it holds changed extents only, \
             and needs the full backup it builds on (backup set 07070707-0707-0707-0707-070707070707)",
        ),
        (
            BackupKind::Other(b'Z'),
            "backup set 1 is a type 'Z' backup of Test: only full backups can be read as a database",
        ),
    ];
    for (kind, message) in cases {
        let mut spec = small(1);
        spec.kind = kind;
        spec.base = Some([7; 16]);
        let media = media(vec![MediaSpec::of(vec![spec]).build()]).unwrap();
        let error = media.open_set(None, &SetOptions::default()).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(media.sets()[0].kind, kind);
        // Who asks for it gets the extents all the same.
        let set =
            media.open_set(None, &SetOptions { any_kind: true, ..SetOptions::default() }).unwrap();
        assert_eq!(indexes(&set, 1).len(), 5);
    }
}

#[test]
fn file_backups_are_read_when_they_hold_the_catalog() {
    let mut spec = small(1);
    spec.kind = BackupKind::File;
    assert!(only_set(MediaSpec::of(vec![spec.clone()]).build()).is_ok());
    spec.files = vec![(1, 10), (3, 10)];
    spec.sections = vec![vec![vec![formatted(3, 0, 1), formatted(3, 1, 1)]]];
    let error = only_set(MediaSpec::of(vec![spec]).build()).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "backup set 1 is a file or filegroup backup of Test: it lacks the primary data file, and needs the backup that holds it"
    );
}

#[test]
fn copy_only_and_flags_are_shown() {
    let mut spec = small(1);
    (spec.flags, spec.attributes) = (0x610, 6);
    let set = only_set(MediaSpec::of(vec![spec]).build()).unwrap();
    assert!(set.header().is_copy_only);
    assert!(set.header().flags.has(extentdb_format::mtf::SetFlags::CHECKSUMS));
    assert_eq!(
        set.header().backup_finish_date.map(|date| date.to_string()).as_deref(),
        Some("2020-02-29T12:35:00")
    );
}

#[test]
fn a_log_backup_without_pages_opens_on_request() {
    let mut spec = small(1);
    spec.kind = BackupKind::Log;
    spec.sections = vec![];
    spec.logs = vec![log(41, 0x2000, 0x4000, 0x3000)];
    let media = media(vec![MediaSpec::of(vec![spec]).build()]).unwrap();
    let set =
        media.open_set(None, &SetOptions { any_kind: true, ..SetOptions::default() }).unwrap();
    assert_eq!(set.stored_images(), 0);
    assert_eq!(set.log()[0].stored_bytes(), 0x3000);
}

#[test]
fn a_full_backup_without_pages_is_an_error() {
    let mut spec = small(1);
    spec.sections = vec![];
    let error = only_set(MediaSpec::of(vec![spec]).build()).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "backup set 1 of Test holds no data pages");
}

#[test]
fn encrypted_streams_are_recognised() {
    let mut spec = small(1);
    spec.is_encrypted = true;
    let error = only_set(MediaSpec::of(vec![spec]).build()).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.bak: the backup is encrypted (stream MQCI); it can only be restored with its certificate or key"
    );
}

/// Replaces the payloads of all records, checksums included.
fn repack(file: &[u8], replace: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    use extentdb_format::mtf::container::{FIRST_RECORD_AT, RecordHeader, RecordKind};
    let mut at = FIRST_RECORD_AT as usize;
    let mut out = file[..at].to_vec();
    while RecordHeader::parse(&file[at..], ContainerVersion::V2).kind == RecordKind::Data {
        let header = RecordHeader::parse(&file[at..], ContainerVersion::V2);
        let payload = replace(&file[at + 28..at + 28 + header.size as usize]);
        let mut head = [0; 28];
        RecordHeader::data(header.units, &payload)
            .unwrap()
            .write(&mut head, ContainerVersion::V2)
            .unwrap();
        out.extend(head);
        out.extend(payload);
        at += header.record_bytes(ContainerVersion::V2);
    }
    out.extend(&file[at..]);
    out
}

#[test]
fn other_algorithms_are_not_reported_as_damage() {
    let file = MediaSpec::of(vec![small(1)]).packed().build();
    let zstandard = repack(&file, |payload| {
        let mut packed = payload.to_vec();
        packed[..4].copy_from_slice(&[0x28, 0xB5, 0x2F, 0xFD]);
        packed
    });
    let error = media(vec![zstandard]).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.bak: the records (first at 480) are Zstandard data; only MS_XPRESS can be read"
    );
    let scrambled =
        repack(&file, |payload| payload.iter().map(|byte| byte.wrapping_mul(167) ^ 0x5A).collect());
    let error = media(vec![scrambled]).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.bak: the records (first at 480) are packed by another algorithm, or encrypted; only MS_XPRESS can be read"
    );
}

#[test]
fn files_that_are_no_backup_are_refused() {
    let cases: [(Vec<u8>, &str); 5] = [
        (vec![], "a.bak: not a backup: it starts with []"),
        (
            b"Hello, this is a text.".to_vec(),
            "a.bak: not a backup: it starts with [48, 65, 6C, 6C, 6F, 2C, 20, 74, 68, 69, 73, 20, 69, 73, 20, 61]",
        ),
        (
            b"MSSQLBAK\x07\0\0\0\0\0\0\0".to_vec(),
            "a.bak: compressed backup of container version 7; 1 and 2 can be read",
        ),
        (b"MSSQLBAK\x02\0\0\0\0\0\0\0".to_vec(), "a.bak: a media header without a backup set"),
        (b"MSSQLBAK\x01\0\0\0\0\0\0\0".to_vec(), "a.bak: compressed backup without a first record"),
    ];
    for (bytes, message) in cases {
        assert_eq!(media(vec![bytes]).map(|_| ()).unwrap_err().to_string(), message);
    }
    assert!(matches!(media(vec![]), Err(Error::NothingGiven)));
}
