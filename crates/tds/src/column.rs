//! Columns of results, bulk loads and table-valued parameters.
//!
//! ```text
//! user type u32 (7.1: u16), flags u16, TYPE_INFO,
//! [text, ntext, image: table name]      7.1 and bulk load: one US_VARCHAR
//!                                       else: count u8, US_VARCHAR each
//! column name B_VARCHAR
//! ```

use extentdb_types::SqlType;

use crate::error::{Cause, DecodeError, EncodeError};
use crate::protocol::Protocol;
use crate::reader::ByteReader;
use crate::text::{write_b_varchar, write_us_varchar};
use crate::type_info::{Nullability, Place, TypeInfo};
use crate::version::TdsVersion;

/// User type of timestamp and rowversion.
pub const ROWVERSION_USER_TYPE: u32 = 80;

/// Flags of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    /// NULL is possible.
    pub const NULLABLE: ColumnFlags = ColumnFlags(0x0001);
    /// Case matters in comparisons.
    pub const CASE_SENSITIVE: ColumnFlags = ColumnFlags(0x0002);
    /// Can be updated through a cursor.
    pub const UPDATEABLE: ColumnFlags = ColumnFlags(0x0004);
    /// It is not known whether it can be updated.
    pub const UPDATEABLE_UNKNOWN: ColumnFlags = ColumnFlags(0x0008);
    /// Identity column.
    pub const IDENTITY: ColumnFlags = ColumnFlags(0x0010);
    /// Computed column or expression.
    pub const COMPUTED: ColumnFlags = ColumnFlags(0x0020);
    /// The values of a table-valued parameter's column are not sent: they are the defaults.
    pub const DEFAULT: ColumnFlags = ColumnFlags(0x0200);
    /// Column set of sparse columns.
    pub const SPARSE_COLUMN_SET: ColumnFlags = ColumnFlags(0x0400);
    /// Always Encrypted.
    pub const ENCRYPTED: ColumnFlags = ColumnFlags(0x0800);
    /// Added by the server, not by the statement.
    pub const HIDDEN: ColumnFlags = ColumnFlags(0x2000);
    /// Part of the key.
    pub const KEY: ColumnFlags = ColumnFlags(0x4000);
    /// It is not known whether NULL is possible.
    pub const NULLABLE_UNKNOWN: ColumnFlags = ColumnFlags(0x8000);
    /// What suits any column: nullable, updateability unknown.
    pub const ANY: ColumnFlags = ColumnFlags(0x0009);

    /// The flags of both.
    #[must_use]
    pub const fn with(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 | other.0)
    }

    /// Are all of these set?
    #[must_use]
    pub const fn has(self, other: ColumnFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name; empty for an expression without alias.
    pub name: String,
    /// Type on the wire.
    pub type_info: TypeInfo,
    /// What is known of the column; clients build update statements from it.
    pub flags: ColumnFlags,
    /// 0, [`ROWVERSION_USER_TYPE`] or that of an alias type.
    pub user_type: u32,
    /// Parts of the table's name: for text, ntext and image alone.
    pub table: Vec<String>,
}

impl Column {
    /// A column with the flags that suit any.
    #[must_use]
    pub fn new(name: &str, type_info: TypeInfo) -> Column {
        Column {
            name: name.to_owned(),
            type_info,
            flags: ColumnFlags::ANY,
            user_type: 0,
            table: Vec::new(),
        }
    }
}

impl Column {
    /// A column as a server describes it: nullable, case-sensitive and rowversion flags follow from
    /// the type.
    #[must_use]
    pub fn of(name: &str, ty: SqlType, nullability: Nullability, protocol: &Protocol) -> Column {
        let mut column = Column::new(name, TypeInfo::of(ty, nullability, protocol));
        let is_rowversion = ty == SqlType::RowVersion;
        // A rowversion is known not to be updateable.
        let mut flags =
            if is_rowversion { ColumnFlags(0) } else { ColumnFlags::UPDATEABLE_UNKNOWN };
        if nullability == Nullability::Nullable {
            flags = flags.with(ColumnFlags::NULLABLE);
        }
        if ty.collation().is_some_and(|collation| !collation.ignores_case()) {
            flags = flags.with(ColumnFlags::CASE_SENSITIVE);
        }
        column.flags = flags;
        column.user_type = if is_rowversion { ROWVERSION_USER_TYPE } else { 0 };
        column
    }
}

