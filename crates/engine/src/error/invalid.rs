//! The validation of options, specifications and names before anything is made. A cause names the
//! option that it is about.
//!
//! No file or catalog is read here: names that exist already are found where they are looked up.

use std::path::Path;

use extentdb_base::size::PAGE_BYTES;

/// UTF-16 units of a name in the catalog: `sysname`.
const NAME_UNITS_MAX: usize = 128;
/// UTF-16 units of a path in the catalog.
const PATH_UNITS_MAX: usize = 260;

/// An option, or a part of a specification, that cannot be as it is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOption {
    /// A number outside of its range.
    #[error("{option} is {value}; it can be from {least} to {most}")]
    OutOfRange {
        /// Path of the option in the specification.
        option: String,
        /// What it is.
        value: u64,
        /// The least that it can be.
        least: u64,
        /// The most that it can be.
        most: u64,
    },
    /// More memory than the machine has.
    #[error(
        "{option} is {frames}, of {PAGE_BYTES} bytes each; the machine has {memory_bytes} bytes of memory"
    )]
    BeyondMemory {
        /// Path of the option in the specification.
        option: String,
        /// Pages in memory, as requested.
        frames: u64,
        /// What the machine has.
        memory_bytes: u64,
    },
    /// A name or path that is empty.
    #[error("{option} is empty")]
    Empty {
        /// Path of the option in the specification.
        option: String,
    },
    /// A name or path with too many characters.
    #[error("{option} has {units} UTF-16 units; it can have {most}")]
    TooLong {
        /// Path of the option in the specification.
        option: String,
        /// How many it has.
        units: usize,
        /// How many it can have.
        most: usize,
    },
    /// A name or path with a NUL character.
    #[error("{option} contains a NUL character")]
    ContainsNul {
        /// Path of the option in the specification.
        option: String,
    },
    /// A name or path that something else of the same kind has.
    #[error("{option}: {name} is used twice")]
    Duplicate {
        /// Path of the option in the specification.
        option: String,
        /// The name or path.
        name: String,
    },
    /// A name that is given to something else.
    #[error("{option}: the name {name} is reserved")]
    Reserved {
        /// Path of the option that is the second with the name.
        option: String,
        /// The name or path that is used twice.
        name: String,
    },
    /// A file larger than it may become.
    #[error("{option} is {bytes_max} bytes, and the file has {bytes} from the beginning")]
    MaximumBelowSize {
        /// Path of the option in the specification.
        option: String,
        /// The file's size.
        bytes: u64,
        /// Size, in bytes, up to which the file may grow.
        bytes_max: u64,
    },
}

impl InvalidOption {
    /// The option: the name of its field, with that of what it is part of,
    /// `filegroups[1].files[0].bytes`.
    pub fn option(&self) -> &str {
        match self {
            InvalidOption::OutOfRange { option, .. }
            | InvalidOption::BeyondMemory { option, .. }
            | InvalidOption::Empty { option }
            | InvalidOption::TooLong { option, .. }
            | InvalidOption::ContainsNul { option }
            | InvalidOption::Duplicate { option, .. }
            | InvalidOption::Reserved { option, .. }
            | InvalidOption::MaximumBelowSize { option, .. } => option,
        }
    }
}

pub(crate) fn verify_range(
    option: &str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), InvalidOption> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(InvalidOption::OutOfRange { option: option.to_owned(), value, least, most })
}

pub(crate) fn verify_text(option: &str, text: &str, most: usize) -> Result<(), InvalidOption> {
    let option = || option.to_owned();
    let units = text.encode_utf16().count();
    if units == 0 {
        return Err(InvalidOption::Empty { option: option() });
    }
    if units > most {
        return Err(InvalidOption::TooLong { option: option(), units, most });
    }
    if text.contains('\0') {
        return Err(InvalidOption::ContainsNul { option: option() });
    }
    Ok(())
}

/// Refuses what is no name of a table, column, index, constraint, schema, file or filegroup.
pub(crate) fn verify_name(option: &str, name: &str) -> Result<(), InvalidOption> {
    verify_text(option, name, NAME_UNITS_MAX)
}

/// Refuses what is no path, or none that the catalog can keep.
pub(crate) fn verify_path(option: &str, path: &Path) -> Result<(), InvalidOption> {
    verify_text(option, &path.display().to_string(), PATH_UNITS_MAX)
}
