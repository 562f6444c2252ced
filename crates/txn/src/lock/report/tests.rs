//! Golden texts: the example of SQL Server's documentation of both flags, as far as our facts go.

use extentdb_base::{PageId, Rid};

use super::*;
use crate::lock::Timeout;

const SECOND: HobtId = HobtId(72_057_594_057_457_664);
const HEAP: HobtId = HobtId(72_057_594_057_392_128);

fn owner(number: u32) -> XactId {
    XactId { high: 0, low: number }
}

fn node(
    owner: u32,
    resource: Resource,
    mode: LockMode,
    (blocker, held): (u32, LockMode),
    cost: u64,
) -> DeadlockNode {
    let request =
        LockRequest::new(self::owner(owner), resource, mode).costing(cost).of_table(ObjectId(77));
    DeadlockNode {
        request,
        status: LockStatus::Wait,
        wait_time: Duration::from_millis(1359),
        granted: held,
        blocker: Blocker {
            owner: self::owner(blocker),
            mode: held,
            status: LockStatus::Grant,
        },
    }
}

/// A row of a heap and a key of an index, crosswise.
fn crosswise() -> DeadlockReport {
    let row = Resource::Rid(Rid::new(PageId::new(1, 20_789), 0));
    let key = Resource::Key(SECOND, 0x3500_07a4_d329);
    let mut second = node(0x55, key, LockMode::U, (0x54, LockMode::X), 380);
    (second.request.priority, second.request.timeout) =
        (-5, Timeout::After(Duration::from_secs(9)));
    second.wait_time = Duration::ZERO;
    let nodes = vec![node(0x54, row, LockMode::U, (0x55, LockMode::X), 868), second];
    DeadlockReport { nodes, victim: owner(0x55) }
}

/// Two owners have read the range before the end of an index and are about to insert into it; a
/// third one waits for the first.
fn ranges() -> DeadlockReport {
    let end = Resource::end_of(SECOND);
    let convert = |own, other| DeadlockNode {
        status: LockStatus::Convert,
        ..node(own, end, LockMode::RiN, (other, LockMode::RsS), 0)
    };
    let ahead = Blocker {
        owner: owner(2),
        mode: LockMode::RxS,
        status: LockStatus::Convert,
    };
    let behind = DeadlockNode {
        blocker: ahead,
        ..node(3, end, LockMode::S, (2, LockMode::RsS), 0)
    };
    DeadlockReport {
        nodes: vec![convert(1, 3), behind, convert(2, 1)],
        victim: owner(1),
    }
}

struct Known;

impl LockNames for Known {
    fn database(&self) -> Option<u16> {
        Some(6)
    }

    fn session(&self, owner: XactId) -> Option<u16> {
        Some(owner.low as u16 - 0x54 + 54)
    }

    fn transaction(&self, _: XactId) -> Option<String> {
        Some("user_transaction".to_owned())
    }

    fn table(&self, table: ObjectId) -> Option<String> {
        (table == ObjectId(77)).then(|| "Shop.dbo.T1".to_owned())
    }

    fn index(&self, rowset: HobtId) -> Option<String> {
        (rowset == SECOND).then(|| "nci_T1_COL1".to_owned())
    }

    fn rowset(&self, _: Resource) -> Option<HobtId> {
        Some(HEAP)
    }
}

#[track_caller]
fn check(lines: &[String], expected: &str) {
    assert_eq!(lines.join("\n"), expected.trim_matches('\n'), "\n{}", lines.join("\n"));
}

#[test]
fn trace_flag_1204_prints_the_cycle_node_by_node() {
    check(
        &crosswise().graph(&Known),
        "
Deadlock encountered .... Printing deadlock information
Wait-for graph

Node:1
RID: 6:1:20789:0 Mode:X
 Grant List 0:
   Owner:0000:00000055 Mode: X SPID:55
 Requested By:
   ResType:LockOwner Stype:'OR'Xdes:0000:00000054 Mode: U SPID:54 Cost:(0/868)

Node:2
KEY: 6:72057594057457664 (350007a4d329) Mode:X
 Grant List 0:
   Owner:0000:00000054 Mode: X SPID:54
 Requested By:
   ResType:LockOwner Stype:'OR'Xdes:0000:00000055 Mode: U SPID:55 Cost:(-5/380)

Victim Resource Owner:
 ResType:LockOwner Stype:'OR'Xdes:0000:00000055 Mode: U SPID:55 Cost:(-5/380)
",
    );
}

