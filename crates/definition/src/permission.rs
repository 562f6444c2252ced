//! GRANT, DENY, REVOKE and ALTER AUTHORIZATION: rows of `sysprivs`, owners.
//!
//! ```text
//! GRANT    a row with G, or W with the grant option; in the place of a D
//! DENY     a row with D; in the place of a G
//! REVOKE   no row
//! ```
//!
//! Invariants
//! - A permission that nothing here asks for is stored when it is granted, and refused by name when
//!   it is denied: nobody is promised what is not kept.
//! - A permission on an object replaces those on its columns.

use extentdb_base::sync::Arc;
use extentdb_connection::cause::Cause;
use extentdb_connection::security::permission::{
    self, CLASS_DATABASE, CLASS_LOGIN, CLASS_OBJECT, CLASS_PRINCIPAL, CLASS_SCHEMA, CLASS_SERVER,
    CLASS_TYPE, code, role,
};
use extentdb_connection::security::{DBO, LoginToken, Rights};
use extentdb_engine::PrincipalChange;
use extentdb_engine::model::{ObjectModel, Permission as Row, Principal};
use extentdb_tsql::syntax::{
    AlterAuthorization, Name, Permission, PermissionName, PermissionVerb, Securable,
};

use super::guard::{Guarded, not_permitted};
use super::problem::Defined;
use super::{Ddl, Define};

/// Classes of owners.
const SCHEMA_OWNER: u8 = 50;
const ROLE_OWNER: u8 = 51;

/// Permissions that are asked for somewhere: those that may be denied.
fn is_enforced(class: u8, kind: &str) -> bool {
    match class {
        CLASS_DATABASE => matches!(
            kind,
            "SL" | "IN"
                | "UP"
                | "DL"
                | "EX"
                | "RF"
                | "VW"
                | "CL"
                | "AL"
                | "CO"
                | "CP"
                | "VWDS"
                | "CRTB"
                | "CRVW"
                | "CRPR"
                | "CRFN"
                | "CRSM"
                | "CRTY"
                | "CRSN"
                | "CRRL"
                | "CRDB"
                | "CRDF"
                | "CRRU"
                | "CUSR"
                | "ALSM"
                | "ALUS"
                | "ALRL"
        ),
        CLASS_OBJECT => {
            matches!(kind, "SL" | "IN" | "UP" | "DL" | "EX" | "RF" | "AL" | "CL" | "VW" | "TO")
        }
        CLASS_SCHEMA => matches!(
            kind,
            "SL" | "IN" | "UP" | "DL" | "EX" | "RF" | "AL" | "CL" | "VW" | "CRSO" | "TO"
        ),
        CLASS_PRINCIPAL => matches!(kind, "IM" | "AL" | "CL" | "TO"),
        CLASS_SERVER => matches!(
            kind,
            "CL" | "ALLG"
                | "CRLG"
                | "ALDB"
                | "CRDB"
                | "ALCO"
                | "ALSS"
                | "ALST"
                | "SHDN"
                | "VWSS"
                | "VWAD"
        ),
        CLASS_LOGIN => matches!(kind, "IM"),
        _ => false,
    }
}

/// What a permission is about.
struct Target {
    class: u8,
    id: i32,
    /// Name of the class in the table of permissions.
    class_name: &'static str,
    object: Option<Arc<ObjectModel>>,
    owner: i32,
}

/// 15151
pub(super) fn cannot_find(kind: &str, name: &str) -> Cause {
    let text = format!(
        "Cannot find the {kind} '{name}', because it does not exist or you do not have permission."
    );
    Cause::Denied { number: 15151, text }
}

impl Guarded for Permission {
    /// Who grants is asked for each securable, when it is known.
    fn verify(&self, _: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        Ok(())
    }
}

impl Define for Permission {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let database = ddl.session().database().clone();
        ddl.in_scope(&database, |ddl| ddl.permission(self))
    }
}

