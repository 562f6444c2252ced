use extentdb_base::Lsn;

use super::*;
use extentdb_format::mtf::SetFlags;

const FORK: Guid = Guid([1; 16]);
const FULL: Guid = Guid([2; 16]);
const NONE: MtfDate = MtfDate::NONE;

fn lsn(block: u32) -> Lsn {
    Lsn::new(40, block, 1)
}

/// A set that ends at the given blocks of VLF 40, made at that minute.
fn set(name: &str, kind: BackupKind, first: u32, last: u32) -> Candidate {
    let minute = u8::try_from(last).unwrap();
    let at = MtfDate::new(2020, 1, 1, 10, minute, 0);
    let header = SetHeader {
        position: 1,
        backup_set_guid: Guid([u8::try_from(last).unwrap(); 16]),
        backup_name: String::new(),
        backup_description: String::new(),
        kind,
        flags: SetFlags(0),
        is_copy_only: false,
        is_compressed: false,
        expiration_date: NONE,
        user_name: String::new(),
        server_name: String::new(),
        machine_name: String::new(),
        database_name: "d".to_owned(),
        database_version: 661,
        database_creation_date: NONE,
        compatibility_level: 100,
        backup_size: 0,
        compressed_backup_size: 0,
        first_lsn: lsn(first),
        last_lsn: lsn(last),
        checkpoint_lsn: lsn(first),
        database_backup_lsn: Lsn::ZERO,
        fork_point_lsn: None,
        backup_start_date: at,
        backup_finish_date: Some(at),
        time_zone: 0,
        sort_order: 0,
        unicode_locale_id: 0,
        unicode_comparison_style: 0,
        collation: [0; 5],
        software_vendor_id: 0,
        software_version: (10, 0, 0),
        binding_id: Guid([5; 16]),
        family_guid: Guid([6; 16]),
        recovery_fork_id: FORK,
        first_recovery_fork_id: None,
        differential_base_lsn: None,
        differential_base_guid: None,
    };
    Candidate { path: name.into(), media: 0, header }
}

fn full(first: u32, last: u32) -> Candidate {
    let mut set = set("full", BackupKind::Database, first, last);
    set.header.backup_set_guid = FULL;
    set
}

fn differential(name: &str, first: u32, last: u32) -> Candidate {
    let mut set = set(name, BackupKind::Differential, first, last);
    set.header.differential_base_guid = Some(FULL);
    set
}

fn log(name: &str, first: u32, last: u32) -> Candidate {
    set(name, BackupKind::Log, first, last)
}

fn names(sets: &[Candidate], plan: &ChainPlan) -> Vec<String> {
    let chain = [plan.base].into_iter().chain(plan.differential).chain(plan.logs.iter().copied());
    chain.map(|index| sets[index].path.display().to_string()).collect()
}

fn planned(sets: &[Candidate], stop: Option<StopAt>) -> (Vec<String>, Vec<String>) {
    let plan = plan(sets, ChainStart::Full, stop, &[]).unwrap();
    let left_out = plan.left_out.iter().map(|set| set.path.display().to_string()).collect();
    (names(sets, &plan), left_out)
}

#[test]
fn sets_in_any_order_make_the_chain_with_the_newest_differential() {
    let sets = [
        log("c", 20, 30),
        differential("new", 14, 18),
        log("a", 5, 12),
        full(8, 10),
        log("b", 12, 20),
        differential("old", 11, 13),
    ];
    let (chain, left_out) = planned(&sets, None);
    assert_eq!(chain, ["full", "new", "b", "c"]);
    assert_eq!(left_out, ["old", "a"]);
}

#[test]
fn a_gap_names_the_ends_of_both_sides() {
    let sets = [full(8, 10), log("a", 5, 12), log("c", 20, 30)];
    let error = plan(&sets, ChainStart::Full, None, &[]).unwrap_err();
    let Error::Gap { before, after } = &error else { panic!("{error}") };
    assert_eq!((before.last_lsn, after.first_lsn), (lsn(12), lsn(20)));
    let text = error.to_string();
    assert!(
        text.starts_with("the log between 00000028:0000000c:0001 and 00000028:00000014:0001"),
        "{text}"
    );
}

#[test]
fn a_log_of_another_fork_is_refused_and_one_that_spans_the_fork_is_used() {
    let other = Guid([9; 16]);
    let mut foreign = log("b", 12, 20);
    foreign.header.recovery_fork_id = other;
    let sets = [full(8, 10), log("a", 5, 12), foreign.clone()];
    let error = plan(&sets, ChainStart::Full, None, &[]).unwrap_err();
    assert!(matches!(error, Error::OtherFork { fork: FORK, .. }), "{error}");
    foreign.header.fork_point_lsn = Some(lsn(15));
    foreign.header.first_recovery_fork_id = Some(FORK);
    let sets = [full(8, 10), log("a", 5, 12), foreign];
    assert_eq!(planned(&sets, None).0, ["full", "a", "b"]);
}

#[test]
fn a_differential_of_another_full_backup_is_reported_with_its_base() {
    let mut stray = differential("stray", 11, 13);
    stray.header.differential_base_guid = Some(Guid([7; 16]));
    let error = plan(&[full(8, 10), stray], ChainStart::Full, None, &[]).unwrap_err();
    assert!(error.to_string().contains("07070707-0707"), "{error}");
}

#[test]
fn a_set_of_another_family_is_foreign() {
    let mut foreign = log("foreign", 9, 12);
    foreign.header.family_guid = Guid([8; 16]);
    let error = plan(&[full(8, 10), foreign], ChainStart::Full, None, &[]).unwrap_err();
    assert!(matches!(error, Error::SetOfOtherDatabase { .. }), "{error}");
}

#[test]
fn sets_after_the_stop_are_left_out() {
    let sets = [
        full(8, 10),
        differential("new", 24, 28),
        log("a", 9, 20),
        log("b", 20, 30),
        log("c", 30, 40),
        log("d", 40, 50),
    ];
    let stop = StopAt::Time("2020-01-01T10:25".parse().unwrap());
    let (chain, left_out) = planned(&sets, Some(stop));
    assert_eq!(chain, ["full", "a", "b"]);
    assert_eq!(left_out, ["new", "c", "d"]);
    assert_eq!(planned(&sets, Some(StopAt::Lsn(lsn(25)))).0, ["full", "a", "b"]);
}

#[test]
fn log_backups_alone_are_a_chain_only_without_a_database() {
    let sets = [log("b", 12, 20), log("a", 5, 12)];
    assert!(plan(&sets, ChainStart::Full, None, &[]).is_err());
    let plan = plan(&sets, ChainStart::Any, None, &[]).unwrap();
    assert_eq!(names(&sets, &plan), ["a", "b"]);
}
