//! Many tables into a folder: a file for each, and the manifest.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Mutex, lock, thread};
use extentdb_catalog::{Catalog, Table};

use super::manifest::{self, Entry, Export, manifest};
use super::source::WatchedSource;
use super::style::Style;
use super::table::{TableExport, Wanted, is_unsupported};
use super::{ExportArgs, outcome_of};
use crate::context::Context;
use crate::exit::Exit;
use crate::names;
use crate::output::{Existing, Output};

/// File names are cut at this many bytes: every file system takes them.
const NAME_BYTES_MAX: usize = 200;

/// Exports the tables that the options name.
pub(super) fn export(args: &ExportArgs, folder: &Path, context: &Context) -> anyhow::Result<Exit> {
    let style = Style::new(args.format, &args.style)?;
    let database = context.open_database(&args.files)?;
    let tables = tables(args, database.catalog())?;
    let mut wanted = Vec::with_capacity(tables.len());
    for table in &tables {
        wanted.push(Wanted::new(table, &args.select, &database)?);
    }
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let rows: i64 = tables.iter().map(|table| database.catalog().row_count(table).max(0)).sum();
    let progress = context.progress("export", rows.max(0) as u64);
    context.interrupt.stop_gracefully();
    let source = WatchedSource::new(database.source(), &context.interrupt, &progress);
    let export = TableExport {
        context,
        database: &database,
        source: &source,
        progress: &progress,
        style: &style,
        select: &args.select,
    };
    let files = file_names(&tables, args.format.extension());
    refuse_existing(folder, &files, context.existing())?;
    let path = folder.join(manifest::FILE_NAME);
    let mut output = Output::open(Some(&path), &args.files, context.existing())?;
    let work = Work {
        export: &export,
        folder,
        inputs: &args.files,
        wanted: &wanted,
        files: &files,
    };
    let entries = work.run(context.common.jobs())?;
    drop(progress);
    let outcome = outcome_of(&database);
    output.write_json(&manifest(&Export {
        database: &database,
        inputs: &args.files,
        format: args.format.extension(),
        select: &args.select,
        outcome: &outcome,
        entries: &entries,
    }))?;
    output.finish()?;
    Ok(context.exit_of(&database, tell(&entries, context)))
}

/// A file that may not be replaced is told before hours of work, not after them.
fn refuse_existing(folder: &Path, files: &[String], existing: Existing) -> anyhow::Result<()> {
    if existing == Existing::Replace {
        return Ok(());
    }
    match files.iter().map(|file| folder.join(file)).find(|path| path.exists()) {
        Some(path) => bail!("{} exists: --force replaces it", path.display()),
        None => Ok(()),
    }
}

fn tables<'c>(args: &ExportArgs, catalog: &'c Catalog) -> anyhow::Result<Vec<&'c Table>> {
    match &args.table {
        Some(name) => Ok(vec![names::find_table(catalog, name)?]),
        None if args.tables.is_empty() => Ok(names::user_tables(catalog)),
        None => names::find_tables(catalog, &args.tables),
    }
}

/// Says how it went.
fn tell(entries: &[Entry], context: &Context) -> Exit {
    let mut exit = Exit::Done;
    let mut rows = 0;
    let mut tables = 0;
    for entry in entries {
        match entry {
            Entry::Exported { report, .. } => {
                report.tell(context);
                exit = exit.and(report.exit());
                rows += report.rows;
                tables += 1;
            }
            Entry::Skipped { name, why } => {
                context.warn(&format!("{name}: skipped: {why}"));
                exit = exit.and(Exit::Incomplete);
            }
            Entry::NotReached { name } => {
                context.warn(&format!("{name}: not exported: interrupted"))
            }
        }
    }
    context.note(&format!("{tables} tables, {rows} rows"));
    exit.and(context.interrupt.stopped().unwrap_or(Exit::Done))
}

