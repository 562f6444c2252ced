//! The cost of a text comparison and of a sort key, compared with the collator of ICU4X with the
//! same texts.
//!
//! Two thousand pairs of a thousand texts of 6 to 34 characters: neighbours in binary order, and
//! pairs far apart. Throughput is counted in elements, so the time of one is the time of a run
//! divided by their number.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_types::Collation;
use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::locale;

const TEXTS: usize = 1000;
const COLLATIONS: [&str; 4] = [
    "SQL_Latin1_General_CP1_CI_AS",
    "Latin1_General_100_CI_AS",
    "Latin1_General_100_CS_AS",
    "Czech_100_CI_AS",
];

fn alphabet(script: &str) -> Vec<char> {
    match script {
        "ASCII" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789 ".chars().collect(),
        "Latin-1" => "abcdefghijklmnopqrstuvwxyzäöüßéèêñçåøÄÖÜ ".chars().collect(),
        "Cyrillic" => "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕ ".chars().collect(),
        _ => ('\u{4E00}'..'\u{5E00}').collect(),
    }
}

/// Texts in binary order; every other one of ASCII begins with the same fourteen letters.
fn texts(script: &str) -> Vec<Vec<u16>> {
    let alphabet = alphabet(script);
    let mut rng = SplitMix64::new(7);
    let mut random = |below: usize| rng.next_u64() as usize % below;
    let mut texts: Vec<Vec<u16>> = Vec::new();
    for at in 0..TEXTS {
        let head = if at % 2 == 1 && script == "ASCII" { "Common prefix " } else { "" };
        let len = 6 + random(14);
        let tail: String = (0..len).map(|_| alphabet[random(alphabet.len())]).collect();
        texts.push(head.chars().chain(tail.chars()).collect::<String>().encode_utf16().collect());
    }
    texts.sort();
    texts
}

fn pairs() -> Vec<(usize, usize)> {
    (0..TEXTS).flat_map(|at| [(at, (at + 1) % TEXTS), (at, (at * 7 + 3) % TEXTS)]).collect()
}

fn icu() -> CollatorBorrowed<'static> {
    let mut options = CollatorOptions::default();
    options.strength = Some(Strength::Secondary);
    Collator::try_new(locale!("en").into(), options).expect("the data of ICU4X is compiled in")
}

fn ours(c: &mut Criterion, script: &str, units: &[Vec<u16>]) {
    let wide: Vec<Vec<u8>> = units
        .iter()
        .map(|text| text.iter().flat_map(|unit| unit.to_le_bytes()).collect())
        .collect();
    let pairs = pairs();
    for name in COLLATIONS {
        let collation = Collation::from_name(name).expect("a collation of the product");
        let mut group = c.benchmark_group(format!("{script} {name}"));
        group.throughput(Throughput::Elements(pairs.len() as u64));
        group.bench_function("compare", |b| {
            b.iter(|| {
                for (x, y) in &pairs {
                    black_box(collation.compare_nchar(&wide[*x], &wide[*y]));
                }
            });
        });
        group.throughput(Throughput::Elements(wide.len() as u64));
        group.bench_function("sort key", |b| {
            b.iter(|| {
                for text in &wide {
                    black_box(collation.sort_key_nchar(text));
                }
            });
        });
        group.finish();
    }
}

fn theirs(c: &mut Criterion, script: &str, units: &[Vec<u16>]) {
    let pairs = pairs();
    let collator = icu();
    let mut group = c.benchmark_group(format!("{script} ICU4X"));
    group.throughput(Throughput::Elements(pairs.len() as u64));
    group.bench_function("compare", |b| {
        b.iter(|| {
            for (x, y) in &pairs {
                black_box(collator.compare_utf16(&units[*x], &units[*y]));
            }
        });
    });
    group.throughput(Throughput::Elements(units.len() as u64));
    group.bench_function("sort key", |b| {
        b.iter(|| {
            for text in units {
                let mut key = Vec::new();
                let written = collator.write_sort_key_utf16_to(text, &mut key);
                black_box((written.is_ok(), key));
            }
        });
    });
    group.finish();
}

fn collation_benches(c: &mut Criterion) {
    for script in ["ASCII", "Latin-1", "Cyrillic", "Han"] {
        let units = texts(script);
        ours(c, script, &units);
        theirs(c, script, &units);
    }
}

criterion_group!(benches, collation_benches);
criterion_main!(benches);
