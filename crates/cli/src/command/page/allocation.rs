//! What the maps say about a page: the lines `Allocation Status` of DBCC PAGE.

use extentdb_base::PageId;
use extentdb_base::size::PAGES_PER_GAM;
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::allocation::pfs::{PfsByte, PfsView};
use extentdb_format::page::PageHeader;
use extentdb_reader::{PageSource, check_page};

/// What the five maps say.
pub(super) struct AllocationStatus {
    /// One line per map.
    pub(super) maps: Vec<MapStatus>,
    /// What PFS says; `None` when it cannot be asked.
    pub(super) is_allocated: Option<bool>,
}

/// What one map says.
pub(super) struct MapStatus {
    /// `GAM`, `SGAM`, `PFS`, `DIFF`, `ML`.
    pub(super) map: &'static str,
    /// The map page that was asked.
    pub(super) page: PageId,
    /// In DBCC's words; or why it cannot be asked.
    pub(super) status: String,
    /// False when the map page could not be read.
    pub(super) is_known: bool,
}

/// Asks the maps about a page.
pub(super) fn status(source: &dyn PageSource, id: PageId) -> AllocationStatus {
    let of = |kind| bitmap_status(source, kind, id);
    let (pfs, byte) = pfs_status(source, id);
    let maps = vec![of(MapKind::Gam), of(MapKind::Sgam), pfs, of(MapKind::Diff), of(MapKind::Ml)];
    AllocationStatus { maps, is_allocated: byte.map(PfsByte::is_allocated) }
}

fn bitmap_status(source: &dyn PageSource, kind: MapKind, id: PageId) -> MapStatus {
    let (map, words) = words(kind);
    let at = kind.page_of(id);
    let bit = read_map(source, at).and_then(|page| {
        let view = MapView::new(&page, kind);
        let sound = PageHeader::of(&page).kind() == kind.page_type();
        let bit = view.bitmap().get((id.page % PAGES_PER_GAM) / 8);
        if sound { Ok(bit) } else { Err(format!("not a {map} page")) }
    });
    let is_known = bit.is_ok();
    let status = match bit {
        Ok(bit) => words[usize::from(bit)].to_owned(),
        Err(why) => format!("unknown ({why})"),
    };
    MapStatus { map, page: at, status, is_known }
}

/// The name of a map, and its words for a bit of 0 and of 1.
pub(super) fn words(kind: MapKind) -> (&'static str, [&'static str; 2]) {
    match kind {
        MapKind::Gam => ("GAM", ["ALLOCATED", "NOT ALLOCATED"]),
        MapKind::Sgam => ("SGAM", ["NOT ALLOCATED", "ALLOCATED"]),
        MapKind::Diff => ("DIFF", ["NOT CHANGED", "CHANGED"]),
        MapKind::Ml => ("ML", ["NOT MIN_LOGGED", "MIN_LOGGED"]),
    }
}

fn pfs_status(source: &dyn PageSource, id: PageId) -> (MapStatus, Option<PfsByte>) {
    let at = id.pfs_page();
    let byte = read_map(source, at).and_then(|page| match PfsView::new(&page) {
        view if view.faults().is_empty() => Ok(view.entry(id.page)),
        _ => Err("not a sound PFS page".to_owned()),
    });
    let status = match &byte {
        Ok(byte) => format!("0x{:02x} {byte}", byte.0),
        Err(why) => format!("unknown ({why})"),
    };
    (MapStatus { map: "PFS", page: at, status, is_known: byte.is_ok() }, byte.ok())
}

/// A map page that is what it claims to be.
fn read_map(source: &dyn PageSource, at: PageId) -> Result<PageBuf, String> {
    let mut page = PageBuf::zeroed();
    source.read(at, &mut page).map_err(|error| error.to_string())?;
    check_page(at, &mut page).map_err(|error| error.to_string())?;
    Ok(page)
}
