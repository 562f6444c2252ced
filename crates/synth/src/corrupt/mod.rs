//! Makes one known fault in a copy of a database, and says which.
//!
//! ```text
//! damage(input files, output files, kind, seed)
//!   target        finds pages, extents and links of user tables that the fault can be done to; the seed picks one
//!   page, map, link, file   one function per kind of fault: new images of one or two pages
//!   truth         what was changed, byte by byte, and which messages a check must and may report
//! ```
//!
//! Invariants
//! - The input is only read; output files must not exist.
//! - Everything but the fault stays as it was: the page checksum is recomputed, unless the fault is raw damage, where a
//!   wrong checksum is the point.

mod file;
mod link;
mod map;
mod page;
mod target;
mod truth;

use std::fmt;
use std::path::Path;

use extentdb_base::env::SplitMix64;
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{FileId, ObjectId, PageId};
use extentdb_format::PageBuf;
use extentdb_io::File;

pub use truth::{Change, Truth};

use crate::Error;
use crate::image::Image;
use target::Target;

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal needs $needs:tt by $function:path,)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind,)*];

            /// The name used on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// What a database must have for this fault.
            pub const fn needs(self) -> &'static str {
                match self {
                    $(Kind::$kind => $needs,)*
                }
            }

            /// Makes the fault in memory; `None` when there is nothing to make it in.
            fn make(self, target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
                match self {
                    $(Kind::$kind => $function(target, rng),)*
                }
            }
        }
    };
}

const ROWS: &str = "a user table's heap page with two rows, or leaf page with two rows between two others";
const ROWS_WITH_CHECKSUM: &str =
    "a checksummed heap page of a user table with two rows, or leaf page with two rows between two others";

kinds! {
    /// A bit of a row flips; the checksum is wrong from then on.
    FlippedByte "flipped-byte" needs ROWS_WITH_CHECKSUM by page::flipped_byte,
    /// The last sector of a page is that of another page of its table; the checksum is wrong.
    TornSector "torn-sector" needs "two protected pages of user tables" by page::torn_sector,
    /// The page header names the next page.
    PageIdWrong "page-id" needs ROWS by page::page_id,
    /// The page header names another table's allocation unit.
    OwnerWrong "owner" needs ROWS by page::owner,
    /// A slot points into the page header.
    SlotOffset "slot-offset" needs ROWS by page::slot_offset,
    /// The header says that two bytes more are free.
    FreeCount "free-count" needs ROWS by page::free_count,
    /// A row says that its fixed part ends behind the page.
    RecordLength "record-length" needs ROWS by page::record_length,
    /// PFS says that a leaf page is not allocated.
    PfsBit "pfs-bit" needs "a clustered index of three leaf pages" by map::pfs_allocated,
    /// PFS says that a page of a uniform extent is in a mixed one.
    PfsMixedBit "pfs-mixed-bit" needs "a user table with an extent of its own" by map::pfs_mixed,
    /// GAM says that an extent of a table is free.
    GamBit "gam-bit" needs "a user table with an extent of its own" by map::gam_free,
    /// GAM says that a free extent is allocated.
    GamLostExtent "gam-lost-extent" needs "a free extent" by map::gam_lost,
    /// SGAM says that an extent of a table is mixed.
    SgamBit "sgam-bit" needs "a user table with an extent of its own" by map::sgam_owned,
    /// SGAM says that a free extent is mixed.
    SgamFreeExtent "sgam-free-extent" needs "a free extent" by map::sgam_free,
    /// An IAM page claims a free extent.
    IamBit "iam-bit" needs "a free extent, and a user table" by map::iam_claims,
    /// An IAM page no longer lists an extent of its table.
    IamLostExtent "iam-lost-extent" needs "a user table with an extent of its own" by map::iam_loses,
    /// A leaf page has no next page, although it is not the last.
    SiblingLink "sibling-link" needs "a clustered index of three leaf pages" by link::next_none,
    /// A leaf page has no previous page, although it is not the first.
    PreviousLink "previous-link" needs "a clustered index of three leaf pages" by link::previous_none,
    /// The file ends before its last allocated extent.
    TruncatedFile "truncated-file" needs "a user table whose extent is the last of its file" by file::truncated,
    /// A page was written over another one.
    ForeignPage "foreign-page" needs "a user table of two pages" by file::foreign_page,
}

