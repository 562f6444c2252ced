//! Functions of bits and bytes in statements.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::operator::cast;
use extentdb_kernel::operator::function::{binary, gzip};
use extentdb_kernel::operator::row::Function as RowFunction;
use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, MANY, entry};
use super::{BindResult, Binder, Ty, Value};
use crate::typing;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("left_shift", 2, 2, |binder, a| binder.shift(&a, 1)),
    entry("right_shift", 2, 2, |binder, a| binder.shift(&a, -1)),
    entry("bit_count", 1, 1, |binder, a| {
        let value = binder.bits_argument(&a)?;
        binder.row(binary::bit_count, &[value], SqlType::BigInt, 0)
    }),
    entry("get_bit", 2, 2, |binder, a| {
        let value = binder.bits_argument(&a)?;
        let offset = binder.int_argument(&a, 1)?;
        binder.row(binary::bit_at, &[value, offset], SqlType::Bit, 0)
    }),
    entry("set_bit", 2, 3, |binder, a| {
        let value = binder.bits_argument(&a)?;
        let offset = binder.int_argument(&a, 1)?;
        let bit = match a.get(2) {
            Some(_) => binder.argument(&a, 2, SqlType::Bit)?,
            None => binder.constant(Constant::Int(1), Ty::Sql(SqlType::Bit))?,
        };
        let ty = binder.sql(&value)?;
        binder.row(binary::set_bit, &[value, offset, bit], ty, 0)
    }),
    entry("checksum", 1, MANY, |binder, a| binder.checksum(&a, 1)),
    entry("binary_checksum", 1, MANY, |binder, a| binder.checksum(&a, 0)),
    entry("hashbytes", 2, 2, |binder, a| binder.hash(&a)),
    entry("compress", 1, 1, |binder, a| binder.gzip(&a, gzip::compress)),
    entry("decompress", 1, 1, |binder, a| binder.gzip(&a, gzip::decompress)),
];

impl Binder<'_> {
    /// An integer or binary value.
    fn bits_argument(&mut self, arguments: &Arguments) -> BindResult {
        let value = match arguments.get(0).cloned() {
            Some(value) if value.ty != Ty::Null => value,
            _ => return self.null(Ty::Sql(SqlType::Int)),
        };
        let ty = self.sql(&value)?;
        let is_bytes = typing::is_binary(&ty) && !ty.is_max();
        if typing::is_integer(&ty) || is_bytes {
            Ok(value)
        } else {
            self.invalid_argument(Some(ty), 1)
        }
    }

    /// `direction`: 1 to the left.
    fn shift(&mut self, arguments: &Arguments, direction: i64) -> BindResult {
        let value = self.bits_argument(arguments)?;
        let count = self.int_argument(arguments, 1)?;
        let ty = self.sql(&value)?;
        self.row(binary::shift, &[value, count], ty, direction)
    }

    /// COMPRESS of texts and bytes, DECOMPRESS of bytes.
    fn gzip(&mut self, arguments: &Arguments, function: RowFunction) -> BindResult {
        let value = match arguments.get(0).cloned() {
            Some(value) if value.ty != Ty::Null => value,
            _ => return self.invalid_argument(None, 1),
        };
        let ty = self.sql(&value)?;
        let is_text = self.function == "compress" && cast::is_character(&ty);
        if !is_text && !typing::is_binary(&ty) {
            return self.invalid_argument(Some(ty), 1);
        }
        self.row(function, &[value], SqlType::VarBinary { len: None }, 0)
    }

    fn checksum(&mut self, arguments: &Arguments, is_collated: i64) -> BindResult {
        let mut values: Vec<Value> = Vec::new();
        for (at, value) in arguments.values.iter().enumerate() {
            let ty = match value.ty {
                Ty::Null => {
                    values.push(self.null(Ty::Sql(SqlType::Int))?);
                    continue;
                }
                _ => self.sql(value)?,
            };
            if ty.is_lob() || matches!(ty, SqlType::Xml | SqlType::SqlVariant) {
                return self.invalid_argument(Some(ty), at + 1);
            }
            values.push(value.clone());
        }
        self.row_with_nulls(binary::checksum, &values, SqlType::Int, is_collated)
    }

    fn hash(&mut self, arguments: &Arguments) -> BindResult {
        let algorithm = self.text_argument(arguments, 0)?;
        let value = match arguments.get(1).cloned() {
            Some(value) if value.ty != Ty::Null => value,
            _ => return self.invalid_argument(None, 2),
        };
        let ty = self.sql(&value)?;
        let is_bytes = typing::is_binary(&ty) || ty == SqlType::UniqueIdentifier;
        if !is_bytes && !cast::is_character(&ty) {
            return self.invalid_argument(Some(ty), 2);
        }
        if let Some(name) = self.constant_of(algorithm.reg).and_then(binary::old_algorithm) {
            return self.unsupported(format!("the algorithm {name} of HASHBYTES"));
        }
        let result = SqlType::VarBinary { len: Some(typing::MAX_BYTES) };
        self.row(binary::hash_bytes, &[algorithm, value], result, 0)
    }
}
