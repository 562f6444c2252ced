//! The binder: numbers of values, scopes of names, values from outside.

use extentdb_base::sync::Arc;
use extentdb_expr::{Environment, Parameter};
use extentdb_tsql::syntax::{CommonTable, Name, NamedWindow, ObjectName, XmlNamespace};
use extentdb_types::SqlType;

use crate::error::{Cause, Result};
use crate::logical::{Column, FunctionCall, ValueId};
use crate::scope::Scope;
use crate::surroundings::{Home, Surroundings};

/// Queries within queries, views among them, at most.
const DEPTH_MAX: usize = 60;
/// Most set operators or joins one after the other. A plan is as deep as its chains are long, and
/// what looks at plans is recursive: the stack of threads that run statements bounds both.
pub(crate) const CHAIN_MAX: usize = 1_500;

/// What a statement takes from outside, in the order in which it is evaluated when the statement
/// begins.
#[derive(Clone, Debug)]
pub enum Prologue {
    /// The value of a variable.
    Variable {
        /// Its number, as [`Surroundings::variable`] gave it.
        variable: usize,
        /// The value.
        id: ValueId,
    },
    /// A function of the session whose arguments are no columns.
    Call(FunctionCall),
}

/// A common table expression that is visible.
#[derive(Clone)]
pub(crate) struct CommonTableEntry {
    pub(crate) table: Arc<CommonTable>,
    /// Entries that its query sees: those before it.
    pub(crate) visible: usize,
    /// Of a recursion that is being bound: its number and columns.
    pub(crate) recursion: Option<(usize, Vec<(String, Column)>)>,
}

/// Binds one statement.
pub struct Binder<'a> {
    pub(crate) surroundings: &'a mut dyn Surroundings,
    pub(crate) environment: Environment,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) common_tables: Vec<CommonTableEntry>,
    /// Windows of the WINDOW clauses of the queries at hand.
    pub(crate) windows: Vec<Vec<NamedWindow>>,
    pub(crate) prologue: Vec<Prologue>,
    /// Where names are looked up, within a view or function.
    pub(crate) home: Option<Home>,
    /// Parameters of the inline function that is being bound.
    pub(crate) parameters: Vec<(Box<str>, Column)>,
    /// WITH XMLNAMESPACES of the statement.
    pub(crate) namespaces: Vec<XmlNamespace>,
    /// Values that hidden variables stand for.
    pub(crate) hidden: Vec<Parameter>,
    pub(crate) depth: usize,
    /// MAXRECURSION.
    pub(crate) recursion_limit: u32,
    pub(crate) recursions: usize,
    ignores_case: bool,
    next: ValueId,
}

impl<'a> Binder<'a> {
    /// A binder for one statement.
    pub fn new(surroundings: &'a mut dyn Surroundings) -> Binder<'a> {
        let environment = surroundings.environment().clone();
        let ignores_case = is_equal(&environment, "a", "A");
        Binder {
            surroundings,
            environment,
            scopes: Vec::new(),
            common_tables: Vec::new(),
            windows: Vec::new(),
            prologue: Vec::new(),
            home: None,
            parameters: Vec::new(),
            namespaces: Vec::new(),
            hidden: Vec::new(),
            depth: 0,
            recursion_limit: 100,
            recursions: 0,
            ignores_case,
            next: 0,
        }
    }

    /// Sets MAXRECURSION; 0 for no limit.
    pub fn set_recursion_limit(&mut self, most: u32) {
        self.recursion_limit = most;
    }

    /// Values from outside that the statement needs, and the last number of a value.
    pub fn finish(self) -> (Vec<Prologue>, ValueId) {
        (self.prologue, self.next)
    }

    /// A new value.
    pub(crate) fn new_id(&mut self) -> ValueId {
        self.next += 1;
        self.next
    }

    pub(crate) fn new_column(&mut self, ty: SqlType, is_nullable: bool) -> Column {
        Column { id: self.new_id(), ty, is_nullable }
    }

    /// Are names equal under the collation of the database?
    pub(crate) fn is_same(&self, a: &str, b: &str) -> bool {
        if a.is_ascii() && b.is_ascii() {
            return if self.ignores_case { a.eq_ignore_ascii_case(b) } else { a == b };
        }
        a == b || is_equal(&self.environment, a, b)
    }

    pub(crate) fn is_named(&self, name: &Name, text: &str) -> bool {
        self.is_same(&name.text, text)
    }

    /// One query more within the others.
    pub(crate) fn enter(&mut self, at: extentdb_tsql::Span) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Cause::too_deep().at(at));
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }
}

fn is_equal(environment: &Environment, a: &str, b: &str) -> bool {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let compared = environment.database_collation.compare_nchar(&wide(a), &wide(b));
    compared.ordering().is_some_and(std::cmp::Ordering::is_eq)
}

/// A name as messages show it.
pub(crate) fn shown(name: &ObjectName) -> String {
    let parts = [name.server(), name.database(), name.schema()];
    let mut text = String::new();
    for part in parts.into_iter().flatten() {
        text.push_str(&part.text);
        text.push('.');
    }
    text.push_str(&name.name.text);
    text
}
