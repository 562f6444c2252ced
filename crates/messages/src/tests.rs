//! The table as a whole: complete, in order, and every text can be filled.

use std::collections::BTreeSet;

use crate::*;

/// Numbers of the specification's sections B.1 to B.4, B.6 and C that a physical check can report.
const PHYSICAL: [u32; 83] = [
    2508, 2511, 2512, 2515, 2531, 2533, 2534, 2537, 2546, 2568, 2574, 2575, 2576, 2577, 2579, 5228,
    5229, 5233, 5250, 5256, 5260, 5262, 5274, 5282, 7961, 7965, 7984, 7985, 7986, 7987, 7988, 7995,
    8901, 8902, 8903, 8904, 8905, 8906, 8909, 8910, 8913, 8914, 8919, 8921, 8925, 8926, 8927, 8928,
    8930, 8931, 8932, 8933, 8934, 8935, 8936, 8937, 8938, 8939, 8940, 8941, 8942, 8943, 8944, 8946,
    8947, 8948, 8959, 8960, 8966, 8967, 8968, 8969, 8970, 8973, 8976, 8977, 8978, 8979, 8980, 8981,
    8982, 8984, 8988,
];
const ALSO_PHYSICAL: [u32; 4] = [8995, 8996, 8998, 8999];
/// Numbers of the logical checks, B.5 and B.7 to B.12, with their companion lines.
const LOGICAL: [u32; 47] = [
    2570, 3851, 3852, 3853, 3854, 3855, 3856, 3857, 3858, 3859, 5268, 5275, 5276, 7902, 7903, 7904,
    7905, 7906, 7907, 7908, 7920, 7931, 7932, 7933, 7935, 7936, 7963, 8907, 8908, 8929, 8951, 8952,
    8955, 8956, 8961, 8962, 8963, 8964, 8965, 8971, 8972, 8974, 8975, 8992, 8993, 8994, 8997,
];
/// Numbers of the options, of other commands and of repairs, A and C.
const AROUND: [u32; 42] = [
    823, 824, 825, 2501, 2506, 2510, 2518, 2519, 2520, 2521, 2522, 2523, 2525, 2527, 2529, 2530,
    2559, 2573, 2594, 2595, 5231, 5237, 5245, 5269, 5271, 5277, 5278, 5281, 5296, 7926, 7928, 7929,
    7998, 8912, 8949, 8950, 9667, 9669, 9670, 9675, 9676, 17573,
];
const OUTPUT: [u32; 13] =
    [2528, 2536, 2593, 5232, 5235, 7966, 8954, 8957, 8958, 8986, 8989, 8990, 59001];

/// A value of the right kind for each hole.
fn sample_args(message: &Message) -> Vec<Arg<'static>> {
    let sample = |kind| match kind {
        ArgKind::Int => Arg::Int(-1),
        ArgKind::Text => Arg::from("text"),
        ArgKind::Page => Arg::Page { file: 1, page: 153 },
    };
    message.arguments().map(sample).collect()
}

#[test]
fn every_number_of_the_specification_has_text_and_explanation() {
    for number in
        PHYSICAL.into_iter().chain(ALSO_PHYSICAL).chain(LOGICAL).chain(AROUND).chain(OUTPUT)
    {
        assert!(lookup(number).is_some(), "no message {number}");
        assert!(explain(number).is_some(), "no explanation of {number}");
    }
}

#[test]
fn numbers_ascend_and_are_found() {
    assert!(all().windows(2).all(|pair| pair[0].number < pair[1].number));
    for message in all() {
        assert_eq!(lookup(message.number), Some(message));
        assert_eq!(explain(message.number).map(|it| it.number), Some(message.number));
    }
    assert_eq!(lookup(0), None);
    assert_eq!(lookup(8900), None);
    assert_eq!(explain(1), None);
}