impl Ddl<'_, '_> {
    /// GRANT, DENY or REVOKE in the current database.
    pub(super) fn permission(&mut self, statement: &Permission) -> Defined {
        let database = self.session().database().clone();
        let rights = self.rights(&database)?;
        let target = self.securable(statement, &rights)?;
        for own in &statement.permissions {
            let kinds = kinds_of(own, &target)?;
            let columns = columns_of(own, statement.on.as_ref(), &target)?;
            for kind in kinds {
                for column in &columns {
                    self.permission_of(statement, &rights, &target, (kind, *column))?;
                }
            }
        }
        if target.class >= CLASS_SERVER {
            self.connection().server.note_logins();
        }
        Ok(())
    }

    fn permission_of(
        &mut self,
        statement: &Permission,
        rights: &Rights,
        target: &Target,
        (kind, column): (&'static str, i32),
    ) -> Defined {
        let is_synonym = target.object.as_ref().is_some_and(|it| it.object.kind.code() == "SN");
        let is_kept = is_enforced(target.class, kind) && !is_synonym;
        if statement.verb == PermissionVerb::Deny && !is_kept {
            let name = statement.permissions.first().map(|own| own.name.to_string());
            let name = name.unwrap_or_default();
            return Err(Cause::not_supported(format!(
                "DENY {name} of class {}, which nothing here asks for",
                target.class_name
            ))
            .into());
        }
        let grantor = self.grantor(statement, rights, target, kind)?;
        for name in &statement.principals {
            let grantee = self.grantee(name, rights, target)?;
            let about = Row {
                class: target.class,
                id: target.id,
                sub_id: column,
                grantee,
                grantor,
                kind: kind.to_owned(),
                state: String::new(),
            };
            self.store(statement, target, about)?;
        }
        Ok(())
    }

    /// The rows of a securable, as they are now.
    fn rows(&mut self, target: &Target) -> Result<Vec<Row>, Cause> {
        let database = self.session().database().clone();
        let model = database.model().map_err(|error| self.connection().engine_cause(&error))?;
        let of_object = target.object.as_ref().map(|own| own.object.id);
        let rows = match of_object.and_then(|id| model.object_by_id(id)) {
            Some(object) => object.permissions.clone(),
            None => model.permissions().to_vec(),
        };
        let is_it = |own: &Row| own.class == target.class && own.id == target.id;
        Ok(rows.into_iter().filter(is_it).collect())
    }

    fn store(&mut self, statement: &Permission, target: &Target, about: Row) -> Defined {
        let rows = self.rows(target)?;
        let is_kind = |own: &&Row| own.kind.trim_end() == about.kind;
        let is_own = |own: &&Row| {
            is_kind(own)
                && own.grantee == about.grantee
                && (own.sub_id == about.sub_id || about.sub_id == 0)
        };
        let mut removed: Vec<Row> = rows.iter().filter(is_own).cloned().collect();
        let had_option = removed.iter().any(|own| own.state == "W");
        let had_grant = had_option || removed.iter().any(|own| own.state == "G");
        let dependent = granted_by(&rows, &about);
        let mut state = match statement.verb {
            PermissionVerb::Grant if statement.has_grant_option || had_option => Some("W"),
            PermissionVerb::Grant => Some("G"),
            PermissionVerb::Deny => Some("D"),
            PermissionVerb::Revoke if statement.has_grant_option && had_grant => Some("G"),
            PermissionVerb::Revoke => None,
        };
        if statement.verb == PermissionVerb::Revoke && statement.has_grant_option && !had_option {
            state = removed.first().map(|own| if own.state == "D" { "D" } else { "G" });
            state = state.filter(|_| !removed.is_empty());
        }
        if statement.verb != PermissionVerb::Grant && had_option {
            if !statement.is_cascade {
                let text = "To revoke or deny grantable privileges, specify the CASCADE option.";
                return Err(Cause::Denied { number: 4611, text: text.to_owned() }.into());
            }
            removed.extend(dependent);
        }
        let added: Vec<Row> =
            state.map(|state| Row { state: state.to_owned(), ..about }).into_iter().collect();
        Ok(self.session().change_permissions(&removed, &added)?)
    }

    /// What the statement is about.
    fn securable(&mut self, statement: &Permission, rights: &Rights) -> Result<Target, Cause> {
        let Some(on) = &statement.on else { return self.without_securable(statement) };
        let name = &*on.name.name.text;
        let plain =
            |class, id, class_name, owner| Target { class, id, class_name, object: None, owner };
        let model = rights.model();
        let principal = |kind: &'static str, class_name: &'static str| {
            let found = model.principal(name).filter(|own| (own.kind == "R") == (kind == "role"));
            let found = found.ok_or_else(|| cannot_find(kind, name))?;
            Ok(plain(CLASS_PRINCIPAL, found.id, class_name, DBO))
        };
        match on.class.as_deref() {
            None | Some("OBJECT") => self.object_target(on),
            Some("SCHEMA") => {
                let found = model.schema(name).ok_or_else(|| cannot_find("schema", name))?;
                Ok(plain(CLASS_SCHEMA, found.id, "SCHEMA", found.owner))
            }
            Some("DATABASE") if name.eq_ignore_ascii_case(self.session().database().name()) => {
                Ok(plain(CLASS_DATABASE, 0, "DATABASE", DBO))
            }
            Some("DATABASE") => {
                let text = "You can only grant or revoke permissions on the current database.";
                Err(Cause::Denied { number: 4630, text: text.to_owned() })
            }
            Some("USER") => principal("user", "USER"),
            Some("ROLE") => principal("role", "ROLE"),
            Some("TYPE") => {
                let schema = on.name.schema().map_or("dbo", |schema| &schema.text);
                let schema = model.schema(schema);
                let found = schema.and_then(|own| model.scalar_type_named(own.id, name));
                let found = found.ok_or_else(|| cannot_find("type", name))?;
                Ok(plain(CLASS_TYPE, found.id, "TYPE", DBO))
            }
            Some("LOGIN") => {
                self.verify_in_master()?;
                let login = LoginToken::named(&self.connection().server, name);
                let login = login.ok_or_else(|| cannot_find("login", name))?;
                Ok(plain(CLASS_LOGIN, login.id, "LOGIN", DBO))
            }
            Some("SERVER") => {
                self.verify_in_master()?;
                Ok(plain(CLASS_SERVER, 0, "SERVER", DBO))
            }
            Some(class) => Err(Cause::not_supported(format!("permissions on a {class}"))),
        }
    }

    /// Without ON: the database, or the server.
    fn without_securable(&mut self, statement: &Permission) -> Result<Target, Cause> {
        let is_of = |class: &str| {
            let mut all = statement.permissions.iter();
            all.all(|own| &*own.name == "ALL" || permission_code(class, &own.name).is_some())
        };
        let plain =
            |class, class_name| Target { class, id: 0, class_name, object: None, owner: DBO };
        if is_of("DATABASE") {
            return Ok(plain(CLASS_DATABASE, "DATABASE"));
        }
        if is_of("SERVER") {
            self.verify_in_master()?;
            return Ok(plain(CLASS_SERVER, "SERVER"));
        }
        let name = statement.permissions.first().map(|own| own.name.to_string());
        Err(incorrect(&name.unwrap_or_default()))
    }

    fn verify_in_master(&mut self) -> Result<(), Cause> {
        if self.session().database().name().eq_ignore_ascii_case("master") {
            return Ok(());
        }
        let text = "Permissions at the server scope can only be granted when the current database \
                    is master";
        Err(Cause::Denied { number: 4621, text: text.to_owned() })
    }

    fn object_target(&mut self, on: &Securable) -> Result<Target, Cause> {
        let shown = super::written(&on.name);
        let Some(found) = self.connection().object(&on.name)? else {
            if on.name.schema().is_some_and(|own| own.text.eq_ignore_ascii_case("sys")) {
                return Err(Cause::not_supported("permissions on objects of the system"));
            }
            return Err(cannot_find("object", &on.name.name.text));
        };
        let current = self.session().database().clone();
        if !Arc::ptr_eq(&found.database, &current) {
            let text =
                "You can only grant or revoke permissions on objects in the current database.";
            return Err(Cause::Denied { number: 4610, text: text.to_owned() });
        }
        let id = found.object.object.id.0;
        if id < 0 || found.kind() == "S" {
            return Err(Cause::not_supported(format!("permissions on {shown} of the system")));
        }
        let owner = found.model.owner_of(&found.object.object);
        let object = Some(found.object.clone());
        Ok(Target { class: CLASS_OBJECT, id, class_name: "OBJECT", object, owner })
    }

    /// Who grants: the owner, where the session may act for it, or the user itself.
    fn grantor(
        &mut self,
        statement: &Permission,
        rights: &Rights,
        target: &Target,
        kind: &str,
    ) -> Result<i32, Cause> {
        if target.class >= CLASS_SERVER {
            let may = self.connection().has_on_server("CL")
                || target.class == CLASS_LOGIN && self.connection().has_on_server("ALLG");
            return if may { Ok(1) } else { Err(no_grantor()) };
        }
        if let Some(name) = &statement.grantor {
            let own = rights.model().principal(&name.text);
            let own = own.ok_or_else(|| cannot_find("user", &name.text))?;
            if !rights.is(own.id) && !rights.has_on_database(code::CONTROL) {
                return Err(no_grantor());
            }
            // db_owner and dbo are the same to who reads the row.
            return Ok(if role::FIXED.contains(&own.id) { DBO } else { own.id });
        }
        let controls = match target.class {
            CLASS_OBJECT => target
                .object
                .as_ref()
                .is_some_and(|object| rights.has_on_object(object, code::CONTROL)),
            CLASS_SCHEMA => rights.has_on_schema(target.id, code::CONTROL),
            CLASS_PRINCIPAL => rights.has_on_principal(target.id, code::CONTROL),
            _ => rights.has_on_database(code::CONTROL),
        };
        if controls || rights.is(role::SECURITY_ADMIN) {
            return Ok(target.owner);
        }
        let rows = self.rows(target)?;
        let has_option =
            |own: &Row| rights.is(own.grantee) && own.state == "W" && own.kind.trim_end() == kind;
        match rows.iter().find(|own| has_option(own)) {
            Some(own) => Ok(own.grantee),
            None => match &target.object {
                Some(object) if !rights.sees(object) => {
                    Err(cannot_find("object", &object.object.name))
                }
                _ => Err(no_grantor()),
            },
        }
    }

    fn grantee(&mut self, name: &Name, rights: &Rights, target: &Target) -> Result<i32, Cause> {
        if target.class >= CLASS_SERVER {
            if name.text.eq_ignore_ascii_case("public") {
                return Ok(2);
            }
            let login = LoginToken::named(&self.connection().server, &name.text);
            let login = login.ok_or_else(|| cannot_find("login", &name.text))?;
            return if login.id == 1 { Err(special()) } else { Ok(login.id) };
        }
        let found: &Principal =
            rights.model().principal(&name.text).ok_or_else(|| cannot_find("user", &name.text))?;
        if role::FIXED.contains(&found.id) {
            let text = "Cannot grant, deny or revoke permissions to or from special roles.";
            return Err(Cause::Denied { number: 4617, text: text.to_owned() });
        }
        let is_own = rights.user == Some(found.id) || target.owner == found.id;
        if is_own || matches!(found.id, DBO | 3 | 4) {
            return Err(special());
        }
        Ok(found.id)
    }
}

/// 4613
fn no_grantor() -> Cause {
    Cause::Denied {
        number: 4613,
        text: "Grantor does not have GRANT permission.".to_owned(),
    }
}

/// 15151 of the principals that nothing is granted to
fn special() -> Cause {
    let text = "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, \
                information_schema, sys, or yourself.";
    Cause::Denied { number: 4624, text: text.to_owned() }
}

fn incorrect(near: &str) -> Cause {
    Cause::Query {
        number: 102,
        severity: 15,
        text: format!("Incorrect syntax near '{near}...'."),
    }
}

fn permission_code(class: &str, name: &str) -> Option<&'static str> {
    let name = match name {
        "EXEC" => "EXECUTE",
        "CREATE PROC" => "CREATE PROCEDURE",
        other => other,
    };
    permission::code_of(class, name)
}

