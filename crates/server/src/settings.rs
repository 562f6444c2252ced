//! Settings: from the configuration file, over them the environment, over both the command line.
//!
//! | file | environment | what |
//! |---|---|---|
//! | network.tcpport | MSSQL_TCP_PORT | port; 0 = a free one |
//! | network.ipaddress | MSSQL_IP_ADDRESS | address to listen on |
//! | network.forceencryption | | 1: clear text is refused |
//! | network.allowcleartextlogin | | 1: passwords in clear text also from other machines |
//! | network.tlscert, network.tlskey | | PEM files; without them a certificate is made |
//! | memory.memorylimitmb | MSSQL_MEMORY_LIMIT_MB | memory; half of it for pages, a quarter for rows of statements |
//! | filelocation.defaultdatadir | MSSQL_DATA_DIR | folder of the databases |
//! | | MSSQL_SA_PASSWORD, SA_PASSWORD, …_FILE | password of sa at the first start |
//! | | MSSQL_PID | edition that is reported |
//! | extentdb.maxconnections, extentdb.maxconnectionsperlogin, extentdb.logintimeout | | limits |
//! | extentdb.maxmemoryperloginmb | | memory for rows of all statements of a login; more of them go to work files |
//! | extentdb.maxrequestseconds | | a request that runs longer is ended |
//!
//! Known names without a meaning here are accepted; unknown ones are a warning, never a failure.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;
use crate::ini;

/// Port of SQL Server.
const PORT: u16 = 1433;
const MAX_CONNECTIONS: usize = 32_000;
/// Connections that have not logged in: beyond, the oldest is closed.
const MAX_PENDING: usize = 4_096;
const LOGIN_SECONDS: u64 = 15;

/// Variables of the environment that are accepted and change nothing.
const WITHOUT_MEANING: [&str; 13] = [
    "MSSQL_COLLATION",
    "MSSQL_LCID",
    "MSSQL_LOG_DIR",
    "MSSQL_BACKUP_DIR",
    "MSSQL_DUMP_DIR",
    "MSSQL_MASTER_DATA_FILE",
    "MSSQL_MASTER_LOG_FILE",
    "MSSQL_AGENT_ENABLED",
    "MSSQL_ENABLE_HADR",
    "MSSQL_DATABASE",
    "MSSQL_USER",
    "MSSQL_PASSWORD",
    "MSSQL_RPC_PORT",
];
/// Settings of the file that are accepted and change nothing.
const FILE_WITHOUT_MEANING: [&str; 6] =
    ["traceflag.", "control.", "language.", "filelocation.", "sqlagent.", "telemetry."];

/// How a server is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of the databases.
    pub data: PathBuf,
    /// Databases are in memory and gone at the end.
    pub is_ephemeral: bool,
    /// Address to listen on; `None`: the loopback address until sa has a password of its own.
    pub address: Option<IpAddr>,
    /// Port to listen on; 0 = a free one.
    pub port: u16,
    /// Password of sa, set at the first start.
    pub sa_password: Option<String>,
    /// Edition that is reported.
    pub edition: Option<String>,
    /// Clear text is refused.
    pub forces_encryption: bool,
    /// Passwords in clear text are taken from other machines, too.
    pub allows_clear_text_login: bool,
    /// Certificate and key, PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Memory, megabytes.
    pub memory_mb: Option<u64>,
    /// Sessions at most.
    pub connections_max: usize,
    /// Of them those of one login at most.
    pub login_connections_max: usize,
    /// Memory for rows of all statements of one login, megabytes.
    pub login_memory_mb: Option<u64>,
    /// A request that runs longer is ended.
    pub request_seconds_max: Option<u64>,
    /// Connections at most that have not logged in.
    pub pending_max: usize,
    /// A login that is not done by then is closed.
    pub login_seconds: u64,
    /// Scripts to run before connections are taken.
    pub init: Vec<PathBuf>,
}

/// Something that was given and has no meaning here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(pub String);

impl Settings {
    /// Those of a server in a folder.
    #[must_use]
    pub fn new(data: impl Into<PathBuf>) -> Settings {
        Settings {
            data: data.into(),
            is_ephemeral: false,
            address: None,
            port: PORT,
            sa_password: None,
            edition: None,
            forces_encryption: false,
            allows_clear_text_login: false,
            certificate: None,
            memory_mb: None,
            connections_max: MAX_CONNECTIONS,
            login_connections_max: MAX_CONNECTIONS,
            login_memory_mb: None,
            request_seconds_max: None,
            pending_max: MAX_PENDING,
            login_seconds: LOGIN_SECONDS,
            init: Vec::new(),
        }
    }

    /// Takes the settings of a file, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or a value is not one that its setting takes.
    pub fn read_file(&mut self, path: &Path) -> Result<Vec<Warning>, Error> {
        let Some(text) = files::read(path)? else { return Ok(Vec::new()) };
        let entries = ini::read(&text).map_err(|line| Error::Setting {
            name: format!("{}:{line}", path.display()),
            what: "no section and no setting".to_owned(),
        })?;
        let mut warnings = Vec::new();
        for entry in entries {
            if !self.set(&entry.name, &entry.value)? {
                warnings.push(Warning(format!("{}: {} is not known", path.display(), entry.name)));
            }
        }
        Ok(warnings)
    }

