//! The cost of a page: checksum compared with a plain read of the same memory, header and slot
//! array, cracking of records.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageMut, PageRef, PageType, checksum};
use extentdb_format::record::{Record, RecordBuilder, RecordKind};

/// A data page full of rows of about 170 bytes, as the `sales` shape has them.
fn data_page() -> PageBuf {
    let mut page = PageBuf::zeroed();
    let mut edit = PageMut::format(
        &mut page,
        PageId::new(1, 77),
        PageType::Data,
        AllocUnitId::from_header(30, 256),
    );
    let mut rng = SplitMix64::new(7);
    loop {
        let mut builder = RecordBuilder::data(RecordKind::Primary, 60);
        builder.columns(9).fixed(4, &rng.next_u64().to_le_bytes());
        for len in [30, 40, 20] {
            builder.var(&vec![b'x'; len], false);
        }
        if edit.push(&builder.to_vec()).is_none() {
            break;
        }
    }
    checksum::seal(&mut page);
    page
}

fn read_memory(pages: &[PageBuf]) -> u64 {
    pages.iter().fold(0, |sum, page| {
        let words = page.as_chunks::<8>().0;
        sum ^ words.iter().fold(0, |x, word| x ^ u64::from_ne_bytes(*word))
    })
}

fn page_benches(c: &mut Criterion) {
    // In cache (one chunk of a checker's worker) and in memory.
    for (name, count) in [("256 KiB", 32), ("256 MiB", 32 * 1024)] {
        let pages = vec![data_page(); count];
        let mut group = c.benchmark_group(name);
        group.sample_size(20);
        group.throughput(Throughput::Bytes((count * 8192) as u64));
        group.bench_function("plain read", |b| b.iter(|| read_memory(black_box(&pages))));
        group.bench_function("checksum", |b| {
            b.iter(|| pages.iter().fold(0, |sum, page| sum ^ checksum::compute(black_box(page))));
        });
        group.bench_function("crack records", |b| {
            b.iter(|| pages.iter().map(|page| crack(black_box(page))).sum::<usize>());
        });
        group.finish();
    }
}

fn crack(page: &PageBuf) -> usize {
    PageRef::new(page).records().map(|(_, bytes)| Record::parse_data(bytes).len()).sum()
}

criterion_group!(benches, page_benches);
criterion_main!(benches);
