//! A transaction: the chain of its records in the log.
//!
//! ```text
//! BEGIN ◀── INSERT ◀── INSERT ◀── MODIFY                  previous LSN of each record
//!              ▲          ▲─────────── compensation of MODIFY: its previous LSN is what to undo next
//!              └───────────────────────────── compensation of the second INSERT
//! ```
//!
//! A *system* transaction (allocation, split) is a transaction of its own inside another one: it
//! commits by itself, and is not undone with the one around it. It is never waited for: its commit
//! becomes durable with the next one that is.
//!
//! Undoing needs pages and trees, which are floors above: [`Transaction::undo_next`] says where to
//! go on, [`Transaction::compensate`] logs what was done, [`Transaction::abort`] ends it.

use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, XactId};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::xact::{
    BeginPart, BeginXact, LogText, Savepoint, XACT_TYPE_SYSTEM, XACT_TYPE_USER,
};
use extentdb_format::log::record::RecordFlags;
use extentdb_format::log::{Context, Op, RecordHeader};

use crate::error::Error;
use crate::manager::{Manager, Progress};
use crate::time::log_time;

/// Characters of a name that the log keeps.
const NAME_CHARACTERS_MAX: usize = 32;
/// What a compensation record takes beyond the elements of the record it undoes.
const COMPENSATION_BYTES: u64 = 160;

/// Who began a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A user, or the engine for itself.
    User,
    /// Allocation and structure inside another transaction; `Xact Type` 3.
    System,
}

