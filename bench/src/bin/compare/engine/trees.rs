//! Tables with indexes compared with peers with the same keys: inserts, reads, updates; indexes are
//! built.

use std::time::Duration;

use anyhow::Result;
use bench::engine::{SalesLab, TreeLab};
use bench::peers::measure_builds;
use bench::peers::rows::Rows;
use bench::target::{Limit, Target};
use bench::workload::{Action, GROUP, KeyOrder, TableKind, TreeWork};
use extentdb_reader::{Database, OpenOptions};
use extentdb_template::{MakeOptions, Size, make};

use super::{Section, Setting, head, ms};

/// Many numbers of clients where throughput may fall; few elsewhere.
const MANY: [u32; 5] = [1, 2, 4, 16, 64];
const SOME: [u32; 3] = [1, 4, 64];
/// Processors that count for ascending inserts (G3.2).
const CORES_MAX: usize = 16;

/// Operations at scale 1, by all clients together.
struct Amount {
    rows: u32,
    total: u32,
    per_commit: u32,
}

fn amount_of(action: Action) -> Amount {
    match action {
        Action::Insert(_) => Amount { rows: 0, total: 64_000, per_commit: 1000 },
        Action::Select => Amount { rows: 100_000, total: 128_000, per_commit: 1000 },
        Action::Range => Amount { rows: 100_000, total: 6_400, per_commit: 100 },
        Action::Update => Amount { rows: 100_000, total: 32_000, per_commit: 100 },
    }
}

/// Rows of `sales` whose indexes are built, at scale 1.
const SALES: u32 = 100_000;

/// What a part is about: what is done, in words for its tables, and by how many.
fn actions(part: Section) -> Vec<(Action, &'static str, &'static [u32])> {
    match part {
        Section::TreesInsert => vec![
            (
                Action::Insert(KeyOrder::Ascending),
                "Inserts in ascending order of the key, rows/s",
                &MANY,
            ),
            (Action::Insert(KeyOrder::Random), "Inserts in random order of the key, rows/s", &MANY),
        ],
        Section::TreesSelect => vec![(Action::Select, "Rows found by their key, rows/s", &SOME)],
        Section::TreesRange => {
            vec![(
                Action::Range,
                "Groups of 100 rows by the first column of the key, groups/s",
                &SOME,
            )]
        }
        Section::TreesUpdate => {
            vec![(Action::Update, "Updates of an indexed column, rows/s", &SOME)]
        }
        _ => Vec::new(),
    }
}

fn work(kind: TableKind, action: Action, clients: u32, scale: f64) -> TreeWork {
    let Amount { rows, total, per_commit } = amount_of(action);
    let scaled = |count: u32| (f64::from(count) * scale) as u32;
    let count = (scaled(total) / clients).max(1);
    // Each client updates its own rows; groups are full.
    let needed = if action == Action::Update { count * clients } else { 1 };
    let rows = if rows == 0 { 0 } else { scaled(rows).max(needed).next_multiple_of(GROUP) };
    TreeWork { kind, action, clients, count, per_commit, rows }
}

/// The work of peers.
pub(super) fn works(part: Section, scale: f64) -> Vec<TreeWork> {
    let mut works = Vec::new();
    for (action, _, clients) in actions(part) {
        for kind in TreeLab::KINDS {
            works.extend(clients.iter().map(|clients| work(*kind, action, *clients, scale)));
        }
    }
    works
}

/// The result for one number of clients.
struct Point {
    clients: u32,
    rate: f64,
    /// Of the leaves that have the key, in percent, when rows were inserted.
    fill: Option<f64>,
    /// The fastest peer.
    best: Option<f64>,
    /// SQLite, which has one client and runs in the process of its program.
    sqlite: Option<f64>,
}

fn rate(work: TreeWork, time: Duration) -> f64 {
    work.total() as f64 / time.as_secs_f64()
}

