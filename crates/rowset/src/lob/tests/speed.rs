//! Long values: with little memory, and how fast on a real disk.

use std::io::Write;
use std::path::PathBuf;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_io::{DurabilityMode, RealDisk};

use super::bench::{Bench, Setup, fresh};
use crate::lob::{LobForm, LobRoot};

const CHUNK: usize = 64 << 10;

fn chunk_at(offset: u64) -> Vec<u8> {
    (0..CHUNK as u64 / 8)
        .flat_map(|at| (offset + at).wrapping_mul(0x9e37_79b9).to_le_bytes())
        .collect()
}

fn write(bench: &Bench, bytes: u64) -> LobRoot {
    let mut open = bench.begin();
    let blob = bench.next_blob();
    let mut writer = bench.lob.create(open.change(), LobForm::InRow, blob);
    for offset in (0..bytes).step_by(CHUNK) {
        writer.write(&chunk_at(offset)).unwrap();
    }
    let root = writer.finish().unwrap();
    bench.commit(open).unwrap();
    root
}

fn read(bench: &Bench, root: &LobRoot, bytes: u64) {
    let mut cursor = bench.lob.read(root).unwrap();
    assert_eq!(cursor.len(), bytes);
    let mut chunk = vec![0; CHUNK];
    for offset in (0..bytes).step_by(CHUNK) {
        assert_eq!(cursor.read(&mut chunk).unwrap(), CHUNK);
        assert!(chunk == chunk_at(offset));
    }
}

#[test]
fn a_value_of_64_mb_passes_through_200_pages_of_memory() {
    let setup = Setup { frames: 200, mixed_pages: false, ..Setup::default() };
    let bench = Bench::on(fresh(), &setup);
    let root = write(&bench, 64 << 20);
    read(&bench, &root, 64 << 20);
    let mut open = bench.begin();
    bench.lob.free(open.change(), &root).unwrap();
    bench.commit(open).unwrap();
}

/// `LOB_BYTES` and `LOB_FOLDER` say how long and where; needs four times the room.
#[test]
#[ignore = "measures a real disk"]
fn speed_of_a_long_value() {
    let bytes = std::env::var("LOB_BYTES").ok().and_then(|it| it.parse().ok()).unwrap_or(256 << 20);
    let folder = std::env::var("LOB_FOLDER").map_or_else(|_| std::env::temp_dir(), PathBuf::from);
    let folder = folder.join(format!("lob-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let disk = RealDisk::new(DurabilityMode::Auto);
    std::fs::write(folder.join(super::bench::DATA), &fresh().0).unwrap();
    let setup = Setup {
        frames: 2000,
        mixed_pages: false,
        log_bytes: 256 << 20,
        ..Setup::default()
    };
    let bench = Bench::on_disk(fresh(), &disk, &folder, &setup);
    let clock = SystemClock::new();
    let timed = |name: &str, work: &mut dyn FnMut()| {
        let start = clock.monotonic();
        work();
        let seconds = (clock.monotonic() - start).as_secs_f64();
        println!("{name}: {:.0} MB/s", bytes as f64 / 1e6 / seconds);
    };
    timed("device, one file written and synced", &mut || {
        let mut file = std::fs::File::create(folder.join("raw")).unwrap();
        (0..bytes).step_by(CHUNK).for_each(|at| file.write_all(&chunk_at(at)).unwrap());
        file.sync_all().unwrap();
    });
    std::fs::remove_file(folder.join("raw")).unwrap();
    let mut root = None;
    timed("value written, log and pages", &mut || {
        root = Some(write(&bench, bytes));
        bench.space.pool().write_dirty().unwrap();
    });
    let root = root.unwrap();
    bench.space.pool().discard_all();
    timed("value read from the file", &mut || read(&bench, &root, bytes));
    timed("value freed", &mut || {
        let mut open = bench.begin();
        bench.lob.free(open.change(), &root).unwrap();
        bench.commit(open).unwrap();
    });
    std::fs::remove_dir_all(&folder).unwrap();
}
