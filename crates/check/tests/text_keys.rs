//! Text keys: judged where their comparison is certain, else listed with the characters that leave
//! it open.

mod support;

use std::path::Path;

use extentdb_check::Report;
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, TableSpec};
use extentdb_types::{Collation, SqlType};
use support::Memory;

const COLLATION: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

/// The full check of a database with a table of these names under a primary key.
fn memory(names: &'static [&'static str]) -> Memory {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.mdf");
    let ty = SqlType::NVarChar { len: Some(80), collation: COLLATION };
    let rows = FnRows::new(names.len() as u64, |number, row| {
        row.ntext(names[number as usize]);
    });
    let table = TableSpec::heap("names", vec![ColumnSpec::new("name", ty)], rows)
        .clustered(IndexSpec::primary_key("PK_names", &["name"]));
    DatabaseBuilder::new("names").table(table).build(&[Path::new(&path)], &mut |_| {}).unwrap();
    Memory::new(std::fs::read(path).unwrap())
}

fn errors(report: &Report) -> Vec<u32> {
    report.findings.iter().map(|finding| finding.error).collect()
}

/// Gives the only occurrence of a text in the file other units of the same number.
fn replace(memory: &mut Memory, old: &str, new: &str) {
    let [old, new] =
        [old, new].map(|text| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let at = |page: &[u8]| page.windows(old.len()).position(|bytes| bytes == old);
    let page = (0..memory.pages()).find(|page| at(&memory.stored(*page)[..]).is_some()).unwrap();
    memory.edit(page, |bytes| {
        let at = at(&bytes[..]).unwrap();
        bytes[at..at + new.len()].copy_from_slice(&new);
    });
}

#[test]
fn keys_that_are_equal_under_the_collation_are_a_duplicate() {
    let mut memory = memory(&["aardvark", "beaver", "capybara"]);
    assert!(errors(&memory.check()).is_empty());
    replace(&mut memory, "capybara", "Beaver  ");
    assert_eq!(errors(&memory.check()), [2512]);
}

#[test]
fn an_uncertain_character_is_named_and_its_key_is_not_judged() {
    let Some(character) = ['\u{378}', '\u{e000}', '\u{4e00}'].into_iter().find(|it| {
        let text: Vec<u8> = it.to_string().encode_utf16().flat_map(u16::to_le_bytes).collect();
        COLLATION.uncertain_nchar(&text).is_some()
    }) else {
        eprintln!("skipped: no character is uncertain under the collation");
        return;
    };
    let mut memory = memory(&["aardvark", "beaver", "capybara"]);
    replace(&mut memory, "beaver", &format!("{character}eaver"));
    let report = memory.check();
    assert!(errors(&report).is_empty());
    let named = report.coverage.not_checked.iter().find(|it| it.what.contains("PK_names")).unwrap();
    assert!(named.why.contains(&format!("U+{:04X}", u32::from(character))), "{}", named.why);
}
