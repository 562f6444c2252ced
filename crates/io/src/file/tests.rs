//! Files: what they refuse, short reads, holes, identity.

use super::*;
use crate::buf::{AlignedBuf, BLOCK_BYTES};

fn scratch(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("database.mdf");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn reads_name_their_offset_and_stop_at_the_end() {
    let (_dir, path) = scratch(b"pages and extents");
    let file = File::open_read(&path).unwrap();
    assert_eq!(file.len(), 17);

    let mut buf = [0; 7];
    file.read_exact_at(10, &mut buf).unwrap();
    assert_eq!(&buf, b"extents");
    assert_eq!(file.read_at(14, &mut buf).unwrap(), 3);
    assert_eq!(file.read_at(17, &mut buf).unwrap(), 0);

    let error = file.read_exact_at(14, &mut buf).unwrap_err();
    assert!(matches!(error, Error::EndOfFile { offset: 14, bytes: 7, read: 3, .. }), "{error}");
}

#[test]
fn a_file_cut_short_while_open_is_noticed_where_bytes_are_missing() {
    let (_dir, path) = scratch(&[1; 100]);
    let file = File::open_read(&path).unwrap();
    fs::write(&path, [1; 40]).unwrap();
    let error = file.read_exact_at(0, &mut [0; 100]).unwrap_err();
    assert!(matches!(error, Error::EndOfFile { read: 40, .. }), "{error}");
}

#[test]
fn an_input_file_cannot_be_written() {
    let (_dir, path) = scratch(b"evidence");
    let file = File::open_read(&path).unwrap();
    assert!(matches!(file.write_all_at(0, b"x"), Err(Error::Transfer { op: FileOp::Write, .. })));
    assert!(matches!(file.set_len(0), Err(Error::File { op: FileOp::Resize, .. })));
    assert_eq!(fs::read(&path).unwrap(), b"evidence");
}

#[test]
fn a_file_that_may_only_be_read_opens() {
    let (_dir, path) = scratch(b"evidence");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert_eq!(File::open_read(&path).unwrap().len(), 8);
}

#[test]
fn directories_and_missing_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = File::open_read(dir.path()).unwrap_err();
    assert!(matches!(error, Error::NotAFile { kind: "a directory", .. }), "{error}");

    let error = File::open_read(dir.path().join("absent.mdf")).unwrap_err();
    assert!(
        matches!(&error, Error::File { op: FileOp::Open, source, .. } if source.kind() == io::ErrorKind::NotFound)
    );
    assert!(error.to_string().contains("absent.mdf"));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_instead_of_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(File::open_read(&path), Err(Error::NotAFile { kind: "a pipe", .. })));
}

#[test]
fn a_new_file_grows_by_writing_and_never_replaces_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new");
    let file = File::create_new(&path).unwrap();
    file.write_all_at(8192, b"second page").unwrap();
    assert_eq!(file.len(), 8203);
    file.set_len(16384).unwrap();
    assert_eq!((file.len(), fs::metadata(&path).unwrap().len()), (16384, 16384));
    file.sync().unwrap();

    let mut buf = [9; 3];
    file.read_exact_at(8190, &mut buf).unwrap();
    assert_eq!(&buf, &[0, 0, b's']);
    assert!(matches!(File::create_new(&path), Err(Error::File { op: FileOp::Create, .. })));
}

#[test]
fn the_same_file_is_recognised_by_another_path() {
    let (dir, path) = scratch(b"one");
    let other = dir.path().join("other.mdf");
    fs::write(&other, b"one").unwrap();
    let detour = dir.path().join(".").join("database.mdf");

    let identity = |path: &Path| File::open_read(path).unwrap().identity().unwrap();
    assert_eq!(identity(&path), identity(&detour));
    assert_ne!(identity(&path), identity(&other));
}

#[test]
fn holes_are_skipped_and_all_data_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::create_new(dir.path().join("sparse")).unwrap();
    let data = [0..65536_u64, 1 << 30..(1 << 30) + 65536, 2 << 40..(2 << 40) + 65536];
    for range in &data {
        file.write_all_at(range.start, &[1; 65536]).unwrap();
    }
    file.set_len(3 << 40).unwrap();

    let ranges: Vec<_> = file.data_ranges().collect();
    assert!(
        ranges.windows(2).all(|pair| pair[0].end <= pair[1].start),
        "in order, without overlap: {ranges:?}"
    );
    for range in &data {
        let covered =
            ranges.iter().any(|found| found.start <= range.start && range.end <= found.end);
        assert!(covered, "{range:?} is stored but not in {ranges:?}");
    }
    // A file system without holes says that everything is stored; one with holes must not.
    if ranges.len() > 1 {
        let stored: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        assert!(stored < 16 << 20, "{stored} bytes of {ranges:?}");
        assert_eq!(file.next_data(2 << 30), Some(ranges[2].clone()));
    }
    assert_eq!(file.next_data(3 << 40), None);
}

#[test]
fn a_hole_at_the_end_ends_the_data() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::create_new(dir.path().join("empty-but-long")).unwrap();
    file.set_len(2 << 40).unwrap();
    let stored: u64 = file.data_ranges().map(|range| range.end - range.start).sum();
    assert!(stored == 0 || stored == 2 << 40);
}

#[test]
fn the_direct_twin_reads_the_same_bytes_and_the_odd_end() {
    let bytes: Vec<u8> = (0..3 * BLOCK_BYTES + 100).map(|i| (i / 7) as u8).collect();
    let (_dir, path) = scratch(&bytes);
    let file = File::open_read(&path).unwrap();
    let Some(direct) = file.try_direct() else {
        eprintln!("SKIPPED: no direct reads on the file system of {}", path.display());
        return;
    };
    let mut buf = AlignedBuf::zeroed(8 * BLOCK_BYTES);
    assert_eq!(direct.read_at(0, &mut buf, 2 * BLOCK_BYTES).unwrap(), 2 * BLOCK_BYTES);
    assert_eq!(buf[..2 * BLOCK_BYTES], bytes[..2 * BLOCK_BYTES]);
    let all = direct.read_at(BLOCK_BYTES as u64, &mut buf, 8 * BLOCK_BYTES).unwrap();
    assert_eq!(&buf[..all], &bytes[BLOCK_BYTES..]);
    assert_eq!(direct.read_at(4 * BLOCK_BYTES as u64, &mut buf, BLOCK_BYTES).unwrap(), 0);
}

#[test]
fn a_direct_read_ends_with_a_file_of_whole_blocks() {
    let (_dir, path) = scratch(&[5; 2 * BLOCK_BYTES]);
    if let Some(direct) = File::open_read(&path).unwrap().try_direct() {
        let mut buf = AlignedBuf::zeroed(4 * BLOCK_BYTES);
        assert_eq!(direct.read_at(0, &mut buf, 4 * BLOCK_BYTES).unwrap(), 2 * BLOCK_BYTES);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_just_written_is_cached_and_a_hole_is_not_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::create_new(dir.path().join("fresh")).unwrap();
    assert_eq!(file.cached_fraction(), None, "no data, no share");
    file.write_all_at(0, &vec![7; 1 << 20]).unwrap();
    if let Some(share) = file.cached_fraction() {
        assert_eq!(share, 1.0);
        file.set_len(1 << 40).unwrap();
        assert_eq!(file.cached_fraction(), None, "every sample lies in the hole");
    }
}
