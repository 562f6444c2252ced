use super::*;

#[test]
fn thirds_of_a_hundredth_print_as_0_3_and_7() {
    let text = |ticks| DateTime::new(0, ticks).unwrap().to_string();
    assert_eq!(text(0), "1900-01-01T00:00:00.000");
    assert_eq!(text(1), "1900-01-01T00:00:00.003");
    assert_eq!(text(2), "1900-01-01T00:00:00.007");
    assert_eq!(text(3), "1900-01-01T00:00:00.010");
    assert_eq!(text(299), "1900-01-01T00:00:00.997");
    assert_eq!(text(DATETIME_TICKS_PER_DAY - 1), "1900-01-01T23:59:59.997");
}

#[test]
fn datetime_covers_1753_to_9999_and_nothing_else() {
    assert_eq!(DateTime::new(-53_690, 0).unwrap().to_string(), "1753-01-01T00:00:00.000");
    assert_eq!(DateTime::new(2_958_463, 0).unwrap().to_string(), "9999-12-31T00:00:00.000");
    assert_eq!(DateTime::new(-53_691, 0), Err(Field::Days));
    assert_eq!(DateTime::new(2_958_464, 0), Err(Field::Days));
    assert_eq!(DateTime::new(0, DATETIME_TICKS_PER_DAY), Err(Field::Ticks));
}

#[test]
fn smalldatetime_prints_whole_minutes_and_ends_in_2079() {
    assert_eq!(SmallDateTime::new(65_535, 1_439).unwrap().to_string(), "2079-06-06T23:59:00.000");
    assert_eq!(SmallDateTime::new(0, 1_440), Err(Field::Minutes));
}

#[test]
fn every_day_of_the_calendar_converts_there_and_back() {
    let mut expected = (1u16, 1u8, 1u8);
    for days in 0..=DATE_LAST_DAY {
        let date = Date::new(days).unwrap();
        assert_eq!(date.ymd(), expected);
        let (year, month, day) = expected;
        assert_eq!(Date::from_ymd(year, month, day), Some(date));
        expected = next_day(expected);
    }
    assert_eq!(expected, (10_000, 1, 1));
    assert_eq!(Date::new(DATE_LAST_DAY + 1), Err(Field::Days));
    assert_eq!(Date::from_ymd(1900, 2, 29), None);
    assert_eq!(Date::from_ymd(2023, 4, 31), None);
}

/// The day after, counted by the lengths of the months.
fn next_day((year, month, day): (u16, u8, u8)) -> (u16, u8, u8) {
    let february = if is_leap(u32::from(year)) { 29 } else { 28 };
    let length = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][usize::from(month) - 1];
    match (month, day < length) {
        (_, true) => (year, month, day + 1),
        (12, false) => (year + 1, 1, 1),
        (_, false) => (year, month + 1, 1),
    }
}

#[test]
fn time_prints_exactly_its_scale() {
    let text = |ticks, scale| Time::new(ticks, scale).unwrap().to_string();
    assert_eq!(text(86_399, 0), "23:59:59");
    assert_eq!(text(1, 1), "00:00:00.1");
    assert_eq!(text(452_961_234_567, 7), "12:34:56.1234567");
    assert_eq!(Time::new(86_400, 0), Err(Field::Ticks));
    assert_eq!(Time::new(0, 8), Err(Field::Ticks));
}

#[test]
fn datetimeoffset_prints_local_time_across_midnight() {
    let utc = |year, month, day, ticks| DateTime2 {
        date: Date::from_ymd(year, month, day).unwrap(),
        time: Time::new(ticks, 3).unwrap(),
    };
    let text = |utc, offset| DateTimeOffset::new(utc, offset).map(|value| value.to_string());
    assert_eq!(text(utc(2024, 2, 28, 82_800_500), 330).unwrap(), "2024-02-29T04:30:00.500+05:30");
    assert_eq!(text(utc(2024, 1, 1, 0), -1).unwrap(), "2023-12-31T23:59:00.000-00:01");
    assert_eq!(text(utc(2024, 1, 1, 0), 841), Err(Field::Offset));
    assert_eq!(text(utc(1, 1, 1, 0), -60), Err(Field::LocalTime));
    assert_eq!(text(utc(9999, 12, 31, 86_399_999), 60), Err(Field::LocalTime));
}

#[test]
fn instants_compare_before_offsets() {
    let at = |ticks, offset| {
        let utc = DateTime2 {
            date: Date::new(700_000).unwrap(),
            time: Time::new(ticks, 0).unwrap(),
        };
        DateTimeOffset::new(utc, offset).unwrap()
    };
    assert!(at(10, -840) > at(9, 840));
}