/// The best of several runs. Inserts get a new table for each; reads use that of the work
/// before where it is the same.
fn measure(
    setting: &Setting,
    work: TreeWork,
    lab: &mut Option<(TreeWork, TreeLab)>,
) -> Result<(Duration, Option<f64>)> {
    let is_insert = matches!(work.action, Action::Insert(_));
    let mut best = Duration::MAX;
    let mut fill = None;
    let runs = setting.runs.max(1);
    for turn in 0..runs {
        let is_there = match turn {
            0 => lab.as_ref().is_some_and(|(last, _)| work.shares_table_with(*last)),
            _ => !is_insert,
        };
        if !is_there {
            *lab = None;
            *lab = Some((work, TreeLab::create(&setting.folder, work)?));
        }
        let Some((_, lab)) = lab.as_ref() else { continue };
        best = best.min(lab.run(work)?);
        if is_insert && turn + 1 == runs {
            fill = Some(lab.leaf_facts()?.fill);
        }
    }
    Ok((best, fill))
}

pub(super) fn run(setting: &Setting, part: Section) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for (action, title, clients) in actions(part) {
        for kind in TreeLab::KINDS {
            let title = format!(
                "{title}; {}; commits write the log and flush nothing, on all sides",
                kind.name()
            );
            let points = points(setting, *kind, action, &title, clients)?;
            targets.extend(targets_of(action, *kind, &points));
        }
    }
    for missing in
        [TableKind::Heap, TableKind::Clustered].iter().filter(|kind| !TreeLab::KINDS.contains(kind))
    {
        println!("\nSKIPPED: {}: the engine does not make such tables yet", missing.name());
    }
    Ok(targets)
}

fn points(
    setting: &Setting,
    kind: TableKind,
    action: Action,
    title: &str,
    clients: &[u32],
) -> Result<Vec<Point>> {
    let peers: Vec<&str> = setting.trees.iter().map(|peer| peer.name.as_str()).collect();
    let fill = matches!(action, Action::Insert(_)).then_some("leaves full, %");
    let columns: Vec<&str> = ["clients", "ours"]
        .into_iter()
        .chain(fill)
        .chain(peers)
        .chain(["ours : best peer"])
        .collect();
    head(title, &columns);
    let mut points = Vec::new();
    let mut lab = None;
    for clients in clients {
        let work = work(kind, action, *clients, setting.scale);
        let (time, fill) = measure(setting, work, &mut lab)?;
        let peers: Vec<Option<f64>> =
            setting.trees.iter().map(|peer| peer.of(work).map(|time| rate(work, time))).collect();
        let best = peers.iter().flatten().copied().reduce(f64::max);
        let sqlite = setting.trees.iter().find(|peer| peer.name.starts_with("SQLite"));
        let sqlite = sqlite.and_then(|peer| Some(rate(work, peer.of(work)?)));
        let point = Point {
            clients: *clients,
            rate: rate(work, time),
            fill,
            best,
            sqlite,
        };
        println!("{}", line(&point, &peers));
        points.push(point);
    }
    Ok(points)
}

fn line(point: &Point, peers: &[Option<f64>]) -> String {
    let fill = point.fill.map(|fill| format!("{fill:.1}"));
    let peers = peers.iter().map(|rate| rate.map_or("–".to_owned(), |rate| format!("{rate:.0}")));
    let ratio = point.best.map_or("–".to_owned(), |best| format!("{:.2}", point.rate / best));
    let cells: Vec<String> = [point.clients.to_string(), format!("{:.0}", point.rate)]
        .into_iter()
        .chain(fill)
        .chain(peers)
        .chain([ratio])
        .collect();
    format!("| {} |", cells.join(" | "))
}

