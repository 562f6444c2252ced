//! The table of messages: `messages.tsv`, parsed at compile time and searched by number.
//!
//! ```text
//! number  severity  counts  repair     raised by   classes  text
//! 8905    16        A       data_loss  allocation  across   Extent %S_PGID in database ID %d is …
//! ```
//!
//! Invariants
//! - Numbers ascend strictly: [`lookup`] is a binary search.
//! - A message that counts as an error has severity 16.
//! - ExtentDB's own numbers have severity 10 and count as nothing.

use std::fmt;

use crate::class::{Class, Classes};
use crate::parse;
use crate::template::{self, Arg, ArgKind, FormatError};

/// A message: its number and everything that is fixed about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number, as in `sys.messages`.
    pub number: u32,
    /// 10 informs, 16 reports damage, from 17 on the run itself is in trouble.
    pub severity: u8,
    /// Which total of the summary lines it adds to.
    pub counts: Counts,
    /// The mildest repair that removes it.
    pub repair: Repair,
    /// The checks that raise it.
    pub raised_by: Family,
    /// The groups it belongs to.
    pub classes: Classes,
    /// Template, see [`Message::format`].
    pub text: &'static str,
}

/// Which of the two totals in 8989, 8990 and 8954 a message adds to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counts {
    /// Neither: information, companion lines, errors of the run itself.
    Neither,
    /// As one of the "allocation errors" of messages 8989 and 8990.
    Allocation,
    /// As one of the "consistency errors" of messages 8989 and 8990.
    Consistency,
}

/// The family of checks that raises a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// Opening files and backups.
    Open,
    /// Reading a page.
    Read,
    /// What the options ask for, and what they leave out.
    Options,
    /// Boot page, file headers, the critical system tables, the run itself.
    System,
    /// GAM, SGAM, PFS, IAM, ownership.
    Allocation,
    /// One page by itself.
    Page,
    /// One record by itself.
    Record,
    /// Levels, links, order and parents of an index.
    Index,
    /// Values of columns against their types.
    Value,
    /// Forwarding in heaps.
    Heap,
    /// LOB and row-overflow data.
    OffRow,
    /// Indexes and derived data against their table.
    Match,
    /// System tables against each other.
    Catalog,
    /// Queues and conversations of Service Broker.
    Broker,
    /// FILESTREAM directories and files.
    Filestream,
    /// Segments and dictionaries of columnstore indexes.
    Columnstore,
    /// What a repair says about itself. ExtentDB does not repair.
    Repair,
    /// Other DBCC commands: CHECKALLOC's report, CHECKIDENT, CHECKCONSTRAINTS, UPDATEUSAGE.
    Command,
    /// Headings, totals, progress.
    Summary,
    /// ExtentDB's own notes, 59001 to 59099.
    Note,
}

/// The mildest repair that removes an error, as far as the number alone decides it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Repair {
    /// The same for every object.
    Always(RepairLevel),
    /// A nonclustered index can be rebuilt from its table; anywhere else rows are lost.
    ByIndex,
}

/// A repair option of DBCC. Ordered: the level of a run is the maximum over its findings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum RepairLevel {
    /// DBCC cannot repair it: restore, or fix it by hand. Also the level of information.
    #[default]
    None,
    /// `repair_rebuild`: nothing is lost.
    Rebuild,
    /// `repair_allow_data_loss`: rows or pages may be lost.
    AllowDataLoss,
}

impl Message {
    /// The text with its holes filled, in order. See [`Arg`] for what fits where; `%.*ls` takes one
    /// argument.
    pub fn format(&self, args: &[Arg<'_>]) -> Result<String, FormatError> {
        template::format(self.number, self.text, args)
    }

    /// What the template asks for, in order.
    pub fn arguments(&self) -> impl Iterator<Item = ArgKind> + 'static {
        template::arguments(self.text)
    }
}

