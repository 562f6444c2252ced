//! Partition functions and schemes: which partition a row belongs to, and which filegroup that
//! partition lies in.
//!
//! ```text
//! boundaries      10        20        30
//! RANGE LEFT   1 ]    2    ]    3    ]    4  a boundary value belongs to the partition on its left
//! RANGE RIGHT  1  [   2     [   3     [   4  … on its right
//! ```
//!
//! NULL sorts lowest, so it belongs to partition 1. The semantics are public documentation; no real
//! file with partitions was at hand, so the place of the parts in the base tables is unverified.

use std::cmp::Ordering;

use extentdb_types::{Datum, SqlType};

use crate::model::{Catalog, Index};

/// A partition function.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionFunction {
    /// `sys.partition_functions.function_id`, stored as `sysclsobjs.id`.
    pub id: i32,
    /// Name of the function, stored as `sysclsobjs.name`.
    pub name: String,
    /// Type of its parameter; `None` when it was not found or not understood.
    pub ty: Option<SqlType>,
    /// RANGE RIGHT: a boundary value belongs to the partition on its right.
    pub range_right: bool,
    /// Boundary values, strictly ascending.
    pub boundaries: Vec<Datum<'static>>,
    /// Type and boundaries were found, understood and agree with the schemes. Otherwise no row is
    /// placed.
    pub is_known: bool,
}

/// A partition scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionScheme {
    /// Its id as a data space.
    pub id: i32,
    /// Name of the scheme, stored as `sysclsobjs.name`.
    pub name: String,
    /// The function; 0 when it was not found.
    pub function: i32,
    /// Filegroups by partition; one more than there are partitions is the next one to be used.
    pub filegroups: Vec<i32>,
}

impl PartitionFunction {
    /// Number of partitions.
    pub fn partitions(&self) -> i32 {
        self.boundaries.len() as i32 + 1
    }

    /// The partition, from 1, that a value of the partitioning column belongs to. `None`: it cannot
    /// be told.
    pub fn partition_of(&self, value: &Datum<'_>) -> Option<i32> {
        if !self.is_known {
            return None;
        }
        if value.is_null() {
            return Some(1);
        }
        let ty = self.ty.as_ref()?;
        let mut low = 0;
        let mut high = self.boundaries.len();
        while low < high {
            let middle = low.midpoint(high);
            let is_right_of = match compare(ty, value, self.boundaries.get(middle)?)? {
                Ordering::Less => false,
                Ordering::Equal => self.range_right,
                Ordering::Greater => true,
            };
            if is_right_of {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low as i32 + 1)
    }
}

impl Catalog {
    /// The scheme that an index is partitioned by.
    pub fn partition_scheme_of(&self, index: &Index) -> Option<&PartitionScheme> {
        self.partition_schemes.iter().find(|scheme| scheme.id == index.data_space)
    }

    /// The function that decides the partition of an index's rows, and the column it is asked for.
    pub fn partition_function_of(&self, index: &Index) -> Option<(&PartitionFunction, i32)> {
        let scheme = self.partition_scheme_of(index)?;
        let function =
            self.partition_functions.iter().find(|function| function.id == scheme.function)?;
        let column = index.columns.iter().find(|column| column.partition_ordinal == 1)?;
        Some((function, column.column_id))
    }
}

/// Compares two values of a type that a partition function can have. `None`: of different types, or
/// undecided.
pub fn compare(ty: &SqlType, a: &Datum<'_>, b: &Datum<'_>) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        return Some(a.cmp(&b));
    }
    match (a, b) {
        (Datum::Decimal(a), Datum::Decimal(b)) => Some(a.cmp(b)),
        (Datum::Money(a), Datum::Money(b)) => Some(a.cmp(b)),
        (Datum::SmallMoney(a), Datum::SmallMoney(b)) => Some(a.cmp(b)),
        (Datum::Float(a), Datum::Float(b)) => a.partial_cmp(b),
        (Datum::Real(a), Datum::Real(b)) => a.partial_cmp(b),
        (Datum::DateTime(a), Datum::DateTime(b)) => Some(a.cmp(b)),
        (Datum::SmallDateTime(a), Datum::SmallDateTime(b)) => Some(a.cmp(b)),
        (Datum::Date(a), Datum::Date(b)) => Some(a.cmp(b)),
        (Datum::Time(a), Datum::Time(b)) => Some(a.cmp(b)),
        (Datum::DateTime2(a), Datum::DateTime2(b)) => Some(a.cmp(b)),
        (Datum::DateTimeOffset(a), Datum::DateTimeOffset(b)) => Some(a.utc().cmp(&b.utc())),
        (Datum::Guid(a), Datum::Guid(b)) => Some(a.cmp(b)),
        (Datum::Char(a), Datum::Char(b)) => {
            ty.collation()?.compare_char(&a.bytes, &b.bytes).ordering()
        }
        (Datum::NChar(a), Datum::NChar(b)) => {
            ty.collation()?.compare_nchar(&a.bytes, &b.bytes).ordering()
        }
        (Datum::Binary(a), Datum::Binary(b)) => Some(compare_padded(a, b)),
        _ => None,
    }
}

