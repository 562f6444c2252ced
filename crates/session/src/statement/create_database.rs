//! CREATE DATABASE: a new one with its files, or one that is taken over from its files.
//!
//! Where we differ: a database has one log file, whose logical name is the database's with `_log`.

use std::path::{Path, PathBuf};

use extentdb_engine::{
    DatabaseFileChange, DatabaseSpec, FileGrowth, FilegroupChange, LogGrowth, Paths,
    PrincipalChange,
};
use extentdb_tsql::syntax::{AdminStatement, Clause, Part};

use super::Compiled;
use super::database::verify_outside;
use super::file_spec::{
    DATA_BYTES, File, GROWTH_BYTES, Size, files_of, name_of, pages, place_here,
};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::security::DBO;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

const LOG_BYTES: u64 = 8 << 20;
/// The collation of every new database.
const COLLATION: &str = "SQL_Latin1_General_CP1_CI_AS";

/// CREATE DATABASE, its clauses read.
struct Create {
    name: String,
    primary: Vec<File>,
    filegroups: Vec<Filegroup>,
    log: Option<File>,
    is_attached: bool,
}

/// A filegroup and its files.
struct Filegroup {
    name: String,
    files: Vec<File>,
    is_default: bool,
}

pub(super) fn compile(admin: &AdminStatement, name: String) -> Compiled {
    let clause = &admin.clause;
    verify_options(clause)?;
    let files = clause.first("files");
    let primary = files.map_or(Ok(Vec::new()), files_of)?;
    let groups = files.into_iter().flat_map(|files| files.all("more_files"));
    let filegroups: Result<Vec<_>, Cause> =
        groups.filter_map(|more| more.first("filegroup_files")).map(filegroup).collect();
    let mut logs = files_of(clause)?;
    if logs.len() > 1 {
        return Err(refused("several log files"));
    }
    let log = logs.pop();
    let own_name = format!("{name}_log");
    let is_other = |given: &String| !given.eq_ignore_ascii_case(&own_name);
    if log.as_ref().and_then(|log| log.name.as_ref()).is_some_and(is_other) {
        return Err(refused("a log whose NAME is not that of the database with _log"));
    }
    let is_attached = clause.first("attach").is_some();
    Ok(Box::new(Create { name, primary, filegroups: filegroups?, log, is_attached }))
}

fn refused(what: &str) -> Cause {
    Cause::not_supported(format!("CREATE DATABASE with {what}"))
}

/// What is not about files.
fn verify_options(clause: &Clause) -> Result<(), Cause> {
    if clause.has("PARTIAL") {
        return Err(refused("CONTAINMENT = PARTIAL"));
    }
    if let Some(Part::Name(collation)) = clause.after("COLLATE")
        && !collation.text.eq_ignore_ascii_case(COLLATION)
    {
        return Err(refused(&format!("the collation {}", collation.text)));
    }
    if clause.first("snapshot").is_some() {
        return Err(refused("AS SNAPSHOT OF or AS COPY OF"));
    }
    for option in clause.all("create_database_option") {
        verify_option(option)?;
    }
    match clause.first("attach") {
        Some(attach) if !attach.has("ATTACH") => Err(refused("ATTACH_REBUILD_LOG")),
        Some(attach) if attach.first("attach_option").is_some() => {
            Err(refused("options of ATTACH"))
        }
        _ => Ok(()),
    }
}

/// An option after WITH: accepted where it asks for what databases here are.
fn verify_option(option: &Clause) -> Result<(), Cause> {
    let words: Vec<&str> = option
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Word(word) => Some(*word),
            _ => None,
        })
        .collect();
    let name = words.first().copied().unwrap_or_default();
    let is_off = option.first("switch").is_some_and(|switch| switch.has("OFF"));
    let is_accepted = match name {
        "CATALOG_COLLATION" => matches!(
            option.after("CATALOG_COLLATION"),
            Some(Part::Name(given)) if given.text.eq_ignore_ascii_case("DATABASE_DEFAULT")
                || given.text.eq_ignore_ascii_case(COLLATION)
        ),
        "DB_CHAINING" | "TRUSTWORTHY" | "LEDGER" => is_off,
        "FILESTREAM" => option.all("filestream_option").all(|it| it.has("OFF")),
        _ => false,
    };
    if is_accepted { Ok(()) } else { Err(refused(&format!("the option {name}"))) }
}

fn filegroup(group: &Clause) -> Result<Filegroup, Cause> {
    if group.has("CONTAINS") {
        return Err(refused("a filegroup of FILESTREAM or MEMORY_OPTIMIZED_DATA"));
    }
    Ok(Filegroup {
        name: name_of(group).unwrap_or_default(),
        files: files_of(group)?,
        is_default: group.has("DEFAULT"),
    })
}

