//! LIKE and PATINDEX of statements.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::operator::{Op, codec, pattern};
use extentdb_types::SqlType;

use super::entry::Arguments;
use super::{BindResult, Binder, Ty, Value};
use crate::error::CompileError;
use crate::typing;

impl Binder<'_> {
    pub(super) fn pattern_index(&mut self, arguments: &Arguments) -> BindResult {
        let pattern = self.text_argument(arguments, 0)?;
        let text = self.text_argument(arguments, 1)?;
        let is_max = matches!(text.ty, Ty::Sql(ty) if ty.is_max());
        let op = self.pattern_op(text, pattern, None, true)?;
        let result = if is_max { SqlType::BigInt } else { SqlType::Int };
        self.emit(op, result)
    }

    /// LIKE of statements.
    pub(super) fn like_exactly(
        &mut self,
        a: Value,
        pattern: Value,
        escape: Option<&Value>,
    ) -> BindResult {
        self.function = "like";
        let escape = match escape {
            None => None,
            Some(escape) => match self.escape_character(escape)? {
                Some(character) => Some(character),
                None => return self.null(Ty::Truth),
            },
        };
        let arguments = Arguments { part: None, values: vec![a, pattern] };
        let a = self.text_argument(&arguments, 0)?;
        let pattern = self.text_argument(&arguments, 1)?;
        let op = self.pattern_op(a, pattern, escape, false)?;
        self.condition(op)
    }

    /// The one character of ESCAPE; `None` for NULL.
    fn escape_character(&mut self, escape: &Value) -> BindResult<Option<u32>> {
        let Ty::Sql(ty) = escape.ty else { return Ok(None) };
        let at = self.at;
        match self.constant_of(escape.reg) {
            Some(Constant::Null) => Ok(None),
            Some(Constant::Bytes(bytes)) if typing::is_text(&ty) => {
                let text = codec::decode(&ty, bytes);
                let mut characters = text.chars();
                match (characters.next(), characters.next()) {
                    (Some(one), None) => Ok(Some(u32::from(one))),
                    _ => Err(CompileError::InvalidEscape { text: text.into_owned(), at }),
                }
            }
            _ => self.unsupported("ESCAPE that is no constant"),
        }
    }

    fn pattern_op(
        &mut self,
        text: Value,
        pattern: Value,
        escape: Option<u32>,
        is_index: bool,
    ) -> BindResult<Op> {
        self.operation = if is_index { "patindex" } else { "like" };
        let text = self.by_characters(text)?;
        let pattern = self.by_characters(pattern)?;
        let (text, pattern, collation, _) = self.agree(text, pattern)?;
        let ty = self.sql(&text)?;
        let alphabet = pattern::Alphabet {
            collation,
            encoding: self.encoding(&ty),
            has_plain_ascii: collation.has_plain_ascii(typing::is_wide_text(&ty)),
            ignores_case: !collation.is_binary() && collation.ignores_case(),
        };
        // Characters of a char text are bytes of its code page.
        let is_byte = alphabet.encoding.unit() == 1;
        let escape = escape.map(|escape| match char::from_u32(escape).filter(|_| is_byte) {
            Some(character) => {
                let bytes = codec::code_page(&ty).encode(&character.to_string());
                bytes.and_then(|bytes| bytes.first().copied()).map_or(escape, u32::from)
            }
            None => escape,
        });
        Ok(Op::Pattern(pattern::Op {
            a: text.reg,
            pattern: pattern.reg,
            escape,
            alphabet,
            is_index,
        }))
    }
}
