//! CREATE DATABASE: a new one with its files, or one that is taken over from its files.
//!
//! Where we differ: a database has one log file, whose logical name is the database's with `_log`.

use std::path::{Path, PathBuf};

use extentdb_base::size::PAGE_BYTES;
use extentdb_engine::{DataFileSpec, DatabaseSpec, FileGrowth, LogGrowth, Paths};
use extentdb_tsql::syntax::{AdminStatement, Clause, Literal, Part};

use super::Compiled;
use super::database::verify_outside;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// Bytes of the data file of a new database.
const DATA_BYTES: u64 = 8 << 20;
const LOG_BYTES: u64 = 8 << 20;
/// Growth of a file whose growth is not said. A session waits for each growth, and a log that grows
/// by little has many small parts.
const GROWTH_BYTES: u64 = 64 << 20;
/// The collation of every new database.
const COLLATION: &str = "SQL_Latin1_General_CP1_CI_AS";

/// CREATE DATABASE, its clauses read.
struct Create {
    name: String,
    primary: Vec<File>,
    filegroups: Vec<(String, Vec<File>)>,
    log: Option<File>,
    is_attached: bool,
}

/// A file as its parentheses describe it.
struct File {
    name: Option<String>,
    path: PathBuf,
    bytes: Option<u64>,
    limit: Option<u64>,
    growth: Option<Size>,
}

#[derive(Clone, Copy)]
enum Size {
    Bytes(u64),
    Percent(u32),
}

pub(super) fn compile(admin: &AdminStatement, name: String) -> Compiled {
    let clause = &admin.clause;
    verify_options(clause)?;
    let files = clause.first("files");
    let primary = files.map_or(Ok(Vec::new()), files_of)?;
    let groups = files.into_iter().flat_map(|files| files.all("more_files"));
    let filegroups: Result<Vec<_>, Cause> = groups
        .filter_map(|more| more.first("filegroup_files"))
        .map(|group| Ok((filegroup_name(group)?, files_of(group)?)))
        .collect();
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

/// A path as clients on Windows write it leads to a file of this name in the folder of the
/// databases.
fn path_of(given: &str) -> PathBuf {
    let has_drive = given.chars().next().is_some_and(|it| it.is_ascii_alphabetic())
        && matches!(given.get(1..3), Some(":\\" | ":/"));
    if cfg!(windows) || !(has_drive || given.starts_with("\\\\")) {
        return given.into();
    }
    given.rsplit(['\\', '/']).next().unwrap_or(given).into()
}

fn filegroup_name(group: &Clause) -> Result<String, Cause> {
    if group.has("CONTAINS") {
        return Err(refused("a filegroup of FILESTREAM or MEMORY_OPTIMIZED_DATA"));
    }
    if group.has("DEFAULT") {
        return Err(refused("another default filegroup than PRIMARY"));
    }
    Ok(text(group.parts.iter().find(|part| matches!(part, Part::Name(_) | Part::Literal(_))))
        .unwrap_or_default())
}

fn files_of(clause: &Clause) -> Result<Vec<File>, Cause> {
    clause.all("file").map(file).collect()
}

fn file(clause: &Clause) -> Result<File, Cause> {
    let given = |word: &str| clause.all("file_option").find_map(|option| option.after(word));
    if clause.all("file_option").any(|option| option.has("OFFLINE") || option.has("NEWNAME")) {
        return Err(refused("files that are OFFLINE or have a NEWNAME"));
    }
    let path = text(given("FILENAME")).ok_or_else(|| refused("a file without FILENAME"))?;
    let bytes = |word: &str| match size(given(word))? {
        Some(Size::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Size::Percent(_)) => Err(refused("a size in percent")),
        None => Ok(None),
    };
    Ok(File {
        name: text(given("NAME")),
        path: path_of(&path),
        bytes: bytes("SIZE")?,
        limit: bytes("MAXSIZE")?,
        growth: size(given("FILEGROWTH"))?,
    })
}

fn text(part: Option<&Part>) -> Option<String> {
    match part? {
        Part::Name(name) => Some(name.text.to_string()),
        Part::Literal(Literal::String(own)) => Some(own.value.to_string()),
        _ => None,
    }
}

/// A size; `None` for UNLIMITED, and where there is none.
fn size(part: Option<&Part>) -> Result<Option<Size>, Cause> {
    let Some(Part::Clause(size)) = part else { return Ok(None) };
    let number = size.literals().find_map(|literal| match literal {
        Literal::Integer(digits) => digits.parse::<u64>().ok(),
        _ => None,
    });
    let number = number.ok_or_else(|| refused("a size that is no whole number"))?;
    let is_percent = size.parts.iter().any(|part| matches!(part, Part::Symbol("%")));
    if is_percent || size.has("%") {
        return Ok(Some(Size::Percent(u32::try_from(number).unwrap_or(u32::MAX))));
    }
    let shift = match () {
        () if size.has("KB") => 10,
        () if size.has("GB") => 30,
        () if size.has("TB") => 40,
        () => 20,
    };
    let bytes = number.checked_mul(1 << shift).ok_or_else(|| refused("a size above 16 EB"))?;
    Ok(Some(Size::Bytes(bytes)))
}

fn pages(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE_BYTES as u64)).unwrap_or(u32::MAX)
}

