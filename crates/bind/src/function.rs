//! Aggregates and window functions: names, and the types of their results.

use extentdb_types::SqlType;

/// An aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "variants are functions")]
pub enum Aggregate {
    Count,
    CountBig,
    Sum,
    Avg,
    Min,
    Max,
    StDev,
    StDevP,
    Var,
    VarP,
    StringAgg,
    ChecksumAgg,
    ApproxCountDistinct,
    ApproxPercentileCont,
    ApproxPercentileDisc,
}

/// A function over the rows of a window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "variants are functions")]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    NTile,
    PercentRank,
    CumeDist,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    PercentileCont,
    PercentileDisc,
    Aggregate(Aggregate),
}

const AGGREGATES: [(&str, Aggregate); 15] = [
    ("count", Aggregate::Count),
    ("count_big", Aggregate::CountBig),
    ("sum", Aggregate::Sum),
    ("avg", Aggregate::Avg),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
    ("stdev", Aggregate::StDev),
    ("stdevp", Aggregate::StDevP),
    ("var", Aggregate::Var),
    ("varp", Aggregate::VarP),
    ("string_agg", Aggregate::StringAgg),
    ("checksum_agg", Aggregate::ChecksumAgg),
    ("approx_count_distinct", Aggregate::ApproxCountDistinct),
    ("approx_percentile_cont", Aggregate::ApproxPercentileCont),
    ("approx_percentile_disc", Aggregate::ApproxPercentileDisc),
];

const WINDOW_FUNCTIONS: [(&str, WindowFunction); 12] = [
    ("row_number", WindowFunction::RowNumber),
    ("rank", WindowFunction::Rank),
    ("dense_rank", WindowFunction::DenseRank),
    ("ntile", WindowFunction::NTile),
    ("percent_rank", WindowFunction::PercentRank),
    ("cume_dist", WindowFunction::CumeDist),
    ("lag", WindowFunction::Lag),
    ("lead", WindowFunction::Lead),
    ("first_value", WindowFunction::FirstValue),
    ("last_value", WindowFunction::LastValue),
    ("percentile_cont", WindowFunction::PercentileCont),
    ("percentile_disc", WindowFunction::PercentileDisc),
];

impl Aggregate {
    /// An aggregate by its name, whatever its case.
    pub fn named(name: &str) -> Option<Aggregate> {
        AGGREGATES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, it)| *it)
    }

    /// Its name in small letters.
    pub fn name(self) -> &'static str {
        AGGREGATES.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }

    /// Type of the result over values of a type; `None`: it does not take them (8117).
    pub fn result(self, argument: &SqlType) -> Option<SqlType> {
        use SqlType::{
            BigInt, Binary, Bit, Decimal, Float, Image, Int, Money, NText, Numeric, Real, SmallInt,
            SmallMoney, SqlVariant, Text, TinyInt, VarBinary, Xml,
        };
        let is_lob = matches!(argument, Text { .. } | NText { .. } | Image | Xml);
        match self {
            Aggregate::Count | Aggregate::ApproxCountDistinct if is_lob => None,
            Aggregate::Count => Some(Int),
            Aggregate::CountBig | Aggregate::ApproxCountDistinct => Some(BigInt),
            Aggregate::Min | Aggregate::Max if is_lob || *argument == Bit => None,
            Aggregate::Min | Aggregate::Max => Some(*argument),
            Aggregate::Sum | Aggregate::Avg => match *argument {
                TinyInt | SmallInt | Int => Some(Int),
                BigInt => Some(BigInt),
                Money | SmallMoney => Some(Money),
                Float | Real => Some(Float),
                Decimal { scale, .. } if self == Aggregate::Sum => {
                    Some(Decimal { precision: 38, scale })
                }
                Numeric { scale, .. } if self == Aggregate::Sum => {
                    Some(Numeric { precision: 38, scale })
                }
                Decimal { scale, .. } => Some(Decimal { precision: 38, scale: scale.max(6) }),
                Numeric { scale, .. } => Some(Numeric { precision: 38, scale: scale.max(6) }),
                _ => None,
            },
            Aggregate::StDev
            | Aggregate::StDevP
            | Aggregate::Var
            | Aggregate::VarP
            | Aggregate::ApproxPercentileCont
            | Aggregate::ApproxPercentileDisc => {
                let is_number = matches!(
                    argument,
                    TinyInt
                        | SmallInt
                        | Int
                        | BigInt
                        | Money
                        | SmallMoney
                        | Float
                        | Real
                        | Decimal { .. }
                        | Numeric { .. }
                );
                let is_of_argument = self == Aggregate::ApproxPercentileDisc;
                is_number.then_some(if is_of_argument { *argument } else { Float })
            }
            Aggregate::ChecksumAgg => matches!(argument, TinyInt | SmallInt | Int).then_some(Int),
            Aggregate::StringAgg => match *argument {
                SqlType::NVarChar { len: None, collation } => {
                    Some(SqlType::NVarChar { len: None, collation })
                }
                SqlType::VarChar { len: None, collation } => {
                    Some(SqlType::VarChar { len: None, collation })
                }
                SqlType::VarChar { collation, .. } | SqlType::Char { collation, .. } => {
                    Some(SqlType::VarChar { len: Some(8000), collation })
                }
                SqlType::NVarChar { collation, .. } | SqlType::NChar { collation, .. } => {
                    Some(SqlType::NVarChar { len: Some(8000), collation })
                }
                Binary { .. } | VarBinary { .. } | SqlVariant => None,
                _ => None,
            },
        }
    }

    /// Does it take a share, and its values from WITHIN GROUP?
    pub fn is_percentile(self) -> bool {
        matches!(self, Aggregate::ApproxPercentileCont | Aggregate::ApproxPercentileDisc)
    }

    /// Is the result never NULL?
    pub fn is_never_null(self) -> bool {
        matches!(self, Aggregate::Count | Aggregate::CountBig | Aggregate::ApproxCountDistinct)
    }
}

impl WindowFunction {
    /// A window function by its name; aggregates are window functions, too.
    pub fn named(name: &str) -> Option<WindowFunction> {
        let own = WINDOW_FUNCTIONS.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let aggregate = || Aggregate::named(name).map(WindowFunction::Aggregate);
        own.map(|(_, it)| *it).or_else(aggregate)
    }

    /// Does it need an order?
    pub fn needs_order(self) -> bool {
        !matches!(
            self,
            WindowFunction::Aggregate(_)
                | WindowFunction::PercentileCont
                | WindowFunction::PercentileDisc
        )
    }

    /// Does it take a frame?
    pub fn takes_frame(self) -> bool {
        matches!(
            self,
            WindowFunction::Aggregate(_) | WindowFunction::FirstValue | WindowFunction::LastValue
        )
    }
}
