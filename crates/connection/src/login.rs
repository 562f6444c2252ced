//! Logins: who may connect, and what a connection knows of its client.
//!
//! ```text
//! one login a line:  name TAB password as hexadecimal TAB database TAB enabled | disabled
//!                    [ TAB local ]
//! ```
//!
//! master keeps them (`sysxlgns`). The text is what a server kept before its master did: its logins
//! are members of sysadmin, as they were.

use std::fmt::Write;

use extentdb_engine::LoginRow;

use crate::password::PasswordHash;

/// The login that every server has.
pub const SA: &str = "sa";
/// Database of a login without one of its own.
pub const DEFAULT_DATABASE: &str = "master";

/// Principal id of the first login after sa; those below are of the product.
const FIRST_LOGIN: i32 = 257;
/// `sysxlgns.status`: may not connect.
const STATUS_DISABLED: i32 = 0x1;
/// `sysxlgns.status`: connects from this machine alone.
const STATUS_LOCAL: i32 = 0x2;

/// Fixed server roles that a login is a member of: bits of `sysxlgns.status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerRoles(i32);

/// A fixed server role: its bit, principal id, name, and what its members may do.
type FixedRole = (ServerRoles, i32, &'static str, &'static [&'static str]);

impl ServerRoles {
    /// Everything.
    pub const SYSADMIN: ServerRoles = ServerRoles(16);
    /// Principal id of the role that every login is a member of.
    pub const PUBLIC_ID: i32 = 2;
    /// The roles.
    pub const FIXED: [FixedRole; 8] = [
        (ServerRoles::SYSADMIN, 3, "sysadmin", &[]),
        (ServerRoles(32), 4, "securityadmin", &["ALLG", "CRLG"]),
        (ServerRoles(64), 5, "serveradmin", &["ALST", "SHDN", "ALSS", "VWSS", "ALRS", "ALHE"]),
        (ServerRoles(128), 6, "setupadmin", &["ALLS"]),
        (ServerRoles(256), 7, "processadmin", &["ALCO", "ALSS", "VWSS"]),
        (ServerRoles(512), 8, "diskadmin", &["ALRS"]),
        (ServerRoles(1024), 9, "dbcreator", &["CRDB", "ALDB"]),
        (ServerRoles(4096), 10, "bulkadmin", &["ADBO"]),
    ];

    /// The fixed role of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<ServerRoles> {
        ServerRoles::FIXED.iter().find(|own| is_name(own.2, name)).map(|own| own.0)
    }

    /// Is this one among them?
    #[must_use]
    pub fn has(self, role: ServerRoles) -> bool {
        self.0 & role.0 == role.0
    }

    /// These and another one.
    #[must_use]
    pub fn with(self, role: ServerRoles) -> ServerRoles {
        ServerRoles(self.0 | role.0)
    }

    /// These without another one.
    #[must_use]
    pub fn without(self, role: ServerRoles) -> ServerRoles {
        ServerRoles(self.0 & !role.0)
    }

    /// Do these roles have a permission on the server?
    #[must_use]
    pub fn grants(self, kind: &str) -> bool {
        self.has(ServerRoles::SYSADMIN)
            || matches!(kind, "VWDB" | "COSQ")
            || ServerRoles::FIXED.iter().any(|own| self.has(own.0) && own.3.contains(&kind))
    }

    fn of_status(status: i32) -> ServerRoles {
        let all = ServerRoles::FIXED.iter().fold(0, |all, own| all | own.0.0);
        ServerRoles(status & all)
    }
}

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
    /// Principal id; 0 of one that is to be stored.
    pub id: i32,
    /// Security identifier, which users of databases have.
    pub sid: Vec<u8>,
    /// Server roles.
    pub roles: ServerRoles,
    /// When it was made and changed; `None` of one that is not stored.
    pub dates: Option<[(i32, u32); 2]>,
}

impl Login {
    /// The login that every server has, without a password that opens it.
    #[must_use]
    pub fn sa() -> Login {
        Login {
            name: SA.to_owned(),
            password: PasswordHash::new("", [0; 4]),
            database: DEFAULT_DATABASE.to_owned(),
            is_enabled: false,
            is_local_only: true,
            id: 1,
            sid: vec![1],
            roles: ServerRoles::SYSADMIN,
            dates: None,
        }
    }

    fn to_row(&self) -> LoginRow {
        let disabled = if self.is_enabled { 0 } else { STATUS_DISABLED };
        let local = if self.is_local_only { STATUS_LOCAL } else { 0 };
        LoginRow {
            id: self.id,
            name: self.name.clone(),
            sid: self.sid.clone(),
            status: self.roles.0 | disabled | local,
            database: self.database.clone(),
            password: self.password.to_bytes(),
            dates: self.dates,
        }
    }

    fn of_row(row: &LoginRow) -> Option<Login> {
        Some(Login {
            name: row.name.clone(),
            password: PasswordHash::from_bytes(&row.password)?,
            database: row.database.clone(),
            is_enabled: row.status & STATUS_DISABLED == 0,
            is_local_only: row.status & STATUS_LOCAL != 0,
            id: row.id,
            sid: row.sid.clone(),
            roles: ServerRoles::of_status(row.status),
            dates: row.dates,
        })
    }
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
        let mut logins = Logins::default();
        text.lines().filter_map(read_line).for_each(|login| logins.put(login));
        logins
    }

    /// What master keeps.
    #[must_use]
    pub fn from_rows(rows: &[LoginRow]) -> Logins {
        Logins { logins: rows.iter().filter_map(Login::of_row).collect() }
    }

    /// The same to be kept.
    #[must_use]
    pub fn to_rows(&self) -> Vec<LoginRow> {
        self.logins.iter().map(Login::to_row).collect()
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
    pub fn put(&mut self, mut login: Login) {
        let old = self.named(&login.name).map(|old| old.id);
        let last = self.logins.iter().map(|own| own.id).max().unwrap_or(0);
        if login.id == 0 {
            login.id = old.unwrap_or_else(|| FIRST_LOGIN.max(last + 1));
        }
        if login.sid.is_empty() {
            login.sid = login.id.to_be_bytes().to_vec();
        }
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
    let is_sa = is_name(&name, SA);
    Some(Login {
        id: if is_sa { 1 } else { 0 },
        sid: if is_sa { vec![1] } else { Vec::new() },
        roles: ServerRoles::SYSADMIN,
        dates: None,
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
                id: i32::from(name == SA),
                sid: if name == SA { vec![1] } else { Vec::new() },
                ..Login::sa()
            });
        }
        logins
    }

    #[test]
    fn logins_survive_their_text() {
        assert_eq!(Logins::from_text(&logins().to_text()), logins());
        assert_eq!(Logins::from_rows(&logins().to_rows()), logins());
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
