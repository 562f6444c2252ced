//! Functions of texts in statements.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::operator::ascii::Encoding;
use extentdb_kernel::operator::function::{format, text};
use extentdb_kernel::operator::row::Function as RowFunction;
use extentdb_kernel::operator::{Op, cast, text as text_op};
use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, MANY, entry};
use super::{BindResult, Binder, Ty, Value};
use crate::error::CompileError;
use crate::typing;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("len", 1, 1, |binder, a| binder.of_texts(&a, "len", &[])),
    entry("datalength", 1, 1, |binder, a| binder.data_length_exactly(&a)),
    entry("upper", 1, 1, |binder, a| binder.case_of(&a, true)),
    entry("lower", 1, 1, |binder, a| binder.case_of(&a, false)),
    entry("ltrim", 1, 2, |binder, a| binder.trim_exactly(&a, 1)),
    entry("rtrim", 1, 2, |binder, a| binder.trim_exactly(&a, 2)),
    entry("trim", 1, 2, |binder, a| {
        let sides = match a.part.as_deref() {
            Some("leading") => 1,
            Some("trailing") => 2,
            _ => 3,
        };
        binder.trim_exactly(&a, sides)
    }),
    entry("left", 2, 2, |binder, a| binder.of_texts(&a, "left", &[1])),
    entry("right", 2, 2, |binder, a| binder.of_texts(&a, "right", &[1])),
    entry("substring", 3, 3, |binder, a| binder.substring_exactly(&a)),
    entry("reverse", 1, 1, |binder, a| binder.of_texts(&a, "reverse", &[])),
    entry("replicate", 2, 2, |binder, a| binder.replicate_exactly(&a)),
    entry("space", 1, 1, |binder, a| binder.space(&a)),
    entry("stuff", 4, 4, |binder, a| binder.stuff_exactly(&a)),
    entry("replace", 3, 3, |binder, a| binder.of_texts(&a, "replace", &[])),
    entry("charindex", 2, 3, |binder, a| binder.of_texts(&a, "charindex", &[2])),
    entry("patindex", 2, 2, |binder, a| binder.pattern_index(&a)),
    entry("ascii", 1, 1, |binder, a| {
        let text = binder.text_argument(&a, 0)?;
        let ty = binder.sql(&text)?;
        let strongest = collation(ty, ty);
        let text = binder.under(text, ty, false, strongest)?;
        binder.row(text::ascii, &[text], SqlType::Int, 0)
    }),
    entry("unicode", 1, 1, |binder, a| binder.of_texts(&a, "unicode", &[])),
    entry("char", 1, 1, |binder, a| binder.character_exactly(&a, false)),
    entry("nchar", 1, 1, |binder, a| binder.character_exactly(&a, true)),
    entry("concat", 2, MANY, |binder, a| binder.concat_exactly(&a)),
    entry("concat_ws", 3, MANY, |binder, a| binder.concat_with_separator(&a)),
    entry("str", 1, 3, |binder, a| binder.str(&a)),
    entry("quotename", 1, 2, |binder, a| binder.of_wide(&a, 2, text::quote_name, Some(258))),
    entry("translate", 3, 3, |binder, a| binder.translate(&a)),
    entry("soundex", 1, 1, |binder, a| binder.soundex(&a)),
    entry("difference", 2, 2, |binder, a| {
        let one = binder.text_argument(&a, 0)?;
        let other = binder.text_argument(&a, 1)?;
        binder.row(text::difference, &[one, other], SqlType::Int, 0)
    }),
    entry("string_escape", 2, 2, |binder, a| binder.of_wide(&a, 2, text::string_escape, None)),
    entry("parsename", 2, 2, |binder, a| {
        let name = binder.wide_argument(&a, 0)?;
        let part = binder.int_argument(&a, 1)?;
        let result = typing::text_type(true, Some(128), binder.environment.database_collation);
        binder.by_rows(text::parse_name, &[name, part], result)
    }),
    entry("format", 2, 3, |binder, a| binder.format(&a)),
];

