//! `serve`: databases over the protocol of SQL Server.
//!
//! Settings come from the configuration file, over them the environment, over both the command
//! line. stdout carries connection strings and a password that was made, stderr the error log.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use extentdb_server::{ErrorLog, Mounted, RunningServer, Settings, start};
use extentdb_session::offline::Database;

use crate::context::Context;
use crate::exit::Exit;
use crate::options::CommonOptions;

/// Folder of the databases when none is given.
const DATA: &str = "extentdb-data";
/// Configuration file in the folder of the databases.
const CONFIGURATION: &str = "mssql.conf";

/// Options of `serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Folder of the databases; made at the first start
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Address to listen on; other machines only reach a server whose sa has a strong password
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
    /// Keep everything in memory and forget it at the end
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// Run this script before connections are taken; its first error ends the start
    #[arg(long, value_name = "FILE")]
    init: Vec<PathBuf>,
    /// Configuration file in the form of mssql.conf
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve the database of data files or of a backup, with ro: in front; several files are
    /// separated by commas. They are only read. May be repeated
    #[arg(long, value_name = "[NAME=]ro:FILE[,FILE...]")]
    attach: Vec<String>,
    /// Print how clients connect
    #[arg(long)]
    print_connection_strings: bool,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb until the server is told to end.
pub(crate) fn run(args: &ServeArgs, context: &Context) -> anyhow::Result<Exit> {
    let log = ErrorLog::stderr();
    let settings = settings(args, &log)?;
    let given = settings.sa_password.clone();
    context.interrupt.leave_to_server();
    let mounted = mounted(&args.attach, context)?;
    let server = start(settings, &mounted, log)?;
    if args.print_connection_strings {
        let password = server.generated_password().or(given.as_deref()).unwrap_or("PASSWORD");
        print_connection_strings(server.address(), password)?;
    } else {
        print_password(&server)?;
    }
    server.wait();
    server.stop()?;
    Ok(Exit::Done)
}

/// The databases of files that are only read.
fn mounted(attach: &[String], context: &Context) -> anyhow::Result<Vec<Mounted>> {
    let open = |given: &String| {
        let parts = given.split_once("ro:");
        let is_one = |(name, _): &(&str, &str)| name.is_empty() || name.ends_with('=');
        let Some((name, files)) = parts.filter(is_one) else {
            bail!(
                "--attach {given}: ro:{given} serves the files to be read; to change them, \
                 CREATE DATABASE ... FOR ATTACH in the server"
            );
        };
        let name = name.strip_suffix('=').map(str::to_owned);
        let files: Vec<PathBuf> = files.split(',').map(PathBuf::from).collect();
        Ok(Mounted { name, files: Database::new(context.open_database(&files)?) })
    };
    attach.iter().map(open).collect()
}

fn settings(args: &ServeArgs, log: &ErrorLog) -> anyhow::Result<Settings> {
    let data = args.data.clone().unwrap_or_else(|| PathBuf::from(DATA));
    let mut settings = Settings::new(data.clone());
    let configuration = args.config.clone().unwrap_or_else(|| data.join(CONFIGURATION));
    let mut warnings = settings.read_file(&configuration)?;
    warnings.extend(settings.read_environment(std::env::vars())?);
    for warning in warnings {
        log.server(&format!("Warning: {}.", warning.0));
    }
    if let Some(data) = &args.data {
        settings.data.clone_from(data);
    }
    if let Some(port) = args.port {
        settings.port = port;
    }
    settings.address = args.address.or(settings.address);
    settings.is_ephemeral = args.ephemeral;
    settings.init.clone_from(&args.init);
    Ok(settings)
}

/// A password that nobody chose is shown once.
fn print_password(server: &RunningServer) -> anyhow::Result<()> {
    if let Some(password) = server.generated_password() {
        writeln!(std::io::stdout(), "password of sa: {password}")?;
    }
    Ok(())
}

fn print_connection_strings(address: SocketAddr, password: &str) -> anyhow::Result<()> {
    let port = address.port();
    let host = match address.ip() {
        ip if ip.is_unspecified() || ip.is_loopback() => "localhost".to_owned(),
        ip => ip.to_string(),
    };
    let mut out = std::io::stdout();
    writeln!(out, "sqlcmd       sqlcmd -S {host},{port} -U sa -P '{password}' -C")?;
    writeln!(
        out,
        "ADO.NET      Server={host},{port};User Id=sa;Password={password};\
         TrustServerCertificate=true"
    )?;
    writeln!(
        out,
        "JDBC         jdbc:sqlserver://{host}:{port};user=sa;password={password};\
         trustServerCertificate=true"
    )?;
    writeln!(
        out,
        "ODBC         Driver={{ODBC Driver 18 for SQL Server}};Server={host},{port};UID=sa;\
         PWD={password};TrustServerCertificate=yes"
    )?;
    writeln!(
        out,
        "Go           sqlserver://sa:{password}@{host}:{port}?TrustServerCertificate=true"
    )?;
    writeln!(out, "SQLAlchemy   mssql+pymssql://sa:{password}@{host}:{port}/master")?;
    out.flush()?;
    Ok(())
}
