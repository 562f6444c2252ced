//! Finding tables and filegroups in a catalog that is changed to have several.

use std::path::Path;

use extentdb_base::IndexId;
use extentdb_catalog::model::AllocUnit;
use extentdb_reader::{CheckedPages, OpenOptions, OpenedFiles};
use extentdb_template::{MakeOptions, Size, make};

use super::*;

/// The demo database and its catalog.
struct Demo {
    _folder: tempfile::TempDir,
    opened: OpenedFiles,
    catalog: Catalog,
}

impl Demo {
    fn new() -> Demo {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo.mdf");
        let options = MakeOptions { shape: "demo".to_owned(), size: Size::Rows(2_000), seed: 3 };
        make(&options, &[Path::new(&path)], &mut |_| {}).unwrap();
        let opened = OpenedFiles::open(&[path], &OpenOptions::default()).unwrap();
        let catalog = Catalog::load(&CheckedPages::new(opened.source())).unwrap();
        Demo { _folder: folder, opened, catalog }
    }

    /// With a second filegroup, on the same file, for the units that pass.
    fn with_second(moves: impl Fn(&Table, IndexId) -> bool) -> Demo {
        let mut demo = Demo::new();
        let second = DataSpace {
            id: 2,
            name: "SECOND".to_owned(),
            kind: "FG".to_owned(),
            default: false,
        };
        demo.catalog.filegroups.push(second);
        let mut file = demo.catalog.files[0].clone();
        file.filegroup = 2;
        demo.catalog.files.push(file);
        let tables = &demo.catalog.tables;
        for rowset in demo.catalog.rowsets.values_mut() {
            if tables.get(&rowset.object).is_some_and(|table| moves(table, rowset.index)) {
                rowset.units.iter_mut().for_each(|unit| unit.filegroup = 2);
            }
        }
        demo
    }

    fn units(&self) -> Units {
        let rowsets = self.catalog.rowsets.values();
        let units = rowsets
            .flat_map(|rowset| rowset.units.iter().map(move |unit: &AllocUnit| (unit, rowset)));
        Units::new(units, Some(&self.catalog), false)
    }

    fn choose(&self, choice: &ScopeChoice) -> (Units, Result<ScopePlan, u32>) {
        let mut units = self.units();
        let choice = choose(choice, Some(&self.catalog), self.opened.source(), &mut units);
        (units, choice.map_err(|finding| finding.error))
    }

    fn table(&self, name: &str) -> &Table {
        self.catalog.user_tables().into_iter().find(|table| table.name == name).unwrap()
    }

    /// Object and index of the units that are checked, those with pages only.
    fn inside(&self, units: &Units) -> BTreeSet<(ObjectId, i32)> {
        let inside = units.iter().filter(|(_, unit)| !unit.is_outside && !unit.first_iam.is_none());
        inside.map(|(_, unit)| (unit.owner.object, unit.owner.index.0)).collect()
    }
}

fn table(name: &str) -> ScopeChoice {
    ScopeChoice::Table { schema: None, name: name.to_owned() }
}

#[test]
fn a_table_is_found_by_its_name_and_brings_its_indexes() {
    let demo = Demo::new();
    let sales = demo.table("sales");
    for choice in [
        table("sales"),
        ScopeChoice::Table { schema: Some(sales.schema.clone()), name: "sales".to_owned() },
    ] {
        let (units, chosen) = demo.choose(&choice);
        assert_eq!(chosen.as_ref().unwrap().chosen, Chosen::Table(sales.id));
        assert_eq!(chosen.unwrap().target, Some(sales.full_name()));
        let inside = demo.inside(&units);
        assert!(
            inside.len() >= 2 && inside.iter().all(|(object, _)| *object == sales.id),
            "{inside:?}"
        );
    }
}

