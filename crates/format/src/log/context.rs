//! Contexts of log records: what kind of thing the operation touched, `LCX_…` in `fn_dblog`.
//!
//! The names are public documentation. For 00–05, 08–0E, 11–14, 17 and 18 hex the page type or row
//! touched was observed to fit in real files of versions 539 to 904.

use std::fmt;

/// Context of a log record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context(pub u8);

macro_rules! contexts {
    ($($number:literal $name:ident;)*) => {
        #[allow(missing_docs, reason = "the names are SQL Server's own")]
        impl Context {
            $(pub const $name: Context = Context($number);)*
        }

        /// Number and name of every known context, ascending.
        const CONTEXTS: &[(u8, &str)] = &[$(($number, concat!("LCX_", stringify!($name))),)*];
    };
}

contexts! {
    0x00 NULL;
    0x01 HEAP;
    0x02 CLUSTERED;
    0x03 INDEX_LEAF;
    0x04 INDEX_INTERIOR;
    0x05 TEXT_MIX;
    0x06 TEXT_TREE;
    0x07 DIAGNOSTICS;
    0x08 GAM;
    0x09 SGAM;
    0x0a IAM;
    0x0b PFS;
    0x0c IDENTITY_VALUE;
    0x0d OBJECT_ID;
    0x0e NONSYS_SPLIT;
    0x11 FILE_HEADER;
    0x12 SCHEMA_VERSION;
    0x13 MARK_AS_GHOST;
    0x14 BOOT_PAGE;
    0x15 SYSCONFIG_PAGE;
    0x16 CTR_ABORTED;
    0x17 BOOT_PAGE_CKPT;
    0x18 DIFF_MAP;
    0x19 ML_MAP;
    0x1a REMOVE_VERSION_INFO;
    0x1b DBCC_FORMATTED;
    0x1c UNLINKED_REORG_PAGE;
    0x1d BULK_OPERATION_PAGE;
    0x1e TRACKED_XDES;
    0x1f ENCRYPT_UNALLOC_PAGE;
    0x20 SORT_PAGE;
    0x21 WORK_FILE_PAGE;
    0x22 RESTORE_BAD_UNALLOC_PAGE;
    0x23 OFF_ROW_PVS;
    0x24 CTR_XACT_CLEANUP;
    0x25 TRY_TRANSITION_TO_NON_CTR;
    0x26 CTR_NEST_ABORTED;
    0x27 CTR_LOG_HOLDUP;
    0x28 LEDGER_TRANSACTIONS;
}

impl Context {
    /// The name with its prefix, `LCX_HEAP`; `None` for a number without one.
    pub fn name(self) -> Option<&'static str> {
        CONTEXTS
            .binary_search_by_key(&self.0, |entry| entry.0)
            .ok()
            .and_then(|i| CONTEXTS.get(i))
            .map(|e| e.1)
    }

    /// All contexts that have a name.
    pub fn all() -> impl Iterator<Item = Context> {
        CONTEXTS.iter().map(|entry| Context(entry.0))
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "LCX_{:02X}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_sorted_and_named() {
        assert!(CONTEXTS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(Context::BOOT_PAGE_CKPT.to_string(), "LCX_BOOT_PAGE_CKPT");
        assert_eq!(Context(0x0f).to_string(), "LCX_0F");
        assert!(Context::all().all(|c| c.name().is_some()));
    }
}
