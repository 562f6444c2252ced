//! Partition functions and schemes.
//!
//! ```text
//! sysclsobjs       class 30: function (id, name, status 0x1 = RANGE RIGHT); class 31, type PS:
//!                  scheme (id, name)
//! systypedsubobjs  idmajor = function, subid 1: type of the parameter
//! sysobjvalues     objid = function, one row per boundary, in order of (subobjid, valnum): value,
//!                  a sql_variant
//! syssingleobjrefs depid = scheme, depsubid 0, indepid = function; depsubid 1 … n, indepid =
//!                  filegroup
//! ```
//!
//! Public: that these tables hold them, and the columns of the catalog views over them. Not
//! known: the class numbers of the last two, so rows are told by what they lead to, and what does
//! not fit together is left unknown.

use std::collections::BTreeMap;

use extentdb_types::{Datum, SqlType};

use super::Loader;
use crate::model::DataSpace;
use crate::partition::{PartitionFunction, PartitionScheme, compare};
use crate::system::{SystemRow, object};

const CLASS_FUNCTION: i64 = 30;
const STATUS_RANGE_RIGHT: u32 = 0x1;
const PARTITION_SCHEME: &str = "PS";
/// SQL Server's limit.
const PARTITIONS_MAX: usize = 15_000;

/// A boundary as found: its place, then its value.
type Found = ((i32, i32), Datum<'static>);

impl Loader<'_> {
    pub(super) fn partitions(
        &mut self,
        spaces: &[DataSpace],
    ) -> (Vec<PartitionFunction>, Vec<PartitionScheme>) {
        let mut functions = self.partition_functions();
        if functions.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let schemes = self.partition_schemes(spaces, &functions);
        self.parameter_types(&mut functions);
        let mut candidates = self.boundary_candidates(&functions);
        for function in functions.values_mut() {
            resolve(function, candidates.remove(&function.id).unwrap_or_default(), &schemes);
        }
        (functions.into_values().collect(), schemes)
    }

    fn partition_functions(&mut self) -> BTreeMap<i32, PartitionFunction> {
        let mut out = BTreeMap::new();
        self.tables.each(object::SYSCLSOBJS, &mut self.faults, |row| {
            let (Some(class), Some(id), Some(name)) = (row.int(1), row.int32(2), row.text(3))
            else {
                return;
            };
            if class == CLASS_FUNCTION {
                let range_right =
                    row.bits(4).is_some_and(|status| status & STATUS_RANGE_RIGHT != 0);
                let boundaries = Vec::new();
                let function = PartitionFunction {
                    id,
                    name,
                    ty: None,
                    range_right,
                    boundaries,
                    is_known: false,
                };
                out.insert(id, function);
            }
        });
        out
    }

    fn parameter_types(&mut self, functions: &mut BTreeMap<i32, PartitionFunction>) {
        // By public documentation only parameters of partition functions are in this table.
        self.tables.each(object::SYSTYPEDSUBOBJS, &mut self.faults, |row| {
            let function = row.int32(2).and_then(|id| functions.get_mut(&id));
            if let Some(function) = function.filter(|_| row.int32(3) == Some(1)) {
                function.ty = parameter_type(row);
            }
        });
    }

    fn partition_schemes(
        &mut self,
        spaces: &[DataSpace],
        functions: &BTreeMap<i32, PartitionFunction>,
    ) -> Vec<PartitionScheme> {
        let schemes = spaces.iter().filter(|space| space.kind == PARTITION_SCHEME);
        let scheme = |space: &DataSpace| PartitionScheme {
            id: space.id,
            name: space.name.clone(),
            function: 0,
            filegroups: Vec::new(),
        };
        let mut out: Vec<PartitionScheme> = schemes.map(scheme).collect();
        let is_filegroup =
            |id: i32| spaces.iter().any(|space| space.id == id && space.kind != PARTITION_SCHEME);
        let mut destinations: BTreeMap<(i32, i64), BTreeMap<i32, i32>> = BTreeMap::new();
        self.tables.each(object::SYSSINGLEOBJREFS, &mut self.faults, |row| {
            let (Some(class), Some(from), Some(sub)) = (row.int(1), row.int32(2), row.int32(3))
            else {
                return;
            };
            let (Some(to), Some(scheme)) =
                (row.int32(4), out.iter_mut().find(|scheme| scheme.id == from))
            else {
                return;
            };
            if sub == 0 && functions.contains_key(&to) {
                scheme.function = to;
            } else if sub > 0 && is_filegroup(to) {
                destinations.entry((from, class)).or_default().insert(sub, to);
            }
        });
        for scheme in &mut out {
            scheme.filegroups = only_complete(scheme.id, &destinations);
        }
        out
    }

    fn boundary_candidates(
        &mut self,
        functions: &BTreeMap<i32, PartitionFunction>,
    ) -> BTreeMap<i32, BTreeMap<u8, Vec<Found>>> {
        let mut out: BTreeMap<i32, BTreeMap<u8, Vec<Found>>> = BTreeMap::new();
        self.tables.each(object::SYSOBJVALUES, &mut self.faults, |row| {
            let (Some(class), Some(id), Some(sub)) = (row.int8(1), row.int32(2), row.int32(3))
            else {
                return;
            };
            let position = (sub, row.int32(4).unwrap_or(0));
            if !functions.contains_key(&id) {
                return;
            }
            let values = out.entry(id).or_default().entry(class).or_default();
            if let Some(value) = boundary(row).filter(|_| values.len() < PARTITIONS_MAX) {
                values.push((position, value));
            }
        });
        out
    }
}

