//! Functions of JSON in statements.

use extentdb_kernel::operator::function::json;
use extentdb_kernel::operator::row::Function as RowFunction;
use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, MANY, entry};
use super::{BindResult, Binder, Ty, Value};
use crate::typing;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("isjson", 1, 1, |binder, a| binder.is_json(&a)),
    entry("json_value", 2, 2, |binder, a| binder.of_json(&a, json::value, Some(4_000))),
    entry("json_query", 1, 2, |binder, a| {
        let value = binder.of_json(&a, json::query, None)?;
        binder.fragments.push(value.reg);
        Ok(value)
    }),
    entry("json_path_exists", 2, 2, |binder, a| {
        let texts = [binder.wide_argument(&a, 0)?, binder.wide_argument(&a, 1)?];
        binder.row(json::path_exists, &texts, SqlType::Int, 0)
    }),
    entry("json_modify", 3, 3, |binder, a| binder.json_modify(&a)),
    entry("json_object", 0, MANY, |binder, a| {
        let is_absent = a.part.as_deref() == Some("absent on null");
        binder.json_of(&a, json::object, is_absent)
    }),
    entry("json_array", 0, MANY, |binder, a| {
        let is_absent = a.part.as_deref() != Some("null on null");
        binder.json_of(&a, json::array, is_absent)
    }),
];

impl Binder<'_> {
    fn is_json(&mut self, arguments: &Arguments) -> BindResult {
        let kind = match arguments.part.as_deref() {
            None => 0,
            Some("value") => 1,
            Some("array") => 2,
            Some("object") => 3,
            Some("scalar") => 4,
            Some(other) => return self.unsupported(format!("the kind {other} of ISJSON")),
        };
        let text = self.wide_argument(arguments, 0)?;
        self.row(json::is_json, &[text], SqlType::Int, kind)
    }

    fn wide_result(&self, characters: Option<u16>) -> SqlType {
        typing::text_type(true, characters, self.environment.database_collation)
    }

    fn of_json(
        &mut self,
        arguments: &Arguments,
        function: RowFunction,
        characters: Option<u16>,
    ) -> BindResult {
        let texts: BindResult<Vec<Value>> =
            (0..arguments.values.len()).map(|at| self.wide_argument(arguments, at)).collect();
        let result = self.wide_result(characters);
        self.row(function, &texts?, result, 0)
    }

    /// A value that becomes JSON; NULL of no type is NULL of any.
    fn json_value(&mut self, value: &Value, position: usize) -> BindResult {
        match value.ty {
            Ty::Null => self.null(Ty::Sql(SqlType::Int)),
            Ty::Sql(ty @ (SqlType::SqlVariant | SqlType::Udt { .. } | SqlType::Image)) => {
                self.invalid_argument(Some(ty), position)
            }
            _ => Ok(value.clone()),
        }
    }

    fn json_modify(&mut self, arguments: &Arguments) -> BindResult {
        let json = self.wide_argument(arguments, 0)?;
        let path = self.wide_argument(arguments, 1)?;
        let Some(new) = arguments.get(2).cloned() else {
            return self.unsupported("JSON_MODIFY without its arguments");
        };
        let new = self.json_value(&new, 3)?;
        let is_fragment = i64::from(self.fragments.contains(&new.reg));
        let result = self.wide_result(None);
        let value = self.row_with_nulls(json::modify, &[json, path, new], result, is_fragment)?;
        self.fragments.push(value.reg);
        Ok(value)
    }

    /// JSON_OBJECT and JSON_ARRAY.
    fn json_of(
        &mut self,
        arguments: &Arguments,
        function: RowFunction,
        is_absent: bool,
    ) -> BindResult {
        let mut values = Vec::new();
        let mut number = if is_absent { json::ABSENT_ON_NULL } else { 0 };
        for (at, value) in arguments.values.iter().enumerate() {
            let value = self.json_value(value, at + 1)?;
            if at < 62 && self.fragments.contains(&value.reg) {
                number |= 1 << at;
            }
            values.push(value);
        }
        let result = self.wide_result(None);
        let value = match values.is_empty() {
            true => {
                let empty = if self.function == "json_object" { "{}" } else { "[]" };
                let text = self.text(empty, true)?;
                self.implicit(text, result)?
            }
            false => self.row_with_nulls(function, &values, result, number)?,
        };
        self.fragments.push(value.reg);
        Ok(value)
    }
}
