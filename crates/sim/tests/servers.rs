//! A server with several databases, temporary tables, files that are added and removed, cancelled
//! statements and power cuts: see `servers`.
//!
//! More by `cargo x sim --seeds 0..200 --servers 2000`.

use extentdb_sim::{ServerReport, run_servers};

#[test]
fn databases_of_a_server_are_what_the_model_says() {
    let mut all: Vec<ServerReport> = Vec::new();
    for seed in 0..8 {
        all.push(run_servers(seed, 500).unwrap_or_else(|what| panic!("seed {seed}: {what}")));
    }
    let sum = |count: fn(&ServerReport) -> u64| all.iter().map(count).sum::<u64>();
    assert!(sum(|it| it.distributed) > 8, "{all:?}");
    assert!(sum(|it| it.cancelled) > 50, "{all:?}");
    assert!(sum(|it| it.temporary) > 50 && sum(|it| it.killed) > 5, "{all:?}");
    assert!(sum(|it| it.extra) > 100 && sum(|it| it.power_cuts) > 20, "{all:?}");
}

// Seeds that once failed. Each name states the behaviour that was missing.

fn run_seed(seed: u64) {
    run_servers(seed, 400).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
}

#[test]
fn a_file_that_was_being_added_and_has_no_maps_yet_is_left_out() {
    run_seed(5);
}

#[test]
fn a_new_file_is_newer_than_copies_of_one_that_had_its_number() {
    run_seed(22);
}

#[test]
fn a_filegroup_whose_removal_the_power_cut_short_is_there_or_not() {
    run_servers(5_100_067, 300).unwrap_or_else(|what| panic!("{what}"));
}