/// The destinations of a scheme: the one class whose rows are numbered 1, 2, 3 … without a gap.
fn only_complete(scheme: i32, all: &BTreeMap<(i32, i64), BTreeMap<i32, i32>>) -> Vec<i32> {
    let mut complete = all
        .iter()
        .filter(|((id, _), found)| {
            *id == scheme && found.keys().copied().eq(1..=found.len() as i32)
        })
        .map(|(_, found)| found.values().copied().collect());
    match (complete.next(), complete.next()) {
        (Some(filegroups), None) => filegroups,
        _ => Vec::new(),
    }
}

fn parameter_type(row: &SystemRow<'_>) -> Option<SqlType> {
    let length = row.int(7)? as i16;
    let prec = row.int8(8)?;
    let scale = row.int8(9)?;
    let collation = row.bits(10)?;
    SqlType::from_column(row.int8(5)?, row.int32(6)?, length, prec, scale, collation)
}

fn boundary(row: &SystemRow<'_>) -> Option<Datum<'static>> {
    let bytes = row.bytes(5).filter(|bytes| !bytes.is_empty())?;
    match Datum::decode(&SqlType::SqlVariant, &bytes).ok()? {
        Datum::Variant(variant) => Some(variant.into_owned().value),
        _ => None,
    }
}

/// Takes the boundaries when exactly one class of values can be them.
fn resolve(
    function: &mut PartitionFunction,
    found: BTreeMap<u8, Vec<Found>>,
    schemes: &[PartitionScheme],
) {
    let Some(ty) = function.ty else { return };
    let mut fitting = found.into_values().filter_map(|values| ascending(&ty, values));
    let boundaries = match (fitting.next(), fitting.next()) {
        (Some(boundaries), None) => boundaries,
        // Without boundaries there is one partition and nothing to judge; it may also be that they
        // were not found.
        _ => return,
    };
    // Each scheme has a filegroup for each partition, and may have one more for the next.
    let partitions = boundaries.len() + 1;
    let mut own = schemes.iter().filter(|scheme| scheme.function == function.id);
    function.is_known =
        own.all(|scheme| (partitions..=partitions + 1).contains(&scheme.filegroups.len()));
    function.boundaries = boundaries;
}

/// The values in their order, when they are comparable and each is more than the one before.
fn ascending(ty: &SqlType, mut values: Vec<Found>) -> Option<Vec<Datum<'static>>> {
    values.sort_by_key(|(position, _)| *position);
    let values: Vec<Datum<'static>> = values.into_iter().map(|(_, value)| value).collect();
    let is_first = values.first().is_some_and(|first| compare(ty, first, first).is_some());
    let ascends = values.windows(2).all(|pair| {
        let [a, b] = pair else { return false };
        compare(ty, a, b) == Some(std::cmp::Ordering::Less)
    });
    (is_first && ascends).then_some(values)
}