impl Create {
    fn spec(&self, folder: &Path) -> DatabaseSpec {
        let mut spec = DatabaseSpec::new(&self.name, folder, DATA_BYTES);
        for file in &mut spec.files {
            file.growth = FileGrowth::Pages(pages(GROWTH_BYTES));
        }
        spec.log.bytes = LOG_BYTES;
        spec.log.growth = LogGrowth::Pages(pages(GROWTH_BYTES));
        let all = |files: &[File]| files.iter().map(File::data_file).collect::<Vec<_>>();
        if let Some(primary) = self.primary.first() {
            spec.files = all(&self.primary);
            // The log lies beside the primary file.
            if let Some(folder) = primary.path.parent() {
                spec.log.path = folder.join(format!("{}_log.ldf", self.name));
            }
        }
        let groups = self.filegroups.iter();
        spec.filegroups = groups.map(|group| (group.name.clone(), all(&group.files))).collect();
        if let Some(log) = &self.log {
            spec.log.path.clone_from(&log.path);
            spec.log.bytes = log.bytes.unwrap_or(spec.log.bytes);
            spec.log.bytes_max = log.limit;
            match log.growth {
                Some(Size::Bytes(0)) => spec.log.growth = LogGrowth::None,
                Some(Size::Bytes(bytes)) => spec.log.growth = LogGrowth::Pages(pages(bytes)),
                Some(Size::Percent(percent)) => spec.log.growth = LogGrowth::Percent(percent),
                None => {}
            }
        }
        spec
    }

    /// The files of a database that is attached. The log may be listed among the data files, as
    /// the product allows; without one it is where the product puts it.
    fn paths(&self) -> Result<Paths, Cause> {
        let is_log = |file: &&File| {
            let extension = file.path.extension().unwrap_or_default();
            extension.eq_ignore_ascii_case("ldf")
        };
        let groups = self.filegroups.iter().flat_map(|group| &group.files);
        let listed: Vec<&File> = self.primary.iter().chain(groups).collect();
        let data: Vec<PathBuf> =
            listed.iter().filter(|file| !is_log(file)).map(|file| file.path.clone()).collect();
        let primary = data.first().ok_or_else(|| refused("FOR ATTACH and no data file"))?;
        let named = self.log.as_ref().or_else(|| listed.iter().copied().find(|file| is_log(file)));
        let log = named.map_or_else(|| log_beside(primary), |log| log.path.clone());
        Ok(Paths { data, log })
    }
}

fn log_beside(primary: &Path) -> PathBuf {
    let stem = primary.file_stem().unwrap_or_default().to_string_lossy();
    primary.with_file_name(format!("{stem}_log.ldf"))
}

impl Create {
    /// Makes the database; a filegroup that is to be the default one becomes it afterwards.
    fn create(&self, run: &mut Run<'_>) -> Result<(), Stop> {
        let instance = run.connection.server.instance.clone();
        let mut spec = self.spec(&instance.options().data);
        let groups = spec.filegroups.iter_mut().flat_map(|(_, files)| files);
        let data = spec.files.iter_mut().chain(groups).map(|file| &mut file.path);
        for path in data.chain([&mut spec.log.path]) {
            place_here(run, path)?;
        }
        let mut seed = [0; 8];
        run.connection.server.hooks.random(&mut seed);
        spec.seed = u64::from_le_bytes(seed);
        let failed = |error| run.connection.engine_cause(&error);
        drop(instance.create_database(&spec).map_err(failed)?);
        if let Some(default) = self.filegroups.iter().find(|group| group.is_default) {
            let change = DatabaseFileChange::Filegroup {
                name: default.name.clone(),
                change: FilegroupChange::Default,
            };
            instance.change_files(&self.name, &change, None).map_err(failed)?;
        }
        Ok(())
    }
}

impl Create {
    /// Who makes a database is its owner, dbo.
    fn set_owner(&self, run: &mut Run<'_>) -> Result<(), Stop> {
        let Some(login) = run.connection.acting_login().filter(|login| login.id != SA_ID) else {
            return Ok(());
        };
        let instance = run.connection.server.instance.clone();
        let failed = |run: &Run<'_>, error| Stop::from(run.connection.engine_cause(&error));
        let database = instance.database(&self.name).map_err(|error| failed(run, error))?;
        let change = PrincipalChange { sid: Some(login.sid.clone()), ..PrincipalChange::default() };
        let done = run
            .connection
            .in_database(&database, |connection| connection.session.alter_principal(DBO, &change));
        done.map_err(|error| failed(run, error))?;
        let set = instance.set_owner(&database, &login.sid);
        set.map_err(|error| failed(run, error))
    }
}

/// Principal id of sa, whose databases are when nothing is said.
const SA_ID: i32 = 1;

impl Step for Create {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        verify_outside(run, "CREATE DATABASE")?;
        if self.is_attached {
            let instance = run.connection.server.instance.clone();
            let mut paths = self.paths()?;
            for path in paths.data.iter_mut().chain([&mut paths.log]) {
                place_here(run, path)?;
            }
            let attached = instance.attach(&self.name, &paths);
            attached.map_err(|error| run.connection.engine_cause(&error))?;
        } else {
            self.create(run)?;
        }
        self.set_owner(run)?;
        run.done(frame.scope, StatementCode::CreateDatabase, None, false)?;
        Ok(RowCount::Rows(0))
    }
}
