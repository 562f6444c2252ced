//! What the catalog says of files and filegroups that file headers have no room for.

use extentdb_base::sync::read;
use extentdb_space::FileSettings;

use crate::database::Database;
use crate::error::Error;

impl Database {
    /// The filegroups with AUTOGROW_ALL_FILES.
    ///
    /// # Errors
    /// A page of the catalog cannot be read.
    pub fn autogrow_all_files(&self) -> Result<Vec<i16>, Error> {
        self.catalog.autogrow_all_files()
    }

    /// The names of the filegroups, in the order of their numbers.
    pub fn filegroups(&self) -> Vec<String> {
        read(&self.catalog.filegroups).names().map(str::to_owned).collect()
    }

    /// The filegroups that are READ_ONLY.
    pub fn read_only_filegroups(&self) -> Vec<i16> {
        self.catalog.read_only_groups()
    }

    /// What the catalog says of files and filegroups that their headers have no room for.
    pub(crate) fn load_file_settings(&self) -> Result<(), Error> {
        for group in self.catalog.autogrow_all_files()? {
            self.space.set_grows_all_files(group, true);
        }
        for file in self.space.files() {
            let Some(name) = self.catalog.data_file_name(file.id())? else { continue };
            let description = file.description();
            if description.name != name {
                self.space.set_file_settings(
                    file.id(),
                    FileSettings {
                        name,
                        growth: description.growth,
                        pages_max: description.pages_max,
                    },
                )?;
            }
        }
        Ok(())
    }
}