fn targets_of(action: Action, kind: TableKind, points: &[Point]) -> Vec<Target> {
    let what = match action {
        Action::Insert(KeyOrder::Ascending) => "ascending inserts",
        Action::Insert(KeyOrder::Random) => "random inserts",
        Action::Select => "point selects",
        Action::Range => "range scans",
        Action::Update => "updates of an indexed column",
    };
    let named = |name: &str| format!("{what}, {}: {name}", kind.name());
    let beside = points.iter().filter_map(|point| Some(point.rate / point.best?)).reduce(f64::min);
    let beside = beside.ok_or_else(|| "no peer was measured".to_owned());
    let mut targets = vec![
        Target::new(named("ours : best peer, the worst point"), "x", beside)
            .must(Limit::AtLeast(1.0)),
    ];
    let alone = points.iter().find_map(|point| Some(point.rate / point.sqlite?));
    let alone = alone.ok_or_else(|| "SQLite was not measured".to_owned());
    targets.push(
        Target::new(named("1 client, both in process, ours : SQLite"), "x", alone)
            .must(Limit::AtLeast(1.0)),
    );
    let filled = |name: &str, point: Option<&Point>, least| {
        let fill = point.and_then(|point| point.fill).ok_or_else(|| "not measured".to_owned());
        Target::new(named(name), "%", fill).must(Limit::AtLeast(least))
    };
    match action {
        Action::Insert(KeyOrder::Ascending) => {
            targets.push(filled("leaves full, 1 client (G3.1)", points.first(), 99.0));
            targets.push(scaling(named("64 clients beside 1 (G3.2)"), points));
            let fall = points.windows(2).map(|pair| 100.0 * (1.0 - pair[1].rate / pair[0].rate));
            let fall = fall.fold(0.0, f64::max);
            targets.push(Target::new(
                named("deepest fall from one point to the next (G3.2)"),
                "%",
                Ok(fall),
            ));
        }
        Action::Insert(KeyOrder::Random) => {
            let worst = points
                .iter()
                .min_by(|a, b| a.fill.partial_cmp(&b.fill).unwrap_or(std::cmp::Ordering::Equal));
            targets.push(filled("leaves full, the worst point (G3.3)", worst, 69.0));
        }
        _ => {}
    }
    targets
}

/// Six parts in ten of what as many processors could do.
fn scaling(what: String, points: &[Point]) -> Target {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(CORES_MAX);
    let rate =
        |clients| points.iter().find(|point| point.clients == clients).map(|point| point.rate);
    let value = rate(64).zip(rate(1)).map(|(many, one)| many / one);
    Target::new(what, "x", value.ok_or_else(|| "not measured".to_owned()))
        .must(Limit::AtLeast((cores as f64 * 0.6 * 10.0).round() / 10.0))
}

/// Both nonclustered indexes of `sales`, over the same rows.
pub(super) fn build(setting: &Setting) -> Result<Vec<Target>> {
    let folder = tempfile::Builder::new().prefix("extentdb-sales-").tempdir_in(&setting.folder)?;
    let path = folder.path().join("sales.mdf");
    let rows = (f64::from(SALES) * setting.scale).max(1.0) as u64;
    let options = MakeOptions { shape: "sales".to_owned(), size: Size::Rows(rows), seed: 1 };
    make(&options, &[&path], &mut |_| {})?;
    let database = Database::open(&[path], &OpenOptions::default())?;
    let mut rows = Rows::new(&database, u64::MAX);
    rows.tables.retain(|table| table.name == "sales");
    let [sales] = rows.tables[..] else { anyhow::bail!("no table of sales") };
    let title = format!(
        "Two nonclustered indexes over {} rows of `sales`; nothing is flushed",
        rows.count()
    );
    head(&title, &["who", "ms", "rows/ms of both indexes together"]);
    let peers = if setting.is_alone {
        Vec::new()
    } else {
        measure_builds(&setting.folder, &rows, setting.runs)
    };
    let lab = SalesLab::create(&setting.folder, &rows, sales)?;
    let mut ours = Duration::MAX;
    for _ in 0..setting.runs.max(1) {
        ours = ours.min(lab.build()?);
    }
    let entries = 2.0 * rows.count() as f64;
    let all = [("ours", ours)]
        .into_iter()
        .chain(peers.iter().map(|peer| (peer.name.as_str(), peer.time)));
    all.for_each(|(who, time)| println!("| {who} | {:.1} | {:.0} |", ms(time), entries / ms(time)));
    let best = peers.iter().map(|peer| peer.time).min();
    let value = best.map(|best| best.as_secs_f64() / ours.as_secs_f64());
    let value = value.ok_or_else(|| "no peer was measured".to_owned());
    Ok(vec![
        Target::new("index build of `sales`: ours : best peer", "x", value)
            .must(Limit::AtLeast(1.0)),
    ])
}