/// Who describes the columns: this decides how the table of a text column is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// A server, with a result.
    Result,
    /// A client, with a bulk load.
    BulkLoad,
}

/// The table name is one name.
fn has_simple_table_name(source: ColumnSource, version: TdsVersion) -> bool {
    source == ColumnSource::BulkLoad || !version.is_7_2_or_later()
}

/// Reads a user type.
pub(crate) fn read_user_type(
    reader: &mut ByteReader<'_>,
    version: TdsVersion,
) -> Result<u32, DecodeError> {
    if version.is_7_2_or_later() { reader.u32() } else { reader.u16().map(u32::from) }
}

/// Appends a user type; one that 7.1 cannot say is 0.
pub(crate) fn write_user_type(user_type: u32, version: TdsVersion, out: &mut Vec<u8>) {
    if version.is_7_2_or_later() {
        out.extend(user_type.to_le_bytes());
    } else {
        out.extend(u16::try_from(user_type).unwrap_or(0).to_le_bytes());
    }
}

impl Column {
    /// Reads a column.
    pub(crate) fn read(
        reader: &mut ByteReader<'_>,
        protocol: &Protocol,
        source: ColumnSource,
    ) -> Result<Column, DecodeError> {
        let version = protocol.version();
        let user_type = read_user_type(reader, version)?;
        let flags = ColumnFlags(reader.u16()?);
        if flags.has(ColumnFlags::ENCRYPTED) {
            let cause = Cause::Value { field: "column flags", found: flags.0.into() };
            return Err(reader.fail_before(2, cause));
        }
        let type_info = TypeInfo::read(reader, protocol, Place::Column)?;
        let mut table = Vec::new();
        if type_info.has_text_pointer() {
            let is_simple = has_simple_table_name(source, version);
            let parts = if is_simple { 1 } else { reader.u8()? };
            for _ in 0..parts {
                table.push(reader.us_varchar()?.to_string());
            }
        }
        let name = reader.b_varchar()?.to_string();
        Ok(Column { name, type_info, flags, user_type, table })
    }

    /// Appends the column.
    pub(crate) fn write(
        &self,
        version: TdsVersion,
        source: ColumnSource,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        write_user_type(self.user_type, version, out);
        out.extend(self.flags.0.to_le_bytes());
        self.type_info.write(Place::Column, out)?;
        if self.type_info.has_text_pointer() {
            self.write_table(has_simple_table_name(source, version), out)?;
        }
        write_b_varchar("column name", &self.name, out)
    }

    fn write_table(&self, is_simple: bool, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if is_simple {
            return write_us_varchar("table name", &self.table.join("."), out);
        }
        // A text of no table has one part without characters: JDBC takes no other count.
        let none = [String::new()];
        let table = if self.table.is_empty() { &none } else { self.table.as_slice() };
        let found = table.len();
        let parts = u8::try_from(found);
        let too_many = EncodeError::Count { field: "parts of a table name", found, max: 255 };
        out.push(parts.map_err(|_| too_many)?);
        table.iter().try_for_each(|part| write_us_varchar("table name", part, out))
    }
}

#[cfg(test)]
mod tests {
    use extentdb_types::Collation;

    use super::*;

    #[test]
    fn flags_follow_from_the_type() {
        let ci = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let protocol = Protocol::new(TdsVersion::V7_4, ci);
        let flags = |ty, nullability| Column::of("c", ty, nullability, &protocol).flags.0;
        assert_eq!(flags(SqlType::Int, Nullability::Nullable), ColumnFlags::ANY.0);
        assert_eq!(flags(SqlType::Int, Nullability::NotNull), 0x0008);
        let text = |collation| SqlType::NVarChar { len: Some(20), collation };
        assert_eq!(flags(text(ci), Nullability::NotNull), 0x0008);
        let binary = Collation(0x0001_0008);
        assert_eq!(flags(text(binary), Nullability::Nullable), 0x000B);
        let rowversion = Column::of("c", SqlType::RowVersion, Nullability::NotNull, &protocol);
        assert_eq!((rowversion.flags.0, rowversion.user_type), (0, 80));
        assert_eq!(rowversion.type_info, TypeInfo::Binary { len: 8 });
    }
}
