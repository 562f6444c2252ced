//! The published experiment with trace flag 1165: the lines of the error log, byte for byte, in the
//! compatible profile.

mod support;

use extentdb_base::sync::Arc;
use extentdb_engine::{DataFileSpec, Database, DatabaseSpec, Options};
use extentdb_io::MemDisk;
use extentdb_telemetry::{Event, Recorder};
use support::*;

const MB: u64 = 1 << 20;

/// The lines since the last call, one recalculation after the other.
fn lines(recorder: &Recorder) -> Vec<String> {
    let events = recorder.take().into_iter();
    let lines = events.filter_map(|event| match event {
        Event::ProportionalFill { lines } => Some(lines),
        _ => None,
    });
    lines.flatten().collect()
}

fn company() -> DatabaseSpec {
    let mut spec = DatabaseSpec::new("Company", "", 5 * MB);
    spec.files[0].name = Some("Company_data".to_owned());
    spec
}

fn named(path: &str, name: &str, bytes: u64) -> DataFileSpec {
    DataFileSpec {
        name: Some(name.to_owned()),
        ..DataFileSpec::new(path, bytes)
    }
}

#[test]
fn the_published_lines_are_printed_to_the_last_blank() {
    let disk = MemDisk::new();
    let spec = company();
    let recorder = Arc::new(Recorder::default());
    let options = || Options {
        events: recorder.clone(),
        compatible_space: true,
        ..on(&disk)
    };
    let db = Database::create(&spec, options()).unwrap();
    assert_eq!(
        lines(&recorder),
        [
            "Proportional Fill Recalculation Starting for DB Company with m_cAllocs 8192.",
            "Proportional Fill Recalculation Completed for DB Company new m_cAllocs 8192, most free file is file 1.",
            "\tFile [Company_data] (1) has 44 free extents and skip target of 1. ",
        ]
    );
    db.add_file(&named("SecondFile.ndf", "SecondFile", 5 * MB), None).unwrap();
    assert_eq!(
        lines(&recorder),
        [
            "Proportional Fill Recalculation Starting for DB Company with m_cAllocs 8192.",
            "Proportional Fill Recalculation Completed for DB Company new m_cAllocs 8192, most free file is file 3.",
            "\tFile [Company_data] (1) has 44 free extents and skip target of 1. ",
            "\tFile [SecondFile] (3) has 79 free extents and skip target of 1. ",
        ]
    );
    db.add_file(&named("ThirdFile.ndf", "ThirdFile", 250 * MB), None).unwrap();
    let third = [
        "Proportional Fill Recalculation Starting for DB Company with m_cAllocs 8192.",
        "Proportional Fill Recalculation Completed for DB Company new m_cAllocs 8192, most free file is file 4.",
        "\tFile [Company_data] (1) has 44 free extents and skip target of 90. ",
        "\tFile [ThirdFile] (4) has 3995 free extents and skip target of 1. ",
        "\tFile [SecondFile] (3) has 79 free extents and skip target of 50. ",
    ];
    assert_eq!(lines(&recorder), third);
    db.close().unwrap();
    let mut paths = spec.paths();
    paths.data.extend(["SecondFile.ndf".into(), "ThirdFile.ndf".into()]);
    assert_sound_on(&disk, &paths);
    // The next start sees the same; what is reserved is in memory only.
    let db = Database::open(&paths, options()).unwrap();
    assert_eq!(lines(&recorder), third);
    db.close().unwrap();
    let db = reopen(&disk, &paths);
    let free: Vec<u32> = db.space().files().iter().map(|file| file.free_extents()).collect();
    assert!(free[0] > 44 && free[1..] == [79, 3996], "{free:?}");
}

#[test]
fn reserved_extents_are_never_allocated_and_maps_stay_right() {
    let disk = MemDisk::new();
    let mut spec = company();
    spec.files[0].bytes_max = Some(5 * MB);
    let db = Database::create(
        &spec,
        Options { compatible_space: true, mixed_pages: false, ..on(&disk) },
    )
    .unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    let free = db.space().files()[0].free_extents();
    let mut rows = 0;
    while session.insert(&table, &person(rows, &"x".repeat(3900))).is_ok() {
        rows += 1;
    }
    // Two rows on a page, eight pages in an extent; single rows may find room elsewhere.
    let most = i32::try_from(free).unwrap() * 16;
    assert!((most - 16..=most).contains(&rows), "{rows} rows in {free} extents");
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
}
