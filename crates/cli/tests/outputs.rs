//! Where results go: files that appear when they are whole, pipes and devices that are written
//! through, and what a signal leaves behind.

#![cfg(unix)]

mod program;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Child, Stdio};

use program::signal::{make_pipe, send, until};
use program::{command, extentdb};
use rustix::process::Signal;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn list_to(path: &Path, rest: &[&str]) -> program::Run {
    let mut arguments = vec!["make", "--list", "-o", path.to_str().unwrap()];
    arguments.extend(rest);
    extentdb(arguments)
}

#[test]
fn a_pipe_is_written_through_by_any_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    make_pipe(&pipe);
    let link = folder.path().join("link");
    symlink("pipe", &link).unwrap();
    for name in [&pipe, &link] {
        let child = command(["make", "--list", "-o", name.to_str().unwrap()]).spawn().unwrap();
        let mut text = String::new();
        fs::File::open(&pipe).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.contains("sales"), "{text}");
        assert!(child.wait_with_output().unwrap().status.success());
        assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
    }
    assert_eq!(names(folder.path()), ["link", "pipe"]);
}

#[test]
fn what_the_shell_opened_is_written_and_not_replaced() {
    if !Path::new("/dev/stdout").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    let file = fs::File::create(&path).unwrap();
    let status = command(["make", "--list", "-o", "/dev/stdout"]).stdout(file).status().unwrap();
    assert!(status.success());
    assert!(fs::read_to_string(&path).unwrap().contains("sales"));
    assert_eq!(names(folder.path()), ["out.txt"]);
}

#[test]
fn an_existing_file_stays_unless_force_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    fs::write(&path, "mine").unwrap();
    let said = list_to(&path, &[]).complaint(1);
    assert!(said.contains("out.txt exists: --force replaces it"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    list_to(&path, &["--force"]).expect(0);
    assert!(fs::read_to_string(&path).unwrap().contains("sales"));
}

#[test]
fn a_pipe_that_nobody_reads_does_not_keep_a_signal_from_ending_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    make_pipe(&pipe);
    let child = command(["make", "--list", "-o", pipe.to_str().unwrap()]).spawn().unwrap();
    program::signal::until_it_listens(&child);
    send(&child, Signal::INT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

/// Interrupts the program once a file or folder is there; gives what it said.
fn interrupted(
    mut child: Child,
    signal: Signal,
    code: i32,
    is_there: impl FnMut() -> bool,
) -> String {
    until(is_there);
    send(&child, signal);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(code), "{said}");
    said
}

#[test]
fn a_signal_to_make_removes_its_partial_files_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let out = folder.path().join("shop.mdf");
        let arguments = ["make", out.to_str().unwrap(), "--size", "4GB", "--files", "2"];
        let child = command(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let partial = folder.path().join("shop_2.ndf.partial");
        let said = interrupted(child, signal, code, || partial.exists());
        assert!(said.contains("shop_2.ndf.partial was removed"), "{said}");
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn a_signal_to_damage_removes_its_partial_files_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.mdf");
    extentdb(["make", path.to_str().unwrap(), "--size", "200MB"]).expect(0);
    let copy = folder.path().join("copy.mdf");
    let arguments = [
        "damage",
        path.to_str().unwrap(),
        "--kind",
        "flipped-byte",
        "--to",
        copy.to_str().unwrap(),
    ];
    let child = command(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let partial = folder.path().join("copy.mdf.partial");
    let said = interrupted(child, Signal::INT, 130, || partial.exists());
    assert!(said.contains("copy.mdf.partial was removed"), "{said}");
    assert_eq!(names(folder.path()), ["shop.mdf"]);
}

#[test]
fn a_signal_to_demo_removes_its_folder_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(["demo"]);
    let child = command.env("TMPDIR", folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let said = interrupted(child, Signal::TERM, 143, || {
        names(folder.path()).iter().any(|name| folder.path().join(name).join("shop.mdf").exists())
    });
    assert!(said.contains("was removed"), "{said}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}
