//! Table-valued parameters.
//!
//! ```text
//! F3, database B_VARCHAR (empty), schema B_VARCHAR, type B_VARCHAR
//! columns  count u16 (0xFFFF = no columns, NULL), columns without table names
//! [10      count u16, for each: ordinal u16, flags u8: 1 ascending, 2 descending, 4 unique]
//! [11      count u16, ordinals u16: the order in which the values of a row stand]
//! 00
//! rows     01, values; columns with flag 0x200 have none
//! 00
//! ```

use crate::column::{Column, ColumnSource};
use crate::error::{Cause, DecodeError, EncodeError};
use crate::protocol::Protocol;
use crate::reader::ByteReader;
use crate::row::{Absence, RowView};
use crate::text::{Utf16, write_b_varchar};
use crate::type_info::{Place, code};
use crate::value::write_value;
use crate::version::TdsVersion;

const NO_COLUMNS: u16 = 0xFFFF;
const ROW: u8 = 0x01;
const ORDER_UNIQUE: u8 = 0x10;
const COLUMN_ORDERING: u8 = 0x11;
const END: u8 = 0x00;
/// Most columns of a table type.
const COLUMNS_MAX: u16 = 1_024;

/// Name of a table type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TvpName<'a> {
    /// Empty: a table type cannot be that of another database.
    pub database: Utf16<'a>,
    /// Schema; may be empty.
    pub schema: Utf16<'a>,
    /// The type's own name, without schema.
    pub name: Utf16<'a>,
}

/// How the client has ordered the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TvpOrder {
    /// Column, from 1.
    pub ordinal: u16,
    /// 1 ascending, 2 descending, 4 unique.
    pub flags: u8,
}

/// A table-valued parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tvp<'a> {
    /// The table type that was declared for the parameter.
    pub name: TvpName<'a>,
    /// Its columns; `None`: the parameter is an empty table.
    pub columns: Option<Vec<Column>>,
    /// Order of the rows.
    pub order: Vec<TvpOrder>,
    /// Order of the values in a row, ordinals from 1; empty = that of the columns.
    pub column_ordering: Vec<u16>,
    /// Number of rows.
    pub row_count: usize,
    rows: &'a [u8],
    rows_at: usize,
}

impl<'a> Tvp<'a> {
    /// Reads the parameter after its type code, to the end of its rows, each of which is measured.
    pub(crate) fn read(
        reader: &mut ByteReader<'a>,
        protocol: &Protocol,
    ) -> Result<Tvp<'a>, DecodeError> {
        if !protocol.version().is_7_3_or_later() {
            let cause = Cause::NotInVersion { what: "table-valued parameters" };
            return Err(reader.fail_before(1, cause));
        }
        let mut tvp = Tvp {
            name: read_name(reader)?,
            columns: read_columns(reader, protocol)?,
            order: Vec::new(),
            column_ordering: Vec::new(),
            row_count: 0,
            rows: &[],
            rows_at: 0,
        };
        tvp.read_hints(reader)?;
        tvp.rows_at = reader.position();
        let all = reader.rest();
        tvp.pass_rows(reader)?;
        let len = reader.position() - tvp.rows_at;
        tvp.rows = all.get(..len).unwrap_or(&[]);
        Ok(tvp)
    }

    fn read_hints(&mut self, reader: &mut ByteReader<'a>) -> Result<(), DecodeError> {
        loop {
            let token = reader.u8()?;
            match token {
                END => return Ok(()),
                ORDER_UNIQUE => {
                    for _ in 0..reader.u16()? {
                        let ordinal = reader.u16()?;
                        self.order.push(TvpOrder { ordinal, flags: reader.u8()? });
                    }
                }
                COLUMN_ORDERING => {
                    for _ in 0..reader.u16()? {
                        self.column_ordering.push(reader.u16()?);
                    }
                }
                _ => return Err(reader.fail_before(1, Cause::Token { token })),
            }
        }
    }

    fn pass_rows(&mut self, reader: &mut ByteReader<'a>) -> Result<(), DecodeError> {
        let columns = self.columns.as_deref().unwrap_or(&[]);
        loop {
            match reader.u8()? {
                END => return Ok(()),
                ROW if self.columns.is_some() => {
                    RowView::read(columns, Absence::Defaults, reader)?;
                    self.row_count += 1;
                }
                token => return Err(reader.fail_before(1, Cause::Token { token })),
            }
        }
    }

    /// The rows, read again from the message.
    #[must_use]
    pub fn rows(&self) -> TvpRows<'_> {
        TvpRows {
            columns: self.columns.as_deref().unwrap_or(&[]),
            reader: ByteReader::part(self.rows, self.rows_at),
        }
    }
}

