//! sp_helptext: the text of a module or constraint, line by line.

use extentdb_types::SqlType;

use super::catalog::no_object;
use super::given::Given;
use super::{Finished, catalog};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::function;
use extentdb_connection::output::{ColumnInfo, Scope, StatementCode};
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant::nchar;

const NAME: &str = "sp_helptext";
/// The object has no text.
const NO_TEXT: i32 = 15_197;
/// Characters of a row.
const ROW_UNITS: usize = 255;

pub(super) fn run(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: NAME, arguments };
    if given.text(1, "@columnname").is_some() {
        return Err(Cause::not_supported("sp_helptext of a column").into());
    }
    let name = given.text(0, "@objname").ok_or_else(|| given.missing("@objname"))?;
    catalog::verify_object(run, &name)?;
    let frame = Frame::new(Scope::Procedure, extentdb_base::sync::Arc::from([]));
    let text = function::object_text(run.values(&frame), &name)?;
    let text = text.ok_or_else(|| no_text(run, &name))?;
    let collation = run.connection.collation();
    let column = ColumnInfo {
        name: "Text".to_owned(),
        ty: SqlType::NVarChar { len: Some(2 * 255), collation },
        is_nullable: true,
        is_computed: false,
        is_identity: false,
    };
    run.output.columns(&[column])?;
    let rows = rows_of(&text);
    for row in &rows {
        run.output.row(&[nchar(row)])?;
    }
    let count = u64::try_from(rows.len()).ok();
    run.done(Scope::Procedure, StatementCode::Select, count, false)?;
    Ok(Finished::default())
}

fn no_text(run: &Run<'_>, name: &str) -> Cause {
    if name.is_empty() {
        return no_object(run, name);
    }
    let text = format!("There is no text for object '{name}'.");
    Cause::Failed { number: NO_TEXT, severity: 16, text }
}

/// Lines with their ends; longer ones in pieces.
fn rows_of(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut row = String::new();
        let mut units = 0;
        for letter in line.chars() {
            if units + letter.len_utf16() > ROW_UNITS {
                rows.push(std::mem::take(&mut row));
                units = 0;
            }
            row.push(letter);
            units += letter.len_utf16();
        }
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::rows_of;

    #[test]
    fn rows_are_lines_and_pieces_of_long_ones() {
        assert_eq!(rows_of("a\r\nb\n\nc"), ["a\r\n", "b\n", "\n", "c"]);
        let long = "x".repeat(300);
        let lengths: Vec<usize> = rows_of(&long).iter().map(String::len).collect();
        assert_eq!(lengths, [255, 45]);
    }
}