#[test]
fn trace_flag_1222_prints_processes_and_resources() {
    check(
        &crosswise().list(&Known),
        "
deadlock-list
 deadlock victim=process55
  process-list
   process id=process54 logused=868 waitresource=RID: 6:1:20789:0 waittime=1359 ownerId=84 \
transactionname=user_transaction lockMode=U status=suspended spid=54 priority=0 xactid=84 currentdb=6 \
lockTimeout=4294967295
   process id=process55 logused=380 waitresource=KEY: 6:72057594057457664 (350007a4d329) waittime=0 ownerId=85 \
transactionname=user_transaction lockMode=U status=suspended spid=55 priority=-5 xactid=85 currentdb=6 \
lockTimeout=9000
  resource-list
   ridlock fileid=1 pageid=20789 dbid=6 objectname=Shop.dbo.T1 id=lock1 mode=X associatedObjectId=72057594057392128
    owner-list
     owner id=process55 mode=X
    waiter-list
     waiter id=process54 mode=U requestType=wait
   keylock hobtid=72057594057457664 dbid=6 objectname=Shop.dbo.T1 indexname=nci_T1_COL1 id=lock2 mode=X \
associatedObjectId=72057594057457664
    owner-list
     owner id=process54 mode=X
    waiter-list
     waiter id=process55 mode=U requestType=wait
",
    );
}

#[test]
fn unknown_names_are_left_out_and_waiters_differ_from_holders() {
    check(
        &ranges().graph(&NoNames),
        "
Deadlock encountered .... Printing deadlock information
Wait-for graph

Node:1
KEY: 72057594057457664 (ffffffffffff) Mode:RangeS-S
 Grant List 0:
   Owner:0000:00000003 Mode: RangeS-S
 Requested By:
   ResType:LockOwner Stype:'OR'Xdes:0000:00000001 Mode: RangeI-N Cost:(0/0)

Node:2
KEY: 72057594057457664 (ffffffffffff) Mode:RangeS-S
 Convert List:
   Owner:0000:00000002 Mode: RangeX-S
 Requested By:
   ResType:LockOwner Stype:'OR'Xdes:0000:00000003 Mode: S Cost:(0/0)

Node:3
KEY: 72057594057457664 (ffffffffffff) Mode:RangeS-S
 Grant List 0:
   Owner:0000:00000001 Mode: RangeS-S
 Requested By:
   ResType:LockOwner Stype:'OR'Xdes:0000:00000002 Mode: RangeI-N Cost:(0/0)

Victim Resource Owner:
 ResType:LockOwner Stype:'OR'Xdes:0000:00000001 Mode: RangeI-N Cost:(0/0)
",
    );
    let list = ranges().list(&NoNames);
    let first = "   process id=process1 logused=0 waitresource=KEY: 72057594057457664 (ffffffffffff) waittime=1359 \
                 ownerId=1 lockMode=RangeI-N status=suspended priority=0 xactid=1 lockTimeout=4294967295";
    let key = "   keylock hobtid=72057594057457664 id=lock2 mode=RangeS-S associatedObjectId=72057594057457664";
    for line in [
        first,
        key,
        "     owner id=process2 mode=RangeX-S requestType=convert",
        "     waiter id=process1 mode=RangeI-N requestType=convert",
    ] {
        assert!(list.iter().any(|own| own == line), "{line}\n{}", list.join("\n"));
    }
}

#[test]
fn every_kind_of_resource_has_its_line() {
    let page = PageId::new(1, 77);
    let kinds = [
        (Resource::Database, "DATABASE: 6", "databaselock subresource=FULL dbid=6"),
        (
            Resource::Object(ObjectId(77)),
            "OBJECT: 6:77:0",
            "objectlock lockPartition=0 objid=77 subresource=FULL",
        ),
        (
            Resource::Hobt(SECOND),
            "HOBT: 6:72057594057457664",
            "hobtlock hobtid=72057594057457664 subresource=FULL",
        ),
        (
            Resource::Page(page),
            "PAGE: 6:1:77",
            "pagelock fileid=1 pageid=77 dbid=6 objectname=Shop.dbo.T1",
        ),
        (
            Resource::Extent(page.extent()),
            "EXTENT: 6:1:72",
            "extentlock fileid=1 pageid=72 dbid=6 id=lock1",
        ),
        (
            Resource::Metadata { class: 3, id: 9 },
            "METADATA: 6:3:9",
            "metadatalock class=3 id=9 dbid=6",
        ),
        (
            Resource::AllocUnit(extentdb_base::AllocUnitId(4)),
            "ALLOCATION_UNIT: 6:4",
            "allocunitlock allocunitid=4",
        ),
    ];
    for (resource, wait, element) in kinds {
        let one = node(0x54, resource, LockMode::X, (0x54, LockMode::S), 0);
        let list = DeadlockReport { nodes: vec![one], victim: owner(0x54) }.list(&Known);
        assert!(list[3].contains(&format!("waitresource={wait} ")), "{}", list[3]);
        assert!(list[5].starts_with(&format!("   {element}")), "{}", list[5]);
    }
}
