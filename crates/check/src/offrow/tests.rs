//! The hashes over whole files, and the two ways to the addresses that disagree.

use std::collections::BTreeSet;
use std::path::PathBuf;

use extentdb_base::env::SystemClock;
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::{FileId, PageId};
use extentdb_format::page::checksum;
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_reader::{OpenOptions, OpenedFiles, PageSource, ReadError, SourceFile};

use super::exact::ExactReader;
use super::rowset::Rowsets;
use super::{OffRowCollector, open_units, pass, rowset};
use crate::collector::Collector;
use crate::options::{Control, Options};
use crate::partial::Partial;
use crate::plan::{Plan, make};
use crate::relation::Relation;
use crate::scan::{Counters, Scan};
use crate::second_pass::SecondPass;
use crate::sound::SoundPage;
use crate::unit::UnitIndex;

fn sample(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples")),
        PathBuf::from,
    );
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("SKIPPED: no samples at {}", folder.display());
    }
    path.exists().then_some(path)
}

/// A file with some pages changed.
struct Changed {
    base: OpenedFiles,
    pages: Vec<(PageId, PageBuf)>,
}

impl PageSource for Changed {
    fn files(&self) -> &[SourceFile] {
        self.base.source().files()
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        self.base.source().read_run(first, buf)?;
        for (page, out) in (first.page..).zip(buf.chunks_exact_mut(8192)) {
            let changed = self.pages.iter().find(|(id, _)| *id == PageId { page, ..first });
            if let Some((_, changed)) = changed {
                out.copy_from_slice(&changed[..]);
            }
        }
        Ok(())
    }

    fn is_stored(&self, extent: extentdb_base::Extent) -> bool {
        self.base.source().is_stored(extent)
    }
}

impl Changed {
    fn new(name: &str) -> Option<Changed> {
        let base = OpenedFiles::open(&[sample(name)?], &OpenOptions::default()).unwrap();
        Some(Changed { base, pages: Vec::new() })
    }

    fn edit(&mut self, page: u32, change: impl FnOnce(&mut PageBytes)) {
        let id = PageId { file: FileId(1), page };
        let mut bytes = PageBuf::zeroed();
        self.read_run(id, &mut bytes[..]).unwrap();
        change(&mut bytes);
        checksum::seal(&mut bytes);
        self.pages.push((id, bytes));
    }

    fn text_pages(&self) -> Vec<u32> {
        let is_text = |page: &u32| {
            let mut bytes = PageBuf::zeroed();
            self.read_run(PageId::new(1, *page), &mut bytes[..]).unwrap();
            let header = PageRef::new(&bytes).header();
            header.kind() == PageType::TextMix
                && header.page_id().page == *page
                && header.slot_count.get() > 0
        };
        (0..self.files()[0].pages).filter(is_text).collect()
    }
}

/// The scan of this module alone, with sketches for all units.
struct Sketched<'p>(OffRowCollector<'p>);

impl Collector for Sketched<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, partial: &mut Partial) {
        self.0.page(page, partial);
    }
}

/// Passes the plan and the hashes of a source to `show`.
fn scanned(source: &dyn PageSource, show: impl FnOnce(&Plan, &Partial, &SecondPass<'_>)) {
    let options = Options::default();
    let clock = SystemClock::new();
    let cancel = AtomicBool::new(false);
    let control = Control::new(&clock, &cancel);
    let stop = AtomicBool::new(false);
    let plan = make(source, &options).plan;
    let counters = Counters::default();
    let scan = Scan::new(source, &plan, &options, &counters);
    let run = scan.run(&scan.plan(), 2, &control, &stop, || {
        Sketched(OffRowCollector::new(&plan, &options).sketched())
    });
    let pass = SecondPass {
        source,
        plan: &plan,
        options: &options,
        control: &control,
        stop: &stop,
        jobs: 2,
    };
    show(&plan, &run.unwrap().0, &pass);
}

/// Facts of a relation in all units.
fn facts(sum: &Partial, relation: Relation) -> u64 {
    sum.sums.iter().map(|(_, sums)| sums.acc(relation).minus).sum()
}

#[test]
fn the_hashes_of_real_files_balance() {
    // Nodes and nodes with a stated size, counted once by hand.
    let cases = [
        ("bookshop-2008r2.mdf", 2, 2),
        ("crud-2012.mdf", 5, 5),
        ("northwind-2008.mdf", 100, 61),
        ("northwind-from-2000.mdf", 102, 63),
        ("pubs-2008.mdf", 45, 29),
        ("northwind-2014.bak", 11, 9),
        ("pubs-2012.bak", 48, 32),
        ("tsql2012-compressed.bak", 14, 14),
    ];
    for (name, nodes, sized) in cases {
        let Some(path) = sample(name) else { continue };
        let opened = OpenedFiles::open(&[path], &OpenOptions::default()).unwrap();
        scanned(opened.source(), |plan, sum, _| {
            assert_eq!(
                (facts(sum, Relation::Pointer), facts(sum, Relation::PointerSize)),
                (nodes, sized),
                "{name}"
            );
            let rowsets = Rowsets::new(plan, sum);
            assert_eq!(open_units(plan, sum, &rowsets), BTreeSet::new(), "{name}");
            assert!(sum.off_row.gaps.is_empty(), "{name}: {:?}", sum.off_row.gaps);
        });
    }
}

#[test]
fn sketches_decode_the_addresses_that_a_full_read_finds() {
    let Some(mut source) = Changed::new("northwind-2008.mdf") else { return };
    let pages = source.text_pages();
    // Other text ids, an empty slot, another size.
    source.edit(pages[3], |page| page[96 + 5] ^= 1);
    source.edit(pages[9], |page| page[8190..].fill(0));
    let header_free = |page: &PageBytes| PageRef::new(page).header().free_bytes.get();
    source.edit(pages[12], |page| {
        let len = u16::from_le_bytes([page[98], page[99]]);
        page[98..100].copy_from_slice(&(len - 1).to_le_bytes());
        let free = header_free(page) + 1;
        extentdb_format::page::PageHeader::of_mut(page).free_bytes.set(free);
    });
    scanned(&source, |plan, sum, pass| {
        let rowsets = Rowsets::new(plan, sum);
        let open = open_units(plan, sum, &rowsets);
        assert!(!open.is_empty());
        let visit: BTreeSet<UnitIndex> = open
            .iter()
            .filter_map(|unit| rowsets.of(*unit))
            .flat_map(rowset::Rowset::units)
            .collect();
        let exact = ExactReader { pass, open: &open, visit: &visit, id_max: pass::id_max(plan) };
        let found = exact.search(1).unwrap();
        assert!(found.len() >= 2, "{found:?}");
        for buckets in [2, 7] {
            assert_eq!(exact.search(buckets).unwrap(), found, "{buckets} buckets");
        }
        assert_eq!(exact.decode(&sum.sums), Some(found));
    });
}
