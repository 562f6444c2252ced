//! Numbers of rows: ROW_NUMBER, RANK, DENSE_RANK, NTILE, PERCENT_RANK, CUME_DIST.

use extentdb_bind::function::WindowFunction;
use extentdb_engine::Vector;
use extentdb_types::SqlType;

use crate::error::Error;
use crate::number::Results;
use crate::operator::window::layout::Layout;

/// Message number of NTILE of a number that is not positive.
const TILES_NOT_POSITIVE: i32 = 4116;

/// The numbers that a function gives all rows.
pub(super) fn rank(
    function: WindowFunction,
    ty: SqlType,
    layout: &Layout,
) -> Result<Vector, Error> {
    let mut results = Results::new(ty);
    for row in 0..layout.rows() {
        let partition = layout.partitions().of(row);
        let peers = layout.peers().of(row);
        let count = partition.len() as f64;
        match function {
            WindowFunction::Rank => exact(&mut results, peers.start - partition.start + 1)?,
            WindowFunction::DenseRank => {
                let first = layout.peers().number(partition.start);
                exact(&mut results, layout.peers().number(row) - first + 1)?;
            }
            WindowFunction::PercentRank => {
                let before = (peers.start - partition.start) as f64;
                let others = (count - 1.0).max(1.0);
                results.push_float(Some(before / others))?;
            }
            WindowFunction::CumeDist => {
                let through = (peers.end - partition.start) as f64;
                results.push_float(Some(through / count))?;
            }
            _ => exact(&mut results, row - partition.start + 1)?,
        }
    }
    Ok(results.finish())
}

fn exact(results: &mut Results, value: usize) -> Result<(), Error> {
    results.push_exact(Some(value as i128))
}

/// NTILE: the rows of a partition in as many parts as its first row says, the larger ones first.
pub(super) fn tiles(counts: &Vector, ty: SqlType, layout: &Layout) -> Result<Vector, Error> {
    let refused = || Error::WindowArgument { number: TILES_NOT_POSITIVE };
    let values = counts.integers().ok_or_else(refused)?;
    let mut results = Results::new(ty);
    for partition in layout.partitions().iter() {
        let tiles = values.get(partition.start).copied();
        let tiles = tiles.filter(|_| !counts.is_null(partition.start));
        let tiles = tiles.and_then(|tiles| usize::try_from(tiles).ok()).filter(|tiles| *tiles > 0);
        let tiles = tiles.ok_or_else(refused)?;
        let size = partition.len() / tiles;
        let larger = partition.len() % tiles;
        for row in 0..partition.len() {
            let in_larger = larger * (size + 1);
            let tile = if row < in_larger {
                row / (size + 1)
            } else {
                larger + (row - in_larger) / size.max(1)
            };
            exact(&mut results, tile + 1)?;
        }
    }
    Ok(results.finish())
}