/// What a principal that loses the grant option has granted, and so on.
fn granted_by(rows: &[Row], about: &Row) -> Vec<Row> {
    let mut found: Vec<Row> = Vec::new();
    let mut open = vec![about.grantee];
    while let Some(grantor) = open.pop() {
        let is_it = |own: &&Row| {
            own.grantor == grantor && own.kind.trim_end() == about.kind && !found.contains(*own)
        };
        let next: Vec<Row> = rows.iter().filter(is_it).cloned().collect();
        open.extend(next.iter().map(|own| own.grantee));
        found.extend(next);
    }
    found
}

/// The codes of a permission; ALL is those of SQL-92.
fn kinds_of(own: &PermissionName, target: &Target) -> Result<Vec<&'static str>, Cause> {
    if matches!(&*own.name, "ALL" | "ALL PRIVILEGES") {
        let kind = target.object.as_ref().map(|object| object.object.kind.code().to_owned());
        return Ok(match kind.as_deref() {
            None if target.class == CLASS_DATABASE => {
                vec!["BADB", "BALO", "CRDB", "CRDF", "CRFN", "CRPR", "CRRU", "CRTB", "CRVW"]
            }
            Some("P") => vec!["EX"],
            Some("FN") => vec!["EX", "RF"],
            Some(_) => vec!["DL", "IN", "RF", "SL", "UP"],
            None => return Err(incorrect("ALL")),
        });
    }
    let Some(kind) = permission_code(target.class_name, &own.name) else {
        let is_known = ["DATABASE", "SERVER", "OBJECT", "SCHEMA", "USER", "ROLE", "TYPE", "LOGIN"]
            .iter()
            .any(|class| permission_code(class, &own.name).is_some());
        if !is_known {
            return Err(incorrect(&own.name));
        }
        let text =
            format!("Granted or revoked privilege {} is not compatible with object.", own.name);
        return Err(Cause::Denied { number: 4606, text });
    };
    let object = target.object.as_ref().map(|object| object.object.kind.code());
    let is_of_kind = object.is_none_or(|object| permission::is_of_object(object, kind));
    match is_of_kind {
        true => Ok(vec![kind]),
        false => {
            let text =
                format!("Granted or revoked privilege {} is not compatible with object.", own.name);
            Err(Cause::Denied { number: 4606, text })
        }
    }
}

