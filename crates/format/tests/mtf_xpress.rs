//! The decoder of compressed records against an encoder of our own, and against damage.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::mtf::xpress::encode::encode;
use extentdb_format::mtf::xpress::{CHUNK_BYTES, Damage, Decoder};
use proptest::prelude::*;

/// Packs, expands, compares; also stops early at a few places.
fn check(data: &[u8]) {
    let packed = encode(data);
    let mut decoder = Decoder::new();
    let mut out = vec![0xEE; data.len()];
    decoder.decode(&packed, &mut out).expect("what the encoder wrote expands");
    assert!(out == data, "{} bytes come back as they were", data.len());
    for wanted in [1, 39, data.len() / 2, data.len().saturating_sub(1)] {
        let wanted = wanted.min(data.len());
        let mut front = vec![0xEE; wanted];
        decoder.decode_front(&packed, &mut front, data.len()).expect("the front expands");
        assert!(front == data[..wanted], "the first {wanted} bytes come back");
    }
}

/// Bytes of a few kinds: random, few distinct, long runs, short periods, copies of earlier parts.
fn material(rng: &mut SplitMix64, len: usize) -> Vec<u8> {
    let mut data: Vec<u8> = Vec::with_capacity(len);
    while data.len() < len {
        let piece = 1 + rng.below(3000) as usize;
        match rng.below(6) {
            0 => data.extend((0..piece).map(|_| rng.next_u64() as u8)),
            1 => data.extend((0..piece).map(|_| b"abcd"[rng.below(4) as usize])),
            2 => data.extend(std::iter::repeat_n(rng.next_u64() as u8, 20 * piece)),
            3 => {
                let period = 2 + rng.below(9) as usize;
                data.extend((0..piece).map(|at| (at % period) as u8));
            }
            4 => data.extend(
                (0..piece).map(|_| (rng.next_u64() & rng.next_u64() & rng.next_u64()) as u8),
            ),
            _ if !data.is_empty() => {
                let from = rng.below(data.len() as u64) as usize;
                let copied = data[from..].iter().take(piece).copied().collect::<Vec<_>>();
                data.extend(copied);
            }
            _ => {}
        }
    }
    data.truncate(len);
    data
}

#[test]
fn records_of_every_shape_come_back() {
    let mut rng = SplitMix64::new(12);
    for len in [1, 2, 3, 4, 15, 16, 17, 511, 512, 1024, 4096, 8192, 65_535, 65_536] {
        for _ in 0..12 {
            check(&material(&mut rng, len));
        }
        check(&vec![0; len]);
        check(&vec![0xFF; len]);
    }
}

#[test]
fn outputs_beyond_one_table_come_back() {
    let mut rng = SplitMix64::new(13);
    for len in [CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 3 * CHUNK_BYTES - 77] {
        check(&material(&mut rng, len));
        check(&vec![7; len]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_come_back(data in proptest::collection::vec(any::<u8>(), 1..3000)) {
        check(&data);
    }

    #[test]
    fn repetitive_bytes_come_back(seed in any::<u64>(), len in 1usize..20_000) {
        check(&material(&mut SplitMix64::new(seed), len));
    }

    #[test]
    fn any_payload_ends_in_output_or_damage(
        mut payload in proptest::collection::vec(any::<u8>(), 0..2000),
        table in any::<bool>(),
    ) {
        // A valid table in front lets the rubbish reach the bit stream.
        if table {
            let packed = encode(&payload.clone());
            let front = packed.get(..256).unwrap_or_default();
            payload.splice(0..0, front.iter().copied());
        }
        let mut out = vec![0; 4096];
        let _ = Decoder::new().decode(&payload, &mut out);
        let _ = Decoder::new().decode_front(&payload, &mut out[..40], 4096);
    }
}

#[test]
fn damaged_payloads_are_errors_or_other_bytes_but_never_panics() {
    let mut rng = SplitMix64::new(14);
    let data = material(&mut rng, 65_536);
    let packed = encode(&data);
    let mut decoder = Decoder::new();
    let mut out = vec![0; data.len()];
    let mut errors = 0;
    for round in 0..3000 {
        let mut hit = packed.clone();
        if round % 4 == 0 {
            hit.truncate(rng.below(packed.len() as u64) as usize);
        } else {
            for _ in 0..=rng.below(4) {
                let at = rng.below(hit.len() as u64) as usize;
                hit[at] ^= 1 << rng.below(8);
            }
        }
        match decoder.decode(&hit, &mut out) {
            Ok(()) => {
                assert!(
                    round % 4 != 0 || hit.len() + 2 >= packed.len(),
                    "a truncated payload expanded"
                )
            }
            Err(_) => errors += 1,
        }
    }
    println!("{errors} of 3000 damaged payloads were refused");
    assert!(errors > 1500);
}

#[test]
fn each_kind_of_damage_has_its_name() {
    let mut decoder = Decoder::new();
    let mut out = [0; 600];
    assert_eq!(decoder.decode(&[0; 100], &mut out), Err(Damage::ShortTable { bytes: 100 }));
    assert_eq!(decoder.decode(&[0; 300], &mut out), Err(Damage::CodeSpace { filled: 0 }));
    let overfull = Damage::CodeSpace { filled: 512 << 14 };
    assert_eq!(decoder.decode(&[0x11; 300], &mut out), Err(overfull));
    assert!(overfull.is_other_algorithm());

    // Symbols 0 ("0") and 256 + 16 ("1"): a zero byte, and a match of 3 from 2 or 3 bytes back.
    let mut payload = vec![0; 262];
    payload[0] = 1;
    payload[136] = 1;
    payload[257] = 0x80;
    assert_eq!(decoder.decode(&payload, &mut out), Err(Damage::Distance { at: 0, distance: 2 }));
    payload[257] = 0x20;
    assert_eq!(decoder.decode(&payload, &mut out[..3]), Err(Damage::Length { at: 2, length: 3 }));
    assert_eq!(decoder.decode(&payload, &mut out), Err(Damage::InputEnds { at: 600 }));
    payload.extend([0; 3]);
    assert_eq!(decoder.decode(&payload, &mut out[..8]), Err(Damage::LeftOver { bytes: 5 }));

    // Symbol 256 + 15: a length of 3 + 15 and more. The byte after the two units says 255, the u16
    // says 14.
    let mut payload = vec![0; 263];
    payload[0] = 1;
    payload[135] = 0x10;
    payload[257] = 0x40;
    payload[260..263].copy_from_slice(&[255, 14, 0]);
    assert_eq!(decoder.decode(&payload, &mut out), Err(Damage::LongForm { at: 1, stored: 14 }));
    payload[261..263].copy_from_slice(&[100, 0]);
    assert_eq!(decoder.decode(&payload, &mut out[..104]), Ok(()));
}
