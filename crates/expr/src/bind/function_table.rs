//! Functions of statements by name: how many arguments they take, and who binds them.
//!
//! Arguments are brought to the type that their function works with, or refused with their
//! position: message 8116. A literal NULL takes the type that its place has.

use extentdb_kernel::operator::ascii::Encoding;
use extentdb_kernel::operator::cast;
use extentdb_kernel::operator::row::Function as RowFunction;
use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, MANY, entry};
use super::exact::Style;
use super::{BindResult, Binder, Ty, Value};
use crate::error::CompileError;
use crate::syntax::{
    AT_TIME_ZONE, IS_DISTINCT, ODBC_ESCAPE, ODBC_FUNCTION, ODBC_FUNCTIONS, PARSE, TRY_PARSE,
};
use crate::typing::{self, Conversion};

/// Functions of choice, and what T-SQL writes as operators.
const CHOICE: &[Entry] = &[
    entry("isnull", 2, 2, |binder, a| binder.pair(a, Binder::is_null_exactly)),
    entry("nullif", 2, 2, |binder, a| binder.pair(a, Binder::null_if_exactly)),
    entry("iif", 3, 3, |binder, a| binder.iif(a)),
    entry("coalesce", 2, MANY, |binder, a| binder.coalesce_exactly(a.values)),
    entry("choose", 2, MANY, |binder, a| binder.choose(a)),
    entry("greatest", 1, MANY, |binder, a| binder.extreme(a.values, true)),
    entry("least", 1, MANY, |binder, a| binder.extreme(a.values, false)),
    entry(IS_DISTINCT, 2, 2, |binder, a| binder.pair(a, Binder::is_distinct)),
    entry(ODBC_ESCAPE, 1, 1, |binder, a| binder.odbc_escape(a)),
    entry(PARSE, 1, 2, |binder, a| binder.parse(a, false)),
    entry(TRY_PARSE, 1, 2, |binder, a| binder.parse(a, true)),
    entry(AT_TIME_ZONE, 2, 2, |binder, a| binder.at_time_zone(a)),
];

/// All functions.
fn find(name: &str) -> Option<&'static Entry> {
    [CHOICE, super::math::FUNCTIONS, super::texts::FUNCTIONS, super::dates::FUNCTIONS]
        .into_iter()
        .chain([
            super::bytes::FUNCTIONS,
            super::json::FUNCTIONS,
            super::xml::FUNCTIONS,
            super::write::FUNCTIONS,
        ])
        .flatten()
        .find(|entry| entry.name == name)
}