/// The columns that a permission is about; 0 for the object itself.
fn columns_of(
    own: &PermissionName,
    on: Option<&Securable>,
    target: &Target,
) -> Result<Vec<i32>, Cause> {
    let listed = on.map(|on| on.columns.as_slice()).unwrap_or_default();
    let names: Vec<&Name> = own.columns.iter().chain(listed).collect();
    if names.is_empty() {
        return Ok(vec![0]);
    }
    let Some(object) = &target.object else { return Err(incorrect(&own.name)) };
    let kind = permission_code("OBJECT", &own.name).unwrap_or_default();
    if !matches!(kind, "SL" | "UP" | "RF") {
        let text = "Sub-entity lists (such as column or security expressions) cannot be specified \
                    for entity-level permissions.";
        return Err(Cause::Denied { number: 1020, text: text.to_owned() });
    }
    if kind == "RF" {
        return Err(Cause::not_supported("REFERENCES of columns"));
    }
    let columns = match (object.table(), object.module()) {
        (Some(table), _) => table.columns.as_slice(),
        (None, Some(module)) => module.columns.as_slice(),
        _ => &[],
    };
    let id = |name: &Name| {
        let found = columns.iter().find(|own| own.name.eq_ignore_ascii_case(&name.text));
        found.map(|own| own.id).ok_or_else(|| Cause::Denied {
            number: 1911,
            text: format!(
                "Column name '{}' does not exist in the target table or view.",
                name.text
            ),
        })
    };
    names.into_iter().map(id).collect()
}

