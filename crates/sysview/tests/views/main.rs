//! Views over databases in memory.

mod attached;
mod catalog;
mod dynamic;
mod every_view;
mod information_schema;
mod old;
mod support;