    /// Takes the settings of the environment.
    ///
    /// # Errors
    /// A value is not one that its setting takes.
    pub fn read_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Vec<Warning>, Error> {
        let mut warnings = Vec::new();
        for (name, value) in variables {
            let Some((name, value)) = secret(name, value)? else { continue };
            let setting = match name.as_str() {
                "MSSQL_TCP_PORT" => "network.tcpport",
                "MSSQL_IP_ADDRESS" => "network.ipaddress",
                "MSSQL_MEMORY_LIMIT_MB" => "memory.memorylimitmb",
                "MSSQL_DATA_DIR" => "filelocation.defaultdatadir",
                "MSSQL_SA_PASSWORD" => {
                    self.sa_password = Some(value);
                    continue;
                }
                "SA_PASSWORD" => {
                    self.sa_password.get_or_insert(value);
                    continue;
                }
                "MSSQL_PID" => {
                    self.edition = Some(edition(&value));
                    continue;
                }
                known if WITHOUT_MEANING.contains(&known) => {
                    warnings.push(Warning(format!("{known} has no effect")));
                    continue;
                }
                unknown if unknown.starts_with("MSSQL_") => {
                    warnings.push(Warning(format!("{unknown} is not known")));
                    continue;
                }
                _ => continue,
            };
            self.set(setting, &value)?;
        }
        Ok(warnings)
    }

    /// Sets one by its name; false when it is not known.
    fn set(&mut self, name: &str, value: &str) -> Result<bool, Error> {
        match name {
            "network.tcpport" => self.port = number(name, value)?,
            "network.ipaddress" => self.address = Some(number(name, value)?),
            "network.forceencryption" => self.forces_encryption = switch(value),
            "network.allowcleartextlogin" => self.allows_clear_text_login = switch(value),
            "network.tlscert" => self.certificate_mut().0 = PathBuf::from(value),
            "network.tlskey" => self.certificate_mut().1 = PathBuf::from(value),
            "memory.memorylimitmb" => self.memory_mb = Some(number(name, value)?),
            "filelocation.defaultdatadir" => self.data = PathBuf::from(value),
            "extentdb.maxconnections" => self.connections_max = number(name, value)?,
            "extentdb.maxconnectionsperlogin" => self.login_connections_max = number(name, value)?,
            "extentdb.maxmemoryperloginmb" => self.login_memory_mb = Some(number(name, value)?),
            "extentdb.maxrequestseconds" => {
                self.request_seconds_max = Some(number(name, value)?).filter(|it| *it > 0);
            }
            "extentdb.logintimeout" => self.login_seconds = number(name, value)?,
            other => return Ok(FILE_WITHOUT_MEANING.iter().any(|own| other.starts_with(own))),
        }
        Ok(true)
    }

    fn certificate_mut(&mut self) -> &mut (PathBuf, PathBuf) {
        self.certificate.get_or_insert_with(Default::default)
    }
}

/// A variable, or the content of the file that `NAME_FILE` names.
fn secret(name: String, value: String) -> Result<Option<(String, String)>, Error> {
    let is_ours = name.starts_with("MSSQL_") || name.starts_with("SA_PASSWORD");
    match name.strip_suffix("_FILE").filter(|_| is_ours) {
        Some("MSSQL_MASTER_DATA" | "MSSQL_MASTER_LOG") | None => {
            Ok(is_ours.then_some((name, value)))
        }
        Some(stem) => {
            let text = files::read(Path::new(&value))?;
            Ok(text.map(|text| (stem.to_owned(), text.trim_end().to_owned())))
        }
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Error> {
    let what = format!("{value} is no value of it");
    value.parse().map_err(|_| Error::Setting { name: name.to_owned(), what })
}

fn switch(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// The edition that a product id means; a key or another text is Developer.
fn edition(product_id: &str) -> String {
    let name = match product_id.to_lowercase().as_str() {
        "evaluation" => "Enterprise Evaluation Edition",
        "express" => "Express Edition",
        "web" => "Web Edition",
        "standard" => "Standard Edition",
        "enterprise" | "enterprisecore" => "Enterprise Edition",
        _ => "Developer Edition",
    };
    format!("{name} (64-bit)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_environment_is_over_the_file_and_unknown_names_are_warnings() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mssql.conf");
        std::fs::write(&path, "[network]\ntcpport = 1500\nipaddress=127.0.0.2\nodd = 1\n").unwrap();
        let mut settings = Settings::new("/data");
        let warnings = settings.read_file(&path).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(settings.port, 1500);
        let given = variables(&[
            ("ACCEPT_EULA", "Y"),
            ("MSSQL_TCP_PORT", "1600"),
            ("MSSQL_PID", "Express"),
            ("MSSQL_ODD", "x"),
            ("PATH", "/bin"),
        ]);
        let warnings = settings.read_environment(given.into_iter()).unwrap();
        assert_eq!(warnings, [Warning("MSSQL_ODD is not known".to_owned())]);
        assert_eq!(settings.port, 1600);
        assert_eq!(settings.address, Some("127.0.0.2".parse().unwrap()));
        assert_eq!(settings.edition.as_deref(), Some("Express Edition (64-bit)"));
    }

    #[test]
    fn a_secret_may_be_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "Pa$$word1\n").unwrap();
        let mut settings = Settings::new("/data");
        let given = variables(&[("MSSQL_SA_PASSWORD_FILE", path.to_str().unwrap())]);
        settings.read_environment(given.into_iter()).unwrap();
        assert_eq!(settings.sa_password.as_deref(), Some("Pa$$word1"));
    }

    #[test]
    fn a_port_that_is_none_is_refused_by_name() {
        let given = variables(&[("MSSQL_TCP_PORT", "many")]);
        let refused = Settings::new("/data").read_environment(given.into_iter()).unwrap_err();
        assert_eq!(refused.to_string(), "network.tcpport: many is no value of it");
    }
}