impl Guarded for AlterAuthorization {
    fn verify(&self, _: &mut Ddl<'_, '_>) -> Result<(), Cause> {
        Ok(())
    }
}

impl Define for AlterAuthorization {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let database = ddl.session().database().clone();
        ddl.in_scope(&database, |ddl| ddl.authorization(self))
    }
}

impl Ddl<'_, '_> {
    fn authorization(&mut self, alter: &AlterAuthorization) -> Defined {
        let name = &*alter.on.name.name.text;
        let database = self.session().database().clone();
        let rights = self.rights(&database)?;
        let model = rights.model().clone();
        match alter.on.class.as_deref() {
            None | Some("OBJECT" | "TYPE") if alter.owner.is_none() => Ok(()),
            None | Some("OBJECT") => {
                let found = self.connection().object(&alter.on.name)?;
                let found = found.ok_or_else(|| cannot_find("object", name))?;
                let owner = self.new_owner(&rights, alter.owner.as_ref())?;
                // An object is its schema's owner's, and no one else's.
                if model.owner_of(&found.object.object) == owner {
                    return Ok(());
                }
                Err(Cause::not_supported("an object with another owner than its schema").into())
            }
            Some("SCHEMA") => {
                let schema = model.schema(name).ok_or_else(|| cannot_find("schema", name))?.id;
                let owner = self.new_owner(&rights, alter.owner.as_ref())?;
                if !rights.has_on_schema(schema, code::TAKE_OWNERSHIP) {
                    return Err(cannot_find("schema", name).into());
                }
                if schema <= 4 || schema >= role::OWNER {
                    let text = format!("Cannot alter the schema '{name}'.");
                    return Err(Cause::Denied { number: 15150, text }.into());
                }
                self.session().set_owner(SCHEMA_OWNER, schema, owner)?;
                // Permissions on the schema go with its owner.
                let target = Target {
                    class: CLASS_SCHEMA,
                    id: schema,
                    class_name: "SCHEMA",
                    object: None,
                    owner,
                };
                let rows = self.rows(&target)?;
                Ok(self.session().change_permissions(&rows, &[])?)
            }
            Some("ROLE") => {
                let found = model.principal(name).filter(|own| own.kind == "R");
                let id = found.ok_or_else(|| cannot_find("role", name))?.id;
                let owner = self.new_owner(&rights, alter.owner.as_ref())?;
                let is_fixed = role::FIXED.contains(&id) || id == role::PUBLIC;
                if is_fixed || !rights.has_on_principal(id, code::TAKE_OWNERSHIP) {
                    return Err(cannot_find("role", name).into());
                }
                Ok(self.session().set_owner(ROLE_OWNER, id, owner)?)
            }
            Some("DATABASE") => self.database_owner(name, alter.owner.as_ref()),
            Some(class) => {
                Err(Cause::not_supported(format!("ALTER AUTHORIZATION ON {class}")).into())
            }
        }
    }

