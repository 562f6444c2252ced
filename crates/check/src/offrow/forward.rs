//! Forwarding stubs against forwarded records (`docs/check.md` 7).
//!
//! ```text
//! stub at (1:354:12)            04 | 6b 01 00 00 | 01 00 | 00 00                  -> (1:363:0)
//! forwarded record's last column 00 04 | 62 01 00 00 | 01 00 | 0c 00              <- (1:354:12)
//!
//! stub without a forwarded record                                        8993
//! stub of a record whose back pointer names another stub of that record 8972
//! stub of a record whose back pointer names something else             8971
//! forwarded record without a stub                                      8994
//! ```
//!
//! A forwarded record that is deleted may lack its stub, and its stub may still be there.

use std::collections::BTreeSet;

use extentdb_base::{PageId, Rid};
use extentdb_messages::Arg;

use super::exact::ExactFacts;
use super::read::{Forwarded, Stub};
use super::report::Reporter;
use crate::finding::{Location, page_arg};
use crate::unit::{Unit, UnitIndex};

/// Reports everything that is wrong about the forwarded records at some places, of units whose
/// facts are all known.
pub(super) fn verify_forwarding(
    places: &[Rid],
    facts: &ExactFacts,
    certain: &BTreeSet<UnitIndex>,
    reporter: &mut Reporter<'_>,
) {
    for place in places {
        let record = facts.forwarded.get(place).filter(|record| certain.contains(&record.unit));
        let stubs = facts.stubs.get(place).map_or(&[][..], Vec::as_slice);
        for stub in stubs.iter().filter(|stub| certain.contains(&stub.unit)) {
            verify_stub(stub, record, stubs, reporter);
        }
        if let Some(record) = record.filter(|record| !record.is_ghost && stubs.is_empty()) {
            lost_stub(record, reporter);
        }
    }
}

fn verify_stub(
    stub: &Stub,
    record: Option<&Forwarded>,
    stubs: &[Stub],
    reporter: &mut Reporter<'_>,
) {
    let Some(record) = record.filter(|record| record.unit == stub.unit) else {
        return lost_record(stub, reporter);
    };
    if record.back == stub.rid || record.is_ghost {
        return;
    }
    let is_claimed = stubs.iter().any(|other| other.rid == record.back);
    reporter.of_unit(stub.unit, |unit| {
        let error = if is_claimed { 8972 } else { 8971 };
        let rids = [stub.rid, stub.target, record.back];
        let args =
            partition_args(unit).into_iter().chain(rids.into_iter().flat_map(rid_args)).collect();
        (error, args, at(stub.rid), [stub.target.page, record.back.page])
    });
}

/// 8993: a forwarding stub whose row is not there.
fn lost_record(stub: &Stub, reporter: &mut Reporter<'_>) {
    reporter.of_unit(stub.unit, |unit| {
        let rids = [stub.rid, stub.target].into_iter().flat_map(rid_args);
        let args = std::iter::once(unit.owner.object.0.into()).chain(rids).collect();
        (8993, args, at(stub.rid), [stub.target.page, PageId::NONE])
    });
}

/// 8994: a forwarded row whose stub is not there.
fn lost_stub(record: &Forwarded, reporter: &mut Reporter<'_>) {
    reporter.of_unit(record.unit, |unit| {
        let rids = [record.rid, record.back].into_iter().flat_map(rid_args);
        let args = std::iter::once(unit.owner.object.0.into()).chain(rids).collect();
        (8994, args, at(record.rid), [record.back.page, PageId::NONE])
    });
}

/// Object, partition, unit and type: these messages leave out the index, which is always 0.
fn partition_args(unit: &Unit) -> [Arg<'static>; 4] {
    let [object, _, partition, id, kind] = unit.args();
    [object, partition, id, kind]
}

/// A slot as two arguments.
pub(super) fn rid_args(rid: Rid) -> [Arg<'static>; 2] {
    [page_arg(rid.page), rid.slot.0.into()]
}

/// A slot as a place.
pub(super) fn at(rid: Rid) -> Location {
    Location::page(rid.page).slot(rid.slot.0)
}
