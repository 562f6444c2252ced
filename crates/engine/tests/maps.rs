//! The maps against simple models: what memory calls free is what GAM calls free, every page has
//! one owner, and PFS tells the truth when a checkpoint has asked for it.

mod support;

use std::collections::BTreeMap;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::PAGES_PER_EXTENT;
use extentdb_base::sync::Arc;
use extentdb_base::{Extent, PageId};
use extentdb_engine::{DataFileSpec, Database, Options, Session, Table};
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::page::PageHeader;
use extentdb_io::MemDisk;
use support::*;

/// Extents that GAM calls free are those that memory would hand out.
fn assert_gam(db: &Arc<Database>) {
    for file in db.space().files() {
        let map = db.pool().read(PageId { file: file.id(), page: 2 }).unwrap();
        let bitmap = MapView::new(&map, MapKind::Gam).bitmap();
        let free: Vec<u32> = bitmap.ones().take_while(|extent| *extent < file.extents()).collect();
        let known: Vec<u32> = (0..file.extents()).filter(|extent| file.is_free(*extent)).collect();
        assert_eq!(free, known, "{file:?}");
        assert_eq!(file.free_extents() as usize, known.len());
    }
}

/// No two tables own the same extent or page, and none that is free.
fn assert_owners(db: &Arc<Database>, tables: &[Arc<Table>]) {
    let mut owners: BTreeMap<PageId, &str> = BTreeMap::new();
    for table in tables {
        let unit = table.unit();
        let owned = db.space().owned_by(&unit).unwrap();
        let pages =
            owned.extents.iter().flat_map(|extent: &Extent| extent.pages()).chain(owned.singles);
        for page in pages {
            let other = owners.insert(page, table.name());
            assert_eq!(other, None, "{page} of {}", table.name());
            let file = db.space().file(page.file).unwrap();
            assert!(!file.is_free(page.page / PAGES_PER_EXTENT), "{page} of {}", table.name());
        }
    }
}

/// After a checkpoint, PFS knows exactly which pages there are and how full they are.
fn assert_pfs(db: &Arc<Database>, tables: &[Arc<Table>]) {
    for table in tables {
        let unit = table.unit();
        for page in db.space().pages_of(&unit).unwrap() {
            let state = db.space().pfs_bytes(page.file, page.page..page.page + 1).unwrap()[0];
            let guard = db.pool().read(page).unwrap();
            let header = PageHeader::of(&guard);
            assert_eq!(header.alloc_unit(), unit.id(), "{page}");
            assert_eq!(
                state.fullness(),
                Some(Fullness::of_free_bytes(header.free_bytes.get())),
                "{page}"
            );
        }
    }
}

/// One random step; the tables there are afterwards.
fn step(session: &mut Session, tables: &mut Vec<Arc<Table>>, rng: &mut SplitMix64, number: u32) {
    let before = tables.clone();
    if rng.below(2) == 0 {
        session.begin();
    }
    for part in 0..1 + rng.below(3) {
        match rng.below(8) {
            0 if tables.len() < 6 => {
                let name = format!("t{number}_{part}");
                tables.push(session.create_table(&people(&name)).unwrap());
            }
            1 if tables.len() > 2 => {
                let table = tables.swap_remove(rng.below(tables.len() as u64) as usize);
                session.drop_table(&table).unwrap();
            }
            2 if !tables.is_empty() => {
                let table = &tables[rng.below(tables.len() as u64) as usize];
                session.truncate_table(table).unwrap();
            }
            _ if !tables.is_empty() => {
                let table = tables[rng.below(tables.len() as u64) as usize].clone();
                for id in 0..rng.below(60) {
                    session
                        .insert(&table, &person(id as i32, &"m".repeat(rng.below(3000) as usize)))
                        .unwrap();
                }
            }
            _ => {}
        }
    }
    if session.is_in_transaction() && rng.below(3) == 0 {
        session.rollback().unwrap();
        *tables = before;
    }
    session.commit().unwrap();
}

#[test]
fn maps_and_memory_agree_after_creates_and_drops() {
    for seed in 0..6 {
        let mut rng = SplitMix64::new(seed);
        let disk = MemDisk::new();
        let mut spec = spec("maps");
        spec.files.push(DataFileSpec::new("maps_2.ndf", 1 << 20));
        let options = Options { mixed_pages: seed % 2 == 0, ..on(&disk) };
        let db = Database::create(&spec, options).unwrap();
        let mut session = db.session();
        let mut tables = Vec::new();
        for number in 0..60 {
            step(&mut session, &mut tables, &mut rng, number);
            assert_gam(&db);
            assert_owners(&db, &tables);
            if rng.below(6) == 0 {
                db.checkpoint().unwrap();
                assert_pfs(&db, &tables);
            }
        }
        drop((session, tables));
        close_and_check(db, &disk, &spec.paths());
    }
}

/// Random work of one thread on tables of its own and on one that all share, which allocates and
/// frees extents; the tables of its own that are left.
fn work_beside_others(db: &Arc<Database>, shared: &Table, thread: u32) -> Vec<Arc<Table>> {
    let mut rng = SplitMix64::new(100 + u64::from(thread));
    let mut session = db.session();
    let mut own: Vec<Arc<Table>> = Vec::new();
    for number in 0..40 {
        let kept = own.clone();
        session.begin();
        match rng.below(6) {
            0 if own.len() > 1 => {
                let table = own.swap_remove(rng.below(own.len() as u64) as usize);
                session.drop_table(&table).unwrap();
            }
            1 if !own.is_empty() => session.truncate_table(&own[0]).unwrap(),
            _ if own.len() < 3 => {
                let name = format!("own_{thread}_{number}");
                own.push(session.create_table(&people(&name)).unwrap());
            }
            _ => {}
        }
        for table in own.iter().map(|table| &**table).chain([shared]) {
            for id in 0..20 + rng.below(40) {
                let name = "m".repeat(rng.below(3900) as usize);
                session.insert(table, &person(id as i32, &name)).unwrap();
            }
        }
        if rng.below(3) == 0 {
            session.rollback().unwrap();
            own = kept;
        }
        session.commit().unwrap();
    }
    own
}

#[test]
fn maps_are_exact_after_threads_have_allocated_and_freed_extents_at_once() {
    for mixed_pages in [false, true] {
        let disk = MemDisk::new();
        let mut spec = spec("maps");
        spec.files.push(DataFileSpec::new("maps_2.ndf", 1 << 20));
        let db = Database::create(&spec, Options { mixed_pages, ..on(&disk) }).unwrap();
        let shared = db.session().create_table(&people("shared")).unwrap();
        let mut tables: Vec<Arc<Table>> = std::thread::scope(|scope| {
            let work = |thread| {
                let (db, shared) = (&db, &shared);
                scope.spawn(move || work_beside_others(db, shared, thread))
            };
            let threads: Vec<_> = (0..3).map(work).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        tables.push(shared);
        assert_gam(&db);
        assert_owners(&db, &tables);
        db.checkpoint().unwrap();
        assert_pfs(&db, &tables);
        drop(tables);
        close_and_check(db, &disk, &spec.paths());
    }
}
