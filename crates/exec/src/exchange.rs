//! A bounded queue from the threads of a query to the one that owns its session.
//!
//! Invariants
//! - An item is taken once, in the order of its producer.
//! - The consumer sees the first failure of a producer, or the end when all producers have ended.
//! - Nobody waits after [`stop`](Exchange::stop).

use std::collections::VecDeque;

use extentdb_base::sync::{Arc, Condvar, Mutex, lock, thread, wait};

use crate::error::Error;

/// Items for each producer that wait to be taken.
const ITEMS_EACH: usize = 4;

/// A bounded queue.
pub(crate) struct Exchange<T> {
    state: Mutex<State<T>>,
    most: usize,
    has_item: Condvar,
    has_room: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    producers: usize,
    failure: Option<Error>,
    is_stopped: bool,
}

/// One of those who fill an exchange; it has ended when it is dropped.
pub(crate) struct Producer<T> {
    exchange: Arc<Exchange<T>>,
}

impl<T> Exchange<T> {
    /// With so many producers.
    pub(crate) fn new(producers: usize) -> (Arc<Exchange<T>>, Vec<Producer<T>>) {
        let state = State {
            items: VecDeque::new(),
            producers,
            failure: None,
            is_stopped: false,
        };
        let exchange = Arc::new(Exchange {
            state: Mutex::new(state),
            most: producers * ITEMS_EACH,
            has_item: Condvar::new(),
            has_room: Condvar::new(),
        });
        let producer = |_| Producer { exchange: exchange.clone() };
        let all = (0..producers).map(producer).collect();
        (exchange, all)
    }

    /// The next item; `None` when there will be none.
    ///
    /// # Errors
    /// That of the first producer that failed.
    pub(crate) fn pop(&self) -> Result<Option<T>, Error> {
        let mut state = lock(&self.state);
        loop {
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if let Some(item) = state.items.pop_front() {
                self.has_room.notify_one();
                return Ok(Some(item));
            }
            if state.producers == 0 || state.is_stopped {
                return Ok(None);
            }
            state = wait(&self.has_item, state);
        }
    }

    /// Nothing more is taken.
    pub(crate) fn stop(&self) {
        let mut state = lock(&self.state);
        state.is_stopped = true;
        state.items.clear();
        self.has_room.notify_all();
        self.has_item.notify_all();
    }
}

impl<T> Producer<T> {
    /// Adds an item, when there is room for it. False: nobody takes it.
    pub(crate) fn push(&self, item: T) -> bool {
        let exchange = &*self.exchange;
        let mut state = lock(&exchange.state);
        while state.items.len() >= exchange.most && !state.is_stopped {
            state = wait(&exchange.has_room, state);
        }
        if state.is_stopped {
            return false;
        }
        state.items.push_back(item);
        exchange.has_item.notify_one();
        true
    }

    /// Ends the query of all producers.
    pub(crate) fn fail(&self, error: Error) {
        let mut state = lock(&self.exchange.state);
        state.failure.get_or_insert(error);
        self.exchange.has_item.notify_one();
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.fail(Error::NotSupported("what a thread of a query did not survive".to_owned()));
        }
        let mut state = lock(&self.exchange.state);
        state.producers -= 1;
        self.exchange.has_item.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_items_come_and_then_the_end() {
        let (exchange, producers) = Exchange::new(3);
        let mut found: Vec<i32> = thread::scope(|scope| {
            for (number, producer) in (0..3).zip(producers) {
                scope.spawn(move || (0..100).all(|at| producer.push(number * 100 + at)));
            }
            std::iter::from_fn(|| exchange.pop().unwrap()).collect()
        });
        found.sort_unstable();
        assert_eq!(found, (0..300).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_comes_before_the_rest() {
        let (exchange, producers) = Exchange::new(1);
        assert!(producers[0].push(1));
        producers[0].fail(Error::SubqueryRows);
        assert!(matches!(exchange.pop(), Err(Error::SubqueryRows)));
    }

    #[test]
    fn a_producer_without_room_ends_with_its_exchange() {
        let (exchange, mut producers) = Exchange::new(1);
        let producer = producers.pop().unwrap();
        let pushed = thread::scope(|scope| {
            let pushing = scope.spawn(move || (0..).take_while(|it| producer.push(*it)).count());
            assert_eq!(exchange.pop().unwrap(), Some(0));
            exchange.stop();
            pushing.join().unwrap()
        });
        assert!(pushed <= ITEMS_EACH + 1);
        assert_eq!(exchange.pop().unwrap(), None);
    }

    #[test]
    fn a_producer_that_panics_is_a_failure() {
        let (exchange, mut producers) = Exchange::<i32>::new(1);
        let producer = producers.pop().unwrap();
        thread::scope(|scope| {
            let panicking = scope.spawn(move || {
                let _producer = producer;
                panic!("as it should");
            });
            assert!(panicking.join().is_err());
        });
        assert!(exchange.pop().is_err());
    }
}
