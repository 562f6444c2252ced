//! Long values through the library: streams into rows, and streams out of them.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{Address, ColumnSpec, TableSpec, Value};
use extentdb_io::{AlignedBuf, Disk, Durability, DurabilityMode, Fill, RealDisk};
use extentdb_types::{Datum, SqlType};

use super::{DatabaseForm, Lab};
use crate::report::timed;
use crate::workload::LobWork;

/// Bytes of a call: of a stream, and of the device.
const CALL_BYTES: usize = 1 << 20;

/// A database, and a value that is stored many times.
pub struct LobLab {
    lab: Lab,
    work: LobWork,
    value: Vec<u8>,
    tables: u32,
}

impl LobLab {
    /// Everything fits into memory and into a log that does not grow.
    ///
    /// # Errors
    /// The database cannot be created.
    pub fn create(parent: &Path, work: LobWork) -> Result<LobLab> {
        let bytes = 2 * work.all_bytes() + (64 << 20);
        let form = DatabaseForm {
            frames: (bytes / 8192) as usize,
            log_bytes: bytes + (64 << 20),
            ..DatabaseForm::of([bytes])
        };
        let mut rng = SplitMix64::new(1);
        let words = (0..work.bytes / 8).flat_map(|_| rng.next_u64().to_le_bytes());
        let value = words.collect();
        Ok(LobLab { lab: Lab::create(parent, &form)?, work, value, tables: 0 })
    }

    /// Inserts all values into a new table, each in its own transaction, and reads them again:
    /// the time of both.
    ///
    /// # Errors
    /// A statement failed, or a value came back shorter.
    pub fn run(&mut self) -> Result<(Duration, Duration)> {
        self.tables += 1;
        let columns = vec![
            ColumnSpec::new("id", SqlType::Int).not_null(),
            ColumnSpec::new("v", SqlType::VarBinary { len: None }).not_null(),
        ];
        let mut session = self.lab.db.session();
        let name = format!("lobs_{}", self.tables);
        let table = session.create_table(&TableSpec::heap(&name, columns))?;
        let (write, rows) = timed(|| -> Result<Vec<Address>> {
            let mut rows = Vec::new();
            for id in 0..self.work.values {
                let mut stream = self.value.as_slice();
                let values = vec![Value::Datum(Datum::Int(id as i32)), Value::Stream(&mut stream)];
                rows.push(session.insert_values(&table, values)?);
            }
            Ok(rows)
        });
        let rows = rows?;
        let mut part = vec![0; CALL_BYTES];
        let (read, bytes) = timed(|| -> Result<u64> {
            let mut bytes = 0;
            for row in &rows {
                bytes += session.read_lob(&table, row, "v", |reader| {
                    let Some(mut reader) = reader else { return Ok(0) };
                    let mut bytes = 0;
                    loop {
                        match reader.read(&mut part)? {
                            0 => return Ok(bytes),
                            count => bytes += black_box(&part[..count]).len() as u64,
                        }
                    }
                })?;
            }
            Ok(bytes)
        });
        ensure!(bytes? == self.work.all_bytes(), "values are shorter than they were");
        self.lab.db.checkpoint()?;
        session.drop_table(&table)?;
        self.lab.db.checkpoint()?;
        Ok((write, read))
    }
}

/// The device with the same bytes: past the page cache in calls of 1 MiB, a flush after each
/// value; then the same read back.
///
/// # Errors
/// The device refuses.
pub fn device_streams(parent: &Path, work: LobWork) -> Result<(Duration, Duration)> {
    let folder = tempfile::Builder::new().prefix("extentdb-device-").tempdir_in(parent)?;
    let disk = RealDisk::new(DurabilityMode::Fua);
    let path = folder.path().join("device");
    let file = disk.create(&path)?;
    file.extend(work.all_bytes(), Fill::Zeros)?;
    file.sync()?;
    // Opened again: from here on it has its full length, and no hole.
    drop(file);
    let file = disk.open(&path)?;
    let mut part = AlignedBuf::zeroed(CALL_BYTES);
    let calls = work.bytes / CALL_BYTES as u64;
    let (write, done) = timed(|| -> Result<()> {
        for at in 0..u64::from(work.values) * calls {
            let part = [&part[..]];
            file.write_at(at * CALL_BYTES as u64, &part, Durability::Deferred)?;
            if (at + 1) % calls == 0 {
                file.sync()?;
            }
        }
        Ok(())
    });
    done?;
    let (read, done) = timed(|| -> Result<()> {
        for at in 0..u64::from(work.values) * calls {
            file.read_at(at * CALL_BYTES as u64, &mut part)?;
        }
        Ok(())
    });
    done?;
    Ok((write, read))
}
