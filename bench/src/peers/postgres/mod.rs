//! PostgreSQL: `pg_amcheck --heapallindexed --parent-check` checks every row, every key and
//! whether each row is in each index; `pg_checksums --check` at the checksum of each page.
//!
//! ```text
//! folder      owned by the user of the server, and its socket: no port
//!   data      the cluster, with checksums
//!   log       the output of the server
//! ```

mod lobs;
mod serving;
mod trees;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::child;
use crate::peers::account::Account;
use crate::peers::inserts::{Inserted, Inserts, gathering_seconds, seconds};
use crate::peers::outcome::Outcome;
use crate::peers::rows::Rows;
use crate::peers::schema::{Dialect, create_indexes, create_table};
use crate::peers::setting::{
    Depth, PeerCheck, ProgramFolders, Setting, Workplace, folder_bytes, new_folder,
};
use crate::report::{Measured, best_of, median};
use crate::workload::InsertWork;

pub(super) use lobs::lobs;
pub use serving::serve;
pub(super) use trees::{builds, trees};

const PROGRAMS: [&str; 6] =
    ["initdb", "postgres", "psql", "pg_isready", "pg_amcheck", "pg_checksums"];
const DATABASE: &str = "bench";
/// Looks whether the server is ready, a tenth of a second apart.
const LOOKS: u32 = 600;

/// PostgreSQL's programs, all of one version.
pub fn programs(folders: &ProgramFolders) -> Option<&Path> {
    folders.folder_with(&PROGRAMS)
}

/// The programs named when they are not installed.
pub const MISSING: &str =
    "initdb, postgres, psql, pg_isready, pg_amcheck and pg_checksums in one folder";

/// Loads the rows and measures the checks.
pub(super) fn measure(setting: &Setting<'_>, rows: &Rows<'_>) -> Result<Outcome<Vec<PeerCheck>>> {
    let Some(bin) = programs(setting.folders) else { return Ok(Outcome::Missing(MISSING)) };
    let cluster = Cluster::create(bin, setting.folder)?;
    let version = cluster.version()?;
    let server = cluster.start(rows.buffer_bytes(), Safety::None)?;
    server.load(rows)?;
    let bytes = server.database_bytes()?;
    let mut checks = Vec::new();
    for jobs in [2, 1] {
        let (time, result) = best_of(setting.runs, || server.amcheck(jobs));
        result?;
        let what =
            format!("PostgreSQL {version} pg_amcheck --heapallindexed --parent-check -j {jobs}");
        let measured = Measured { what, bytes, rows: Some(rows.count()), time, peak: None };
        checks.push(PeerCheck { depth: Depth::Full, measured, ratio: None });
    }
    server.stop()?;
    let (ours, turns) = setting.interleaved;
    let mut ratios = Vec::new();
    let mut measured = cluster.checksums(1)?;
    for _ in 0..turns {
        let theirs = cluster.checksums(1)?;
        let ours = ours()?;
        ratios.push(ours.gb_per_s() / theirs.gb_per_s());
        measured = if theirs.time < measured.time { theirs } else { measured };
    }
    checks.push(PeerCheck { depth: Depth::Checksums, measured, ratio: median(ratios) });
    Ok(Outcome::Measured(checks))
}

/// `pg_checksums --check` over a cluster with about `bytes` of heap pages.
///
/// # Errors
/// A step failed; its output is in the error.
pub fn checksums_of_size(bin: &Path, parent: &Path, bytes: u64, runs: u32) -> Result<Measured> {
    let cluster = Cluster::create(bin, parent)?;
    let server = cluster.start(128 << 20, Safety::None)?;
    // A row of 170 bytes with its header and pointer: 45 on a page of 8 KiB.
    let rows = bytes / 8192 * 44;
    server.sql(&format!(
        "create unlogged table sales as select g as id, g % 1000 as customer, repeat('x', 120) as note \
         from generate_series(1, {rows}) g;\n"
    ))?;
    server.stop()?;
    cluster.checksums(runs)
}

/// The durability of commits.
#[derive(Clone, Copy)]
enum Safety {
    None,
    DurableCommits,
}

/// Buffers for everything that is inserted.
const INSERT_MEMORY: u64 = 256 << 20;
/// Now, in seconds.
const EPOCH: &str = "extract(epoch from clock_timestamp())";

