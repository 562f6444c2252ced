//! MariaDB's tables with indexes. InnoDB has no heaps: rows without a primary key lie in the order
//! of a hidden one, and a unique index over columns that take no NULL would become the primary key.
//! So the key of such a table takes NULL.

use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::{DATABASE, Dialect, NOW, Programs, Rows, Server, child, seconds};
use crate::peers::outcome::Outcome;
use crate::peers::schema::nonclustered;
use crate::peers::setting::Workplace;
use crate::peers::trees::{Builds, MEMORY, Trees, index_statements, key_clause};
use crate::workload::{Action, GROUP, KeyOrder, TEXT_CHARS, TableKind, TreeWork};

/// Does the work.
pub(in crate::peers) fn trees(
    workplace: Workplace<'_>,
    works: &[TreeWork],
) -> Result<Outcome<Trees>> {
    let Workplace { folders, folder, runs } = workplace;
    let programs = match Programs::find(folders) {
        Ok(programs) => programs,
        Err(missing) => return Ok(Outcome::Missing(missing)),
    };
    let server = Server::start(&programs, folder, MEMORY, "2")?;
    server.sql("", &format!("create database {DATABASE}"))?;
    let run = |work: TreeWork| server.run(work);
    let done = Trees::collect(
        server.name()?,
        works.iter().copied(),
        runs,
        |work| server.prepare(work),
        run,
    )?;
    Ok(Outcome::Measured(done))
}

/// Builds the nonclustered indexes of the tables.
pub(in crate::peers) fn builds(
    workplace: Workplace<'_>,
    rows: &Rows<'_>,
) -> Result<Outcome<Builds>> {
    let Workplace { folders, folder, runs } = workplace;
    let programs = match Programs::find(folders) {
        Ok(programs) => programs,
        Err(missing) => return Ok(Outcome::Missing(missing)),
    };
    let server = Server::start(&programs, folder, MEMORY, "2")?;
    server.sql("", &format!("create database {DATABASE}"))?;
    let mut create = String::new();
    let mut drop = String::new();
    for table in &rows.tables {
        server.load_table(rows, table)?;
        for (created, dropped) in nonclustered(Dialect::MariaDb, table)? {
            create += &created;
            drop += &dropped;
        }
    }
    let mut time = Duration::MAX;
    for _ in 0..runs.max(1) {
        let said = server.sql(DATABASE, &format!("select {NOW}; {create} select {NOW}"))?;
        let times = said.lines().map(seconds).collect::<Result<Vec<_>>>()?;
        let [begin, end] = times[..] else { bail!("MariaDB said {said}") };
        time = time.min(end.saturating_sub(begin));
        server.sql(DATABASE, &drop)?;
    }
    Ok(Outcome::Measured(Builds { name: server.name()?, time }))
}

impl Server<'_> {
    fn name(&self) -> Result<String> {
        let version = self.sql("", "select version()")?;
        Ok(format!("MariaDB {}", version.split('-').next().unwrap_or_default().trim()))
    }

    fn prepare(&self, work: TreeWork) -> Result<()> {
        let null = if work.kind == TableKind::Heap { "" } else { " not null" };
        self.sql(
            DATABASE,
            "drop table if exists t; drop sequence if exists s; create sequence s minvalue 0 start 0",
        )?;
        self.sql(
            DATABASE,
            &format!(
                "create table t (id int{null}, g int{null}, k int not null, \
                 v char({TEXT_CHARS}) character set latin1 not null{})",
                key_clause(work)
            ),
        )?;
        for index in index_statements(work) {
            self.sql(DATABASE, &index)?;
        }
        if work.rows > 0 {
            let key = work.key_sql("seq");
            let last = work.rows - 1;
            let load = format!(
                "insert into t select {key}, seq div {GROUP}, seq, 'x' from seq_0_to_{last}"
            );
            self.sql(DATABASE, &load)?;
        }
        self.sql(DATABASE, "analyze table t; drop procedure if exists work")?;
        child::run(self.client(DATABASE).args(["--delimiter=//", "--execute", &procedure(work)]))
            .map(drop)
    }

    fn run(&self, work: TreeWork) -> Result<Duration> {
        let before = self.count()?;
        let time =
            self.together(work.clients, |client| format!("call work({client}, {})", work.count))?;
        let come = if matches!(work.action, Action::Insert(_)) { work.total() } else { 0 };
        let now = self.count()?;
        ensure!(now == before + come, "MariaDB has {now} rows");
        Ok(time)
    }

    fn count(&self) -> Result<u64> {
        Ok(self.sql(DATABASE, "select count(*) from t")?.trim().parse()?)
    }
}

/// The procedure of one client.
fn procedure(work: TreeWork) -> String {
    let number = match work.action {
        Action::Insert(KeyOrder::Ascending) => "nextval(s)".to_owned(),
        _ => work.number_sql("client", "i"),
    };
    let key = work.key_sql("m");
    let statement = match work.action {
        Action::Insert(_) => format!("insert into t values ({key}, m div {GROUP}, m, 'x');"),
        Action::Select => format!("select v into x from t where id = {key};"),
        Action::Range => format!("select sum(k) into x from t where g = m div {GROUP};"),
        Action::Update => format!("update t set k = k + 1000000 where id = {key};"),
    };
    let per_commit = work.per_commit;
    format!(
        "create procedure work(client bigint, n int) begin declare i bigint default 0; declare m bigint; \
         declare x varchar(100) character set latin1; set autocommit = 0; \
         while i < n do set m = {number}; set i = i + 1; {statement} \
         if i % {per_commit} = 0 then commit; end if; end while; commit; end"
    )
}
