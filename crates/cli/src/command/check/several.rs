//! Several databases in one call: one report each, a table at the end.
//!
//! A database that cannot be opened does not keep the others from being checked: it gets a row that
//! says why, and counts as incomplete. Only when none could be checked the job could not be done.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use extentdb_check::{Options, Report, run as check};
use extentdb_report::{Input, to_json};
use serde_json::{Value, json};

use super::format::{ReportFormat, TextStyle};
use super::{
    CheckArgs, complete, exit_of, inputs, open, refuse_encrypted, watched, with_recovered,
};
use crate::context::Context;
use crate::exit::{Exit, chain};
use crate::inputs::{add_siblings, group};
use crate::output::Output;
use crate::terminal::with_coloured_verdict;

/// The files of each database that is to be checked, with those that were found beside them.
pub(super) fn groups(args: &CheckArgs, context: &Context) -> Vec<Vec<PathBuf>> {
    let mut groups = group::groups(&args.files);
    if !args.common.no_siblings {
        groups.iter_mut().for_each(|files| add_siblings(files, context));
    }
    groups
}

/// A database, and what came of it.
struct Checked {
    files: Vec<PathBuf>,
    result: Result<(Report, Vec<Input>), String>,
}

/// Checks one database after the other.
pub(super) fn run(
    args: &CheckArgs,
    groups: &[Vec<PathBuf>],
    context: &Context,
) -> anyhow::Result<Exit> {
    let format = args.format.chosen();
    let options = args.options.for_check(&args.common, format)?;
    refuse_what_is_of_one(args, format, groups.len())?;
    let files: Vec<PathBuf> = groups.concat();
    let mut output = context.output(&files)?;
    context.interrupt.stop_gracefully();
    let mut all = Vec::new();
    for files in groups {
        let result = match context.interrupt.stopped() {
            Some(_) => Err("interrupted".to_owned()),
            None => one(args, files, &options, context).map_err(|error| chain(error.as_ref())),
        };
        let checked = Checked { files: files.clone(), result };
        write_one(&checked, format, args.text_style(), &mut output)?;
        all.push(checked);
    }
    match format {
        ReportFormat::Json => output.write_json(&all.iter().map(json_of).collect::<Value>())?,
        ReportFormat::Text => {
            output.write_all(table(&all, args.common.color.is_on(output.reader())).as_bytes())?
        }
        _ => {}
    }
    all.iter().filter_map(|checked| Some((checked, checked.result.as_ref().err()?))).for_each(
        |(checked, why)| context.warn(&format!("{}: not checked: {why}", names(&checked.files))),
    );
    end(&all, output, context)
}

fn refuse_what_is_of_one(
    args: &CheckArgs,
    format: ReportFormat,
    databases: usize,
) -> anyhow::Result<()> {
    if args.options.state().is_some() || args.options.estimates_only() {
        bail!("--state and --estimate-only are for one database; these are {databases}");
    }
    match format {
        ReportFormat::Text | ReportFormat::Json | ReportFormat::Jsonl => Ok(()),
        _ => bail!(
            "this format describes one database, and these are {databases}: text, json or jsonl"
        ),
    }
}

fn one(
    args: &CheckArgs,
    files: &[PathBuf],
    options: &Options,
    context: &Context,
) -> anyhow::Result<(Report, Vec<Input>)> {
    let args = CheckArgs { files: files.to_vec(), ..args.clone() };
    let opened = open(files, context)?;
    refuse_encrypted(&opened, &args, context)?;
    let opened = context.restart(opened)?;
    let mut report = with_recovered(&opened, options, |source, options| {
        watched(context, |control| check(source, options, control))
    });
    complete(&mut report, &opened, context)?;
    let inputs = inputs::describe(files, args.hash, context)?;
    Ok((report, inputs))
}

/// Writes a report at once, unless all are one document.
fn write_one(
    checked: &Checked,
    format: ReportFormat,
    style: TextStyle,
    output: &mut Output,
) -> anyhow::Result<()> {
    if format == ReportFormat::Text {
        output.write_all(format!("== {}\n", names(&checked.files)).as_bytes())?;
    }
    match (&checked.result, format) {
        (_, ReportFormat::Json) => {}
        (Ok((report, inputs)), _) => format.write(report, inputs, style, output)?,
        (Err(why), ReportFormat::Text) => {
            output.write_all(format!("not checked: {why}\n").as_bytes())?
        }
        (Err(_), _) => output.write_all(format!("{}\n", json_of(checked)).as_bytes())?,
    }
    if format == ReportFormat::Text {
        output.write_all(b"\n")?;
    }
    Ok(())
}

fn json_of(checked: &Checked) -> Value {
    match &checked.result {
        Ok((report, inputs)) => to_json(report, inputs),
        Err(why) => {
            let paths: Vec<String> =
                checked.files.iter().map(|path| path.display().to_string()).collect();
            json!({ "verdict": "not checked", "why": why, "inputs": paths })
        }
    }
}

/// A row for each database.
fn table(all: &[Checked], is_coloured: bool) -> String {
    let head = ["verdict", "errors", "database", "files"].map(str::to_owned);
    let rows = all.iter().map(|checked| match &checked.result {
        Ok((report, _)) => {
            let errors = report.findings.len() as u64 + report.findings_omitted;
            let verdict = report.verdict.name().to_owned();
            [verdict, errors.to_string(), report.database.clone(), names(&checked.files)]
        }
        Err(_) => ["not checked".to_owned(), String::new(), String::new(), names(&checked.files)],
    });
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut out = String::new();
    for [verdict, errors, database, files] in &rows {
        let [first, second, third] = widths;
        let line = format!("{verdict:first$}  {errors:>second$}  {database:third$}  {files}\n");
        out += &if is_coloured { with_coloured_verdict(&line) } else { line };
    }
    out
}

fn names(files: &[PathBuf]) -> String {
    files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
}

/// The worst end of all.
fn end(all: &[Checked], output: Output, context: &Context) -> anyhow::Result<Exit> {
    if let Some(stop) = context.interrupt.stopped() {
        let kept = output.finish_incomplete()?;
        let saved = kept.map_or_else(String::new, |path| format!(": {}", path.display()));
        context.warn(&format!("interrupted, the result is incomplete{saved}"));
        return Ok(stop);
    }
    output.finish()?;
    if all.iter().all(|checked| checked.result.is_err()) {
        return Ok(Exit::Failed);
    }
    let exit = |checked: &Checked| match &checked.result {
        Ok((report, _)) => exit_of(report.verdict),
        Err(_) => Exit::Incomplete,
    };
    Ok(all.iter().map(exit).fold(Exit::Done, Exit::and))
}
