//! Dynamic management views: what the server does now.

pub(super) mod connection;
pub(super) mod counter;
pub(super) mod lock;
pub(super) mod log;
pub(super) mod request;
pub(super) mod session;
pub(super) mod space;
pub(super) mod system;
pub(super) mod transaction;
pub(super) mod wait;
