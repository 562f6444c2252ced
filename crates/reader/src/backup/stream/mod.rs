//! One file of a backup as a stream of blocks, readable at any offset by any thread.
//!
//! A plain file is its stream. Of a compressed file, the records that hold the wanted bytes are
//! expanded, each alone.

pub(crate) mod pieces;
pub(crate) mod records;
pub(crate) mod window;

use std::path::PathBuf;

use extentdb_base::sync::Arc;
use extentdb_format::mtf::checksum::rotate_xor;
use extentdb_format::mtf::container::{
    ContainerForm, ContainerVersion, RECORD_BYTES_MAX, RecordHeader, ZSTANDARD_MAGIC,
};
use extentdb_format::mtf::{BlockHeader, BlockKind, xpress::Decoder};
use extentdb_io::ReadAt;

use crate::backup::error::Error;
use crate::backup::finding::Findings;
use crate::backup::read_error::{ReadError, Undecoded};
use crate::backup::stream::pieces::{PieceKind, StreamPiece, StreamPieces};
use crate::backup::stream::records::Records;
use crate::backup::stream::window::Window;

/// Bytes of a record that are read to expand its front: header, code table and some bits after it.
const FRONT_BYTES: usize = 28 + 256 + 256;

/// A file of a backup.
pub(crate) struct BlockStream {
    source: Arc<dyn ReadAt>,
    path: Arc<PathBuf>,
    /// Tells the streams of a media set apart.
    number: usize,
    form: StreamFormat,
}

enum StreamFormat {
    Plain,
    Packed { pieces: StreamPieces, seek_indexes: usize, version: ContainerVersion },
}

/// Buffers of a thread for expanding records.
#[derive(Default)]
pub(crate) struct Scratch {
    decoder: Decoder,
    record: Vec<u8>,
    /// The last piece that was expanded for a part of it: stream, piece, bytes.
    held: Option<(usize, usize)>,
    output: Vec<u8>,
}

impl BlockStream {
    /// Opens a file; walks the records of a compressed one.
    pub(crate) fn open(
        source: Arc<dyn ReadAt>,
        number: usize,
        findings: &mut Findings,
    ) -> Result<Self, Error> {
        let path = Arc::new(source.path().to_path_buf());
        let mut front = [0; 16];
        let read = source.read_at(0, &mut front)?;
        let front = front.get(..read).unwrap_or_default();
        let form = match ContainerForm::of(front) {
            ContainerForm::Known(version) => {
                let Records { pieces, seek_indexes } =
                    records::walk(&source, version, &path, findings)?;
                StreamFormat::Packed { pieces, seek_indexes, version }
            }
            ContainerForm::Unknown(version) => {
                return Err(Error::UnknownContainer { path: path.to_path_buf(), version });
            }
            ContainerForm::None if BlockHeader::parse(front).kind == BlockKind::Tape.tag().0 => {
                StreamFormat::Plain
            }
            ContainerForm::None => {
                return Err(Error::NotABackup { path: path.to_path_buf(), front: front.to_vec() });
            }
        };
        Ok(BlockStream { source, path, number, form })
    }

    pub(crate) fn path(&self) -> &Arc<PathBuf> {
        &self.path
    }

