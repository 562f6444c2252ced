//! Methods of xml in statements.
//!
//! Arguments: name of the operand for messages, document, number of a node or -1, the text of the
//! query, and the values that it names.

use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, MANY, entry};
use super::{BindResult, Binder, Ty, Value};
use crate::error::CompileError;
use crate::typing;
use crate::xml;
use extentdb_kernel::operator::row::Function as RowFunction;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("\0xml value", 4, MANY, |binder, a| {
        let text = typing::text_type(true, None, binder.environment.database_collation);
        binder.of_xml(&a, xml::value, text)
    }),
    entry("\0xml query", 4, MANY, |binder, a| binder.of_xml(&a, xml::query, SqlType::Xml)),
    entry("\0xml exist", 4, MANY, |binder, a| binder.of_xml(&a, xml::exist, SqlType::Bit)),
    entry("\0xml modify", 4, MANY, |binder, a| binder.of_xml(&a, xml::modify, SqlType::Xml)),
];

impl Binder<'_> {
    fn of_xml(
        &mut self,
        arguments: &Arguments,
        function: RowFunction,
        result: SqlType,
    ) -> BindResult {
        let name = self.wide_argument(arguments, 0)?;
        let document = self.document(arguments.get(1))?;
        let node = self.argument(arguments, 2, SqlType::Int)?;
        let query = self.wide_argument(arguments, 3)?;
        let mut values = vec![name, document, node, query];
        let mut number = 0;
        for (place, at) in (4..arguments.values.len()).enumerate() {
            if let Some(Value { ty: Ty::Sql(ty), .. }) = arguments.get(at) {
                number |= (xml::kind_of(ty) as i64) << (place * xml::KIND_BITS);
            }
            values.push(self.wide_argument(arguments, at)?);
        }
        self.row_with_nulls(function, &values, result, number)
    }

    /// The operand, which is xml.
    fn document(&mut self, value: Option<&Value>) -> BindResult {
        match value {
            Some(value) if value.ty == Ty::Sql(SqlType::Xml) => Ok(value.clone()),
            Some(Value { ty: Ty::Sql(ty), .. }) => {
                let name = crate::error::name(ty);
                let text = format!("Cannot call methods on {name}.");
                Err(CompileError::Message { number: 258, text, at: self.at })
            }
            _ => {
                let text = "Cannot call methods on NULL.".to_owned();
                Err(CompileError::Message { number: 258, text, at: self.at })
            }
        }
    }
}
