//! Statements of scripts as jobs for a session. Rows are read by an index when the predicate
//! restricts its first column, as an optimizer without statistics would.

use std::ops::{Bound, ControlFlow};

use extentdb_engine::{
    Access, Address, DefaultSpec, Error, IndexSpec, Isolation, OnConflict, Range, ReadHints, Row,
    RowLock, Session, Table, TableHint, TableSpec,
};
use extentdb_types::{Datum, SqlType};

use super::cursors::{Cursors, close_cursor, fetch, open_cursor};
use super::syntax::{
    ConstraintSpec, Element, ForeignKeySpec, Operator, Term, element, index, isolation, plain,
    predicate, value,
};
use super::words::{Syntax, Words, syntax};
use super::worker::{Job, Output, SeenRow};

/// An index as its script has defined it.
#[derive(Clone, Debug)]
pub(super) struct IndexInfo {
    pub(super) table: String,
    pub(super) name: String,
    pub(super) keys: Vec<(String, bool)>,
    pub(super) is_unique: bool,
    pub(super) is_clustered: bool,
}

impl IndexInfo {
    fn of(table: &str, spec: &IndexSpec) -> IndexInfo {
        IndexInfo {
            table: table.to_owned(),
            name: spec.name.clone(),
            keys: spec.keys.clone(),
            is_unique: spec.unique,
            is_clustered: spec.clustered,
        }
    }
}

/// A computed column, of which no value is given: its table and its name.
pub(super) type ComputedColumn = (String, String);

/// What the runner knows when a statement begins.
pub(super) struct Scene {
    pub(super) indexes: Vec<IndexInfo>,
    pub(super) computed: Vec<ComputedColumn>,
    /// Cursors of the session, by name.
    pub(super) cursors: Cursors,
}

/// A statement, and the indexes and computed columns that it defines.
pub(super) struct Statement {
    pub(super) job: Job,
    pub(super) indexes: Vec<IndexInfo>,
    pub(super) computed: Vec<ComputedColumn>,
}

impl Statement {
    pub(super) fn plain(
        run: impl FnOnce(&mut Session) -> Result<Output, Error> + Send + 'static,
    ) -> Statement {
        Statement {
            job: Box::new(run),
            indexes: Vec::new(),
            computed: Vec::new(),
        }
    }

    /// One that prints nothing.
    pub(super) fn quiet(
        run: impl FnOnce(&mut Session) -> Result<(), Error> + Send + 'static,
    ) -> Statement {
        Statement::plain(|session| run(session).map(|()| Output::default()))
    }
}

pub(super) fn statement(name: &str, words: &mut Words, scene: Scene) -> Result<Statement, Syntax> {
    match name {
        "begin" => Ok(Statement::quiet(|session| {
            session.begin();
            Ok(())
        })),
        "commit" => Ok(Statement::quiet(|session| session.commit())),
        "rollback" if words.take("to") => {
            let name = words.word()?;
            Ok(Statement::quiet(move |session| session.rollback_to(&name)))
        }
        "rollback" => Ok(Statement::quiet(|session| session.rollback())),
        "save" => {
            let name = words.word()?;
            Ok(Statement::quiet(move |session| session.save(&name)))
        }
        "insert" => insert(words),
        "update" => update(words, scene),
        "delete" => delete(words, scene),
        "select" => select(words, scene),
        "open" => open_cursor(words, scene),
        "fetch" => fetch(words, scene),
        "close" => close_cursor(words, scene),
        "create" => create(words),
        "alter" => alter(words),
        "drop" => drop_object(words),
        "truncate" => {
            words.expect("table")?;
            let table = words.word()?;
            Ok(Statement::quiet(move |session| {
                let table = session.table(&table)?;
                session.truncate_table(&table)
            }))
        }
        other => syntax(format!("no command {other}")),
    }
}

