//! Codes of catalog views, and the words for them.

use extentdb_engine::ReferentialAction;
use extentdb_engine::model::{IndexKind, ObjectType};

const PERMISSIONS: &str = include_str!("../data/permissions.tsv");
/// Class, code, name.
const CLASSES: &str = include_str!("../data/permission_classes.tsv");

/// `sys.objects.type_desc`.
pub(crate) fn object_type(kind: ObjectType) -> Option<&'static str> {
    Some(match kind.code() {
        "AF" => "AGGREGATE_FUNCTION",
        "C" => "CHECK_CONSTRAINT",
        "D" => "DEFAULT_CONSTRAINT",
        "F" => "FOREIGN_KEY_CONSTRAINT",
        "FN" => "SQL_SCALAR_FUNCTION",
        "FS" => "CLR_SCALAR_FUNCTION",
        "FT" => "CLR_TABLE_VALUED_FUNCTION",
        "IF" => "SQL_INLINE_TABLE_VALUED_FUNCTION",
        "IT" => "INTERNAL_TABLE",
        "P" => "SQL_STORED_PROCEDURE",
        "PC" => "CLR_STORED_PROCEDURE",
        "PG" => "PLAN_GUIDE",
        "PK" => "PRIMARY_KEY_CONSTRAINT",
        "R" => "RULE",
        "RF" => "REPLICATION_FILTER_PROCEDURE",
        "S" => "SYSTEM_TABLE",
        "SN" => "SYNONYM",
        "SO" => "SEQUENCE_OBJECT",
        "SQ" => "SERVICE_QUEUE",
        "TA" => "CLR_TRIGGER",
        "TF" => "SQL_TABLE_VALUED_FUNCTION",
        "TR" => "SQL_TRIGGER",
        "TT" => "TYPE_TABLE",
        "U" => "USER_TABLE",
        "UQ" => "UNIQUE_CONSTRAINT",
        "V" => "VIEW",
        "X" => "EXTENDED_STORED_PROCEDURE",
        _ => return None,
    })
}

/// `sys.indexes.type`.
pub(crate) fn index_kind(kind: IndexKind) -> u8 {
    match kind {
        IndexKind::Heap => 0,
        IndexKind::Clustered => 1,
        IndexKind::Nonclustered => 2,
        IndexKind::Xml => 3,
        IndexKind::Spatial => 4,
        IndexKind::ClusteredColumnstore => 5,
        IndexKind::NonclusteredColumnstore => 6,
        IndexKind::NonclusteredHash => 7,
        IndexKind::Other(other) => other,
    }
}

/// `sys.foreign_keys.delete_referential_action_desc`.
pub(crate) fn referential_action(action: ReferentialAction) -> String {
    action.name().replace(' ', "_")
}

/// `sys.data_spaces.type_desc`.
pub(crate) fn data_space(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "FG" => "ROWS_FILEGROUP",
        "FD" => "FILESTREAM_DATA_FILEGROUP",
        "FX" => "MEMORY_OPTIMIZED_DATA_FILEGROUP",
        "PS" => "PARTITION_SCHEME",
        _ => return None,
    })
}

/// `sys.master_files.type_desc`.
pub(crate) fn file_type(kind: i32) -> Option<&'static str> {
    Some(match kind {
        0 => "ROWS",
        1 => "LOG",
        2 => "FILESTREAM",
        4 => "FULLTEXT",
        _ => return None,
    })
}

/// `sys.master_files.state_desc`.
pub(crate) fn file_state(state: i32) -> Option<&'static str> {
    Some(match state {
        0 => "ONLINE",
        1 => "RESTORING",
        2 => "RECOVERING",
        3 => "RECOVERY_PENDING",
        4 => "SUSPECT",
        6 => "OFFLINE",
        7 => "DEFUNCT",
        _ => return None,
    })
}

/// `sys.database_principals.type_desc`.
pub(crate) fn database_principal(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "A" => "APPLICATION_ROLE",
        "C" => "CERTIFICATE_MAPPED_USER",
        "E" => "EXTERNAL_USER",
        "G" => "WINDOWS_GROUP",
        "K" => "ASYMMETRIC_KEY_MAPPED_USER",
        "R" => "DATABASE_ROLE",
        "S" => "SQL_USER",
        "U" => "WINDOWS_USER",
        "X" => "EXTERNAL_GROUP",
        _ => return None,
    })
}

