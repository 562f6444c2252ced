use std::collections::HashMap;

use extentdb_base::FileId;
use extentdb_format::PageBytes;
use extentdb_format::page::PageMut;
use extentdb_format::record::RecordBuilder;

use super::*;
use crate::layout::column_status;
use crate::pages::PageError;

/// A handful of pages, one system table on each.
#[derive(Default)]
struct Pages(HashMap<PageId, PageBuf>);

impl PageGetter for Pages {
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        let found = self.0.get(&id).ok_or(PageError::NotStored { page: id })?;
        page.copy_from_slice(&found[..]);
        Ok(())
    }

    fn page_count(&self, _: FileId) -> u32 {
        100
    }

    fn total_pages(&self) -> u64 {
        100
    }
}

/// A row: its fixed part by offset.
type Fields<'a> = &'a [(usize, &'a [u8])];

impl Pages {
    fn table(&mut self, page: u32, unit: AllocUnitId, fixed_end: usize, rows: &[Fields<'_>]) {
        let id = PageId::new(1, page);
        let mut buf = PageBuf::zeroed();
        let mut edit = PageMut::format(&mut buf, id, PageType::Data, unit);
        for fields in rows {
            let mut builder = RecordBuilder::data(RecordKind::Primary, fixed_end);
            builder.columns(1);
            for (offset, bytes) in *fields {
                builder.fixed(*offset, bytes);
            }
            edit.push(&builder.to_vec()).unwrap();
        }
        self.0.insert(id, buf);
    }
}

fn unit_row(unit: AllocUnitId, root: u32) -> [(usize, Vec<u8>); 4] {
    [
        (4, unit.0.to_le_bytes().to_vec()),
        (12, vec![1]),
        (13, unit.0.to_le_bytes().to_vec()),
        (33, PageId::new(1, root).to_bytes().to_vec()),
    ]
}

/// A database as 2005 describes it: one table with an int key that is not unique, and an nvarchar
/// column that lies after a dropped one.
fn database_of_2005() -> Pages {
    let mut pages = Pages::default();
    let table: i64 = 72_057_594_037_927_936;
    let roots = [
        (SYSROWSETCOLUMNS, 20),
        (AllocUnitId::SYSROWSETS, 21),
        (SYSALLOCUNITS, 16),
        (SYSHOBTCOLUMNS, 22),
    ];
    let units: Vec<_> = roots.iter().map(|(unit, root)| unit_row(*unit, *root)).collect();
    let units: Vec<Vec<(usize, &[u8])>> =
        units.iter().map(|row| row.iter().map(|(at, bytes)| (*at, &bytes[..])).collect()).collect();
    let units: Vec<Fields<'_>> = units.iter().map(Vec::as_slice).collect();
    pages.table(16, SYSALLOCUNITS, 69, &units);
    let rowset: Fields<'_> = &[
        (4, &table.to_le_bytes()),
        (12, &[1]),
        (13, &2_105_058_535i32.to_le_bytes()),
        (17, &1i32.to_le_bytes()),
        (21, &1i32.to_le_bytes()),
        (31, &91i64.to_le_bytes()),
    ];
    pages.table(21, AllocUnitId::SYSROWSETS, 40, &[rowset]);
    // rowset column 1 is hobt column 1; the dropped column 2 keeps its place; rowset column 3 is
    // hobt column 3.
    let id = table.to_le_bytes();
    pages.table(
        20,
        SYSROWSETCOLUMNS,
        34,
        &[
            &[(4, &id), (12, &1i32.to_le_bytes()), (16, &1i32.to_le_bytes())],
            &[
                (4, &id),
                (12, &0x0400_0001i32.to_le_bytes()),
                (16, &2i32.to_le_bytes()),
                (20, &[2, 0, 0, 0]),
            ],
            &[(4, &id), (12, &3i32.to_le_bytes()), (16, &3i32.to_le_bytes())],
            &[(4, &id), (16, &4i32.to_le_bytes())],
        ],
    );
    let int: &[u8] = &[56, 4, 0];
    let nvarchar: &[u8] = &[231, 80, 0];
    pages.table(
        22,
        SYSHOBTCOLUMNS,
        41,
        &[
            &[
                (4, &id),
                (12, &[1]),
                (16, &[0x20]),
                (20, &[1]),
                (22, int),
                (31, &[4]),
                (33, &[1]),
                (37, &[1]),
                (39, &[1]),
            ],
            &[(4, &id), (12, &[2]), (22, int), (31, &[8]), (37, &[2])],
            &[
                (4, &id),
                (12, &[3]),
                (22, nvarchar),
                (27, &[8, 0xd0, 0, 0x34]),
                (31, &[0xff, 0xff]),
                (37, &[3]),
            ],
            &[
                (4, &id),
                (12, &[4]),
                (16, &[0x22]),
                (20, &[2]),
                (22, int),
                (31, &[0xfe, 0xff]),
                (37, &[4]),
            ],
        ],
    );
    pages
}

#[test]
fn the_two_column_tables_of_2005_join_to_one() {
    let boot = Bootstrap::load(&database_of_2005(), PageId::new(1, 16));
    let rowset = boot.rowsets.values().next().expect("one rowset");
    assert_eq!(
        (rowset.object, rowset.index, rowset.rows),
        (ObjectId(2_105_058_535), IndexId(1), 91)
    );
    let [key, dropped, text, uniquifier] = &rowset.layout.columns[..] else {
        panic!("{:?}", rowset.layout)
    };
    assert_eq!((key.column_id, key.ty, key.key_ordinal), (1, Some(SqlType::Int), 1));
    assert_eq!(
        (key.leaf, key.interior.offset),
        (ColumnOffset { offset: 4, null_bit: 1, bit: 0 }, 1)
    );
    assert!(dropped.is_dropped() && dropped.status & column_status::DROPPED != 0);
    assert_eq!((text.column_id, text.leaf.offset, text.leaf.null_bit), (3, -1, 3));
    assert_eq!(text.ty.map(|ty| ty.to_string()).as_deref(), Some("nvarchar(40)"));
    assert!(
        boot.faults.iter().all(|fault| matches!(fault, Fault::Catalog(_))),
        "{:?}",
        boot.faults
    );
    assert!(uniquifier.is_uniquifier() && !uniquifier.is_dropped(), "{uniquifier:?}");
}

#[test]
fn not_null_has_a_bit_of_its_own_in_the_tables_of_2005() {
    let boot = Bootstrap::load(&database_of_2005(), PageId::new(1, 16));
    let rowset = boot.rowsets.values().next().expect("one rowset");
    let not_null: Vec<bool> =
        rowset.layout.columns.iter().map(PhysicalColumn::is_not_null).collect();
    assert_eq!(not_null, [true, false, false, true]);
}

#[test]
fn a_chain_of_sysallocunits_that_bites_its_tail_ends() {
    let mut pages = database_of_2005();
    let first = PageId::new(1, 16);
    let page = pages.0.get_mut(&first).unwrap();
    PageMut::new(page).header_mut().next_bytes = first.to_bytes();
    let boot = Bootstrap::load(&pages, first);
    assert!(boot.faults.iter().any(|fault| matches!(fault, Fault::Loop { .. })));
    assert_eq!(boot.units.len(), 4);
}

#[test]
fn a_missing_table_is_named_and_the_others_are_read() {
    let mut pages = database_of_2005();
    pages.0.remove(&PageId::new(1, 22));
    let boot = Bootstrap::load(&pages, PageId::new(1, 16));
    assert!(
        boot.faults
            .iter()
            .any(|f| matches!(f, Fault::Page(error) if error.page() == PageId::new(1, 22)))
    );
    assert_eq!(boot.rowsets.len(), 1);
}

#[test]
fn a_unit_whose_drop_is_deferred_belongs_to_nobody_without_a_fault() {
    let mut pages = database_of_2005();
    let dropped = AllocUnitId(77 << 16);
    let [id, _, owner, root] = unit_row(dropped, 30);
    let rows: [Vec<(usize, &[u8])>; 2] = [
        vec![(id.0, &id.1), (12, &[0]), (owner.0, &[0; 8]), (root.0, &root.1)],
        vec![(id.0, &[9; 8]), (12, &[1]), (owner.0, &[8; 8])],
    ];
    let rows: Vec<Fields<'_>> = rows.iter().map(Vec::as_slice).collect();
    pages.table(16, SYSALLOCUNITS, 69, &rows);
    let boot = Bootstrap::load(&pages, PageId::new(1, 16));
    let ownerless = |fault: &&Fault| fault.to_string().contains("which sysrowsets does not list");
    let named: Vec<String> =
        boot.faults.iter().filter(ownerless).map(ToString::to_string).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(!named[0].contains(&format!("unit {dropped} ")));
}
