//! Lives of each kind: what goes wrong in them is described in `fault`, one file each.
//!
//! `EXTENTDB_SEEDS=A..B` for other seeds than the fixed ones.

use extentdb_sim::fault::swapped_files::{Ids, swap_logs_of_twins};
use extentdb_sim::{Failure, Kind, Life, Story, live};

/// Lives in which an older data file was opened: secondary files, then primary ones.
const STALE_FILES: [u64; 9] = [5, 10, 12, 27, 45, 0, 1, 11, 24];
/// Lives in which a free page of a mixed extent was out of reach.
const LOST_PAGES: [u64; 8] = [13, 31, 40, 48, 50, 51, 52, 56];

/// Those that the environment asks for, or these.
fn seeds(fixed: &[u64]) -> Vec<u64> {
    let asked = std::env::var("EXTENTDB_SEEDS").ok();
    let asked = asked.as_deref().and_then(|asked| asked.split_once(".."));
    let asked =
        asked.and_then(|(from, to)| Some((from.parse::<u64>().ok()?..to.parse().ok()?).collect()));
    asked.unwrap_or_else(|| fixed.to_vec())
}

fn survive(kind: Kind, fixed: &[u64]) -> Vec<Story> {
    let lived = |seed| live(&Life::of_kind(kind, seed));
    let stories = seeds(fixed).into_iter().map(lived);
    stories.map(|story| story.unwrap_or_else(|failure: Box<Failure>| panic!("{failure}"))).collect()
}

#[test]
fn pages_torn_by_power_cuts_are_survived() {
    let stories = survive(Kind::Torn, &[0, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    assert!(stories.iter().map(|story| story.cuts).sum::<u64>() > 0, "power cuts");
}

#[test]
fn the_death_of_the_process_is_survived() {
    let stories = survive(Kind::Killed, &[0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]);
    assert!(stories.iter().map(|story| story.cuts).sum::<u64>() > 0, "deaths");
}

#[test]
fn ddl_in_transactions_that_are_rolled_back_is_survived() {
    let stories = survive(Kind::Ddl, &[0, 1, 2, 3, 4, 5]);
    assert!(stories.iter().map(|story| story.rollbacks).sum::<u64>() > 100, "rollbacks");
}

#[test]
fn files_of_another_database_or_age_cost_no_row() {
    survive(Kind::Swapped, &[2, 3, 4, 6, 7, 8]);
}

#[test]
fn an_older_data_file_is_refused() {
    survive(Kind::Swapped, &STALE_FILES);
}

#[test]
fn damage_to_the_log_of_a_crashed_database_costs_no_row_in_silence() {
    let stories = survive(Kind::LogDamage, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(stories.iter().map(|story| story.damages).sum::<u64>() > 0, "damages");
}

#[test]
fn full_disks_are_survived() {
    survive(Kind::FullDisk, &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn free_pages_of_mixed_extents_are_within_reach() {
    survive(Kind::MixedExtents, &LOST_PAGES);
}

#[test]
fn a_bad_page_is_an_error_of_those_who_need_it() {
    survive(Kind::BadPage, &[0, 1, 2, 3, 4, 5, 6, 7]);
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
