//! Text keys under many collations, with crashes: see `texts`.
//!
//! More by `cargo x sim --seeds 0..20 --texts 50000`.

use extentdb_sim::run_texts;

#[test]
fn random_text_keys_survive_crashes() {
    for seed in 0..3 {
        let report = run_texts(seed, 4_000, 4).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        assert!(report.crashes == 4 && report.duplicates > 20 && report.rows > 200, "{report:?}");
    }
}
