//! What a CATCH block asks for. Outside of one all of it is NULL.

use extentdb_types::Datum;

use super::{Definition, Kind};
use crate::frame::Values;
use crate::message::Message;
use crate::variant::{nchar, nchar_or_null};

fn caught(at: Values<'_>, value: impl FnOnce(&Message) -> Datum<'static>) -> Datum<'static> {
    at.frame.error_at_hand().map_or(Datum::Null, |message| value(message))
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("error_number", Kind::Int, |at, _| {
        Ok(caught(at, |message| Datum::Int(message.number)))
    })
    .nullable(),
    Definition::new("error_severity", Kind::Int, |at, _| {
        Ok(caught(at, |message| Datum::Int(message.severity.into())))
    })
    .nullable(),
    Definition::new("error_state", Kind::Int, |at, _| {
        Ok(caught(at, |message| Datum::Int(message.state.into())))
    })
    .nullable(),
    Definition::new("error_line", Kind::Int, |at, _| {
        Ok(caught(at, |message| Datum::Int(i32::try_from(message.line).unwrap_or(i32::MAX))))
    })
    .nullable(),
    Definition::new("error_procedure", Kind::Name, |at, _| {
        Ok(caught(at, |message| nchar_or_null(&message.procedure)))
    })
    .nullable(),
    Definition::new("error_message", Kind::Text(4_000), |at, _| {
        Ok(caught(at, |message| nchar(&message.text)))
    })
    .nullable(),
];
