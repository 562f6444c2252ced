//! `damage`: one known fault in a copy of a database, and a file that says which.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use extentdb_faults::damage_with_progress;
use extentdb_faults::{Kind, Truth, applicable};
use serde_json::{Value, json};

use super::make::NewFiles;
use crate::context::Context;
use crate::exit::Exit;
use crate::options::{CommonOptions, FormatArgs};
use crate::output::Output;

/// Options of `damage`.
#[derive(Args, Debug)]
pub(crate) struct DamageArgs {
    /// Data files of one database; they are only read
    #[arg(value_name = "FILE", required_unless_present = "list")]
    files: Vec<PathBuf>,
    /// The fault; --list shows the kinds, with files those that can be made in them
    #[arg(long, value_name = "KIND", required_unless_present = "list")]
    kind: Option<String>,
    /// Where all chance comes from: the same seed makes the same fault
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The damaged copy; with several files, one for each
    #[arg(long, value_name = "OUT", num_args = 1.., required_unless_present = "list")]
    to: Vec<PathBuf>,
    /// Write what was done, and what a check must say about it, to this JSON file
    #[arg(long, value_name = "T.json")]
    truth: Option<PathBuf>,
    /// The kinds of faults
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &DamageArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = context.output(&args.files)?;
    let Some(kind) = args.kind.as_deref().filter(|_| !args.list) else {
        return list(args, output);
    };
    let kind = Kind::from_name(kind)?;
    if args.to.len() != args.files.len() {
        bail!(
            "{} files need {} names after --to, not {}",
            args.files.len(),
            args.files.len(),
            args.to.len()
        );
    }
    let made = make(args, kind, context)?;
    if args.format.is_json() {
        output.write_json(&made.to_json())?
    } else {
        output.write_all(text_of(&made, &args.to).as_bytes())?
    }
    output.finish()?;
    Ok(Exit::Done)
}

/// Makes the copies and the truth file; all of them or none.
fn make(args: &DamageArgs, kind: Kind, context: &Context) -> anyhow::Result<Truth> {
    let all: Vec<PathBuf> = args.to.iter().chain(&args.truth).cloned().collect();
    let pending = NewFiles::new(&all)?;
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let mut copies = pending.temporary();
    let truth_file = copies.split_off(args.to.len());
    let progress = context.progress("damage", 0);
    let truth = damage_with_progress(&inputs, &copies, kind, args.seed, &mut |copied| {
        progress.show(copied.bytes, copied.bytes_total, copied.bytes, "");
    })?;
    drop(progress);
    if let [path] = truth_file[..] {
        let text = format!("{:#}\n", truth.to_json());
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    pending.settle()?;
    Ok(truth)
}

fn list(args: &DamageArgs, mut output: Output) -> anyhow::Result<Exit> {
    let files: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let kinds = if files.is_empty() { Kind::ALL.to_vec() } else { applicable(&files)? };
    if args.format.is_json() {
        let kinds = kinds.iter().map(|kind| {
            json!({
                "kind": kind.name(),
                "needs": kind.needs(),
                "what": kind.what(),
                "group": kind.group(),
                "rows": kind.rows(),
            })
        });
        output.write_json(&kinds.collect::<Value>())?;
    } else {
        let lines = kinds
            .iter()
            .map(|kind| format!("{:>2}  {:25}{}\n", kind.group(), kind.name(), kind.what()));
        output.write_all(lines.collect::<String>().as_bytes())?;
    }
    output.finish()?;
    Ok(Exit::Done)
}

fn text_of(truth: &Truth, outputs: &[PathBuf]) -> String {
    let slot = truth.slot.map(|slot| format!(", slot {slot}")).unwrap_or_default();
    let names: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
    let mut out = format!("{}: {} in page {}{slot}\n", names.join(" "), truth.kind, truth.page);
    for change in &truth.changes {
        let file = change.file;
        let at = change.offset;
        let bytes = change.before.len();
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        out += &format!("  file {file}, offset {at}: {bytes} {unit} changed\n");
    }
    if let Some(bytes) = truth.truncated_to {
        out += &format!("  file {}: cut to {bytes} bytes\n", truth.page.file);
    }
    out + &format!("  a check must say {}\n", numbers_of(truth))
}

/// What a full check says: all of the one, and one of the other.
fn numbers_of(truth: &Truth) -> String {
    let list = |numbers: &[u32], word: &str| {
        numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(word)
    };
    let all = [list(&truth.expected, ", "), list(&truth.any_of, " or ")];
    match all.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>() {
        parts if parts.is_empty() => "nothing".to_owned(),
        parts => parts.join(", and "),
    }
}
