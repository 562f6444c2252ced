//! Restart recovery after ARIES (Mohan et al. 1992): analysis, redo, undo.
//!
//! ```text
//! analysis  the transaction table, and the units and extents that the log has touched
//! redo      repeats history, from the minimum LSN of the last checkpoint to the end of the log,
//!           changes of transactions that did not commit included; same pass as analysis
//! undo      rolls back losers, newest record first over all of them; each undo logs a
//!           compensation record whose undo-next LSN leads past the record that it undoes
//! recount   counts the touched units again, and corrects the PFS of their pages
//! ```
//!
//! Where we differ:
//! - One pass instead of two: pages are redone while the transaction table is built. There is no
//!   dirty page table; the checkpoint before has written all pages that were dirty.
//! - A record is applied only to a page with exactly the state before it; a page whose LSN is
//!   greater already has it. Any other page stops recovery with its number.
//! - Undo has two phases. System transactions (splits, allocations) are undone first, page by page
//!   at their slots: afterwards every tree is whole. User transactions follow: rows of trees are
//!   found by their keys, wherever a split has moved them; all else by its slot.
//! - A page that cannot be read is passed over; the log is kept from the first record that it
//!   lacks, and transactions whose undo needs it are deferred (`suspect`).
//! - A transaction that was prepared for a commit over several databases is neither redone for good
//!   nor undone before its coordinator's log has been asked ([`in_doubt`]).
//! - Counts are not logged with the changes that they count, so they are counted again.
//!
//! Invariant: recovery is idempotent. Interrupted at any point and begun again, it ends in the same
//! state.
//!
//! Example. Transaction A inserts row 5 (33:10:1), which splits page 1:90 by system transaction S
//! (33:10:2 to 33:10:6, committed); A inserts row 6 (33:11:1); power fails.
//! 1. Redo repeats all of it: the rows of the split are on the pages 1:90 and 1:95.
//! 2. S has committed and stays. A is a loser.
//! 3. Undo of 33:11:1 deletes row 6 where its key is now, and logs a compensation record.
//! 4. Power fails again. Redo repeats the compensation record, too; undo continues with 33:10:1.

pub(crate) mod analysis;
pub(crate) mod in_doubt;
pub(crate) mod recount;
pub(crate) mod redo;
pub(crate) mod torn_pages;
pub(crate) mod undo;
