//! What views show and the engine does not know: the server, its logins, connections and requests.
//!
//! The crate above implements [`Facts`]; each method has a default that says what is true of a
//! server without connections.

use extentdb_base::SessionId;
use extentdb_types::{DateTime, Guid};

/// What the crate above knows. All methods are called while rows of a view are made, by the thread
/// that reads it.
pub trait Facts {
    /// The server.
    fn server(&self) -> ServerFacts {
        ServerFacts::default()
    }

    /// A session of a connection; `None` for one that the engine knows alone.
    fn session(&self, _id: SessionId) -> Option<SessionFacts> {
        None
    }

    /// The network connection of a session.
    fn connection(&self, _id: SessionId) -> Option<ConnectionFacts> {
        None
    }

    /// What a session is running now.
    fn request(&self, _id: SessionId) -> Option<RequestFacts> {
        None
    }

    /// The open transaction of a session.
    fn transaction(&self, _id: SessionId) -> Option<TransactionFacts> {
        None
    }

    /// All logins.
    fn logins(&self) -> Vec<LoginFacts> {
        vec![LoginFacts::sa()]
    }

    /// The value of a configuration option by its number; `None` for its default.
    fn configuration(&self, _id: i32) -> Option<i32> {
        None
    }
}

/// Nothing beyond the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFacts;

impl Facts for NoFacts {}

/// The server as it tells of itself.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are those of SERVERPROPERTY and sys.dm_os_host_info")]
pub struct ServerFacts {
    /// `@@SERVERNAME`
    pub name: String,
    pub product_name: String,
    /// When it was started, local time.
    pub started: DateTime,
    /// Bytes of memory of the machine.
    pub memory_bytes: u64,
    pub host_platform: String,
    pub host_distribution: String,
    pub host_release: String,
    pub host_architecture: String,
}

/// A session. The defaults are those of a client of ODBC.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are columns of sys.dm_exec_sessions")]
pub struct SessionFacts {
    pub login_time: DateTime,
    pub host_name: Option<String>,
    pub program_name: Option<String>,
    pub host_process_id: Option<i32>,
    pub client_interface_name: Option<String>,
    pub login_name: String,
    pub original_login_name: String,
    /// Does it run a request?
    pub is_running: bool,
    pub context_info: Option<Vec<u8>>,
    pub cpu_time_ms: i32,
    pub last_request_start_time: DateTime,
    pub last_request_end_time: Option<DateTime>,
    pub text_size: i32,
    pub language: String,
    pub date_format: String,
    pub date_first: u8,
    pub quoted_identifier: bool,
    pub arithabort: bool,
    pub ansi_null_dflt_on: bool,
    pub ansi_defaults: bool,
    pub ansi_warnings: bool,
    pub ansi_padding: bool,
    pub ansi_nulls: bool,
    pub concat_null_yields_null: bool,
    /// 1 read uncommitted, 2 read committed, 3 repeatable read, 4 serializable, 5 snapshot.
    pub isolation_level: u8,
    /// Milliseconds; -1 = for ever.
    pub lock_timeout: i32,
    pub deadlock_priority: i8,
    pub row_count: i64,
    /// `@@ERROR` of the last statement that had one.
    pub prev_error: i32,
    pub open_transaction_count: i32,
}

/// A network connection.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are columns of sys.dm_exec_connections")]
pub struct ConnectionFacts {
    pub connect_time: DateTime,
    /// `TCP`, `Shared memory`.
    pub net_transport: String,
    /// As in LOGINACK: 0x74000004.
    pub protocol_version: i32,
    pub is_encrypted: bool,
    pub packet_bytes: i32,
    pub client_address: Option<String>,
    pub client_port: Option<u16>,
    pub local_address: Option<String>,
    pub local_port: Option<u16>,
    pub id: Guid,
    /// Packets read and written.
    pub reads: Option<i32>,
    pub writes: Option<i32>,
    pub last_read: Option<DateTime>,
    pub last_write: Option<DateTime>,
}

/// A request that runs.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are columns of sys.dm_exec_requests")]
pub struct RequestFacts {
    pub start_time: DateTime,
    /// `SELECT`, `INSERT`, `WAITFOR` …
    pub command: String,
    pub elapsed_ms: i32,
    pub cpu_time_ms: i32,
    pub row_count: i64,
    pub nest_level: i32,
    /// Byte offsets of the statement in its batch, of UTF-16; -1 for the end of the batch.
    pub statement_offsets: Option<(i32, i32)>,
}

/// A transaction of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct TransactionFacts {
    /// `CURRENT_TRANSACTION_ID()`.
    pub id: i64,
    /// `user_transaction`, the name of BEGIN TRANSACTION, or the kind of its statement.
    pub name: String,
    /// When it began.
    pub began: DateTime,
    /// The descriptor that clients name it by.
    pub descriptor: u64,
    /// BEGIN TRANSACTION, as against a statement by itself.
    pub is_users: bool,
    /// Can it only be rolled back?
    pub is_doomed: bool,
}

/// A login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginFacts {
    /// Its name.
    pub name: String,
    /// Its principal id; 1 is sa.
    pub id: i32,
    /// Its security identifier; 0x01 is that of sa.
    pub sid: Vec<u8>,
    /// May it not connect?
    pub is_disabled: bool,
    /// Database that its sessions begin in.
    pub database: String,
    /// When it was made and changed.
    pub dates: Option<(DateTime, DateTime)>,
    /// Principal ids of the server roles that it is a member of; 3 is sysadmin.
    pub roles: Vec<i32>,
}

impl LoginFacts {
    /// The login that every server has.
    #[must_use]
    pub fn sa() -> LoginFacts {
        LoginFacts {
            name: "sa".to_owned(),
            id: 1,
            sid: vec![1],
            is_disabled: false,
            database: "master".to_owned(),
            dates: None,
            roles: vec![3],
        }
    }
}

impl Default for ServerFacts {
    fn default() -> ServerFacts {
        ServerFacts {
            name: "EXTENTDB".to_owned(),
            product_name: "SQL Server".to_owned(),
            started: DateTime::BASE,
            memory_bytes: 0,
            host_platform: "Linux".to_owned(),
            host_distribution: String::new(),
            host_release: String::new(),
            host_architecture: "X64".to_owned(),
        }
    }
}

impl Default for SessionFacts {
    fn default() -> SessionFacts {
        SessionFacts {
            login_time: DateTime::BASE,
            host_name: None,
            program_name: None,
            host_process_id: None,
            client_interface_name: None,
            login_name: "sa".to_owned(),
            original_login_name: "sa".to_owned(),
            is_running: false,
            context_info: None,
            cpu_time_ms: 0,
            last_request_start_time: DateTime::BASE,
            last_request_end_time: None,
            text_size: i32::MAX,
            language: "us_english".to_owned(),
            date_format: "mdy".to_owned(),
            date_first: 7,
            quoted_identifier: true,
            arithabort: false,
            ansi_null_dflt_on: true,
            ansi_defaults: false,
            ansi_warnings: true,
            ansi_padding: true,
            ansi_nulls: true,
            concat_null_yields_null: true,
            isolation_level: 2,
            lock_timeout: -1,
            deadlock_priority: 0,
            row_count: 0,
            prev_error: 0,
            open_transaction_count: 0,
        }
    }
}
