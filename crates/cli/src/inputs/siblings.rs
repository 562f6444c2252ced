//! The other files of a database, found in the folder of its primary file: by what they are, not by
//! what they are called.
//!
//! A folder may hold copies of a database, whose binding ids are equal. A file is therefore taken
//! only when it is the only one with its file number, or the only one whose name begins as that of
//! the given file does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extentdb_base::FileId;
use extentdb_reader::{Identity, IdentityKind, identify};
use extentdb_types::Guid;

use super::files_in;
use crate::context::Context;

/// Pages and log blocks make every file a multiple of this.
const SECTOR_BYTES: u64 = 512;

/// A data or log file of a database.
struct Member {
    path: PathBuf,
    binding: Guid,
    file: FileId,
}

impl Member {
    fn of(identity: Identity) -> Option<Member> {
        let (IdentityKind::Data(file) | IdentityKind::Log(file)) = &identity.kind else {
            return None;
        };
        Some(Member {
            binding: file.binding_id?,
            file: file.file_id?,
            path: identity.path,
        })
    }
}

/// Adds the files of the same database that stand beside the data files given, and says so. Logs
/// and backups alone are taken as they are.
pub(crate) fn add_siblings(paths: &mut Vec<PathBuf>, context: &Context) {
    let identities: Vec<Identity> = paths.iter().filter_map(|path| identify(path).ok()).collect();
    let is_data = |identity: &Identity| matches!(identity.kind, IdentityKind::Data(_));
    // What cannot be identified is for the reader to refuse.
    if identities.len() != paths.len() || !identities.iter().any(is_data) {
        return;
    }
    let given: Vec<Member> = identities.into_iter().filter_map(Member::of).collect();
    let Some(first) = given.iter().min_by_key(|member| member.file) else { return };
    let Some(folder) = folder_of(&first.path) else { return };
    let mut found: BTreeMap<FileId, Vec<PathBuf>> = BTreeMap::new();
    for member in candidates(&folder) {
        let is_given = given.iter().any(|given| given.file == member.file);
        if member.binding == first.binding && !is_given {
            found.entry(member.file).or_default().push(member.path);
        }
    }
    for (file, candidates) in found {
        match the_one(&first.path, &candidates) {
            Some(path) => {
                context.note(&format!("file {file} of the database found: {}", path.display()));
                paths.push(path.to_path_buf());
            }
            None => {
                let names: Vec<String> =
                    candidates.iter().map(|path| path.display().to_string()).collect();
                let names = names.join(", ");
                context.note(&format!(
                    "file {file} of the database may be any of {names}: none was taken"
                ));
            }
        }
    }
}

fn folder_of(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() })
}

/// Data and log files of a folder. A folder that cannot be listed has none.
fn candidates(folder: &Path) -> Vec<Member> {
    let has_size =
        |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() % SECTOR_BYTES == 0);
    let files = files_in(folder).unwrap_or_default().into_iter().filter(has_size);
    files.filter_map(|path| identify(&path).ok()).filter_map(Member::of).collect()
}

/// The candidate that is the only one, or the only one whose name begins with the stem of the given
/// file.
fn the_one<'c>(given: &Path, candidates: &'c [PathBuf]) -> Option<&'c Path> {
    if let [one] = candidates {
        return Some(one);
    }
    let stem = given.file_stem()?.to_string_lossy().to_lowercase();
    let begins_so = |path: &&PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().to_lowercase().starts_with(&stem))
    };
    let mut named = candidates.iter().filter(begins_so);
    match (named.next(), named.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_candidates_the_one_that_is_called_like_the_given_file_is_taken() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let one = paths(&["other.ndf"]);
        assert_eq!(the_one(Path::new("shop.mdf"), &one), Some(Path::new("other.ndf")));
        let two = paths(&["broken_2.ndf", "Shop_2.ndf"]);
        assert_eq!(the_one(Path::new("shop.mdf"), &two), Some(Path::new("Shop_2.ndf")));
        assert_eq!(the_one(Path::new("x.mdf"), &two), None);
        let three = paths(&["shop_2.ndf", "shop_2b.ndf"]);
        assert_eq!(the_one(Path::new("shop.mdf"), &three), None);
    }
}