fn create(words: &mut Words) -> Result<Statement, Syntax> {
    if words.take("table") {
        return create_table(words);
    }
    if words.take("trigger") {
        let name = words.word()?;
        words.expect("on")?;
        let table = words.word()?;
        let text = words.word()?;
        return Ok(Statement::quiet(move |session| {
            let table = session.table(&table)?;
            session.create_trigger(&table, &name, &text)
        }));
    }
    let (table, spec) = index(words)?;
    let indexes = vec![IndexInfo::of(&table, &spec)];
    let job: Job = Box::new(move |session| {
        let table = session.table(&table)?;
        session.create_index(&table, &spec).map(|()| Output::default())
    });
    Ok(Statement { job, indexes, computed: Vec::new() })
}

fn create_table(words: &mut Words) -> Result<Statement, Syntax> {
    let name = words.word()?;
    let mut spec = TableSpec::heap(&name, Vec::new());
    let mut constraints = Vec::new();
    let mut indexes = Vec::new();
    let mut computed = Vec::new();
    while !words.is_empty() {
        match element(&words.word()?)? {
            Element::Column(column) => {
                computed
                    .extend(column.computed.as_ref().map(|_| (name.clone(), column.name.clone())));
                spec.columns.push(column);
            }
            Element::Constraint(ConstraintSpec::Index(index)) if index.clustered => {
                indexes.push(IndexInfo::of(&name, &index));
                spec = spec.clustered(index);
            }
            Element::Constraint(constraint) => {
                if let ConstraintSpec::Index(index) = &constraint {
                    indexes.push(IndexInfo::of(&name, index));
                }
                constraints.push(constraint);
            }
        }
    }
    let job: Job = Box::new(move |session| {
        atomically(session, |session| {
            session.create_table(&spec)?;
            constraints.iter().try_for_each(|it| add_constraint(session, &spec.name, it))?;
            Ok(Output::default())
        })
    });
    Ok(Statement { job, indexes, computed })
}

fn add_constraint(
    session: &mut Session,
    table: &str,
    constraint: &ConstraintSpec,
) -> Result<(), Error> {
    let table = session.table(table)?;
    match constraint {
        ConstraintSpec::Index(spec) => session.create_index(&table, spec),
        ConstraintSpec::Check { name, text } => session.add_check(&table, name, text),
        ConstraintSpec::Default { name, text, column } => {
            session.add_default(&table, column, &DefaultSpec::new(name, text))
        }
        ConstraintSpec::ForeignKey(key) => add_foreign_key(session, &table, key),
    }
}

fn add_foreign_key(
    session: &mut Session,
    table: &std::sync::Arc<Table>,
    key: &ForeignKeySpec,
) -> Result<(), Error> {
    let parent = session.table(&key.parent)?;
    let pairs = key.columns.iter().zip(&key.parent_columns);
    let columns: Vec<(&str, &str)> = pairs.map(|(own, its)| (&**own, &**its)).collect();
    session.add_foreign_key_with(table, &key.name, &parent, &columns, key.actions)
}

fn alter(words: &mut Words) -> Result<Statement, Syntax> {
    if words.take("index") {
        return alter_index(words);
    }
    words.expect("table")?;
    let table = words.word()?;
    if words.take("add") {
        let element = element(&words.word()?)?;
        let indexes = match &element {
            Element::Constraint(ConstraintSpec::Index(spec)) => vec![IndexInfo::of(&table, spec)],
            _ => Vec::new(),
        };
        let job: Job = Box::new(move |session| {
            match &element {
                Element::Column(column) => {
                    let table = session.table(&table)?;
                    session.add_column(&table, column)?;
                }
                Element::Constraint(constraint) => add_constraint(session, &table, constraint)?,
            }
            Ok(Output::default())
        });
        return Ok(Statement { job, indexes, computed: Vec::new() });
    }
    if words.take("drop") {
        let is_column = words.take("column");
        if !is_column {
            words.expect("constraint")?;
        }
        let name = words.word()?;
        return Ok(Statement::quiet(move |session| {
            let table = session.table(&table)?;
            if is_column {
                session.drop_column(&table, &name)
            } else {
                session.drop_constraint(&table, &name)
            }
        }));
    }
    words.expect("alter")?;
    words.expect("column")?;
    let Element::Column(column) = element(&words.word()?)? else { return syntax("a column") };
    Ok(Statement::quiet(move |session| {
        let table = session.table(&table)?;
        session.alter_column(&table, &column.name, column.ty, column.nullability())
    }))
}

