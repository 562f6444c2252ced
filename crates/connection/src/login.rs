//! Logins: who may connect, and what a connection knows of its client.
//!
//! ```text
//! one login a line:  name TAB password as hexadecimal TAB database TAB enabled | disabled
//!                    [ TAB local ]
//! ```
//!
//! Every login is a member of sysadmin: permissions are not there yet, and a server without them
//! must not pretend.

use std::fmt::Write;

use crate::password::PasswordHash;

/// The login that every server has.
pub const SA: &str = "sa";
/// Database of a login without one of its own.
pub const DEFAULT_DATABASE: &str = "master";

/// A login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Its name; the case of letters does not count.
    pub name: String,
    /// Its password.
    pub password: PasswordHash,
    /// Database that its sessions begin in.
    pub database: String,
    /// May it connect?
    pub is_enabled: bool,
    /// Its password was made by the server, or is weak: it opens nothing from another machine.
    pub is_local_only: bool,
}

/// All logins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logins {
    logins: Vec<Login>,
}

/// Why a login fails. The client is told none of this; the log is, by the state of 18456.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// State 5.
    #[error("Could not find a login matching the name provided.")]
    Unknown,
    /// State 7.
    #[error("The account is disabled.")]
    Disabled,
    /// State 8.
    #[error("Password did not match that for the login provided.")]
    Password,
}

impl Refusal {
    /// State of message 18456 in the log.
    #[must_use]
    pub fn state(self) -> u8 {
        match self {
            Refusal::Unknown => 5,
            Refusal::Disabled => 7,
            Refusal::Password => 8,
        }
    }
}

/// What a connection knows of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are those of LOGIN7 and of CONNECTIONPROPERTY")]
pub struct ClientInfo {
    pub login: String,
    pub host: String,
    pub application: String,
    pub library: String,
    pub process_id: u32,
    /// Empty for that of the login.
    pub database: String,
    /// Does the login fail when the database cannot be used?
    pub requires_database: bool,
    pub is_odbc: bool,
    pub packet_bytes: u32,
    /// `None` where there is no network.
    pub client_address: Option<String>,
    pub local_address: Option<String>,
    pub local_port: Option<u16>,
    pub is_encrypted: bool,
}

impl ClientInfo {
    /// A client of this name in this process.
    #[must_use]
    pub fn local(login: &str) -> ClientInfo {
        ClientInfo {
            login: login.to_owned(),
            host: String::new(),
            application: String::new(),
            library: String::new(),
            process_id: 0,
            database: String::new(),
            requires_database: true,
            is_odbc: true,
            packet_bytes: 4096,
            client_address: None,
            local_address: None,
            local_port: None,
            is_encrypted: false,
        }
    }
}

impl Logins {
    /// Reads what [`Logins::to_text`] wrote; a line that is none is passed over.
    #[must_use]
    pub fn from_text(text: &str) -> Logins {
        Logins { logins: text.lines().filter_map(read_line).collect() }
    }

    /// All logins as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for login in &self.logins {
            let state = if login.is_enabled { "enabled" } else { "disabled" };
            let place = if login.is_local_only { "\tlocal" } else { "" };
            let password = hexadecimal(&login.password.to_bytes());
            // A string takes everything.
            let _ =
                writeln!(text, "{}\t{password}\t{}\t{state}{place}", login.name, login.database);
        }
        text
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Login] {
        &self.logins
    }

    /// A login by its name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Login> {
        self.logins.iter().find(|login| is_name(&login.name, name))
    }

    /// The same, to be changed.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut Login> {
        self.logins.iter_mut().find(|login| is_name(&login.name, name))
    }

    /// Adds a login, or replaces the one of its name.
    pub fn put(&mut self, login: Login) {
        self.remove(&login.name);
        self.logins.push(login);
    }

    /// Removes a login; false when there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.logins.len();
        self.logins.retain(|login| !is_name(&login.name, name));
        self.logins.len() < before
    }

    /// The login that a name and password open.
    ///
    /// # Errors
    /// Why they open none. An unknown name takes as long as a wrong password.
    pub fn verify(&self, name: &str, password: &str) -> Result<&Login, Refusal> {
        let Some(login) = self.named(name) else {
            let _ = PasswordHash::new(password, [0; 4]).is(password);
            return Err(Refusal::Unknown);
        };
        if !login.password.is(password) {
            return Err(Refusal::Password);
        }
        if login.is_enabled { Ok(login) } else { Err(Refusal::Disabled) }
    }
}

fn is_name(own: &str, other: &str) -> bool {
    own.to_lowercase() == other.to_lowercase()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_line(line: &str) -> Option<Login> {
    let mut fields = line.split('\t');
    let name = fields.next().filter(|name| !name.is_empty())?.to_owned();
    let digits = fields.next()?;
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    Some(Login {
        name,
        password: PasswordHash::from_bytes(&bytes?)?,
        database: fields.next().unwrap_or(DEFAULT_DATABASE).to_owned(),
        is_enabled: fields.next() != Some("disabled"),
        is_local_only: fields.next() == Some("local"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logins() -> Logins {
        let mut logins = Logins::default();
        for (name, is_enabled) in [("sa", true), ("Anna", false)] {
            logins.put(Login {
                name: name.to_owned(),
                password: PasswordHash::new("secret", [9, 8, 7, 6]),
                database: "master".to_owned(),
                is_enabled,
                is_local_only: is_enabled,
            });
        }
        logins
    }

    #[test]
    fn logins_survive_their_text() {
        assert_eq!(Logins::from_text(&logins().to_text()), logins());
        assert_eq!(Logins::from_text("nonsense\n\tx\n"), Logins::default());
    }

    #[test]
    fn a_refusal_says_why_to_the_log() {
        let logins = logins();
        assert!(logins.verify("SA", "secret").is_ok());
        assert_eq!(logins.verify("sa", "Secret"), Err(Refusal::Password));
        assert_eq!(logins.verify("bob", "secret"), Err(Refusal::Unknown));
        assert_eq!(logins.verify("anna", "secret"), Err(Refusal::Disabled));
    }
}
