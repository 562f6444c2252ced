//! Functions of texts by name.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::lane::LaneKind;
use extentdb_kernel::operator::Op;
use extentdb_kernel::operator::ascii::{Encoding, Fold};
use extentdb_kernel::operator::text::{self, Casing};
use extentdb_types::{Collation, SqlType};

use super::{BindResult, Binder, Label, Literal, Ty, Value};
use crate::typing;

/// Turkish and Azeri: languages of the locale id whose i and I are no pair.
const DOTLESS_I: [u32; 2] = [0x1F, 0x2C];
/// SQL sort orders of code page 1252 whose letters change case as Latin-1 does.
const LATIN1_SORT_ORDERS: [u8; 3] = [0, 51, 52];

impl Binder<'_> {
    pub(super) fn text_function(&mut self, name: &str, args: Vec<Value>) -> BindResult {
        match (name, args.as_slice()) {
            ("len", [a]) => self.len(a),
            ("datalength", [a]) => self.data_length(a),
            ("upper" | "lower", [a]) => self.upper_or_lower(a, name == "upper"),
            ("ltrim", [a]) => self.trim(a, true, false),
            ("rtrim", [a]) => self.trim(a, false, true),
            ("trim", [a]) => self.trim(a, true, true),
            ("left" | "right", [a, len]) => self.left_or_right(a, len, name == "left"),
            ("substring", [a, start, len]) => self.substring(a, start, len),
            ("reverse", [a]) => {
                let (ty, encoding) = self.text_type(a)?;
                self.text_step(
                    text::Op::Reverse { a: a.reg, encoding },
                    variable(ty, None),
                    a.label,
                )
            }
            ("replicate", [a, count]) => self.replicate(a, count),
            ("space", [count]) => {
                let blank = self.text(" ", false)?;
                self.replicate(&blank, count)
            }
            ("stuff", [a, start, len, with]) => self.stuff(a, start, len, with),
            ("replace", [a, pattern, with]) => self.replace(a, pattern, with),
            ("charindex", [pattern, a]) => {
                let start = self.number(1)?;
                self.char_index(pattern, a, &start)
            }
            ("charindex", [pattern, a, start]) => self.char_index(pattern, a, start),
            ("ascii" | "unicode", [a]) => self.first_unit(a, name == "unicode"),
            ("char" | "nchar", [a]) => self.character(a, name == "nchar"),
            _ => self.unsupported(format!("the function {name} of {} arguments", args.len())),
        }
    }

    /// Type and encoding of an argument that must be a text.
    fn text_type(&self, a: &Value) -> BindResult<(SqlType, Encoding)> {
        let ty = self.sql(a)?;
        if typing::is_text(&ty) {
            Ok((ty, self.encoding(&ty)))
        } else {
            self.unsupported(format!("{ty} as text"))
        }
    }

    pub(super) fn encoding(&self, ty: &SqlType) -> Encoding {
        if self.is_statement() { Encoding::of_statement(ty) } else { Encoding::of(ty) }
    }

    fn fold(&self, collation: Collation, is_wide: bool) -> Option<Fold> {
        if self.is_statement() {
            return Some(Fold::of_statement(collation, is_wide));
        }
        Fold::of(collation, is_wide)
    }

    fn text_step(&mut self, op: text::Op, ty: SqlType, label: Label) -> BindResult {
        let value = self.emit(Op::Text(op), ty)?;
        Ok(Value { label, ..value })
    }

    /// A step whose length as a type is not published, so that ISNULL must not cut by it.
    fn open_step(&mut self, op: text::Op, ty: SqlType, label: Label) -> BindResult {
        let value = self.text_step(op, ty, label)?;
        Ok(Value { is_settled: false, ..value })
    }

    /// An argument that must be an integer.
    fn count(&mut self, a: &Value) -> BindResult {
        let ty = self.sql(a)?;
        if typing::is_integer(&ty) {
            Ok(a.clone())
        } else {
            self.unsupported(format!("{ty} as a length"))
        }
    }

    fn len(&mut self, a: &Value) -> BindResult {
        let (ty, encoding) = self.text_type(a)?;
        let result = if ty.is_max() { SqlType::BigInt } else { SqlType::Int };
        self.emit(Op::Text(text::Op::Len { a: a.reg, encoding }), result)
    }

    fn data_length(&mut self, a: &Value) -> BindResult {
        let ty = self.sql(a)?;
        let result = if ty.is_max() { SqlType::BigInt } else { SqlType::Int };
        let fixed = if ty == SqlType::Bit { Some(1) } else { ty.fixed_bytes() };
        let op = match (typing::kind(&ty), fixed) {
            (LaneKind::Bytes, _) => text::Op::DataLength { a: a.reg },
            // What a decimal takes depends on how it is stored.
            (LaneKind::Wide, _) | (_, None) => {
                return self.unsupported(format!("DATALENGTH of {ty}"));
            }
            (_, Some(len)) => text::Op::FixedLength { a: a.reg, len: len as i64 },
        };
        self.emit(Op::Text(op), result)
    }

    fn upper_or_lower(&mut self, a: &Value, is_upper: bool) -> BindResult {
        let (ty, encoding) = self.text_type(a)?;
        let Some(collation) = ty.collation() else {
            return self.unsupported("text without collation");
        };
        let Some(lcid) = collation.lcid() else {
            return self.unsupported(format!("the case of letters under {collation}"));
        };
        let is_1252 = collation.code_page().and_then(|page| page.number()) == Some(1252);
        let has_latin1 = typing::is_wide_text(&ty)
            || (is_1252 && LATIN1_SORT_ORDERS.contains(&collation.sort_order()));
        let casing = Casing {
            is_upper,
            has_latin1,
            has_dotless_i: DOTLESS_I.contains(&(lcid & 0x3FF)),
        };
        self.text_step(text::Op::Case { a: a.reg, encoding, casing }, variable(ty, None), a.label)
    }

    fn trim(&mut self, a: &Value, left: bool, right: bool) -> BindResult {
        let (ty, encoding) = self.text_type(a)?;
        self.text_step(
            text::Op::Trim { a: a.reg, encoding, left, right },
            variable(ty, None),
            a.label,
        )
    }

    fn left_or_right(&mut self, a: &Value, len: &Value, is_left: bool) -> BindResult {
        let (ty, encoding) = self.text_type(a)?;
        let count = self.count(len)?;
        let a_reg = a.reg;
        let len_reg = count.reg;
        let op = if is_left {
            text::Op::Left { a: a_reg, len: len_reg, encoding }
        } else {
            text::Op::Right { a: a_reg, len: len_reg, encoding }
        };
        self.open_step(op, variable(ty, literal_len(len)), a.label)
    }

    fn substring(&mut self, a: &Value, start: &Value, len: &Value) -> BindResult {
        let ty = self.sql(a)?;
        let (encoding, result) = if typing::is_binary(&ty) {
            (
                Encoding::SingleByte,
                SqlType::VarBinary {
                    len: if ty.is_max() { None } else { Some(typing::MAX_BYTES) },
                },
            )
        } else {
            (self.text_type(a)?.1, variable(ty, literal_len(len)))
        };
        let start = self.count(start)?.reg;
        let len = self.count(len)?.reg;
        self.open_step(text::Op::Substring { a: a.reg, start, len, encoding }, result, a.label)
    }

    fn replicate(&mut self, a: &Value, count: &Value) -> BindResult {
        let (ty, _) = self.text_type(a)?;
        let count = self.count(count)?;
        let (result, limit) = longest(&ty);
        self.open_step(text::Op::Replicate { a: a.reg, count: count.reg, limit }, result, a.label)
    }

    fn stuff(&mut self, a: &Value, start: &Value, len: &Value, with: &Value) -> BindResult {
        self.text_type(a)?;
        self.text_type(with)?;
        let (a, with, _, label) = self.agree(a.clone(), with.clone())?;
        let (ty, encoding) = self.text_type(&a)?;
        let start = self.count(start)?.reg;
        let len = self.count(len)?.reg;
        let (result, limit) = longest(&ty);
        let op = text::Op::Stuff { a: a.reg, start, len, with: with.reg, encoding, limit };
        self.open_step(op, result, label)
    }

    fn replace(&mut self, a: &Value, pattern: &Value, with: &Value) -> BindResult {
        for argument in [a, pattern, with] {
            self.text_type(argument)?;
        }
        let is_wide_type =
            |value: &Value| matches!(value.ty, Ty::Sql(ty) if typing::is_wide_text(&ty));
        let is_wide = [a, pattern, with].into_iter().any(is_wide_type);
        let (a, pattern, collation, label) = self.agree(a.clone(), pattern.clone())?;
        let mut under = |value: Value| {
            let ty = self.sql(&value)?;
            self.under(value, ty, is_wide, collation)
        };
        let a = under(a)?;
        let pattern = under(pattern)?;
        let with = under(with.clone())?;
        let (ty, encoding) = self.text_type(&a)?;
        let Some(fold) = self.fold(collation, is_wide) else {
            return self.unsupported(format!("searching under {collation}"));
        };
        let (result, limit) = longest(&ty);
        let op = text::Op::Replace {
            a: a.reg,
            pattern: pattern.reg,
            with: with.reg,
            encoding,
            fold,
            limit,
        };
        self.open_step(op, result, label)
    }

    fn char_index(&mut self, pattern: &Value, a: &Value, start: &Value) -> BindResult {
        self.text_type(pattern)?;
        self.text_type(a)?;
        let start = self.count(start)?.reg;
        let (pattern, a, collation, _) = self.agree(pattern.clone(), a.clone())?;
        let (ty, encoding) = self.text_type(&a)?;
        let Some(fold) = self.fold(collation, typing::is_wide_text(&ty)) else {
            return self.unsupported(format!("searching under {collation}"));
        };
        let result = if ty.is_max() { SqlType::BigInt } else { SqlType::Int };
        let is_decided = self.is_statement();
        let op = text::Op::CharIndex {
            pattern: pattern.reg,
            a: a.reg,
            start,
            encoding,
            fold,
            is_decided,
        };
        self.emit(Op::Text(op), result)
    }

    fn first_unit(&mut self, a: &Value, is_wide: bool) -> BindResult {
        let (ty, _) = self.text_type(a)?;
        let Some(collation) = ty.collation() else {
            return self.unsupported("text without collation");
        };
        let a = self.under(a.clone(), ty, is_wide, collation)?;
        let (_, encoding) = self.text_type(&a)?;
        self.emit(Op::Text(text::Op::FirstUnit { a: a.reg, encoding }), SqlType::Int)
    }

    fn character(&mut self, a: &Value, is_wide: bool) -> BindResult {
        let a = self.count(a)?;
        let collation = self.environment.database_collation;
        let ty = if is_wide {
            SqlType::NChar { len: 2, collation }
        } else {
            SqlType::Char { len: 1, collation }
        };
        if matches!(Encoding::of(&ty), Encoding::MultiByte | Encoding::Supplementary) {
            return self.unsupported(format!("CHAR or NCHAR under {collation}"));
        }
        let most = if is_wide { 0xFFFF } else { 0xFF };
        self.emit(Op::Text(text::Op::Character { a: a.reg, is_wide, most }), ty)
    }

    /// CONCAT: every argument as text, NULL as the empty one.
    pub(super) fn concat(&mut self, args: Vec<Value>) -> BindResult {
        let mut is_wide = false;
        let mut texts = Vec::with_capacity(args.len());
        for value in args {
            let text = self.concat_argument(value)?;
            is_wide |= typing::is_wide_text(&self.sql(&text)?);
            texts.push(text);
        }
        let mut texts = texts.into_iter();
        let Some(mut whole) = texts.next() else { return self.unsupported("CONCAT of nothing") };
        for text in texts {
            whole = self.join(whole, text, is_wide)?;
        }
        Ok(whole)
    }

    fn join(&mut self, a: Value, b: Value, is_wide: bool) -> BindResult {
        let (a, b, collation, label) = self.agree(a, b)?;
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let a = self.under(a, ta, is_wide, collation)?;
        let b = self.under(b, tb, is_wide, collation)?;
        let characters =
            typing::characters(&ta).zip(typing::characters(&tb)).map(|(a, b)| a.saturating_add(b));
        let a = self.emit(
            Op::Text(text::Op::NullAsEmpty { a: a.reg }),
            typing::text_type(is_wide, None, collation),
        )?;
        let b = self.emit(
            Op::Text(text::Op::NullAsEmpty { a: b.reg }),
            typing::text_type(is_wide, None, collation),
        )?;
        let limit = characters.map(|_| typing::MAX_BYTES);
        let result = typing::text_type(is_wide, characters, collation);
        self.open_step(text::Op::Concat { a: a.reg, b: b.reg, limit }, result, label)
    }

    fn concat_argument(&mut self, value: Value) -> BindResult {
        let collation = self.environment.database_collation;
        if value.ty == Ty::Null {
            return self.constant(
                Constant::Bytes(Vec::new()),
                Ty::Sql(typing::text_type(false, Some(1), collation)),
            );
        }
        let ty = self.sql(&value)?;
        if typing::is_text(&ty) {
            return Ok(value);
        }
        if typing::digits(&ty).is_none() && ty != SqlType::UniqueIdentifier {
            return self.unsupported(format!("{ty} in CONCAT"));
        }
        self.cast(value, SqlType::VarChar { len: Some(41), collation })
    }
}

/// The literal length of an argument.
fn literal_len(value: &Value) -> Option<u16> {
    match value.literal {
        Some(Literal::Integer(len)) => u16::try_from(len).ok(),
        _ => None,
    }
}

/// The variable-length form of a text type, at most `characters` long.
fn variable(ty: SqlType, characters: Option<u16>) -> SqlType {
    let Some(collation) = ty.collation() else { return ty };
    let own = typing::characters(&ty);
    let len = own.map(|own| characters.map_or(own, |characters| own.min(characters)));
    typing::text_type(typing::is_wide_text(&ty), len, collation)
}

/// The type of a text that may grow: 8,000 bytes, or (max) where it was already; and the limit in
/// bytes.
fn longest(ty: &SqlType) -> (SqlType, Option<u16>) {
    let Some(collation) = ty.collation() else { return (*ty, Some(typing::MAX_BYTES)) };
    let characters = (!ty.is_max()).then_some(typing::MAX_BYTES);
    (typing::text_type(typing::is_wide_text(ty), characters, collation), characters)
}
