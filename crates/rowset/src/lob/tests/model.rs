//! Random changes of values against a model of bytes, with savepoints and rollbacks.

use std::collections::BTreeMap;

use extentdb_base::Lsn;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_catalog::model::AllocUnitKind;

use super::bench::{Bench, Open, Setup, bytes, fresh};
use super::walk::walk;
use crate::lob::{LobForm, LobRoot, LobSplice};

/// Values by number, with what their rows keep.
pub(super) type Values = BTreeMap<u64, (LobRoot, Vec<u8>)>;

/// Lengths of all sizes, short ones more often.
fn some_len(rng: &mut SplitMix64, most: u64) -> usize {
    let bits = rng.below(u64::from(64 - most.leading_zeros()) + 1);
    rng.below((1 << bits).min(most) + 1) as usize
}

/// One change of one value.
pub(super) fn change(
    bench: &Bench,
    open: &mut Open,
    values: &mut Values,
    rng: &mut SplitMix64,
    most: u64,
) -> Result<(), crate::Error> {
    let key = rng.below(12);
    let Some((root, model)) = values.get(&key) else {
        let len = some_len(rng, most);
        let form = [LobForm::InRow, LobForm::Text, LobForm::Overflow][rng.below(3) as usize];
        // An empty value of another form lies in its row.
        let value = bytes(rng.next_u64(), len.max(usize::from(form != LobForm::Text)));
        let chunk = 1 + some_len(rng, 40_000);
        let root = bench.create(open, form, &value, chunk)?;
        values.insert(key, (root, value));
        return Ok(());
    };
    if rng.below(6) == 0 {
        bench.lob.free(open.change(), root)?;
        values.remove(&key);
        return Ok(());
    }
    let mut model = model.clone();
    let offset = match rng.below(4) {
        0 => model.len(),
        1 => 0,
        _ => rng.below(model.len() as u64 + 1) as usize,
    };
    let length = match rng.below(3) {
        0 => 0,
        1 => model.len(),
        _ => some_len(rng, most),
    };
    let end = offset.saturating_add(length).min(model.len());
    let same = rng.below(3) == 0;
    let len = if same { end - offset } else { some_len(rng, most / 2) };
    let data = bytes(rng.next_u64(), len);
    let data_len = (rng.below(2) == 0).then_some(data.len() as u64);
    let splice = LobSplice { offset: offset as u64, length: length as u64, data_len };
    let root = bench.edit(open, root, splice, &data)?;
    model.splice(offset..end, data);
    if root.is_empty_in_row() {
        bench.lob.free(open.change(), &root)?;
        assert!(model.is_empty());
        values.remove(&key);
    } else {
        values.insert(key, (root, model));
    }
    Ok(())
}

pub(super) fn verify(bench: &Bench, values: &Values, rng: &mut SplitMix64) {
    for (root, model) in values.values() {
        assert!(bench.value(root).unwrap() == *model);
        let mut cursor = bench.lob.read(root).unwrap();
        for _ in 0..3 {
            let at = rng.below(model.len() as u64 + 2);
            let mut part = vec![0; rng.below(20_000) as usize];
            cursor.seek(at);
            let count = cursor.read(&mut part).unwrap();
            let from = (at as usize).min(model.len());
            let expected = &model[from..model.len().min(from + part.len())];
            assert!(&part[..count] == expected);
        }
    }
    walk(bench, values.values().map(|(root, _)| root));
}

fn random_changes(seed: u64, setup: &Setup, rounds: usize, most: u64) {
    let bench = Bench::on(fresh(), setup);
    let mut rng = SplitMix64::new(seed);
    let mut values = Values::new();
    for round in 0..rounds {
        let mut open = bench.begin();
        let before = values.clone();
        let mut saved: Option<(Lsn, Values, extentdb_space::FreedMark)> = None;
        for step in 0..1 + rng.below(8) {
            if rng.below(5) == 0 {
                let lsn = open.tx.savepoint(&format!("s{step}")).unwrap();
                saved = Some((lsn, values.clone(), open.pending.freed.mark()));
            }
            change(&bench, &mut open, &mut values, &mut rng, most).unwrap();
            if rng.below(4) == 0
                && let Some((lsn, old, mark)) = saved.take()
            {
                bench.undo_to(&mut open.tx, lsn).unwrap();
                open.pending.freed.return_to(mark);
                values = old;
            }
        }
        if rng.below(4) == 0 {
            bench.roll_back(open).unwrap();
            values = before;
        } else {
            bench.commit(open).unwrap();
        }
        if rng.below(5) == 0 {
            bench.lob.update_pfs().unwrap();
        }
        if rng.below(10) == 0 {
            bench.lob.forget();
            bench.lob.unit().forget_chain();
        }
        if round % 4 == 0 {
            verify(&bench, &values, &mut rng);
        }
    }
    verify(&bench, &values, &mut rng);
    let mut open = bench.begin();
    values.values().for_each(|(root, _)| bench.lob.free(open.change(), root).unwrap());
    bench.commit(open).unwrap();
    walk(&bench, std::iter::empty());
}

#[test]
fn values_are_those_of_a_model() {
    for seed in 0..6 {
        random_changes(seed, &Setup::default(), 60, 30_000);
        random_changes(seed, &Setup { mixed_pages: false, ..Setup::default() }, 60, 200_000);
    }
}

#[test]
fn long_values_are_those_of_a_model() {
    let setup = Setup { frames: 300, mixed_pages: false, ..Setup::default() };
    random_changes(100, &setup, 25, 12_000_000);
}

#[test]
fn values_of_the_row_overflow_unit_are_those_of_a_model() {
    let setup = Setup { kind: AllocUnitKind::RowOverflow, ..Setup::default() };
    random_changes(7, &setup, 60, 8000);
}
