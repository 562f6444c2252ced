//! Which files belong to one database.
//!
//! ```text
//! data files, logs one binding id; copies of a database in one call are told apart by folder and
//!      name
//! backup files     one media set; differential and log backups join the full backup that they
//!                  follow
//! ```
//!
//! A file that cannot be identified is a group of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use extentdb_base::FileId;
use extentdb_format::mtf::config::BackupKind;
use extentdb_reader::backup::SetHeader;
use extentdb_reader::{Identity, IdentityKind, identify};

/// The files of each database, in the order in which its first file was given.
pub(crate) fn groups(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    let mut groups: Vec<Group> = Vec::new();
    for (order, path) in paths.iter().enumerate() {
        let member = Member { order, path: path.clone(), identity: identify(path).ok() };
        match groups.iter_mut().find(|group| group.takes(&member)) {
            Some(group) => group.members.push(member),
            None => groups.push(Group { members: vec![member] }),
        }
    }
    let mut groups = join_chains(groups.into_iter().flat_map(Group::split_copies).collect());
    join_strays(&mut groups);
    groups.sort_by_key(Group::order);
    groups.into_iter().map(Group::into_paths).collect()
}

struct Member {
    order: usize,
    path: PathBuf,
    identity: Option<Identity>,
}

impl Member {
    fn kind(&self) -> Option<&IdentityKind> {
        self.identity.as_ref().map(|identity| &identity.kind)
    }

    /// The number of a data or log file.
    fn file_id(&self) -> Option<FileId> {
        match self.kind()? {
            IdentityKind::Data(file) | IdentityKind::Log(file) => file.file_id,
            IdentityKind::Backup(_) => None,
        }
    }

    fn sets(&self) -> &[SetHeader] {
        match self.kind() {
            Some(IdentityKind::Backup(backup)) => &backup.sets,
            _ => &[],
        }
    }

    fn is_backup(&self) -> bool {
        matches!(self.kind(), Some(IdentityKind::Backup(_)))
    }

    /// Of the same database files, or the same media set.
    fn belongs_with(&self, other: &Member) -> bool {
        let (Some(a), Some(b)) = (&self.identity, &other.identity) else { return false };
        if self.is_backup() || other.is_backup() {
            return a.media_set().is_some() && a.media_set() == b.media_set();
        }
        a.binding_id().is_some() && a.binding_id() == b.binding_id()
    }
}

/// Files that belong together.
struct Group {
    members: Vec<Member>,
}

impl Group {
    fn takes(&self, member: &Member) -> bool {
        self.members.iter().any(|other| other.belongs_with(member))
    }

    fn order(&self) -> usize {
        self.members.iter().map(|member| member.order).min().unwrap_or_default()
    }

    fn into_paths(mut self) -> Vec<PathBuf> {
        self.members.sort_by_key(|member| member.order);
        self.members.into_iter().map(|member| member.path).collect()
    }

    /// A group for each primary file, when there are several: the others go to the one that is
    /// called like them most.
    fn split_copies(self) -> Vec<Group> {
        let is_primary = |member: &Member| member.file_id() == Some(FileId(1));
        if self.members.iter().filter(|member| is_primary(member)).count() < 2 {
            return vec![self];
        }
        let (primaries, others): (Vec<Member>, Vec<Member>) =
            self.members.into_iter().partition(is_primary);
        let mut groups: Vec<Group> =
            primaries.into_iter().map(|member| Group { members: vec![member] }).collect();
        for member in others {
            let nearest = groups.iter_mut().max_by_key(|group| {
                group.members.first().map(|first| likeness(&first.path, &member.path))
            });
            match nearest {
                Some(group) => group.members.push(member),
                None => groups.push(Group { members: vec![member] }),
            }
        }
        groups
    }

    fn sets(&self) -> &[SetHeader] {
        self.members.first().map(Member::sets).unwrap_or_default()
    }

    fn has(&self, wanted: &[BackupKind]) -> bool {
        self.sets().iter().any(|set| wanted.contains(&set.kind))
    }
}

/// Same folder first, then the length of the common beginning of the names.
fn likeness(a: &Path, b: &Path) -> (bool, usize) {
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let common = name(a).chars().zip(name(b).chars()).take_while(|(a, b)| a == b).count();
    (a.parent() == b.parent(), common)
}

/// Kinds that hold a whole database.
const WHOLE: [BackupKind; 2] = [BackupKind::Database, BackupKind::Partial];
/// Kinds that build on it.
const FOLLOWING: [BackupKind; 3] =
    [BackupKind::Log, BackupKind::Differential, BackupKind::DifferentialPartial];

