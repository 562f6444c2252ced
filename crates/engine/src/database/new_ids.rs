//! New ids: `NEWID()` and `NEWSEQUENTIALID()`.

use std::time::Duration;

use extentdb_base::env::{Clock, Rng, SplitMix64};
use extentdb_base::sync::{Mutex, lock};

const NANOS_PER_TICK: u32 = 100;
pub(crate) const TICKS_PER_SECOND: u64 = 10_000_000;
/// From 1582-10-15, where UUIDs count from, to 1970-01-01, in ticks of 100 ns.
const UUID_EPOCH_TICKS: u64 = 0x01b2_1dd2_1381_4000;

/// Makes ids for `NEWID()` and `NEWSEQUENTIALID()`.
#[derive(Debug, Default)]
pub(crate) struct NewIds(Mutex<Option<IdState>>);

#[derive(Debug)]
struct IdState {
    rng: SplitMix64,
    node: [u8; 6],
    /// Of the last sequential id.
    ticks: u64,
}

impl NewIds {
    fn with<T>(&self, clock: &dyn Clock, work: impl FnOnce(&mut IdState) -> T) -> T {
        let mut state = lock(&self.0);
        let now = clock.since_epoch();
        work(state.get_or_insert_with(|| {
            let seed =
                now.as_nanos() as u64 ^ (clock.monotonic().as_nanos() as u64).rotate_left(32);
            let mut rng = SplitMix64::new(seed);
            let node = rng.next_u64().to_be_bytes();
            IdState {
                rng,
                node: [node[0] | 1, node[1], node[2], node[3], node[4], node[5]],
                ticks: 0,
            }
        }))
    }

    /// A random id: version 4.
    pub(crate) fn random(&self, clock: &dyn Clock) -> [u8; 16] {
        self.with(clock, |state| {
            let high = state.rng.next_u64().to_le_bytes();
            let low = state.rng.next_u64().to_le_bytes();
            let mut id = [0; 16];
            id[..8].copy_from_slice(&high);
            id[8..].copy_from_slice(&low);
            // The third group is stored with its low byte first.
            id[7] = (id[7] & 0x0f) | 0x40;
            id[8] = (id[8] & 0x3f) | 0x80;
            id
        })
    }

    /// An id that is greater than all before it, as the type is ordered: the groups of a UUID of
    /// version 1 with their high bytes first.
    pub(crate) fn sequential(&self, clock: &dyn Clock) -> [u8; 16] {
        let now = ticks_of(clock.since_epoch()) + UUID_EPOCH_TICKS;
        self.with(clock, |state| {
            state.ticks = now.max(state.ticks + 1);
            let time = state.ticks.to_be_bytes();
            let mut id = [0; 16];
            id[..4].copy_from_slice(&time[4..]);
            id[4..6].copy_from_slice(&time[2..4]);
            id[6] = (time[0] & 0x0f) | 0x10;
            id[7] = time[1];
            id[8] = 0x80;
            id[10..].copy_from_slice(&state.node);
            id
        })
    }
}

/// Ticks of 100 ns.
pub(crate) fn ticks_of(since_epoch: Duration) -> u64 {
    since_epoch.as_secs() * TICKS_PER_SECOND
        + u64::from(since_epoch.subsec_nanos() / NANOS_PER_TICK)
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::SystemClock;
    use extentdb_types::Guid;

    use super::*;

    #[test]
    fn sequential_ids_ascend_as_the_type_is_ordered() {
        let ids = NewIds::default();
        let clock = SystemClock::new();
        let all: Vec<Guid> = (0..1000).map(|_| Guid(ids.sequential(&clock))).collect();
        let ascends = |pair: &[Guid]| pair[0] < pair[1];
        assert!(all.windows(2).all(ascends));
    }

    #[test]
    fn random_ids_differ_and_are_of_version_four() {
        let ids = NewIds::default();
        let clock = SystemClock::new();
        let all: std::collections::BTreeSet<[u8; 16]> =
            (0..1000).map(|_| ids.random(&clock)).collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|id| id[7] >> 4 == 4 && id[8] >> 6 == 2));
    }
}
