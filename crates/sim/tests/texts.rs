//! Text keys under many collations, with crashes: see `texts`.
//!
//! More by `cargo x sim --seeds 0..20 --texts 50000`.

use extentdb_sim::run_texts;

#[test]
fn random_texts_of_all_planes_are_keys_through_crashes() {
    for seed in 0..3 {
        let story = run_texts(seed, 4_000, 4).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        assert!(story.crashes == 4 && story.duplicates > 20 && story.rows > 200, "{story:?}");
    }
}
