//! What is created, replaced, written through and refused.

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn open(path: &Path, existing: Existing) -> anyhow::Result<Output> {
    Output::open(Some(path), &[], existing)
}

fn write(path: &Path, existing: Existing, text: &[u8]) {
    let mut output = open(path, existing).unwrap();
    output.write_all(text).unwrap();
    output.finish().unwrap();
}

#[test]
fn a_file_appears_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    let mut output = open(&path, Existing::Refuse).unwrap();
    output.write_all(b"half").unwrap();
    assert_eq!(names(folder.path()), ["out.txt.partial"]);
    drop(output);
    assert_eq!(names(folder.path()), Vec::<String>::new());
    write(&path, Existing::Refuse, b"whole");
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    let output = open(&path, Existing::Replace).unwrap();
    output.finish_incomplete().unwrap();
    assert_eq!(names(folder.path()), ["out.txt", "out.txt.incomplete"]);
}

#[test]
fn an_existing_file_is_replaced_only_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    fs::write(&path, b"old").unwrap();
    let error = open(&path, Existing::Refuse).err().unwrap().to_string();
    assert!(error.contains("exists: --force replaces it"), "{error}");
    assert_eq!(names(folder.path()), ["out.txt"]);
    write(&path, Existing::Replace, b"new");
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_partial_file_is_replaced_only_when_nobody_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    let first = open(&path, Existing::Refuse).unwrap();
    for existing in [Existing::Refuse, Existing::Replace] {
        let error = open(&path, existing).err().unwrap().to_string();
        assert!(error.contains("another run is writing it"), "{error}");
    }
    first.finish().unwrap();
    fs::write(partial_name(&path), b"left by a killed run").unwrap();
    assert!(open(&path, Existing::Refuse).is_err());
    write(&path, Existing::Replace, b"whole");
    assert_eq!(names(folder.path()), ["out.txt"]);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_a_link_to_it_stays_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    fs::write(&path, b"old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link");
    symlink("out.txt", &link).unwrap();
    write(&link, Existing::Replace, b"new");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_socket_is_written_to() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    write(&path, Existing::Refuse, b"result");
    let mut received = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"result");
    assert_eq!(names(folder.path()), ["socket"]);
}

#[test]
fn an_input_is_not_overwritten_by_any_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("x.mdf");
    fs::write(&input, b"evidence").unwrap();
    let other_name = folder.path().join("y.mdf");
    fs::hard_link(&input, &other_name).unwrap();
    for name in [&input, &other_name] {
        let inputs = std::slice::from_ref(&input);
        let error = Output::open(Some(name), inputs, Existing::Replace).err().unwrap().to_string();
        assert!(error.contains("will not be overwritten"), "{error}");
    }
    assert_eq!(fs::read(&input).unwrap(), b"evidence");
}
