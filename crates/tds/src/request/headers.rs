//! ALL_HEADERS: what precedes the body of a request since 7.2.
//!
//! ```text
//! total length u32 (itself included), then headers: length u32 (itself included), type u16, data
//!
//! 1 query notification
//! 2 transaction    descriptor u64, outstanding requests u32
//! 3 trace activity GUID 16, sequence u32
//! ```

use crate::error::DecodeError;
use crate::reader::ByteReader;
use crate::version::TdsVersion;

const TRANSACTION: u16 = 2;
const TRACE_ACTIVITY: u16 = 3;
const LENGTH_BYTES: usize = 4;

/// The transaction that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct TransactionHeader {
    /// Descriptor of the last ENVCHANGE; 0 = none.
    pub descriptor: u64,
    /// Requests of the connection that are not answered, with this one.
    pub outstanding: u32,
}

/// Names the activity of the client in traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceActivity {
    /// Id of the activity.
    pub id: [u8; 16],
    /// Position in it.
    pub sequence: u32,
}

/// The headers that have a meaning here; others are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Headers {
    /// Transaction; `None` when the client does not say, as in 7.1.
    pub transaction: Option<TransactionHeader>,
    /// Activity.
    pub trace: Option<TraceActivity>,
}

impl Headers {
    /// The headers of a client that is in a transaction, or with 0 in none.
    #[must_use]
    pub fn of_transaction(descriptor: u64) -> Headers {
        let transaction = Some(TransactionHeader { descriptor, outstanding: 1 });
        Headers { transaction, trace: None }
    }

    pub(crate) fn read(
        reader: &mut ByteReader<'_>,
        version: TdsVersion,
    ) -> Result<Headers, DecodeError> {
        let mut headers = Headers::default();
        if !version.is_7_2_or_later() {
            return Ok(headers);
        }
        let mut all = inclusive(reader)?;
        while !all.is_empty() {
            let mut header = inclusive(&mut all)?;
            match header.u16()? {
                TRANSACTION => {
                    headers.transaction = Some(TransactionHeader {
                        descriptor: header.u64()?,
                        outstanding: header.u32()?,
                    });
                }
                TRACE_ACTIVITY => {
                    let id = header.array()?;
                    headers.trace = Some(TraceActivity { id, sequence: header.u32()? });
                }
                _ => {}
            }
        }
        Ok(headers)
    }

    /// Appends the headers; nothing in 7.1.
    pub(crate) fn write(&self, version: TdsVersion, out: &mut Vec<u8>) {
        if !version.is_7_2_or_later() {
            return;
        }
        let transaction_bytes = self.transaction.map_or(0, |_| 18u32);
        let trace_bytes = self.trace.map_or(0, |_| 26u32);
        out.extend((4 + transaction_bytes + trace_bytes).to_le_bytes());
        if let Some(transaction) = self.transaction {
            out.extend(transaction_bytes.to_le_bytes());
            out.extend(TRANSACTION.to_le_bytes());
            out.extend(transaction.descriptor.to_le_bytes());
            out.extend(transaction.outstanding.to_le_bytes());
        }
        if let Some(trace) = self.trace {
            out.extend(trace_bytes.to_le_bytes());
            out.extend(TRACE_ACTIVITY.to_le_bytes());
            out.extend(trace.id);
            out.extend(trace.sequence.to_le_bytes());
        }
    }
}

/// A structure whose length of four bytes counts itself.
fn inclusive<'a>(reader: &mut ByteReader<'a>) -> Result<ByteReader<'a>, DecodeError> {
    let length = reader.length_u32()?;
    let Some(rest) = length.checked_sub(LENGTH_BYTES) else {
        let cause = crate::Cause::Value { field: "header length", found: length as u64 };
        return Err(reader.fail_before(LENGTH_BYTES, cause));
    };
    reader.closed(rest)
}
