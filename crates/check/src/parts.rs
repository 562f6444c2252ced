//! A check in parts: by several processes, or by one that is stopped and goes on later.
//!
//! ```text
//! check_part  plan, scan of a page range             -> a partial as bytes
//! merge_parts plan, partials added up, second passes  -> the report
//! resume      plan, what is missing in a partial     -> the report, and the partial while
//!                                                    something is missing
//! ```
//!
//! The report is the same as that of one process: everything that adds up is in the partial,
//! everything else is in the plan, which every process makes for itself. Whether both have the same
//! plan is decided by a digest of it.

use extentdb_base::{FileId, PageId};
use extentdb_format::PageBuf;
use extentdb_reader::PageSource;

use crate::hash::HashKey;
use crate::options::{Control, Options, PageRange};
use crate::partial::file::{from_bytes, to_bytes};
use crate::partial::{Partial, PartialError};
use crate::plan::Plan;
use crate::report::Report;
use crate::run::{AfterStop, CheckRun, Planned};
use crate::wire::Wire;

/// Pages of an extent.
const EXTENT: u64 = extentdb_base::size::PAGES_PER_EXTENT as u64;

/// The key that all processes agree on without talking: from the boot page of the database.
fn shared_key(source: &dyn PageSource) -> HashKey {
    let mut page = PageBuf::zeroed();
    // A page that cannot be read leaves zeros, for every process alike.
    _ = source.read(PageId::BOOT, &mut page);
    let lane = |n: u64| HashKey::new([n, 0x7061_7274]).bytes(&page[..]);
    HashKey::new([lane(1), lane(2)])
}

fn shared(source: &dyn PageSource, options: &Options) -> Options {
    let key = options.hash_key.unwrap_or_else(|| shared_key(source));
    Options { hash_key: Some(key), ..options.clone() }
}

/// What two plans must have in common for their partials to be added.
fn digest(planned: &Planned, options: &Options) -> u64 {
    let Planned { plan, families, .. } = planned;
    let mut bytes = Vec::new();
    plan.database.write(&mut bytes);
    plan.checkpoint.write(&mut bytes);
    for maps in &plan.maps {
        (maps.file, maps.pages).write(&mut bytes);
    }
    for (_, unit) in plan.units.iter() {
        (unit.id(), unit.root, unit.first_iam).write(&mut bytes);
        unit.is_skipped.write(&mut bytes);
    }
    for name in options.names() {
        name.to_owned().write(&mut bytes);
    }
    families.rows.has_purity.write(&mut bytes);
    plan.key.write(&mut bytes);
    HashKey::new([0x6469_6765, 0x7374]).bytes(&bytes)
}

/// The `number`th of `of` parts of equal size, counted from 1: page ranges on the borders of
/// extents.
pub fn part_of(source: &dyn PageSource, number: u32, of: u32) -> Vec<PageRange> {
    let extents = |pages: u32| u64::from(pages).div_ceil(EXTENT);
    let total: u64 = source.files().iter().map(|file| extents(file.pages)).sum();
    let cut = |n: u32| total * u64::from(n) / u64::from(of.max(1));
    let start = cut(number.saturating_sub(1));
    let end = cut(number);
    let mut before = 0;
    let mut ranges = Vec::new();
    for file in source.files() {
        let own = extents(file.pages);
        let page = |extent: u64| (extent.clamp(before, before + own) - before) * EXTENT;
        let pages = page(start) as u32..page(end).min(u64::from(u32::MAX)) as u32;
        if !pages.is_empty() {
            ranges.push(PageRange { file: file.id, pages });
        }
        before += own;
    }
    // An empty list would mean all pages.
    if ranges.is_empty() {
        ranges.push(PageRange { file: FileId(0), pages: 0..0 });
    }
    ranges
}

/// Scans a part of a database; the partial as bytes.
///
/// # Errors
/// A page was scanned twice, or what is to be checked does not exist.
pub fn check_part(
    source: &dyn PageSource,
    options: &Options,
    control: &Control<'_>,
    part: &[PageRange],
) -> Result<Vec<u8>, PartialError> {
    let options = shared(source, options);
    let (mut run, planned) = CheckRun::start(source, &options, control);
    let planned = planned.ok_or(PartialError::Digest)?;
    let partial = run.scan_part(&planned.plan, &planned.families, part)?;
    Ok(to_bytes(&partial, digest(&planned, &options)))
}

/// Adds up partials of a database and finishes the check.
///
/// # Errors
/// A partial is damaged, of another database or other options, or covers what another one covers.
pub fn merge_parts<'b>(
    source: &dyn PageSource,
    options: &Options,
    control: &Control<'_>,
    parts: impl IntoIterator<Item = &'b [u8]>,
) -> Result<Report, PartialError> {
    let options = shared(source, options);
    let (mut run, planned) = CheckRun::start(source, &options, control);
    let Some(planned) = planned else { return Ok(run.report) };
    let digest = digest(&planned, &options);
    let mut sum = run.empty_partial(&planned.plan);
    for part in parts {
        sum.merge(read(part, digest, &planned.plan)?)?;
    }
    // Merging may put the comparison off: now it has to be known.
    sum.scan.covered.runs().map(drop)?;
    // Nothing is left to be scanned here: what no part covers is reported as missing.
    let nothing = [PageRange { file: FileId(0), pages: 0..0 }];
    run.check(planned, sum, &nothing, AfterStop::Discard);
    Ok(run.report)
}

/// Goes on with a check that was stopped. `state` is what the last call returned.
///
/// # Errors
/// The state is damaged, or of another database, another state of it, or other options.
pub fn resume(
    source: &dyn PageSource,
    options: &Options,
    control: &Control<'_>,
    state: Option<&[u8]>,
) -> Result<(Report, Option<Vec<u8>>), PartialError> {
    let options = shared(source, options);
    let (mut run, planned) = CheckRun::start(source, &options, control);
    let Some(planned) = planned else { return Ok((run.report, None)) };
    let digest = digest(&planned, &options);
    let sum = match state {
        Some(bytes) => read(bytes, digest, &planned.plan)?,
        None => run.empty_partial(&planned.plan),
    };
    let unfinished = run.check(planned, sum, &[], AfterStop::Keep);
    let state = unfinished.map(|partial| to_bytes(&partial, digest));
    Ok((run.report, state))
}

fn read(bytes: &[u8], digest: u64, plan: &Plan) -> Result<Partial, PartialError> {
    let partial = from_bytes(bytes, digest)?;
    if *partial.sums.key() != plan.key {
        return Err(PartialError::Key);
    }
    // Counts and sums are by unit: a partial with fewer would lose some of them silently.
    if partial.audit.counts.len() != plan.units.len() {
        return Err(PartialError::Digest);
    }
    Ok(partial)
}
