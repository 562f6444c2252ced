//! What a server answers, as text.

use std::io::{self, Write};

use extentdb_client::{Column, Event, MessageKind, ServerMessage};
use extentdb_types::Collation;

use crate::grid::{Grid, GridColumn, GridStyle, is_number, shown};

/// Severity above which a message is an error.
const ERROR_CLASS: u8 = 10;

/// How results look.
#[derive(Clone, Debug)]
pub(super) struct ShowStyle {
    /// Between columns.
    pub(super) separator: String,
    /// Names above the rows.
    pub(super) has_head: bool,
    /// Columns as wide as their values, rows without trailing spaces.
    pub(super) is_trimmed: bool,
    /// Characters of a line, where something limits them.
    pub(super) width: Option<usize>,
}

/// Takes the answers to one batch.
pub(super) struct Show<'o> {
    style: &'o ShowStyle,
    out: &'o mut dyn Write,
    result: Option<Grid>,
    /// Was a message above severity 10 told?
    pub(super) has_error: bool,
}

impl<'o> Show<'o> {
    pub(super) fn new(style: &'o ShowStyle, out: &'o mut dyn Write) -> Show<'o> {
        Show { style, out, result: None, has_error: false }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Columns(columns) => {
                self.end_rows()?;
                self.begin_rows(columns);
                Ok(())
            }
            Event::Row(row) => {
                let texts = row.iter().map(shown).collect();
                match &mut self.result {
                    Some(grid) => grid.push(texts, self.out),
                    None => Ok(()),
                }
            }
            Event::Message(message) => {
                self.end_rows()?;
                self.message(message)
            }
            Event::Done(count) => {
                self.end_rows()?;
                match count {
                    Some(1) => writeln!(self.out, "\n(1 row affected)"),
                    Some(count) => writeln!(self.out, "\n({count} rows affected)"),
                    None => Ok(()),
                }
            }
            Event::Status(_) | Event::Value(_) => self.end_rows(),
            Event::Waiting => Ok(()),
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.end_rows()?;
        self.out.flush()
    }

    fn begin_rows(&mut self, columns: &[Column]) {
        let column = |own: &Column| GridColumn {
            name: own.name.to_string(),
            is_number: own
                .type_info
                .to_sql_type(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS)
                .is_some_and(|ty| is_number(&ty)),
        };
        let style = GridStyle {
            gap: self.style.separator.clone(),
            most: self.style.width,
            has_head: self.style.has_head,
            is_trimmed: self.style.is_trimmed,
        };
        let grid = Grid::new(columns.iter().map(column).collect(), style);
        self.result = Some(grid);
    }

    fn end_rows(&mut self) -> io::Result<()> {
        match self.result.take() {
            Some(grid) => grid.finish(self.out),
            None => Ok(()),
        }
    }

    fn message(&mut self, message: &ServerMessage) -> io::Result<()> {
        let ServerMessage { number, class, state, server, procedure, line, text, kind } = message;
        if *kind == MessageKind::Info && *class <= ERROR_CLASS {
            return writeln!(self.out, "{text}");
        }
        self.has_error |= *class > ERROR_CLASS;
        write!(self.out, "Msg {number}, Level {class}, State {state}, Server {server}")?;
        if !procedure.is_empty() {
            write!(self.out, ", Procedure {procedure}")?;
        }
        writeln!(self.out, ", Line {line}\n{text}")
    }
}
