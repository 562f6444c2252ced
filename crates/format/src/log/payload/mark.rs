//! Payloads of this engine's own operations.
//!
//! Offsets are hexadecimal and counted from the record's start.

use extentdb_base::Lsn;

use super::{Body, body_without_elements};
use crate::log::field::fixed_part;
use crate::log::record::{ElementList, Slices};

fixed_part! {
    /// `LOP_X_DURABLE`: every record up to `durable` was durable before the block that begins with
    /// this record was written. It belongs to no transaction, has context `LCX_NULL`, and says
    /// nothing about pages: redo and undo pass over it.
    pub struct DurableMark from 0x18 {
        /// LSN of the newest durable record; zero when there was none.
        0x18 durable: Lsn,
    }
}
body_without_elements!(DurableMark, None);
