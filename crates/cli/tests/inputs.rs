//! Several databases in one call, files found beside those given, compressed files and stdin.

mod program;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use program::{command, extentdb, on, sample};
use serde_json::Value;

/// Makes a database in a folder.
fn database(folder: &Path, name: &str, seed: &str, rest: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let mut arguments = vec!["make", path.to_str().unwrap(), "--shape", "heap", "--rows", "100"];
    arguments.extend(["--seed", seed]);
    arguments.extend(rest);
    extentdb(arguments).expect(0);
    path
}

fn damaged_copy(from: &Path, to: &Path) {
    let arguments =
        ["damage", from.to_str().unwrap(), "--kind", "flipped-byte", "--to", to.to_str().unwrap()];
    extentdb(arguments).expect(0);
}

fn verdicts(json: &str) -> Vec<String> {
    let reports: Value = serde_json::from_str(json).unwrap();
    let verdict = |report: &Value| report["verdict"].as_str().unwrap().to_owned();
    reports.as_array().unwrap().iter().map(verdict).collect()
}

#[test]
fn a_folder_gets_one_verdict_for_each_database_and_the_worst_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path(), "a.mdf", "1", &["--files", "2"]);
    let second = database(folder.path(), "b.mdf", "2", &[]);
    on("check", folder.path(), &["--json"]).expect(0);
    damaged_copy(&second, &folder.path().join("c.mdf"));
    fs::write(folder.path().join("d.bak"), "no backup").unwrap();
    fs::write(folder.path().join("notes.txt"), "dear diary").unwrap();
    let run = on("check", folder.path(), &["--json"]);
    assert!(run.stderr.contains("d.bak: not checked: "), "{}", run.stderr);
    assert!(run.stderr.contains("1 files are of no database and left out"), "{}", run.stderr);
    assert_eq!(verdicts(&run.expect(2)), ["clean", "clean", "damaged", "not checked"]);
    let text = on("check", folder.path(), &["--no-infomsgs"]).expect(2);
    let table: Vec<&str> = text.lines().rev().take(5).collect();
    assert!(table[4].starts_with("verdict ") && table[1].starts_with("damaged "), "{text}");
}

#[test]
fn what_cannot_be_checked_is_incomplete_beside_others_and_a_failure_alone() {
    let folder = tempfile::tempdir().unwrap();
    let good = database(folder.path(), "a.mdf", "1", &[]);
    let bad = folder.path().join("b.bak");
    fs::write(&bad, "no backup").unwrap();
    let worse = folder.path().join("c.bak");
    fs::write(&worse, "none either").unwrap();
    extentdb([OsStr::new("check"), good.as_os_str(), bad.as_os_str()]).expect(3);
    extentdb([OsStr::new("check"), bad.as_os_str(), worse.as_os_str()]).expect(1);
    extentdb([OsStr::new("check"), bad.as_os_str()]).complaint(1);
}

#[test]
fn files_of_a_database_are_found_by_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), "shop.mdf", "1", &["--files", "2"]);
    let other = folder.path().join("no-such-name.bin");
    fs::rename(folder.path().join("shop_2.ndf"), &other).unwrap();
    for verb in ["check", "tables", "info", "schema"] {
        let run = on(verb, &path, &[]);
        assert!(run.stderr.contains("file 3 of the database found: "), "{}", run.stderr);
        assert!(run.stderr.contains("no-such-name.bin"), "{}", run.stderr);
        run.expect(0);
    }
    on("check", &path, &["--no-siblings"]).expect(3);
    fs::copy(&other, folder.path().join("copy.bin")).unwrap();
    let said = on("check", &path, &[]).complaint(3);
    assert!(said.contains("file 3 of the database may be any of "), "{said}");
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Runs a verb with a temporary folder of its own, which must be empty afterwards.
fn spooling(arguments: &[&OsStr], stdin: Option<&[u8]>) -> program::Run {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = command(arguments);
    command.env("TMPDIR", temporary.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if stdin.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    if let Some(bytes) = stdin {
        child.stdin.take().unwrap().write_all(bytes).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    program::Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn compressed_files_are_unpacked_and_the_temporary_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), "a.mdf", "1", &[]);
    let bytes = fs::read(&path).unwrap();
    let plain = on("tables", &path, &[]).expect(0);
    let mut frames = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    frames.extend(zstandard(&bytes[..8192]));
    frames.extend(zstandard(&bytes[8192..]));
    for (name, packed) in [("x.mdf.gz", gzipped(&bytes)), ("x.mdf.zst", frames)] {
        let packed_path = folder.path().join(name);
        fs::write(&packed_path, packed).unwrap();
        for verb in ["tables", "check"] {
            let run = spooling(&[verb.as_ref(), packed_path.as_os_str()], None);
            assert!(run.stderr.contains(&format!("{name}: spooled to ")), "{}", run.stderr);
            let text = run.expect(0);
            assert!(verb != "tables" || text == plain, "{text}");
        }
    }
}

#[test]
fn damaged_compressed_files_are_told_with_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), "a.mdf", "1", &[]);
    let bytes = fs::read(&path).unwrap();
    for (name, packed) in [("x.gz", gzipped(&bytes)), ("x.zst", zstandard(&bytes))] {
        let packed_path = folder.path().join(name);
        fs::write(&packed_path, &packed[..packed.len() / 2]).unwrap();
        let run = spooling(&["info".as_ref(), packed_path.as_os_str()], None);
        let said = run.complaint(1);
        let told =
            format!("the compressed data is damaged or cut off at byte {}", packed.len() / 2);
        assert!(said.contains(&told), "{said}");
        let mut wrong = packed.clone();
        let middle = wrong.len() / 2;
        wrong[middle..middle + 64].fill(0xff);
        fs::write(&packed_path, wrong).unwrap();
        let said = spooling(&["info".as_ref(), packed_path.as_os_str()], None).complaint(1);
        assert!(said.contains("damaged or cut off at byte "), "{said}");
    }
}

#[test]
fn a_backup_is_read_from_stdin() {
    let Some(path) = sample("pubs-2012.bak") else { return };
    let bytes = fs::read(&path).unwrap();
    let plain = on("tables", &path, &[]).expect(0);
    let run = spooling(&["tables".as_ref(), "-".as_ref()], Some(&bytes));
    assert!(run.stderr.contains("stdin: spooled to "), "{}", run.stderr);
    assert_eq!(run.expect(0), plain);
    assert_eq!(
        spooling(&["tables".as_ref(), "-".as_ref()], Some(&gzipped(&bytes))).expect(0),
        plain
    );
    spooling(&["check".as_ref(), "-".as_ref()], Some(&bytes)).expect(0);
    let said =
        spooling(&["tables".as_ref(), "-".as_ref(), "-".as_ref()], Some(&bytes)).complaint(1);
    assert!(said.contains("only once"), "{said}");
}