/// `sys.database_permissions.class_desc`.
pub(crate) fn securable_class(class: u8) -> Option<&'static str> {
    SECURABLE_CLASSES.iter().find(|(own, _)| *own == class).map(|(_, name)| *name)
}

/// `sys.securable_classes`.
pub(crate) const SECURABLE_CLASSES: [(u8, &str); 24] = [
    (0, "DATABASE"),
    (1, "OBJECT_OR_COLUMN"),
    (3, "SCHEMA"),
    (4, "DATABASE_PRINCIPAL"),
    (5, "ASSEMBLY"),
    (6, "TYPE"),
    (10, "XML_SCHEMA_COLLECTION"),
    (15, "MESSAGE_TYPE"),
    (16, "SERVICE_CONTRACT"),
    (17, "SERVICE"),
    (18, "REMOTE_SERVICE_BINDING"),
    (19, "ROUTE"),
    (23, "FULLTEXT_CATALOG"),
    (24, "SYMMETRIC_KEYS"),
    (25, "CERTIFICATE"),
    (26, "ASYMMETRIC_KEY"),
    (29, "FULLTEXT_STOPLIST"),
    (31, "SEARCH_PROPERTY_LIST"),
    (32, "DATABASE_SCOPED_CREDENTIAL"),
    (34, "EXTERNAL_LANGUAGE"),
    (100, "SERVER"),
    (101, "SERVER_PRINCIPAL"),
    (105, "ENDPOINT"),
    (108, "AVAILABILITY_GROUP"),
];

/// `sys.extended_properties.class_desc`.
pub(crate) fn property_class(class: u8) -> Option<&'static str> {
    Some(match class {
        2 => "PARAMETER",
        7 => "INDEX",
        8 => "USER_DEFINED_TABLE_TYPE_COLUMN",
        20 => "DATASPACE",
        21 => "PARTITION_FUNCTION",
        22 => "DATABASE_FILE",
        27 => "PLAN_GUIDE",
        other => return securable_class(other),
    })
}

/// `sys.database_permissions.permission_name`.
pub(crate) fn permission(code: &str) -> Option<&'static str> {
    let mut lines = PERMISSIONS.lines().filter_map(|line| line.split_once('\t'));
    lines.find(|(own, _)| *own == code).map(|(_, name)| name)
}

/// Class, code and name of each permission.
pub(crate) fn permissions() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    CLASSES.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        Some((fields.next()?, fields.next()?, fields.next()?))
    })
}

/// The code of a permission by its name, in a class of securables.
#[must_use]
pub fn permission_code(class: &str, name: &str) -> Option<&'static str> {
    let is_it = |own: &(&str, &str, &str)| own.0 == class && own.2.eq_ignore_ascii_case(name);
    permissions().find(is_it).map(|own| own.1)
}

/// Codes and names of all permissions of a class of securables.
#[must_use]
pub fn permissions_of(class: &str) -> Vec<(&'static str, &'static str)> {
    permissions().filter(|own| own.0 == class).map(|own| (own.1, own.2)).collect()
}

/// The classes of securables that have permissions.
pub(crate) fn classes_of_permissions() -> Vec<&'static str> {
    let mut classes: Vec<&str> = permissions().map(|own| own.0).collect();
    classes.dedup();
    classes
}

/// The codes of all permissions of a class of securables.
#[must_use]
pub fn permission_codes(class: &str) -> Vec<&'static str> {
    permissions().filter(|own| own.0 == class).map(|own| own.1).collect()
}

/// Is it the name of a permission, or the word for any?
#[must_use]
pub fn is_permission(name: &str) -> bool {
    let mut names = PERMISSIONS.lines().filter_map(|line| line.split('\t').nth(1));
    name.eq_ignore_ascii_case("ANY") || names.any(|own| own.eq_ignore_ascii_case(name))
}

/// `sys.database_permissions.state_desc`.
pub(crate) fn permission_state(state: &str) -> Option<&'static str> {
    Some(match state {
        "D" => "DENY",
        "R" => "REVOKE",
        "G" => "GRANT",
        "W" => "GRANT_WITH_GRANT_OPTION",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_words_of_the_product() {
        assert_eq!(permission("SL"), Some("SELECT"));
        assert_eq!(permission("CO"), Some("CONNECT"));
        assert_eq!(property_class(7), Some("INDEX"));
        assert_eq!(property_class(1), Some("OBJECT_OR_COLUMN"));
        assert_eq!(referential_action(ReferentialAction::SetNull), "SET_NULL");
        assert_eq!(object_type(ObjectType(*b"U ")), Some("USER_TABLE"));
    }
}
