use std::path::{Path, PathBuf};

use extentdb_base::{FileId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::page::checksum;

use crate::image::Image;
use crate::*;
use extentdb_template::{MakeOptions, Size, make};

struct Made {
    folder: tempfile::TempDir,
    files: Vec<PathBuf>,
}

/// The fixture in two files, with free extents at their ends.
fn made() -> Made {
    let folder = tempfile::tempdir().unwrap();
    let files = vec![folder.path().join("a.mdf"), folder.path().join("a_2.ndf")];
    let options = MakeOptions {
        shape: "fixture".to_owned(),
        size: Size::Bytes(12 << 20),
        seed: 11,
    };
    make(&options, &[&files[0], &files[1]], &mut |_| {}).unwrap();
    Made { folder, files }
}

/// What the builder does not make yet: partitions, compression, filegroups, row versions, sparse
/// and computed columns, filtered indexes, values pushed off their row, trees of values, backups.
/// And the last extent of its files is not a user table's.
const NOT_BUILT: &[Kind] = &[
    Kind::LobTreeFlippedByte,
    Kind::TruncatedFile,
    Kind::DiffBit,
    Kind::VersionTimestamp,
    Kind::SparseCount,
    Kind::OverflowFreePage,
    Kind::IamFilegroup,
    Kind::FilteredRow,
    Kind::ComputedValue,
    Kind::WrongPartition,
    Kind::PartitionIndexByte,
    Kind::CompressionSize,
    Kind::DictionaryEntry,
    Kind::ColumnDescriptor,
    Kind::AnchorPrefix,
];

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
fn the_fixture_has_a_candidate_for_every_buildable_fault() {
    let kinds = applicable(&made().inputs()).unwrap();
    let missing: Vec<Kind> =
        Kind::ALL.iter().filter(|kind| !kinds.contains(kind)).copied().collect();
    assert_eq!(missing, NOT_BUILT);
}

#[test]
fn every_fault_changes_exactly_what_its_truth_says() {
    let made = made();
    let before: Vec<Vec<u8>> = made.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    for kind in applicable(&made.inputs()).unwrap() {
        for seed in 0..2 {
            let (truth, outputs) = made.damage(kind, seed);
            assert!(truth.object_id.0 >= 0, "{kind}");
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
            assert!(expected != before, "{kind} changes something");
            for (expected, output) in expected.iter().zip(&outputs) {
                assert!(*expected == std::fs::read(output).unwrap(), "{kind} seed {seed}");
                std::fs::remove_file(output).unwrap();
            }
        }
    }
    let after: Vec<Vec<u8>> = made.files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(before == after, "the input is not touched");
}

/// Raw damage is what a checksum finds; every other fault leaves the checksum right.
#[test]
fn only_raw_damage_leaves_a_wrong_checksum() {
    let made = made();
    for kind in applicable(&made.inputs()).unwrap() {
        let (truth, outputs) = made.damage(kind, 5);
        let image = Image::open(&[&outputs[0], &outputs[1]]).unwrap();
        let mut page = PageBuf::zeroed();
        let is_raw = kind.name().ends_with("flipped-byte") || kind == Kind::TornSector;
        for change in truth.changes.iter().filter(|_| truth.truncated_to.is_none()) {
            let id = PageId { file: change.file, page: (change.offset / 8192) as u32 };
            image.raw(id, &mut page).unwrap();
            assert_eq!(checksum::verify(&page).is_intact(), !is_raw, "{kind} {id}");
        }
        outputs.iter().for_each(|output| std::fs::remove_file(output).unwrap());
    }
}

/// An option never asks for more than a full check, and nothing is both expected and only
/// permitted.
#[test]
fn expectations_of_the_options_are_part_of_the_full_ones() {
    let made = made();
    for kind in applicable(&made.inputs()).unwrap() {
        let (truth, outputs) = made.damage(kind, 6);
        outputs.iter().for_each(|output| std::fs::remove_file(output).unwrap());
        let full = [truth.expected.clone(), truth.any_of.clone()].concat();
        let options = [&truth.expected_physical, &truth.any_of_physical, &truth.expected_no_index];
        assert!(options.into_iter().flatten().all(|number| full.contains(number)), "{kind}");
        assert!(
            !truth.permitted.iter().any(|number| truth.expected.contains(number)),
            "{kind}: {truth:?}"
        );
        let is_logical = |number: &u32| matches!(*number, 8951 | 8952 | 8960..=8965 | 8970..=8972);
        assert!(!truth.expected_physical.iter().any(is_logical), "{kind}");
    }
}

#[test]
fn truths_have_the_keys_of_damaged_rows() {
    let (truth, _) = made().damage(Kind::KeyRaised, 1);
    let key = truth.key.unwrap();
    assert!(key.starts_with("id = ") && key.contains(" and tag = "), "{key}");
}

/// Row by row, the catalog of faults: each has its kind in `docs/faults.md`, or a reason there,
/// and the numbers that the document names are those of the truths.
#[test]
fn the_document_lists_all_faults_with_their_messages() {
    const ROWS: usize = 170;
    let text = include_str!("../../../docs/faults.md");
    let cells = |line: &str| {
        line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect::<Vec<_>>()
    };
    let lines: Vec<Vec<String>> =
        text.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
    let rows: Vec<&Vec<String>> =
        lines.iter().filter(|cells| cells[0].parse::<u16>().is_ok()).collect();
    let numbers: Vec<u16> = rows.iter().map(|cells| cells[0].parse().unwrap()).collect();
    let mut distinct = numbers.clone();
    distinct.dedup();
    assert_eq!(distinct, (1..=ROWS as u16).collect::<Vec<_>>(), "every row, in order");
    let made = made();
    let applicable = applicable(&made.inputs()).unwrap();
    for &kind in Kind::ALL {
        for row in kind.rows() {
            let name = format!("`{}`", kind.name());
            let line = rows.iter().find(|cells| cells[0] == row.to_string() && cells[1] == name);
            let line = line.unwrap_or_else(|| panic!("row {row}: {kind} is not in the document"));
            assert_eq!(line[2], kind.what().trim_end_matches('.'), "{kind}");
        }
        if !applicable.contains(&kind) {
            continue;
        }
        for seed in 0..3 {
            let (truth, outputs) = made.damage(kind, seed);
            outputs.iter().for_each(|output| std::fs::remove_file(output).unwrap());
            let line = rows.iter().find(|cells| cells[1] == format!("`{}`", kind.name())).unwrap();
            let has = |cell: &str, numbers: &[u32]| {
                numbers.iter().all(|number| cell.contains(&number.to_string()))
            };
            assert!(
                has(&line[3], &truth.expected) && has(&line[3], &truth.any_of),
                "{kind}: {line:?} {truth:?}"
            );
            assert!(has(&line[4], &truth.expected_physical), "{kind}: {line:?} {truth:?}");
            assert!(has(&line[5], &truth.expected_no_index), "{kind}: {line:?} {truth:?}");
        }
    }
}

#[test]
fn the_truth_file_has_the_agreed_fields() {
    let (truth, _) = made().damage(Kind::SlotOffset, 1);
    let json = truth.to_json();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let agreed =
        ["seed", "kind", "file", "page", "slot", "object_id", "changes", "expected", "permitted"];
    assert_eq!(keys[..agreed.len()], agreed);
    assert_eq!((&json["repair"], &json["group"]), (&"repair_allow_data_loss".into(), &2.into()));
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
    for kind in applicable(&made.inputs()).unwrap() {
        let (mut first, outputs) = made.damage(kind, 8);
        outputs.iter().for_each(|output| std::fs::remove_file(output).unwrap());
        let (second, outputs) = made.damage(kind, 8);
        outputs.iter().for_each(|output| std::fs::remove_file(output).unwrap());
        assert_eq!(first, second);
        first.seed = 9;
        assert_ne!(first, second);
    }
}

#[test]
fn kinds_are_found_by_name_and_a_wrong_name_lists_them() {
    assert!(Kind::ALL.iter().all(|kind| Kind::from_name(kind.name()).unwrap() == *kind));
    assert_eq!(Kind::from_name("catalogue-entry-byte").unwrap().name(), "catalog-entry-byte");
    let error = Kind::from_name("coffee").unwrap_err().to_string();
    assert!(error.contains("flipped-byte") && error.contains("foreign-page"), "{error}");
}

#[test]
fn a_database_without_tables_has_nothing_to_damage_but_maps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.mdf");
    extentdb_template::DatabaseBuilder::new("empty")
        .bytes(4 << 20)
        .build(&[&path], &mut |_| {})
        .unwrap();
    let kinds = applicable(&[&path]).unwrap();
    assert!(
        kinds.contains(&Kind::GamLostExtent) && kinds.contains(&Kind::PfsFlippedByte),
        "{kinds:?}"
    );
    assert!(kinds.iter().all(|kind| matches!(kind.group(), 1 | 6 | 10)), "{kinds:?}");
    let error = damage(&[&path], &[&folder.path().join("out")], Kind::FlippedByte, 1).unwrap_err();
    assert!(matches!(error, Error::NotApplicable { kind: "flipped-byte", .. }));
    assert!(!folder.path().join("out").exists());
}

#[test]
fn real_databases_can_be_damaged() {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let path = folder.join("northwind-2008.mdf");
    if !path.exists() {
        return eprintln!("SKIPPED: no samples in {}", folder.display());
    }
    let kinds = applicable(&[&path]).unwrap();
    assert!(kinds.len() >= 80, "{kinds:?}");
    assert!(kinds.contains(&Kind::LobTextId), "legacy text pointers");
    let scratch = tempfile::tempdir().unwrap();
    for kind in kinds {
        let output = scratch.path().join(kind.name());
        let truth = damage(&[&path], &[&output], kind, 4).unwrap();
        assert!(truth.truncated_to.is_some() || !truth.changes.is_empty(), "{kind}");
    }
}