#[test]
fn names_are_compared_as_the_database_does() {
    let mut demo = Demo::new();
    let ignores_case = |demo: &Demo| Collation(demo.catalog.boot.collation_id).ignores_case();
    let found = |demo: &Demo| demo.choose(&table("SALES")).1.is_ok();
    assert_eq!(found(&demo), ignores_case(&demo));
    demo.catalog.boot.collation_id ^= 1 << 24 | 0x1000;
    for bit in 0..32 {
        demo.catalog.boot.collation_id ^= 1 << bit;
        assert_eq!(
            found(&demo),
            ignores_case(&demo),
            "collation {:#x}",
            demo.catalog.boot.collation_id
        );
    }
}

#[test]
fn what_is_not_there_or_no_table_is_refused_by_its_number() {
    let mut demo = Demo::new();
    let (id, mut object) =
        demo.catalog.objects.iter().next().map(|(id, object)| (*id, object.clone())).unwrap();
    object.name = "other name".to_owned();
    object.kind = extentdb_catalog::model::ObjectType(*b"SN");
    demo.catalog.objects.insert(id, object.clone());
    let refusal = |demo: &Demo, choice: &ScopeChoice| demo.choose(choice).1.err();
    assert_eq!(refusal(&demo, &table("other name")), Some(2547));
    object.kind = extentdb_catalog::model::ObjectType(*b"P ");
    demo.catalog.objects.insert(id, object);
    assert_eq!(refusal(&demo, &table("other name")), Some(5239));
    assert_eq!(refusal(&demo, &table("no such table")), Some(2501));
    assert_eq!(refusal(&demo, &ScopeChoice::Filegroup("NOWHERE".to_owned())), Some(2523));
    let mut demo = Demo::with_second(|_, _| false);
    demo.catalog.files.pop();
    assert_eq!(refusal(&demo, &ScopeChoice::Filegroup("SECOND".to_owned())), Some(2529));
}

#[test]
fn an_index_in_another_filegroup_is_named_and_left_out() {
    let demo = Demo::with_second(|table, index| table.name == "sales" && index.0 == 2);
    let sales = demo.table("sales").id;
    let (units, chosen) = demo.choose(&ScopeChoice::Filegroup("PRIMARY".to_owned()));
    let notes: Vec<u32> = chosen.unwrap().notes.iter().map(|note| note.error).collect();
    assert_eq!(notes, [2594]);
    let inside = demo.inside(&units);
    assert!(inside.contains(&(sales, 1)) && !inside.contains(&(sales, 2)), "{inside:?}");
    // From the other side only the index lies inside, and its table does not.
    let (units, chosen) = demo.choose(&ScopeChoice::Filegroup("2".to_owned()));
    let notes: BTreeSet<u32> = chosen.unwrap().notes.iter().map(|note| note.error).collect();
    assert_eq!(notes, [2594, 2595].into());
    assert_eq!(demo.inside(&units), BTreeSet::new());
}

#[test]
fn a_table_in_another_filegroup_is_checked_with_that_filegroup_only() {
    let demo = Demo::with_second(|table, _| table.name == "sales");
    let sales = demo.table("sales").id;
    let (units, chosen) = demo.choose(&ScopeChoice::Filegroup("SECOND".to_owned()));
    assert_eq!(chosen.unwrap().notes, []);
    let inside = demo.inside(&units);
    assert!(
        inside.contains(&(sales, 1)) && inside.iter().all(|(object, _)| *object == sales),
        "{inside:?}"
    );
    let (units, _) = demo.choose(&ScopeChoice::Filegroup("PRIMARY".to_owned()));
    assert!(demo.inside(&units).iter().all(|(object, _)| *object != sales));
}

#[test]
fn without_a_catalog_nothing_is_known_to_belong_to_it() {
    let demo = Demo::new();
    let mut units = demo.units();
    let chosen =
        choose(&table("sales"), None, demo.opened.source(), &mut units).ok().unwrap().chosen;
    assert_eq!((chosen, demo.inside(&units)), (Chosen::Unknown, BTreeSet::new()));
}