fn alter_index(words: &mut Words) -> Result<Statement, Syntax> {
    let name = words.word()?;
    words.expect("on")?;
    let table = words.word()?;
    let is_rebuild = words.take("rebuild");
    if !is_rebuild {
        words.expect("disable")?;
    }
    Ok(Statement::quiet(move |session| {
        let table = session.table(&table)?;
        if is_rebuild {
            session.rebuild_index(&table, &name)
        } else {
            session.disable_index(&table, &name)
        }
    }))
}

fn drop_object(words: &mut Words) -> Result<Statement, Syntax> {
    let kind = words.word()?;
    let name = words.word()?;
    if kind == "table" {
        return Ok(Statement::quiet(move |session| {
            let table = session.table(&name)?;
            session.drop_table(&table)
        }));
    }
    words.expect("on")?;
    let table = words.word()?;
    Ok(Statement::quiet(move |session| {
        let table = session.table(&table)?;
        if kind == "index" {
            session.drop_index(&table, &name)
        } else {
            session.drop_trigger(&table, &name)
        }
    }))
}

/// Runs a statement of several calls: all of it, or nothing.
fn atomically(
    session: &mut Session,
    run: impl FnOnce(&mut Session) -> Result<Output, Error>,
) -> Result<Output, Error> {
    if session.is_in_transaction() {
        session.save("statement")?;
        let done = run(session);
        if done.is_err() && !session.is_doomed() {
            session.rollback_to("statement")?;
        }
        return done;
    }
    session.begin();
    let done = run(session);
    if done.is_ok() {
        session.commit()?
    } else {
        session.rollback()?
    }
    done
}

fn count(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}

/// `insert into t id=1 name=a`; a range in the first value makes several rows: `id=1..300
/// name=n@`, where `@` becomes the number.
fn insert(words: &mut Words) -> Result<Statement, Syntax> {
    words.expect("into")?;
    let table = words.word()?;
    let values = words.pairs();
    let range = values.first().and_then(|(_, first)| first.split_once(".."));
    let range = range.and_then(|(from, to)| Some(from.parse::<i64>().ok()?..=to.parse().ok()?));
    let rows: Vec<Vec<(String, String)>> = match range {
        None => vec![values],
        Some(range) => range.map(|number| numbered(&values, number)).collect(),
    };
    Ok(Statement::plain(move |session| {
        if let [row] = &*rows {
            // Its number is seen when it is drawn by an identity column.
            return insert_row(session, &table, row);
        }
        atomically(session, |session| {
            for row in &rows {
                insert_row(session, &table, row)?;
            }
            Ok(Output::line(count(rows.len())))
        })
    }))
}

fn numbered(values: &[(String, String)], number: i64) -> Vec<(String, String)> {
    let value = |at: usize, value: &str| match at {
        0 => number.to_string(),
        _ => value.replace('@', &number.to_string()),
    };
    let numbered = values.iter().enumerate();
    numbered.map(|(at, (column, text))| (column.clone(), value(at, text))).collect()
}

