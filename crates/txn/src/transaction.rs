//! A transaction: the chain of its records in the log.
//!
//! ```text
//! BEGIN ◀── INSERT ◀── INSERT ◀── MODIFY                  previous LSN of each record
//!              ▲          ▲─────────── compensation of MODIFY: its previous LSN is what to undo next
//!              └───────────────────────────── compensation of the second INSERT
//! ```
//!
//! A *system* transaction (allocation, split), a nested top action in the terms of ARIES, is a
//! transaction of its own inside another one: it commits by itself, and is not undone with the
//! outer one. Its commit is not flushed: it becomes durable with the next flush.
//!
//! Undo needs pages and trees, which belong to higher crates: [`Transaction::undo_next`] is the
//! next record to undo, [`Transaction::compensate`] logs its compensation, [`Transaction::abort`]
//! ends the rollback.

use extentdb_base::sync::Arc;
use extentdb_base::{DatabaseId, Lsn, OwnerId, XactId};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::xact::{
    BeginPart, BeginXact, LogText, PreparePart, PrepareXact, Savepoint, XACT_TYPE_SYSTEM,
    XACT_TYPE_USER,
};
use extentdb_format::log::record::RecordFlags;
use extentdb_format::log::{Context, Op, RecordHeader};

use crate::error::Error;
use crate::lock::LockOwner;
use crate::manager::{End, Manager, Progress};
use crate::time::log_time;

/// Characters of a transaction name in the log; longer names are truncated.
const NAME_CHARACTERS_MAX: usize = 32;
/// Bytes of a compensation record beyond the elements of the record it undoes.
const COMPENSATION_BYTES: u64 = 160;

/// Who began a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionKind {
    /// A user, or the engine for itself.
    User,
    /// Allocation and structure inside another transaction; `Xact Type` 3.
    System,
}

/// How a record is tied to its transaction.
#[derive(Debug)]
pub enum RecordOwner<'t> {
    /// It is a change of the transaction.
    Change(&'t mut Transaction),
    /// It undoes a change of the transaction; the LSN is what to undo next.
    Compensation(&'t mut Transaction, Lsn),
    /// It belongs to no transaction and is never undone.
    Alone(&'t Manager),
}

impl RecordOwner<'_> {
    /// Logs the record.
    pub fn log(&mut self, op: Op, context: Context, payload: &Payload<'_>) -> Result<Lsn, Error> {
        match self {
            RecordOwner::Change(transaction) => transaction.log(op, context, payload),
            RecordOwner::Compensation(transaction, undo_next) => {
                transaction.compensate(*undo_next, op, context, payload)
            }
            RecordOwner::Alone(manager) => manager.log_alone(op, context, payload),
        }
    }

    /// The flag bits its records carry.
    pub fn flags(&self) -> RecordFlags {
        match self {
            RecordOwner::Change(_) => RecordFlags::TRANSACTION,
            RecordOwner::Compensation(..) => COMPENSATION,
            RecordOwner::Alone(_) => RecordFlags(0),
        }
    }

    /// The transaction of the record; the default one when it belongs to none.
    pub fn xact(&self) -> XactId {
        match self {
            RecordOwner::Change(transaction) | RecordOwner::Compensation(transaction, _) => {
                transaction.id
            }
            RecordOwner::Alone(_) => XactId::default(),
        }
    }

    /// The transaction manager.
    pub fn manager(&self) -> &Manager {
        match self {
            RecordOwner::Change(transaction) | RecordOwner::Compensation(transaction, _) => {
                &transaction.manager
            }
            RecordOwner::Alone(manager) => manager,
        }
    }
}

const COMPENSATION: RecordFlags =
    RecordFlags(RecordFlags::COMPENSATION.0 | RecordFlags::TRANSACTION.0);

/// What decides how a prepared transaction ends: a transaction in another database of the server,
/// or the prepared one itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Preparation {
    /// The database of the coordinator, in the server.
    pub database: DatabaseId,
    /// Its binding id, which no other database has.
    pub binding: [u8; 16],
    /// The transaction there.
    pub xact: XactId,
    /// LSN of its own PREP_XACT there; zero in that record itself.
    pub at: Lsn,
}

/// A transaction that is open. One that changed something and is dropped stays open in the log: the
/// next restart undoes it.
#[derive(Debug)]
pub struct Transaction {
    manager: Arc<Manager>,
    id: XactId,
    owner: OwnerId,
    kind: TransactionKind,
    name: String,
    /// `None` before the first record.
    progress: Option<Arc<Progress>>,
    begin: Lsn,
    last: Lsn,
    undo_next: Lsn,
    reserved: u64,
    /// It is being rolled back: its system transactions use the reserved log space, too.
    is_undoing: bool,
    /// Log space for the undo of its system transactions stays reserved after their commit: a
    /// rollback frees what they allocated.
    keeps_reserves: bool,
    savepoints: Vec<(String, Lsn)>,
}