fn integer(value: &Datum<'_>) -> Option<i64> {
    match value {
        Datum::Bit(value) => Some(i64::from(*value)),
        Datum::TinyInt(value) => Some(i64::from(*value)),
        Datum::SmallInt(value) => Some(i64::from(*value)),
        Datum::Int(value) => Some(i64::from(*value)),
        Datum::BigInt(value) => Some(*value),
        _ => None,
    }
}

/// Binary values compare as if the shorter one were padded with zeros.
fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let len = a.len().max(b.len());
    let padded = |bytes: &[u8]| {
        bytes.iter().copied().chain(std::iter::repeat(0)).take(len).collect::<Vec<u8>>()
    };
    padded(a).cmp(&padded(b))
}

#[cfg(test)]
mod tests {
    use extentdb_types::{Collation, DateTime, NText};

    use super::*;

    fn function(range_right: bool, boundaries: &[i32]) -> PartitionFunction {
        PartitionFunction {
            id: 65_536,
            name: "pf".to_owned(),
            ty: Some(SqlType::Int),
            range_right,
            boundaries: boundaries.iter().map(|value| Datum::Int(*value)).collect(),
            is_known: true,
        }
    }

    #[test]
    fn a_boundary_value_belongs_to_the_side_the_function_names() {
        let left = function(false, &[10, 20, 30]);
        let right = function(true, &[10, 20, 30]);
        let cases = [(9, 1, 1), (10, 1, 2), (11, 2, 2), (20, 2, 3), (30, 3, 4), (31, 4, 4)];
        for (value, on_left, on_right) in cases {
            let value = Datum::Int(value);
            assert_eq!(left.partition_of(&value), Some(on_left), "{value:?}");
            assert_eq!(right.partition_of(&value), Some(on_right), "{value:?}");
        }
    }

    #[test]
    fn null_is_in_the_first_partition_and_a_function_without_boundaries_has_one() {
        assert_eq!(function(true, &[10]).partition_of(&Datum::Null), Some(1));
        assert_eq!(function(true, &[]).partition_of(&Datum::Int(i32::MAX)), Some(1));
    }

    #[test]
    fn an_uncertain_partition_is_none() {
        let unknown = PartitionFunction { is_known: false, ..function(true, &[10]) };
        assert_eq!(unknown.partition_of(&Datum::Int(1)), None);
        assert_eq!(unknown.partition_of(&Datum::Null), None);
        let days = Datum::DateTime(DateTime::new(1, 0).unwrap());
        assert_eq!(function(true, &[10]).partition_of(&days), None, "a value of another type");
        let text = |text: &str| {
            Datum::NChar(NText {
                bytes: text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>().into(),
            })
        };
        let ty = SqlType::NVarChar { len: Some(20), collation: Collation(0x3400_d008) };
        let by_name = PartitionFunction {
            ty: Some(ty),
            boundaries: vec![text("m")],
            ..function(true, &[])
        };
        assert_eq!(by_name.partition_of(&text("Lyon")), Some(1));
        assert_eq!(by_name.partition_of(&text("Porto")), Some(2));
        assert_eq!(
            by_name.partition_of(&text("\u{65e5}\u{672c}")),
            None,
            "order beyond Latin is undecided"
        );
    }

    #[test]
    fn binary_values_of_different_length_compare_as_padded_with_zeros() {
        assert_eq!(compare_padded(&[1], &[1, 0]), Ordering::Equal);
        assert_eq!(compare_padded(&[1, 1], &[1]), Ordering::Greater);
    }
}
