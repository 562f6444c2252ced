//! Writes a log file: records into blocks of format 4, in one VLF.

use extentdb_base::{Lsn, PageId, XactId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderPage, write_file_header};
use extentdb_format::log::block::{BlockHeader, BuildError};
use extentdb_format::log::vlf::{FIRST_VLF_OFFSET, VLF_HEADER_AREA};
use extentdb_format::log::{
    BlockBuilder, BlockFormat, Context, Op, Parity, Payload, RecordHeader, VlfHeader,
};
use extentdb_format::page::checksum::seal;

/// Blocks are positioned in sectors of this size.
const SECTOR: usize = 512;
/// Blocks are closed when they are about this long, so that a log has several.
const BLOCK_BYTES: usize = 4096;
/// Sizes of VLFs are multiples of this.
const VLF_GRAIN: u64 = 0x1_0000;

/// A log file that is being written.
pub struct LogWriter {
    sequence: u32,
    /// Blocks that are full, one after the other, as they are written.
    blocks: Vec<u8>,
    block: BlockBuilder,
    previous_size: u16,
}

impl LogWriter {
    /// An empty log whose VLF has this sequence number.
    pub fn new(sequence: u32) -> Self {
        LogWriter {
            sequence,
            blocks: Vec::new(),
            block: BlockBuilder::new(BlockFormat::V4),
            previous_size: 0,
        }
    }

    fn block_lsn(&self) -> Lsn {
        let position = VLF_HEADER_AREA as usize + self.blocks.len();
        Lsn::new(self.sequence, (position / SECTOR) as u32, 1)
    }

    /// LSN that the next record will have, if it fits in the block.
    pub fn next_lsn(&self) -> Lsn {
        Lsn { slot: self.block.record_count() + 1, ..self.block_lsn() }
    }

    /// Appends a record. `payload` receives the LSN of the record, which a later record must refer
    /// to.
    ///
    /// # Errors
    /// The payload does not fit in a block.
    pub fn push(
        &mut self,
        op: Op,
        context: Context,
        xact: XactId,
        previous: Lsn,
        payload: &Payload<'_>,
    ) -> Result<Lsn, BuildError> {
        let fixed_len = op.fixed_len(BlockFormat::V4).unwrap_or(payload.least_fixed_len() as u16);
        let header = RecordHeader {
            fixed_len,
            op,
            context,
            xact,
            previous,
            ..RecordHeader::default()
        };
        if self.block.used() > BLOCK_BYTES {
            self.flush()?;
        }
        let lsn = self.next_lsn();
        match self.block.push(&header, payload) {
            Ok(_) => Ok(lsn),
            Err(BuildError::Full { .. }) => {
                self.flush()?;
                let lsn = self.next_lsn();
                self.block.push(&header, payload).map(|_| lsn)
            }
            Err(error) => Err(error),
        }
    }

    /// Closes the block in hand.
    ///
    /// # Errors
    /// None that a block made here can have.
    pub fn flush(&mut self) -> Result<(), BuildError> {
        if self.block.record_count() == 0 {
            return Ok(());
        }
        let header = BlockHeader {
            flags: BlockHeader::FLAG_ALWAYS | BlockHeader::FLAG_CHECKSUM,
            previous_size: self.previous_size,
            first_lsn: self.block_lsn(),
            ..BlockHeader::default()
        };
        let block = std::mem::replace(&mut self.block, BlockBuilder::new(BlockFormat::V4));
        let bytes = block.finish(&header, Parity::Odd)?;
        self.previous_size = bytes.len() as u16;
        self.blocks.extend(bytes);
        Ok(())
    }

    /// The log file. `header` becomes its first page.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn finish(mut self, header: &FileHeader) -> Result<Vec<u8>, BuildError> {
        self.flush()?;
        let size = (VLF_HEADER_AREA + self.blocks.len() as u64 + 1).next_multiple_of(VLF_GRAIN);
        let vlf = VlfHeader {
            signature: VlfHeader::SIGNATURE,
            parity: 0x40,
            format: 4,
            sequence: self.sequence,
            uses: 1,
            size,
            offset: FIRST_VLF_OFFSET,
            ..VlfHeader::default()
        };
        let mut page = PageBuf::zeroed();
        let id = PageId::new(2, 0);
        let offset = 96;
        let content = FileHeaderPage { id, header, offset, boot: None };
        write_file_header(&mut page, &content, &PageStamp::default());
        seal(&mut page);
        let mut file = page.to_vec();
        file.extend(vlf.to_area(0));
        file.extend(&self.blocks);
        file.resize((FIRST_VLF_OFFSET + size) as usize, 0);
        Ok(file)
    }
}