impl Kind {
    /// The kind of a name.
    ///
    /// # Errors
    /// There is none; the error lists all.
    pub fn from_name(name: &str) -> Result<Kind, Error> {
        let known = || Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let kind = Kind::ALL.iter().find(|kind| kind.name() == name).copied();
        kind.ok_or_else(|| Error::UnknownKind { name: name.to_owned(), known: known() })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault before it is written.
struct Fault {
    /// The page the fault is in.
    page: PageId,
    slot: Option<u16>,
    object: ObjectId,
    /// New images of pages, as they will be on disk.
    images: Vec<(PageId, PageBuf)>,
    /// The file ends here.
    truncate: Option<(FileId, u64)>,
    expected: Vec<u32>,
    permitted: Vec<u32>,
}

impl Fault {
    /// A fault in one page.
    fn on_page(page: PageId, object: ObjectId, image: PageBuf, expected: &[u32], permitted: &[u32]) -> Fault {
        Fault {
            page,
            slot: None,
            object,
            images: vec![(page, image)],
            truncate: None,
            expected: expected.to_vec(),
            permitted: permitted.to_vec(),
        }
    }

    fn at_slot(mut self, slot: u16) -> Fault {
        self.slot = Some(slot);
        self
    }
}

/// Copies the database and makes the fault in the copy. `outputs` are the places of the copies, in the order of
/// `inputs`; none may exist.
///
/// # Errors
/// See [`Error`]; [`Error::NotApplicable`] when the database has nothing for this fault.
pub fn damage(inputs: &[&Path], outputs: &[&Path], kind: Kind, seed: u64) -> Result<Truth, Error> {
    if inputs.len() != outputs.len() {
        return Err(Error::PathCount { expected: inputs.len(), found: outputs.len() });
    }
    let image = Image::open(inputs)?;
    let target = Target::new(&image)?;
    let mut rng = SplitMix64::new(seed ^ (kind as u64) << 32);
    let not_applicable = Error::NotApplicable { kind: kind.name(), needs: kind.needs() };
    let fault = kind.make(&target, &mut rng).ok_or(not_applicable)?;
    let truth = truth::of(&image, kind, seed, &fault)?;
    for (input, output) in inputs.iter().zip(outputs) {
        let source = File::open_read(input)?;
        let copy = File::create_new(output)?;
        copy_file(&source, &copy)?;
        write_fault(&fault, image.file_id_of(&source)?, &copy)?;
    }
    Ok(truth)
}

/// The faults that can be made in a database.
///
/// # Errors
/// The database cannot be read.
pub fn applicable(inputs: &[&Path]) -> Result<Vec<Kind>, Error> {
    let image = Image::open(inputs)?;
    let target = Target::new(&image)?;
    let can = |kind: &&Kind| kind.make(&target, &mut SplitMix64::new(0)).is_some();
    Ok(Kind::ALL.iter().filter(can).copied().collect())
}

/// Copies what is stored; holes stay holes.
fn copy_file(source: &File, copy: &File) -> Result<(), Error> {
    let mut buffer = vec![0; COPY_BYTES as usize];
    for range in source.data_ranges() {
        let mut at = range.start;
        while at < range.end {
            let bytes = &mut buffer[..(range.end - at).min(COPY_BYTES) as usize];
            source.read_exact_at(at, bytes)?;
            copy.write_all_at(at, bytes)?;
            at += bytes.len() as u64;
        }
    }
    copy.set_len(source.len())?;
    Ok(())
}

fn write_fault(fault: &Fault, file: FileId, copy: &File) -> Result<(), Error> {
    for (page, image) in fault.images.iter().filter(|(page, _)| page.file == file) {
        copy.write_all_at(u64::from(page.page) * PAGE_BYTES as u64, &image[..])?;
    }
    if let Some((_, bytes)) = fault.truncate.filter(|(id, _)| *id == file) {
        copy.set_len(bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
