//! Several threads with values of their own on the same pages.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::thread;

use super::bench::{Bench, Setup, fresh};
use super::model::{Values, change, verify};
use super::walk::walk;

fn worker(bench: &Bench, seed: u64) -> Values {
    let mut rng = SplitMix64::new(seed);
    let mut values = Values::new();
    for _ in 0..40 {
        let mut open = bench.begin();
        let before = values.clone();
        for _ in 0..1 + rng.below(4) {
            change(bench, &mut open, &mut values, &mut rng, 20_000).expect("room for it");
        }
        if rng.below(3) == 0 {
            bench.roll_back(open).expect("a log");
            values = before;
        } else {
            bench.commit(open).expect("a log");
        }
    }
    values
}

#[test]
fn threads_share_pages_and_lose_nothing() {
    for mixed_pages in [true, false] {
        let bench = Bench::on(fresh(), &Setup { frames: 2000, mixed_pages, ..Setup::default() });
        let shared = &bench;
        let all: Vec<Values> = thread::scope(|scope| {
            let workers: Vec<_> =
                (0..4).map(|seed| scope.spawn(move || worker(shared, seed))).collect();
            workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
        });
        let mut values = Values::new();
        for (number, own) in all.into_iter().enumerate() {
            values.extend(own.into_iter().map(|(key, value)| (key + 100 * number as u64, value)));
        }
        verify(&bench, &values, &mut SplitMix64::new(1));
        let mut open = bench.begin();
        values.values().for_each(|(root, _)| bench.lob.free(open.change(), root).unwrap());
        bench.commit(open).unwrap();
        walk(&bench, std::iter::empty());
    }
}
