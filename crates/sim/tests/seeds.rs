//! A fixed set of lives, and those that once failed, by name.

use extentdb_sim::{Failure, Life, Story, live};

/// Seeds to live: `EXTENTDB_SEEDS=100..200` for others than the fixed ones.
fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("EXTENTDB_SEEDS").ok();
    let asked = asked.as_deref().and_then(|asked| asked.split_once(".."));
    let asked = asked.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    asked.unwrap_or(0..12)
}

fn survive(seed: u64) -> Story {
    survive_life(&Life::of(seed))
}

fn survive_life(life: &Life) -> Story {
    live(life).unwrap_or_else(|failure: Box<Failure>| panic!("{failure}"))
}

#[test]
fn the_fixed_seeds_are_survived() {
    let stories: Vec<Story> = seeds().map(survive).collect();
    let sum = |count: fn(&Story) -> u64| stories.iter().map(count).sum::<u64>();
    // A simulation in which nothing happens proves nothing.
    assert!(sum(|story| story.commits) > 100, "commits");
    assert!(sum(|story| story.cuts) > 0, "power cuts");
    assert!(sum(|story| story.damages) > 0, "damages");
}

#[test]
fn lives_in_files_and_logs_that_fill_up_are_survived() {
    let stories: Vec<Story> = seeds().map(|seed| survive_life(&Life::tight(seed))).collect();
    let sum = |count: fn(&Story) -> u64| stories.iter().map(count).sum::<u64>();
    assert!(sum(|story| story.full_logs) > 10, "full logs");
    assert!(sum(|story| story.full_filegroups) > 10, "full filegroups");
    assert!(sum(|story| story.rollbacks) > 10, "rollbacks");
}

#[test]
fn lives_with_every_kind_of_statement_are_survived() {
    seeds().for_each(|seed| drop(survive_life(&Life::rich(seed))));
}

#[test]
fn lives_with_indexes_are_survived() {
    seeds().for_each(|seed| drop(survive_life(&Life::indexed(seed))));
}

#[test]
fn lives_with_columns_that_come_and_go_are_survived() {
    seeds().for_each(|seed| drop(survive_life(&Life::altered(seed))));
}

#[test]
fn equal_seeds_live_equal_lives() {
    assert_eq!(survive(3), survive(3));
}

// Lives that once failed. Each name says what was wrong.

#[test]
fn a_restart_finds_the_rows_of_a_table_that_was_being_made_as_they_were_inserted() {
    survive(4);
}

#[test]
fn a_checkpoint_inside_of_a_truncation_leaves_the_counter_of_rows_alone() {
    survive(5);
}

#[test]
fn the_place_of_a_forwarded_record_that_moves_on_is_free_after_the_commit_only() {
    survive(11);
    survive(14);
}

#[test]
fn a_page_that_could_not_be_formatted_for_want_of_log_goes_back_with_the_rest_of_its_run() {
    survive(120);
}

#[test]
fn a_unit_that_its_transaction_made_and_dropped_goes_with_all_its_pages_after_a_crash() {
    survive(122);
}

#[test]
fn a_unit_whose_first_pages_could_not_be_entered_in_the_catalog_has_none() {
    survive_life(&Life::tight(189));
}

#[test]
fn a_transaction_of_the_system_that_was_refused_its_first_change_is_ended() {
    survive_life(&Life::tight(18));
}

#[test]
fn a_restart_reads_the_catalog_in_the_middle_of_a_description() {
    survive_life(&Life::tight(129));
    survive(680);
}

#[test]
fn a_rollback_in_a_full_log_has_room_to_give_back_the_pages_of_a_table() {
    survive(140);
    survive(210);
}

#[test]
fn other_sessions_find_the_old_table_while_its_name_is_given_to_another() {
    survive_life(&Life::rich(226));
}

#[test]
fn pages_that_an_undo_gave_back_are_taken_by_others_when_the_locks_on_their_rows_are_gone() {
    survive_life(&Life::rich(106));
}

#[test]
fn a_page_that_was_made_before_a_column_was_taken_back_has_rows_without_it() {
    survive_life(&Life::altered(10));
}

#[test]
fn pages_that_were_taken_in_advance_are_known_to_a_heap_whose_columns_were_taken_back() {
    survive_life(&Life::altered(19));
}

#[test]
fn rows_keep_their_uniquifiers_when_their_index_is_rebuilt() {
    survive_life(&Life::altered(16));
}

#[test]
fn a_ghost_may_have_a_column_that_was_taken_back() {
    survive_life(&Life::altered(39));
}

#[test]
fn a_rebuild_of_one_index_leaves_the_counters_of_the_rows_alone() {
    survive_life(&Life::altered(211));
}

#[test]
fn a_rollback_reads_its_log_where_the_file_has_grown() {
    survive_life(&Life::altered(21292));
}

#[test]
fn a_rollback_in_a_full_filegroup_gives_a_row_its_old_length_back() {
    survive_life(&Life::altered(50048));
}

#[test]
fn a_leaf_is_split_beside_a_ghost_that_ends_within_a_column_of_today() {
    survive_life(&Life::altered(8_000_300));
}

#[test]
fn a_checkpoint_in_a_full_log_leaves_the_size_of_a_file_to_the_next_one() {
    survive_life(&Life::altered(50017));
}

#[test]
fn a_rollback_in_a_full_filegroup_and_a_full_log_gives_rows_their_old_length_back() {
    survive_life(&Life { is_tight: true, ..Life::altered(8_001_441) });
}