#[test]
fn severities_follow_the_specification() {
    for message in all() {
        let number = message.number;
        let expected = match number {
            823 | 824 => 24,
            8966 | 5180 => 22,
            605 => 21,
            7909 => 20,
            8902 => 17,
            2557 | 2571 | 7983 => 14,
            825 | 2518 | 2519 | 2528 | 2536 | 2538..=2540 | 2546 | 2592..=2595 | 3851..=3859 => 10,
            5230..=5232 | 5235 | 5237 | 5248 | 5253 | 5268 | 5271 | 5275..=5278 | 5281 | 5283 => 10,
            5296 | 5297 | 7910..=7918 | 7920 | 7923..=7925 | 7927 | 7951 | 7964 | 7966 => 10,
            8911 | 8912 | 8914..=8918 | 8922..=8924 | 8949 | 8953 | 8954 | 8957 | 8958 | 8975 => 10,
            8983 | 8989 | 8990 | 8999 | 9605..=9676 | 17573 | 59001..=59099 => 10,
            _ => 16,
        };
        assert_eq!(message.severity, expected, "message {number}");
    }
}

#[test]
fn only_damage_counts_and_notes_do_not() {
    for message in all() {
        let number = message.number;
        if message.counts != Counts::Neither {
            assert_eq!(message.severity, 16, "message {number} counts as an error");
        }
        if message.counts == Counts::Allocation {
            assert_eq!(message.raised_by, Family::Allocation, "message {number}");
        }
        assert_eq!(
            message.raised_by == Family::Note,
            (59001..=59099).contains(&number),
            "message {number}"
        );
    }
    for companion in [8955, 8956, 8988, 8914] {
        assert_eq!(
            lookup(companion).map(|message| message.counts),
            Some(Counts::Neither),
            "{companion}"
        );
    }
}

#[test]
fn the_allocation_total_takes_its_own_checks_and_not_the_counters() {
    let counted: BTreeSet<u32> =
        all().iter().filter(|it| it.counts == Counts::Allocation).map(|it| it.number).collect();
    let expected = [
        2533, 2534, 2568, 2575, 2576, 2577, 2579, 7965, 8903, 8904, 8905, 8906, 8910, 8913, 8946,
        8947, 8948, 8959, 8968, 8969, 8996, 8998,
    ];
    assert_eq!(counted, expected.into());
}

#[test]
fn every_text_takes_exactly_its_arguments() {
    for message in all() {
        let mut args = sample_args(message);
        let text = message.format(&args).unwrap();
        assert!(!text.contains('%'), "message {}: {text}", message.number);
        assert!(!text.contains('\t'), "message {}", message.number);

        let expected = args.len();
        args.push(Arg::Int(0));
        let error =
            FormatError::ArgumentCount { number: message.number, expected, given: expected + 1 };
        assert_eq!(message.format(&args), Err(error));
        if expected > 0 {
            args.truncate(expected - 1);
            let error = FormatError::ArgumentCount {
                number: message.number,
                expected,
                given: expected - 1,
            };
            assert_eq!(message.format(&args), Err(error));
        }
    }
}

#[test]
fn a_wrong_kind_of_argument_is_named() {
    let message = lookup(8905).unwrap();
    let error = message.format(&[Arg::from("1:2"), Arg::Int(5)]).unwrap_err();
    assert_eq!(error.to_string(), "argument 0 of message 8905 is Text, not Page");
}

#[test]
fn explanations_are_whole_sentences_and_not_the_message_again() {
    for message in all() {
        let it = explain(message.number).unwrap();
        for part in [it.meaning, it.cause, it.next_step] {
            assert!(
                part.ends_with('.') && part.len() >= 10,
                "explanation of {}: {part}",
                message.number
            );
            assert_ne!(part, message.text);
        }
    }
}

