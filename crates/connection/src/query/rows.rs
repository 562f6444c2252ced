//! Results of queries: rows to the client, values to variables.

use extentdb_bind::BoundQuery;
use extentdb_exec::datum;
use extentdb_plan::physical::Node;
use extentdb_tsql::syntax::Query;
use extentdb_types::Datum;

use super::kept_plan::{Basis, KeptPlan, Planned};
use super::prepared::{Prepared, each_batch, operator};
use crate::cause::Cause;
use crate::frame::Frame;
use crate::output::ColumnInfo;
use crate::step::Run;
use crate::stop::Stop;

/// The columns of a result, as clients are told of them.
pub fn column_infos(query: &BoundQuery) -> Vec<ColumnInfo> {
    let info = |output: &extentdb_bind::Output| ColumnInfo {
        name: output.name.clone(),
        ty: output.column.ty,
        is_nullable: output.column.is_nullable,
        is_computed: output.is_computed,
        is_identity: output.is_identity,
    };
    query.outputs.iter().map(info).collect()
}

/// The columns of a query, which is bound and not run.
///
/// # Errors
/// A name means nothing, or types do not go together.
pub fn columns_of(
    run: &mut Run<'_>,
    frame: &Frame,
    query: &Query,
) -> Result<Vec<ColumnInfo>, Cause> {
    let (_, bound) = Prepared::bind(run, frame, |binder| binder.statement(query))?;
    Ok(column_infos(&bound))
}

/// Runs a query and sends its rows; says how many.
pub fn send_rows(
    run: &mut Run<'_>,
    frame: &Frame,
    prepared: Prepared,
    query: BoundQuery,
    keep: Option<(Basis, &KeptPlan)>,
) -> Result<u64, Stop> {
    let columns = column_infos(&query);
    let ids: Vec<usize> = query.outputs.iter().map(|it| it.column.id).collect();
    let node = prepared.parallel_node(query.relation, &ids)?;
    let Some((basis, kept)) = keep else {
        return send(run, frame, &prepared, &columns, &node);
    };
    match Planned::new(basis, prepared, columns.clone(), node) {
        Ok(planned) => send_planned(run, frame, planned, kept),
        Err(unkept) => send(run, frame, &unkept.0, &columns, &unkept.1),
    }
}

/// The same of a query that is planned already.
///
/// # Errors
/// As for [`send_rows`].
pub fn send_planned(
    run: &mut Run<'_>,
    frame: &Frame,
    planned: Box<Planned>,
    kept: &KeptPlan,
) -> Result<u64, Stop> {
    let count = send(run, frame, &planned.prepared, &planned.columns, &planned.node)?;
    kept.put_back(planned);
    Ok(count)
}

fn send(
    run: &mut Run<'_>,
    frame: &Frame,
    prepared: &Prepared,
    columns: &[ColumnInfo],
    node: &Node,
) -> Result<u64, Stop> {
    let mut operator = operator(node)?;
    // SET ROWCOUNT ends a result early.
    let most = match run.connection.options.rowcount {
        0 => u64::MAX,
        most => most,
    };
    prepared.execute(run, frame, |context, output| {
        output.columns(columns)?;
        let mut count = 0;
        operator.open(context)?;
        while count < most
            && let Some(batch) = operator.next(context)?
        {
            let mut row: Vec<Datum<'static>> = Vec::with_capacity(batch.columns.len());
            let rows = batch.rows.min(usize::try_from(most - count).unwrap_or(usize::MAX));
            for at in 0..rows {
                row.clear();
                for column in &batch.columns {
                    row.push(datum(column, at)?);
                }
                output.row(&row)?;
            }
            count += rows as u64;
        }
        Ok(count)
    })
}

/// The one value of a query of one column; NULL without a row.
pub fn single_value(
    run: &mut Run<'_>,
    frame: &Frame,
    mut prepared: Prepared,
    query: BoundQuery,
) -> Result<Datum<'static>, Stop> {
    let [output] = query.outputs.as_slice() else {
        return Err(Cause::not_supported("a value of several columns").into());
    };
    let id = output.column.id;
    let (mut operator, _) = prepared.plan(query.relation, &[id])?;
    prepared.execute(run, frame, |context, _| {
        let mut value = Datum::Null;
        let mut rows = 0;
        each_batch(&mut *operator, context, &mut |_, batch| {
            rows += batch.rows;
            if let Some(column) = batch.columns.first() {
                value = datum(column, 0)?;
            }
            Ok(())
        })?;
        if rows > 1 {
            return Err(extentdb_exec::Error::SubqueryRows.into());
        }
        Ok(value)
    })
}

/// Has a query a row?
pub fn has_row(
    run: &mut Run<'_>,
    frame: &Frame,
    mut prepared: Prepared,
    query: BoundQuery,
) -> Result<bool, Stop> {
    let (mut operator, _) = prepared.plan(query.relation, &[])?;
    prepared.execute(run, frame, |context, _| {
        operator.open(context)?;
        Ok(operator.next(context)?.is_some())
    })
}
