//! FETCH: to the next row or another one, and what is read there.

use extentdb_base::sync::lock;
use extentdb_tsql::syntax::{CursorName, Fetch, FetchDirection};
use extentdb_types::Datum;

use super::row_key::{KeyedRow, row_query};
use super::{failed, found, frame_of, not_open};
use crate::statement::capture::rows_of;
use crate::statement::{Compiled, Context};
use extentdb_connection::cause::Cause;
use extentdb_connection::cursor::{CursorModel, CursorPlan, SharedCursor};
use extentdb_connection::frame::{Frame, variable_named};
use extentdb_connection::output::{ColumnInfo, StatementCode};
use extentdb_connection::scalar::{Scalar, converted};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// `@@FETCH_STATUS`: a row, beyond the rows, a row that was deleted.
const FETCHED: i32 = 0;
const BEYOND: i32 = -1;
const MISSING: i32 = -2;

struct FetchStep {
    cursor: CursorName,
    direction: Direction,
    into: Vec<usize>,
}

enum Direction {
    Next,
    Prior,
    First,
    Last,
    Absolute(Box<Scalar>),
    Relative(Box<Scalar>),
}

/// Where FETCH goes, with its number.
#[derive(Clone, Copy)]
enum Target {
    Step(i64),
    First,
    Last,
    Absolute(i64),
}

pub(in crate::statement) fn fetch(context: &Context<'_>, fetch: &Fetch) -> Compiled {
    let compiler = &context.compiler;
    let number = |value| compiler.value(value).map(Box::new);
    let direction = match &fetch.direction {
        FetchDirection::Next => Direction::Next,
        FetchDirection::Prior => Direction::Prior,
        FetchDirection::First => Direction::First,
        FetchDirection::Last => Direction::Last,
        FetchDirection::Absolute(value) => Direction::Absolute(number(value)?),
        FetchDirection::Relative(value) => Direction::Relative(number(value)?),
    };
    let slot = |name: &str| {
        let unknown = || Cause::UnknownVariable { name: name.to_owned() };
        variable_named(compiler.variables, name).ok_or_else(unknown)
    };
    let into: Result<Vec<usize>, Cause> = fetch.into.iter().map(|name| slot(&name.text)).collect();
    Ok(Box::new(FetchStep { cursor: fetch.cursor.clone(), direction, into: into? }))
}

impl Direction {
    fn word(&self) -> &'static str {
        match self {
            Direction::Next => "next",
            Direction::Prior => "prior",
            Direction::First => "first",
            Direction::Last => "last",
            Direction::Absolute(_) => "absolute",
            Direction::Relative(_) => "relative",
        }
    }

    fn target(&self, run: &Run<'_>, frame: &Frame) -> Result<Target, Stop> {
        let number = |scalar: &Scalar| -> Result<i64, Stop> {
            Ok(scalar.integer(run.values(frame))?.unwrap_or(0))
        };
        Ok(match self {
            Direction::Next => Target::Step(1),
            Direction::Prior => Target::Step(-1),
            Direction::First => Target::First,
            Direction::Last => Target::Last,
            Direction::Absolute(value) => Target::Absolute(number(value)?),
            Direction::Relative(value) => Target::Step(number(value)?),
        })
    }

    fn verify(&self, plan: &CursorPlan) -> Result<(), Cause> {
        if matches!(self, Direction::Next) || plan.is_scrollable {
            return Ok(());
        }
        let word = self.word();
        Err(failed(
            16_911,
            format!("fetch: The fetch type {word} cannot be used with forward only cursors."),
        ))
    }
}

/// The position that a target leads to, between 0 and one past the end.
fn position(target: Target, at: usize, count: usize) -> usize {
    let count = i64::try_from(count).unwrap_or(i64::MAX - 1);
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    let wanted = match target {
        Target::Step(by) => at.saturating_add(by),
        Target::First => 1,
        Target::Last => count,
        Target::Absolute(number) if number < 0 => count + 1 + number,
        Target::Absolute(number) => number,
    };
    usize::try_from(wanted.clamp(0, count + 1)).unwrap_or(0)
}

/// What FETCH has found.
struct Fetched {
    status: i32,
    columns: Vec<ColumnInfo>,
    row: Option<Vec<Datum<'static>>>,
}

