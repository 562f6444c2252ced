//! `make`: a valid database of any size, made from a seed, to try things on.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use extentdb_base::env::Clock;
use extentdb_template::{MakeOptions, MakeReport, SHAPES, Size, make};
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::measure::{bytes_text, size};
use crate::options::{CommonOptions, FormatArgs};
use crate::output::partial_name;
use crate::scratch::Scratch;

/// Size when nobody says one.
const DEFAULT_BYTES: u64 = 64_000_000;

/// Options of `make`.
#[derive(Args, Debug)]
pub(crate) struct MakeArgs {
    /// The primary data file to make, such as shop.mdf; further files stand beside it as
    /// shop_2.ndf, shop_3.ndf …
    #[arg(value_name = "OUT.mdf", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// What is in it; --list shows the shapes
    #[arg(long, value_name = "SHAPE", default_value = "sales")]
    shape: String,
    /// Bytes of all files together, such as 64MB or 4GiB (default 64MB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    size: Option<u64>,
    /// Rows of the main table, instead of a size
    #[arg(long, value_name = "N", conflicts_with = "size")]
    rows: Option<u64>,
    /// Where all chance comes from: the same seed makes the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of data files; shapes with filegroups have more when they need them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=32766))]
    files: u16,
    /// The shapes
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// Runs the verb.
pub(crate) fn run(args: &MakeArgs, context: &Context) -> anyhow::Result<Exit> {
    let mut output = context.output(&[])?;
    let Some(out) = args.out.as_deref().filter(|_| !args.list) else {
        return list(args.format, output);
    };
    let size = match (args.size, args.rows) {
        (_, Some(rows)) => Size::Rows(rows),
        (bytes, None) => Size::Bytes(bytes.unwrap_or(DEFAULT_BYTES)),
    };
    let options = MakeOptions { shape: args.shape.clone(), size, seed: args.seed };
    let start = context.clock.monotonic();
    let least = SHAPES.iter().find(|shape| shape.name == args.shape).map_or(1, |shape| shape.files);
    let report = build(&options, &paths(out, args.files.max(least as u16)), context)?;
    let seconds = context.clock.monotonic().saturating_sub(start).as_secs_f64();
    if args.format.is_json() {
        output.write_json(&json_of(&options, &report, seconds))?
    } else {
        output.write_all(text_of(&report, seconds).as_bytes())?
    }
    output.finish()?;
    Ok(Exit::Done)
}

fn list(format: FormatArgs, mut output: crate::output::Output) -> anyhow::Result<Exit> {
    if format.is_json() {
        let shapes = SHAPES
            .iter()
            .map(|shape| json!({"name": shape.name, "description": shape.description}));
        output.write_json(&shapes.collect::<Value>())?;
    } else {
        let lines = SHAPES.iter().map(|shape| format!("{:16}{}\n", shape.name, shape.description));
        output.write_all(lines.collect::<String>().as_bytes())?;
    }
    output.finish()?;
    Ok(Exit::Done)
}

/// The data files: the primary one, then its companions beside it.
fn paths(out: &Path, files: u16) -> Vec<PathBuf> {
    let stem = out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let other = |number: u16| out.with_file_name(format!("{stem}_{number}.ndf"));
    std::iter::once(out.to_path_buf()).chain((2..=files).map(other)).collect()
}

/// Makes the files under temporary names and gives them their own when they are whole.
pub(super) fn build(
    options: &MakeOptions,
    paths: &[PathBuf],
    context: &Context,
) -> anyhow::Result<MakeReport> {
    let pending = NewFiles::new(paths)?;
    let temporary = pending.temporary();
    let bytes = match options.size {
        Size::Bytes(bytes) => bytes,
        Size::Rows(_) => 0,
    };
    let progress = context.progress("make", 1_000_000);
    let mut shown = 0;
    let mut shown_bytes = 0;
    let mut report = make(options, &temporary, &mut |now| {
        let share = |whole: u64| {
            (u128::from(whole) * u128::from(now.entries) / u128::from(now.entries_total.max(1)))
                as u64
        };
        let units = share(1_000_000);
        let size = share(bytes);
        progress.add(units.saturating_sub(shown), size.saturating_sub(shown_bytes));
        (shown, shown_bytes) = (units.max(shown), size.max(shown_bytes));
    })?;
    drop(progress);
    pending.settle()?;
    for ((path, _), wanted) in report.files.iter_mut().zip(paths) {
        path.clone_from(wanted);
    }
    Ok(report)
}

/// Files that appear under their names when all are whole; until then, and after a failure or a
/// signal, there are only partial ones or none.
pub(super) struct NewFiles<'p> {
    paths: &'p [PathBuf],
    partial: Vec<Scratch>,
}

impl<'p> NewFiles<'p> {
    /// None of the paths may exist, nor their partial files.
    pub(super) fn new(paths: &'p [PathBuf]) -> anyhow::Result<NewFiles<'p>> {
        refuse_existing(paths)?;
        let partial: Vec<PathBuf> = paths.iter().map(|path| partial_name(path)).collect();
        refuse_existing(&partial)?;
        Ok(NewFiles {
            paths,
            partial: partial.into_iter().map(Scratch::new).collect(),
        })
    }

    /// Where the files are until they are whole.
    pub(super) fn temporary(&self) -> Vec<&Path> {
        self.partial.iter().map(Scratch::path).collect()
    }

    /// Gives the files their names.
    pub(super) fn settle(self) -> anyhow::Result<()> {
        refuse_existing(self.paths)?;
        let renames = self.partial.into_iter().zip(self.paths.iter().map(PathBuf::as_path));
        let names: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let failed = || format!("cannot give the files their names {}", names.join(", "));
        Scratch::rename_all(renames.collect()).with_context(failed)
    }
}

fn refuse_existing(paths: &[PathBuf]) -> anyhow::Result<()> {
    match paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => bail!("{} exists: it will not be overwritten", path.display()),
        None => Ok(()),
    }
}

fn text_of(report: &MakeReport, seconds: f64) -> String {
    let total: u64 = report.files.iter().map(|(_, bytes)| bytes).sum();
    let mut out = String::new();
    for (path, bytes) in &report.files {
        out += &format!("{}  {}\n", path.display(), bytes_text(*bytes));
    }
    for table in &report.tables {
        out += &format!("  dbo.{}  {} rows, {} pages\n", table.name, table.rows, table.pages);
    }
    out + &format!("made in {seconds:.2} s, {:.0} MB/s\n", total as f64 / 1e6 / seconds.max(1e-6))
}

fn json_of(options: &MakeOptions, report: &MakeReport, seconds: f64) -> Value {
    let files = report
        .files
        .iter()
        .map(|(path, bytes)| json!({"path": path.display().to_string(), "bytes": bytes}));
    let tables = report.tables.iter().map(|table| {
        json!({"name": table.name, "object_id": table.object.0, "rows": table.rows, "pages": table.pages})
    });
    json!({
        "shape": options.shape,
        "seed": options.seed,
        "files": files.collect::<Vec<_>>(),
        "tables": tables.collect::<Vec<_>>(),
        "elapsed_s": seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_files_are_in_the_folder_of_the_first() {
        let paths = paths(Path::new("dir/shop.mdf"), 3);
        assert_eq!(paths, ["dir/shop.mdf", "dir/shop_2.ndf", "dir/shop_3.ndf"].map(PathBuf::from));
    }
}
