//! What is on a page, in the form that a style asks for.

use extentdb_base::PageId;
use extentdb_format::PageBytes;
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::page::{PageHeader, PageType};
use extentdb_reader::PageSource;

use super::allocation::words;
use super::faults::PageFault;
use super::fields::Fields;
use super::lob::LobShown;
use super::names::Owner;
use super::rows::{RecordShown, faults};
use super::system::{PageRun, boot_fields, extent_runs, file_header_fields, iam_fields, pfs_runs};
use super::{lob, rows};

/// The content of a page.
pub(super) enum Content {
    /// Not asked for, or of a kind that nothing is known about.
    None,
    /// Style 1: the slots of any page.
    Slots(Vec<RecordShown>),
    Rows(Vec<RecordShown>),
    /// Index entries, shown as a table.
    Entries(Vec<RecordShown>),
    /// Parts of off-row values.
    Lob(Vec<LobShown>),
    /// A map, with its head where it has one.
    Map {
        /// The name of the map.
        name: &'static str,
        /// The head of an IAM page.
        head: Fields,
        /// Pages or extents.
        runs: Vec<PageRun>,
    },
    /// The boot page or a file header.
    Fields(&'static str, Fields),
}

impl Content {
    /// Values that are no values.
    pub(super) fn faults(&self) -> Vec<PageFault> {
        match self {
            Content::Rows(records) | Content::Entries(records) => faults(records),
            _ => Vec::new(),
        }
    }
}

/// The content of a page that was read as `id`.
pub(super) fn of_page(
    id: PageId,
    page: &PageBytes,
    style: u8,
    source: &dyn PageSource,
    owner: Option<&Owner<'_>>,
) -> Content {
    match style {
        1 => Content::Slots(rows::of_page(page, None)),
        3 => decoded(id, page, source, owner),
        _ => Content::None,
    }
}

fn decoded(
    id: PageId,
    page: &PageBytes,
    source: &dyn PageSource,
    owner: Option<&Owner<'_>>,
) -> Content {
    match PageHeader::of(page).kind() {
        PageType::Data => Content::Rows(rows::of_page(page, owner)),
        PageType::Index => Content::Entries(rows::of_page(page, owner)),
        PageType::TextMix | PageType::TextTree => Content::Lob(lob::of_page(page, id)),
        PageType::Pfs => {
            let runs = pfs_runs(page, id, source.page_count(id.file));
            Content::Map { name: "PFS: Page Alloc Status", head: Vec::new(), runs }
        }
        PageType::Iam => iam(page, source),
        PageType::Boot => match boot_fields(page) {
            Some(fields) => Content::Fields("DBINFO", fields),
            None => Content::None,
        },
        PageType::FileHeader => Content::Fields("File Header Data", file_header_fields(page)),
        kind => match MapKind::of(kind) {
            Some(map) => bitmap(id, page, map, source.page_count(id.file)),
            None => Content::None,
        },
    }
}

fn bitmap(id: PageId, page: &PageBytes, map: MapKind, file_pages: u32) -> Content {
    let name = match map {
        MapKind::Gam => "GAM: Extent Alloc Status",
        MapKind::Sgam => "SGAM: Extent Alloc Status",
        MapKind::Diff => "DIFF_MAP: Extent Alloc Status",
        MapKind::Ml => "ML_MAP: Extent Alloc Status",
    };
    let (_, words) = words(map);
    let bits = MapView::new(page, map).bitmap();
    Content::Map {
        name,
        head: Vec::new(),
        runs: extent_runs(bits, id.gam_interval(), file_pages, words),
    }
}

fn iam(page: &PageBytes, source: &dyn PageSource) -> Content {
    let view = IamView::new(page);
    let interval = view.interval();
    let words = ["NOT ALLOCATED", "ALLOCATED"];
    let runs = extent_runs(view.bitmap(), interval, source.page_count(interval.file), words);
    Content::Map {
        name: "IAM: Extent Alloc Status",
        head: iam_fields(view),
        runs,
    }
}