/// Inserts rows, each with a statement of its own in a procedure.
pub(super) fn inserts(workplace: Workplace<'_>, works: &[InsertWork]) -> Result<Outcome<Inserts>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(bin) = programs(folders) else { return Ok(Outcome::Missing(MISSING)) };
    let cluster = Cluster::create(bin, folder)?;
    let name = format!("PostgreSQL {}", cluster.version()?);
    let server = cluster.start(INSERT_MEMORY, Safety::DurableCommits)?;
    server.sql(
        "create procedure fill(count int, per int) language plpgsql as $$ begin \
         for i in 1..count loop insert into t values (i, 'x'); if i % per = 0 then commit; end if; end loop; end $$",
    )?;
    let done = Inserts::collect(name, works.iter().copied(), runs, |work| server.insert(work))?;
    server.stop()?;
    Ok(Outcome::Measured(done))
}

/// A cluster in its own folder; both are deleted on drop.
struct Cluster<'b> {
    bin: &'b Path,
    account: Account,
    folder: TempDir,
}

impl<'b> Cluster<'b> {
    fn create(bin: &'b Path, parent: &Path) -> Result<Cluster<'b>> {
        let cluster = Cluster {
            bin,
            account: Account::for_server("postgres"),
            folder: new_folder(parent, "postgres")?,
        };
        cluster.account.give(cluster.folder.path())?;
        let mut initdb = cluster.command("initdb");
        initdb.args([
            "-k",
            "-A",
            "trust",
            "-U",
            "postgres",
            "-N",
            "--locale=C",
            "-E",
            "UTF8",
            "-D",
        ]);
        child::run(initdb.arg(cluster.data()))?;
        Ok(cluster)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder we are in may be closed to the server's user.
    fn command(&self, program: &str) -> Command {
        let mut command = self.account.command(&self.bin.join(program));
        command.current_dir(self.folder.path());
        command
    }

    fn version(&self) -> Result<String> {
        let text = child::run(self.command("postgres").arg("--version"))?;
        Ok(version_in(&text).to_owned())
    }

    /// Starts the server, with `memory` for its buffers. Its durability is what the bench needs.
    fn start(&self, memory: u64, safety: Safety) -> Result<Server<'_>> {
        let mut server = self.spawn(memory, safety, &["listen_addresses="])?;
        server.wait_until_ready()?;
        Ok(server)
    }

    /// A server that starts, with further settings: where it listens, at least.
    fn spawn(&self, memory: u64, safety: Safety, more: &[&str]) -> Result<Server<'_>> {
        let log = File::create(self.log())?;
        let mut command = self.account.server("INT", &self.bin.join("postgres"));
        command
            .current_dir(self.folder.path())
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.folder.path());
        let buffers = format!("shared_buffers={}MB", memory >> 20);
        let settings = [
            buffers.as_str(),
            "maintenance_work_mem=1GB",
            "max_wal_size=16GB",
            "wal_level=minimal",
            "max_wal_senders=0",
            match safety {
                Safety::None => "fsync=off",
                Safety::DurableCommits => "fsync=on",
            },
            "full_page_writes=off",
            "autovacuum=off",
        ];
        command.args(settings.iter().chain(more).flat_map(|setting| ["-c", setting]));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Server {
            cluster: self,
            child: command.spawn().with_context(|| format!("{command:?}"))?,
        })
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// `pg_checksums --check` over everything it reads. The server must have been stopped.
    fn checksums(&self, runs: u32) -> Result<Measured> {
        let bytes =
            folder_bytes(&self.data().join("base"))? + folder_bytes(&self.data().join("global"))?;
        let check =
            || child::run(self.command("pg_checksums").args(["--check", "-D"]).arg(self.data()));
        let (time, result) = best_of(runs, check);
        result?;
        let what = format!("PostgreSQL {} pg_checksums --check", self.version()?);
        Ok(Measured { what, bytes, rows: None, time, peak: None })
    }
}

/// The last word but Debian's remark in brackets:
/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn version_in(text: &str) -> &str {
    text.split(' ')
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or_default()
        .trim()
}

/// A server that runs until it is stopped or dropped.
struct Server<'c> {
    cluster: &'c Cluster<'c>,
    child: Child,
}

