//! Sort keys of the rows of a build; the order is [`extentdb_types::key_order`].

use extentdb_types::SqlType;
use extentdb_types::key_order::{KeyValue, push_sort_key};

use extentdb_catalog::table::values::Cell;

/// Appends the sort key of one column.
pub(crate) fn sort_key(ty: &SqlType, cell: Cell<'_>, descending: bool, out: &mut Vec<u8>) {
    let value = match cell {
        Cell::Null => KeyValue::Null,
        Cell::Bit(value) => KeyValue::Bit(value),
        Cell::Bytes(bytes) | Cell::Lob(bytes) | Cell::Pointer(bytes) => KeyValue::Bytes(bytes),
        // No type of a key has values of this kind.
        Cell::Stream(_) => KeyValue::Bytes(&[]),
    };
    push_sort_key(ty, value, descending, out);
}
