use std::path::PathBuf;

use extentdb_format::page::checksum;

use super::*;
use crate::shape::{MakeOptions, Size, make};

struct Made {
    folder: tempfile::TempDir,
    files: Vec<PathBuf>,
}

/// Both shapes in two files, with free extents at their ends.
fn made() -> Made {
    let folder = tempfile::tempdir().unwrap();
    let files = vec![folder.path().join("a.mdf"), folder.path().join("a_2.ndf")];
    let options = MakeOptions { shape: "demo".to_owned(), size: Size::Bytes(8 << 20), seed: 11 };
    make(&options, &[&files[0], &files[1]], &mut |_| {}).unwrap();
    Made { folder, files }
}

impl Made {
    fn inputs(&self) -> Vec<&Path> {
        self.files.iter().map(PathBuf::as_path).collect()
    }

    fn damage(&self, kind: Kind, seed: u64) -> (Truth, Vec<PathBuf>) {
        let outputs: Vec<PathBuf> =
            (0..2).map(|at| self.folder.path().join(format!("{kind}-{seed}-{at}"))).collect();
        let truth = damage(&self.inputs(), &[&outputs[0], &outputs[1]], kind, seed).unwrap();
        (truth, outputs)
    }
}

#[test]
fn every_fault_can_be_made_and_changes_exactly_what_its_truth_says() {
    let made = made();
    let before: Vec<Vec<u8>> = made.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert_eq!(applicable(&made.inputs()).unwrap(), Kind::ALL);
    for &kind in Kind::ALL {
        for seed in 0..3 {
            let (truth, outputs) = made.damage(kind, seed);
            assert!(!truth.expected.is_empty() && truth.object_id.0 >= 0, "{kind}");
            let mut expected = before.clone();
            for change in &truth.changes {
                let file = if change.file == FileId(1) { 0 } else { 1 };
                let at = change.offset as usize;
                let range = at..at + change.before.len();
                assert_eq!(expected[file][range.clone()], change.before, "{kind}");
                assert_ne!(change.before, change.after);
                expected[file][range].copy_from_slice(&change.after);
            }
            if let Some(bytes) = truth.truncated_to {
                let file = if truth.page.file == FileId(1) { 0 } else { 1 };
                assert!((bytes as usize) < expected[file].len());
                expected[file].truncate(bytes as usize);
            }
            assert_ne!(expected, before, "{kind} changes something");
            for (expected, output) in expected.iter().zip(&outputs) {
                assert!(*expected == std::fs::read(output).unwrap(), "{kind} seed {seed}");
            }
        }
    }
    let after: Vec<Vec<u8>> = made.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(before == after, "the input is not touched");
}

/// Raw damage is what a checksum finds; every other fault hides behind a right one.
#[test]
fn only_raw_damage_leaves_a_wrong_checksum() {
    let made = made();
    for &kind in Kind::ALL.iter().filter(|kind| **kind != Kind::TruncatedFile) {
        let (truth, outputs) = made.damage(kind, 5);
        let image = Image::open(&[&outputs[0], &outputs[1]]).unwrap();
        let mut page = PageBuf::zeroed();
        let is_raw = matches!(kind, Kind::FlippedByte | Kind::TornSector);
        for change in &truth.changes {
            let id = PageId { file: change.file, page: (change.offset / 8192) as u32 };
            image.raw(id, &mut page).unwrap();
            assert_eq!(checksum::verify(&page).is_intact(), !is_raw, "{kind} {id}");
        }
    }
}

#[test]
fn the_truth_file_has_the_agreed_fields() {
    let (truth, _) = made().damage(Kind::SlotOffset, 1);
    let json = truth.to_json();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let agreed = ["seed", "kind", "file", "page", "slot", "object_id", "changes", "expected", "permitted"];
    assert_eq!(keys, agreed);
    assert_eq!(json["kind"], "slot-offset");
    assert_eq!(
        json["changes"][0].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["offset", "before", "after"]
    );
    assert!(json["slot"].is_u64());
}

#[test]
fn equal_seeds_make_equal_faults() {
    let made = made();
    for &kind in Kind::ALL {
        let (mut first, _) = made.damage(kind, 8);
        let again = tempfile::tempdir().unwrap();
        let outputs = [again.path().join("a"), again.path().join("b")];
        let second = damage(&made.inputs(), &[&outputs[0], &outputs[1]], kind, 8).unwrap();
        assert_eq!(first, second);
        first.seed = 9;
        assert_ne!(first, second);
    }
}

#[test]
fn names_lead_to_kinds_and_a_wrong_name_lists_them() {
    assert!(Kind::ALL.iter().all(|kind| Kind::from_name(kind.name()).unwrap() == *kind));
    let error = Kind::from_name("coffee").unwrap_err().to_string();
    assert!(error.contains("flipped-byte") && error.contains("foreign-page"), "{error}");
}

#[test]
fn a_database_without_tables_has_nothing_to_damage_but_maps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.mdf");
    crate::build::DatabaseBuilder::new("empty").bytes(4 << 20).build(&[&path], &mut |_| {}).unwrap();
    let kinds = applicable(&[&path]).unwrap();
    assert_eq!(kinds, [Kind::GamLostExtent, Kind::SgamFreeExtent]);
    let error = damage(&[&path], &[&folder.path().join("out")], Kind::FlippedByte, 1).unwrap_err();
    assert!(matches!(error, Error::NotApplicable { kind: "flipped-byte", .. }));
    assert!(!folder.path().join("out").exists());
}

#[test]
fn real_databases_can_be_damaged() {
    let folder = std::env::var_os("EXTENTDB_SAMPLES")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")));
    let path = folder.join("northwind-2008.mdf");
    if !path.exists() {
        return eprintln!("SKIPPED: no samples in {}", folder.display());
    }
    let kinds = applicable(&[&path]).unwrap();
    assert!(kinds.len() >= 12, "{kinds:?}");
    let scratch = tempfile::tempdir().unwrap();
    for kind in kinds {
        let output = scratch.path().join(kind.name());
        let truth = damage(&[&path], &[&output], kind, 4).unwrap();
        assert!(truth.truncated_to.is_some() || !truth.changes.is_empty(), "{kind}");
    }
}
