//! Runs of each kind: their faults are described in `fault`, one file each.
//!
//! `EXTENTDB_SEEDS=A..B` for other seeds than the fixed ones.

use extentdb_sim::fault::swapped_files::{Ids, swap_logs_of_twins};
use extentdb_sim::{Failure, RunConfig, RunKind, RunReport, run};

/// Seeds for which an older data file was once opened: secondary files, then primary ones.
const STALE_FILES: [u64; 9] = [5, 10, 12, 27, 45, 0, 1, 11, 24];
/// Seeds for which SGAM did not mark a mixed extent with a free page.
const LOST_PAGES: [u64; 8] = [13, 31, 40, 48, 50, 51, 52, 56];

/// Those that the environment asks for, or these.
fn seeds(fixed: &[u64]) -> Vec<u64> {
    let asked = std::env::var("EXTENTDB_SEEDS").ok();
    let asked = asked.as_deref().and_then(|asked| asked.split_once(".."));
    let asked =
        asked.and_then(|(from, to)| Some((from.parse::<u64>().ok()?..to.parse().ok()?).collect()));
    asked.unwrap_or_else(|| fixed.to_vec())
}

fn run_seed(kind: RunKind, fixed: &[u64]) -> Vec<RunReport> {
    let outcome = |seed| run(&RunConfig::of_kind(kind, seed));
    let reports = seeds(fixed).into_iter().map(outcome);
    reports
        .map(|report| report.unwrap_or_else(|failure: Box<Failure>| panic!("{failure}")))
        .collect()
}

#[test]
fn acknowledged_rows_survive_torn_pages() {
    let reports = run_seed(RunKind::Torn, &[0, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    assert!(reports.iter().map(|report| report.cuts).sum::<u64>() > 0, "power cuts");
}

#[test]
fn acknowledged_rows_survive_the_death_of_the_process() {
    let reports = run_seed(RunKind::Killed, &[0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]);
    assert!(reports.iter().map(|report| report.cuts).sum::<u64>() > 0, "deaths");
}

#[test]
fn rolled_back_ddl_leaves_no_trace() {
    let reports = run_seed(RunKind::Ddl, &[0, 1, 2, 3, 4, 5]);
    assert!(reports.iter().map(|report| report.rollbacks).sum::<u64>() > 100, "rollbacks");
}

#[test]
fn swapped_files_lose_no_row() {
    run_seed(RunKind::Swapped, &[2, 3, 4, 6, 7, 8]);
}

#[test]
fn an_older_data_file_is_refused() {
    run_seed(RunKind::Swapped, &STALE_FILES);
}

#[test]
fn damage_to_the_log_of_a_crashed_database_is_never_silent() {
    let reports = run_seed(RunKind::LogDamage, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(reports.iter().map(|report| report.damages).sum::<u64>() > 0, "damages");
}

#[test]
fn acknowledged_rows_survive_full_disks() {
    run_seed(RunKind::FullDisk, &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn sgam_marks_every_mixed_extent_with_a_free_page() {
    run_seed(RunKind::MixedExtents, &LOST_PAGES);
}

#[test]
fn a_bad_page_fails_only_statements_that_need_it() {
    run_seed(RunKind::BadPage, &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn values_off_their_rows_survive() {
    run_seed(RunKind::Lobs, &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_text_page_that_nothing_came_to_lie_on_is_not_full_for_good() {
    run_seed(RunKind::Lobs, &[900_017]);
}

#[test]
fn a_text_page_of_a_run_is_not_blank_when_the_log_is_full() {
    run_seed(RunKind::Lobs, &[5_100_106, 5_100_193]);
}

#[test]
fn noise_in_the_last_write_that_looks_like_an_earlier_use_of_the_log_is_a_torn_write() {
    run_seed(RunKind::LogDamage, &[5_100_093, 5_100_174]);
}

#[test]
fn a_page_of_zeros_is_damage_after_a_crash_too() {
    run_seed(RunKind::BadPage, &[900_053]);
}

fn swap_logs(ids: Ids) {
    for seed in seeds(&[0, 1, 2, 3]) {
        swap_logs_of_twins(seed, ids).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

#[test]
fn the_log_of_another_database_is_not_replayed() {
    swap_logs(Ids::Different);
}

#[test]
fn the_log_of_another_database_with_the_same_ids_is_not_replayed() {
    swap_logs(Ids::Same);
}
