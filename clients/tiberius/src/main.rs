//! tiberius: a driver of Rust.

use std::error::Error;

use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

type Fallible<T> = Result<T, Box<dyn Error>>;

async fn connect(encryption: EncryptionLevel) -> Fallible<Client<Compat<TcpStream>>> {
    let mut config = Config::new();
    config.host(std::env::var("EXTENTDB_HOST")?);
    config.port(std::env::var("EXTENTDB_PORT")?.parse()?);
    config.authentication(AuthMethod::sql_server("sa", std::env::var("EXTENTDB_PASSWORD")?));
    config.encryption(encryption);
    config.trust_cert();
    let socket = TcpStream::connect(config.get_addr()).await?;
    Ok(Client::connect(config, socket.compat_write()).await?)
}

async fn version(encryption: EncryptionLevel) -> Fallible<String> {
    let mut client = connect(encryption).await?;
    let row = client.simple_query("SELECT @@VERSION").await?.into_row().await?.ok_or("no row")?;
    let text: &str = row.get(0).ok_or("NULL")?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

async fn parameter() -> Fallible<String> {
    let mut client = connect(EncryptionLevel::NotSupported).await?;
    let rows = client.query("SELECT @P1 + 1, @P2", &[&41i32, &"Grüße"]).await?;
    let row = rows.into_row().await?.ok_or("no row")?;
    let number: Option<i32> = row.get(0);
    let text: Option<&str> = row.get(1);
    if (number, text) == (Some(42), Some("Grüße")) {
        return Ok("42".to_owned());
    }
    Err(format!("{number:?} {text:?}").into())
}

async fn error() -> Fallible<String> {
    let mut client = connect(EncryptionLevel::NotSupported).await?;
    let done = match client.simple_query("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)").await {
        Ok(rows) => rows.into_results().await.map(|_| ()),
        Err(error) => Err(error),
    };
    match done {
        Err(tiberius::error::Error::Server(token))
            if token.code() == 50_000 && token.line() == 3 =>
        {
            Ok(token.code().to_string())
        }
        other => Err(format!("{other:?}").into()),
    }
}

async fn count(client: &mut Client<Compat<TcpStream>>) -> Fallible<i32> {
    let row = client.simple_query("SELECT @@TRANCOUNT").await?.into_row().await?;
    Ok(row.and_then(|row| row.get(0)).ok_or("no row")?)
}

async fn transaction() -> Fallible<String> {
    let mut client = connect(EncryptionLevel::NotSupported).await?;
    client.simple_query("BEGIN TRAN").await?.into_results().await?;
    let inside = count(&mut client).await?;
    client.simple_query("ROLLBACK").await?.into_results().await?;
    let outside = count(&mut client).await?;
    if (inside, outside) == (1, 0) {
        return Ok("1".to_owned());
    }
    Err(format!("{inside} {outside}").into())
}

fn check(name: &str, done: Fallible<String>) {
    match done {
        Ok(detail) => println!("ok\t{name}\t{detail}"),
        Err(error) => println!("failed\t{name}\t{}", error.to_string().replace(['\n', '\t'], " ")),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("ok\tversion\t0.12");
    check("clear", version(EncryptionLevel::NotSupported).await);
    check("tls", version(EncryptionLevel::Required).await);
    check("parameter", parameter().await);
    check("error", error().await);
    check("transaction", transaction().await);
}
