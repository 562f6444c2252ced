//! `sys.syscomments`: texts of modules, checks, defaults and computed columns, in pieces.

use extentdb_base::ObjectId;

use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::column::columns_of;
use crate::view::constraint::tables;
use crate::view::module::modules;

/// UTF-16 units of a piece.
const PIECE: usize = 4000;
/// `texttype`: a text of users.
const TEXT_OF_USERS: i32 = 2;

/// A piece of a text.
struct Item {
    object: ObjectId,
    /// The column of a computed one, the number of a procedure.
    number: i32,
    /// From 1.
    piece: i32,
    units: Vec<u16>,
}

fn pieces(object: ObjectId, number: i32, text: &str) -> Vec<Item> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let piece = |(piece, units): (i32, &[u16])| Item { object, number, piece, units: units.into() };
    (1..).zip(units.chunks(PIECE)).map(piece).collect()
}

fn bytes(units: &[u16]) -> Vec<u8> {
    units.iter().flat_map(|unit| unit.to_le_bytes()).collect()
}

/// `sys.syscomments`.
pub(in crate::view) fn comments(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("id", |it: &Item| it.object.0.into())
        .put("number", |it| it.number.into())
        .put("colid", |it| it.piece.into())
        .put("ctext", |it| bytes(&it.units).into())
        .put("text", |it| String::from_utf16_lossy(&it.units).into())
        .put("texttype", |_| TEXT_OF_USERS.into())
        .zero(&["status", "language", "encrypted", "compressed"]);
    let of_modules = modules(source).flat_map(|it| {
        let number = i32::from(it.object.kind.code() == "P");
        it.text.map(|text| pieces(it.object.id, number, text)).unwrap_or_default()
    });
    let constraints =
        tables(source).flat_map(|(_, table)| table.checks.iter().chain(&table.defaults));
    let of_constraints = constraints.flat_map(|it| {
        it.definition.as_deref().map(|text| pieces(it.object.id, 0, text)).unwrap_or_default()
    });
    let of_columns = source.objects().into_iter().flat_map(|model| {
        let computed =
            columns_of(model).iter().filter_map(|it| Some((it.id, it.computed.as_ref()?)));
        computed.flat_map(|(id, text)| pieces(model.object.id, id, text))
    });
    rows.add(&columns, of_modules.chain(of_constraints).chain(of_columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_into_pieces_of_4000() {
        let text = "x".repeat(4001);
        let pieces = pieces(ObjectId(7), 1, &text);
        let shown: Vec<(i32, usize)> =
            pieces.iter().map(|piece| (piece.piece, piece.units.len())).collect();
        assert_eq!(shown, [(1, 4000), (2, 1)]);
    }
}