impl Server<'_> {
    fn wait_until_ready(&mut self) -> Result<()> {
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait()? {
                bail!("postgres: {status}\n{}", std::fs::read_to_string(self.cluster.log())?);
            }
            if self.client("pg_isready").output()?.status.success() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("postgres does not get ready")
    }

    /// A program that talks to the server.
    fn client(&self, program: &str) -> Command {
        let mut command = self.cluster.command(program);
        command.arg("-h").arg(self.cluster.folder.path()).args(["-U", "postgres"]);
        command
    }

    fn psql(&self, database: &str) -> Command {
        let mut command = self.client("psql");
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database]);
        command
    }

    /// Statements in the default database.
    fn sql(&self, text: &str) -> Result<String> {
        child::run(self.psql("postgres").args(["-c", text]))
    }

    /// Rows, then indexes, then a vacuum: a check finds all rows visible to everybody and does not
    /// ask further.
    fn load(&self, rows: &Rows<'_>) -> Result<()> {
        self.sql(&format!("create database {DATABASE}"))?;
        let sql = |text: &str| child::run(self.psql(DATABASE).args(["-c", text]));
        for table in &rows.tables {
            self.load_table(DATABASE, rows, table)?;
            sql(&create_indexes(Dialect::Postgres, table)?)?;
        }
        for text in ["create extension amcheck", "vacuum (freeze, analyze)", "checkpoint"] {
            sql(text)?;
        }
        Ok(())
    }

    /// A table without indexes.
    fn load_table(
        &self,
        database: &str,
        rows: &Rows<'_>,
        table: &extentdb_catalog::Table,
    ) -> Result<()> {
        child::run(self.psql(database).args(["-c", &create_table(Dialect::Postgres, table)?]))?;
        let copy = format!("copy {} from stdin", Dialect::Postgres.quoted(&table.name));
        child::feed(self.psql(database).args(["-c", &copy]), |out: &mut dyn Write| {
            rows.write_tabbed(table, out)
        })?;
        Ok(())
    }

    /// All clients wait for a time that the server named, so that connecting is not measured; the
    /// last one ends the time.
    fn insert(&self, work: InsertWork) -> Result<Inserted> {
        self.sql("drop table if exists t")?;
        self.sql(&format!(
            "create table t (c1 int not null, c2 char({}) not null)",
            work.text_bytes()
        ))?;
        // Long rows would be compressed, which is not what is compared.
        self.sql("alter table t alter c2 set storage plain")?;
        self.sql("checkpoint")?;
        let time = self
            .together(work.clients, |_| format!("call fill({}, {})", work.rows, work.per_commit))?;
        let bytes = self.sql("select pg_relation_size('t')")?.trim().parse()?;
        let rows = self.sql("select count(*) from t")?;
        anyhow::ensure!(
            rows.trim() == work.all_rows().to_string(),
            "PostgreSQL took {} rows",
            rows.trim()
        );
        Ok(Inserted { time, bytes })
    }

    /// Each client's statement, all at once: time from the moment that they may begin to the end of
    /// the last one.
    fn together(&self, clients: u32, statement: impl Fn(u32) -> String) -> Result<Duration> {
        let begin = self.sql(&format!("select {EPOCH} + {}", gathering_seconds(clients)))?;
        let begin: f64 = begin.trim().parse()?;
        let client = |client| {
            let mut command = self.psql("postgres");
            command
                .args(["-c", &format!("do $$ begin perform pg_sleep({begin} - {EPOCH}); end $$")]);
            command.args(["-c", &statement(client), "-c", &format!("select {EPOCH} - {begin}")]);
            command
        };
        let said = child::run_all((0..clients).map(client).collect())?;
        let times = said.iter().map(|said| seconds(said)).collect::<Result<Vec<_>>>()?;
        Ok(times.into_iter().max().unwrap_or_default())
    }

    fn database_bytes(&self) -> Result<u64> {
        let text = self.sql(&format!("select pg_database_size('{DATABASE}')"))?;
        text.trim().parse().with_context(|| format!("a size: {text}"))
    }

    fn amcheck(&self, jobs: u32) -> Result<()> {
        let mut command = self.client("pg_amcheck");
        command
            .args(["--heapallindexed", "--parent-check", "-d", DATABASE, "-j"])
            .arg(jobs.to_string());
        child::run(&mut command).map(drop)
    }

    /// Ends the server in an orderly way, as `pg_checksums` wants it.
    fn stop(mut self) -> Result<()> {
        self.signal("INT")?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("postgres: {status}\n{}", std::fs::read_to_string(self.cluster.log())?);
        }
        Ok(())
    }

    fn signal(&self, signal: &str) -> Result<()> {
        child::run(Command::new("kill").args(["-s", signal]).arg(self.child.id().to_string()))
            .map(drop)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // Its processes end at once and leave the files as they are: they are deleted. Nothing
            // more can be done where even that fails.
            let _ = self.signal("QUIT");
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_the_first_number() {
        assert_eq!(version_in("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), "15.18");
        assert_eq!(version_in("postgres (PostgreSQL) 17.2\n"), "17.2");
        assert_eq!(version_in(""), "");
    }
}
