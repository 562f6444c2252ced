//! The plan of a statement, kept from one execution to the next.
//!
//! A plan is right while nothing has changed that it was made from: definitions (by the version of
//! the catalog of each database that names were looked up in), options of the session, its current
//! database, who it acts as. Where tables have grown or shrunk much since, another plan may be
//! better, and the statement is planned again.
//!
//! Invariants
//! - The versions are read before names are resolved: a change in between makes the plan stale.
//! - A plan that runs is not in its place: a statement that runs within itself makes its own.

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_bind::table::BoundTable;
use extentdb_engine::{Database, Table};
use extentdb_plan::physical::{Node, Operator};

use crate::connection::Connection;
use crate::options::SetOptions;
use crate::output::ColumnInfo;
use crate::query::Prepared;
use crate::security::state::Stamp;

/// Rows by which a table may always differ from what it had.
const ROWS_SLACK: i64 = 500;

/// Where a statement keeps its plan: that of a query, or what changes rows.
pub struct KeptPlan<P = Planned> {
    plan: Mutex<Option<Box<P>>>,
}

/// A plan that knows what it was made from.
pub trait OnGround {
    /// What it was made from.
    fn ground(&self) -> &Ground;
}

/// A query that is bound and planned.
pub struct Planned {
    /// What it takes from outside.
    pub prepared: Prepared,
    /// The columns of its result.
    pub columns: Vec<ColumnInfo>,
    /// The plan.
    pub node: Node,
    ground: Ground,
}

/// What a plan was made from, and the rows that its tables had then.
pub struct Ground {
    basis: Basis,
    tables: Vec<(Arc<Table>, i64)>,
}

/// What a plan is made from.
pub struct Basis {
    current: Arc<Database>,
    options: SetOptions,
    security: Stamp,
    versions: Vec<(Arc<Database>, u64)>,
}

impl<P> Default for KeptPlan<P> {
    fn default() -> KeptPlan<P> {
        KeptPlan { plan: Mutex::default() }
    }
}

impl<P: OnGround> KeptPlan<P> {
    /// The plan, if it is still right.
    pub fn take(&self, connection: &Connection) -> Option<Box<P>> {
        lock(&self.plan).take().filter(|plan| plan.ground().is_right(connection))
    }

    /// Keeps a plan.
    pub fn put_back(&self, plan: Box<P>) {
        *lock(&self.plan) = Some(plan);
    }
}

impl OnGround for Planned {
    fn ground(&self) -> &Ground {
        &self.ground
    }
}

impl Basis {
    /// As it is before names are resolved. `None`: tempdb is not there.
    pub fn now(connection: &Connection) -> Option<Basis> {
        let current = connection.session.database().clone();
        let tempdb = connection.tempdb().ok()?;
        let mut versions = vec![(current.clone(), current.model_version())];
        versions.push((tempdb.clone(), tempdb.model_version()));
        Some(Basis {
            current,
            options: connection.options.clone(),
            security: connection.security_stamp(),
            versions,
        })
    }

    fn is_as_it_was(&self, connection: &Connection) -> bool {
        Arc::ptr_eq(&self.current, connection.session.database())
            && self.options == connection.options
            && self.security == connection.security_stamp()
            && self.versions.iter().all(|(database, then)| database.model_version() == *then)
    }

    fn has(&self, database: &Arc<Database>) -> bool {
        self.versions.iter().any(|(own, _)| Arc::ptr_eq(own, database))
    }
}

impl Planned {
    /// A plan to be kept; not where it reads what is no table of the current database, or was
    /// made from things that have no version.
    ///
    /// # Errors
    /// It is not kept: the plan itself.
    pub fn new(
        basis: Basis,
        prepared: Prepared,
        columns: Vec<ColumnInfo>,
        node: Node,
    ) -> Result<Box<Planned>, Box<(Prepared, Node)>> {
        match Ground::of(basis, &prepared, &node) {
            Some(ground) => Ok(Box::new(Planned { prepared, columns, node, ground })),
            None => Err(Box::new((prepared, node))),
        }
    }
}

impl Ground {
    /// What a plan stands on; `None` where it reads or changes what is no table of the current
    /// database, or was made from things that have no version.
    pub fn of(mut basis: Basis, prepared: &Prepared, node: &Node) -> Option<Ground> {
        let mut tables = Vec::new();
        let is_kept = prepared.is_reusable && covers(&basis, node, &mut tables);
        let target = prepared.change.as_ref().map(|change| &change.stored.database);
        if !is_kept || target.is_some_and(|target| !basis.has(target)) {
            return None;
        }
        let is_used = |database: &Arc<Database>| {
            let mut read = tables.iter().map(|(table, _)| &table.database);
            target.into_iter().any(|own| Arc::ptr_eq(own, database))
                || read.any(|own| Arc::ptr_eq(own, database))
        };
        // Definitions of temporary tables change all the time.
        let current = basis.current.clone();
        basis.versions.retain(|(own, _)| Arc::ptr_eq(own, &current) || is_used(own));
        let tables = tables.into_iter().map(|(it, rows)| (it.table.clone(), rows)).collect();
        Some(Ground { basis, tables })
    }

    fn is_right(&self, connection: &Connection) -> bool {
        let is_near = |(table, then): &(Arc<Table>, i64)| {
            let now = table.row_count();
            now <= then.saturating_mul(2).saturating_add(ROWS_SLACK)
                && *then <= now.saturating_mul(2).saturating_add(ROWS_SLACK)
        };
        self.basis.is_as_it_was(connection) && self.tables.iter().all(is_near)
    }
}

/// Are all tables of a plan in databases whose versions are known? Notes the tables.
fn covers<'n>(basis: &Basis, node: &'n Node, tables: &mut Vec<(&'n BoundTable, i64)>) -> bool {
    match &node.operator {
        Operator::Scan(scan) => {
            tables.push((&scan.table, scan.table.table.row_count()));
            basis.has(&scan.table.database)
        }
        Operator::Provided(_) | Operator::Function(..) => false,
        _ => node.inputs().into_iter().all(|input| covers(basis, input, tables)),
    }
}
