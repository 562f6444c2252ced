//! The most memory of a server under a limit: rows that do not fit are loaded, indexed, queried and
//! changed.

use anyhow::Result;
use bench::report::timed;
use bench::serving::load::statements_per_second;
use bench::serving::ours::Ours;
use bench::serving::server::create_points;
use bench::serving::{Server, Work, tpch};
use bench::target::{Limit, Target};

use super::Setting;
use crate::engine::head;

/// The limit, for 300 MB of rows at scale 0.3.
const LIMIT_MB: u64 = 256;
const SCALE: f64 = 0.3;
/// The limit and a tenth.
const SHARE: f64 = 1.1;
const CLIENTS: usize = 64;

pub(super) fn run(setting: &Setting<'_>) -> Result<Vec<Target>> {
    let folder = tempfile::Builder::new().prefix("extentdb-limit-").tempdir_in(&setting.folder)?;
    let rows = tpch::write_rows(folder.path(), SCALE)?;
    let mut server = Ours::start(&setting.program, folder.path(), Some(LIMIT_MB))?;
    server.create_database()?;
    head(
        &format!("The most memory under a limit of {LIMIT_MB} MiB; {rows} rows of TPC-H"),
        &["after", "seconds", "peak, MiB"],
    );
    let mut peak = None;
    let mut line = |what: &str, server: &Ours, seconds: f64| {
        peak = server.peak_memory();
        let shown = peak.map_or("–".to_owned(), |bytes| format!("{}", bytes >> 20));
        println!("| {what} | {seconds:.1} | {shown} |");
    };
    let loaded = tpch::load(&server, folder.path())?;
    line("rows loaded, indexes built", &server, loaded.as_secs_f64());
    let (queried, queries) = timed(|| tpch::run(&server, &[]));
    let failed = queries?.iter().filter(|(_, done)| done.is_err()).count();
    line("the 22 queries", &server, queried.as_secs_f64());
    create_points(&server)?;
    let (changed, done) = timed(|| -> Result<()> {
        for work in Work::ALL {
            statements_per_second(&server, work, CLIENTS, setting.time)?;
        }
        server.connect()?.run("UPDATE lineitem SET l_tax = l_tax + 0.01").map(drop)
    });
    done?;
    line("single rows by 64 clients, all lines updated", &server, changed.as_secs_f64());
    server.stop()?;
    let share = match (peak, failed) {
        (Some(peak), 0) => Ok(peak as f64 / (LIMIT_MB << 20) as f64),
        (None, _) => Err("the system does not tell".to_owned()),
        (Some(_), failed) => Err(format!("{failed} queries failed")),
    };
    Ok(vec![Target::new("the most memory : its limit", "x", share).must(Limit::AtMost(SHARE))])
}
