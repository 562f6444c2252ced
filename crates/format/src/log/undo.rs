//! Taking a record back: the change that undoes it, to be logged as a compensation record and
//! applied like any other.
//!
//! ```text
//! record                      what takes it back
//! INSERT_ROWS                 DELETE_ROWS, which does not repeat the row. Several rows at once in
//!                             a heap: one DELETE_ROWS of all of them. In an index: nothing, they
//!                             lie on a page that a split or a build has just formatted, and the
//!                             page goes
//! DELETE_ROWS                 INSERT_ROWS; a ghost gets its life back
//! MODIFY_ROW, MODIFY_COLUMNS,
//! MODIFY_HEADER, ROOT_CHANGE,
//! FILE_HDR_MODIFY, SET_BITS   the same with before and after exchanged
//! HOBT_DELTA                  the same with the signs turned
//! DELETE_SPLIT                INSERT_ROWS of the rows that went to the other page, where they
//!                             still are
//! FORMAT_PAGE                 nothing: the page is given back by the map it was taken from
//! ```
//!
//! Pure, and about the place where the record found the row. Rows of a B-tree may have moved since
//! by splits, which are never undone with the transaction that caused them: a caller that undoes
//! such a record looks the row up by its key first and puts the page and slot of today into the
//! payload.
//!
//! Never undone: records without a transaction, compensation records (their previous LSN already
//! names what to undo next), EXPUNGE_ROWS, COUNT_DELTA and SET_FREE_SPACE.

use extentdb_base::PageId;

use super::context::Context;
use super::op::Op;
use super::payload::Payload;
use super::payload::page::{BitsPart, SetBits};
use super::payload::row::{Chunk, DeleteRows, InsertRows, ModifyColumns, ModifyHeader, RowPart};
use super::record::RecordHeader;
use crate::page::PageType;

/// What takes a record back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inverse<'a> {
    /// Nothing has to be done.
    Nothing,
    /// This change of the page of the record, or a record about no page.
    Change(Box<Change<'a>>),
    /// The rows that lie on another page from slot 0 on come back to `slot` of the record's page.
    RowsFrom {
        /// The page that has them.
        page: PageId,
        /// Number of rows.
        count: u16,
        /// First slot on the record's page.
        slot: u16,
    },
}

/// A change of a page to be logged: the operation, its context and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// What is done.
    pub op: Op,
    /// What it is done to.
    pub context: Context,
    /// The details. Its page part is that of the record undone.
    pub payload: Payload<'a>,
}

/// Why a record cannot be rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{op} cannot be undone")]
pub struct NotUndone {
    /// Operation of the compensation record.
    pub op: Op,
}

/// What takes a record back. `kind` is the type of the page it was applied to; records about no
/// page take any.
///
/// # Errors
/// The operation is one that nobody knows how to undo.
pub fn inverse<'a>(
    header: &RecordHeader,
    payload: &Payload<'a>,
    kind: PageType,
) -> Result<Inverse<'a>, NotUndone> {
    let op = header.op;
    let context = header.context;
    let one = |op, context, payload| Ok(Inverse::Change(Box::new(Change { op, context, payload })));
    match payload {
        Payload::FormatPage(_) | Payload::CreateAllocChain(_) => Ok(Inverse::Nothing),
        Payload::InsertRows(insert) if insert.rows.len() > 1 && context != Context::HEAP => {
            Ok(Inverse::Nothing)
        }
        Payload::InsertRows(insert) => {
            let fixed = RowPart {
                offset_in_row: DeleteRows::OFFSET_IN_ROW,
                ..insert.fixed.clone()
            };
            let rows = vec![&[][..]; insert.rows.len()];
            let delete = DeleteRows { fixed, rows, lock_info: &[] };
            one(Op::DELETE_ROWS, context, Payload::DeleteRows(delete))
        }
        Payload::DeleteRows(delete) => {
            let context =
                if context == Context::MARK_AS_GHOST { leaf_context(kind) } else { context };
            let fixed = RowPart { offset_in_row: 0, ..delete.fixed.clone() };
            let rows = delete.rows.clone();
            let insert = InsertRows { fixed, rows, ..InsertRows::default() };
            one(Op::INSERT_ROWS, context, Payload::InsertRows(insert))
        }
        Payload::ModifyRow(modify) => {
            let mut back = modify.clone();
            std::mem::swap(&mut back.before, &mut back.after);
            back.fixed.modify_size = back.before.len() as u16;
            one(op, context, Payload::ModifyRow(back))
        }
        Payload::ModifyColumns(modify) => {
            one(op, context, Payload::ModifyColumns(columns_back(modify)))
        }
        Payload::ModifyHeader(modify) => {
            let mut back = ModifyHeader { more: Vec::new(), ..modify.clone() };
            std::mem::swap(&mut back.before, &mut back.after);
            back.fixed.modify_size = back.before.len() as u16;
            one(op, context, Payload::ModifyHeader(back))
        }
        Payload::SetBits(set) => {
            let fixed = BitsPart { value: u16::from(set.fixed.value == 0), ..set.fixed.clone() };
            one(op, context, Payload::SetBits(SetBits { fixed, lock_info: None }))
        }
        Payload::RootChange(root) => {
            let mut root = root.clone();
            std::mem::swap(&mut root.new_page, &mut root.old_page);
            one(op, context, Payload::RootChange(root))
        }
        Payload::FileHeaderModify(modify) => {
            let mut back = modify.clone();
            std::mem::swap(&mut back.before, &mut back.after);
            one(op, context, Payload::FileHeaderModify(back))
        }
        Payload::HobtDelta(delta) => {
            let mut back = delta.clone();
            for number in [
                &mut back.rows,
                &mut back.data_pages,
                &mut back.used_pages,
                &mut back.reserved_pages,
            ] {
                *number = number.wrapping_neg();
            }
            one(op, context, Payload::HobtDelta(back))
        }
        Payload::DeleteSplit(split) => Ok(Inverse::RowsFrom {
            page: split.new_page,
            count: split.rows_deleted,
            slot: split.page.slot,
        }),
        _ => Err(NotUndone { op }),
    }
}

/// The context of rows on the leaf level of an index.
pub fn leaf_context(kind: PageType) -> Context {
    if kind == PageType::Index { Context::INDEX_LEAF } else { Context::CLUSTERED }
}

fn columns_back<'a>(modify: &ModifyColumns<'a>) -> ModifyColumns<'a> {
    let back = |chunk: &Chunk<'a>| Chunk {
        old_offset: chunk.new_offset,
        new_offset: chunk.old_offset,
        old_len: chunk.after.len() as u16,
        before: chunk.after,
        after: chunk.before,
    };
    ModifyColumns {
        chunks: modify.chunks.iter().map(back).collect(),
        ..modify.clone()
    }
}

#[cfg(test)]
mod tests;
