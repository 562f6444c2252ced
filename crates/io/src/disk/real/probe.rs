//! How [`DurabilityMode::Auto`] decides: by the cache of the device of a file.
//!
//! Linux describes each block device under `/sys`: `queue/write_cache` says whether it has a
//! volatile cache, `queue/fua` whether a single write can bypass it. A partition has no queue of
//! its own; that of its disk counts.

use std::fs;
use std::path::Path;

use super::{Backend, DurabilityMode, DurabilityReport};
use crate::platform;

/// Chooses the mode of a file. Says nothing about rings.
pub(super) fn choose(
    asked: DurabilityMode,
    handle: &fs::File,
    path: &Path,
    direct: bool,
) -> DurabilityReport {
    let queue = platform::device_queue(handle);
    let write_cache = queue.as_deref().and_then(|queue| read_word(&queue.join("write_cache")));
    let fua =
        queue.as_deref().and_then(|queue| read_word(&queue.join("fua"))).map(|word| word != "0");
    let (chosen, reason) = match asked {
        DurabilityMode::Auto => decide(write_cache.as_deref(), fua, direct),
        asked => (asked, "asked for"),
    };
    let path = path.to_path_buf();
    let backend = Backend::Plain;
    let refusal = None;
    DurabilityReport {
        path,
        asked,
        chosen,
        write_cache,
        fua,
        direct,
        reason,
        backend,
        refusal,
    }
}

/// The choice of `Auto`.
fn decide(
    write_cache: Option<&str>,
    fua: Option<bool>,
    direct: bool,
) -> (DurabilityMode, &'static str) {
    use DurabilityMode::{ForcedFlush, Fua};
    match (write_cache, fua) {
        _ if !direct => (ForcedFlush, "the file cannot be written past the page cache"),
        (Some("write through"), _) => {
            (Fua, "the device has no volatile cache: each write is durable")
        }
        (_, Some(true)) => (Fua, "the device supports forced unit access"),
        (Some(_), Some(false)) => (
            ForcedFlush,
            "the device has a volatile cache and no forced unit access: one flush for many writes",
        ),
        _ => (ForcedFlush, "nothing is known of the device's cache"),
    }
}

fn read_word(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_writes_are_durable_only_where_the_device_makes_them_so() {
        use DurabilityMode::{ForcedFlush, Fua};
        let chosen = |cache, fua, direct| decide(cache, fua, direct).0;
        assert_eq!(chosen(Some("write back"), Some(false), true), ForcedFlush);
        assert_eq!(chosen(Some("write back"), Some(true), true), Fua);
        assert_eq!(chosen(Some("write through"), Some(false), true), Fua);
        assert_eq!(chosen(Some("write through"), Some(true), false), ForcedFlush);
        assert_eq!(chosen(None, None, true), ForcedFlush);
        assert_eq!(chosen(Some("write back"), None, true), ForcedFlush);
    }
}