    fn new_owner(&mut self, rights: &Rights, owner: Option<&Name>) -> Result<i32, Cause> {
        let Some(owner) = owner else { return Err(not_permitted()) };
        let found = rights.model().principal(&owner.text);
        let found = found.ok_or_else(|| cannot_find("principal", &owner.text))?;
        match rights.is(found.id) || rights.has_on_principal(found.id, code::IMPERSONATE) {
            true => Ok(found.id),
            false => Err(cannot_find("principal", &owner.text)),
        }
    }

    /// The login that is dbo of a database.
    pub(super) fn database_owner(&mut self, name: &str, owner: Option<&Name>) -> Defined {
        let server = self.connection().server.clone();
        let database = server.instance.database(name);
        let database = database.map_err(|_| cannot_find("database", name))?;
        if !self.connection().is_sysadmin() {
            return Err(not_permitted().into());
        }
        let owner = owner.map(|owner| owner.text.to_string()).unwrap_or_default();
        let login = LoginToken::named(&server, &owner);
        let login = login.ok_or_else(|| cannot_find("principal", &owner))?;
        let model = database.model().map_err(|error| self.connection().engine_cause(&error))?;
        let is_user = |own: &&Principal| own.sid == login.sid && own.id != DBO;
        if model.principals().iter().any(|own| is_user(&own)) {
            let text =
                "The proposed new database owner is already a user or aliased in the database.";
            return Err(Cause::Denied { number: 15110, text: text.to_owned() }.into());
        }
        let change = PrincipalChange { sid: Some(login.sid.clone()), ..PrincipalChange::default() };
        self.in_scope(&database, |ddl| Ok(ddl.session().alter_principal(DBO, &change)?))?;
        Ok(server.instance.set_owner(&database, &login.sid)?)
    }
}
