//! CREATE LOGIN, ALTER LOGIN, DROP LOGIN: with passwords alone.

use extentdb_tsql::syntax::{AdminStatement, Clause, Literal, Part};

use super::Compiled;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::login::{DEFAULT_DATABASE, Login, SA};
use extentdb_connection::password::{PasswordHash, SALT_BYTES, verify_strength};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

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
        if let Some(Part::Name(name)) = clause.after("DEFAULT_DATABASE") {
            self.database = Some(name.text.to_string());
        }
        if clause.has("CHECK_POLICY") && is_off(clause) {
            self.is_policy_checked = false;
        }
        let refused = [
            "SID",
            "CREDENTIAL",
            "WINDOWS",
            "CERTIFICATE",
            "KEY",
            "EXTERNAL",
            "MUST_CHANGE",
            "NAME",
        ];
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
        let exists = run.connection.server.with_logins(|it| it.named(&self.name).is_some());
        let name = &self.name;
        let (number, text) = match (self.verb, exists) {
            (Verb::Create, true) => {
                (15025, format!("The server principal '{name}' already exists."))
            }
            (Verb::Alter | Verb::Drop, false) => (
                15151,
                format!(
                    "Cannot alter the login '{name}', because it does not exist or you do not \
                     have permission."
                ),
            ),
            (Verb::Drop, true) if name.eq_ignore_ascii_case(SA) => {
                (15405, format!("Cannot use the special principal '{name}'."))
            }
            _ => return self.verify_password(),
        };
        Err(Cause::Login { number, text })
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

    fn changed(&self, old: Option<&Login>, salt: [u8; SALT_BYTES]) -> Option<Login> {
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
            }),
            None => Some(Login {
                password: password?,
                database: database.unwrap_or_else(|| DEFAULT_DATABASE.to_owned()),
                is_enabled: true,
                is_local_only: is_weak.unwrap_or(true),
                name: self.name.clone(),
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
        let stored = server.change_logins(|logins| {
            if self.verb == Verb::Drop {
                logins.remove(&self.name);
            } else if let Some(login) = self.changed(logins.named(&self.name), salt) {
                logins.put(login);
            }
        });
        stored.map_err(|text| Cause::Engine { text })?;
        Ok(RowCount::Rows(0))
    }
}
