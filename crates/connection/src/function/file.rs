//! Files and filegroups of the current database.

use extentdb_base::size::PAGES_PER_EXTENT;
use extentdb_sysview::property::{DataSpaceFacts, FileFacts, data_spaces, files};
use extentdb_types::Datum;

use super::catalog::{Catalog, int, name, number, text};
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

/// Id of the primary file and filegroup.
const PRIMARY: i32 = 1;

fn file(
    at: Values<'_>,
    is_it: impl Fn(&Catalog, &FileFacts) -> bool,
) -> Result<Option<FileFacts>, Cause> {
    let catalog = Catalog::current(at)?;
    let files = files(&catalog.database).map_err(|error| unreadable(&error))?;
    Ok(files.into_iter().find(|own| is_it(&catalog, own)))
}

fn group(
    at: Values<'_>,
    is_it: impl Fn(&Catalog, &DataSpaceFacts) -> bool,
) -> Result<Option<DataSpaceFacts>, Cause> {
    let catalog = Catalog::current(at)?;
    let spaces = data_spaces(&catalog.database).map_err(|error| unreadable(&error))?;
    Ok(spaces.into_iter().find(|own| is_it(&catalog, own)))
}

fn unreadable(error: &extentdb_sysview::Error) -> Cause {
    Cause::not_supported(error.to_string())
}

fn named_file(at: Values<'_>, it: Arguments<'_>) -> Result<Option<FileFacts>, Cause> {
    let Some(wanted) = text(it, 0) else { return Ok(None) };
    file(at, |catalog, own| catalog.model.is_same_name(&own.name, &wanted))
}

fn named_group(at: Values<'_>, it: Arguments<'_>) -> Result<Option<DataSpaceFacts>, Cause> {
    let Some(wanted) = text(it, 0) else { return Ok(None) };
    group(at, |catalog, own| catalog.model.is_same_name(&own.name, &wanted))
}

fn file_name(at: Values<'_>, it: Arguments<'_>) -> Given {
    let id = number(it, 0);
    let found = file(at, |_, own| Some(i64::from(own.id)) == id)?;
    Ok(name(found.as_ref().map(|own| own.name.as_str())))
}

fn file_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(found) = named_file(at, it)? else { return Ok(Datum::Null) };
    let database = at.connection.session.database();
    let files = database.space().files();
    let own = files.iter().find(|own| i32::from(own.id().0) == found.id);
    let is_in_read_only_group =
        own.is_some_and(|own| database.read_only_filegroups().contains(&own.group()));
    let is_read_only = database.is_read_only() || is_in_read_only_group;
    Ok(match text(it, 1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "isreadonly" => Datum::Int(is_read_only.into()),
        "isprimaryfile" => Datum::Int((found.id == PRIMARY).into()),
        "islogfile" => Datum::Int(found.is_log.into()),
        "spaceused" if found.is_log => {
            return Err(Cause::not_supported("the property SpaceUsed of a log"));
        }
        "spaceused" => space_used(at, found.id),
        _ => Datum::Null,
    })
}

/// Pages of a data file in extents that are allocated.
fn space_used(at: Values<'_>, file: i32) -> Datum<'static> {
    let files = at.connection.session.database().space().files();
    let own = files.iter().find(|own| i32::from(own.description().id.0) == file);
    own.map_or(Datum::Null, |own| {
        let free = own.unused_extents().saturating_mul(PAGES_PER_EXTENT);
        Datum::Int(i32::try_from(own.pages().saturating_sub(free)).unwrap_or(i32::MAX))
    })
}

fn group_name(at: Values<'_>, it: Arguments<'_>) -> Given {
    let id = number(it, 0);
    let found = group(at, |_, own| Some(i64::from(own.id)) == id)?;
    Ok(name(found.as_ref().map(|own| own.name.as_str())))
}

fn group_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(found) = named_group(at, it)?.filter(|own| own.is_group) else {
        return Ok(Datum::Null);
    };
    Ok(match text(it, 1).unwrap_or_default().to_ascii_lowercase().as_str() {
        "isreadonly" => Datum::Int(found.is_read_only.into()),
        "isuserdefinedfg" => Datum::Int((found.id != PRIMARY).into()),
        "isdefault" => Datum::Int(found.is_default.into()),
        _ => Datum::Null,
    })
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("file_id", Kind::SmallInt, |at, it| {
        let id = named_file(at, it)?.and_then(|own| i16::try_from(own.id).ok());
        Ok(id.map_or(Datum::Null, Datum::SmallInt))
    })
    .nullable()
    .of(&[Kind::Name]),
    Definition::new("file_idex", Kind::Int, |at, it| {
        Ok(int(named_file(at, it)?.map(|own| own.id.into())))
    })
    .nullable()
    .of(&[Kind::Name]),
    Definition::new("file_name", Kind::Name, file_name).nullable().of(&[Kind::Int]),
    Definition::new("fileproperty", Kind::Int, file_property)
        .nullable()
        .of(&[Kind::Name, Kind::Name]),
    Definition::new("filegroup_id", Kind::Int, |at, it| {
        Ok(int(named_group(at, it)?.map(|own| own.id.into())))
    })
    .nullable()
    .of(&[Kind::Name]),
    Definition::new("filegroup_name", Kind::Name, group_name).nullable().of(&[Kind::Int]),
    Definition::new("filegroupproperty", Kind::Int, group_property)
        .nullable()
        .of(&[Kind::Name, Kind::Name]),
];
