//! The files at the end of a run, with the rows that must be in them, for other checkers and
//! readers.
//!
//! ```text
//! DIR/seed-7/life.mdf  more0.ndf  life_log.ldf   closed; after a failure as they were
//!            life.mdf.dw                        and other files of the engine
//!            rows/dbo.t3.jsonl                   as `extentdb export --format jsonl` writes them,
//!                                                by the first column
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use extentdb_io::MemDisk;
use extentdb_types::json::write_json;

use crate::environment::Environment;
use crate::model::{Model, TableModel};

/// The files of a run.
#[derive(Clone, Debug, Default)]
pub struct KeptFiles {
    /// Contents by path in the folder.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl KeptFiles {
    pub(crate) fn of(memory: &MemDisk, environment: &Environment, model: &Model) -> KeptFiles {
        let paths = environment.paths();
        let mut kept = KeptFiles::default();
        let is_known = |path: &PathBuf| paths.data.contains(path) || *path == paths.log;
        let others: Vec<PathBuf> =
            memory.paths().into_iter().filter(|path| !is_known(path)).collect();
        for path in paths.data.iter().chain([&paths.log]).chain(&others) {
            kept.files.extend(memory.contents(path).map(|bytes| (path.clone(), bytes)));
        }
        for (name, table) in model {
            let path = Path::new("rows").join(format!("dbo.{name}.jsonl"));
            kept.files.push((path, lines(table).into_bytes()));
        }
        kept
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        for (path, bytes) in &self.files {
            let path = folder.join(path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, bytes)?;
        }
        Ok(())
    }
}

/// The rows as JSON lines, by id.
fn lines(table: &TableModel) -> String {
    let mut lines = String::new();
    for stored in table.rows.values() {
        lines.push('{');
        for (at, (column, value)) in table.spec.columns.iter().zip(&*stored.row).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(lines, "{comma}\"{}\":", column.name);
            let _ = write_json(value, &mut lines);
        }
        lines.push_str("}\n");
    }
    lines
}
