//! `sql`: a client in the manner of sqlcmd.
//!
//! ```text
//! lines: -Q, -q, -i, stdin ─▶ command (GO, :r, …) ─▶ batch ─▶ crate client ─▶ show ─▶ grid
//!                               quoting, variables
//! ```
//!
//! What sqlcmd has and this has not is refused by its name, never passed over.

mod command;
mod prompt;
mod quoting;
mod session;
mod show;
mod variables;

use std::io::{self, BufRead, BufWriter, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{ArgAction, Args};
use extentdb_client::{Connection, Options, Trust};

use crate::context::Context;
use crate::exit::Exit;
use crate::options::CommonOptions;
use crate::output::{Existing, Output};
use crate::terminal;

use command::OnError;
use session::{Flow, Session};
use show::ShowStyle;

/// Port of a server without another one.
const PORT: u16 = 1433;

/// Options of `sql`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct SqlArgs {
    /// Server: host, host,port or tcp:host,port
    #[arg(short = 'S', value_name = "SERVER", env = "SQLCMDSERVER", default_value = "localhost")]
    server: String,
    /// Login
    #[arg(short = 'U', value_name = "LOGIN", env = "SQLCMDUSER", default_value = "sa")]
    user: String,
    /// Password; in SQLCMDPASSWORD others do not see it
    #[arg(short = 'P', value_name = "PASSWORD", env = "SQLCMDPASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Database
    #[arg(short = 'd', value_name = "DATABASE", env = "SQLCMDDBNAME")]
    database: Option<String>,
    /// Run this, and end
    #[arg(short = 'Q', value_name = "QUERY", conflicts_with_all = ["first", "inputs"])]
    query: Option<String>,
    /// Run this first
    #[arg(short = 'q', value_name = "QUERY", conflicts_with = "inputs")]
    first: Option<String>,
    /// Run these scripts, and end
    #[arg(short = 'i', value_name = "FILE", value_delimiter = ',')]
    inputs: Vec<PathBuf>,
    /// Write results to a file
    #[arg(short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// End with exit code 1 at the first error
    #[arg(short = 'b')]
    ends_at_error: bool,
    /// -1: no names above the rows
    #[arg(short = 'h', value_name = "N", allow_hyphen_values = true)]
    headers: Option<i32>,
    /// Values without spaces around them
    #[arg(short = 'W')]
    is_trimmed: bool,
    /// What stands between columns
    #[arg(short = 's', value_name = "TEXT", allow_hyphen_values = true)]
    separator: Option<String>,
    /// A variable: NAME=VALUE. May be repeated
    #[arg(short = 'v', value_name = "NAME=VALUE", num_args = 1..)]
    variables: Vec<String>,
    /// Seconds to wait for the login
    #[arg(short = 'l', value_name = "SECONDS", default_value_t = 15,
        value_parser = clap::value_parser!(u16).range(1..))]
    timeout: u16,
    /// Trust the server, whatever its certificate
    #[arg(short = 'C', conflicts_with = "certificates")]
    trusts_all: bool,
    /// Trust servers whose certificate one of these has signed, or is one of these (PEM)
    #[arg(long = "ca", value_name = "FILE")]
    certificates: Option<PathBuf>,
    /// Integrated authentication, which is refused: there is none
    #[arg(short = 'E', hide = true)]
    is_integrated: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    #[arg(skip)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &SqlArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = Output::open(args.output.as_deref(), &args.inputs, Existing::Replace)?;
    let style = ShowStyle {
        separator: args.separator.clone().unwrap_or_else(|| " ".to_owned()),
        has_head: args.has_head()?,
        is_trimmed: args.is_trimmed,
        width: terminal::columns(output.reader()),
    };
    let connection = Connection::open(&args.options()?)
        .with_context(|| format!("login {} at {}", args.user, args.server))?;
    // At a prompt a signal ends at once: nobody looks while a line is awaited.
    if !args.is_prompting() {
        context.interrupt.stop_gracefully();
    }
    let done = {
        let mut buffered = BufWriter::new(&mut output);
        let session = Session::new(connection, style, &context.interrupt, &mut buffered);
        args.work(session, context)
    };
    if done.is_ok() {
        output.finish()?;
    } else if let Some(path) = output.finish_incomplete()? {
        context.warn(&format!("the results so far are in {}", path.display()));
    }
    done.map(|exit| context.interrupt.stopped().unwrap_or(exit))
}

