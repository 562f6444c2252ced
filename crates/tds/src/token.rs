//! Tokens: what a server answers, one file for each.
//!
//! | token | name | file |
//! |---|---|---|
//! | 0x79 | RETURNSTATUS | `return_status` |
//! | 0x81 | COLMETADATA | `col_metadata` |
//! | 0xA4, 0xA5 | TABNAME, COLINFO | `tab_name`, `col_info` |
//! | 0xA9 | ORDER | `order` |
//! | 0xAA, 0xAB | ERROR, INFO | `message` |
//! | 0xAC | RETURNVALUE | `return_value` |
//! | 0xAD | LOGINACK | `login_ack` |
//! | 0xAE | FEATUREEXTACK | `feature_ext_ack` |
//! | 0xD1, 0xD2 | ROW, NBCROW | `row`, `nbc_row` |
//! | 0xE3 | ENVCHANGE | `env_change` |
//! | 0xE4 | SESSIONSTATE | `session_state` |
//! | 0xED | SSPI | `sspi` |
//! | 0xEE | FEDAUTHINFO | `fed_auth_info` |
//! | 0xFD, 0xFE, 0xFF | DONE, DONEPROC, DONEINPROC | `done` |
//!
//! Each file has the first byte as `TOKEN`, `read` from the byte after it, and `write`, which
//! appends the token with its first byte, or leaves the buffer as it was. [`TokenDecoder`] reads a
//! stream of them.

pub mod col_info;
pub mod col_metadata;
mod decoder;
pub mod done;
pub mod env_change;
pub mod feature_ext_ack;
pub mod fed_auth_info;
pub mod login_ack;
pub mod message;
pub mod nbc_row;
pub mod order;
pub mod return_status;
pub mod return_value;
pub mod row;
pub mod session_state;
mod sized;
pub mod sspi;
pub mod tab_name;

pub use col_info::ColumnInfo;
pub use decoder::{Token, TokenDecoder};
pub use done::{Done, DoneKind, DoneStatus, command};
pub use env_change::EnvChange;
pub use fed_auth_info::FedAuthInfo;
pub use login_ack::LoginAck;
pub use message::{MessageKind, ServerMessage};
pub use return_value::{ReturnValue, ReturnValueKind};
pub use session_state::SessionState;

#[cfg(test)]
mod tests;