/// Moves a cursor, and reads the row there.
fn moved(
    run: &mut Run<'_>,
    frame: &Frame,
    cursor: &SharedCursor,
    target: Target,
) -> Result<Fetched, Stop> {
    let mut target = target;
    loop {
        let (plan, columns, kept) = {
            let mut own = lock(cursor);
            let plan = own.plan.clone();
            let open = own.open.as_mut().ok_or_else(not_open)?;
            open.position = position(target, open.position, open.rows.len());
            open.is_missing = false;
            (plan, open.columns.clone(), open.row().cloned())
        };
        let Some(kept) = kept else { return Ok(Fetched { status: BEYOND, columns, row: None }) };
        let Some(table) = &plan.table else {
            return Ok(Fetched { status: FETCHED, columns, row: Some(kept) });
        };
        let is_filtered = plan.model == CursorModel::Dynamic;
        let keyed = KeyedRow { table, row: &kept };
        let query = row_query(&plan.query, &keyed, is_filtered)?;
        let own = frame_of(cursor, frame);
        let now = rows_of(run, &own, &query)?.rows.into_iter().next();
        if now.is_some() {
            return Ok(Fetched { status: FETCHED, columns, row: now });
        }
        if plan.model == CursorModel::Keyset {
            lock(cursor).open.iter_mut().for_each(|open| open.is_missing = true);
            return Ok(Fetched { status: MISSING, columns, row: None });
        }
        // A dynamic cursor has no such row: it goes on in the same direction.
        target = match target {
            Target::Step(by) if by < 0 => Target::Step(-1),
            Target::Last => Target::Step(-1),
            Target::Absolute(number) if number < 0 => Target::Step(-1),
            _ => Target::Step(1),
        };
    }
}

impl FetchStep {
    /// Values to variables.
    fn assign(&self, run: &Run<'_>, frame: &mut Frame, fetched: &Fetched) -> Result<(), Stop> {
        let Some(row) = &fetched.row else { return Ok(()) };
        for ((slot, value), column) in self.into.iter().zip(row).zip(&fetched.columns) {
            let Some(variable) = frame.variables.get(*slot) else { continue };
            let ty = variable.ty;
            let value = converted(value.clone(), column.ty, ty, run.values(frame))?;
            if let Some(place) = frame.values.get_mut(*slot) {
                *place = value;
            }
        }
        Ok(())
    }
}

impl Step for FetchStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let cursor = found(run, frame, &self.cursor)?;
        {
            let own = lock(&cursor);
            let open = own.open.as_ref().ok_or_else(not_open)?;
            self.direction.verify(&own.plan)?;
            if !self.into.is_empty() && self.into.len() != open.columns.len() {
                let text = "Cursorfetch: The number of variables declared in the INTO list must \
                            match that of selected columns.";
                return Err(failed(16_924, text).into());
            }
        }
        let target = self.direction.target(run, frame)?;
        let fetched = moved(run, frame, &cursor, target)?;
        run.connection.cursors.fetch_status = fetched.status;
        let count = u64::from(fetched.row.is_some());
        if self.into.is_empty() {
            run.output.columns(&fetched.columns)?;
            if let Some(row) = &fetched.row {
                run.output.row(row)?;
            }
            run.done(frame.scope, StatementCode::Select, Some(count), false)?;
        } else {
            self.assign(run, frame, &fetched)?;
            run.done(frame.scope, StatementCode::Other, None, false)?;
        }
        Ok(RowCount::Rows(i64::from(fetched.row.is_some())))
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, position};

    #[test]
    fn positions_stay_between_before_the_first_and_after_the_last() {
        let cases = [
            (Target::Step(1), 0, 1),
            (Target::Step(1), 3, 4),
            (Target::Step(1), 4, 4),
            (Target::Step(-1), 1, 0),
            (Target::Step(-9), 2, 0),
            (Target::First, 3, 1),
            (Target::Last, 0, 3),
            (Target::Absolute(-1), 0, 3),
            (Target::Absolute(-4), 2, 0),
            (Target::Absolute(0), 2, 0),
            (Target::Absolute(9), 2, 4),
        ];
        for (target, at, wanted) in cases {
            assert_eq!(position(target, at, 3), wanted);
        }
        assert_eq!(position(Target::First, 0, 0), 1);
    }
}
