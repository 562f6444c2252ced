//! PostgreSQL's tables with indexes. Its rows always lie in a heap: a primary key is an index like
//! others.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Cluster, Dialect, EPOCH, MISSING, Rows, Safety, Server, child, programs, seconds};
use crate::peers::outcome::Outcome;
use crate::peers::schema::nonclustered;
use crate::peers::setting::Workplace;
use crate::peers::trees::{Builds, MEMORY, Trees, index_statements, key_clause};
use crate::workload::{Action, GROUP, KeyOrder, TEXT_CHARS, TreeWork};

/// Does the work.
pub(in crate::peers) fn trees(
    workplace: Workplace<'_>,
    works: &[TreeWork],
) -> Result<Outcome<Trees>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(bin) = programs(folders) else { return Ok(Outcome::Missing(MISSING)) };
    let cluster = Cluster::create(bin, folder)?;
    let name = format!("PostgreSQL {}", cluster.version()?);
    let server = cluster.start(MEMORY, Safety::None)?;
    let run = |work: TreeWork| server.run(work);
    let done = Trees::collect(name, works.iter().copied(), runs, |work| server.prepare(work), run)?;
    server.stop()?;
    Ok(Outcome::Measured(done))
}

/// Builds the nonclustered indexes of the tables; with as many processes as it takes by itself.
pub(in crate::peers) fn builds(
    workplace: Workplace<'_>,
    rows: &Rows<'_>,
) -> Result<Outcome<Builds>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(bin) = programs(folders) else { return Ok(Outcome::Missing(MISSING)) };
    let cluster = Cluster::create(bin, folder)?;
    let name = format!("PostgreSQL {}", cluster.version()?);
    let server = cluster.start(MEMORY, Safety::None)?;
    let mut create = Vec::new();
    let mut drop = Vec::new();
    for table in &rows.tables {
        server.load_table("postgres", rows, table)?;
        let statements = nonclustered(Dialect::Postgres, table)?;
        create.extend(statements.iter().map(|(create, _)| create.clone()));
        drop.extend(statements.into_iter().map(|(_, drop)| drop));
    }
    server.sql("vacuum (freeze, analyze)")?;
    let mut time = Duration::MAX;
    for _ in 0..runs.max(1) {
        server.sql("checkpoint")?;
        time = time.min(server.time_of(&create)?);
        server.sql(&drop.concat())?;
    }
    server.stop()?;
    Ok(Outcome::Measured(Builds { name, time }))
}

impl Server<'_> {
    /// Time of these statements, by the server's clock.
    fn time_of(&self, statements: &[String]) -> Result<Duration> {
        let mut client = self.psql("postgres");
        let now = format!("select {EPOCH}");
        client.args(["-c", &now]);
        for statement in statements {
            client.args(["-c", statement]);
        }
        let said = child::run(client.args(["-c", &now]))?;
        let times = said.lines().map(seconds).collect::<Result<Vec<_>>>()?;
        let [begin, end] = times[..] else { anyhow::bail!("PostgreSQL said {said}") };
        Ok(end.saturating_sub(begin))
    }

    fn prepare(&self, work: TreeWork) -> Result<()> {
        let columns = format!(
            "id int not null, g int not null, k int not null, v char({TEXT_CHARS}) not null"
        );
        self.sql(
            "drop table if exists t; drop sequence if exists s; create sequence s minvalue 0",
        )?;
        self.sql(&format!("create table t ({columns}{})", key_clause(work)))?;
        for index in index_statements(work) {
            self.sql(&index)?;
        }
        self.sql(&format!(
            "insert into t select {}, m / {GROUP}, m, 'x' from generate_series(0::bigint, {} - 1) m order by m",
            work.key_sql("m"),
            work.rows
        ))?;
        self.sql("drop procedure if exists work(bigint, int)")?;
        self.sql(&procedure(work))?;
        // Statistics, so that the planner uses the index.
        self.sql("vacuum analyze t")?;
        self.sql("checkpoint").map(drop)
    }

    fn run(&self, work: TreeWork) -> Result<Duration> {
        let before = self.count()?;
        let time =
            self.together(work.clients, |client| format!("call work({client}, {})", work.count))?;
        let come = if matches!(work.action, Action::Insert(_)) { work.total() } else { 0 };
        let now = self.count()?;
        ensure!(now == before + come, "PostgreSQL has {now} rows");
        Ok(time)
    }

    fn count(&self) -> Result<u64> {
        Ok(self.sql("select count(*) from t")?.trim().parse()?)
    }
}

/// The procedure of one client.
fn procedure(work: TreeWork) -> String {
    let number = match work.action {
        Action::Insert(KeyOrder::Ascending) => "nextval('s')".to_owned(),
        _ => work.number_sql("client", "(i - 1)"),
    };
    let key = work.key_sql("m");
    let statement = match work.action {
        Action::Insert(_) => format!("insert into t values ({key}, m / {GROUP}, m, 'x');"),
        Action::Select => format!("select v into strict x from t where id = ({key})::int;"),
        Action::Range => {
            format!("select sum(k) into strict x from t where g = (m / {GROUP})::int;")
        }
        Action::Update => format!("update t set k = k + 1000000 where id = ({key})::int;"),
    };
    let per_commit = work.per_commit;
    format!(
        "create procedure work(client bigint, n int) language plpgsql as $$ declare m bigint; x text; begin \
         for i in 1..n loop m := {number}; {statement} if i % {per_commit} = 0 then commit; end if; end loop; end $$"
    )
}
