//! `info`: what a database file, log or backup is and holds.
//!
//! ```text
//! database  boot page and catalog     census  pages counted by type and protection
//! backup    headers and file list       log     log files: header and VLFs
//! text      the same facts for people
//! ```
//!
//! The facts are collected as JSON; the text is made from it, so that neither knows more than the
//! other.

mod backup;
mod census;
mod database;
mod log;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use extentdb_reader::{Error, Origin};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::exit::Exit;
use crate::options::{CommonOptions, FormatArgs};
use crate::terminal::columns;

/// Options of `info`.
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Data files and logs of one database, or the files of one backup
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Do not count pages: reads only headers and the catalog
    #[arg(long)]
    no_pages: bool,
    #[command(flatten)]
    list: backup::List,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
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
    let mut facts = Facts { facts: Map::new(), exit: Exit::Done };
    collect(args, context, &mut facts)?;
    let Facts { facts, exit } = facts;
    if args.format.is_json() {
        output.write_json(&Value::Object(facts))?;
    } else {
        output.write_all(text::render(&facts, columns(output.reader())).as_bytes())?;
    }
    output.finish()?;
    Ok(exit)
}

fn collect(args: &InfoArgs, context: &Context, facts: &mut Facts) -> anyhow::Result<()> {
    if args.list.is_wanted() {
        backup::add(&backup::open(&args.files)?, args.list, context, facts);
        return Ok(());
    }
    let opened = match context.open(&args.files) {
        Ok(opened) => opened,
        Err(Error::Backup(why)) => {
            // Another kind of backup, one set of several, a missing stripe: the headers are there
            // all the same.
            let Ok(media) = backup::open(&args.files) else { return Err(why.into()) };
            backup::add(&media, args.list, context, facts);
            backup::explain(&why, context, facts);
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    if let Origin::Backup(chain) = opened.origin() {
        let is_log = |path: &&PathBuf| opened.logs().iter().any(|log| log.path() == path.as_path());
        let stripes: Vec<PathBuf> =
            args.files.iter().filter(|path| !is_log(path)).cloned().collect();
        backup::add(&backup::open(&stripes)?, args.list, context, facts);
        backup::add_chain(chain, facts);
    }
    if !opened.is_log_only() {
        context.note_unrecovered(&opened);
        database::add(&opened, context, facts);
        if !args.no_pages {
            census::add(opened.source(), context, facts)?;
        }
    }
    if !opened.logs().is_empty() {
        let logs = opened.logs().iter().map(log::facts).collect::<Result<_, _>>()?;
        facts.add("logs", Value::Array(logs));
    }
    Ok(())
}