impl Repair {
    /// The level for an object: `index_id` 0 is a heap, 1 a clustered index, 2 and above a
    /// nonclustered one.
    pub const fn level(self, index_id: i32) -> RepairLevel {
        match self {
            Repair::Always(level) => level,
            Repair::ByIndex if index_id >= 2 => RepairLevel::Rebuild,
            Repair::ByIndex => RepairLevel::AllowDataLoss,
        }
    }
}

impl fmt::Display for RepairLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RepairLevel::None => "none",
            RepairLevel::Rebuild => "repair_rebuild",
            RepairLevel::AllowDataLoss => "repair_allow_data_loss",
        })
    }
}

/// The message with this number.
pub fn lookup(number: u32) -> Option<&'static Message> {
    MESSAGES.binary_search_by_key(&number, |message| message.number).ok().map(|at| &MESSAGES[at])
}

/// True when the message with this number is in the class.
pub fn is_in(number: u32, class: Class) -> bool {
    lookup(number).is_some_and(|message| message.classes.has(class))
}

/// All messages, by number.
pub fn all() -> &'static [Message] {
    &MESSAGES
}

const SOURCE: &str = include_str!("../messages.tsv");
const COUNT: usize = parse::count_lines(SOURCE, "");
pub(crate) static MESSAGES: [Message; COUNT] = read_table(SOURCE);

const fn read_table(mut source: &'static str) -> [Message; COUNT] {
    let mut messages = [read_row("0\t10\t-\tnone\tnote\t-\t-"); COUNT];
    let mut count = 0;
    while !source.is_empty() {
        let (line, rest) = parse::split_once(source, b'\n');
        if !parse::is_comment(line) {
            messages[count] = read_row(line);
            assert!(
                count == 0 || messages[count - 1].number < messages[count].number,
                "numbers must ascend"
            );
            count += 1;
        }
        source = rest;
    }
    messages
}

const fn read_row(line: &'static str) -> Message {
    let (number, line) = parse::split_once(line, b'\t');
    let (severity, line) = parse::split_once(line, b'\t');
    let (counts, line) = parse::split_once(line, b'\t');
    let (repair, line) = parse::split_once(line, b'\t');
    let (raised_by, line) = parse::split_once(line, b'\t');
    let (classes, text) = parse::split_once(line, b'\t');
    assert!(!text.is_empty(), "a message has seven fields");
    Message {
        number: parse::number(number),
        severity: parse::number(severity) as u8,
        counts: read_counts(counts),
        repair: read_repair(repair),
        raised_by: read_family(raised_by),
        classes: Classes::read(classes),
        text,
    }
}

const fn read_counts(field: &str) -> Counts {
    match field.as_bytes() {
        b"A" => Counts::Allocation,
        b"C" => Counts::Consistency,
        b"-" => Counts::Neither,
        _ => panic!("counts is A, C or -"),
    }
}

const fn read_repair(field: &str) -> Repair {
    match field.as_bytes() {
        b"none" => Repair::Always(RepairLevel::None),
        b"rebuild" => Repair::Always(RepairLevel::Rebuild),
        b"data_loss" => Repair::Always(RepairLevel::AllowDataLoss),
        b"index" => Repair::ByIndex,
        _ => panic!("repair is none, rebuild, data_loss or index"),
    }
}

const fn read_family(field: &str) -> Family {
    match field.as_bytes() {
        b"open" => Family::Open,
        b"read" => Family::Read,
        b"options" => Family::Options,
        b"system" => Family::System,
        b"allocation" => Family::Allocation,
        b"page" => Family::Page,
        b"record" => Family::Record,
        b"index" => Family::Index,
        b"value" => Family::Value,
        b"heap" => Family::Heap,
        b"off_row" => Family::OffRow,
        b"match" => Family::Match,
        b"catalog" => Family::Catalog,
        b"broker" => Family::Broker,
        b"filestream" => Family::Filestream,
        b"columnstore" => Family::Columnstore,
        b"repair" => Family::Repair,
        b"command" => Family::Command,
        b"summary" => Family::Summary,
        b"note" => Family::Note,
        _ => panic!("an unknown family of checks"),
    }
}
