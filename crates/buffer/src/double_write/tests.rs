//! What the area promises a restart.

use std::collections::BTreeMap;

use extentdb_base::FileId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_format::page::{PageHeader, checksum};
use extentdb_io::MemDisk;

use super::*;

const FILE: FileId = FileId(1);

fn page(number: u32) -> PageId {
    PageId { file: FILE, page: number }
}

fn image(number: u32, version: u32) -> PageBuf {
    let mut image = PageBuf::zeroed();
    let header = PageHeader::of_mut(&mut image);
    header.header_version = 1;
    header.page_type = 1;
    header.page_id_bytes = page(number).to_bytes();
    header.lsn_bytes = Lsn::new(1, version, 1).to_bytes();
    checksum::seal(&mut image);
    image
}

fn area(disk: &MemDisk) -> DoubleWrite {
    let header = AreaHeader {
        binding_id: Default::default(),
        current_use: Lsn::new(1, 1, 1),
        oldest_use: Lsn::new(1, 1, 1),
        pages_per_segment: 4,
    };
    DoubleWrite::new(Arc::new(disk.clone()), PathBuf::from("area"), header, None)
}

fn write<'a>(
    area: &'a DoubleWrite,
    file: &dyn DiskFile,
    number: u32,
    version: u32,
) -> HeldSegments<'a> {
    let image = image(number, version);
    let held = area.protect(&[(page(number), &image[..])], Lsn::ZERO, &|| Ok(())).unwrap();
    file.write_at(u64::from(number) * PAGE_BYTES as u64, &[&image[..]], Durability::Deferred)
        .unwrap();
    held
}

/// A page that rots long after its last write does not return to an older state.
#[test]
fn while_an_image_lies_in_the_area_all_later_ones_do() {
    let disk = MemDisk::new();
    let file = disk.create(Path::new("data")).unwrap();
    file.extend(8 * PAGE_BYTES as u64, Fill::Zeros).unwrap();
    let area = area(&disk);
    let other = write(&area, &*file, 2, 1);
    let old = write(&area, &*file, 3, 1);
    other.in_place();
    old.in_place();
    area.sync_with(|| file.sync()).unwrap();
    write(&area, &*file, 3, 2).in_place();
    assert!(area.has_image(page(3)));
    area.sync_with(|| file.sync()).unwrap();
    write(&area, &*file, 4, 1).in_place();

    // The process dies.
    drop(area);
    let rotten = [0xa5; PAGE_BYTES];
    file.write_at(3 * PAGE_BYTES as u64, &[&rotten[..]], Durability::Deferred).unwrap();
    let left = Area::open(&disk, Path::new("area")).unwrap().unwrap();
    let files: BTreeMap<FileId, Arc<dyn DiskFile>> = [(FILE, file.clone())].into();
    left.repair(&files).unwrap();
    let mut found = PageBuf::zeroed();
    file.read_at(3 * PAGE_BYTES as u64, &mut found[..]).unwrap();
    assert!(found[..] == image(3, 2)[..], "an older image of the page has come back");
}
