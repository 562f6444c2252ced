//! Which accumulator computes which aggregate.

use extentdb_bind::function::Aggregate;
use extentdb_plan::physical::AggregateCall;
use extentdb_types::SqlType;

use crate::error::Error;
use crate::operator::aggregate::accumulator::Accumulator;
use crate::operator::aggregate::checksum::Checksum;
use crate::operator::aggregate::count::{CountRows, CountValues};
use crate::operator::aggregate::extreme::Extreme;
use crate::operator::aggregate::percentile::Percentile;
use crate::operator::aggregate::string_agg::StringAgg;
use crate::operator::aggregate::sum::Sum;
use crate::operator::aggregate::variance::Variance;

/// The accumulator of a call; `types` are those of the input's columns.
///
/// # Errors
/// The aggregate does not take values of this type.
pub(crate) fn accumulator(
    call: &AggregateCall,
    types: &[SqlType],
) -> Result<Box<dyn Accumulator>, Error> {
    let Some(column) = call.argument else {
        return match call.function {
            Aggregate::Count | Aggregate::CountBig => Ok(Box::new(CountRows::new(call.ty))),
            other => Err(Error::NotSupported(format!("{} without an argument", other.name()))),
        };
    };
    let ty = types.get(column).copied().unwrap_or(call.argument_type);
    let accumulator: Option<Box<dyn Accumulator>> = match call.function {
        Aggregate::Count | Aggregate::CountBig | Aggregate::ApproxCountDistinct => {
            Some(Box::new(CountValues::new(column, call.ty)))
        }
        Aggregate::Sum | Aggregate::Avg => Sum::new(column, ty, call.function, call.ty).map(boxed),
        Aggregate::Min | Aggregate::Max => {
            Some(Box::new(Extreme::new(column, ty, call.function == Aggregate::Max)))
        }
        Aggregate::StDev | Aggregate::StDevP | Aggregate::Var | Aggregate::VarP => {
            Some(Box::new(Variance::new(column, call.function)))
        }
        Aggregate::ChecksumAgg => Some(Box::new(Checksum::new(column))),
        Aggregate::ApproxPercentileCont | Aggregate::ApproxPercentileDisc => {
            Percentile::new(call, column).map(boxed)
        }
        Aggregate::StringAgg => StringAgg::new(call, column, types).map(boxed),
    };
    let refused = || Error::NotSupported(format!("{} of {ty}", call.function.name()));
    accumulator.ok_or_else(refused)
}

fn boxed<A: Accumulator + 'static>(accumulator: A) -> Box<dyn Accumulator> {
    Box::new(accumulator)
}
