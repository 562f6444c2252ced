//! Calls of procedures by their number, and prepared statements.

use std::ops::ControlFlow;

use extentdb_tds::TypeInfo;
use extentdb_tds::packet::PacketKind;
use extentdb_tds::request::{ParameterFlags, ProcId, RpcFlags, RpcWriter};
use extentdb_tds::token::{MessageKind, ServerMessage};
use extentdb_tds::type_info::Nullability;
use extentdb_types::{Collation, Datum, NText, SqlType};

use crate::connection::{Connection, Event, Take};
use crate::error::Error;

/// Type of the texts of statements.
const TEXT: SqlType = SqlType::NVarChar {
    len: None,
    collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
};

/// Does a procedure give a parameter a value?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// The caller gives it.
    #[default]
    In,
    /// The procedure does, too.
    Out,
}

/// A parameter of a call.
#[derive(Clone, Debug)]
pub struct Parameter<'p> {
    /// With its `@`; empty: by its position.
    pub name: &'p str,
    /// Its type.
    pub ty: SqlType,
    /// Its value.
    pub value: Datum<'p>,
    /// Whether it comes back.
    pub direction: Direction,
}

impl<'p> Parameter<'p> {
    /// A value by its position.
    pub fn of(ty: SqlType, value: Datum<'p>) -> Parameter<'p> {
        Parameter { name: "", ty, value, direction: Direction::In }
    }

    /// A text by its position.
    fn text(text: &str) -> Parameter<'static> {
        Parameter::of(TEXT, Datum::NChar(NText::from_text(text)))
    }
}

/// A statement that a connection has prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(i32);

impl Connection {
    /// Calls a procedure that has a number.
    ///
    /// # Errors
    /// The connection is broken, or a value does not fit its type.
    pub fn call(
        &mut self,
        procedure: ProcId,
        parameters: &[Parameter<'_>],
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let protocol = self.protocol();
        let mut packets = self.packets();
        packets.begin(PacketKind::Rpc, 0);
        let mut rpc = RpcWriter::new(&self.headers(), protocol.version(), packets.body());
        rpc.call(procedure, RpcFlags(0));
        for parameter in parameters {
            let flags = match parameter.direction {
                Direction::In => ParameterFlags(0),
                Direction::Out => ParameterFlags::OUTPUT,
            };
            let type_info = TypeInfo::of(parameter.ty, Nullability::Nullable, &protocol);
            rpc.parameter(parameter.name, flags, &type_info, &parameter.value)?;
        }
        packets.end();
        self.send_packets(&mut packets)?;
        self.answer(take)
    }

    /// Prepares a statement with parameters as `declarations` has them.
    ///
    /// # Errors
    /// The connection is broken, or the server refuses the statement.
    pub fn prepare(&mut self, declarations: &str, text: &str) -> Result<Handle, Error> {
        let handle = Parameter {
            direction: Direction::Out,
            ..Parameter::of(SqlType::Int, Datum::Null)
        };
        let parameters = [handle, Parameter::text(declarations), Parameter::text(text)];
        let mut refused = None;
        let mut found = None;
        self.call(ProcId::Prepare, &parameters, &mut |event| {
            match event {
                Event::Message(message) => keep_first_error(message, &mut refused),
                Event::Value(value) => found = handle_in(&value.value),
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        match (refused, found) {
            (Some(message), _) => Err(Error::Refused(message)),
            (None, Some(handle)) => Ok(Handle(handle)),
            (None, None) => Err(Error::NoHandle),
        }
    }

    /// Executes a prepared statement.
    ///
    /// # Errors
    /// The connection is broken, or a value does not fit its type.
    pub fn execute(
        &mut self,
        statement: Handle,
        parameters: &[Parameter<'_>],
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        let mut all = Vec::with_capacity(parameters.len() + 1);
        all.push(Parameter::of(SqlType::Int, Datum::Int(statement.0)));
        all.extend_from_slice(parameters);
        self.call(ProcId::Execute, &all, take)
    }
}

fn handle_in(value: &Datum<'_>) -> Option<i32> {
    match value {
        Datum::Int(handle) => Some(*handle),
        _ => None,
    }
}

/// The first error of an answer says what is wrong.
pub(crate) fn keep_first_error(message: &ServerMessage, first: &mut Option<Box<ServerMessage>>) {
    if message.kind == MessageKind::Error {
        first.get_or_insert_with(|| Box::new(message.clone()));
    }
}
