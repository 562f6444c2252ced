//! The files that were checked, as the report names them.

use std::path::{Path, PathBuf};

use extentdb_io::File;
use extentdb_report::Input;
use sha2::{Digest, Sha256};

use crate::context::Context;

/// Bytes hashed at a time.
const STEP: usize = 1 << 20;

/// Path, length and, when it is asked for, SHA-256 of each file. An interrupted run hashes nothing
/// more.
pub(super) fn describe(
    paths: &[PathBuf],
    hash: bool,
    context: &Context,
) -> anyhow::Result<Vec<Input>> {
    paths.iter().map(|path| one(path, hash, context)).collect()
}

fn one(path: &Path, hash: bool, context: &Context) -> anyhow::Result<Input> {
    let file = File::open_read(path)?;
    let sha256 = if hash { sha256(&file, context)? } else { None };
    Ok(Input { path: path.display().to_string(), bytes: file.len(), sha256 })
}

fn sha256(file: &File, context: &Context) -> anyhow::Result<Option<String>> {
    let progress = context.progress("hash", file.len());
    let mut digest = Sha256::new();
    let mut buffer = vec![0; STEP];
    let mut at = 0;
    loop {
        if context.interrupt.stopped().is_some() {
            return Ok(None);
        }
        let read = file.read_at(at, &mut buffer)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        at += read as u64;
        progress.add(read as u64, read as u64);
    }
    Ok(Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}
