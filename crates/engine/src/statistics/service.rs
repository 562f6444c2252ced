//! What the background task for statistics has to do: requests of sessions, one after the other,
//! and the tables whose statistics it keeps up.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, Condvar, Mutex, Weak, lock, wait_at_most};

use crate::catalog::Table;

/// Statistics that are asked for: those that are about a column first.
pub(crate) type Request = (ObjectId, i32);

/// See the module.
#[derive(Default)]
pub(crate) struct StatisticsService {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Request>,
    /// The one that is worked at.
    current: Option<Request>,
    /// Tables with statistics in memory.
    tables: BTreeMap<ObjectId, Weak<Table>>,
}

impl State {
    fn is_pending(&self, request: Request) -> bool {
        self.current == Some(request) || self.queue.contains(&request)
    }
}

impl StatisticsService {
    /// The table has statistics in memory.
    pub(crate) fn note(&self, table: &Arc<Table>) {
        lock(&self.state).tables.entry(table.id()).or_insert_with(|| Arc::downgrade(table));
    }

    pub(crate) fn request(&self, request: Request) {
        let mut state = lock(&self.state);
        if !state.is_pending(request) {
            state.queue.push_back(request);
        }
    }

    /// The next request; it is the current one until [`end`](Self::end).
    pub(crate) fn begin(&self) -> Option<Request> {
        let mut state = lock(&self.state);
        state.current = state.queue.pop_front();
        state.current
    }

    pub(crate) fn end(&self) {
        lock(&self.state).current = None;
        self.ended.notify_all();
    }

    /// Waits while a request is pending. False when it still is.
    pub(crate) fn wait(&self, request: Request, most: Duration) -> bool {
        let state = lock(&self.state);
        let state = wait_at_most(&self.ended, state, most, |state| state.is_pending(request));
        !state.is_pending(request)
    }

    /// The tables with statistics that still exist.
    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        let mut state = lock(&self.state);
        state.tables.retain(|_, table| table.strong_count() > 0);
        state.tables.values().filter_map(Weak::upgrade).collect()
    }
}
