//! MariaDB: `CHECK TABLE … EXTENDED` of InnoDB tables.

mod trees;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
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
use crate::report::{Measured, best_of};
use crate::workload::InsertWork;

pub(super) use trees::{builds, trees};

const DATABASE: &str = "bench";
/// Looks whether the server is ready, a tenth of a second apart.
const LOOKS: u32 = 600;

/// Where its programs are.
struct Programs {
    server: PathBuf,
    install: PathBuf,
    client: PathBuf,
}

impl Programs {
    fn find(folders: &ProgramFolders) -> Result<Programs, &'static str> {
        let find = |new, old, what| folders.find(new).or_else(|| folders.find(old)).ok_or(what);
        Ok(Programs {
            server: find("mariadbd", "mysqld", "mariadbd")?,
            install: find("mariadb-install-db", "mysql_install_db", "mariadb-install-db")?,
            client: find("mariadb", "mysql", "mariadb (the client)")?,
        })
    }
}

/// Loads the rows and measures the check.
pub(super) fn measure(setting: &Setting<'_>, rows: &Rows<'_>) -> Result<Outcome<Vec<PeerCheck>>> {
    let programs = match Programs::find(setting.folders) {
        Ok(programs) => programs,
        Err(missing) => return Ok(Outcome::Missing(missing)),
    };
    let server = Server::start(&programs, setting.folder, rows.buffer_bytes(), "0")?;
    server.load(rows)?;
    let bytes = folder_bytes(&server.folder.path().join("data").join(DATABASE))?;
    let (time, result) = best_of(setting.runs, || server.check(rows));
    result?;
    let version = server.sql("", "select version()")?;
    let version = version.split('-').next().unwrap_or_default().trim();
    let what = format!("MariaDB {version} CHECK TABLE EXTENDED");
    let measured = Measured { what, bytes, rows: Some(rows.count()), time, peak: None };
    Ok(Outcome::Measured(vec![PeerCheck { depth: Depth::Full, measured, ratio: None }]))
}

/// Buffers for everything that is inserted.
const INSERT_MEMORY: u64 = 256 << 20;
/// Now, in seconds; not the beginning of the statement.
const NOW: &str = "unix_timestamp(sysdate(6))";

/// Inserts rows, each with a statement of its own in a procedure.
pub(super) fn inserts(workplace: Workplace<'_>, works: &[InsertWork]) -> Result<Outcome<Inserts>> {
    let Workplace { folders, folder, runs } = workplace;
    let programs = match Programs::find(folders) {
        Ok(programs) => programs,
        Err(missing) => return Ok(Outcome::Missing(missing)),
    };
    let server = Server::start(&programs, folder, INSERT_MEMORY, "1")?;
    server.sql("", &format!("create database {DATABASE}"))?;
    let procedure = "create procedure fill(n int, per int, len int) begin declare i int default 0; \
         declare v varchar(8000) character set latin1 default repeat('x', len); set autocommit = 0; \
         while i < n do set i = i + 1; insert into t values (i, v); if i % per = 0 then commit; end if; end while; \
         commit; end";
    child::run(server.client(DATABASE).args(["--delimiter=//", "--execute", procedure]))?;
    let version = server.sql("", "select version()")?;
    let name = format!("MariaDB {}", version.split('-').next().unwrap_or_default().trim());
    let done = Inserts::collect(name, works.iter().copied(), runs, |work| server.insert(work))?;
    Ok(Outcome::Measured(done))
}

/// A server over its own empty folder; both are deleted on drop.
struct Server<'p> {
    programs: &'p Programs,
    child: Child,
    folder: TempDir,
}

