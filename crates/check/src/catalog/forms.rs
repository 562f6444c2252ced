//! The form of the rows against `sysrowsets.cmprlevel`: one page of each rowset.
//!
//! ```text
//! bit 0 of a record's first byte      0 = as written, 1 = compressed (CD)
//! ```
//!
//! Changing the compression rewrites a rowset, so all of its rows have the same form. Whether
//! compressed rows are also compressed as a page is not judged: SQL Server leaves pages alone that
//! would not get smaller.

use extentdb_catalog::access::AllocatedPages;
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageRef, PageType};
use extentdb_reader::CheckedPages;

use extentdb_catalog::PageGetter;

use super::report_value;
use super::rows::{Key, Table};
use super::storage::{Storage, has_pages, is_row_store};
use crate::finding::Findings;

/// First byte of a record: it is in the compressed form.
const IS_COMPRESSED: u8 = 0x1;
/// Maximum number of pages that are searched for one with rows.
const PAGES_MAX: usize = 16;

/// Compares one page of each rowset with what the catalog states of its rows.
pub(super) fn verify_forms(
    storage: &Storage<'_>,
    pages: &CheckedPages<'_>,
    findings: &mut Findings,
) {
    for table in storage.tables() {
        for index in table.indexes.iter().filter(|index| is_row_store(index)) {
            for rowset in storage.rowsets(table, index).iter().filter(|rowset| has_pages(rowset)) {
                let is_compressed = match rowset.compression {
                    Compression::None => false,
                    Compression::Row | Compression::Page => true,
                    Compression::Other(_) => continue,
                };
                let unit = rowset.unit(AllocUnitKind::InRow);
                let found = unit.and_then(|unit| form_of(pages, unit, index.id.0 >= 2));
                if found.is_some_and(|found| found != is_compressed) {
                    let attribute = format!("data_compression_desc={}", rowset.compression.name());
                    report_value(
                        &attribute,
                        Table::Partitions.row(Key::one(rowset.id.0)),
                        findings,
                    );
                }
            }
        }
    }
}

/// True when all rows of the first leaf page with rows are compressed, false when none is; `None`
/// when that is unknown.
fn form_of(pages: &CheckedPages<'_>, unit: &AllocUnit, is_nonclustered: bool) -> Option<bool> {
    let mut page = PageBuf::zeroed();
    for id in AllocatedPages::new(pages, unit.id, unit.first_iam).take(PAGES_MAX) {
        pages.page(id.ok()?, &mut page).ok()?;
        let view = PageRef::new(&page);
        let header = view.header();
        let is_leaf = match header.kind() {
            PageType::Data => !is_nonclustered,
            PageType::Index => is_nonclustered && header.level == 0,
            _ => false,
        };
        if !is_leaf || !header.belongs_to(unit.id) {
            continue;
        }
        let bits = || {
            view.records()
                .filter_map(|(_, bytes)| bytes.first().map(|byte| byte & IS_COMPRESSED != 0))
        };
        if bits().next().is_some() {
            let first = bits().next()?;
            return bits().all(|bit| bit == first).then_some(first);
        }
    }
    None
}
