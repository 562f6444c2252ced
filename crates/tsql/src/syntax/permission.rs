//! GRANT, DENY and REVOKE.

use super::name::{Name, ObjectName};

/// `GRANT | DENY | REVOKE [ GRANT OPTION FOR ] permission , … [ ON … ] { TO | FROM } principal , …
/// [ WITH GRANT OPTION ] [ CASCADE ] [ AS grantor ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Permission {
    pub verb: PermissionVerb,
    /// `GRANT OPTION FOR` of REVOKE, `WITH GRANT OPTION` of GRANT
    pub has_grant_option: bool,
    pub permissions: Vec<PermissionName>,
    pub on: Option<Securable>,
    pub principals: Vec<Name>,
    pub is_cascade: bool,
    pub grantor: Option<Name>,
}

/// Which of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PermissionVerb {
    Grant,
    Deny,
    Revoke,
}

/// `word … [ ( column , … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionName {
    /// In capitals, with one blank between words.
    pub name: Box<str>,
    pub columns: Vec<Name>,
}

/// `[ class :: ] name [ ( column , … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Securable {
    /// In capitals, with one blank between words; `None` for an object.
    pub class: Option<Box<str>>,
    pub name: ObjectName,
    pub columns: Vec<Name>,
}

/// `ALTER AUTHORIZATION ON [ class :: ] name TO { principal | SCHEMA OWNER }`
#[derive(Debug, Clone, PartialEq)]
pub struct AlterAuthorization {
    pub on: Securable,
    /// `None` for SCHEMA OWNER.
    pub owner: Option<Name>,
}
