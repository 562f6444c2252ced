//! `cargo x gen collation FOLDER`: `crates/types/data/collation.bin` out of tables of sorting
//! weights.
//!
//! The folder holds `weights-*.tsv`, `expansions-*.tsv`, `tailoring-win10.tsv` and
//! `ideographs-win10-*.tsv`; each names its origins in its head. The format of the file is
//! described in `docs/format/collation.md`.

use std::path::Path;

use anyhow::{Context, Result};

mod alike;
mod source;
mod tables;

/// Writes the file.
pub fn run(root: &Path, folder: &Path) -> Result<()> {
    let source = source::Source::read(folder)?;
    let bytes = tables::build(&source)?;
    let path = root.join("crates/types/data/collation.bin");
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{}: {} bytes", path.display(), bytes.len());
    Ok(())
}