/// How a record is tied to its transaction.
#[derive(Debug)]
pub enum Link<'t> {
    /// It is a change of the transaction.
    Change(&'t mut Transaction),
    /// It undoes a change of the transaction; the LSN is what to undo next.
    Compensation(&'t mut Transaction, Lsn),
    /// It belongs to none and is never undone.
    Alone(&'t Manager),
}

impl Link<'_> {
    /// Logs the record.
    pub fn log(&mut self, op: Op, context: Context, payload: &Payload<'_>) -> Result<Lsn, Error> {
        match self {
            Link::Change(transaction) => transaction.log(op, context, payload),
            Link::Compensation(transaction, undo_next) => {
                transaction.compensate(*undo_next, op, context, payload)
            }
            Link::Alone(manager) => manager.log_alone(op, context, payload),
        }
    }

    /// The flag bits its records carry.
    pub fn flags(&self) -> RecordFlags {
        match self {
            Link::Change(_) => RecordFlags::TRANSACTION,
            Link::Compensation(..) => COMPENSATION,
            Link::Alone(_) => RecordFlags(0),
        }
    }

    /// The transaction of the record; the default one when it belongs to none.
    pub fn xact(&self) -> XactId {
        match self {
            Link::Change(transaction) | Link::Compensation(transaction, _) => transaction.id,
            Link::Alone(_) => XactId::default(),
        }
    }

    /// Whose transactions these are.
    pub fn manager(&self) -> &Manager {
        match self {
            Link::Change(transaction) | Link::Compensation(transaction, _) => &transaction.manager,
            Link::Alone(manager) => manager,
        }
    }
}

const COMPENSATION: RecordFlags =
    RecordFlags(RecordFlags::COMPENSATION.0 | RecordFlags::TRANSACTION.0);

/// A transaction that is open. One that changed something and is dropped stays open in the log: the
/// next restart undoes it.
#[derive(Debug)]
pub struct Transaction {
    manager: Arc<Manager>,
    id: XactId,
    kind: Kind,
    name: String,
    /// `None` before the first record.
    progress: Option<Arc<Progress>>,
    begin: Lsn,
    last: Lsn,
    undo_next: Lsn,
    reserved: u64,
    /// It is being taken back: what that needs besides, system transactions, comes out of what is
    /// reserved.
    is_undoing: bool,
    /// What its system transactions would need to be undone stays reserved: a rollback gives back
    /// what they took.
    keeps_reserves: bool,
    savepoints: Vec<(String, Lsn)>,
}

impl Transaction {
    pub(crate) fn new(manager: Arc<Manager>, id: XactId, kind: Kind, name: &str) -> Transaction {
        Transaction {
            manager,
            id,
            kind,
            name: name.to_owned(),
            progress: None,
            begin: Lsn::ZERO,
            last: Lsn::ZERO,
            undo_next: Lsn::ZERO,
            reserved: 0,
            is_undoing: false,
            keeps_reserves: false,
            savepoints: Vec::new(),
        }
    }

    pub(crate) fn resumed(
        manager: Arc<Manager>,
        id: XactId,
        progress: Arc<Progress>,
        begin: Lsn,
        last: Lsn,
    ) -> Transaction {
        let open = Transaction::new(manager, id, Kind::User, "");
        Transaction {
            progress: Some(progress),
            begin,
            last,
            undo_next: last,
            ..open
        }
    }

    /// Its id.
    pub fn id(&self) -> XactId {
        self.id
    }

    /// Where it began; zero when nothing is logged yet.
    pub fn begin_lsn(&self) -> Lsn {
        self.begin
    }

    /// Its newest record; zero when nothing is logged yet.
    pub fn last_lsn(&self) -> Lsn {
        self.last
    }

    /// What rolling it back would cost: the bytes of the log that are kept back for that. In a
    /// deadlock the cheapest one gives way.
    pub fn rollback_cost(&self) -> u64 {
        self.reserved
    }

    /// Whose transaction it is.
    pub fn manager(&self) -> &Arc<Manager> {
        &self.manager
    }

    /// A system transaction inside this one.
    pub fn begin_system(&self, name: &str) -> Transaction {
        let Transaction { is_undoing, keeps_reserves, .. } = *self;
        Transaction {
            is_undoing,
            keeps_reserves,
            ..self.manager.begin(Kind::System, name)
        }
    }

    /// From here on it is taken back, until [`end_undo`](Self::end_undo). What the log has reserved
    /// for it is there to be used, by its system transactions, too.
    pub fn begin_undo(&mut self) {
        self.is_undoing = true;
    }

    /// Is it being taken back, or what it is part of?
    pub fn is_undoing(&self) -> bool {
        self.is_undoing
    }

    /// It goes on: from a savepoint, or behind a statement that failed.
    pub fn end_undo(&mut self) {
        self.is_undoing = false;
    }

    /// From here on room is kept for undoing what its system transactions do: it has made something
    /// that a rollback takes away with all that it got.
    pub fn keep_reserves(&mut self) {
        self.keeps_reserves = true;
    }

    /// Keeps room in the log for what an undo may need beside the compensation of the record that
    /// comes next.
    ///
    /// # Errors
    /// The log is full.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        self.manager.log.reserve(bytes)?;
        self.reserved += bytes;
        Ok(())
    }

    /// Logs a change, and room to undo it is kept back.
    pub fn log(&mut self, op: Op, context: Context, payload: &Payload<'_>) -> Result<Lsn, Error> {
        self.ensure_begun()?;
        let header = self.header(op, context);
        let lsn =
            self.append(&header, payload, COMPENSATION_BYTES + payload.element_bytes() as u64)?;
        self.advance(lsn);
        self.undo_next = lsn;
        Ok(lsn)
    }

    fn append(
        &mut self,
        header: &RecordHeader,
        payload: &Payload<'_>,
        reserve: u64,
    ) -> Result<Lsn, Error> {
        let log = &self.manager.log;
        if self.is_undoing {
            return Ok(log.append_reserved(header, payload)?);
        }
        let lsn = log.append(header, payload, reserve)?;
        self.reserved += reserve;
        Ok(lsn)
    }

    /// Logs the undoing of a change. `undo_next` is the record before the one undone.
    pub fn compensate(
        &mut self,
        undo_next: Lsn,
        op: Op,
        context: Context,
        payload: &Payload<'_>,
    ) -> Result<Lsn, Error> {
        let header = RecordHeader {
            previous: undo_next,
            flags: COMPENSATION,
            ..self.header(op, context)
        };
        let lsn = self.manager.log.append_reserved(&header, payload)?;
        self.advance(lsn);
        self.undo_next = undo_next;
        Ok(lsn)
    }

    /// The record to undo next.
    pub fn undo_next(&self) -> Lsn {
        self.undo_next
    }

    /// Passes over a record that needs no undoing.
    pub fn skip_to(&mut self, undo_next: Lsn) {
        self.undo_next = undo_next;
    }

    /// Marks a place to roll back to.
    pub fn savepoint(&mut self, name: &str) -> Result<Lsn, Error> {
        self.ensure_begun()?;
        let previous_savepoint = self.savepoints.last().map_or(Lsn::ZERO, |(_, lsn)| *lsn);
        let text = utf16(name);
        let mut payload = Savepoint { name: LogText(&text), ..Savepoint::default() };
        payload.fixed.previous_savepoint = previous_savepoint;
        let lsn = self.log(Op::MARK_SAVEPOINT, Context::NULL, &Payload::Savepoint(payload))?;
        self.savepoints.push((name.to_owned(), lsn));
        Ok(lsn)
    }

    /// The newest savepoint of this name; those behind it are forgotten.
    ///
    /// # Errors
    /// There is none.
    pub fn return_to(&mut self, name: &str) -> Result<Lsn, Error> {
        let at = self.savepoints.iter().rposition(|(own, _)| own == name);
        let missing = || Error::NoSavepoint { xact: self.id, name: name.to_owned() };
        let at = at.ok_or_else(missing)?;
        self.savepoints.truncate(at + 1);
        Ok(self.savepoints[at].1)
    }

    /// Ends the transaction; its changes stay. A user's commit is durable when this returns.
    pub fn commit(mut self) -> Result<Lsn, Error> {
        let lsn = self.end(Op::COMMIT_XACT)?;
        if self.kind == Kind::User && !lsn.is_zero() {
            self.manager.log.flush(lsn)?;
        }
        Ok(lsn)
    }

    /// Ends a system transaction. Its changes stay; what they would need to be undone stays
    /// reserved for the one around it if that keeps it.
    pub fn commit_into(mut self, outer: &mut Transaction) -> Result<Lsn, Error> {
        if outer.keeps_reserves {
            outer.reserved += std::mem::take(&mut self.reserved);
        }
        self.end(Op::COMMIT_XACT)
    }

    /// Ends the transaction without waiting until that is durable: the next flush makes it so
    /// (delayed durability).
    pub fn commit_delayed(mut self) -> Result<Lsn, Error> {
        self.end(Op::COMMIT_XACT)
    }

    /// Ends a transaction whose changes have all been undone.
    pub fn abort(mut self) -> Result<Lsn, Error> {
        self.end(Op::ABORT_XACT)
    }

    fn end(&mut self, op: Op) -> Result<Lsn, Error> {
        if self.progress.is_none() {
            return Ok(Lsn::ZERO);
        }
        // The end of a transaction names its begin as the record before it.
        let lsn = self.manager.leave(self.id, op, self.begin, self.begin)?;
        self.manager.log.release(self.reserved);
        (self.reserved, self.progress) = (0, None);
        Ok(lsn)
    }

    fn header(&self, op: Op, context: Context) -> RecordHeader {
        let flags = RecordFlags::TRANSACTION;
        RecordHeader {
            op,
            context,
            xact: self.id,
            previous: self.last,
            flags,
            ..RecordHeader::default()
        }
    }

    fn advance(&mut self, lsn: Lsn) {
        self.last = lsn;
        if let Some(progress) = &self.progress {
            progress.set_last(lsn);
        }
    }

    fn ensure_begun(&mut self) -> Result<(), Error> {
        if self.progress.is_some() {
            return Ok(());
        }
        let name = utf16(&self.name);
        let fixed = BeginPart {
            status: 1,
            kind: if self.kind == Kind::System { XACT_TYPE_SYSTEM } else { XACT_TYPE_USER },
            begin_time: log_time(self.manager.clock()),
            xact_id: u64::from(self.id.high) << 32 | u64::from(self.id.low),
            ..BeginPart::default()
        };
        let payload = Payload::BeginXact(BeginXact { fixed, name: LogText(&name), sid: &[] });
        let header = self.header(Op::BEGIN_XACT, Context::NULL);
        let manager = self.manager.clone();
        let progress =
            manager.enter(self.id, || self.append(&header, &payload, COMPENSATION_BYTES))?;
        self.begin = progress.begin();
        (self.last, self.undo_next, self.progress) = (self.begin, self.begin, Some(progress));
        Ok(())
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().take(NAME_CHARACTERS_MAX).flat_map(u16::to_le_bytes).collect()
}
