//! Runs of fixed seeds, and seeds that once failed, by name.

use extentdb_sim::{Failure, RunConfig, RunReport, run};

/// Seeds to run: `EXTENTDB_SEEDS=100..200` for others than the fixed ones.
fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("EXTENTDB_SEEDS").ok();
    let asked = asked.as_deref().and_then(|asked| asked.split_once(".."));
    let asked = asked.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    asked.unwrap_or(0..12)
}

fn run_seed(seed: u64) -> RunReport {
    run_config(&RunConfig::of(seed))
}

fn run_config(config: &RunConfig) -> RunReport {
    run(config).unwrap_or_else(|failure: Box<Failure>| panic!("{failure}"))
}

#[test]
fn the_fixed_seeds_pass() {
    let reports: Vec<RunReport> = seeds().map(run_seed).collect();
    let sum = |count: fn(&RunReport) -> u64| reports.iter().map(count).sum::<u64>();
    // A simulation in which nothing happens proves nothing.
    assert!(sum(|report| report.commits) > 100, "commits");
    assert!(sum(|report| report.cuts) > 0, "power cuts");
    assert!(sum(|report| report.damages) > 0, "damages");
}

#[test]
fn runs_in_files_and_logs_that_fill_up_pass() {
    let reports: Vec<RunReport> = seeds().map(|seed| run_config(&RunConfig::tight(seed))).collect();
    let sum = |count: fn(&RunReport) -> u64| reports.iter().map(count).sum::<u64>();
    assert!(sum(|report| report.full_logs) > 10, "full logs");
    assert!(sum(|report| report.full_filegroups) > 10, "full filegroups");
    assert!(sum(|report| report.rollbacks) > 10, "rollbacks");
}

#[test]
fn runs_with_every_kind_of_statement_pass() {
    seeds().for_each(|seed| drop(run_config(&RunConfig::rich(seed))));
}

#[test]
fn runs_with_indexes_pass() {
    seeds().for_each(|seed| drop(run_config(&RunConfig::indexed(seed))));
}

#[test]
fn runs_with_added_and_dropped_columns_pass() {
    seeds().for_each(|seed| drop(run_config(&RunConfig::altered(seed))));
}

#[test]
fn equal_seeds_give_equal_runs() {
    assert_eq!(run_seed(3), run_seed(3));
}

// Seeds that once failed. Each name states the behaviour that was missing.

#[test]
fn redo_reads_rows_of_a_table_that_was_being_created_as_inserted() {
    run_seed(4);
}

#[test]
fn a_checkpoint_inside_a_truncation_leaves_the_row_counter_alone() {
    run_seed(5);
}

#[test]
fn the_slot_of_a_forwarded_record_that_moves_again_is_free_after_the_commit_only() {
    run_seed(11);
    run_seed(14);
}

#[test]
fn a_page_not_formatted_because_the_log_is_full_is_freed_with_the_rest_of_its_run() {
    run_seed(120);
}

#[test]
fn a_unit_created_and_dropped_by_one_transaction_is_freed_with_all_pages_after_a_crash() {
    run_seed(122);
}

#[test]
fn a_unit_whose_first_pages_could_not_be_entered_in_the_catalog_has_no_pages() {
    run_config(&RunConfig::tight(189));
}

#[test]
fn a_system_transaction_whose_first_change_was_refused_ends() {
    run_config(&RunConfig::tight(18));
}

#[test]
fn recovery_reads_the_catalog_between_the_rows_of_a_description() {
    run_config(&RunConfig::tight(129));
    run_seed(680);
}

#[test]
fn a_rollback_in_a_full_log_has_room_to_free_the_pages_of_a_table() {
    run_seed(140);
    run_seed(210);
}

#[test]
fn other_sessions_see_the_old_table_while_its_name_is_reused() {
    run_config(&RunConfig::rich(226));
}

#[test]
fn pages_freed_by_undo_are_reused_after_the_locks_on_their_rows_are_released() {
    run_config(&RunConfig::rich(106));
}

#[test]
fn a_page_formatted_before_add_column_is_rolled_back_has_rows_without_the_column() {
    run_config(&RunConfig::altered(10));
}

#[test]
fn a_heap_with_rolled_back_columns_knows_pages_allocated_in_advance() {
    run_config(&RunConfig::altered(19));
}

#[test]
fn rows_keep_their_uniquifiers_when_their_index_is_rebuilt() {
    run_config(&RunConfig::altered(16));
}

#[test]
fn a_ghost_may_have_a_rolled_back_column() {
    run_config(&RunConfig::altered(39));
}

#[test]
fn a_rebuild_of_one_index_leaves_the_row_counters_alone() {
    run_config(&RunConfig::altered(211));
}

#[test]
fn a_rollback_reads_its_log_where_the_file_has_grown() {
    run_config(&RunConfig::altered(21292));
}

#[test]
fn a_rollback_in_a_full_filegroup_restores_the_old_length_of_a_row() {
    run_config(&RunConfig::altered(50048));
}

#[test]
fn a_leaf_is_split_next_to_a_ghost_that_ends_inside_a_current_column() {
    run_config(&RunConfig::altered(8_000_300));
}

#[test]
fn a_checkpoint_in_a_full_log_leaves_the_size_of_a_file_to_the_next_one() {
    run_config(&RunConfig::altered(50017));
}

#[test]
fn a_rollback_in_a_full_filegroup_and_a_full_log_restores_the_old_length_of_rows() {
    run_config(&RunConfig { is_tight: true, ..RunConfig::altered(8_001_441) });
}

#[test]
fn a_close_in_a_full_log_leaves_a_database_that_opens() {
    run_config(&RunConfig { is_tight: false, ..RunConfig::indexed(152) });
}
