//! Who may do what: logins, users, roles, permissions, ownership chains, EXECUTE AS.
//!
//! `tests/security/NAME.batches`, written as `support/blocks.rs` says. `as NAME: …` is a batch of the connection of a login, `login NAME DATABASE` makes a new
//! one; all others are sa's. The database is `shop`.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use extentdb_session::login::ClientInfo;
use extentdb_session::{Connection, Server};
use support::{batch, blocks, connect, server};

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
    let server = server();
    let mut sa = connect(&server);
    batch(&mut sa, "CREATE DATABASE shop");
    batch(&mut sa, "USE shop");
    let mut story = Story { server, connections: BTreeMap::from([("sa".to_owned(), sa)]) };
    blocks::compare("security", name, &mut |text| story.given(text));
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
    application_roles
    visible_principals
}