impl Transaction {
    pub(crate) fn new(
        manager: Arc<Manager>,
        id: XactId,
        owner: OwnerId,
        kind: TransactionKind,
        name: &str,
    ) -> Transaction {
        Transaction {
            manager,
            id,
            owner,
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
        owner: OwnerId,
        progress: Arc<Progress>,
    ) -> Transaction {
        let open = Transaction::new(manager, id, owner, TransactionKind::User, "");
        Transaction {
            begin: progress.begin(),
            last: progress.last(),
            undo_next: progress.last(),
            progress: Some(progress),
            ..open
        }
    }

    /// Id, unique in the database.
    pub fn id(&self) -> XactId {
        self.id
    }

    /// The owner of its locks, unique in the instance.
    pub fn owner(&self) -> OwnerId {
        self.owner
    }

    /// As whom it requests locks in its database.
    pub fn lock_owner(&self) -> LockOwner {
        LockOwner { id: self.owner, xact: self.id }
    }

    /// Where it began; zero when nothing is logged yet.
    pub fn begin_lsn(&self) -> Lsn {
        self.begin
    }

    /// Its newest record; zero when nothing is logged yet.
    pub fn last_lsn(&self) -> Lsn {
        self.last
    }

    /// Cost of rolling it back: the bytes of log reserved for that. In a deadlock the transaction
    /// with the lowest cost is the victim.
    pub fn rollback_cost(&self) -> u64 {
        self.reserved
    }

    /// The transaction manager.
    pub fn manager(&self) -> &Arc<Manager> {
        &self.manager
    }

    /// A system transaction inside this one, with the same owner.
    pub fn begin_system(&self, name: &str) -> Transaction {
        let Transaction { is_undoing, keeps_reserves, .. } = *self;
        Transaction {
            is_undoing,
            keeps_reserves,
            ..self.manager.begin_as(self.owner, TransactionKind::System, name)
        }
    }

    /// It is being rolled back from here on, until [`end_undo`](Self::end_undo): it and its system
    /// transactions use the reserved log space.
    pub fn begin_undo(&mut self) {
        self.is_undoing = true;
    }

    /// Is it, or the transaction around it, being rolled back?
    pub fn is_undoing(&self) -> bool {
        self.is_undoing
    }

    /// The rollback ends at a savepoint or at the start of a failed statement; the transaction
    /// continues.
    pub fn end_undo(&mut self) {
        self.is_undoing = false;
    }

    /// Keeps the log space reserved by its system transactions after their commit: the transaction
    /// has created an allocation unit, and a rollback frees what the unit has allocated.
    pub fn keep_reserves(&mut self) {
        self.keeps_reserves = true;
    }

    /// Reserves log space for what an undo may need beyond the compensation of the next record.
    ///
    /// # Errors
    /// The log is full.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        self.manager.log.reserve(bytes)?;
        self.reserved += bytes;
        Ok(())
    }

    /// Logs a change, and reserves log space for its undo.
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

    /// Logs the undo of a change, a compensation record. `undo_next` is the record before the one
    /// undone.
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

    /// Skips a record that needs no undo.
    pub fn skip_to(&mut self, undo_next: Lsn) {
        self.undo_next = undo_next;
    }

    /// Sets a savepoint.
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

    /// The newest savepoint of this name; later ones are removed.
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

    /// Is there a savepoint of this name?
    pub fn has_savepoint(&self, name: &str) -> bool {
        self.savepoints.iter().any(|(own, _)| own == name)
    }

    /// Logs that the transaction is ready to commit, and who decides: PREP_XACT. Returns the LSN of
    /// the record. The decision is durable when the caller flushes the log of the one who decides.
    pub fn prepare(&mut self, by: Preparation) -> Result<Lsn, Error> {
        self.ensure_begun()?;
        let fixed = PreparePart {
            master_xact: by.xact,
            master_database: by.database.0,
            master_prepare: by.at,
            begin: self.begin,
            time: log_time(self.manager.clock()),
            ..PreparePart::default()
        };
        let payload = PrepareXact { fixed, more: std::iter::once(&by.binding[..]).collect() };
        let header = self.header(Op::PREP_XACT, Context::NULL);
        let lsn = self.append(&header, &Payload::PrepareXact(payload), 0)?;
        self.advance(lsn);
        self.undo_next = lsn;
        Ok(lsn)
    }

    /// Commits. The commit of a user transaction is durable when this returns.
    pub fn commit(mut self) -> Result<Lsn, Error> {
        if self.kind == TransactionKind::System {
            return self.end(End::CommitDelayed);
        }
        let lsn = self.end(End::CommitDurable)?;
        if !lsn.is_zero() {
            self.manager.flush(lsn)?;
        }
        Ok(lsn)
    }

    /// Commits a system transaction. The log space reserved for its undo passes to the outer
    /// transaction if that keeps reserves.
    pub fn commit_into(mut self, outer: &mut Transaction) -> Result<Lsn, Error> {
        if outer.keeps_reserves {
            outer.reserved += std::mem::take(&mut self.reserved);
        }
        self.end(End::CommitDelayed)
    }

    /// Commits without a flush: the next flush makes the commit durable (delayed durability). Its
    /// changes are visible at once.
    pub fn commit_delayed(mut self) -> Result<Lsn, Error> {
        self.end(End::CommitDelayed)
    }

    /// Ends a transaction whose changes have all been undone: ABORT_XACT.
    pub fn abort(mut self) -> Result<Lsn, Error> {
        self.end(End::Abort)
    }

    fn end(&mut self, end: End) -> Result<Lsn, Error> {
        if self.progress.is_none() {
            return Ok(Lsn::ZERO);
        }
        let lsn = self.manager.leave(self.id, end, self.begin)?;
        self.manager.log.release(self.reserved);
        self.reserved = 0;
        self.progress = None;
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
        if self.kind == TransactionKind::User {
            self.manager.verify_writable()?;
        }
        let name = utf16(&self.name);
        let fixed = BeginPart {
            status: 1,
            kind: if self.kind == TransactionKind::System {
                XACT_TYPE_SYSTEM
            } else {
                XACT_TYPE_USER
            },
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