impl Binder<'_> {
    /// A function whose arguments are texts, but for those at `numbers`.
    fn of_texts(&mut self, arguments: &Arguments, name: &str, numbers: &[usize]) -> BindResult {
        let mut texts = Vec::new();
        let mut counts = Vec::new();
        for at in 0..arguments.values.len() {
            if numbers.contains(&at) {
                counts.push(self.count_argument(arguments, at)?);
            } else {
                texts.push(self.text_argument(arguments, at)?);
            }
        }
        self.operation = self.function;
        self.on_characters(texts, |binder, mut texts| {
            texts.extend(counts);
            let value = binder.text_function(name, texts.clone())?;
            binder.sized(name, value, &texts)
        })
    }

    /// A number of characters: an int, a bigint where it is one.
    fn count_argument(&mut self, arguments: &Arguments, at: usize) -> BindResult {
        let is_big = arguments.get(at).is_some_and(|it| it.ty == Ty::Sql(SqlType::BigInt));
        let ty = if is_big { SqlType::BigInt } else { SqlType::Int };
        self.argument(arguments, at, ty)
    }

    /// The length that the type of a result has by literal arguments.
    fn sized(&mut self, name: &str, value: Value, arguments: &[Value]) -> BindResult {
        let ty = self.sql(&value)?;
        let at = match name {
            "left" | "right" => 1,
            "substring" => 2,
            _ => return Ok(value),
        };
        let length = arguments.get(at).and_then(|it| self.constant_integer(it));
        let (Some(own), Some(length)) = (typing::characters(&ty), length) else {
            return Ok(value);
        };
        let length = u16::try_from(length.max(1)).unwrap_or(u16::MAX);
        // A code point takes up to two units.
        let units = match self.encoding(&ty) {
            Encoding::CodePoints => length.saturating_mul(2),
            _ => length,
        };
        let source = arguments.first().and_then(|it| match it.ty {
            Ty::Sql(ty) => typing::characters(&ty),
            _ => None,
        });
        let length = units.min(source.unwrap_or(own));
        let collation = ty.collation().unwrap_or(self.environment.database_collation);
        let ty = typing::text_type(typing::is_wide_text(&ty), Some(length), collation);
        Ok(Value { ty: Ty::Sql(ty), ..value })
    }

    fn data_length_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let Some(value) = arguments.get(0).cloned() else { return self.number(0) };
        if value.ty == Ty::Null {
            return self.null(Ty::Sql(SqlType::Int));
        }
        let ty = self.sql(&value)?;
        let is_large = ty.is_max() || ty.is_lob();
        let result = if is_large { SqlType::BigInt } else { SqlType::Int };
        if typing::kind(&ty) == extentdb_kernel::lane::LaneKind::Bytes {
            return self.emit(Op::Text(text_op::Op::DataLength { a: value.reg }), result);
        }
        self.row(text::fixed_length, &[value], result, 0)
    }

    fn case_of(&mut self, arguments: &Arguments, is_upper: bool) -> BindResult {
        let text = self.text_argument(arguments, 0)?;
        let ty = typing::variable(self.sql(&text)?);
        let label = text.label;
        let value = self.row(text::change_case, &[text], ty, i64::from(is_upper))?;
        Ok(Value { label, ..value })
    }

    /// `sides`: 1 left, 2 right, 3 both.
    fn trim_exactly(&mut self, arguments: &Arguments, sides: i64) -> BindResult {
        let text = self.text_argument(arguments, 0)?;
        if arguments.get(1).is_none() {
            let name = match sides {
                1 => "ltrim",
                2 => "rtrim",
                _ => "trim",
            };
            return self.text_function(name, vec![text]);
        }
        let characters = self.text_argument(arguments, 1)?;
        self.operation = self.function;
        self.on_characters(vec![text, characters], |binder, texts| {
            let [text, characters] = two(texts)?;
            let (text, characters, _, label) = binder.agree(text, characters)?;
            let ty = typing::variable(binder.sql(&text)?);
            let value = binder.row(text::trim, &[text, characters], ty, sides)?;
            Ok(Value { label, ..value })
        })
    }

    fn substring_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let value = arguments.get(0).cloned();
        let ty = match value.as_ref().map(|value| value.ty) {
            Some(Ty::Sql(ty)) => ty,
            _ => return self.invalid_argument(None, 1),
        };
        let start = self.count_argument(arguments, 1)?;
        let len = self.count_argument(arguments, 2)?;
        let is_bytes = typing::is_binary(&ty) || ty == SqlType::Image;
        if let Some(value) = value.filter(|_| is_bytes) {
            let known = self.constant_integer(&len).and_then(|len| u16::try_from(len.max(1)).ok());
            let most = typing::bytes_len(&ty).map(|own| known.map_or(own, |len| len.min(own)));
            let cut = self.text_function("substring", vec![value, start, len])?;
            return Ok(Value { ty: Ty::Sql(SqlType::VarBinary { len: most }), ..cut });
        }
        if !cast::is_character(&ty) {
            return self.invalid_argument(Some(ty), 1);
        }
        self.of_texts(arguments, "substring", &[1, 2])
    }

    fn replicate_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let text = self.text_argument(arguments, 0)?;
        let count = self.count_argument(arguments, 1)?;
        let ty = self.sql(&text)?;
        let known = self.constant_integer(&count).and_then(|count| u16::try_from(count).ok());
        let value = self.text_function("replicate", vec![text, count])?;
        let (Some(own), Some(count)) = (typing::characters(&ty), known) else { return Ok(value) };
        let length = own.saturating_mul(count).max(1);
        let collation = collation(ty, ty);
        let sized = typing::text_type(typing::is_wide_text(&ty), Some(length), collation);
        Ok(Value { ty: Ty::Sql(sized), ..value })
    }

    fn space(&mut self, arguments: &Arguments) -> BindResult {
        let count = self.count_argument(arguments, 0)?;
        self.text_function("space", vec![count])
    }

    fn stuff_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let text = self.text_argument(arguments, 0)?;
        let with = self.text_argument(arguments, 3)?;
        let with = self.null_as_empty(with)?;
        let start = self.count_argument(arguments, 1)?;
        let len = self.count_argument(arguments, 2)?;
        self.operation = self.function;
        self.on_characters(vec![text, with], |binder, texts| {
            let [text, with] = two(texts)?;
            let value =
                binder.text_function("stuff", vec![text.clone(), start, len, with.clone()])?;
            let ty = binder.sql(&value)?;
            let length = |value: &Value| match value.ty {
                Ty::Sql(ty) => typing::characters(&ty),
                _ => None,
            };
            let Some((a, b)) = length(&text).zip(length(&with)) else { return Ok(value) };
            let collation = collation(ty, ty);
            let is_wide = typing::is_wide_text(&ty);
            let sized = typing::text_type(is_wide, Some(a.saturating_add(b)), collation);
            Ok(Value { ty: Ty::Sql(sized), ..value })
        })
    }

    /// CHAR of a code page with more bytes per character, and NCHAR of an SC collation, too.
    fn character_exactly(&mut self, arguments: &Arguments, is_wide: bool) -> BindResult {
        let code = self.int_argument(arguments, 0)?;
        let collation = self.environment.database_collation;
        let is_supplementary = is_wide && collation.is_supplementary();
        let ty = match (is_wide, is_supplementary) {
            (true, true) => SqlType::NVarChar { len: Some(4), collation },
            (true, false) => SqlType::NChar { len: 2, collation },
            _ => SqlType::Char { len: 1, collation },
        };
        let most = match (is_wide, is_supplementary) {
            (true, true) => 0x10_FFFF,
            (true, false) => 0xFFFF,
            _ => 0xFF,
        };
        let op = text_op::Op::Character { a: code.reg, is_wide, most };
        self.emit(Op::Text(op), ty)
    }

    fn str(&mut self, arguments: &Arguments) -> BindResult {
        let value = self.float_argument(arguments, 0)?;
        let length = match arguments.get(1) {
            Some(_) => self.int_argument(arguments, 1)?,
            None => self.number(10)?,
        };
        let decimals = match arguments.get(2) {
            Some(_) => self.int_argument(arguments, 2)?,
            None => self.number(0)?,
        };
        let known = self.constant_integer(&length).and_then(|len| u16::try_from(len).ok());
        let collation = self.environment.database_collation;
        let result = typing::text_type(false, Some(known.unwrap_or(8_000)), collation);
        self.row(text::str, &[value, length, decimals], result, 0)
    }

    /// A function of nvarchar arguments.
    fn of_wide(
        &mut self,
        arguments: &Arguments,
        most: usize,
        function: RowFunction,
        characters: Option<u16>,
    ) -> BindResult {
        let texts: BindResult<Vec<Value>> = (0..arguments.values.len().min(most))
            .map(|at| self.wide_argument(arguments, at))
            .collect();
        let collation = self.environment.database_collation;
        self.by_rows(function, &texts?, typing::text_type(true, characters, collation))
    }

    fn translate(&mut self, arguments: &Arguments) -> BindResult {
        let texts: BindResult<Vec<Value>> =
            (0..3).map(|at| self.text_argument(arguments, at)).collect();
        self.operation = self.function;
        self.on_characters(texts?, |binder, texts| {
            let mut texts = texts.into_iter();
            let (Some(text), Some(from), Some(into)) = (texts.next(), texts.next(), texts.next())
            else {
                return binder.unsupported("TRANSLATE without its arguments");
            };
            let (text, from, strongest, label) = binder.agree(text, from)?;
            let ty = binder.sql(&text)?;
            let own = binder.sql(&into)?;
            let is_wide = typing::is_wide_text(&ty) || typing::is_wide_text(&own);
            let under = |binder: &mut Self, text: Value| {
                let ty = binder.sql(&text)?;
                binder.under(text, ty, is_wide, strongest)
            };
            let texts = [under(binder, text)?, under(binder, from)?, under(binder, into)?];
            let result = match ty.is_max() {
                true => typing::text_type(is_wide, None, strongest),
                false => typing::text_type(is_wide, Some(typing::MAX_BYTES), strongest),
            };
            let value = binder.row(text::translate, &texts, result, 0)?;
            Ok(Value { label, ..value })
        })
    }

    fn soundex(&mut self, arguments: &Arguments) -> BindResult {
        let text = self.text_argument(arguments, 0)?;
        let ty = self.sql(&text)?;
        let result = typing::text_type(false, Some(4), collation(ty, ty));
        self.by_rows(text::soundex, &[text], result)
    }

    /// FORMAT of a number or date in en-US.
    fn format(&mut self, arguments: &Arguments) -> BindResult {
        let Some(value) = arguments.get(0).cloned() else { return self.number(0) };
        let collation = self.environment.database_collation;
        let result = typing::text_type(true, Some(4_000), collation);
        if value.ty == Ty::Null {
            return self.invalid_argument(None, 1);
        }
        let ty = self.sql(&value)?;
        let is_number = typing::is_number(&ty) && ty != SqlType::Bit;
        if !is_number && !typing::is_temporal(&ty) {
            return self.invalid_argument(Some(ty), 1);
        }
        if arguments.get(2).is_some() {
            let culture = self.wide_argument(arguments, 2)?;
            let name = match self.constant_of(culture.reg) {
                Some(Constant::Bytes(name)) => {
                    name.iter().copied().filter(|byte| *byte != 0).collect()
                }
                Some(Constant::Null) => return self.null(Ty::Sql(result)),
                _ => Vec::new(),
            };
            let is_known = name.eq_ignore_ascii_case(b"en-us") || name.eq_ignore_ascii_case(b"en");
            if !is_known {
                return self.unsupported("a culture of FORMAT other than en-US");
            }
        }
        let pattern = self.wide_argument(arguments, 1)?;
        self.row(format::format, &[value, pattern], result, 0)
    }
}

/// The collation of a text type.
fn collation(ty: SqlType, other: SqlType) -> extentdb_types::Collation {
    let default = extentdb_types::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
    ty.collation().or(other.collation()).unwrap_or(default)
}

fn two(texts: Vec<Value>) -> BindResult<[Value; 2]> {
    texts.try_into().map_err(|_| CompileError::Unsupported {
        what: "a function without its arguments".to_owned(),
        at: 0,
    })
}
