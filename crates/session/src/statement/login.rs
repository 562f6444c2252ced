//! CREATE LOGIN, ALTER LOGIN, DROP LOGIN: with passwords alone.
//!
//! A new login is a member of no server role: it may connect, and use the databases that have a
//! user of it.

use extentdb_tsql::syntax::{AdminStatement, Clause, Literal, Part};

use super::Compiled;
use crate::principal::server_role::verify_kept;
use crate::principal::{cannot, not_permitted};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::login::{DEFAULT_DATABASE, Login, SA, ServerRoles};
use extentdb_connection::password::{PasswordHash, SALT_BYTES, verify_strength};
use extentdb_connection::security::permission::code;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// Bytes of a security identifier.
const SID_BYTES: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Create,
    Alter,
    Drop,
}

struct LoginStep {
    verb: Verb,
    name: String,
    password: Option<String>,
    old_password: Option<String>,
    /// ALTER LOGIN … WITH NAME.
    new_name: Option<String>,
    sid: Option<Vec<u8>>,
    database: Option<String>,
    is_enabled: Option<bool>,
    is_policy_checked: bool,
}

pub(super) fn compile(admin: &AdminStatement, name: String) -> Compiled {
    let verb = match admin.head {
        "CREATE LOGIN" => Verb::Create,
        "ALTER LOGIN" => Verb::Alter,
        _ => Verb::Drop,
    };
    let mut step = LoginStep {
        verb,
        name,
        password: None,
        old_password: None,
        new_name: None,
        sid: None,
        database: None,
        is_enabled: None,
        is_policy_checked: true,
    };
    step.read(&admin.clause)?;
    if verb == Verb::Create && step.password.is_none() {
        return Err(Cause::not_supported("a login without a password"));
    }
    Ok(Box::new(step))
}

impl LoginStep {
    fn read(&mut self, clause: &Clause) -> Result<(), Cause> {
        if clause.has("ENABLE") {
            self.is_enabled = Some(true);
        }
        if clause.has("DISABLE") {
            self.is_enabled = Some(false);
        }
        if let Some(password) = clause.after("PASSWORD") {
            let Part::Literal(Literal::String(text)) = password else {
                return Err(Cause::not_supported("a password that is hashed already"));
            };
            self.password = Some(text.value.to_string());
        }
        if let Some(Part::Literal(Literal::String(text))) = clause.after("OLD_PASSWORD") {
            self.old_password = Some(text.value.to_string());
        }
        if let Some(Part::Name(name)) = clause.after("NAME") {
            self.new_name = Some(name.text.to_string());
        }
        if let Some(Part::Literal(Literal::Binary(bytes))) = clause.after("SID") {
            self.sid = Some(bytes.to_vec());
        }
        if let Some(Part::Name(name)) = clause.after("DEFAULT_DATABASE") {
            self.database = Some(name.text.to_string());
        }
        if clause.has("CHECK_POLICY") && is_off(clause) {
            self.is_policy_checked = false;
        }
        let refused = ["CREDENTIAL", "WINDOWS", "CERTIFICATE", "KEY", "EXTERNAL", "MUST_CHANGE"];
        if let Some(word) = refused.iter().find(|word| clause.has(word)) {
            return Err(Cause::not_supported(format!("{word} of a login")));
        }
        let inner: Vec<&Clause> = clause
            .parts
            .iter()
            .filter_map(|part| if let Part::Clause(inner) = part { Some(inner) } else { None })
            .collect();
        inner.into_iter().try_for_each(|inner| self.read(inner))
    }

    fn verify(&self, run: &Run<'_>) -> Result<(), Cause> {
        self.verify_permission(run)?;
        if self.verb == Verb::Create || self.new_name.is_some() {
            verify_kept(run)?;
        }
        let exists = run.connection.server.with_logins(|it| it.named(&self.name).is_some());
        let name = &self.name;
        let (number, text) = match (self.verb, exists) {
            (Verb::Create, true) => {
                (15025, format!("The server principal '{name}' already exists."))
            }
            (Verb::Alter, false) => return Err(cannot("alter", "login", name)),
            (Verb::Drop, false) => return Err(cannot("drop", "login", name)),
            (Verb::Drop, true) if name.eq_ignore_ascii_case(SA) => {
                (15405, format!("Cannot use the special principal '{name}'."))
            }
            _ => return self.verify_password(),
        };
        Err(Cause::Login { number, text })
    }

