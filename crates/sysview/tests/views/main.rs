//! Views over databases in memory.

mod catalog;
mod dynamic;
mod every_view;
mod information_schema;
mod old;
mod support;
