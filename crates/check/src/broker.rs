//! Service Broker: how many of each of its things there are (`docs/check.md` 11 and 13). Whether
//! they fit together (8997) is not checked, and the report says so.
//!
//! ```text
//! sysbinobjs  class 21 message types  9675  sysschobjs      type SQ: queues          9668
//!             class 22 contracts      9676  sysdesend       conversation endpoints   9669
//!             class 23 services       9667  sysconvgroup    conversation groups      9674
//!                                           sysremsvcbinds  remote service bindings  9670
//! ```

use extentdb_base::{ObjectId, PageId};
use extentdb_catalog::bootstrap::Bootstrap;
use extentdb_catalog::system::{SystemRow, SystemTables, object};
use extentdb_reader::{CheckedPages, PageSource};

const SYSBINOBJS: ObjectId = ObjectId(58);
const SYSREMSVCBINDS: ObjectId = ObjectId(67);
const SYSCONVGROUP: ObjectId = ObjectId(71);
const SYSDESEND: ObjectId = ObjectId(72);

/// Classes of `sysbinobjs`.
const MESSAGE_TYPE: i64 = 21;
const CONTRACT: i64 = 22;
const SERVICE: i64 = 23;

/// Which rows of a table are counted.
type Counts = fn(&SystemRow<'_>) -> bool;

/// The lines in the order of the report: message, table, rows.
const LINES: [(u32, ObjectId, Counts); 7] = [
    (9675, SYSBINOBJS, |row| row.int(1) == Some(MESSAGE_TYPE)),
    (9676, SYSBINOBJS, |row| row.int(1) == Some(CONTRACT)),
    (9667, SYSBINOBJS, |row| row.int(1) == Some(SERVICE)),
    (9668, object::SYSSCHOBJS, |row| row.ascii(6).is_some_and(|kind| kind == "SQ")),
    (9669, SYSDESEND, |_| true),
    (9674, SYSCONVGROUP, |_| true),
    (9670, SYSREMSVCBINDS, |_| true),
];

/// What each line counts. A table that the version does not have, or that cannot be read in full,
/// has no line.
pub(crate) fn broker_counts(source: &dyn PageSource, first_sys_indexes: PageId) -> Vec<(u32, u64)> {
    let pages = CheckedPages::new(source);
    let bootstrap = Bootstrap::load(&pages, first_sys_indexes);
    let tables = SystemTables::new(&pages, &bootstrap);
    let count = |(number, table, counts): (u32, ObjectId, Counts)| {
        let mut faults = Vec::new();
        let mut rows = 0;
        let exists = tables.each(table, &mut faults, |row| rows += u64::from(counts(row)));
        (exists && faults.is_empty()).then_some((number, rows))
    };
    LINES.into_iter().filter_map(count).collect()
}
