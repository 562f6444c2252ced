//! tiberius: a driver of Rust.

mod matrix;

use std::error::Error;
use std::future::Future;

use matrix::{Case, Sent};
use tiberius::numeric::Numeric;
use tiberius::{
    AuthMethod, Client, ColumnData, Config, EncryptionLevel, IntoSql, QueryItem, TokenRow,
};
use tokio::net::TcpStream;
use tokio_stream::StreamExt;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

type Fallible<T> = Result<T, Box<dyn Error>>;
type Connection = Client<Compat<TcpStream>>;

const MANY: usize = 64;
const LOADED: i32 = 2000;
/// Values that the driver does not send as it has received them.
const SENDS: &[(&str, &str)] = &[
    ("decimal(38,38)", "a number of scale 38 is sent with the precision 39"),
    ("money m", "money is received as a double"),
    ("xml empty", "an empty xml is sent with two ends"),
];

async fn connect(encryption: EncryptionLevel) -> Fallible<Connection> {
    let mut config = Config::new();
    config.host(std::env::var("EXTENTDB_HOST")?);
    config.port(std::env::var("EXTENTDB_PORT")?.parse()?);
    config.authentication(AuthMethod::sql_server("sa", std::env::var("EXTENTDB_PASSWORD")?));
    config.encryption(encryption);
    config.trust_cert();
    let socket = TcpStream::connect(config.get_addr()).await?;
    Ok(Client::connect(config, socket.compat_write()).await?)
}

async fn clear() -> Fallible<Connection> {
    connect(EncryptionLevel::NotSupported).await
}

/// The first value of a batch.
async fn ask(client: &mut Connection, text: &str) -> Fallible<ColumnData<'static>> {
    let row = client.simple_query(text).await?.into_row().await?.ok_or("no row")?;
    Ok(row.into_iter().next().ok_or("no column")?)
}

async fn number(client: &mut Connection, text: &str) -> Fallible<i32> {
    match ask(client, text).await? {
        ColumnData::I32(Some(number)) => Ok(number),
        other => Err(format!("{other:?}").into()),
    }
}

async fn run(client: &mut Connection, text: &str) -> Fallible<()> {
    client.simple_query(text).await?.into_results().await?;
    Ok(())
}

fn expect<T: PartialEq + std::fmt::Debug>(found: T, wanted: T) -> Fallible<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{found:?}, not {wanted:?}").into())
    }
}

