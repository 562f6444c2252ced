//! Types as version 6 numbered them: `syscolumns.type`, `usertype`, `systypes.type`.

use extentdb_types::sql_type::xtype;

/// `systypes.usertype` of sysname.
pub(in crate::view) const USER_TYPE_SYSNAME: u8 = 18;

/// The numbers of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::view) struct LegacyType {
    not_null: u8,
    nullable: u8,
    pub(in crate::view) user_type: u8,
}

impl LegacyType {
    /// Those of a type by its system type id; zeros of newer types.
    pub(in crate::view) fn of(system_type: u8) -> LegacyType {
        let (not_null, nullable, user_type) = numbers(system_type);
        LegacyType { not_null, nullable, user_type }
    }

    /// How values of it are stored: in another way where they may be NULL.
    pub(in crate::view) fn storage(self, is_nullable: bool) -> u8 {
        if is_nullable { self.nullable } else { self.not_null }
    }
}

fn numbers(system_type: u8) -> (u8, u8, u8) {
    match system_type {
        xtype::IMAGE => (34, 34, 20),
        xtype::TEXT => (35, 35, 19),
        xtype::UNIQUEIDENTIFIER => (37, 37, 0),
        xtype::TINYINT => (48, 38, 5),
        xtype::SMALLINT => (52, 38, 6),
        xtype::INT => (56, 38, 7),
        xtype::SMALLDATETIME => (58, 111, 22),
        xtype::REAL => (59, 109, 23),
        xtype::MONEY => (60, 110, 11),
        xtype::DATETIME => (61, 111, 12),
        xtype::FLOAT => (62, 109, 8),
        xtype::SQL_VARIANT => (39, 39, 0),
        xtype::NTEXT => (35, 35, 0),
        xtype::BIT => (50, 50, 16),
        xtype::DECIMAL => (55, 106, 24),
        xtype::NUMERIC => (63, 108, 10),
        xtype::SMALLMONEY => (122, 110, 21),
        xtype::BIGINT => (63, 108, 0),
        xtype::VARBINARY => (37, 37, 4),
        xtype::VARCHAR => (39, 39, 2),
        xtype::BINARY => (45, 37, 3),
        xtype::CHAR => (47, 39, 1),
        xtype::TIMESTAMP => (45, 37, 80),
        xtype::NVARCHAR => (39, 39, 0),
        xtype::NCHAR => (47, 39, 0),
        _ => (0, 0, 0),
    }
}
