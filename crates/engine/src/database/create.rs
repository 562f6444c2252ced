//! A new database: its data files from the template, all catalog rows included, then opened like
//! any other.

use std::path::PathBuf;

use extentdb_base::sync::Arc;
use extentdb_template::{DatabaseBuilder, FileName};

use crate::database::Database;
use crate::database::options::Options;
use crate::database::services::Membership;
use crate::database::spec::{DataFileSpec, DatabaseSpec, pages_of, physical_name};
use crate::error::Error;

impl Database {
    /// Makes the files and opens the database. None of the files may exist.
    ///
    /// # Errors
    /// [`Error::Invalid`] when an option or part of the specification cannot be as it is; nothing
    /// has been made then. For others see [`Error`]; files that were begun stay as they are.
    pub fn create(spec: &DatabaseSpec, options: Options) -> Result<Arc<Database>, Error> {
        let member = Membership::alone(&options)?;
        Database::create_in(spec, options, member)
    }

    /// The same among the databases of a server.
    pub(crate) fn create_in(
        spec: &DatabaseSpec,
        options: Options,
        member: Membership,
    ) -> Result<Arc<Database>, Error> {
        let builder = DatabaseBuilder::new(&spec.name);
        Database::build(builder, spec, options, member)
    }

    /// The database of a server that registers all others.
    pub(crate) fn create_master(
        spec: &DatabaseSpec,
        options: Options,
        member: Membership,
    ) -> Result<Arc<Database>, Error> {
        let builder = DatabaseBuilder::new(&spec.name).master();
        Database::build(builder, spec, options, member)
    }

    fn build(
        builder: DatabaseBuilder,
        spec: &DatabaseSpec,
        options: Options,
        member: Membership,
    ) -> Result<Arc<Database>, Error> {
        options.verify()?;
        spec.verify()?;
        let mut names = Vec::new();
        for file in spec.data_files() {
            names.push(FileName {
                name: file.name.clone(),
                path: Some(physical_name(&file.path)),
            });
        }
        names.push(FileName { name: None, path: Some(physical_name(&spec.log.path)) });
        let growth = spec.data_files().map(DataFileSpec::file_growth).collect();
        let seed = spec.identity_seed(&*options.clock);
        let builder = builder.seed(seed).growth(growth).log_growth(spec.log.file_growth());
        let mut builder = builder.file_names(names);
        for (name, files) in &spec.filegroups {
            builder = builder.filegroup(name, files.len());
        }
        let paths = spec.paths();
        let data: Vec<_> = paths.data.iter().map(PathBuf::as_path).collect();
        builder.build_on(&*options.disk, &data)?;
        let database = Database::open_with_new_log(&paths, &spec.log, options, member)?;
        for (file, own) in database.space().files().iter().zip(spec.data_files()) {
            database.space().grow_to(file.id(), pages_of(own.bytes)?)?;
        }
        database.space().recalculate();
        database.checkpoint()?;
        Ok(database)
    }
}
