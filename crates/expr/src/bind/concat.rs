//! CONCAT and CONCAT_WS of statements, which take values of any type.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::operator::function::text;
use extentdb_types::SqlType;

use super::entry::Arguments;
use super::exact::Style;
use super::{BindResult, Binder, Label, Ty, Value};
use crate::typing;

impl Binder<'_> {
    /// A value as the text that CONCAT makes of it.
    fn concatenated(&mut self, value: Value) -> BindResult {
        let collation = self.environment.database_collation;
        let ty = match value.ty {
            Ty::Null => {
                let empty = Constant::Bytes(Vec::new());
                return self.constant(empty, Ty::Sql(typing::text_type(false, Some(1), collation)));
            }
            _ => self.sql(&value)?,
        };
        if typing::is_text(&ty) {
            return Ok(value);
        }
        let target = self.text_type_of(&ty);
        if ty == SqlType::SqlVariant || matches!(ty, SqlType::Udt { .. }) {
            return self.invalid_argument(Some(ty), 1);
        }
        self.exact(value, target, Style::NONE)
    }

    pub(super) fn concat_exactly(&mut self, arguments: &Arguments) -> BindResult {
        self.operation = "concat";
        let texts: BindResult<Vec<Value>> =
            arguments.values.iter().map(|value| self.concatenated(value.clone())).collect();
        self.concat(texts?)
    }

    pub(super) fn concat_with_separator(&mut self, arguments: &Arguments) -> BindResult {
        self.operation = "concat_ws";
        let texts: BindResult<Vec<Value>> = arguments
            .values
            .iter()
            .map(|value| match value.ty {
                Ty::Null => {
                    let collation = self.environment.database_collation;
                    self.null(Ty::Sql(typing::text_type(false, Some(1), collation)))
                }
                _ => self.concatenated(value.clone()),
            })
            .collect();
        let texts = texts?;
        let mut total: Option<u16> = Some(0);
        let mut label = Label::Default;
        let mut strongest = self.environment.database_collation;
        let mut is_wide = false;
        for text in &texts {
            let ty = self.sql(text)?;
            total = total.zip(typing::characters(&ty)).map(|(sum, own)| sum.saturating_add(own));
            is_wide |= typing::is_wide_text(&ty);
            if text.label > label {
                label = text.label;
                strongest = ty.collation().unwrap_or(strongest);
            }
        }
        // The separator may stand between any two.
        let Some(separator) = texts.first() else {
            return self.unsupported("CONCAT_WS without its arguments");
        };
        let separator = self.sql(separator)?;
        let between = (texts.len() as u16).saturating_sub(2);
        let separators = typing::characters(&separator).map(|own| own.saturating_mul(between));
        let total = total.zip(separators).map(|(sum, more)| sum.saturating_add(more));
        let under = |binder: &mut Self, text: Value| {
            let ty = binder.sql(&text)?;
            binder.under(text, ty, is_wide, strongest)
        };
        let texts: BindResult<Vec<Value>> =
            texts.into_iter().map(|text| under(self, text)).collect();
        let result = typing::text_type(is_wide, total, strongest);
        let value = self.row_with_nulls(text::concat_ws, &texts?, result, 0)?;
        Ok(Value { label, ..value })
    }
}
