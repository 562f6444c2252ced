//! Failed logins: each one of an address is answered later than the one before, and after too many
//! the address has to wait, whatever password it gives.
//!
//! By address and login, so that nobody locks a login for others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use extentdb_base::sync::{Mutex, lock};

const FIRST_DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(3);
/// Failures in a row before the address is locked out.
const FAILURES_MAX: u32 = 12;
const LOCKED: Duration = Duration::from_secs(60);
/// Addresses that are remembered; beyond, those that are not locked are forgotten.
const REMEMBERED_MAX: usize = 10_000;

type Key = (IpAddr, String);

#[derive(Default)]
struct Failures {
    count: u32,
    /// When the last one was, on the clock of the caller.
    last: Duration,
}

/// The failures of all addresses.
#[derive(Default)]
pub(crate) struct Lockout {
    failures: Mutex<HashMap<Key, Failures>>,
}

impl Lockout {
    /// May the address try the login?
    pub(crate) fn is_locked(&self, address: IpAddr, login: &str, now: Duration) -> bool {
        let failures = lock(&self.failures);
        failures
            .get(&key(address, login))
            .is_some_and(|it| it.count >= FAILURES_MAX && now < it.last + LOCKED)
    }

    /// Counts a failure; how long the answer is to wait.
    pub(crate) fn failed(&self, address: IpAddr, login: &str, now: Duration) -> Duration {
        let mut failures = lock(&self.failures);
        if failures.len() >= REMEMBERED_MAX {
            failures.retain(|_, it| it.count >= FAILURES_MAX && now < it.last + LOCKED);
        }
        let own = failures.entry(key(address, login)).or_default();
        if now > own.last + LOCKED {
            own.count = 0;
        }
        own.count += 1;
        own.last = now;
        FIRST_DELAY.saturating_mul(1 << (own.count - 1).min(10)).min(MAX_DELAY)
    }

    /// A login that worked: the failures before it are forgotten.
    pub(crate) fn succeeded(&self, address: IpAddr, login: &str) {
        lock(&self.failures).remove(&key(address, login));
    }
}

fn key(address: IpAddr, login: &str) -> Key {
    (address, login.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_wait_longer_and_then_lock_the_address_alone() {
        let lockout = Lockout::default();
        let here: IpAddr = "10.0.0.1".parse().unwrap();
        let there: IpAddr = "10.0.0.2".parse().unwrap();
        let now = Duration::from_secs(100);
        let delays: Vec<_> = (0..8).map(|_| lockout.failed(here, "sa", now).as_millis()).collect();
        assert_eq!(delays, [50, 100, 200, 400, 800, 1600, 3000, 3000]);
        assert!(!lockout.is_locked(here, "sa", now));
        for _ in 0..4 {
            lockout.failed(here, "SA", now);
        }
        assert!(lockout.is_locked(here, "sa", now));
        assert!(!lockout.is_locked(there, "sa", now) && !lockout.is_locked(here, "bob", now));
        assert!(!lockout.is_locked(here, "sa", now + LOCKED));
        lockout.succeeded(here, "sa");
        assert!(!lockout.is_locked(here, "sa", now));
    }
}
