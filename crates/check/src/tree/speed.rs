use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::{FileId, PageId};
use extentdb_reader::MemoryFile;
use extentdb_synth::{MakeOptions, Size, make as build};

use super::*;
use crate::options::{Control, Options};
use crate::partial::Partial;
use crate::plan::make;
use crate::scan::{Counters, Scan};
use crate::sound::{Facts, NoFacts, Sound};

struct OnlyOrder<'t>(&'t Trees, u64);
impl Facts for OnlyOrder<'_> {
    fn sound(&mut self, page: &Sound<'_>, _: &mut Partial) {
        if let Some(plan) = self.0.get(page.index).and_then(|tree| tree.key.as_ref()) {
            let skip = page.is_leaf || !page.header().prev().is_none();
            order::compare_neighbours(page, plan, skip, |_| self.1 += 1);
        }
    }
}

#[test]
#[ignore]
fn speed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.mdf");
    build(
        &MakeOptions { shape: "sales".into(), size: Size::Bytes(256 << 20), seed: 1 },
        &[&path],
        &mut |_| {},
    )
    .unwrap();
    let source = MemoryFile::new(FileId(1), std::fs::read(&path).unwrap());
    let options = Options { jobs: std::num::NonZeroUsize::new(1), ..Options::default() };
    let (clock, stop) = (SystemClock::new(), AtomicBool::new(false));
    let plan = make(&source, &options).plan;
    let trees = Trees::new(&plan);
    let counters = Counters::default();
    let scan = Scan::new(&source, &plan, &options, &counters);
    let sp = scan.plan();
    let control = Control::new(&clock, &stop);
    let mut best = [f64::MAX; 3];
    let (mut pages, mut rows) = (0, 0);
    for _ in 0..9 {
        let t = clock.monotonic();
        let (sum, _) = scan.run(&sp, 1, &control, &stop, || NoFacts).unwrap();
        best[0] = best[0].min((clock.monotonic() - t).as_secs_f64());
        pages = sum.pages_checked;
        rows = sum.counts.iter().map(|c| c.rows).sum();
        let t = clock.monotonic();
        scan.run(&sp, 1, &control, &stop, || OnlyOrder(&trees, 0)).unwrap();
        best[1] = best[1].min((clock.monotonic() - t).as_secs_f64());
        let t = clock.monotonic();
        let (mut sum, _) = scan.run(&sp, 1, &control, &stop, || TreeFacts::new(&trees, 64 << 20)).unwrap();
        best[2] = best[2].min((clock.monotonic() - t).as_secs_f64());
        sum.tree.settle(&mut sum.sums);
        eprintln!(
            "runs {} {} unproven {}",
            sum.tree.leaves.runs.len(),
            sum.tree.upper.runs.len(),
            sum.tree.unproven.len()
        );
    }
    let ns = |t: f64| t * 1e9 / pages as f64;
    eprintln!(
        "pages {pages} rows {rows}: audit {:.0} ns/page, + order {:.0} ns/page = {:.2} ns/row, + all {:.0} ns/page",
        ns(best[0]),
        ns(best[1]) - ns(best[0]),
        (best[1] - best[0]) * 1e9 / rows as f64,
        ns(best[2]) - ns(best[0])
    );
    let _ = PageId::NONE;
}