async fn version(encryption: EncryptionLevel) -> Fallible<String> {
    let wanted = if encryption == EncryptionLevel::Required { "TRUE" } else { "FALSE" };
    let mut client = connect(encryption).await?;
    let text =
        "SELECT @@VERSION, encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID";
    let row = client.simple_query(text).await?.into_row().await?.ok_or("no row")?;
    expect(row.get::<&str, _>(1), Some(wanted))?;
    let text: &str = row.get(0).ok_or("NULL")?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// All values, received alone or sent as well.
async fn matrix(check: &str, known: &[(&str, &str)]) {
    let (mut good, mut total) = (0, 0);
    let mut failures = String::new();
    let mut notes: Vec<(&str, usize)> = Vec::new();
    for case in matrix::cases().unwrap_or_default() {
        if check == "send" && case.ways != "both" {
            continue;
        }
        total += 1;
        let name = case.name();
        let reason = known.iter().find(|(start, _)| name.starts_with(start)).map(|known| known.1);
        // A task of its own: the driver panics at types that it does not have.
        let is_sent = check == "send";
        let task = tokio::task::LocalSet::new();
        let done = task.run_until(async move {
            let work = tokio::task::spawn_local(async move {
                one(&case, is_sent).await.map_err(|it| it.to_string())
            });
            work.await.map_err(|panic| panic.to_string())
        });
        match (done.await, reason) {
            (Ok(Ok(None)), _) => good += 1,
            (_, Some(reason)) => match notes.iter_mut().find(|note| note.0 == reason) {
                Some(note) => note.1 += 1,
                None => notes.push((reason, 1)),
            },
            (Ok(Ok(Some(text))) | Ok(Err(text)) | Err(text), None) => {
                failures.push_str(&format!("; {name}: {text}"));
            }
        }
    }
    for (reason, count) in notes {
        say("note", check, &format!("{reason} ({count})"));
    }
    let state = if failures.is_empty() { "ok" } else { "failed" };
    say(state, check, &format!("{good} of {total}{failures}"));
}

async fn one(case: &Case, is_sent: bool) -> Fallible<Option<String>> {
    let mut client = clear().await?;
    let received = ask(&mut client, &format!("SELECT {} AS v", case.value())).await?;
    if !is_sent {
        return Ok(case.differs(&received));
    }
    run(&mut client, &format!("CREATE TABLE #sent (v {} NULL)", case.ty)).await?;
    client.execute("INSERT #sent VALUES (@P1)", &[&Sent(received)]).await?;
    let read = ask(&mut client, "SELECT v FROM #sent").await?;
    let stored =
        number(&mut client, &format!("SELECT COUNT(*) FROM #sent WHERE {}", case.found())).await?;
    Ok(if stored == 1 { case.differs(&read) } else { Some(format!("stored as {read:.60?}")) })
}

async fn parameter() -> Fallible<String> {
    let mut client = clear().await?;
    let rows = client.query("SELECT @P1 + 1, @P2", &[&41i32, &"Grüße"]).await?;
    let row = rows.into_row().await?.ok_or("no row")?;
    expect((row.get(0), row.get(1)), (Some(42i32), Some("Grüße")))?;
    Ok("42".to_owned())
}

async fn results() -> Fallible<String> {
    let mut client = clear().await?;
    let text =
        "CREATE TABLE #several (n int); SELECT 1 AS a; INSERT #several VALUES (1), (2), (3); \
                SELECT n * n FROM #several ORDER BY n; UPDATE #several SET n = 0 WHERE n > 1; \
                SELECT 2 AS b WHERE 1 = 0; SELECT 5 AS c";
    let mut found: Vec<Vec<i32>> = Vec::new();
    let mut stream = client.simple_query(text).await?;
    while let Some(item) = stream.next().await {
        match item? {
            QueryItem::Metadata(_) => found.push(Vec::new()),
            QueryItem::Row(row) => {
                found.last_mut().ok_or("no result")?.push(row.get(0).ok_or("NULL")?)
            }
        }
    }
    drop(stream);
    expect(found, vec![vec![1], vec![1, 4, 9], vec![], vec![5]])?;
    let done =
        client.execute("INSERT #several VALUES (1), (2); UPDATE #several SET n = 1", &[]).await?;
    expect(done.rows_affected(), &[2, 5])?;
    Ok("4 sets, counts".to_owned())
}

async fn error() -> Fallible<String> {
    let mut client = clear().await?;
    let text = "SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)";
    expect(raised(&mut client, text).await?, (50_000, 3, 16))?;
    let amid = "SELECT 10 / (2 - n) FROM (VALUES (0), (1), (2), (3)) AS t (n)";
    expect(raised(&mut client, amid).await?.0, 8134)?;
    expect(raised(&mut client, "SELECT * FROM nowhere").await?.0, 208)?;
    expect(number(&mut client, "SELECT 1").await?, 1)?;
    Ok("number line severity".to_owned())
}

async fn raised(client: &mut Connection, text: &str) -> Fallible<(u32, u32, u8)> {
    let done = match client.simple_query(text).await {
        Ok(rows) => rows.into_results().await.map(|_| ()),
        Err(error) => Err(error),
    };
    match done {
        Err(tiberius::error::Error::Server(token)) => {
            Ok((token.code(), token.line(), token.class()))
        }
        other => Err(format!("{other:?}").into()),
    }
}

async fn transaction() -> Fallible<String> {
    let mut client = clear().await?;
    run(&mut client, "DROP TABLE IF EXISTS clients_rows; CREATE TABLE clients_rows (n int)")
        .await?;
    for (n, end) in [(1, "ROLLBACK"), (2, "COMMIT")] {
        run(&mut client, "BEGIN TRAN").await?;
        client.execute("INSERT clients_rows VALUES (@P1)", &[&n]).await?;
        expect(number(&mut client, "SELECT @@TRANCOUNT").await?, 1)?;
        run(&mut client, end).await?;
    }
    expect(number(&mut client, "SELECT @@TRANCOUNT").await?, 0)?;
    expect(number(&mut clear().await?, "SELECT SUM(n) FROM clients_rows").await?, 2)?;
    Ok("rolled back and committed".to_owned())
}

async fn savepoint() -> Fallible<String> {
    let mut client = clear().await?;
    for text in [
        "CREATE TABLE #saved (n int)",
        "BEGIN TRAN",
        "INSERT #saved VALUES (1)",
        "SAVE TRAN here",
        "INSERT #saved VALUES (2)",
        "ROLLBACK TRAN here",
        "INSERT #saved VALUES (4)",
        "COMMIT",
    ] {
        run(&mut client, text).await?;
    }
    expect(number(&mut client, "SELECT SUM(n) FROM #saved").await?, 5)?;
    Ok("5".to_owned())
}

async fn bulk() -> Fallible<String> {
    let mut client = clear().await?;
    let create = "DROP TABLE IF EXISTS clients_bulk; CREATE TABLE clients_bulk \
                  (n int NOT NULL, t nvarchar(40) NULL, f float NULL, d decimal(9, 2) NULL)";
    run(&mut client, create).await?;
    let text = |n: i32| (n % 5 != 0).then(|| format!("Größe {n}"));
    let float = |n: i32| (n % 3 != 0).then(|| f64::from(n) / 4.0);
    let decimal = |n: i32| (n % 2 != 0).then(|| Numeric::new_with_scale(i128::from(n), 2));
    let mut load = client.bulk_insert("clients_bulk").await?;
    for n in 0..LOADED {
        let mut row = TokenRow::new();
        row.push(n.into_sql());
        row.push(text(n).into_sql());
        row.push(float(n).into_sql());
        row.push(decimal(n).into_sql());
        load.send(row).await?;
    }
    expect(load.finalize().await?.total(), LOADED as u64)?;
    let rows = client.simple_query("SELECT n, t, f, d FROM clients_bulk ORDER BY n").await?;
    let rows = rows.into_first_result().await?;
    expect(rows.len(), LOADED as usize)?;
    for (n, row) in (0..).zip(&rows) {
        expect(row.get::<i32, _>(0), Some(n))?;
        expect(row.get::<&str, _>(1).map(str::to_owned), text(n))?;
        expect(row.get::<f64, _>(2), float(n))?;
        expect(row.get::<Numeric, _>(3), decimal(n))?;
    }
    Ok(format!("{LOADED} rows"))
}

async fn many() -> Fallible<String> {
    let mut clients = Vec::new();
    for _ in 0..MANY {
        clients.push(clear().await?);
    }
    run(&mut clients[0], "DROP TABLE IF EXISTS clients_many; CREATE TABLE clients_many (n int)")
        .await?;
    for text in ["INSERT clients_many VALUES (1)", "SELECT COUNT(*) FROM clients_many"] {
        let all = clients.iter_mut().map(|client| client.simple_query(text));
        // All have sent before the first reads.
        for stream in futures_util::future::try_join_all(all).await? {
            let row = stream.into_row().await?;
            expect(row.map_or(Some(MANY as i32), |row| row.get(0)), Some(MANY as i32))?;
        }
    }
    Ok(format!("{MANY} connections"))
}

fn say(state: &str, name: &str, detail: &str) {
    let text = detail.split_whitespace().collect::<Vec<_>>().join(" ");
    println!("{state}\t{name}\t{text:.2000}");
}

async fn check(name: &str, work: impl Future<Output = Fallible<String>>) {
    match work.await {
        Ok(detail) => say("ok", name, &detail),
        Err(error) => say("failed", name, &error.to_string()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    say("ok", "version", env!("TIBERIUS_VERSION"));
    check("clear", version(EncryptionLevel::NotSupported)).await;
    check("tls", version(EncryptionLevel::Required)).await;
    matrix("receive", &[]).await;
    matrix("send", SENDS).await;
    check("parameter", parameter()).await;
    check("results", results()).await;
    check("transaction", transaction()).await;
    check("savepoint", savepoint()).await;
    check("error", error()).await;
    check("bulk", bulk()).await;
    check("many", many()).await;
}
