//! Scripts of batches with commands between them.
//!
//! Three commands are no batches: `describe t` shows an object of the catalog, `describe` all of
//! them by name; `reconnect` ends the connection and makes another one; `other: …` is a batch of a
//! second connection.

use std::sync::Arc;

use extentdb_session::{Connection, Server};

use super::describe::describe;
use super::{batch, blocks, connect, server};

/// A server with two connections in database `shop`.
pub(crate) struct Story {
    pub(crate) server: Arc<Server>,
    pub(crate) connection: Connection,
    pub(crate) other: Connection,
}

impl Story {
    /// What a block gives: a batch or a command.
    pub(crate) fn given(&mut self, text: &str) -> String {
        if text.starts_with("describe") {
            return describe(&self.server, &self.connection, text);
        }
        if text == "reconnect" {
            let database = self.connection.database().to_owned();
            self.connection = connect(&self.server);
            return batch(&mut self.connection, &format!("USE {database}"));
        }
        match text.strip_prefix("other: ") {
            Some(text) => batch(&mut self.other, text),
            None => batch(&mut self.connection, text),
        }
    }
}

/// Runs a script of a folder of `tests`, and compares.
pub(crate) fn script(folder: &str, name: &str) {
    let server = server();
    let mut connection = connect(&server);
    let mut other = connect(&server);
    batch(&mut connection, "CREATE DATABASE shop");
    batch(&mut connection, "USE shop");
    batch(&mut other, "USE shop");
    let mut story = Story { server, connection, other };
    blocks::compare(folder, name, &mut |text| story.given(text));
}