/// The rows of a table-valued parameter.
#[derive(Debug, Clone)]
pub struct TvpRows<'t> {
    columns: &'t [Column],
    reader: ByteReader<'t>,
}

impl<'t> Iterator for TvpRows<'t> {
    type Item = RowView<'t>;

    fn next(&mut self) -> Option<RowView<'t>> {
        // The rows were measured when the parameter was read.
        let has_row = self.reader.u8().ok()? == ROW;
        let row = has_row.then(|| RowView::read(self.columns, Absence::Defaults, &mut self.reader));
        row?.ok()
    }
}

fn read_name<'a>(reader: &mut ByteReader<'a>) -> Result<TvpName<'a>, DecodeError> {
    Ok(TvpName {
        database: reader.b_varchar()?,
        schema: reader.b_varchar()?,
        name: reader.b_varchar()?,
    })
}

fn read_columns(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
) -> Result<Option<Vec<Column>>, DecodeError> {
    let count = reader.u16()?;
    if count == NO_COLUMNS {
        return Ok(None);
    }
    if count == 0 || count > COLUMNS_MAX {
        let found = count.into();
        let cause = Cause::Limit { field: "columns", found, max: COLUMNS_MAX.into() };
        return Err(reader.fail_before(2, cause));
    }
    let read = |_| Column::read(reader, protocol, ColumnSource::BulkLoad);
    (0..count).map(read).collect::<Result<_, _>>().map(Some)
}

/// Writes a table-valued parameter row by row; [`RpcWriter::tvp`](super::RpcWriter::tvp) begins it.
#[derive(Debug)]
pub struct TvpWriter<'w> {
    columns: &'w [Column],
    out: &'w mut Vec<u8>,
}

impl<'w> TvpWriter<'w> {
    /// Begins a parameter: type and columns. The caller has written its name and flags.
    pub(crate) fn begin(
        schema: &str,
        name: &str,
        columns: &'w [Column],
        version: TdsVersion,
        out: &'w mut Vec<u8>,
    ) -> Result<TvpWriter<'w>, EncodeError> {
        if !version.is_7_3_or_later() {
            return Err(EncodeError::NotInVersion { what: "table-valued parameters" });
        }
        out.extend([code::TVP, 0]);
        write_b_varchar("schema of the type", schema, out)?;
        write_b_varchar("name of the type", name, out)?;
        let found = columns.len();
        let too_many = EncodeError::Count { field: "columns", found, max: COLUMNS_MAX.into() };
        let count = u16::try_from(found).ok().filter(|count| *count <= COLUMNS_MAX);
        // No columns are said as NULL.
        let count = count.ok_or(too_many)?;
        out.extend(if count == 0 { NO_COLUMNS } else { count }.to_le_bytes());
        for column in columns {
            column.write(version, ColumnSource::BulkLoad, out)?;
        }
        out.push(END);
        Ok(TvpWriter { columns, out })
    }

    /// Appends a row. Values of columns with
    /// [`ColumnFlags::DEFAULT`](crate::column::ColumnFlags::DEFAULT) are left out.
    pub fn row(&mut self, values: &[extentdb_types::Datum<'_>]) -> Result<(), EncodeError> {
        let expected = self.columns.len();
        let found = values.len();
        if expected != found {
            return Err(EncodeError::ColumnCount { expected, found });
        }
        self.out.push(ROW);
        for (column, value) in self.columns.iter().zip(values) {
            if !column.flags.has(crate::column::ColumnFlags::DEFAULT) {
                write_value(&column.type_info, Place::Column, value, self.out)?;
            }
        }
        Ok(())
    }

    /// Ends the parameter.
    pub fn end(self) {
        self.out.push(END);
    }
}
