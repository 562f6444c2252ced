#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod base;
mod code;
mod columns;
mod content;
mod ddl_event;
mod error;
mod facts;
mod feature;
pub mod property;
mod read;
mod rows;
mod shape;
mod source;
mod value;
mod view;

pub use code::{is_permission, permission_code, permission_codes, permissions_of};
pub use content::Content;
pub use ddl_event::{DdlEvent, ddl_event};
pub use error::Error;
pub use facts::{
    ConnectionFacts, Facts, LoginFacts, NoFacts, RequestFacts, ServerFacts, SessionFacts,
    TransactionFacts,
};
pub use shape::{View, ViewColumn, ViewKind, ViewType, function, view, views};
pub use source::Source;
pub use view::digits;
