//! Blobs that are built by hand, and what is wrong with them.

use super::*;

/// Two steps over an int column: 3 (twice), then 9 (once) with two values of four rows between.
fn blob() -> Vec<u8> {
    let mut bytes = vec![0; size_of::<Head>()];
    let mut put = |at: usize, value: [u8; 4]| bytes[at..at + 4].copy_from_slice(&value);
    put(0, 7u32.to_le_bytes());
    put(4, 300u32.to_le_bytes());
    put(8, 40_000u32.to_le_bytes());
    put(12, 8u32.to_le_bytes());
    put(20, 8u32.to_le_bytes());
    put(32, 0.2f32.to_le_bytes());
    put(164, 2u32.to_le_bytes());
    put(168, 2u32.to_le_bytes());
    put(172, 1u32.to_le_bytes());
    put(176, 20u32.to_le_bytes());
    put(180, 4f32.to_le_bytes());
    put(188, 1f32.to_le_bytes());
    put(324, 0x11u32.to_le_bytes());
    let steps = [step(2.0, 0.0, 1.0, 3), step(1.0, 4.0, 2.0, 9)];
    let end = 16 + steps.concat().len() as i64;
    let second = 16 + steps[0].len() as i64;
    for number in [end, end + 8, 16, second] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(steps.concat());
    bytes.extend(8i64.to_le_bytes());
    bytes
}

fn step(equal: f32, range: f32, average: f32, key: i32) -> Vec<u8> {
    let mut record = vec![0x10, 0, 20, 0];
    for number in [equal, range, average] {
        record.extend(number.to_le_bytes());
    }
    record.extend(key.to_le_bytes());
    record.extend([4, 0, 0]);
    record
}

#[test]
fn a_blob_says_what_it_was_built_with() {
    let bytes = blob();
    let read = StatisticsBlob::read(&bytes).unwrap();
    assert_eq!(read.updated, StoredTime { ticks: 300, days: 40_000 });
    assert_eq!((read.rows, read.rows_sampled, read.null_rows), (8, 8, 1.0));
    assert_eq!((read.densities, read.average_key_bytes), (vec![0.2], 4.0));
    let step = |equal_rows, range_rows, average_range_rows, hi_key| StatisticsStep {
        equal_rows,
        range_rows,
        average_range_rows,
        hi_key,
    };
    let keys = [3i32, 9].map(i32::to_le_bytes);
    assert_eq!(read.steps, [step(2.0, 0.0, 1.0, &keys[0]), step(1.0, 4.0, 2.0, &keys[1])]);
}

#[test]
fn what_is_wrong_is_named() {
    let check = |change: fn(&mut Vec<u8>), expected: StatisticsFault| {
        let mut bytes = blob();
        change(&mut bytes);
        assert_eq!(StatisticsBlob::read(&bytes), Err(expected));
    };
    check(|bytes| bytes[0] = 4, StatisticsFault::Format { format: 4 });
    check(|bytes| bytes.truncate(339), StatisticsFault::Short);
    check(|bytes| bytes.truncate(420), StatisticsFault::Short);
    check(|bytes| bytes.push(0), StatisticsFault::Short);
    check(|bytes| bytes[164] = 3, StatisticsFault::Head);
    check(|bytes| bytes[325] = 0x80, StatisticsFault::Sections { sections: 0x8011 });
    check(|bytes| bytes[176] = 24, StatisticsFault::Step { number: 0 });
}

#[test]
fn no_byte_makes_it_panic() {
    let sound = blob();
    for at in 0..sound.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] = value;
            let _: Result<StatisticsBlob<'_>, StatisticsFault> = StatisticsBlob::read(&bytes);
            let _: Result<StatisticsBlob<'_>, StatisticsFault> = StatisticsBlob::read(&bytes[..at]);
        }
    }
}
