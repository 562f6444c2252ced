//! Cursors of scripts: `open c for select …`, `fetch 2 from c`, `close c`. They stay open across
//! statements and transactions; a session has several.

use std::collections::BTreeMap;

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_engine::{Address, Cursor, Error, Row};

use super::statement::{Scene, Search, Statement, print};
use super::words::{Syntax, Words, syntax};
use super::worker::Output;

/// A cursor with what its statement asked for.
pub(super) struct OpenCursor {
    cursor: Cursor,
    names: Arc<[String]>,
    search: Arc<Search>,
}

/// Those of a session, by name.
pub(super) type Cursors = Arc<Mutex<BTreeMap<String, OpenCursor>>>;

/// `open c for select id from t …`.
pub(super) fn open_cursor(words: &mut Words, scene: Scene) -> Result<Statement, Syntax> {
    let name = words.word()?;
    words.expect("for")?;
    words.expect("select")?;
    let mut names = Vec::new();
    while !words.take("from") {
        names.push(words.word()?);
    }
    let table = words.word()?;
    let cursors = scene.cursors.clone();
    let search = Arc::new(Search::parse(table, words, scene)?);
    Ok(Statement::quiet(move |session| {
        let table = session.table(&search.table)?;
        let cursor = search.with_access(&table, |access| session.open_cursor(&table, &access))?;
        let names = names.into();
        lock(&cursors).insert(name, OpenCursor { cursor, names, search });
        Ok(())
    }))
}

/// `fetch 2 from c`: reads two rows, and prints those that the predicate holds for.
pub(super) fn fetch(words: &mut Words, scene: Scene) -> Result<Statement, Syntax> {
    let Ok(rows) = words.word()?.parse() else { return syntax("a number of rows") };
    words.expect("from")?;
    let name = words.word()?;
    let cursors = scene.cursors;
    Ok(Statement::plain(move |session| {
        let missing = || Error::Value { column: name.clone(), what: "no such cursor".to_owned() };
        let mut open = lock(&cursors).remove(&name).ok_or_else(missing)?;
        let batch = open.cursor.next_batch(session, rows);
        let columns = open.cursor.table().columns();
        let mut found: Vec<(Address, Row)> = Vec::new();
        let read = batch.and_then(|batch| {
            for row in batch.iter().flat_map(|batch| batch.iter()) {
                let row = row?;
                let values = row.values()?;
                if open.search.holds(&columns, &values) {
                    found.push((row.address()?, values));
                }
            }
            Ok(())
        });
        let lines = print(&open.names, &columns, &found);
        let seen = found.into_iter().map(|row| open.search.seen(row)).collect();
        lock(&cursors).insert(name, open);
        read.map(|()| Output { lines, seen })
    }))
}

/// `close c`.
pub(super) fn close_cursor(words: &mut Words, scene: Scene) -> Result<Statement, Syntax> {
    let name = words.word()?;
    let cursors = scene.cursors;
    Ok(Statement::quiet(move |_| {
        lock(&cursors).remove(&name);
        Ok(())
    }))
}
