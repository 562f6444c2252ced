//! The VLFs of a log file as `DBCC LOGINFO` lists them.
//!
//! The status is not stored: a VLF is active (2) when its sequence number is at least that of the
//! VLF that holds the minimum LSN, else reusable (0). The column names are public documentation;
//! `RecoveryUnitId` exists from 2012 on.

use extentdb_base::{FileId, Lsn};

use super::vlf::VlfMap;

/// A row of `DBCC LOGINFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogInfoRow {
    /// Always 0 outside cloud services.
    pub recovery_unit_id: u32,
    /// File of the database.
    pub file_id: FileId,
    /// Bytes of the VLF.
    pub file_size: u64,
    /// Its offset in the file.
    pub start_offset: u64,
    /// Sequence number; 0 when never used.
    pub sequence: u32,
    /// 0 reusable, 2 active.
    pub status: u8,
    /// 0, 64 or 128.
    pub parity: u8,
    /// LSN current when the file grew by this VLF; zero for VLFs made with the file.
    pub create_lsn: Lsn,
}

impl LogInfoRow {
    /// Names of the columns.
    pub const COLUMNS: [&'static str; 8] = [
        "RecoveryUnitId",
        "FileId",
        "FileSize",
        "StartOffset",
        "FSeqNo",
        "Status",
        "Parity",
        "CreateLSN",
    ];

    /// The columns as text; the LSN as one decimal number, as DBCC prints it.
    pub fn to_text(&self) -> [String; 8] {
        [
            self.recovery_unit_id.to_string(),
            self.file_id.to_string(),
            self.file_size.to_string(),
            self.start_offset.to_string(),
            self.sequence.to_string(),
            self.status.to_string(),
            self.parity.to_string(),
            self.create_lsn.to_decimal().to_string(),
        ]
    }
}

/// The rows of a log file in file order. Without a minimum LSN only the newest VLF is known to be
/// active.
pub fn rows(map: &VlfMap, file_id: FileId, minimum: Option<Lsn>) -> Vec<LogInfoRow> {
    let newest = map.vlfs().iter().map(|vlf| vlf.header.sequence).max().unwrap_or(0);
    let oldest_active = minimum.map_or(newest, |lsn| lsn.vlf).max(1);
    let row = |vlf: &super::vlf::Vlf| LogInfoRow {
        recovery_unit_id: 0,
        file_id,
        file_size: vlf.header.size,
        start_offset: vlf.offset,
        sequence: vlf.header.sequence,
        status: if vlf.header.sequence >= oldest_active { 2 } else { 0 },
        parity: vlf.header.parity,
        create_lsn: vlf.header.create_lsn,
    };
    map.vlfs().iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::vlf::VlfHeader;

    #[test]
    fn a_vlf_is_active_from_the_minimum_lsn_on() {
        let header = |offset: u64, sequence| VlfHeader {
            signature: VlfHeader::SIGNATURE,
            parity: if sequence == 0 { 0 } else { 0x40 },
            format: 4,
            sequence,
            size: 0x3e000,
            offset,
            create_lsn: Lsn::new(22, 150, 542),
            ..VlfHeader::default()
        };
        let headers =
            [header(0x2000, 7), header(0x40000, 5), header(0x7e000, 6), header(0xbc000, 0)];
        let map = VlfMap::from_descriptions(headers, 0xfa000);
        assert_eq!(map.faults(), []);
        let statuses = |minimum| -> Vec<u8> {
            rows(&map, FileId(2), minimum).iter().map(|row| row.status).collect()
        };
        assert_eq!(statuses(Some(Lsn::new(6, 16, 1))), [2, 0, 2, 0]);
        assert_eq!(statuses(None), [2, 0, 0, 0]);
        assert_eq!(
            rows(&map, FileId(2), None)[0].to_text(),
            ["0", "2", "253952", "8192", "7", "2", "64", "22000000015000542"]
        );
    }
}
