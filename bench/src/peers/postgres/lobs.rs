//! PostgreSQL's long values: `bytea`, stored out of line and not compressed.

use anyhow::{Result, ensure};

use super::{Cluster, MISSING, Safety, Server, programs};
use crate::peers::lobs::{Lobs, buffer_bytes};
use crate::peers::outcome::Outcome;
use crate::peers::setting::Workplace;
use crate::workload::LobWork;

/// Bytes that one hash adds to the value.
const HASH_BYTES: u64 = 16;

/// Inserts and reads the values.
pub(in crate::peers) fn lobs(workplace: Workplace<'_>, work: LobWork) -> Result<Outcome<Lobs>> {
    let Workplace { folders, folder, runs } = workplace;
    let Some(bin) = programs(folders) else { return Ok(Outcome::Missing(MISSING)) };
    let cluster = Cluster::create(bin, folder)?;
    let name = format!("PostgreSQL {}", cluster.version()?);
    let server = cluster.start(buffer_bytes(work), Safety::DurableCommits)?;
    server.sql(&format!(
        "create table source as select decode(string_agg(md5(i::text), ''), 'hex') as v \
         from generate_series(1, {}) i",
        work.bytes / HASH_BYTES
    ))?;
    server.sql(
        "create procedure fill(count int) language plpgsql as $$ declare data bytea; begin \
         select v || ''::bytea into data from source; \
         for i in 1..count loop insert into t values (i, data); commit; end loop; end $$",
    )?;
    let mut best = server.run_lobs(&name, work)?;
    for _ in 1..runs {
        let now = server.run_lobs(&name, work)?;
        best = best.best(&now);
    }
    server.stop()?;
    Ok(Outcome::Measured(best))
}

impl Server<'_> {
    fn run_lobs(&self, name: &str, work: LobWork) -> Result<Lobs> {
        self.sql("drop table if exists t")?;
        self.sql("create table t (id int primary key, v bytea not null)")?;
        self.sql("alter table t alter v set storage external")?;
        self.sql("checkpoint")?;
        let write = self.together(1, |_| format!("call fill({})", work.values))?;
        // A column that is only measured is not fetched: it has to be copied.
        let read = self.together(1, |_| {
            "do $$ begin perform sum(length(v || ''::bytea)) from t; end $$".to_owned()
        })?;
        let bytes = self.sql("select sum(length(v)) from t")?;
        ensure!(bytes.trim() == work.all_bytes().to_string(), "PostgreSQL has {bytes}");
        Ok(Lobs { name: name.to_owned(), write, read })
    }
}