    /// A login changes its own password where it says the old one; all else needs ALTER ANY LOGIN,
    /// and what is about a member of sysadmin, membership of that.
    fn verify_permission(&self, run: &Run<'_>) -> Result<(), Cause> {
        let connection = &run.connection;
        if connection.is_sysadmin() {
            return Ok(());
        }
        let own = connection.acting_login();
        let is_own = own.is_some_and(|own| own.name.eq_ignore_ascii_case(&self.name));
        let is_old = self.old_password.as_ref().is_some_and(|old| {
            let is_it = |login: &Login| login.password.is(old);
            connection.server.with_logins(|it| it.named(&self.name).is_some_and(is_it))
        });
        let changes_more = self.database.is_some()
            || self.is_enabled.is_some()
            || self.new_name.is_some()
            || self.sid.is_some();
        if self.verb == Verb::Alter && is_own && is_old && !changes_more {
            return Ok(());
        }
        let is_sysadmin = connection.server.with_logins(|logins| {
            logins.named(&self.name).is_some_and(|it| it.roles.has(ServerRoles::SYSADMIN))
        });
        let may = connection.has_on_server(code::ALTER_ANY_LOGIN)
            || self.verb == Verb::Create && connection.has_on_server("CRLG");
        match (may && !is_sysadmin, self.verb) {
            (true, _) => Ok(()),
            (false, Verb::Create) => Err(not_permitted()),
            (false, Verb::Alter) => Err(cannot("alter", "login", &self.name)),
            (false, Verb::Drop) => Err(cannot("drop", "login", &self.name)),
        }
    }

    fn verify_password(&self) -> Result<(), Cause> {
        let Some(password) = self.password.as_ref().filter(|_| self.is_policy_checked) else {
            return Ok(());
        };
        verify_strength(&self.name, password).map_err(|weakness| Cause::Login {
            number: 15118,
            text: format!(
                "Password validation failed. The password does not meet the policy requirements \
                 because it is not complex enough: {weakness}."
            ),
        })
    }

    fn changed(
        &self,
        old: Option<&Login>,
        salt: [u8; SALT_BYTES],
        new_sid: Vec<u8>,
    ) -> Option<Login> {
        let password = self.password.as_ref().map(|text| PasswordHash::new(text, salt));
        let database = self.database.clone();
        let is_weak = self.password.as_ref().map(|text| verify_strength(&self.name, text).is_err());
        match old {
            Some(old) => Some(Login {
                password: password.unwrap_or_else(|| old.password.clone()),
                database: database.unwrap_or_else(|| old.database.clone()),
                is_enabled: self.is_enabled.unwrap_or(old.is_enabled),
                is_local_only: is_weak.unwrap_or(old.is_local_only),
                name: old.name.clone(),
                id: old.id,
                sid: old.sid.clone(),
                roles: old.roles,
                dates: old.dates,
            }),
            None => Some(Login {
                password: password?,
                database: database.unwrap_or_else(|| DEFAULT_DATABASE.to_owned()),
                is_enabled: true,
                is_local_only: is_weak.unwrap_or(true),
                name: self.name.clone(),
                id: 0,
                sid: self.sid.clone().unwrap_or(new_sid),
                roles: ServerRoles::default(),
                dates: None,
            }),
        }
    }
}

fn is_off(clause: &Clause) -> bool {
    let is_off = |inner: &Clause| inner.has("OFF");
    clause.has("OFF")
        || clause.parts.iter().any(|part| matches!(part, Part::Clause(inner) if is_off(inner)))
}

impl Step for LoginStep {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        self.verify(run)?;
        let server = run.connection.server.clone();
        let mut salt = [0; SALT_BYTES];
        server.hooks.random(&mut salt);
        let mut sid = vec![0; SID_BYTES];
        server.hooks.random(&mut sid);
        // Where random bytes are none, the identifiers still differ.
        let last = server.with_logins(|logins| logins.all().iter().map(|it| it.id).max());
        sid.iter_mut().zip(last.unwrap_or(0).to_le_bytes()).for_each(|(own, byte)| *own ^= byte);
        let stored = server.change_logins(|logins| {
            if self.verb == Verb::Drop {
                logins.remove(&self.name);
            } else if let Some(mut login) = self.changed(logins.named(&self.name), salt, sid) {
                if let Some(name) = &self.new_name {
                    logins.remove(&self.name);
                    login.name.clone_from(name);
                }
                logins.put(login);
            }
        });
        stored.map_err(|text| Cause::Engine { text })?;
        Ok(RowCount::Rows(0))
    }
}
