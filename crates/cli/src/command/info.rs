//! `info`: what a database file, log or backup is and holds.
//!
//! ```text
//! database  boot page and catalogue     census  pages counted by type and protection
//! backup    headers and file list       log     log files: header and VLFs
//! text      the same facts for people
//! ```
//!
//! The facts are collected as JSON; the text is made from it, so that neither knows more than the other.

mod backup;
mod census;
mod database;
mod log;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use extentdb_reader::Origin;
use serde_json::{Map, Value};

use crate::cli::{Common, FormatArgs};
use crate::context::Context;
use crate::exit::Exit;

/// Options of `info`.
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Data files and logs of one database, or the files of one backup
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Do not count pages: reads only headers and the catalogue
    #[arg(long)]
    no_pages: bool,
    #[command(flatten)]
    list: backup::List,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Facts by name, and how the command ends because of them.
struct Facts {
    facts: Map<String, Value>,
    exit: Exit,
}

impl Facts {
    fn add(&mut self, name: &str, value: Value) {
        self.facts.insert(name.to_owned(), value);
    }

    fn end(&mut self, exit: Exit) {
        self.exit = self.exit.and(exit);
    }
}

/// Runs the verb.
pub(crate) fn run(args: &InfoArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = context.output(&args.files)?;
    let opened = context.open(&args.files)?;
    args.list.refuse_without_backup(&opened)?;
    let mut facts = Facts { facts: Map::new(), exit: Exit::Done };
    if let Origin::Backup(info) = opened.origin() {
        facts.add("backup", backup::facts(info));
    }
    if !opened.is_log_only() {
        database::add(&opened, context, &mut facts);
        if !args.no_pages {
            census::add(opened.source(), context, &mut facts)?;
        }
    }
    if !opened.logs().is_empty() {
        let logs = opened.logs().iter().map(log::facts).collect::<Result<_, _>>()?;
        facts.add("logs", Value::Array(logs));
    }
    let Facts { facts, exit } = facts;
    if args.format.is_json() {
        output.write_json(&Value::Object(facts))?;
    } else {
        output.write_all(text::render(&facts).as_bytes())?;
    }
    output.finish()?;
    Ok(exit)
}
