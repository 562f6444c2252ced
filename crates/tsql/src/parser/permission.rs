//! GRANT, DENY, REVOKE, ALTER AUTHORIZATION.

use super::{Parsed, Parser};
use crate::syntax::{
    AlterAuthorization, Name, Permission, PermissionName, PermissionVerb, Securable, StatementKind,
};
use crate::token::TokenKind;

/// Words of the names of permissions, from the public list of permissions.
const WORDS: &str = "ADMINISTER AGGREGATE ALL ALTER ANY APPLICATION ASSEMBLY ASYMMETRIC AUDIT \
    AUTHENTICATE AUTHORIZATION AVAILABILITY BACKUP BIND BULK CERTIFICATE CHANGE CHECKPOINT CLASS \
    CLUSTER COLLECTION COLUMN CONFIGURATION CONNECT CONNECTION CONTRACT CONTROL CREATE CREDENTIAL \
    DATA DATABASE DATASPACE DDL DEFAULT DEFINITION DELETE DISABLE DROP EDITION ENABLE ENCRYPTION \
    ENDPOINT ENTITY ERROR EVENT EXECUTE EXEC EXTERNAL FAULT FEATURE FILE FORMAT FULLTEXT FUNCTION \
    FUNCTIONS GENERATION GROUP IMPERSONATE INSERT JOB KEY KILL LANGUAGE LEDGER LIBRARY LINKED LOG \
    LOGIN MANAGEMENT MASK MASTER MESSAGE MODEL NOTIFICATION NOTIFICATIONS OPERATIONS OPTION \
    OUTBOUND OWNERSHIP PERFORMANCE PERMISSIONS PLAN POLICY PROC PROCEDURE QUERY QUEUE RECEIVE \
    REFERENCES REMOTE REPLICATE RESOURCE RESOURCES RETENTION ROLE ROUTE RULE SCHEMA SCOPED SCRIPT \
    SEARCH SECURABLES SECURITY SELECT SEND SENSITIVITY SEQUENCE SERVER SERVICE SESSION SETTINGS \
    SHOWPLAN SHUTDOWN SOURCE SPECIFICATION STATE STORE SUBSCRIBE SYMMETRIC SYNONYM TABLE TAKE TARGET \
    TRACE TRACKING TRANSACTION TRIGGER TYPE UNMASK UNRESTRICTED UNSAFE UPDATE USER VIEW XML";

/// Classes of securables before `::`.
const CLASSES: [&str; 33] = [
    "APPLICATION ROLE",
    "ASSEMBLY",
    "ASYMMETRIC KEY",
    "AVAILABILITY GROUP",
    "CERTIFICATE",
    "COLUMN MASTER KEY",
    "COLUMN ENCRYPTION KEY",
    "CONTRACT",
    "DATABASE SCOPED CREDENTIAL",
    "DATABASE",
    "ENDPOINT",
    "EVENT NOTIFICATION",
    "EXTERNAL LANGUAGE",
    "EXTERNAL LIBRARY",
    "FULLTEXT CATALOG",
    "FULLTEXT STOPLIST",
    "LOGIN",
    "MESSAGE TYPE",
    "OBJECT",
    "PARTITION FUNCTION",
    "PARTITION SCHEME",
    "REMOTE SERVICE BINDING",
    "ROLE",
    "ROUTE",
    "SCHEMA",
    "SEARCH PROPERTY LIST",
    "SERVER ROLE",
    "SERVER",
    "SERVICE",
    "SYMMETRIC KEY",
    "TYPE",
    "USER",
    "XML SCHEMA COLLECTION",
];

impl Parser<'_> {
    pub(super) fn permission(&mut self) -> Parsed<StatementKind> {
        self.permission_clause().map(|it| StatementKind::Permission(Box::new(it)))
    }

    pub(super) fn permission_clause(&mut self) -> Parsed<Permission> {
        let verb = self.expect_choice(&[
            ("GRANT", PermissionVerb::Grant),
            ("DENY", PermissionVerb::Deny),
            ("REVOKE", PermissionVerb::Revoke),
        ])?;
        let is_revoke = verb == PermissionVerb::Revoke;
        let has_option_for = is_revoke && self.accept_all(&["GRANT", "OPTION", "FOR"]);
        let permissions = self.list(Parser::permission_name)?;
        let has_on = self.accept("ON");
        let on = self.when(has_on, Parser::securable)?;
        if !(is_revoke && self.accept("FROM")) {
            self.expect("TO")?;
        }
        let principals = self.list(Parser::principal)?;
        let mut permission = Permission {
            verb,
            has_grant_option: has_option_for,
            permissions,
            on,
            principals,
            is_cascade: false,
            grantor: None,
        };
        if verb == PermissionVerb::Grant {
            permission.has_grant_option = self.accept_all(&["WITH", "GRANT", "OPTION"]);
        } else {
            permission.is_cascade = self.accept("CASCADE");
        }
        if self.accept("AS") {
            permission.grantor = Some(self.principal()?);
        }
        Ok(permission)
    }

    /// `word … [ ( column , … ) ]`
    fn permission_name(&mut self) -> Parsed<PermissionName> {
        let mut name = String::new();
        while self.is_permission_word() {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&self.word().to_ascii_uppercase());
            self.at += 1;
        }
        if name.is_empty() {
            return Err(self.unexpected());
        }
        let columns = self.optional_list(Parser::name)?;
        Ok(PermissionName { name: name.into(), columns })
    }

    fn is_permission_word(&self) -> bool {
        matches!(self.kind(), TokenKind::Word | TokenKind::Reserved)
            && WORDS.split_ascii_whitespace().any(|word| self.is(word))
    }

    /// A principal; `public` is reserved and one.
    fn principal(&mut self) -> Parsed<Name> {
        if self.is("PUBLIC") { self.any_word() } else { self.name() }
    }

    /// `[ class :: ] name [ ( column , … ) ]`
    fn securable(&mut self) -> Parsed<Securable> {
        let class = self.securable_class();
        let name = self.object_name()?;
        let columns = self.optional_list(Parser::name)?;
        Ok(Securable { class: class.map(Into::into), name, columns })
    }

    fn securable_class(&mut self) -> Option<&'static str> {
        let is_here = |class: &&&str| {
            let count = class.split(' ').count();
            class.split(' ').enumerate().all(|(ahead, word)| self.is_word_at(ahead, word))
                && self.kind_at(count) == TokenKind::DoubleColon
        };
        let class = CLASSES.iter().find(is_here)?;
        self.at += class.split(' ').count() + 1;
        Some(class)
    }

    /// `ALTER AUTHORIZATION ON [ class :: ] name TO { principal | SCHEMA OWNER }`
    pub(super) fn alter_authorization(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["ALTER", "AUTHORIZATION", "ON"])?;
        let on = self.securable()?;
        self.expect("TO")?;
        let is_schema_owner = self.accept_all(&["SCHEMA", "OWNER"]);
        let owner = self.when(!is_schema_owner, Parser::principal)?;
        let alter = AlterAuthorization { on, owner };
        Ok(StatementKind::AlterAuthorization(Box::new(alter)))
    }
}
