//! A hash table from byte strings to numbers, which only grows.
//!
//! Open addressing with linear probing; the slots hold hashes and numbers of entries, the keys lie
//! one after the other in one buffer. So a key takes no allocation of its own, and a table that
//! grows does not look at its keys.
//!
//! Invariant: at most half of the slots are used, so that every search ends at a free one.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// Slots of a table at first; always a power of two.
const FIRST_SLOTS: usize = 64;
/// The entry of a slot that is free.
const FREE: u32 = u32::MAX;

/// Numbers by keys.
#[derive(Debug)]
pub(crate) struct ByteTable {
    slots: Vec<Slot>,
    /// All keys, and where each of them ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    numbers: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    entry: u32,
}

impl Default for ByteTable {
    fn default() -> ByteTable {
        ByteTable {
            slots: vec![Slot { hash: 0, entry: FREE }; FIRST_SLOTS],
            bytes: Vec::new(),
            ends: Vec::new(),
            numbers: Vec::new(),
        }
    }
}

impl ByteTable {
    /// The number of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<u32> {
        let hash = hash(key);
        let mut at = hash as usize;
        loop {
            let slot = self.slot(at);
            if slot.entry == FREE {
                return None;
            }
            if slot.hash == hash && self.key(slot.entry) == key {
                return self.numbers.get(slot.entry as usize).copied();
            }
            at += 1;
        }
    }

    /// Adds a key that is not there yet.
    pub(crate) fn insert(&mut self, key: &[u8], number: u32) {
        if self.numbers.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let entry = self.numbers.len() as u32;
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.numbers.push(number);
        self.place(Slot { hash: hash(key), entry });
    }

    /// Bytes in memory, about.
    pub(crate) fn memory(&self) -> usize {
        let entry = size_of::<usize>() + size_of::<u32>();
        self.slots.len() * size_of::<Slot>() + self.bytes.len() + self.ends.len() * entry
    }

    /// The slot that a search looks at, from the hash on.
    fn slot(&self, at: usize) -> Slot {
        let at = at & (self.slots.len() - 1);
        self.slots.get(at).copied().unwrap_or(Slot { hash: 0, entry: FREE })
    }

    fn key(&self, entry: u32) -> &[u8] {
        let entry = entry as usize;
        let from = entry.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let to = self.ends.get(entry).copied().unwrap_or_default();
        self.bytes.get(from.unwrap_or_default()..to).unwrap_or_default()
    }

    fn place(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.hash as usize & mask;
        while self.slot(at).entry != FREE {
            at = (at + 1) & mask;
        }
        if let Some(free) = self.slots.get_mut(at) {
            *free = slot;
        }
    }

    fn grow(&mut self) {
        let free = vec![Slot { hash: 0, entry: FREE }; self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, free) {
            if slot.entry != FREE {
                self.place(slot);
            }
        }
    }
}

/// The hash of a key; its low bits say where it is looked for.
fn hash(key: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.write_usize(key.len());
    let hash = hasher.finish();
    (hash ^ hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_again() {
        let mut table = ByteTable::default();
        let key = |number: u32| format!("{:>width$}", number * 7, width = number as usize % 40);
        assert_eq!(table.get(b""), None);
        for number in 0..5000 {
            assert_eq!(table.get(key(number).as_bytes()), None);
            table.insert(key(number).as_bytes(), number / 2);
        }
        for number in 0..5000 {
            assert_eq!(table.get(key(number).as_bytes()), Some(number / 2));
        }
        assert_eq!(table.get(b"7 "), None);
        table.insert(b"", 9);
        assert_eq!(table.get(b""), Some(9));
    }
}
