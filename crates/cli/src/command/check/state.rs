//! `check --state FILE`: a run that stops leaves what it has, and the next one goes on from there.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;
use extentdb_check::{Options, Report, resume};
use extentdb_reader::OpenedFiles;

use super::{watched, with_recovered};
use crate::context::Context;
use crate::output::partial_name;

/// Checks what the state does not cover yet. The file is written when the run stops, and removed
/// when it is complete.
pub(super) fn check(
    path: &Path,
    opened: &OpenedFiles,
    options: &Options,
    context: &Context,
) -> anyhow::Result<Report> {
    let path_text = || path.display().to_string();
    let state = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(path_text),
    };
    let outcome = with_recovered(opened, options, |source, options| {
        watched(context, |control| resume(source, options, control, state.as_deref()))
    });
    let (report, rest) = outcome.with_context(path_text)?;
    match rest {
        Some(bytes) => {
            // Beside the old state first: a crash in between must not lose both.
            let new = partial_name(path);
            fs::write(&new, bytes).and_then(|()| fs::rename(&new, path)).with_context(path_text)?;
        }
        None if state.is_some() => fs::remove_file(path).with_context(path_text)?,
        None => {}
    }
    Ok(report)
}
