//! Values that a session keeps under keys: SESSION_CONTEXT and sp_set_session_context.
//!
//! Invariant: a key that was set as read-only keeps its value until the session ends or is reset.

use std::collections::BTreeMap;

use extentdb_types::Datum;

use crate::cause::Cause;

/// Bytes of all keys and values.
const MAX_BYTES: usize = 1 << 20;
/// A key cannot be set: it is read-only.
const READ_ONLY: i32 = 15_664;
/// The limit would be exceeded.
const FULL: i32 = 15_665;

/// The values of a session.
#[derive(Debug, Default)]
pub struct SessionContext {
    values: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    /// A sql_variant.
    value: Datum<'static>,
    bytes: usize,
    is_read_only: bool,
}

impl SessionContext {
    /// The value of a key; NULL where there is none.
    pub fn value(&self, key: &str) -> Datum<'static> {
        self.values.get(&folded(key)).map_or(Datum::Null, |entry| entry.value.clone())
    }

    /// Sets the value of a key. NULL takes it away.
    ///
    /// # Errors
    /// The key is read-only, or there is no room.
    pub fn set(
        &mut self,
        key: &str,
        value: Datum<'static>,
        is_read_only: bool,
    ) -> Result<(), Cause> {
        let folded = folded(key);
        if self.values.get(&folded).is_some_and(|entry| entry.is_read_only) {
            let text = format!(
                "Cannot set key '{key}' in the session context. The key has been set as read_only for this session."
            );
            return Err(Cause::Failed { number: READ_ONLY, severity: 16, text });
        }
        let bytes = size(key, &value);
        let others = self.values.iter().filter(|(own, _)| **own != folded);
        if others.map(|(_, entry)| entry.bytes).sum::<usize>() + bytes > MAX_BYTES {
            let text = format!(
                "The value was not set for key '{key}' because the total size of keys and values in the session context would exceed the 1 MB limit."
            );
            return Err(Cause::Failed { number: FULL, severity: 16, text });
        }
        if value.is_null() && !is_read_only {
            self.values.remove(&folded);
        } else {
            self.values.insert(folded, Entry { value, bytes, is_read_only });
        }
        Ok(())
    }
}

/// Keys compare without case.
fn folded(key: &str) -> String {
    key.trim_end().to_lowercase()
}

fn size(key: &str, value: &Datum<'_>) -> usize {
    let mut bytes = Vec::new();
    if !value.is_null() {
        // What cannot be stored was refused as a sql_variant before.
        let _ = value.encode(&extentdb_types::SqlType::SqlVariant, &mut bytes);
    }
    2 * key.encode_utf16().count() + bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant;
    use extentdb_types::SqlType;

    fn int(value: i32) -> Datum<'static> {
        variant::wrap(Datum::Int(value), SqlType::Int)
    }

    #[test]
    fn read_only_keys_keep_their_values() {
        let mut context = SessionContext::default();
        context.set("a", int(1), false).unwrap();
        context.set("A", int(2), true).unwrap();
        assert_eq!(context.value("a"), int(2));
        let refused = context.set("a", int(3), false).unwrap_err();
        assert_eq!(refused.number(), READ_ONLY);
        assert_eq!(context.value("b"), Datum::Null);
    }

    #[test]
    fn a_null_takes_a_value_away() {
        let mut context = SessionContext::default();
        context.set("a", int(1), false).unwrap();
        context.set("a", Datum::Null, false).unwrap();
        assert_eq!(context.value("a"), Datum::Null);
    }
}