impl Binder<'_> {
    pub(super) fn call_exactly(
        &mut self,
        name: &str,
        part: Option<&str>,
        values: Vec<Value>,
    ) -> BindResult {
        let odbc = name
            .strip_prefix(ODBC_FUNCTION)
            .and_then(|own| ODBC_FUNCTIONS.iter().find(|(name, ..)| *name == own));
        if let Some((_, name, part)) = odbc {
            return self.call_exactly(name, *part, values);
        }
        let Some(entry) = find(name) else {
            if values.is_empty()
                && let Some(value) = self.context_function(name)?
            {
                return Ok(value);
            }
            return Err(CompileError::UnknownFunction { name: name.to_owned(), at: self.at });
        };
        self.function = entry.name;
        // The part of a date is an argument, too.
        let is_dated = part.is_some() && super::dates::FUNCTIONS.iter().any(|it| it.name == name);
        let extra = usize::from(is_dated);
        let count = values.len() + extra;
        if !(entry.least + extra..=entry.most + extra).contains(&count) {
            return Err(CompileError::ArgumentCount {
                function: entry.name.trim_start_matches('\0').to_owned(),
                least: entry.least + extra,
                most: entry.most + extra,
                at: self.at,
            });
        }
        (entry.bind)(self, Arguments { part: part.map(str::to_owned), values })
    }

    /// A function of two values.
    fn pair(
        &mut self,
        arguments: Arguments,
        bind: impl FnOnce(&mut Self, Value, Value) -> BindResult,
    ) -> BindResult {
        let mut values = arguments.values.into_iter();
        match (values.next(), values.next()) {
            (Some(a), Some(b)) => bind(self, a, b),
            _ => self.unsupported("a function without its arguments"),
        }
    }

    pub(super) fn invalid_argument<T>(
        &self,
        ty: Option<SqlType>,
        position: usize,
    ) -> BindResult<T> {
        Err(CompileError::InvalidArgument {
            ty,
            position,
            function: self.function.trim_start_matches('\0').to_owned(),
            at: self.at,
        })
    }

    /// An argument as a value of a type, which it must become by itself.
    pub(super) fn argument(
        &mut self,
        arguments: &Arguments,
        at: usize,
        target: SqlType,
    ) -> BindResult {
        let Some(value) = arguments.get(at).cloned() else {
            return self.null(Ty::Sql(target));
        };
        if value.ty == Ty::Null {
            return self.null(Ty::Sql(target));
        }
        let ty = self.sql(&value)?;
        if typing::conversion(&ty, &target) != Conversion::Implicit {
            return self.invalid_argument(Some(ty), at + 1);
        }
        self.implicit(value, target)
    }

    pub(super) fn int_argument(&mut self, arguments: &Arguments, at: usize) -> BindResult {
        self.argument(arguments, at, SqlType::Int)
    }

    pub(super) fn float_argument(&mut self, arguments: &Arguments, at: usize) -> BindResult {
        self.argument(arguments, at, SqlType::Float)
    }

    /// An argument as a text; texts stay as they are.
    pub(super) fn text_argument(&mut self, arguments: &Arguments, at: usize) -> BindResult {
        let Some(value) = arguments.get(at).cloned() else {
            return self.unsupported("a function without its arguments");
        };
        let collation = self.environment.database_collation;
        let ty = match value.ty {
            Ty::Null => {
                return self.null(Ty::Sql(typing::text_type(false, Some(1), collation)));
            }
            _ => self.sql(&value)?,
        };
        if typing::is_text(&ty) {
            return Ok(value);
        }
        let target = self.text_type_of(&ty);
        let is_large = matches!(ty, SqlType::Text { .. } | SqlType::NText { .. });
        if !is_large && typing::conversion(&ty, &target) != Conversion::Implicit {
            return self.invalid_argument(Some(ty), at + 1);
        }
        let label = value.label;
        let text = self.exact(value, target, Style::NONE)?;
        Ok(Value { label, ..text })
    }

    /// The same as nvarchar.
    pub(super) fn wide_argument(&mut self, arguments: &Arguments, at: usize) -> BindResult {
        let text = self.text_argument(arguments, at)?;
        let ty = self.sql(&text)?;
        let collation = ty.collation().unwrap_or(self.environment.database_collation);
        let characters = typing::characters(&ty).filter(|count| *count <= 4_000);
        self.implicit(text, typing::text_type(true, characters, collation))
    }

    /// The text type that a value of a type is written in.
    pub(super) fn text_type_of(&self, ty: &SqlType) -> SqlType {
        let collation = ty.collation().unwrap_or(self.environment.database_collation);
        let characters = match ty {
            SqlType::Bit => 1,
            SqlType::TinyInt => 3,
            SqlType::SmallInt => 6,
            SqlType::Int => 12,
            SqlType::BigInt => 20,
            SqlType::Date => 10,
            SqlType::Time { .. } => 16,
            SqlType::UniqueIdentifier => 36,
            SqlType::Binary { len } | SqlType::VarBinary { len: Some(len) } => *len,
            SqlType::RowVersion => 8,
            SqlType::VarBinary { len: None } | SqlType::Image | SqlType::Text { .. } => {
                return typing::text_type(false, None, collation);
            }
            SqlType::NText { .. } | SqlType::Xml => {
                return typing::text_type(true, None, collation);
            }
            _ => 41,
        };
        typing::text_type(false, Some(characters), collation)
    }

    /// A char text whose characters take more than one byte, as nvarchar.
    pub(super) fn by_characters(&mut self, text: Value) -> BindResult {
        let ty = self.sql(&text)?;
        if Encoding::of(&ty) != Encoding::MultiByte {
            return Ok(text);
        }
        let collation = ty.collation().unwrap_or(self.environment.database_collation);
        let characters = typing::characters(&ty).filter(|count| *count <= 4_000);
        self.implicit(text, typing::text_type(true, characters, collation))
    }

    /// A function of texts that counts characters. Char texts of more bytes per character are
    /// nvarchar inside, and the result is varchar again.
    pub(super) fn on_characters(
        &mut self,
        texts: Vec<Value>,
        bind: impl FnOnce(&mut Self, Vec<Value>) -> BindResult,
    ) -> BindResult {
        let is_wide = |value: &Value| matches!(value.ty, Ty::Sql(ty) if typing::is_wide_text(&ty));
        let had_wide = texts.iter().any(is_wide);
        let widened: BindResult<Vec<Value>> =
            texts.into_iter().map(|text| self.by_characters(text)).collect();
        let widened = widened?;
        let has_wide = widened.iter().any(is_wide);
        let result = bind(self, widened)?;
        if had_wide || !has_wide || !is_wide(&result) {
            return Ok(result);
        }
        let ty = self.sql(&result)?;
        let collation = ty.collation().unwrap_or(self.environment.database_collation);
        let bytes = typing::characters(&ty).map(|count| count.saturating_mul(2));
        let label = result.label;
        let narrow = self.implicit(result, typing::text_type(false, bytes, collation))?;
        Ok(Value { label, ..narrow })
    }

    /// A function that is evaluated row by row over arguments as they are.
    pub(super) fn by_rows(
        &mut self,
        function: RowFunction,
        arguments: &[Value],
        result: SqlType,
    ) -> BindResult {
        let keeps_collation = |value: &&Value| match value.ty {
            Ty::Sql(ty) => ty.collation().is_some() && ty.collation() == result.collation(),
            _ => false,
        };
        let label = arguments.first().filter(keeps_collation).map(|value| value.label);
        let value = self.row(function, arguments, result, 0)?;
        Ok(Value { label: label.unwrap_or(value.label), ..value })
    }

    /// Is it a type of characters, (n)text with them?
    pub(super) fn is_character(&self, value: &Value) -> bool {
        matches!(value.ty, Ty::Sql(ty) if cast::is_character(&ty))
    }
}