/// Puts differential and log backups to the full backup that they follow. Full backups that nothing
/// follows stay alone.
fn join_chains(groups: Vec<Group>) -> Vec<Group> {
    let (followers, mut groups): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.has(&FOLLOWING) && !group.has(&WHOLE));
    // Log backups without a full one are one group by themselves, if they are of one database.
    let mut orphans: Vec<Group> = Vec::new();
    let bases = bases(&followers, &groups);
    for (follower, base) in followers.into_iter().zip(bases) {
        match base.and_then(|base| groups.get_mut(base)) {
            Some(base) => base.members.extend(follower.members),
            None => match orphans.iter_mut().find(|group| is_same_database(group, &follower)) {
                Some(group) => group.members.extend(follower.members),
                None => orphans.push(follower),
            },
        }
    }
    groups.extend(orphans);
    groups
}

/// The full backup of each follower: all followers of a database go to one, which is that of the
/// newest differential, or the newest that begins before the last log backup ends.
fn bases(followers: &[Group], groups: &[Group]) -> Vec<Option<usize>> {
    let base_of = |follower: &Group| {
        let family: Vec<&Group> =
            followers.iter().filter(|other| is_same_database(other, follower)).collect();
        let bases =
            groups.iter().enumerate().filter(|(_, group)| is_same_database(group, follower));
        let bases: Vec<(usize, &SetHeader)> =
            bases.filter_map(|(at, group)| Some((at, group.sets().first()?))).collect();
        let sets = family.iter().flat_map(|group| group.sets());
        let named: BTreeSet<[u8; 16]> =
            sets.clone().filter_map(|set| set.differential_base_guid).map(|guid| guid.0).collect();
        let end = sets.map(|set| set.last_lsn).max()?;
        let newest = |bases: Vec<&(usize, &SetHeader)>| {
            bases.into_iter().max_by_key(|(_, set)| set.checkpoint_lsn).map(|(at, _)| *at)
        };
        newest(bases.iter().filter(|(_, set)| named.contains(&set.backup_set_guid.0)).collect())
            .or_else(|| newest(bases.iter().filter(|(_, set)| set.first_lsn <= end).collect()))
    };
    followers.iter().map(base_of).collect()
}

fn is_same_database(a: &Group, b: &Group) -> bool {
    let key = |group: &Group| group.sets().first().map(|set| (set.binding_id, set.family_guid));
    key(a).is_some() && key(a) == key(b)
}

/// A single database takes the data files whose header page is damaged, and the logs that are of no
/// other: the reader says what is wrong with them.
fn join_strays(groups: &mut Vec<Group>) {
    let is_stray = |group: &Group| {
        group.members.iter().all(|member| match member.kind() {
            Some(IdentityKind::Data(file)) => file.binding_id.is_none(),
            Some(IdentityKind::Log(_)) => true,
            _ => false,
        })
    };
    let has_data = |group: &Group| {
        group.members.iter().any(|member| matches!(member.kind(), Some(IdentityKind::Data(_))))
    };
    if groups.iter().filter(|group| has_data(group) && !is_stray(group)).count() != 1 {
        return;
    }
    let (strays, mut others): (Vec<Group>, Vec<Group>) = groups.drain(..).partition(is_stray);
    if let Some(only) = others.iter_mut().find(|group| has_data(group)) {
        only.members.extend(strays.into_iter().flat_map(|group| group.members));
    }
    *groups = others;
}

#[cfg(test)]
mod tests {
    use std::fs;

    use extentdb_template::{MakeOptions, Size, make};

    use super::*;

    fn database(folder: &Path, names: &[&str], seed: u64) -> Vec<PathBuf> {
        let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        let options = MakeOptions { shape: "heap".to_owned(), size: Size::Rows(10), seed };
        make(&options, &paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &mut |_| {})
            .unwrap();
        paths
    }

    #[test]
    fn files_are_grouped_by_what_they_are_not_by_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let shop = database(folder.path(), &["shop.mdf", "x.ndf"], 1);
        let lab = database(folder.path(), &["lab.mdf", "y.ndf"], 2);
        let mixed = [&shop[0], &lab[1], &lab[0], &shop[1]].map(Clone::clone);
        let expected =
            [vec![shop[0].clone(), shop[1].clone()], vec![lab[1].clone(), lab[0].clone()]];
        assert_eq!(groups(&mixed), expected);
    }

    #[test]
    fn copies_of_a_database_are_told_apart_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let shop = database(folder.path(), &["shop.mdf", "shop_2.ndf"], 1);
        let copy = ["copy.mdf", "copy_2.ndf"].map(|name| folder.path().join(name));
        for (from, to) in shop.iter().zip(&copy) {
            fs::copy(from, to).unwrap();
        }
        let mixed = [&shop[0], &copy[1], &shop[1], &copy[0]].map(Clone::clone);
        assert_eq!(groups(&mixed), [shop, vec![copy[1].clone(), copy[0].clone()]]);
    }

    #[test]
    fn what_cannot_be_identified_is_a_group_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let shop = database(folder.path(), &["shop.mdf"], 1);
        let notes = folder.path().join("notes.txt");
        fs::write(&notes, "dear diary").unwrap();
        assert_eq!(groups(&[notes.clone(), shop[0].clone()]), [vec![notes], shop]);
    }
}
