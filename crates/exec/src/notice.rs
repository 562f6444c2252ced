//! What a statement tells of besides its rows and errors.
//!
//! Invariant: a notice is a bit that any thread sets; it is taken once, at the statement's end.

use extentdb_base::sync::atomic::{AtomicU8, Ordering};

/// A notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// 8153: an aggregate passed over NULL.
    NullEliminated = 1,
    /// 3607: a division by zero is NULL.
    Division = 2,
    /// 3606: an overflow is NULL.
    Overflow = 4,
}

/// The notices of a statement.
#[derive(Debug, Default)]
pub struct Notices {
    bits: AtomicU8,
}

impl Notices {
    /// Sets a notice.
    pub fn note(&self, notice: Notice) {
        self.bits.fetch_or(notice as u8, Ordering::Relaxed);
    }

    /// Is it set?
    pub fn has(&self, notice: Notice) -> bool {
        self.bits.load(Ordering::Relaxed) & notice as u8 != 0
    }

    /// Sets what errors of arithmetic have become.
    pub fn note_arithmetic(&self, nulls: extentdb_expr::ArithmeticNulls) {
        if nulls.division {
            self.note(Notice::Division);
        }
        if nulls.overflow {
            self.note(Notice::Overflow);
        }
    }

    /// The notices that are set, which are set no more.
    pub fn take(&self) -> Vec<Notice> {
        let bits = self.bits.swap(0, Ordering::Relaxed);
        [Notice::NullEliminated, Notice::Division, Notice::Overflow]
            .into_iter()
            .filter(|notice| bits & *notice as u8 != 0)
            .collect()
    }
}