impl File {
    fn data_file(&self, folder: &Path) -> DataFileSpec {
        let mut spec =
            DataFileSpec::new(in_folder(&self.path, folder), self.bytes.unwrap_or(DATA_BYTES));
        spec.name.clone_from(&self.name);
        spec.bytes_max = self.limit;
        spec.growth = FileGrowth::Pages(pages(GROWTH_BYTES));
        match self.growth {
            Some(Size::Bytes(bytes)) => spec.growth = FileGrowth::Pages(pages(bytes)),
            Some(Size::Percent(percent)) => spec.growth = FileGrowth::Percent(percent),
            None => {}
        }
        spec
    }
}

impl Create {
    fn spec(&self, folder: &Path) -> DatabaseSpec {
        let mut spec = DatabaseSpec::new(&self.name, folder, DATA_BYTES);
        for file in &mut spec.files {
            file.growth = FileGrowth::Pages(pages(GROWTH_BYTES));
        }
        spec.log.bytes = LOG_BYTES;
        spec.log.growth = LogGrowth::Pages(pages(GROWTH_BYTES));
        let all =
            |files: &[File]| files.iter().map(|file| file.data_file(folder)).collect::<Vec<_>>();
        if let Some(primary) = self.primary.first() {
            spec.files = all(&self.primary);
            // The log lies beside the primary file.
            if let Some(beside) = in_folder(&primary.path, folder).parent() {
                spec.log.path = beside.join(format!("{}_log.ldf", self.name));
            }
        }
        spec.filegroups =
            self.filegroups.iter().map(|(name, files)| (name.clone(), all(files))).collect();
        if let Some(log) = &self.log {
            spec.log.path = in_folder(&log.path, folder);
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
    fn paths(&self, folder: &Path) -> Result<Paths, Cause> {
        let is_log = |file: &&File| {
            let extension = file.path.extension().unwrap_or_default();
            extension.eq_ignore_ascii_case("ldf")
        };
        let groups = self.filegroups.iter().flat_map(|(_, files)| files);
        let listed: Vec<&File> = self.primary.iter().chain(groups).collect();
        let data: Vec<PathBuf> = listed
            .iter()
            .filter(|file| !is_log(file))
            .map(|file| in_folder(&file.path, folder))
            .collect();
        let primary = data.first().ok_or_else(|| refused("FOR ATTACH and no data file"))?;
        let named = self.log.as_ref().or_else(|| listed.iter().copied().find(|file| is_log(file)));
        let log = named.map_or_else(|| log_beside(primary), |log| in_folder(&log.path, folder));
        Ok(Paths { data, log })
    }
}

/// A file whose folder is not said lies in that of the databases.
fn in_folder(path: &Path, folder: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => folder.join(path),
        _ => path.to_owned(),
    }
}

fn log_beside(primary: &Path) -> PathBuf {
    let stem = primary.file_stem().unwrap_or_default().to_string_lossy();
    primary.with_file_name(format!("{stem}_log.ldf"))
}

impl Step for Create {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        verify_outside(run, "CREATE DATABASE")?;
        let instance = run.connection.server.instance.clone();
        let made = if self.is_attached {
            instance.attach(&self.name, &self.paths(&instance.options().data)?)
        } else {
            let mut spec = self.spec(&instance.options().data);
            let mut seed = [0; 8];
            run.connection.server.hooks.random(&mut seed);
            spec.seed = u64::from_le_bytes(seed);
            instance.create_database(&spec)
        };
        made.map_err(|error| run.connection.engine_cause(&error))?;
        run.done(frame.scope, StatementCode::CreateDatabase, None, false)?;
        Ok(RowCount::Rows(0))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{in_folder, path_of};

    #[cfg(not(windows))]
    #[test]
    fn paths_of_windows_lie_in_the_folder_of_the_databases() {
        let folder = Path::new("/data");
        let cases = [
            (r"C:\Program Files\MSSQL\a.mdf", "/data/a.mdf"),
            (r"d:/x/a.mdf", "/data/a.mdf"),
            (r"\\host\share\a.mdf", "/data/a.mdf"),
            ("a.mdf", "/data/a.mdf"),
            ("/var/a.mdf", "/var/a.mdf"),
        ];
        for (given, path) in cases {
            assert_eq!(in_folder(&path_of(given), folder), Path::new(path), "{given}");
        }
    }
}
