//! Options of cursors: what a client asks for, and sp_cursoroption.
//!
//! ```text
//! scroll       kind 0x1F │ parameters 0x1000, fetch 0x2000, close 0x4000, check 0x8000 │ accepted kinds << 16
//! concurrency  kind 0x0F │ run other texts 0x2000, in place 0x4000, check 0x8000 │ accepted kinds << 16
//! ```

use extentdb_base::sync::lock;

use super::{Finished, Given, found, invalid, returned, row_count};
use crate::statement::cursor::failed;
use extentdb_connection::api_cursor::{ApiConcurrency, ApiKind};
use extentdb_connection::cause::Cause;
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

const KINDS: i64 = 0x1F;
const PARAMETERS: i64 = 0x1000;
const FETCHES: i64 = 0x2000;
const CLOSES: i64 = 0x4000;
const CONCURRENCIES: i64 = 0x0F;
const DIRECT: i64 = 0x2000;
const IN_PLACE: i64 = 0x4000;
/// Only what is accepted is granted.
const CHECKED: i64 = 0x8000;
/// From a kind to the bit that accepts it.
const ACCEPTED_SHIFT: u32 = 16;

/// Codes of sp_cursoroption.
const TEXT_POINTERS: i64 = 1;
const NAME: i64 = 2;
const TEXT_DATA: i64 = 3;
const SCROLL: i64 = 4;
const CONCURRENCY: i64 = 5;
const ROWS: i64 = 6;

/// What a client asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    scroll: i64,
    concurrency: i64,
}

impl Asked {
    /// What is left out is KEYSET and OPTIMISTIC.
    pub(super) fn of(scroll: Option<i64>, concurrency: Option<i64>) -> Asked {
        Asked {
            scroll: scroll.unwrap_or(0),
            concurrency: concurrency.unwrap_or(0),
        }
    }

    /// The same of a prepared cursor, whose parameters follow anyway.
    pub(super) fn with_parameters(self) -> Asked {
        Asked { scroll: self.scroll | PARAMETERS, ..self }
    }

    pub(super) fn kind(self) -> Option<ApiKind> {
        Some(match self.scroll & KINDS {
            0 | 0x01 => ApiKind::Keyset,
            0x02 => ApiKind::Dynamic,
            0x04 => ApiKind::ForwardOnly,
            0x08 => ApiKind::Static,
            0x10 => ApiKind::FastForward,
            _ => return None,
        })
    }

    pub(super) fn concurrency(self) -> Option<ApiConcurrency> {
        Some(match self.concurrency & CONCURRENCIES {
            0x01 => ApiConcurrency::ReadOnly,
            0x02 => ApiConcurrency::ScrollLocks,
            0 | 0x04 => ApiConcurrency::Optimistic,
            0x08 => ApiConcurrency::OptimisticValues,
            _ => return None,
        })
    }

    pub(super) fn has_parameters(self) -> bool {
        self.scroll & PARAMETERS != 0
    }

    pub(super) fn fetches(self) -> bool {
        self.scroll & FETCHES != 0
    }

    pub(super) fn closes_at_end(self) -> bool {
        self.scroll & CLOSES != 0
    }

    pub(super) fn updates_in_place(self) -> bool {
        self.concurrency & IN_PLACE != 0
    }

    /// Is a text that no cursor can be opened over run without one?
    pub(super) fn allows_direct(self) -> bool {
        self.concurrency & DIRECT != 0
    }

    /// Is the cursor one that the client takes?
    pub(super) fn verify(self, kind: ApiKind, concurrency: ApiConcurrency) -> Result<(), Cause> {
        let is_refused = |options: i64, granted: i64| {
            options & CHECKED != 0 && options & granted << ACCEPTED_SHIFT == 0
        };
        if is_refused(self.scroll, kind as i64) || is_refused(self.concurrency, concurrency as i64)
        {
            return Err(failed(16_955, "Could not create an acceptable cursor."));
        }
        Ok(())
    }
}

/// sp_cursoroption.
pub(super) fn run(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: "sp_cursoroption", arguments };
    let cursor = found(run, given)?;
    let value = match given.number(1, "@code") {
        Some(NAME) => {
            let name = given.text(2, "@value").ok_or_else(|| invalid(given, "value"))?;
            let name = name.trim().to_lowercase();
            if run.connection.cursors.global.contains_key(&name) {
                let text = format!("A cursor with the name '{name}' already exists.");
                return Err(failed(16_915, text).into());
            }
            let own = lock(&cursor).cursor.clone();
            if let Some(old) = lock(&cursor).name.replace(name.clone()) {
                run.connection.cursors.global.remove(&old);
            }
            run.connection.cursors.global.insert(name, Some(own));
            return Ok(Finished::default());
        }
        // Values come as they are in either case.
        Some(TEXT_DATA) => return Ok(Finished::default()),
        Some(TEXT_POINTERS) => {
            return Err(Cause::not_supported("text pointers of a cursor").into());
        }
        Some(SCROLL) => lock(&cursor).kind as i32,
        Some(CONCURRENCY) => lock(&cursor).concurrency as i32,
        Some(ROWS) => row_count(&lock(&cursor)),
        _ => return Err(invalid(given, "code")),
    };
    let outputs = given.place(2, "@value").map(|place| (place, returned(value)));
    Ok(Finished { status: 0, outputs: outputs.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_accepted_is_refused() {
        let scroll = 0x01 | CHECKED | 0x01 << ACCEPTED_SHIFT;
        let asked = Asked::of(Some(scroll), Some(0x01));
        assert!(asked.verify(ApiKind::Keyset, ApiConcurrency::ReadOnly).is_ok());
        let refused = asked.verify(ApiKind::Static, ApiConcurrency::ReadOnly);
        assert_eq!(refused.unwrap_err().number(), 16_955);
        let asked = Asked::of(Some(0x01), Some(0x04));
        assert!(asked.verify(ApiKind::Static, ApiConcurrency::ReadOnly).is_ok());
    }

    #[test]
    fn kinds_exclude_each_other() {
        assert_eq!(Asked::of(Some(0x3010), Some(0x2001)).kind(), Some(ApiKind::FastForward));
        assert_eq!(Asked::of(None, None).kind(), Some(ApiKind::Keyset));
        assert_eq!(Asked::of(None, None).concurrency(), Some(ApiConcurrency::Optimistic));
        assert_eq!(Asked::of(Some(0x03), None).kind(), None);
    }
}
