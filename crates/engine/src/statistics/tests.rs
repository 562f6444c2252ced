//! Histograms and estimates against the values that they were made of.

use std::collections::BTreeMap;
use std::ops::Bound;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::allocation::field::StoredTime;
use extentdb_types::{Datum, SqlType};

use super::collector::{Collector, distinct_in_table};
use super::histogram::STEPS_MAX;
use super::key;
use super::sorter::Sorter;
use super::{Histogram, Statistics};

/// A value and its rows; `None` is NULL.
type Model = BTreeMap<Option<i32>, u64>;

fn key_of(value: Option<i32>) -> Vec<u8> {
    key::of_datum(&SqlType::Int, &value.map_or(Datum::Null, Datum::Int)).unwrap()
}

fn statistics_of(model: &Model, scale: f64) -> Statistics {
    let mut collector = Collector::new(1);
    for (value, rows) in model {
        let key = key_of(*value);
        let ends = [key.len() as u16];
        (0..*rows).for_each(|_| collector.push(&key, &ends));
    }
    let collected = collector.finish();
    Statistics {
        id: 2,
        name: "s".to_owned(),
        columns: vec![(1, SqlType::Int)],
        is_filtered: false,
        rows: collected.rows as f64 * scale,
        rows_sampled: collected.rows,
        density: collected.densities(scale),
        average_key_bytes: 4.0,
        histogram: collected.into_histogram(scale),
        updated: StoredTime::default(),
    }
}

fn rows_of(histogram: &Histogram) -> f64 {
    let steps = histogram.steps().iter().map(|step| step.range_rows + step.eq_rows);
    steps.sum::<f64>() + histogram.null_rows()
}

/// Values with as many rows as `rows` draws.
fn model(rng: &mut SplitMix64, values: u64, rows: impl Fn(&mut SplitMix64) -> u64) -> Model {
    let mut model = Model::new();
    for _ in 0..values {
        let value = rng.below(1 << 31) as i32 - (1 << 30);
        *model.entry(Some(value)).or_default() += rows(rng);
    }
    model
}

/// Few rows of most values, many of some.
fn skewed(rng: &mut SplitMix64) -> u64 {
    match rng.below(100) {
        0 => 500 + rng.below(5_000),
        1..10 => 1 + rng.below(50),
        _ => 1 + rng.below(3),
    }
}

fn models() -> Vec<Model> {
    let mut rng = SplitMix64::new(19);
    let mut models = Vec::new();
    for values in [1, 2, 199, 200, 201, 400, 800, 801, 5_000, 20_000] {
        models.push(model(&mut rng, values, |_| 1));
        models.push(model(&mut rng, values, skewed));
        let mut with_nulls = model(&mut rng, values, skewed);
        with_nulls.insert(None, 1 + rng.below(1_000));
        models.push(with_nulls);
    }
    models
}

#[test]
fn rows_are_counted_once_and_steps_are_at_most_200() {
    for model in models() {
        let statistics = statistics_of(&model, 1.0);
        let histogram = statistics.histogram();
        let rows: u64 = model.values().sum();
        assert_eq!(rows_of(histogram), rows as f64);
        assert!(histogram.steps().len() <= STEPS_MAX);
        assert!(histogram.steps().is_sorted_by(|a, b| a.hi_key < b.hi_key));
        let distinct: f64 =
            histogram.steps().iter().map(|step| step.distinct_range_rows + 1.0).sum();
        let values = model.keys().filter(|value| value.is_some()).count();
        assert_eq!(distinct, values as f64);
        assert_eq!(statistics.density(1), Some(1.0 / model.len() as f64));
        assert_eq!(statistics.is_null(), model.get(&None).copied().unwrap_or(0) as f64);
        let bounds = [histogram.steps().first(), histogram.steps().last()];
        let ends = model.keys().flatten();
        let ends = [ends.clone().min(), ends.max()].map(|value| key_of(value.copied()));
        assert_eq!(bounds.map(|step| step.unwrap().hi_key.to_vec()), ends);
    }
}

#[test]
fn up_to_200_values_are_estimated_exactly() {
    for model in models() {
        if model.keys().flatten().count() > STEPS_MAX {
            continue;
        }
        let statistics = statistics_of(&model, 1.0);
        for (value, rows) in &model {
            assert_eq!(statistics.equal(&key_of(*value)), *rows as f64);
            let absent = value.map(|value| value + 1).filter(|it| !model.contains_key(&Some(*it)));
            if absent.is_some() {
                assert_eq!(statistics.equal(&key_of(absent)), 0.0);
            }
        }
        let mut rng = SplitMix64::new(7);
        for _ in 0..200 {
            let (low, high) = bounds(&mut rng);
            assert_eq!(estimated(&statistics, low, high), counted(&model, low, high));
        }
    }
}

#[test]
fn an_estimate_is_off_by_the_steps_that_its_bounds_cut_at_most() {
    for model in models() {
        let statistics = statistics_of(&model, 1.0);
        let mut rng = SplitMix64::new(7);
        let ranges = |key: &[u8]| {
            let step = statistics.histogram().steps().iter().find(|step| *step.hi_key >= *key);
            step.map_or(0.0, |step| step.range_rows)
        };
        for _ in 0..300 {
            let (low, high) = bounds(&mut rng);
            let cut: f64 = [low, high]
                .map(|bound| match bound {
                    Bound::Unbounded => 0.0,
                    Bound::Included(at) | Bound::Excluded(at) => ranges(&key_of(Some(at))),
                })
                .iter()
                .sum();
            let error = estimated(&statistics, low, high) - counted(&model, low, high);
            assert!(error.abs() <= cut + 1e-6, "{low:?} {high:?} {error} {cut}");
        }
    }
}

