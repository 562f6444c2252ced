//! Files as CREATE DATABASE and ALTER DATABASE describe them, in parentheses.

use std::path::{Path, PathBuf};

use extentdb_base::size::PAGE_BYTES;
use extentdb_engine::{DataFileSpec, FileGrowth};
use extentdb_tsql::syntax::{Clause, Literal, Part};

use extentdb_connection::cause::Cause;
use extentdb_connection::message::Message;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// Bytes of a data file whose size is not said.
pub(super) const DATA_BYTES: u64 = 8 << 20;
/// Growth of a file whose growth is not said. A session waits for each growth, and a log that grows
/// by little has many small parts.
pub(super) const GROWTH_BYTES: u64 = 64 << 20;

/// A file as its parentheses describe it.
pub(super) struct File {
    pub(super) name: Option<String>,
    pub(super) path: PathBuf,
    pub(super) bytes: Option<u64>,
    pub(super) limit: Option<u64>,
    pub(super) growth: Option<Size>,
}

#[derive(Clone, Copy)]
pub(super) enum Size {
    Bytes(u64),
    Percent(u32),
}

pub(super) fn files_of(clause: &Clause) -> Result<Vec<File>, Cause> {
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
        path: path.into(),
        bytes: bytes("SIZE")?,
        limit: bytes("MAXSIZE")?,
        growth: size(given("FILEGROWTH"))?,
    })
}

pub(super) fn text(part: Option<&Part>) -> Option<String> {
    match part? {
        Part::Name(name) => Some(name.text.to_string()),
        Part::Literal(Literal::String(own)) => Some(own.value.to_string()),
        _ => None,
    }
}

/// A size; `None` for UNLIMITED, and where there is none.
pub(super) fn size(part: Option<&Part>) -> Result<Option<Size>, Cause> {
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

pub(super) fn pages(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE_BYTES as u64)).unwrap_or(u32::MAX)
}

impl File {
    pub(super) fn data_file(&self) -> DataFileSpec {
        let mut spec = DataFileSpec::new(&self.path, self.bytes.unwrap_or(DATA_BYTES));
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

fn refused(what: &str) -> Cause {
    Cause::not_supported(format!("a database with {what}"))
}

/// The name, or the text that stands for one, among the parts of a clause.
pub(super) fn name_of(clause: &Clause) -> Option<String> {
    text(clause.parts.iter().find(|part| matches!(part, Part::Name(_) | Part::Literal(_))))
}

/// A path of Windows, on a machine that has no such folders, is replaced by its last part in the
/// folder of the server's data, with a message; so is, without one, a name that is no path.
pub(super) fn place_here(run: &mut Run<'_>, path: &mut PathBuf) -> Result<(), Stop> {
    let given = path.to_string_lossy().into_owned();
    let is_of_windows = is_of_windows(&given);
    *path = in_folder(&given, &run.connection.server.instance.options().data);
    if !is_of_windows {
        return Ok(());
    }
    let text = format!(
        "Warning: there is no folder of the file '{given}' on this machine. The file is '{}'.",
        path.display()
    );
    Ok(run.output.message(&Message::info(0, 1, 1, text), false)?)
}

/// Is it a path that clients on Windows write, on another system?
fn is_of_windows(given: &str) -> bool {
    let has_drive = given.as_bytes().get(1) == Some(&b':');
    !cfg!(windows) && (has_drive || given.contains('\\'))
}

/// Where a file lies.
fn in_folder(given: &str, folder: &Path) -> PathBuf {
    if is_of_windows(given) {
        return folder.join(given.rsplit(['\\', '/', ':']).next().unwrap_or(given));
    }
    let path = Path::new(given);
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => folder.join(path),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::in_folder;

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
            assert_eq!(in_folder(given, folder), Path::new(path), "{given}");
        }
    }
}
