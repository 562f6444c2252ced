//! What boot page, catalog and file headers say.

use extentdb_base::{FileId, PageId};
use extentdb_catalog::model::DatabaseFile;
use extentdb_catalog::{Catalog, PageGetter};
use extentdb_format::PageBuf;
use extentdb_format::allocation::boot::{BootRecord, DatabaseStatus};
use extentdb_format::allocation::field::StoredTime;
use extentdb_format::allocation::file_header::{FileHeaderView, Growth};
use extentdb_reader::{CheckedPages, OpenedFiles, SourceFile};
use extentdb_types::Collation;
use serde_json::{Value, json};

use super::Facts;
use crate::context::Context;
use crate::exit::{Exit, chain};

/// `sysprufiles.filetype` of data files.
const ROWS: u8 = 0;

/// Adds everything that is known without counting pages. A catalog that cannot be read leaves the
/// file headers.
pub(super) fn add(opened: &OpenedFiles, context: &Context, facts: &mut Facts) {
    let pages = CheckedPages::new(opened.source());
    match Catalog::load(&pages) {
        Ok(catalog) => add_catalog(opened, &catalog, context, facts),
        Err(_) if opened.source().page_count(PageId::BOOT.file) == 0 => {
            context
                .warn("the primary data file (file 1) is not here: only file headers can be shown");
            add_headers(opened, &pages, facts);
            facts.end(Exit::Incomplete);
        }
        Err(error) => {
            context.warn(&format!("the catalog cannot be read: {}", chain(&error)));
            add_headers(opened, &pages, facts);
            facts.end(Exit::Found);
        }
    }
}

fn add_headers(opened: &OpenedFiles, pages: &CheckedPages<'_>, facts: &mut Facts) {
    let files = opened.source().files().iter();
    facts.add("files", files.map(|file| file_by_header(pages, file)).collect());
}

fn add_catalog(opened: &OpenedFiles, catalog: &Catalog, context: &Context, facts: &mut Facts) {
    let boot = &catalog.boot;
    if boot.database_version().is_unknown_newer() {
        let version = boot.database_version();
        context.warn(&format!(
            "the database is of version {version}: read by its own description, unverified"
        ));
    }
    for fault in &catalog.faults {
        context.warn(&format!("the catalog is damaged: {}", chain(fault)));
        facts.end(Exit::Found);
    }
    facts.add("database", database(catalog));
    facts.add("lsns", lsns(boot));
    let there = |id: FileId| opened.source().files().iter().find(|file| file.id == id);
    let listed = catalog.files.iter().filter(|file| !file.dropped);
    for file in listed.clone().filter(|file| file.file_type == ROWS && there(file.id).is_none()) {
        context.warn(&format!(
            "data file {} ({}, on the server {}) is not here",
            file.id, file.name, file.path
        ));
        facts.end(Exit::Incomplete);
    }
    let described = listed.map(|file| {
        let mut value = file_by_catalog(catalog, file, there(file.id));
        if let Some(log) = opened.logs().iter().find(|log| log.id() == Some(file.id)) {
            value["path"] = log.path().display().to_string().into();
        }
        value
    });
    facts.add("files", described.collect());
    let groups = catalog.filegroups.iter().filter(|space| space.kind == "FG");
    let group = |space: &extentdb_catalog::model::DataSpace| {
        let id = space.id;
        let name = &space.name;
        let default = space.default;
        json!({ "id": id, "name": name, "default": default })
    };
    facts.add("filegroups", groups.map(group).collect());
}

