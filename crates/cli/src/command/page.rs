//! `page`: one page as DBCC PAGE shows it, with everything that is wrong with it.
//!
//! ```text
//! style 0 header, owner, allocation status, faults
//!       1 the same, each record in hex, slot table
//!       2 the same, the whole page in hex as it lies on disk
//!       3 the same, decoded: rows by column, LOB records, maps as runs, boot page, file header
//! ```
//!
//! Nothing here needs a healthy database: without a readable catalog names and columns are
//! missing, a damaged map page leaves its line open, and a damaged page shows what can be read of
//! it.

mod allocation;
mod columns;
mod content;
mod faults;
mod fields;
mod hex;
mod json;
mod lob;
mod names;
mod rows;
mod system;
mod text;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use extentdb_base::PageId;
use extentdb_catalog::Catalog;
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::{Protection, restore_torn, verify};
use extentdb_reader::{CheckedPages, OpenedFiles, PageSource};

use crate::context::Context;
use crate::exit::{Exit, chain};
use crate::options::{CommonOptions, FormatArgs};

use allocation::AllocationStatus;
use content::Content;
use faults::PageFault;
use fields::Fields;

/// Options of `page`.
#[derive(Args, Debug)]
pub(crate) struct PageArgs {
    /// Data files of one database, or the files of one backup; then the page as file:page, such as
    /// 1:153
    #[arg(required = true, num_args = 2.., value_names = ["FILE", "F:P"])]
    pub(crate) files: Vec<PathBuf>,
    /// 0 header; 1 header, records in hex, slot table; 2 header, whole page in hex; 3 header, rows
    /// by column
    #[arg(long, value_name = "0..3", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    style: u8,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// A page with everything that is known about it.
struct ShownPage<'a> {
    /// The page asked for.
    id: PageId,
    /// The file that it was read from.
    path: PathBuf,
    style: u8,
    /// As on disk.
    raw: &'a PageBuf,
    /// With displaced bits put back.
    page: &'a PageBuf,
    protection: Protection,
    header: Fields,
    metadata: Fields,
    allocation: AllocationStatus,
    faults: Vec<PageFault>,
    content: Content,
}

/// Runs the verb.
pub(crate) fn run(args: &PageArgs, context: &Context) -> anyhow::Result<Exit> {
    let (files, id) = split(&args.files)?;
    let mut output = context.output(&files)?;
    let opened = context.open(&files)?;
    let (raw, path) = read(&opened, id)?;
    context.note_unrecovered(&opened);
    let catalog = load_catalog(&opened, context);
    let protection = verify(&raw);
    let mut page = raw.clone();
    restore_torn(&mut page);
    let shown =
        look(id, path, args.style, [&raw, &page], protection, opened.source(), catalog.as_ref());
    if args.format.is_json() {
        output.write_json(&json::document(&shown))?;
    } else {
        output.write_all(text::document(&shown).as_bytes())?;
    }
    output.finish()?;
    // What is not allocated may hold anything: there is nothing wrong with it.
    let is_damaged = !shown.faults.is_empty() && shown.allocation.is_allocated != Some(false);
    Ok(if is_damaged { Exit::Found } else { Exit::Done })
}

/// The paths, and the page after them.
fn split(words: &[PathBuf]) -> anyhow::Result<(Vec<PathBuf>, PageId)> {
    let Some((last, files)) = words.split_last() else { bail!("no file was given") };
    let text = last.to_string_lossy();
    let id = text.parse().map_err(|error| anyhow!("{text}: {error}; it must follow the files"))?;
    Ok((files.to_vec(), id))
}

/// Reads the page, or says why there is none.
fn read(opened: &OpenedFiles, id: PageId) -> anyhow::Result<(PageBuf, PathBuf)> {
    if opened.is_log_only() {
        bail!("a log file has no pages; `extentdb log` shows its records");
    }
    let source = opened.source();
    let Some(file) = source.files().iter().find(|file| file.id == id.file) else {
        let given: Vec<String> = source.files().iter().map(|file| file.id.to_string()).collect();
        bail!(
            "page {id}: file {} of the database is not here; given: {}",
            id.file,
            given.join(", ")
        );
    };
    if id.page >= file.pages {
        let last = file.pages.saturating_sub(1);
        bail!(
            "page {id} is past the end of {}: its last page is ({}:{last})",
            file.path.display(),
            id.file
        );
    }
    let mut page = PageBuf::zeroed();
    source
        .read(id, &mut page)
        .with_context(|| format!("cannot read from {}", file.path.display()))?;
    Ok((page, file.path.clone()))
}

/// The catalog as far as it can be read: names and columns come from it.
fn load_catalog(opened: &OpenedFiles, context: &Context) -> Option<Catalog> {
    match Catalog::load(&CheckedPages::new(opened.source())) {
        Ok(catalog) => Some(catalog),
        Err(error) => {
            context
                .warn(&format!("the catalog cannot be read, names are missing: {}", chain(&error)));
            None
        }
    }
}

fn look<'a>(
    id: PageId,
    path: PathBuf,
    style: u8,
    [raw, page]: [&'a PageBuf; 2],
    protection: Protection,
    source: &dyn PageSource,
    catalog: Option<&Catalog>,
) -> ShownPage<'a> {
    let header = PageHeader::of(page);
    let owner = catalog.and_then(|catalog| names::Owner::of(catalog, header));
    let allocation = allocation::status(source, id);
    let mut faults = faults::of_page(id, page, protection);
    let content = content::of_page(id, page, style, source, owner.as_ref());
    faults.extend(content.faults());
    ShownPage {
        id,
        path,
        style,
        raw,
        page,
        protection,
        header: fields::header(header),
        metadata: fields::metadata(header, owner.as_ref()),
        allocation,
        faults,
        content,
    }
}