/// The line of a well known report, so that every marker is seen to print as DBCC prints it.
#[track_caller]
fn check(number: u32, args: &[Arg<'_>], expected: &str) {
    assert_eq!(lookup(number).unwrap().format(args).as_deref(), Ok(expected));
}

#[test]
fn texts_print_as_dbcc_prints_them() {
    let owner = [245_575_913, 1, 72_057_594_043_432_960, 72_057_594_049_658_880].map(Arg::Int);
    let owner: Vec<Arg<'_>> = owner.into_iter().chain([Arg::from("In-row data")]).collect();
    let page = |page| Arg::Page { file: 1, page };

    check(
        8928,
        &[&owner[..], &[page(312)]].concat(),
        "Object ID 245575913, index ID 1, partition ID 72057594043432960, alloc unit ID 72057594049658880 (type \
         In-row data): Page (1:312) could not be processed. See other errors for details.",
    );
    check(
        8939,
        &[
            &owner[..],
            &[page(312), "IS_OFF (BUF_IOERR, pBUF->bstat)".into(), 133_129.into(), Arg::Int(-4)],
        ]
        .concat(),
        "Table error: Object ID 245575913, index ID 1, partition ID 72057594043432960, alloc unit ID 72057594049658880 \
         (type In-row data), page (1:312). Test (IS_OFF (BUF_IOERR, pBUF->bstat)) failed. Values are 133129 and -4.",
    );
    check(
        8989,
        &["CHECKDB".into(), 0.into(), 4.into(), "Shop".into()],
        "CHECKDB found 0 allocation errors and 4 consistency errors in database 'Shop'.",
    );
    check(
        8958,
        &["repair_allow_data_loss".into(), "CHECKDB".into(), "Sales".into(), "".into(), "".into()],
        "repair_allow_data_loss is the minimum repair level for the errors found by DBCC CHECKDB (Sales).",
    );
    check(
        824,
        &[
            "incorrect checksum".into(),
            "read".into(),
            page(153),
            7.into(),
            0x13_2000.into(),
            "shop.mdf".into(),
        ],
        "SQL Server detected a logical consistency-based I/O error: incorrect checksum. It occurred during a \
         read of page (1:153) in database ID 7 at offset 0x00000000132000 in file 'shop.mdf'.",
    );
    check(
        2570,
        &[&[page(77), 3.into()], &owner[..], &["OrderDate".into(), "datetime".into()]].concat(),
        "Page (1:77), slot 3 in object ID 245575913, index ID 1, partition ID 72057594043432960, alloc unit ID \
         72057594049658880 (type \"In-row data\"). Column \"OrderDate\" value is out of range for data type \
         \"datetime\".  Update column to a legal value.",
    );
    check(
        8955,
        &[1.into(), 77.into(), 3.into(), "OrderID = 10248".into(), "CustomerID = N'VINET'".into()],
        "Data row (1:77:3) identified by (OrderID = 10248) with index values 'CustomerID = N'VINET''.",
    );
    check(
        5277,
        &["".into(), 49.into(), 180.into(), 3.into(), 49.into(), 176.into(), 1.into()],
        "Internal database snapshot has split point LSN = 00000031:000000b4:0003 and first LSN = \
         00000031:000000b0:0001. This is an informational message only. No user action is required.",
    );
    check(
        8948,
        &[page(8), page(1), 0x70.into(), Arg::Int(-1)],
        "Database error: Page (1:8) is marked with the wrong type in PFS page (1:1). PFS status 0x70 expected \
         0xffffffff.",
    );
}

#[test]
fn repair_depends_on_the_kind_of_index_where_it_says_so() {
    let level = |number: u32, index_id| lookup(number).unwrap().repair.level(index_id);
    assert_eq!(level(8939, 0), RepairLevel::AllowDataLoss);
    assert_eq!(level(8939, 1), RepairLevel::AllowDataLoss);
    assert_eq!(level(8939, 2), RepairLevel::Rebuild);
    assert_eq!(level(8977, 1), RepairLevel::Rebuild);
    assert_eq!(level(8905, 2), RepairLevel::AllowDataLoss);
    assert_eq!(level(5250, 0), RepairLevel::None);
    assert_eq!(level(2570, 1), RepairLevel::None);
    assert_eq!(level(8992, 1), RepairLevel::None);
    assert_eq!(level(8951, 1), RepairLevel::Rebuild);
    assert_eq!(level(8965, 3), RepairLevel::AllowDataLoss);
    assert_eq!(level(8994, 0), RepairLevel::AllowDataLoss);
    assert_eq!(
        RepairLevel::Rebuild.max(RepairLevel::AllowDataLoss).to_string(),
        "repair_allow_data_loss"
    );
}

#[test]
fn classes_agree_with_totals_and_families() {
    for message in all() {
        let number = message.number;
        let has = |class| message.classes.has(class);
        assert!(!has(Class::Keys) || message.raised_by == Family::Index, "message {number}");
        assert!(!has(Class::Link) || has(Class::Across), "message {number}");
        assert!(message.classes == Classes::default() || message.raised_by != Family::Note);
    }
    assert!(is_in(8976, Class::Link) && is_in(8976, Class::LostPages) && !is_in(8976, Class::Rule));
    assert_eq!(all().iter().filter(|message| message.classes.has(Class::Across)).count(), 65);
}
