//! Files that are only read as a database of a server.
//!
//! Pages come from the reader, with all changes of their log; what the engine writes when it opens
//! the database stays in memory (`Instance::mount`).

use std::path::PathBuf;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::Arc;
use extentdb_base::{FileId, ObjectId, PageId};
use extentdb_bind::surroundings::MadeRows;
use extentdb_connection::hooks::NoHooks;
use extentdb_connection::login::Logins;
use extentdb_connection::other_rows::OtherRows;
use extentdb_connection::product::Product;
use extentdb_connection::server::Server;
use extentdb_engine::{
    BackgroundWork, Database as EngineDatabase, Error as EngineError, Instance, InstanceOptions,
    Options, Paths,
};
use extentdb_io::{BaseFile, Error as IoError, FileOp, MemDisk, OverlayDisk};
use extentdb_reader::ReadError;

use super::Database;
use super::files::Files;
use super::scan::Lost;
use super::surroundings::{is_computed, stored};

/// A data file of the reader.
struct PagesOfFile {
    files: Arc<Files>,
    file: FileId,
    pages: u32,
    path: PathBuf,
}

/// A server in memory with the files as its database, for views of the catalog.
pub(super) struct CatalogServer {
    pub(super) server: Arc<Server>,
    pub(super) database: Arc<EngineDatabase>,
}

/// Pages in memory that the catalog of a database is read through.
const CATALOG_FRAMES: usize = 1024;

impl CatalogServer {
    pub(super) fn start(files: &Arc<Files>) -> Result<CatalogServer, EngineError> {
        let options = Options {
            frames: CATALOG_FRAMES,
            ..Options::on(Arc::new(MemDisk::new()))
        };
        let options = InstanceOptions {
            tempdb_files: 1,
            background: BackgroundWork::Sessions,
            ..InstanceOptions::new("server", options)
        };
        let instance = Instance::start(options)?;
        let logins = Logins::default();
        let server = Server::new(instance, Product::default(), logins, Arc::new(NoHooks));
        let database = Database { files: files.clone() }.mount(&server, None)?;
        Ok(CatalogServer { server, database })
    }
}

impl Database {
    /// What the files call the database. A name that is the path of its file, as where clients
    /// attach files, gives the name of the file.
    fn name(&self) -> String {
        let name = self.files.catalog().boot.name.to_string();
        let file = name.rsplit(['\\', '/']).next().unwrap_or_default().trim_end();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        if file.len() < name.trim_end().len() { stem.to_owned() } else { file.to_owned() }
    }

    /// Takes the files into service as a database of a server, by this name, or by the one that
    /// they say.
    ///
    /// # Errors
    /// The name is taken, or the engine cannot read the catalog.
    pub fn mount(
        &self,
        server: &Server,
        name: Option<&str>,
    ) -> Result<Arc<EngineDatabase>, EngineError> {
        let source = self.files.database.source();
        let mut disk = OverlayDisk::new();
        let mut data = Vec::new();
        for (at, file) in source.files().iter().enumerate() {
            // The files of a backup have the path of the backup in common.
            let mut path = file.path.clone().into_os_string();
            if source.files().iter().take(at).any(|other| other.path == file.path) {
                path.push(format!(":{}", file.id));
            }
            let path = PathBuf::from(path);
            let base = PagesOfFile {
                files: self.files.clone(),
                file: file.id,
                pages: file.pages,
                path: path.clone(),
            };
            disk.add(path.clone(), Arc::new(base));
            data.push(path);
        }
        let mut log = data.first().cloned().unwrap_or_default().into_os_string();
        log.push(":log");
        let paths = Paths { data, log: log.into() };
        let name = name.map_or_else(|| self.name(), str::to_owned);
        let mounted = server.instance.mount(&name, &paths, Arc::new(disk))?;
        server.set_other_rows(&mounted, Arc::new(FileRows(self.files.clone())));
        Ok(mounted)
    }
}

/// The tables as the reader reads them.
struct FileRows(Arc<Files>);

impl OtherRows for FileRows {
    fn rows_of(&self, table: ObjectId) -> Option<MadeRows> {
        let table = self.0.catalog().tables.get(&table)?;
        // Nobody would compute them.
        let has_computed = table.columns.iter().any(is_computed);
        (!has_computed).then(|| stored(&self.0, table, Lost::Refused))
    }
}

impl PagesOfFile {
    /// Pages of a read that are not in the files are zeros when others of it are: nobody asked for
    /// each of them.
    fn run(&self, first: u32, buf: &mut [u8]) -> Result<(), ReadError> {
        let source = self.files.database.source();
        let id = |page| PageId { file: self.file, page };
        match source.read_run(id(first), buf) {
            Err(ReadError::NotStored { .. }) if buf.len() > PAGE_BYTES => {}
            done => return done,
        }
        for (page, buf) in (first..).zip(buf.chunks_mut(PAGE_BYTES)) {
            match source.read_run(id(page), buf) {
                Err(ReadError::NotStored { .. }) => buf.fill(0),
                done => done?,
            }
        }
        Ok(())
    }

    fn error(&self, offset: u64, bytes: usize, error: ReadError) -> IoError {
        let source = std::io::Error::other(error);
        IoError::Transfer {
            op: FileOp::Read,
            path: self.path.clone(),
            offset,
            bytes,
            source,
        }
    }
}

impl BaseFile for PagesOfFile {
    fn len(&self) -> u64 {
        u64::from(self.pages) * PAGE_BYTES as u64
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), IoError> {
        let bytes = buf.len();
        let first = (offset / PAGE_BYTES as u64) as u32;
        let before = (offset % PAGE_BYTES as u64) as usize;
        if before == 0 && bytes.is_multiple_of(PAGE_BYTES) {
            return self.run(first, buf).map_err(|error| self.error(offset, bytes, error));
        }
        let mut whole = vec![0; (before + bytes).next_multiple_of(PAGE_BYTES)];
        self.run(first, &mut whole).map_err(|error| self.error(offset, bytes, error))?;
        buf.copy_from_slice(whole.get(before..before + bytes).unwrap_or_default());
        Ok(())
    }
}

impl std::fmt::Debug for PagesOfFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PagesOfFile({})", self.path.display())
    }
}
