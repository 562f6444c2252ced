//! The verbs, one file each.

use std::ffi::OsString;

use anyhow::bail;

use crate::cli::{self, Verb};
use crate::context::Context;
use crate::exit::Exit;
use crate::inputs;
use crate::scratch;
use crate::suggest::did_you_mean;

pub(crate) mod check;
pub(crate) mod damage;
#[cfg(feature = "server")]
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod info;
pub(crate) mod log;
pub(crate) mod make;
pub(crate) mod manual;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod schema;
#[cfg(feature = "server")]
pub(crate) mod serve;
#[cfg(feature = "server")]
pub(crate) mod sql;
pub(crate) mod tables;

/// Verbs that are planned and not here yet.
const LATER: &[&str] = &["deleted", "diff", "doctor", "lab", "map", "recover", "repair", "walk"];

/// Runs a verb.
pub(crate) fn run(verb: Verb) -> anyhow::Result<Exit> {
    if let Verb::Other(words) = &verb {
        return not_a_verb(words);
    }
    let context = Context::new(verb.common().cloned().unwrap_or_default())?;
    let done = with_inputs(verb, &context);
    match context.interrupt.stopped() {
        // What failed because of a signal is an interruption: a child that got the signal, too, for
        // one.
        Some(exit) if done.is_err() => scratch::end_process(exit),
        _ => done,
    }
}

/// Makes files of the inputs, which are as long as the verb runs.
fn with_inputs(mut verb: Verb, context: &Context) -> anyhow::Result<Exit> {
    // `check` finds the siblings of each database by itself; the last word of `page` is a page,
    // that of `query` a query.
    let has_siblings =
        !matches!(verb, Verb::Check(_) | Verb::Log(_)) && !context.common.no_siblings;
    let last = match &mut verb {
        Verb::Page(args) => args.files.pop(),
        Verb::Query(args) if args.script.is_none() => args.files.pop(),
        _ => None,
    };
    let mut spooled = None;
    let takes_folders = matches!(verb, Verb::Check(_));
    if let Some(files) = verb.inputs_mut() {
        if takes_folders {
            *files = inputs::expand_folders(files, context)?;
        }
        spooled = inputs::spool(files, context)?;
        if has_siblings {
            inputs::add_siblings(files, context);
        }
        files.extend(last);
    }
    let done = run_verb(verb, context);
    drop(spooled);
    done
}

fn run_verb(verb: Verb, context: &Context) -> anyhow::Result<Exit> {
    match verb {
        Verb::Info(args) => info::run(&args, context),
        Verb::Tables(args) => tables::run(&args, context),
        Verb::Schema(args) => schema::run(&args, context),
        Verb::Export(args) => export::run(&args, context),
        Verb::Query(args) => query::run(&args, context),
        Verb::Page(args) => page::run(&args, context),
        Verb::Log(args) => log::run(&args, context),
        Verb::Check(args) => check::run(&args, context),
        Verb::CheckPartial(args) => check::parts::run_partial(&args, context),
        Verb::CheckMerge(args) => check::parts::run_merge(&args, context),
        Verb::Explain(args) => explain::run(&args, context),
        Verb::Make(args) => make::run(&args, context),
        Verb::Damage(args) => damage::run(&args, context),
        #[cfg(feature = "server")]
        Verb::Demo(args) => demo::run(&args, context),
        #[cfg(feature = "server")]
        Verb::Serve(args) => serve::run(&args, context),
        #[cfg(feature = "server")]
        Verb::Sql(args) => sql::run(&args, context),
        Verb::Completions(args) => manual::completions(&args, context),
        Verb::Man(args) => manual::pages(&args),
        Verb::Other(words) => not_a_verb(&words),
    }
}

fn not_a_verb(words: &[OsString]) -> anyhow::Result<Exit> {
    let word = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if word == "serve" || word == "sql" {
        bail!("this program was built without the feature server");
    }
    if LATER.contains(&&*word) {
        bail!("not supported: {word} is a verb of a later version");
    }
    let program = cli::command();
    let verbs =
        program.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name());
    let meant = did_you_mean(&word, verbs);
    bail!("{word} is not a verb{meant}; `extentdb --help` lists them")
}
