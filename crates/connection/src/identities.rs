//! The identity values that a session was given last: `@@IDENTITY` and SCOPE_IDENTITY.
//!
//! ```text
//! batch                 scopes [5]         @@IDENTITY 5
//!   EXEC ('INSERT …')   scopes [5, 9]      @@IDENTITY 9
//! batch                 scopes [5]         @@IDENTITY 9
//! ```
//!
//! A scope begins without a value. What was inserted and rolled back counts.

use extentdb_exec::LastIdentity;
use extentdb_types::{Datum, Decimal};

use crate::variant;

/// The last identity value, of the session and of each scope.
#[derive(Debug, Default)]
pub struct Identities {
    last: Option<Decimal>,
    /// Of the batch.
    outermost: Option<Decimal>,
    /// Of procedures and texts that run within each other.
    nested: Vec<Option<Decimal>>,
}

impl Identities {
    /// `@@IDENTITY`
    pub fn last(&self) -> Option<Decimal> {
        self.last
    }

    /// SCOPE_IDENTITY
    pub fn in_scope(&self) -> Option<Decimal> {
        self.nested.last().copied().unwrap_or(self.outermost)
    }

    /// A procedure or text begins.
    pub fn enter(&mut self) {
        self.nested.push(None);
    }

    /// It ends.
    pub fn leave(&mut self) {
        self.nested.pop();
    }

    /// What a statement has inserted.
    pub fn note(&mut self, identity: &LastIdentity) {
        match identity {
            LastIdentity::Unchanged => {}
            LastIdentity::Missing => self.last = None,
            LastIdentity::Value(value) => {
                self.last = number(value);
                let scope = self.nested.last_mut().unwrap_or(&mut self.outermost);
                *scope = self.last;
            }
        }
    }
}

fn number(value: &Datum<'_>) -> Option<Decimal> {
    match value {
        Datum::Decimal(value) => Some(*value),
        other => {
            let value = variant::integer(other)?;
            Decimal::new(value < 0, value.unsigned_abs().into(), 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_knows_its_own_values_alone() {
        let shown = |it: &Identities| {
            let text = |value: Option<Decimal>| value.map(|value| value.to_string());
            (text(it.last()), text(it.in_scope()))
        };
        let some = |text: &str| Some(text.to_owned());
        let mut identities = Identities::default();
        identities.note(&LastIdentity::Value(Datum::Int(5)));
        assert_eq!(shown(&identities), (some("5"), some("5")));
        identities.enter();
        assert_eq!(shown(&identities), (some("5"), None));
        identities.note(&LastIdentity::Value(Datum::BigInt(-9)));
        assert_eq!(shown(&identities), (some("-9"), some("-9")));
        identities.leave();
        assert_eq!(shown(&identities), (some("-9"), some("5")));
        identities.note(&LastIdentity::Missing);
        assert_eq!(shown(&identities), (None, some("5")));
    }
}
