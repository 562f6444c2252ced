//! Who may do what: logins, users, roles, permissions, ownership chains, EXECUTE AS.
//!
//! `tests/security/NAME.batches`: batches with a blank line between them, beneath `---` what each
//! gives. `as NAME: …` is a batch of the connection of a login, `login NAME DATABASE` makes a new
//! one; all others are sa's. The database is `shop`. `UPDATE_GOLDENFILES=1` writes what they give
//! now.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use extentdb_session::login::ClientInfo;
use extentdb_session::{Connection, Server};
use support::{batch, connect, server};

struct Story {
    server: Arc<Server>,
    connections: BTreeMap<String, Connection>,
}

impl Story {
    fn given(&mut self, text: &str) -> String {
        if let Some(rest) = text.strip_prefix("login ") {
            let (name, database) = rest.split_once(' ').unwrap_or((rest, ""));
            return self.log_in(name, database);
        }
        let as_login = text.strip_prefix("as ").and_then(|rest| rest.split_once(": "));
        let (login, text) = as_login.unwrap_or(("sa", text));
        match self.connections.get_mut(login) {
            Some(connection) => batch(connection, text),
            None => format!("no connection of {login}"),
        }
    }

    fn log_in(&mut self, name: &str, database: &str) -> String {
        let client = ClientInfo {
            database: database.to_owned(),
            requires_database: !database.is_empty(),
            ..ClientInfo::local(name)
        };
        match Connection::open(&self.server, client) {
            Ok(connection) => {
                let shown = connection.database().to_owned();
                self.connections.insert(name.to_owned(), connection);
                shown
            }
            Err(message) => format!("{}: {}", message.number, message.text),
        }
    }
}

fn script(name: &str) {
    let path = format!("{}/tests/security/{name}.batches", env!("CARGO_MANIFEST_DIR"));
    let golden = std::fs::read_to_string(&path).unwrap();
    let server = server();
    let mut sa = connect(&server);
    batch(&mut sa, "CREATE DATABASE shop");
    batch(&mut sa, "USE shop");
    let mut story = Story { server, connections: BTreeMap::from([("sa".to_owned(), sa)]) };
    let mut found = String::new();
    for block in golden.split("\n\n") {
        let (comment, text) = block
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(' '))
            .and_then(|rest| rest.split_once('\n'))
            .map_or(("", block), |(comment, text)| (comment, text));
        if !comment.is_empty() {
            found.push_str(&format!("#{comment}\n"));
        }
        let text = text.split_once("\n---").map_or(text, |(text, _)| text).trim_end();
        let given = story.given(text);
        let given = if given.is_empty() { given } else { format!("{given}\n") };
        found.push_str(&format!("{text}\n---\n{given}\n"));
    }
    let found = format!("{}\n", found.trim_end());
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&path, &found).unwrap();
        return;
    }
    assert_eq!(found, golden, "{name}");
}

/// A test for each script.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            script(stringify!($name));
        })*
    };
}

scripts! {
    rows
    modules
    definitions
    principals
    grants
    impersonation
    server_level
    catalog
}
