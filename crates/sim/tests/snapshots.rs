//! Readers with snapshots beside writers, with power cuts: see `snapshots`.
//!
//! More by `cargo x sim --seeds 0..200 --snapshots 2000`.

use extentdb_sim::run_snapshots;

#[test]
fn readers_see_what_the_model_says_as_of_their_snapshot() {
    for seed in 0..12 {
        let report = run_snapshots(seed, 600).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        assert!(report.readings > 50 && report.changes > 50, "{report:?}");
    }
}
