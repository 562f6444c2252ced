//! What a life leaves behind, for others to look at: its files, and the rows that must be in them.
//!
//! ```text
//! DIR/seed-7/life.mdf  more0.ndf  life_log.ldf      closed; after a failure as they were found
//!            life.mdf.dw                           and whatever else the engine left there
//!            rows/dbo.t3.jsonl                      as `extentdb export --format jsonl` writes them, by the first column
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use extentdb_io::MemDisk;
use extentdb_types::json::write_json;

use crate::model::{Model, TableModel};
use crate::world::World;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Contents by their place in the folder.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl Kept {
    pub(crate) fn of(memory: &MemDisk, world: &World, model: &Model) -> Kept {
        let paths = world.paths();
        let mut kept = Kept::default();
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
    /// As the file system has them.
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
