//! Long values: written and read by one client, beside the device and the peers.

use std::time::Duration;

use anyhow::Result;
use bench::engine::{LobLab, device_streams};
use bench::peers::lobs::Lobs;
use bench::peers::measure_lobs;
use bench::target::{Limit, Target};
use bench::workload::LobWork;

use super::{Setting, head};

/// Values at scale 1.
const VALUES: f64 = 16.0;
const VALUE_BYTES: u64 = 16 << 20;
const MEGABYTE: f64 = 1e6;

/// Megabytes per second.
struct Rates {
    write: f64,
    read: f64,
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Target>> {
    let values = (VALUES * setting.scale).max(1.0) as u32;
    let work = LobWork { values, bytes: VALUE_BYTES };
    let rates = |(write, read): (Duration, Duration)| {
        let rate = |time: Duration| work.all_bytes() as f64 / time.as_secs_f64() / MEGABYTE;
        Rates { write: rate(write), read: rate(read) }
    };
    head(
        &format!(
            "{values} values of {} MiB, each inserted durably in its own transaction, then read \
             from memory; MB/s",
            VALUE_BYTES >> 20
        ),
        &["who", "write", "read"],
    );
    let mut lab = LobLab::create(&setting.folder, work)?;
    let ours = rates(shortest(setting, || lab.run())?);
    drop(lab);
    let device = rates(shortest(setting, || device_streams(&setting.folder, work))?);
    let peers = if setting.is_alone {
        Vec::new()
    } else {
        measure_lobs(&setting.folder, work, setting.runs)
    };
    let line = |who: &str, rates: &Rates| {
        println!("| {who} | {:.0} | {:.0} |", rates.write, rates.read);
    };
    line("ours", &ours);
    line("the device, a flush after each value; direct reads", &device);
    let peers: Vec<(&Lobs, Rates)> =
        peers.iter().map(|peer| (peer, rates((peer.write, peer.read)))).collect();
    peers.iter().for_each(|(peer, rates)| line(&peer.name, rates));
    let best = |of: fn(&Rates) -> f64| {
        let best = peers.iter().map(|(_, rates)| of(rates)).reduce(f64::max);
        best.map(|best| of(&ours) / best).ok_or_else(|| "no peer was measured".to_owned())
    };
    Ok(vec![
        Target::new("long values, write: ours : best peer", "x", best(|rates| rates.write))
            .must(Limit::AtLeast(1.0)),
        Target::new("long values, read: ours : best peer", "x", best(|rates| rates.read))
            .must(Limit::AtLeast(1.0)),
        // The log has every byte, too: half of the device is what is left for the values.
        Target::new("long values, write: ours : device", "x", Ok(ours.write / device.write))
            .goal(Limit::AtLeast(0.5)),
    ])
}

/// The shorter time of each over the runs.
fn shortest(
    setting: &Setting,
    mut run: impl FnMut() -> Result<(Duration, Duration)>,
) -> Result<(Duration, Duration)> {
    let mut best = run()?;
    for _ in 1..setting.runs {
        let now = run()?;
        best = (best.0.min(now.0), best.1.min(now.1));
    }
    Ok(best)
}