/// The tables, handed out to threads one by one.
struct Work<'a> {
    export: &'a TableExport<'a>,
    folder: &'a Path,
    inputs: &'a [PathBuf],
    wanted: &'a [Wanted<'a>],
    files: &'a [String],
}

impl Work<'_> {
    fn run(&self, jobs: usize) -> anyhow::Result<Vec<Entry>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..jobs.min(self.wanted.len()).max(1) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(wanted), Some(file)) = (self.wanted.get(at), self.files.get(at))
                        else {
                            break;
                        };
                        let entry = self.one(wanted, file);
                        let failed = entry.is_err();
                        lock(&done).push((at, entry));
                        if failed {
                            // A full disk does not get emptier: nobody begins another table.
                            next.store(self.wanted.len(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, entry)| entry).collect()
    }

    fn one(&self, wanted: &Wanted<'_>, file: &str) -> anyhow::Result<Entry> {
        let name = wanted.table.full_name();
        if self.export.context.interrupt.stopped().is_some() {
            return Ok(Entry::NotReached { name });
        }
        let existing = self.export.context.existing();
        let mut output = Output::open(Some(&self.folder.join(file)), self.inputs, existing)?;
        let report = match self.export.run(wanted, &mut output, true) {
            Ok(report) => report,
            Err(error) if is_unsupported(&error) => {
                return Ok(Entry::Skipped { name, why: crate::exit::chain(error.as_ref()) });
            }
            Err(error) => return Err(error.context(name)),
        };
        let mut file = file.to_owned();
        if report.is_whole() {
            output.finish()?;
        } else if let Some(path) = output.finish_incomplete()? {
            file = path.file_name().map_or(file, |name| name.to_string_lossy().into_owned());
        }
        Ok(Entry::Exported { report, file })
    }
}

/// `<schema>.<table>.<extension>` for each, all different even where case does not count.
fn file_names(tables: &[&Table], extension: &str) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |table: &&Table| {
        let mut name = format!("{}.{}", encoded(&table.schema), encoded(&table.name));
        if is_reserved(&table.schema) {
            name.insert(0, '_');
        }
        if name.len() > NAME_BYTES_MAX || !taken.insert(name.to_lowercase()) {
            let mut end = name.len().min(NAME_BYTES_MAX);
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            name.truncate(end);
            // Object ids differ.
            let _ = write!(name, "~{}", table.id);
        }
        format!("{name}.{extension}")
    };
    tables.iter().map(name).collect()
}

/// A name with everything percent-encoded that some file system refuses, and the dot, which
/// separates.
fn encoded(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        let is_illegal = c.is_control()
            || matches!(c, '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' | '%' | '.');
        if !is_illegal {
            out.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Names that Windows keeps for devices, whatever follows their first dot.
fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let numbered = |prefix: &str| {
        upper
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    matches!(upper.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use extentdb_base::ObjectId;
    use extentdb_catalog::model::ObjectType;

    use super::*;

    fn table(id: i32, schema: &str, name: &str) -> Table {
        Table {
            id: ObjectId(id),
            schema: schema.to_owned(),
            name: name.to_owned(),
            kind: ObjectType::USER_TABLE,
            columns: Vec::new(),
            indexes: Vec::new(),
        }
    }

    #[test]
    fn file_names_are_legal_and_differ_everywhere() {
        let long = "ä".repeat(128);
        let tables = [
            table(1, "dbo", "Order Details"),
            table(2, "dbo", "order details"),
            table(3, "a.b", "c/d%"),
            table(4, "con", "x"),
            table(5, "dbo", &long),
        ];
        let names = file_names(&tables.iter().collect::<Vec<_>>(), "csv");
        assert_eq!(names[0], "dbo.Order Details.csv");
        assert_eq!(names[1], "dbo.order details~2.csv");
        assert_eq!(names[2], "a%2Eb.c%2Fd%25.csv");
        assert_eq!(names[3], "_con.x.csv");
        assert!(names[4].ends_with("ä~5.csv") && names[4].len() < 255, "{}", names[4]);
    }
}
