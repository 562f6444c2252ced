//! Permissions by their codes: which ones cover which, and what the fixed roles have.
//!
//! ```text
//! OBJECT p  ◀─ CONTROL        column p  ◀─ object p
//!    ▲
//! SCHEMA p  ◀─ CONTROL
//!    ▲
//! DATABASE p, ALTER ANY …  ◀─ ALTER ◀─ CONTROL
//! ```

/// Classes of securables: `sysprivs.class`.
pub const CLASS_DATABASE: u8 = 0;
/// See [`CLASS_DATABASE`].
pub const CLASS_OBJECT: u8 = 1;
/// See [`CLASS_DATABASE`].
pub const CLASS_SCHEMA: u8 = 3;
/// See [`CLASS_DATABASE`].
pub const CLASS_PRINCIPAL: u8 = 4;
/// See [`CLASS_DATABASE`].
pub const CLASS_TYPE: u8 = 6;
/// See [`CLASS_DATABASE`].
pub const CLASS_SERVER: u8 = 100;
/// See [`CLASS_DATABASE`].
pub const CLASS_LOGIN: u8 = 101;

/// Codes of permissions that are asked for by name.
pub mod code {
    #![allow(missing_docs, reason = "each is the code of the permission that it is named after")]
    pub const ALTER: &str = "AL";
    pub const ALTER_ANY_CONNECTION: &str = "ALCO";
    pub const ALTER_ANY_DATABASE: &str = "ALDB";
    pub const ALTER_ANY_LOGIN: &str = "ALLG";
    pub const ALTER_ANY_ROLE: &str = "ALRL";
    pub const ALTER_ANY_SCHEMA: &str = "ALSM";
    pub const ALTER_ANY_SERVER_ROLE: &str = "ALSR";
    pub const ALTER_ANY_USER: &str = "ALUS";
    pub const ALTER_SERVER_STATE: &str = "ALSS";
    pub const ALTER_SETTINGS: &str = "ALST";
    pub const CHECKPOINT: &str = "CP";
    pub const CONNECT: &str = "CO";
    pub const CONTROL: &str = "CL";
    pub const CREATE_DATABASE: &str = "CRDB";
    pub const DELETE: &str = "DL";
    pub const EXECUTE: &str = "EX";
    pub const IMPERSONATE: &str = "IM";
    pub const INSERT: &str = "IN";
    pub const REFERENCES: &str = "RF";
    pub const SELECT: &str = "SL";
    pub const SHUTDOWN: &str = "SHDN";
    pub const TAKE_OWNERSHIP: &str = "TO";
    pub const UPDATE: &str = "UP";
    pub const VIEW_DEFINITION: &str = "VW";
    pub const VIEW_SERVER_STATE: &str = "VWSS";
}

/// The code of a permission by its name, in a class of securables.
#[must_use]
pub fn code_of(class: &str, name: &str) -> Option<&'static str> {
    extentdb_sysview::permission_code(class, name)
}

/// The codes of all permissions of a class of securables.
#[must_use]
pub fn codes_of(class: &str) -> Vec<&'static str> {
    extentdb_sysview::permission_codes(class)
}

/// Codes and names of all permissions of a class of securables.
#[must_use]
pub fn all_of(class: &str) -> Vec<(&'static str, &'static str)> {
    extentdb_sysview::permissions_of(class)
}

/// Has an object of this kind, as `sys.objects.type` has it, a permission?
#[must_use]
pub fn is_of_object(kind: &str, code: &str) -> bool {
    let is_other = match kind.trim_end() {
        "P" => matches!(code, "SL" | "IN" | "UP" | "DL" | "RF" | "VWCT"),
        "FN" => matches!(code, "SL" | "IN" | "UP" | "DL" | "VWCT"),
        "V" | "IF" | "TF" => matches!(code, "EX" | "VWCT"),
        "U" => code == "EX",
        _ => false,
    };
    !is_other && !matches!(code, "RC" | "EXES")
}

/// Permissions that a schema has for all its objects, and the database for all schemas.
const INHERITED: [&str; 8] = ["SL", "IN", "UP", "DL", "EX", "RF", "VW", "CL"];

/// Does a schema have this permission for its objects?
pub(super) fn of_schema(kind: &str) -> Option<&str> {
    match kind {
        "AL" | "TO" | "VWCT" => Some(kind),
        _ if INHERITED.contains(&kind) => Some(kind),
        _ => None,
    }
}

/// The permission on the database that covers one on a schema.
pub(super) fn of_database(kind: &str) -> &str {
    match kind {
        "AL" | "CRSO" => code::ALTER_ANY_SCHEMA,
        _ if INHERITED.contains(&kind) => kind,
        _ => code::CONTROL,
    }
}

/// The permission on the database that covers another one there, below CONTROL.
pub(super) fn above(kind: &str) -> Option<&'static str> {
    match kind {
        "CRSM" => Some(code::ALTER_ANY_SCHEMA),
        "CRRL" => Some(code::ALTER_ANY_ROLE),
        "CUSR" => Some(code::ALTER_ANY_USER),
        "AL" | "CO" => None,
        _ if kind.starts_with("AL") || kind.starts_with("CR") => Some(code::ALTER),
        "CP" => Some("BADB"),
        _ => None,
    }
}

/// Ids of the fixed roles of a database.
pub mod role {
    #![allow(missing_docs, reason = "each is the id of the role that it is named after")]
    pub const PUBLIC: i32 = 0;
    pub const OWNER: i32 = 16_384;
    pub const ACCESS_ADMIN: i32 = 16_385;
    pub const SECURITY_ADMIN: i32 = 16_386;
    pub const DDL_ADMIN: i32 = 16_387;
    pub const BACKUP_OPERATOR: i32 = 16_389;
    pub const DATA_READER: i32 = 16_390;
    pub const DATA_WRITER: i32 = 16_391;
    pub const DENY_DATA_READER: i32 = 16_392;
    pub const DENY_DATA_WRITER: i32 = 16_393;
    pub const FIXED: std::ops::RangeInclusive<i32> = OWNER..=DENY_DATA_WRITER;
}

/// What the members of a fixed role have on the database.
pub(super) fn granted_to(fixed: i32) -> &'static [&'static str] {
    match fixed {
        role::OWNER => &["CL"],
        role::ACCESS_ADMIN => &["ALUS", "CRSM", "CUSR"],
        role::SECURITY_ADMIN => &["ALRL", "ALAR", "CRSM", "CRRL", "VW"],
        role::DDL_ADMIN => &[
            "ALSM", "ALDS", "ALTG", "CP", "CRAG", "CRDF", "CRFN", "CRPR", "CRRU", "CRSM", "CRSN",
            "CRTB", "CRTY", "CRVW", "CRXS", "RF",
        ],
        role::BACKUP_OPERATOR => &["BADB", "BALO", "CP"],
        role::DATA_READER => &["SL"],
        role::DATA_WRITER => &["IN", "UP", "DL"],
        _ => &[],
    }
}

/// What the members of a fixed role are denied on the database.
pub(super) fn denied_to(fixed: i32) -> &'static [&'static str] {
    match fixed {
        role::DENY_DATA_READER => &["SL"],
        role::DENY_DATA_WRITER => &["IN", "UP", "DL"],
        _ => &[],
    }
}
