//! `check-partial` and `check-merge`: a check by several processes, or on several machines.
//!
//! Each process checks its part of the pages and writes a partial; one process adds them up, looks
//! again where something does not balance, and prints the report that a single process would have
//! printed. Hidden verbs, for programs that distribute work.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use extentdb_base::FileId;
use extentdb_check::{PageRange, check_part, merge_parts, part_of};

use super::{CheckArgs, finish, open, watched, with_recovered};
use crate::context::Context;
use crate::exit::Exit;

/// Options of `check-partial`.
#[derive(Args, Debug)]
pub(crate) struct PartialArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// The pages of this part: FILE:FIRST-LAST, several times if need be
    #[arg(long, value_name = "RANGE", value_parser = range, conflicts_with = "part")]
    pages: Vec<PageRange>,
    /// The part by its number: 2/4 is the second of four
    #[arg(long, value_name = "N/M", value_parser = fraction)]
    part: Option<(u32, u32)>,
}

/// Options of `check-merge`.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// A partial; once for each
    #[arg(long = "partial", value_name = "FILE", required = true)]
    partials: Vec<PathBuf>,
}

/// Scans a part and writes the partial.
pub(crate) fn run_partial(args: &PartialArgs, context: &Context) -> anyhow::Result<Exit> {
    let check = &args.check;
    let options = check.options.for_check(&check.common, check.format.chosen())?;
    if check.common.output.is_none() {
        bail!("a partial is no text: name a file for it with -o");
    }
    let mut output = context.output(&check.files)?;
    let opened = context.restart(open(&check.files, context)?)?;
    let part = match args.part {
        Some((number, of)) => part_of(opened.source(), number, of),
        None => args.pages.clone(),
    };
    context.interrupt.stop_gracefully();
    let partial = with_recovered(&opened, &options, |source, options| {
        watched(context, |control| check_part(source, options, control, &part))
    })?;
    if let Some(stop) = context.interrupt.stopped() {
        // A part that is not whole is of no use to anybody.
        return Ok(stop);
    }
    output.write_all(&partial)?;
    output.finish()?;
    Ok(Exit::Done)
}

/// Adds up partials and prints the report.
pub(crate) fn run_merge(args: &MergeArgs, context: &Context) -> anyhow::Result<Exit> {
    let check = &args.check;
    let options = check.options.for_check(&check.common, check.format.chosen())?;
    let output = context.output(&check.files)?;
    let opened = context.restart(open(&check.files, context)?)?;
    let read = |path: &PathBuf| fs::read(path).with_context(|| path.display().to_string());
    let partials = args.partials.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    context.interrupt.stop_gracefully();
    let report = with_recovered(&opened, &options, |source, options| {
        watched(context, |control| {
            merge_parts(source, options, control, partials.iter().map(Vec::as_slice))
        })
    })?;
    finish(report, check, &opened, context, output)
}

/// Pages of a file, `1:0-1023`; the last one included.
fn range(text: &str) -> anyhow::Result<PageRange> {
    let parts = text.split_once(':').and_then(|(file, pages)| Some((file, pages.split_once('-')?)));
    let (file, (first, last)) =
        parts.ok_or_else(|| anyhow!("a range is FILE:FIRST-LAST, such as 1:0-1023"))?;
    let first: u32 = first.parse()?;
    let last: u32 = last.parse()?;
    let end = last.checked_add(1).filter(|end| *end > first);
    let end = end.ok_or_else(|| anyhow!("the last page comes before the first"))?;
    Ok(PageRange { file: FileId(file.parse()?), pages: first..end })
}

/// One part of several, `2/4`, counted from 1.
fn fraction(text: &str) -> anyhow::Result<(u32, u32)> {
    let parts = text.split_once('/').ok_or_else(|| anyhow!("a part is N/M, such as 2/4"))?;
    let number: u32 = parts.0.parse()?;
    let of: u32 = parts.1.parse()?;
    if number == 0 || number > of {
        bail!("parts are counted from 1 to {of}");
    }
    Ok((number, of))
}