fn database(catalog: &Catalog) -> Value {
    let boot = &catalog.boot;
    let status = boot.status;
    let page_verify = match (
        status.has(DatabaseStatus::CHECKSUM),
        status.has(DatabaseStatus::TORN_PAGE_DETECTION),
    ) {
        (true, _) => "CHECKSUM",
        (false, true) => "TORN_PAGE_DETECTION",
        (false, false) => "NONE",
    };
    let users = crate::names::user_tables(catalog).len();
    json!({
        "name": boot.name.to_string(),
        "version": boot.database_version().to_string(),
        "version_number": boot.version,
        "created_as": boot.create_version,
        "engine_build": boot.engine_build.to_string(),
        "compatibility_level": boot.compatibility_level,
        "collation": Collation(boot.collation_id).to_string(),
        "created": time(boot.created),
        "last_good_check": time(boot.last_known_good),
        "recovery_model": status.recovery_model(),
        "page_verify": page_verify,
        "clean_shutdown": status.is_clean(),
        "status": status.names().collect::<Vec<_>>(),
        "database_id": boot.database_id,
        "family_guid": boot.family_guid.to_string(),
        "user_tables": users,
        "schemas": catalog.schemas.len(),
    })
}

fn lsns(boot: &BootRecord) -> Value {
    let lsn = |lsn: extentdb_base::Lsn| (lsn != extentdb_base::Lsn::ZERO).then(|| lsn.to_string());
    json!({
        "checkpoint": lsn(boot.checkpoint_lsn),
        "last_backup": lsn(boot.backup_lsn),
        "restored": lsn(boot.restore_lsn),
        "version_change": lsn(boot.version_change_lsn),
    })
}

/// The time as text; `None` for never.
fn time(stored: StoredTime) -> Option<String> {
    if stored.is_never() {
        return None;
    }
    let odd = || format!("out of range (days {}, ticks {})", stored.days, stored.ticks);
    Some(stored.value().map_or_else(odd, |value| value.to_string()))
}

fn file_by_catalog(catalog: &Catalog, file: &DatabaseFile, found: Option<&SourceFile>) -> Value {
    let kind = match file.file_type {
        ROWS => "rows",
        1 => "log",
        2 => "filestream",
        _ => "other",
    };
    let group =
        catalog.filegroups.iter().find(|space| space.kind == "FG" && space.id == file.filegroup);
    let growth = if file.growth_percent { format!("{} %", file.growth) } else { size(file.growth) };
    json!({
        "id": file.id.0,
        "name": file.name,
        "type": kind,
        "filegroup": group.map(|space| space.name.as_str()),
        "size": size(file.size),
        "growth": growth,
        "max_size": if file.max_size < 0 { "unlimited".to_owned() } else { size(file.max_size) },
        "server_path": file.path,
        "path": found.map(|file| file.path.display().to_string()),
        "pages": found.map(|file| file.pages),
        "trailing_bytes": found.map(|file| file.trailing_bytes).filter(|bytes| *bytes != 0),
    })
}

/// Without catalog: what page 0 says.
fn file_by_header(pages: &CheckedPages<'_>, file: &SourceFile) -> Value {
    let mut page = PageBuf::zeroed();
    let mut value =
        json!({ "id": file.id.0, "path": file.path.display().to_string(), "pages": file.pages });
    if let Err(error) = pages.page(PageId { file: file.id, page: 0 }, &mut page) {
        value["header"] = chain(&error).into();
        return value;
    }
    let header = FileHeaderView::new(&page).header();
    let growth = header.growth().map(|growth| match growth {
        Growth::Pages(pages) => size(i32::try_from(pages).unwrap_or(i32::MAX)),
        Growth::Percent(percent) => format!("{percent} %"),
    });
    value["name"] = json!(header.name());
    value["filegroup_id"] = json!(header.filegroup_id);
    value["growth"] = json!(growth);
    value["binding_id"] = json!(header.binding_id.map(|guid| guid.to_string()));
    value
}

/// Pages as a size.
fn size(pages: i32) -> String {
    let kilobytes = i64::from(pages) * 8;
    if kilobytes % 1024 == 0 {
        format!("{} MB", kilobytes / 1024)
    } else {
        format!("{kilobytes} KB")
    }
}