    /// True for a compressed file.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.form, StreamFormat::Packed { .. })
    }

    /// Seek indexes of a compressed file; `None` for a plain one.
    pub(crate) fn seek_indexes(&self) -> Option<usize> {
        match &self.form {
            StreamFormat::Plain => None,
            StreamFormat::Packed { seek_indexes, .. } => Some(*seek_indexes),
        }
    }

    /// Bytes of the stream.
    pub(crate) fn len(&self) -> u64 {
        match &self.form {
            StreamFormat::Plain => self.source.len(),
            StreamFormat::Packed { pieces, .. } => pieces.stream_bytes(),
        }
    }

    /// Where in the file a byte of the stream lies, or the record that holds it.
    pub(crate) fn file_offset(&self, offset: u64) -> u64 {
        match &self.form {
            StreamFormat::Plain => offset,
            StreamFormat::Packed { pieces, .. } => {
                pieces.find(offset).map_or(self.source.len(), |(_, piece)| piece.file_offset)
            }
        }
    }

    /// The end of the hole at `offset`, if the file is plain and has a hole there.
    pub(crate) fn hole_end(&self, offset: u64) -> Option<u64> {
        match &self.form {
            StreamFormat::Plain => {
                let next =
                    self.source.next_data(offset).map_or(self.source.len(), |data| data.start);
                (next > offset).then_some(next)
            }
            StreamFormat::Packed { .. } => None,
        }
    }

    /// The end of the piece that holds a byte: reading continues there when the piece is damaged.
    pub(crate) fn piece_end(&self, offset: u64) -> u64 {
        match &self.form {
            StreamFormat::Plain => offset,
            StreamFormat::Packed { pieces, .. } => {
                pieces.find(offset).map_or(offset, |(_, piece)| piece.end())
            }
        }
    }

    /// Fills `buf` from `offset` of the stream.
    pub(crate) fn read(
        &self,
        offset: u64,
        buf: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), ReadError> {
        let StreamFormat::Packed { pieces, .. } = &self.form else {
            return Ok(self.source.read_exact_at(offset, buf)?);
        };
        let mut at = offset;
        let mut rest = buf;
        while !rest.is_empty() {
            let (number, piece) =
                pieces.find(at).ok_or_else(|| self.end_of_stream(at, rest.len()))?;
            let skip = (at - piece.start) as usize;
            let (now, later) = rest.split_at_mut((piece.bytes - skip).min(rest.len()));
            at += now.len() as u64;
            self.read_piece(number, &piece, skip, now, scratch)?;
            rest = later;
        }
        Ok(())
    }

    /// Fills `front` from `offset`, expanding as little as possible and verifying nothing. Good for
    /// page headers only.
    pub(crate) fn read_front(
        &self,
        offset: u64,
        front: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), ReadError> {
        if let StreamFormat::Packed { pieces, version, .. } = &self.form
            && let Some((number, piece)) = pieces.find(offset)
            && piece.kind == PieceKind::Packed
            && piece.start == offset
            && front.len() <= piece.bytes
        {
            let record = self.record(pieces, number, &piece, FRONT_BYTES, &mut scratch.record)?;
            let payload = record.get(version.payload_at()..).unwrap_or_default();
            let size = usize::from(RecordHeader::parse(record, *version).size);
            let payload = payload.get(..size).unwrap_or(payload);
            if scratch.decoder.decode_front(payload, front, piece.bytes).is_ok() {
                return Ok(());
            }
        }
        self.read(offset, front, scratch)
    }

    /// The error for records that another algorithm has packed. `offset`: the first of them, in the
    /// file.
    pub(crate) fn other_algorithm(&self, offset: u64) -> Error {
        let version = match &self.form {
            StreamFormat::Packed { version, .. } => *version,
            StreamFormat::Plain => ContainerVersion::V2,
        };
        let mut magic = [0; 4];
        let is_zstandard =
            self.source.read_exact_at(offset + version.payload_at() as u64, &mut magic).is_ok()
                && magic == ZSTANDARD_MAGIC;
        let algorithm = if is_zstandard {
            "Zstandard data"
        } else {
            "packed by another algorithm, or encrypted"
        };
        Error::OtherAlgorithm { path: self.path.to_path_buf(), offset, algorithm }
    }

    fn end_of_stream(&self, offset: u64, bytes: usize) -> ReadError {
        ReadError::Io(extentdb_io::Error::EndOfFile {
            path: self.path.to_path_buf(),
            offset,
            bytes,
            read: 0,
        })
    }

    fn damaged(&self, piece: &StreamPiece, what: Undecoded) -> ReadError {
        ReadError::Damaged {
            path: self.path.to_path_buf(),
            offset: piece.file_offset,
            what,
        }
    }

    /// Fills `buf` with a part of a piece.
    fn read_piece(
        &self,
        number: usize,
        piece: &StreamPiece,
        skip: usize,
        buf: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), ReadError> {
        let StreamFormat::Packed { pieces, version, .. } = &self.form else { return Ok(()) };
        let head = match piece.kind {
            PieceKind::Lost => return Err(self.damaged(piece, Undecoded::Lost)),
            PieceKind::Clear => 0,
            PieceKind::Stored => version.payload_at(),
            PieceKind::Packed if skip == 0 && buf.len() == piece.bytes => {
                let record =
                    self.record(pieces, number, piece, RECORD_BYTES_MAX, &mut scratch.record)?;
                return self.expand(piece, record, *version, buf, &mut scratch.decoder);
            }
            PieceKind::Packed => return self.read_held(number, piece, skip, buf, scratch),
        };
        Ok(self.source.read_exact_at(piece.file_offset + (head + skip) as u64, buf)?)
    }

    /// Fills `buf` with a part of a record, which stays expanded for the next read.
    fn read_held(
        &self,
        number: usize,
        piece: &StreamPiece,
        skip: usize,
        buf: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), ReadError> {
        let StreamFormat::Packed { pieces, version, .. } = &self.form else { return Ok(()) };
        if scratch.held != Some((self.number, number)) {
            scratch.held = None;
            scratch.output.resize(piece.bytes, 0);
            let record =
                self.record(pieces, number, piece, RECORD_BYTES_MAX, &mut scratch.record)?;
            self.expand(piece, record, *version, &mut scratch.output, &mut scratch.decoder)?;
            scratch.held = Some((self.number, number));
        }
        if let Some(part) = scratch.output.get(skip..skip + buf.len()) {
            buf.copy_from_slice(part);
        }
        Ok(())
    }

    /// Reads the record of a piece, at most `bytes_max` bytes of it, and possibly some bytes after
    /// its end.
    fn record<'s>(
        &self,
        pieces: &StreamPieces,
        number: usize,
        piece: &StreamPiece,
        bytes_max: usize,
        record: &'s mut Vec<u8>,
    ) -> Result<&'s [u8], ReadError> {
        let next = pieces.next_file_offset(number).unwrap_or(self.source.len());
        let bytes = next.saturating_sub(piece.file_offset).min(bytes_max as u64) as usize;
        if record.len() < bytes {
            record.resize(RECORD_BYTES_MAX, 0);
        }
        let record = record.get_mut(..bytes).unwrap_or_default();
        self.source.read_exact_at(piece.file_offset, record)?;
        Ok(record)
    }

    /// Verifies and expands a record to exactly fill `out`.
    fn expand(
        &self,
        piece: &StreamPiece,
        record: &[u8],
        version: ContainerVersion,
        out: &mut [u8],
        decoder: &mut Decoder,
    ) -> Result<(), ReadError> {
        let header = RecordHeader::parse(record, version);
        let payload =
            record.get(version.payload_at()..header.record_bytes(version)).unwrap_or_default();
        let stored = header.checksum;
        let computed = rotate_xor(payload);
        if stored != computed {
            return Err(self.damaged(piece, Undecoded::Checksum { stored, computed }));
        }
        decoder.decode(payload, out).map_err(|damage| self.damaged(piece, damage.into()))
    }
}

/// Reads a stream more or less front to back, a few bytes at a time.
pub(crate) struct StreamReader<'a> {
    stream: &'a BlockStream,
    window: Window,
    scratch: Scratch,
}

impl<'a> StreamReader<'a> {
    pub(crate) fn new(stream: &'a BlockStream) -> Self {
        StreamReader {
            stream,
            window: Window::new(stream.source.clone()),
            scratch: Scratch::default(),
        }
    }

    pub(crate) fn stream(&self) -> &'a BlockStream {
        self.stream
    }

    /// Up to `bytes` bytes from `offset`; fewer only at the end of the stream.
    pub(crate) fn bytes(&mut self, offset: u64, bytes: usize) -> Result<Vec<u8>, ReadError> {
        let left = self.stream.len().saturating_sub(offset);
        let bytes = bytes.min(usize::try_from(left).unwrap_or(usize::MAX));
        if !self.stream.is_packed() && bytes <= crate::backup::stream::window::WINDOW_BYTES {
            let seen = self.window.at(offset, bytes)?;
            return Ok(seen.get(..bytes).unwrap_or(seen).to_vec());
        }
        let mut buf = vec![0; bytes];
        self.stream.read(offset, &mut buf, &mut self.scratch)?;
        Ok(buf)
    }
}