impl SqlArgs {
    fn is_prompting(&self) -> bool {
        self.query.is_none() && self.inputs.is_empty() && io::stdin().is_terminal()
    }

    fn has_head(&self) -> anyhow::Result<bool> {
        match self.headers {
            None | Some(0) => Ok(true),
            Some(-1) => Ok(false),
            Some(other) => {
                bail!("not supported: -h {other}: names are shown once, or with -1 never")
            }
        }
    }

    fn options(&self) -> anyhow::Result<Options> {
        if self.is_integrated {
            bail!("not supported: -E: there is no integrated authentication; -U and -P log in");
        }
        let Some(password) = &self.password else {
            bail!("which password? -P PASSWORD, or the environment variable SQLCMDPASSWORD");
        };
        let (host, port) = host_and_port(&self.server)?;
        let trust = match &self.certificates {
            Some(path) => Trust::Signed(
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?,
            ),
            None if self.trusts_all => Trust::Any,
            None => Trust::Local,
        };
        Ok(Options {
            port,
            database: self.database.clone().unwrap_or_default(),
            workstation: std::env::var("HOSTNAME").unwrap_or_default(),
            timeout: Duration::from_secs(self.timeout.into()),
            trust,
            ..Options::new(&host, &self.user, password)
        })
    }

    /// Runs what was asked for.
    fn work(&self, mut session: Session<'_>, context: &Context) -> anyhow::Result<Exit> {
        if self.ends_at_error {
            session.on_error = OnError::Exit;
        }
        for variable in &self.variables {
            let Some((name, value)) = variable.split_once('=') else {
                bail!("-v {variable}: NAME=VALUE is needed");
            };
            session.variables.set(name, value)?;
        }
        let given = self.query.as_ref().or(self.first.as_ref());
        let mut flow = Flow::Next;
        if let Some(text) = given {
            flow = session.text(text, 0)?;
            flow = if flow == Flow::Next { session.go(1)? } else { flow };
        }
        for path in &self.inputs {
            if flow == Flow::Next {
                flow = session.file(path, 0)?;
            }
            if flow == Flow::Next {
                flow = session.go(1)?;
            }
        }
        if flow == Flow::Next && self.query.is_none() && self.inputs.is_empty() {
            if self.is_prompting() {
                prompt::run(&mut session, context)?;
            } else {
                script(&mut session)?;
            }
        }
        let failed = session.has_failed && session.on_error == OnError::Exit;
        Ok(if failed { Exit::Failed } else { Exit::Done })
    }
}

/// Lines of stdin; what no GO runs is run at the end.
fn script(session: &mut Session<'_>) -> anyhow::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line.context("cannot read stdin")?;
        if session.line(&line, 0)? == Flow::End {
            return Ok(());
        }
    }
    session.go(1).map(|_| ())
}

/// `tcp:host,port`
fn host_and_port(server: &str) -> anyhow::Result<(String, u16)> {
    let address = server.strip_prefix("tcp:").unwrap_or(server);
    if address.contains('\\') {
        bail!("not supported: {server}: instances by name; give host,port");
    }
    if ["np:", "lpc:", "admin:"].iter().any(|other| address.starts_with(other)) {
        bail!("not supported: {server}: only tcp");
    }
    let (host, port) = match address.split_once(',') {
        None => (address, PORT),
        Some((host, port)) => match port.trim().parse() {
            Ok(port) => (host, port),
            Err(_) => bail!("{server}: {port} is no port"),
        },
    };
    let host = match host.trim() {
        "" | "." | "(local)" => "localhost",
        host => host,
    };
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_host_and_port() {
        let cases = [
            ("localhost", ("localhost", 1433)),
            ("tcp:db.example,14330", ("db.example", 14330)),
            (".", ("localhost", 1433)),
            ("::1, 1500", ("::1", 1500)),
        ];
        for (server, (host, port)) in cases {
            assert_eq!(host_and_port(server).unwrap(), (host.to_owned(), port));
        }
        for (server, why) in [
            ("host\\name", "not supported: host\\name: instances by name; give host,port"),
            ("np:host", "not supported: np:host: only tcp"),
            ("host,x", "host,x: x is no port"),
        ] {
            assert_eq!(host_and_port(server).unwrap_err().to_string(), why);
        }
    }
}
