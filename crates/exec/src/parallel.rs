//! A part of a plan that several threads run: filters and projections over a scan.
//!
//! ```text
//! session                              threads
//! opens the scan, its locks ─────────▶ each: worker of the scan ▶ filter ▶ project ▶ exchange
//! takes from the exchange, then reads what the workers have left: pages that somebody changes
//! ```
//!
//! The threads evaluate expressions with the values from outside as they were at the beginning.

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::Arc;
use extentdb_engine::{ParallelScan, ScanWorker};
use extentdb_plan::physical::{Node, Operator as PlanOperator, Scan};

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::{Context, NoFunctions, OuterValues};
use crate::error::Error;
use crate::exchange::{Exchange, Producer};
use crate::memory::Memory;
use crate::operator::Operator;
use crate::operator::filter::Filter;
use crate::operator::project::Project;
use crate::operator::scan::{TableScan, batch, within};

/// A part of a plan that several threads may run.
pub(crate) struct Fragment {
    node: Arc<Node>,
    scan: TableScan,
    plan: Arc<Scan>,
}

/// A part of a plan that several threads run.
pub(crate) struct Running<T> {
    pub(crate) exchange: Arc<Exchange<T>>,
    /// Threads.
    pub(crate) count: usize,
    team: usize,
    /// What the session reads alone, when the threads have ended.
    rest: Box<dyn Operator>,
}

/// What each thread does with the rows of its operator.
pub(crate) type Work<T> = Arc<
    dyn Fn(&mut dyn Operator, &mut Context<'_>, &Producer<T>) -> Result<(), Error> + Send + Sync,
>;

impl Fragment {
    /// That of a node; `None` where one thread reads it.
    pub(crate) fn of(node: &Node) -> Option<Fragment> {
        let scan = node.parallel_scan()?;
        Some(Fragment {
            node: Arc::new(node.clone()),
            scan: TableScan::new(scan),
            plan: scan.clone(),
        })
    }

    /// The operators of one thread.
    pub(crate) fn sequential(&self) -> Box<dyn Operator> {
        over(&self.node, Box::new(TableScan::new(&self.plan)))
    }

    /// Begins with as many threads as are free; `None`: there are none, or nothing to do for them.
    ///
    /// # Errors
    /// Those of a scan at its beginning.
    pub(crate) fn start<T: Send + 'static>(
        &mut self,
        context: &mut Context<'_>,
        work: &Work<T>,
    ) -> Result<Option<Running<T>>, Error> {
        let Some(grant) = context.workers.grant() else { return Ok(None) };
        let Some(scan) = self.scan.open_parallel(context)? else { return Ok(None) };
        let count = grant.count().min(scan.morsels());
        if count < 2 {
            return Ok(None);
        }
        let (exchange, producers) = Exchange::new(count);
        let cancellation = context.session()?.cancellation();
        let thread = |producer: Producer<T>| -> Box<dyn FnOnce() + Send> {
            let source = WorkerScan { worker: scan.worker(), plan: self.plan.clone() };
            let operator = over(&self.node, Box::new(source));
            let cancellation = cancellation.clone();
            let place = Place { outer: context.outer.clone(), memory: context.memory.clone() };
            let work = work.clone();
            Box::new(move || place.run(operator, &cancellation, &work, &producer))
        };
        let threads = producers.into_iter().map(thread).collect();
        let stopped = exchange.clone();
        let team = context.workers.start(grant, Box::new(move || stopped.stop()), threads)?;
        let rest = over(&self.node, Box::new(LeftScan { scan, plan: self.plan.clone() }));
        Ok(Some(Running { exchange, count, team, rest }))
    }
}

impl<T> Running<T> {
    /// The next item; `None` when the threads have ended.
    ///
    /// # Errors
    /// A thread failed.
    pub(crate) fn pop(&mut self, context: &mut Context<'_>) -> Result<Option<T>, Error> {
        let item = self.exchange.pop();
        if !matches!(item, Ok(Some(_))) {
            self.end(context);
        }
        item
    }

    /// The next of the rows that the threads have left to the session.
    ///
    /// # Errors
    /// Those of a scan.
    pub(crate) fn next_left(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        self.rest.next(context)
    }

    /// Ends the threads.
    pub(crate) fn end(&self, context: &mut Context<'_>) {
        context.workers.end(self.team);
    }
}

/// What a thread begins with.
struct Place {
    outer: OuterValues,
    memory: Memory,
}

impl Place {
    fn run<T>(
        self,
        mut operator: Box<dyn Operator>,
        cancellation: &Cancellation,
        work: &Work<T>,
        producer: &Producer<T>,
    ) {
        // What calls functions of the session is not in the threads' part of a plan.
        let mut functions = NoFunctions;
        let mut context = Context::without_engine(cancellation, &mut functions);
        context.outer = self.outer;
        context.memory = self.memory;
        if let Err(error) = work(&mut *operator, &mut context, producer) {
            producer.fail(error);
        }
    }
}

/// The filters and projections of a node over the rows of its scan.
fn over(node: &Node, source: Box<dyn Operator>) -> Box<dyn Operator> {
    match &node.operator {
        PlanOperator::Filter { input, condition } => {
            Box::new(Filter::new(over(input, source), condition))
        }
        PlanOperator::Project { input, keep, computed } => {
            Box::new(Project::new(over(input, source), keep, computed))
        }
        _ => source,
    }
}

/// The rows that one thread reads.
struct WorkerScan {
    worker: ScanWorker,
    plan: Arc<Scan>,
}

impl Operator for WorkerScan {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn next(&mut self, _: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let Some(found) = self.worker.next_batch(BATCH_ROWS)? else { return Ok(None) };
        let whole = |at: usize, vector: &_| self.worker.whole_values(at, vector);
        batch(&self.plan, found, &whole).map(Some)
    }
}

/// The rows that the threads have left to the session.
struct LeftScan {
    scan: ParallelScan,
    plan: Arc<Scan>,
}

impl Operator for LeftScan {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let found = within(context.session()?, &self.plan.table.database, |session| {
            Ok(self.scan.next_batch(session, BATCH_ROWS)?)
        })?;
        let Some(found) = found else { return Ok(None) };
        let whole = |at: usize, vector: &_| self.scan.whole_values(at, vector);
        batch(&self.plan, found, &whole).map(Some)
    }
}
