//! SESSIONSTATE: what a client needs to recover the session; only after session recovery was
//! acknowledged.
//!
//! ```text
//! length u32, sequence u32, status u8 (1 = recoverable),
//! for each state: id u8, length u8 (0xFF: u32 follows), data
//! ```

use super::sized;
use crate::error::DecodeError;
use crate::reader::ByteReader;

/// First byte.
pub const TOKEN: u8 = 0xE4;

const LONG: u8 = 0xFF;

/// A state of the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Which one.
    pub id: u8,
    /// As the client sends it back to recover the session.
    pub data: Vec<u8>,
}

/// The token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionState {
    /// Counts up.
    pub sequence: u32,
    /// Can the session be recovered?
    pub is_recoverable: bool,
    /// States that have changed.
    pub states: Vec<State>,
}

impl SessionState {
    pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<SessionState, DecodeError> {
        let mut reader = reader.sized_u32()?;
        let mut state = SessionState {
            sequence: reader.u32()?,
            is_recoverable: reader.u8()? & 1 != 0,
            states: Vec::new(),
        };
        while !reader.is_empty() {
            let id = reader.u8()?;
            let short = reader.u8()?;
            let length = if short == LONG { reader.length_u32()? } else { short.into() };
            state.states.push(State { id, data: reader.take(length)?.to_vec() });
        }
        Ok(state)
    }

    /// Appends the token.
    pub fn write(&self, out: &mut Vec<u8>) {
        sized::write_u32(TOKEN, out, |out| {
            out.extend(self.sequence.to_le_bytes());
            out.push(u8::from(self.is_recoverable));
            for State { id, data } in &self.states {
                out.push(*id);
                match u8::try_from(data.len()) {
                    Ok(short) if short != LONG => out.push(short),
                    _ => {
                        out.push(LONG);
                        out.extend((data.len() as u32).to_le_bytes());
                    }
                }
                out.extend_from_slice(data);
            }
        });
    }
}
