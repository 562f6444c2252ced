//! A database that comes and goes, with its filegroup and files.
//!
//! Each step leads to a state; after a power cut within it the database is in the state before or
//! after.

use std::path::Path;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{
    DataFileSpec, DatabaseChange, DatabaseFileChange, DatabaseSpec, DatabaseState, Error,
    FileChange, FilegroupChange, Instance, Paths, TableSpec, Termination,
};

use super::{datums, rows_of, table_spec};

const NAME: &str = "extra";
const GROUP: &str = "G";
const FILE_BYTES: u64 = 1 << 20;
/// Rows of its table: more than the file has at first.
const ROWS: i32 = 80;

/// A step of the life of the database, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    None,
    Created,
    /// With a filegroup of no files.
    Grouped,
    /// With a file in it.
    WithFile,
    /// With a table there.
    WithTable,
    /// The file is larger, and has another name.
    Modified,
    /// The table is dropped.
    Emptied,
    /// The file is removed.
    WithoutFile,
    /// The filegroup is removed.
    WithoutGroup,
}

/// The state of the database.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Extra {
    stage: Stage,
    is_offline: bool,
}

impl Extra {
    /// What comes next.
    pub(super) fn next(&self, rng: &mut SplitMix64) -> Extra {
        use Stage::{
            Created, Emptied, Grouped, Modified, None, WithFile, WithTable, WithoutFile,
            WithoutGroup,
        };
        if self.is_offline {
            return Extra { is_offline: false, ..*self };
        }
        if self.stage != None && rng.below(8) == 0 {
            return Extra { is_offline: true, ..*self };
        }
        let stage = match self.stage {
            None => Created,
            Created => Grouped,
            Grouped => WithFile,
            WithFile => WithTable,
            WithTable => Modified,
            Modified => Emptied,
            Emptied => WithoutFile,
            WithoutFile => WithoutGroup,
            WithoutGroup => None,
        };
        Extra { stage, is_offline: false }
    }

    /// The names of its data files.
    fn files(&self) -> Vec<&'static str> {
        match self.stage {
            Stage::None => vec![],
            Stage::WithFile | Stage::WithTable => vec![NAME, "one"],
            Stage::Modified | Stage::Emptied => vec![NAME, "two"],
            _ => vec![NAME],
        }
    }

    fn has_table(&self) -> bool {
        matches!(self.stage, Stage::WithTable | Stage::Modified)
    }

    fn has_group(&self) -> bool {
        !matches!(self.stage, Stage::None | Stage::Created | Stage::WithoutGroup)
    }

    pub(super) fn change_to(&self, after: &Extra, server: &Instance) -> Result<(), Error> {
        let set = |change| server.change_database(NAME, change, Termination::NoWait, None);
        if after.is_offline != self.is_offline {
            let is_offline = after.is_offline;
            return set(if is_offline { DatabaseChange::Offline } else { DatabaseChange::Online });
        }
        let files = |change: DatabaseFileChange| server.change_files(NAME, &change, None);
        let group =
            |change| files(DatabaseFileChange::Filegroup { name: GROUP.to_owned(), change });
        match after.stage {
            Stage::None => server.drop_database(NAME, Termination::NoWait),
            Stage::Created => {
                let spec = DatabaseSpec::new(NAME, "", 2 << 20);
                let Paths { data, log } = spec.paths();
                data.iter().chain([&log]).try_for_each(|path| remove_leftover(server, path))?;
                server.create_database(&spec).map(drop)
            }
            Stage::Grouped => group(FilegroupChange::Add),
            Stage::WithFile => {
                remove_leftover(server, "one.ndf".as_ref())?;
                files(DatabaseFileChange::Add {
                    file: DataFileSpec {
                        name: Some("one".to_owned()),
                        ..DataFileSpec::new("one.ndf", FILE_BYTES)
                    },
                    filegroup: Some(GROUP.to_owned()),
                })
            }
            Stage::WithTable => fill(server),
            Stage::Modified => files(DatabaseFileChange::Modify {
                name: "one".to_owned(),
                change: FileChange {
                    name: Some("two".to_owned()),
                    bytes: Some(4 * FILE_BYTES),
                    ..FileChange::default()
                },
            }),
            Stage::Emptied => {
                let mut session = server.session(NAME)?;
                let table = session.table("t")?;
                session.drop_table(&table)
            }
            Stage::WithoutFile => files(DatabaseFileChange::Remove { name: "two".to_owned() }),
            Stage::WithoutGroup => group(FilegroupChange::Remove),
        }
    }

    /// Is the database in this state?
    pub(super) fn verify(&self, server: &Instance) -> Result<(), String> {
        let infos = server.databases();
        let found = infos.iter().find(|info| info.name == NAME);
        let Some(found) = found.filter(|_| self.stage != Stage::None) else {
            let is_right = found.is_none() && self.stage == Stage::None;
            return if is_right { Ok(()) } else { Err(format!("{self:?}, and {found:?}")) };
        };
        let files = found.files.iter().filter(|file| !file.is_log);
        let files: Vec<&str> = files.map(|file| file.name.as_str()).collect();
        let is_offline = matches!(found.state, DatabaseState::Offline);
        if files != self.files() || is_offline != self.is_offline {
            return Err(format!("{self:?}: {files:?}, {:?}", found.state));
        }
        if is_offline {
            return Ok(());
        }
        let database = server.database(NAME).map_err(|error| format!("{self:?}: {error}"))?;
        let has_group = database.filegroups().iter().any(|name| name == GROUP);
        if has_group != self.has_group() {
            return Err(format!("{self:?}: filegroup {has_group}"));
        }
        drop(database);
        let rows = || -> Result<Option<usize>, Error> {
            let mut session = server.session(NAME)?;
            match session.table("t") {
                Ok(table) => Ok(Some(rows_of(&mut session, &table)?.len())),
                Err(Error::NoTable { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let expected = self.has_table().then_some(ROWS as usize);
        match rows() {
            Ok(rows) if rows == expected => Ok(()),
            other => Err(format!("{self:?}: rows {other:?}")),
        }
    }
}

/// What a power cut has left of a file belongs to nobody.
fn remove_leftover(server: &Instance, path: &Path) -> Result<(), Error> {
    let disk = &server.options().database.disk;
    if disk.exists(path) { Ok(disk.remove(path)?) } else { Ok(()) }
}

/// The table and its rows, in one transaction.
fn fill(server: &Instance) -> Result<(), Error> {
    let mut session = server.session(NAME)?;
    session.begin();
    let spec = TableSpec { filegroup: Some(GROUP.to_owned()), ..table_spec("t") };
    let table = session.create_table(&spec)?;
    for id in 0..ROWS {
        session.insert(&table, &datums(id, &[b'e'; 3000]))?;
    }
    session.commit()
}