#[test]
fn frequent_values_stay_steps_of_their_own() {
    let mut model: Model = (0..50_000).map(|value| (Some(value), 2)).collect();
    let frequent = [7, 12_345, 12_346, 30_000, 49_000];
    model.extend(frequent.map(|value| (Some(value), 2_000)));
    let statistics = statistics_of(&model, 1.0);
    for value in frequent {
        assert_eq!(statistics.equal(&key_of(Some(value))), 2_000.0);
    }
    let errors = (0..50_000).step_by(97).map(|value| statistics.equal(&key_of(Some(value))));
    assert!(errors.filter(|rows| (1.0..4.0).contains(rows)).count() > 500);
}

#[test]
fn ranges_of_evenly_spread_values_are_even() {
    let model: Model = (0..100_000).map(|value| (Some(value), 1)).collect();
    let statistics = statistics_of(&model, 1.0);
    let most = statistics.histogram().steps().iter().map(|step| step.range_rows);
    assert!(most.fold(0.0, f64::max) < 4.0 * 100_000.0 / STEPS_MAX as f64);
    for (low, high) in [(0, 1_000), (50_000, 51_000), (98_765, 99_999)] {
        let rows = estimated(&statistics, Bound::Included(low), Bound::Included(high));
        let expected = f64::from(high - low + 1);
        assert!((rows - expected).abs() < 5.0, "{low} to {high}: {rows}");
    }
}

#[test]
fn a_sample_stands_for_its_table() {
    assert_eq!(distinct_in_table(100, 100, 100, 10.0).round(), 1_000.0, "all are unique");
    assert_eq!(distinct_in_table(5, 0, 100, 10.0), 5.0, "all were seen twice");
    assert_eq!(distinct_in_table(5, 3, 100, 1.0), 5.0, "all rows were read");
    let model: Model = (0..1_000).map(|value| (Some(value), 1)).collect();
    let statistics = statistics_of(&model, 20.0);
    assert!((rows_of(statistics.histogram()) - 20_000.0).abs() < 1e-6);
    assert!((1.0 / statistics.density(1).unwrap() - 20_000.0).abs() < 1e-3);
}

#[test]
fn prefixes_are_counted_whatever_the_order_of_later_columns() {
    let mut collector = Collector::new(2);
    for (first, second) in [(1, 9), (1, 9), (1, 3), (2, 5), (2, 4), (3, 4)] {
        let mut key = key_of(Some(first));
        let mut ends = vec![key.len() as u16];
        key.extend(key_of(Some(second)));
        ends.push(key.len() as u16);
        collector.push(&key, &ends);
    }
    assert_eq!(collector.finish().densities(1.0), [1.0 / 3.0, 1.0 / 5.0]);
}

#[test]
fn a_full_sorter_keeps_an_even_sample_in_order() {
    let mut sorter = Sorter::with_room(1, 40_000);
    for number in 0..20_000 {
        let key = key_of(Some((number * 7_919) % 20_011));
        sorter.push(&key, &[key.len() as u16]);
    }
    let mut keys = Vec::new();
    sorter.drain(|key, ends| {
        assert_eq!(ends, [key.len() as u16]);
        keys.push(key.to_vec());
    });
    assert!(keys.is_sorted());
    assert!((400..1_300).contains(&keys.len()), "{}", keys.len());
    let half = keys.partition_point(|key| *key < key_of(Some(10_000)));
    assert!((0.4..0.6).contains(&(half as f64 / keys.len() as f64)));
}

#[test]
fn nothing_is_known_of_an_empty_table() {
    let statistics = statistics_of(&Model::new(), 1.0);
    assert_eq!(statistics.density(1), None);
    assert_eq!(statistics.equal(&key_of(Some(1))), 0.0);
    assert_eq!(statistics.range(Bound::Unbounded, Bound::Unbounded), 0.0);
}

fn bounds(rng: &mut SplitMix64) -> (Bound<i32>, Bound<i32>) {
    let mut values = [0, 0].map(|_| rng.below(1 << 31) as i32 - (1 << 30));
    values.sort_unstable();
    let bound = |value, rng: &mut SplitMix64| match rng.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(value),
        _ => Bound::Excluded(value),
    };
    (bound(values[0], rng), bound(values[1], rng))
}

fn estimated(statistics: &Statistics, low: Bound<i32>, high: Bound<i32>) -> f64 {
    let low = low.map(|value| key_of(Some(value)));
    let high = high.map(|value| key_of(Some(value)));
    statistics.range(low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice))
}

fn counted(model: &Model, low: Bound<i32>, high: Bound<i32>) -> f64 {
    let within = |value: &i32| {
        (match low {
            Bound::Unbounded => true,
            Bound::Included(low) => *value >= low,
            Bound::Excluded(low) => *value > low,
        }) && match high {
            Bound::Unbounded => true,
            Bound::Included(high) => *value <= high,
            Bound::Excluded(high) => *value < high,
        }
    };
    let rows = model.iter().filter(|(value, _)| value.as_ref().is_some_and(within));
    rows.map(|(_, rows)| *rows as f64).sum()
}
