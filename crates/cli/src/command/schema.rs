//! `schema`: the CREATE statements of everything in a database.
//!
//! ```text
//! script  statements in an order that runs    table      CREATE TABLE with columns, keys, defaults
//! index   indexes with their options          constraint checks and foreign keys, as ALTER TABLE
//! object  schemas, types, views, procedures …
//! ```
//!
//! What the catalog states in a way that this program does not understand becomes a comment
//! `-- not decoded: …` in its place, and is counted on stderr: the script never pretends to be
//! complete.

mod constraint;
mod index;
mod object;
mod script;
mod table;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::exit::Exit;
use crate::names;
use crate::options::{CommonOptions, FormatArgs};

use script::Script;

/// Options of `schema`.
#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// Data files of one database, or the files of one backup
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Only this table, with its constraints, indexes and triggers
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &SchemaArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = context.output(&args.files)?;
    let database = context.open_database(&args.files)?;
    let catalog = database.catalog();
    let script = match &args.table {
        Some(name) => Script::of_table(catalog, names::find_table(catalog, name)?),
        None => Script::of_database(catalog),
    };
    if args.format.is_json() {
        output.write_json(&script.to_json())?;
    } else {
        output.write_all(script.to_text().as_bytes())?;
    }
    output.finish()?;
    let gaps = script.not_decoded();
    if gaps > 0 {
        context.warn(&format!(
            "{gaps} things could not be decoded: see the comments `-- not decoded`"
        ));
    }
    Ok(context.exit_of(&database, Exit::Done))
}