impl<'p> Server<'p> {
    /// Starts a server that is reached through a socket in its folder, with `memory` for its
    /// buffers. `flush` is the time of log flushes: `0` now and then, `1` with every commit; `2`
    /// writes it with every commit and flushes it now and then.
    fn start(
        programs: &'p Programs,
        parent: &Path,
        memory: u64,
        flush: &str,
    ) -> Result<Server<'p>> {
        let account = Account::for_server("mysql");
        let folder = new_folder(parent, "mariadb")?;
        account.give(folder.path())?;
        install(programs, &account, folder.path())?;
        let log = File::create(folder.path().join("log"))?;
        let mut command = account.server("TERM", &programs.server);
        command.args(options(programs, folder.path())).current_dir(folder.path());
        command.arg(format!("--socket={}", folder.path().join("socket").display()));
        command.arg(format!("--pid-file={}", folder.path().join("pid").display()));
        command.arg(format!("--innodb-buffer-pool-size={memory}"));
        command.arg(format!("--innodb-flush-log-at-trx-commit={flush}"));
        command.args(["--skip-networking", "--innodb-doublewrite=OFF"]);
        command.args([
            "--skip-log-bin",
            "--innodb-log-file-size=1G",
            "--character-set-server=utf8mb4",
        ]);
        command.args(["--collation-server=utf8mb4_bin", "--local-infile=ON"]);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("{command:?}"))?;
        let mut server = Server { programs, child, folder };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait()? {
                bail!(
                    "mariadbd: {status}\n{}",
                    std::fs::read_to_string(self.folder.path().join("log"))?
                );
            }
            if self.sql("", "select 1").is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("mariadbd does not get ready")
    }

    /// The client is not the server's user: it opens its input by name, and the pipe is ours.
    fn client(&self, database: &str) -> Command {
        let mut command = Command::new(&self.programs.client);
        command.args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--user=root",
            "--local-infile=1",
        ]);
        command.arg("--default-character-set=utf8mb4").current_dir(self.folder.path());
        command.arg(format!("--socket={}", self.folder.path().join("socket").display()));
        command.arg(format!("--database={database}"));
        command
    }

    fn sql(&self, database: &str, text: &str) -> Result<String> {
        child::run(self.client(database).args(["--execute", text]))
    }

    /// Rows, then indexes.
    fn load(&self, rows: &Rows<'_>) -> Result<()> {
        self.sql("", &format!("create database {DATABASE}"))?;
        for table in &rows.tables {
            self.load_table(rows, table)?;
            self.sql(DATABASE, &create_indexes(Dialect::MariaDb, table)?)?;
        }
        Ok(())
    }

    /// A table with its primary key and no other index.
    fn load_table(&self, rows: &Rows<'_>, table: &extentdb_catalog::Table) -> Result<()> {
        self.sql(DATABASE, &create_table(Dialect::MariaDb, table)?)?;
        let name = Dialect::MariaDb.quoted(&table.name);
        let load = format!("load data local infile '/dev/stdin' into table {name}");
        child::feed(self.client(DATABASE).args(["--execute", &load]), |out| {
            rows.write_tabbed(table, out)
        })?;
        let loaded = self.sql(DATABASE, &format!("select count(*) from {name}"))?;
        let expected = rows.count_of(table);
        ensure!(loaded.trim() == expected.to_string(), "MariaDB took {} rows", loaded.trim());
        Ok(())
    }

    /// All clients wait for a time that the server named; the last one ends the measurement.
    fn insert(&self, work: InsertWork) -> Result<Inserted> {
        self.sql(DATABASE, "drop table if exists t")?;
        // CHAR has at most 255 characters here.
        let columns = format!(
            "c1 int not null, c2 varchar({}) character set latin1 not null",
            work.text_bytes()
        );
        self.sql(DATABASE, &format!("create table t ({columns})"))?;
        let InsertWork { rows, per_commit, .. } = work;
        let time = self.together(work.clients, |_| {
            format!("call fill({rows}, {per_commit}, {})", work.text_bytes())
        })?;
        let count = self.sql(DATABASE, "select count(*) from t")?;
        ensure!(count.trim() == work.all_rows().to_string(), "MariaDB took {} rows", count.trim());
        let file = self.folder.path().join("data").join(DATABASE).join("t.ibd");
        Ok(Inserted { time, bytes: std::fs::metadata(file)?.len() })
    }

    /// Each client's statement, all at once: time from the moment that they may begin to the end of
    /// the last one.
    fn together(&self, clients: u32, statement: impl Fn(u32) -> String) -> Result<Duration> {
        let begin = self.sql("", &format!("select {NOW} + {}", gathering_seconds(clients)))?;
        let begin = begin.trim();
        let client = |client| {
            let text =
                format!("do sleep({begin} - {NOW}); {}; select {NOW} - {begin}", statement(client));
            let mut command = self.client(DATABASE);
            command.args(["--execute", &text]);
            command
        };
        let said = child::run_all((0..clients).map(client).collect())?;
        let times = said.iter().map(|said| seconds(said)).collect::<Result<Vec<_>>>()?;
        Ok(times.into_iter().max().unwrap_or_default())
    }

    fn check(&self, rows: &Rows<'_>) -> Result<()> {
        for table in &rows.tables {
            let name = Dialect::MariaDb.quoted(&table.name);
            let said = self.sql(DATABASE, &format!("check table {name} extended"))?;
            ensure!(is_sound(&said), "MariaDB found its own table damaged: {said}");
        }
        Ok(())
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // Unwritten pages are deleted with the rest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the system tables, without which the server does not start.
fn install(programs: &Programs, account: &Account, folder: &Path) -> Result<()> {
    let mut command = account.command(&programs.install);
    command.args(options(programs, folder)).current_dir(folder);
    command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    child::run(&mut command).map(drop)
}

/// What server and installation share: no file of the machine's own server is read or written.
fn options(programs: &Programs, folder: &Path) -> Vec<String> {
    let mut options =
        vec!["--no-defaults".to_owned(), format!("--datadir={}", folder.join("data").display())];
    options.push(format!("--tmpdir={}", folder.display()));
    let base = programs.server.parent().and_then(Path::parent);
    options.extend(base.map(|base| format!("--basedir={}", base.display())));
    options
}

/// `bench.sales check status OK`, and nothing else: warnings and errors are separate rows.
fn is_sound(said: &str) -> bool {
    let is_ok = |line: &str| line.split('\t').skip(1).eq(["check", "status", "OK"]);
    said.lines().count() > 0 && said.lines().all(is_ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ok_is_sound() {
        assert!(is_sound("bench.sales\tcheck\tstatus\tOK\n"));
        assert!(!is_sound(
            "bench.sales\tcheck\tWarning\tInnoDB: index x\nbench.sales\tcheck\tstatus\tOK\n"
        ));
        assert!(!is_sound("bench.sales\tcheck\tstatus\tOperation failed\n"));
        assert!(!is_sound(""));
    }
}