fn insert_row(
    session: &mut Session,
    name: &str,
    values: &[(String, String)],
) -> Result<Output, Error> {
    let table = session.table(name)?;
    let columns = table.columns();
    let values = datums(&columns, values)?;
    let named: Vec<(&str, Datum<'_>)> =
        values.iter().map(|(column, value)| (&**column, value.clone())).collect();
    let address = session.insert_columns(&table, &named)?;
    let given = |name: &str| values.iter().find(|(column, _)| column == name);
    let value = |(name, _): &(String, SqlType)| given(name).map_or(Datum::Null, |it| it.1.clone());
    let row = columns.iter().map(value).collect();
    Ok(Output {
        lines: vec![count(1)],
        seen: vec![SeenRow { table: name.to_owned(), address, row }],
    })
}

/// Values by the types of their columns.
fn datums(
    columns: &[(String, SqlType)],
    values: &[(String, String)],
) -> Result<Vec<(String, Datum<'static>)>, Error> {
    let datum = |(name, text): &(String, String)| {
        let column = columns.iter().find(|(column, _)| column == name);
        let ty = column.map_or(SqlType::Int, |(_, ty)| *ty);
        let wrong = || Error::Value { column: name.clone(), what: format!("no value: {text}") };
        Ok((name.clone(), value(&ty, text).ok_or_else(wrong)?))
    };
    values.iter().map(datum).collect()
}

/// Which rows a statement is about, and how they are read.
pub(super) struct Search {
    pub(super) table: String,
    terms: Vec<Term>,
    index: Option<String>,
    is_backward: bool,
    /// `readpast`: rows that others have locked are left out.
    hints: ReadHints,
    scene: Scene,
}

impl Search {
    /// `[where …] [using index] [desc] [with hint …]`.
    pub(super) fn parse(table: String, words: &mut Words, scene: Scene) -> Result<Search, Syntax> {
        let terms = if words.take("where") { predicate(words)? } else { Vec::new() };
        let index = if words.take("using") { Some(words.word()?) } else { None };
        let is_backward = words.take("desc");
        let mut hints = ReadHints::default();
        if words.take("with") {
            while !words.is_empty() {
                hints = with_hint(hints, &words.word()?)?;
            }
        }
        Ok(Search { table, terms, index, is_backward, hints, scene })
    }

    /// The same for rows that are to be changed: they are locked U at least, but under SNAPSHOT,
    /// where the snapshot says which they are, and the change finds the conflict.
    fn for_change(self, session: &Session) -> Search {
        if session.isolation() == Isolation::Snapshot {
            return self;
        }
        let row_lock = self.hints.row_lock;
        let row_lock = if row_lock == RowLock::ByIsolation { RowLock::Update } else { row_lock };
        let hints = ReadHints { row_lock, ..self.hints };
        Search { hints, ..self }
    }

    fn find(&self, session: &mut Session, table: &Table) -> Result<Vec<(Address, Row)>, Error> {
        let columns = table.columns();
        let mut found = Vec::new();
        let mut each = |address: Address, row: Row| {
            if self.holds(&columns, &row) {
                found.push((address, row));
            }
            ControlFlow::Continue(())
        };
        self.with_access(table, |access| match access {
            Access::Range(range) => session.range(table, &range, &mut each),
            // The engine may scan a heap with other locks; its rows are locked one by one here.
            Access::Table(hints) if self.locks_one_by_one(table) => {
                let hints = ReadHints { row_lock: RowLock::ByIsolation, ..hints };
                session.scan_with(table, hints, &mut each)
            }
            Access::Table(hints) => session.scan_with(table, hints, &mut each),
        })?;
        if self.locks_one_by_one(table) {
            return self.lock_rows(session, table, found);
        }
        Ok(found)
    }

    /// Calls `read` with the way to the rows.
    pub(super) fn with_access<T>(&self, table: &Table, read: impl FnOnce(Access<'_>) -> T) -> T {
        let Some((index, from, to)) = self.access(table) else {
            return read(Access::Table(self.hints));
        };
        let from = bound(&from);
        let to = bound(&to);
        let backward = self.is_backward;
        let range = Range { index: &index, from, to, backward, hints: self.hints };
        read(Access::Range(range))
    }

    /// Rows of a heap without an index that are to be changed: first found, then locked, as long as
    /// none is left out.
    fn locks_one_by_one(&self, table: &Table) -> bool {
        self.hints.row_lock == RowLock::Update
            && self.hints.on_conflict != OnConflict::Skip
            && table.indexes().is_empty()
    }

    fn lock_rows(
        &self,
        session: &mut Session,
        table: &Table,
        found: Vec<(Address, Row)>,
    ) -> Result<Vec<(Address, Row)>, Error> {
        let mut locked = Vec::new();
        for (address, _) in found {
            if let Some(row) = session.row_at(table, &address, self.hints)?
                && self.holds(&table.columns(), &row)
            {
                locked.push((address, row));
            }
        }
        Ok(locked)
    }

    pub(super) fn holds(&self, columns: &[(String, SqlType)], row: &Row) -> bool {
        self.terms.iter().all(|term| {
            let column = columns.iter().zip(row).find(|((name, _), _)| *name == term.column);
            column.is_some_and(|((_, ty), value)| term.holds(value, ty))
        })
    }

    /// The index by which rows are read, and the range of it.
    fn access(&self, table: &Table) -> Option<(String, End, End)> {
        let names = table.indexes();
        let own = self.scene.indexes.iter().filter(|it| it.table == self.table);
        let own = own.filter(|it| names.contains(&it.name));
        let columns = table.columns();
        let ranges = own.map(|index| (index, self.range_of(index, &columns)));
        if let Some(hint) = &self.index {
            let found = ranges.into_iter().find(|(index, _)| index.name == *hint);
            let (from, to) = found.map_or((End::None, End::None), |(_, range)| (range.0, range.1));
            return Some((hint.clone(), from, to));
        }
        let usable = ranges.filter(|(index, (.., score))| *score > 0 || index.is_clustered);
        let best = usable.max_by_key(|(index, (.., score))| (*score, index.is_clustered))?;
        let (index, (from, to, _)) = best;
        Some((index.name.clone(), from, to))
    }

    /// The range of an index that the predicate leaves, and how many terms restrict it.
    fn range_of(&self, index: &IndexInfo, columns: &[(String, SqlType)]) -> (End, End, usize) {
        let mut prefix = Vec::new();
        let mut lower = None;
        let mut upper = None;
        for (key, descending) in &index.keys {
            let Some((_, ty)) = columns.iter().find(|(name, _)| name == key) else { break };
            let of_key = self.terms.iter().filter(|term| term.column == *key);
            let mut is_equal = false;
            for term in of_key {
                let Some(value) = value(ty, &term.value) else { continue };
                match term.operator {
                    Operator::Equal => {
                        prefix.push(value);
                        is_equal = true;
                    }
                    Operator::Greater => lower = Some((value, false)),
                    Operator::GreaterOrEqual => lower = Some((value, true)),
                    Operator::Less => upper = Some((value, false)),
                    Operator::LessOrEqual => upper = Some((value, true)),
                    Operator::IsNull => {}
                }
            }
            if *descending {
                std::mem::swap(&mut lower, &mut upper);
            }
            if !is_equal {
                break;
            }
        }
        let score = 2 * prefix.len() + usize::from(lower.is_some() || upper.is_some());
        (End::of(&prefix, lower), End::of(&prefix, upper), score)
    }
}

/// An end of a range, with its values.
enum End {
    None,
    Included(Row),
    Excluded(Row),
}

impl End {
    fn of(prefix: &[Datum<'static>], last: Option<(Datum<'static>, bool)>) -> End {
        let mut values = prefix.to_vec();
        match last {
            None if prefix.is_empty() => End::None,
            None => End::Included(values),
            Some((value, is_included)) => {
                values.push(value);
                if is_included { End::Included(values) } else { End::Excluded(values) }
            }
        }
    }
}

fn bound(end: &End) -> Bound<&[Datum<'_>]> {
    match end {
        End::None => Bound::Unbounded,
        End::Included(values) => Bound::Included(values),
        End::Excluded(values) => Bound::Excluded(values),
    }
}

/// Another hint; levels are written as `set isolation` has them, too.
fn with_hint(hints: ReadHints, name: &str) -> Result<ReadHints, Syntax> {
    let level = isolation(name).and_then(|level| match level {
        Isolation::ReadUncommitted => Some(TableHint::ReadUncommitted),
        Isolation::ReadCommitted => Some(TableHint::ReadCommitted),
        Isolation::RepeatableRead => Some(TableHint::RepeatableRead),
        Isolation::Serializable => Some(TableHint::Serializable),
        // No hint asks for it.
        Isolation::Snapshot => None,
    });
    let Some(hint) = level.or_else(|| TableHint::by_name(name)) else {
        return syntax(format!("a table hint, and not {name}"));
    };
    hints.with(hint).map_err(|error| Syntax(error.to_string()))
}

/// `select id name from t …`; `all` for all columns, `count` for the number of rows.
fn select(words: &mut Words, scene: Scene) -> Result<Statement, Syntax> {
    let mut names = Vec::new();
    while !words.take("from") {
        names.push(words.word()?);
    }
    let table = words.word()?;
    let search = Search::parse(table, words, scene)?;
    Ok(Statement::plain(move |session| {
        let table = session.table(&search.table)?;
        let found = search.find(session, &table)?;
        let lines = print(&names, &table.columns(), &found);
        let seen = found.into_iter().map(|row| search.seen(row)).collect();
        Ok(Output { lines, seen })
    }))
}

impl Search {
    fn is_computed(&self, column: &str) -> bool {
        self.scene.computed.iter().any(|(table, name)| *table == self.table && name == column)
    }

    pub(super) fn seen(&self, (address, row): (Address, Row)) -> SeenRow {
        SeenRow { table: self.table.clone(), address, row }
    }
}

pub(super) fn print(
    names: &[String],
    columns: &[(String, SqlType)],
    found: &[(Address, Row)],
) -> Vec<String> {
    if let [name] = names
        && name == "count"
    {
        return vec![count(found.len())];
    }
    if found.is_empty() {
        return vec!["no rows".to_owned()];
    }
    let is_asked = |name: &String| names.contains(name) || names.iter().any(|it| it == "all");
    let cells = |row: &Row| -> Vec<String> {
        let asked = columns.iter().zip(row).filter(|((name, _), _)| is_asked(name));
        asked.map(|((name, _), value)| format!("{name}={}", plain(value))).collect()
    };
    if let [name] = names
        && name != "all"
    {
        let prefix = format!("{name}=");
        let value = |row: &Row| cells(row).concat().replacen(&prefix, "", 1);
        let values: Vec<String> = found.iter().map(|(_, row)| value(row)).collect();
        return vec![format!("{name}: {}", values.join(", "))];
    }
    found.iter().map(|(_, row)| cells(row).join(" ")).collect()
}

/// `update t set name=b where id=1`.
fn update(words: &mut Words, scene: Scene) -> Result<Statement, Syntax> {
    let table = words.word()?;
    words.expect("set")?;
    let values = words.pairs();
    let search = Search::parse(table, words, scene)?;
    Ok(Statement::plain(move |session| {
        let search = search.for_change(session);
        atomically(session, |session| {
            let table = session.table(&search.table)?;
            let columns = table.columns();
            let values = datums(&columns, &values)?;
            let found = search.find(session, &table)?;
            let rows = found.len();
            let mut seen = Vec::new();
            for (at, mut row) in found {
                seen.push(search.seen((at.clone(), row.clone())));
                for (name, value) in &values {
                    let column = columns.iter().position(|(column, _)| column == name);
                    column.into_iter().for_each(|column| row[column] = value.clone());
                }
                for (column, value) in columns.iter().zip(&mut row) {
                    if search.is_computed(&column.0) {
                        *value = Datum::Null;
                    }
                }
                let at = session.update(&table, &at, &row)?;
                seen.push(search.seen((at, row)));
            }
            Ok(Output { lines: vec![count(rows)], seen })
        })
    }))
}

/// `delete from t where id=1`.
fn delete(words: &mut Words, scene: Scene) -> Result<Statement, Syntax> {
    words.expect("from")?;
    let table = words.word()?;
    let search = Search::parse(table, words, scene)?;
    Ok(Statement::plain(move |session| {
        let search = search.for_change(session);
        atomically(session, |session| {
            let table = session.table(&search.table)?;
            let found = search.find(session, &table)?;
            for (at, _) in &found {
                session.delete(&table, at)?;
            }
            let rows = found.len();
            let seen = found.into_iter().map(|row| search.seen(row)).collect();
            Ok(Output { lines: vec![count(rows)], seen })
        })
    }))
}
