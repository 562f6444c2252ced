//! Builds backups, plain and compressed, from the writers of `format::mtf`.
//!
//! The layout is that of real files: every block, stream, padding and filemark, at the offsets SQL
//! Server puts them.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::{EXTENT_BYTES, PAGE_BYTES};
use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBytes;
use extentdb_format::mtf::config::FileKind;
use extentdb_format::mtf::container::{self, ContainerVersion, IndexEntry, RecordHeader};
use extentdb_format::mtf::section::ConfigurationSection;
use extentdb_format::mtf::stream::{
    self, APAD_ATTRIBUTE, ENCRYPTED, STREAM_HEADER_BYTES, VARIABLE, VARIABLE_END,
};
use extentdb_format::mtf::xpress::encode::encode;
use extentdb_format::mtf::{
    BackupKind, BlockKind, Configuration, DataSection, EndOfSet, FileInfo, FilegroupInfo, Filemark,
    LogSection, MtfDate, Raid, SetInfo, SetMap, SetMapEntry, StartOfSet, StreamHeader, StreamKind,
    Tape, VlfDescription, Volume, layout::DiskGuid, media::AFTER_SEEK_INDEX,
};
use extentdb_format::page::{PageHeader, checksum};
use extentdb_types::Guid;

/// What a log section carries.
#[derive(Clone)]
pub(super) struct LogSpec {
    pub(super) sequence: u32,
    pub(super) vlf_offset: u64,
    pub(super) vlf_bytes: u64,
    /// Offset in the log file of the first byte carried.
    pub(super) first: u64,
    /// Empty: no log of this VLF is carried.
    pub(super) bytes: Vec<u8>,
    /// False in stripes that only list the VLF.
    pub(super) is_here: bool,
    /// Parity of the VLF by its description: the byte, and the byte after it.
    pub(super) parity: [u8; 2],
}

/// A backup set.
#[derive(Clone)]
pub(super) struct SetSpec {
    pub(super) guid: [u8; 16],
    pub(super) kind: BackupKind,
    pub(super) flags: u32,
    pub(super) attributes: u32,
    pub(super) name: String,
    /// Data files: id and extents.
    pub(super) files: Vec<(u16, u32)>,
    /// Data sections, each with its runs of extents.
    pub(super) sections: Vec<Vec<Vec<Vec<u8>>>>,
    pub(super) logs: Vec<LogSpec>,
    pub(super) base: Option<[u8; 16]>,
    /// First LSN and checkpoint LSN.
    pub(super) checkpoint: Lsn,
    pub(super) is_encrypted: bool,
}

impl SetSpec {
    /// A full backup of file 1 with the given extents in one section.
    pub(super) fn full(number: u8, file_extents: u32, extents: Vec<Vec<u8>>) -> Self {
        SetSpec {
            guid: [number; 16],
            kind: BackupKind::Database,
            flags: 0x200,
            attributes: 4,
            name: format!("set {number}"),
            files: vec![(1, file_extents)],
            sections: vec![vec![extents]],
            logs: vec![],
            base: None,
            checkpoint: Lsn::new(40, 16, 1),
            is_encrypted: false,
        }
    }
}

/// A file of a media set.
#[derive(Clone)]
pub(super) struct MediaSpec {
    pub(super) media_set: [u8; 16],
    pub(super) family: u16,
    pub(super) families: u16,
    /// 512 or 4096.
    pub(super) device_block: usize,
    pub(super) packed: Option<ContainerVersion>,
    pub(super) sets: Vec<SetSpec>,
}

impl MediaSpec {
    pub(super) fn of(sets: Vec<SetSpec>) -> Self {
        MediaSpec {
            media_set: [0xA5; 16],
            family: 1,
            families: 1,
            device_block: 512,
            packed: None,
            sets,
        }
    }

    pub(super) fn packed(self) -> Self {
        MediaSpec { packed: Some(ContainerVersion::V2), ..self }
    }

    pub(super) fn build(&self) -> Vec<u8> {
        Builder::new(self).build()
    }
}

pub(super) const WRITTEN: MtfDate = MtfDate::new(2020, 2, 29, 12, 34, 56);

/// A page with its own id, with some bytes that follow from `seed`, sealed by a checksum.
pub(super) fn page(id: PageId, seed: u64) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_BYTES]);
    let mut rng = SplitMix64::new(seed ^ u64::from(id.page) << 20);
    for byte in &mut page[96..160] {
        *byte = rng.next_u64() as u8;
    }
    let header = PageHeader::of_mut(&mut page);
    header.header_version = 1;
    header.page_type = 1;
    header.page_id_bytes = id.to_bytes();
    checksum::seal(&mut page);
    page
}

/// An extent whose eight pages have their own ids.
pub(super) fn formatted(file: u16, index: u32, seed: u64) -> Vec<u8> {
    (0..8).flat_map(|number| page(PageId::new(file, 8 * index + number), seed).to_vec()).collect()
}

struct Builder<'a> {
    spec: &'a MediaSpec,
    file: Vec<u8>,
    /// Bytes of the stream that are not yet in the file: descriptors of a compressed backup.
    pending: Vec<u8>,
    /// Bytes of the stream so far, pending ones included.
    stream: u64,
    /// Offset of SSET in the stream.
    set_at: u64,
    filemarks: Vec<u64>,
    index: Vec<IndexEntry>,
    /// The next descriptor record follows a payload.
    after_payload: bool,
    control: u32,
}

impl<'a> Builder<'a> {
    fn new(spec: &'a MediaSpec) -> Self {
        let mut file = Vec::new();
        match spec.packed {
            Some(ContainerVersion::V2) => {
                file = vec![0xEE; container::FIRST_RECORD_AT as usize];
                container::write_front(&mut file).unwrap();
            }
            Some(ContainerVersion::V1) => {
                file = vec![0; 0x1CC];
                file[..8].copy_from_slice(&container::MAGIC);
                file[8] = 1;
            }
            None => {}
        }
        Builder {
            spec,
            file,
            pending: Vec::new(),
            stream: 0,
            set_at: 0,
            filemarks: Vec::new(),
            index: Vec::new(),
            after_payload: false,
            control: 0,
        }
    }

    fn build(mut self) -> Vec<u8> {
        self.media_header();
        for (n, set) in self.spec.sets.iter().enumerate() {
            self.set(set, n as u16 + 1);
        }
        self.file
    }

    fn put(&mut self, bytes: &[u8]) {
        let to = if self.spec.packed.is_some() { &mut self.pending } else { &mut self.file };
        to.extend_from_slice(bytes);
        self.stream += bytes.len() as u64;
    }

    /// Writes a block through `write`, with its address and number.
    fn block(&mut self, write: impl FnOnce(&mut [u8]) -> usize) {
        let mut bytes = vec![0xEE; 4096.max(self.spec.device_block)];
        let len = write(&mut bytes);
        self.put(&bytes[..len]);
    }

    fn header(&mut self, kind: BlockKind) -> (u64, u32) {
        let is_numbered = !matches!(kind, BlockKind::Tape | BlockKind::Sset | BlockKind::Eset);
        if kind == BlockKind::Sset {
            (self.set_at, self.control) = (self.stream, 0);
        }
        let number = if is_numbered {
            self.control += 1;
            self.control
        } else {
            0
        };
        (if is_numbered { (self.stream - self.set_at) / 1024 } else { 0 }, number)
    }

    fn stream_of(&mut self, header: StreamHeader, data: &[u8]) {
        let mut bytes = vec![0xEE; STREAM_HEADER_BYTES + data.len() + 4];
        // In a file streams begin on multiples of four, and so do buffers here.
        let len = stream::write_stream(&mut bytes, &header, data).unwrap();
        self.put(&bytes[..len]);
    }

    /// SPAD up to the next multiple of `unit`.
    fn pad(&mut self, unit: usize) {
        let after = self.stream + STREAM_HEADER_BYTES as u64;
        let bytes = after.next_multiple_of(unit as u64) - after;
        let header = StreamHeader::new(StreamKind::Spad, 0, bytes);
        let mut out = vec![0; STREAM_HEADER_BYTES + bytes as usize];
        header.write(&mut out).unwrap();
        self.put(&out);
    }

    /// APAD, so that the payload after the next stream header begins on a device block.
    fn pad_payload(&mut self) {
        let after = self.stream + 2 * STREAM_HEADER_BYTES as u64 + 2;
        let bytes = after.next_multiple_of(self.spec.device_block as u64) - after;
        // The next header must begin on a multiple of four: 24 bytes before the payload it does.
        let mut out = vec![0; STREAM_HEADER_BYTES + bytes as usize];
        StreamHeader::new(StreamKind::Apad, APAD_ATTRIBUTE, bytes).write(&mut out).unwrap();
        self.put(&out);
    }

    /// The header of MQDA or MQTL, its gap, and the payload in pieces of 64 KB.
    fn payload(&mut self, kind: StreamKind, attributes: u16, payload: &[u8]) {
        let mut head = vec![0; STREAM_HEADER_BYTES + 2];
        StreamHeader::new(kind, attributes, payload.len() as u64 + 2).write(&mut head).unwrap();
        self.put(&head);
        self.flush();
        match self.spec.packed {
            None => self.put(payload),
            Some(_) => {
                for piece in payload.chunks(EXTENT_BYTES) {
                    self.stream += piece.len() as u64;
                    self.record(piece);
                }
                self.after_payload = true;
            }
        }
    }

    /// Writes what is pending as a record.
    fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let start = self.stream - pending.len() as u64;
        if self.after_payload && !pending.is_empty() {
            let stream_offset = start - self.set_at;
            let record_at = self.file.len() as u64;
            self.index.push(IndexEntry {
                stream_offset: stream_offset.into(),
                record_at: record_at.into(),
            });
            self.after_payload = false;
        }
        for piece in pending.chunks(EXTENT_BYTES) {
            self.record(piece);
        }
    }

    fn record(&mut self, bytes: &[u8]) {
        let version = self.spec.packed.expect("compressed");
        assert!(bytes.len().is_multiple_of(512), "a piece is whole device blocks");
        let payload = encode(bytes);
        let header = RecordHeader::data((bytes.len() / 512) as u8, &payload).unwrap();
        let mut head = [0; 28];
        let len = header.write(&mut head, version).unwrap();
        self.file.extend_from_slice(&head[..len]);
        self.file.extend_from_slice(&payload);
    }

    /// A filemark; in a compressed file after padding or the seek index.
    fn filemark(&mut self, with_index: bool) {
        self.flush();
        let block = self.spec.device_block;
        if let Some(version) = self.spec.packed {
            let mut end = self.file.len().next_multiple_of(block);
            let least = if with_index { 56 + 16 * self.index.len() } else { 24 };
            if end - self.file.len() < least {
                end += block;
            }
            let gap = end - self.file.len();
            let mut bytes = vec![0; gap];
            if with_index {
                container::write_index(&mut bytes, &std::mem::take(&mut self.index), version)
                    .unwrap();
            } else {
                let padding = RecordHeader::padding((gap - version.common_bytes()) as u16);
                padding.write(&mut bytes, version).unwrap();
            }
            self.file.extend_from_slice(&bytes);
        }
        let mut mark = Filemark::new(block, self.filemarks.iter().rev().copied().collect());
        if with_index && self.spec.packed.is_some() {
            mark.fields.header.attributes = (0x8000_0000 | AFTER_SEEK_INDEX).into();
        }
        let mut bytes = vec![0xEE; block];
        mark.write(&mut bytes).unwrap();
        self.filemarks.push(self.file.len() as u64);
        self.stream += block as u64;
        self.file.extend_from_slice(&bytes);
    }

    fn media_header(&mut self) {
        let tape = Tape::new(0x1234_5678, self.spec.device_block, WRITTEN);
        self.block(|to| tape.write(to).unwrap());
        let mut raid = [0; Raid::BYTES];
        Raid::new(self.spec.media_set, self.spec.family, self.spec.families)
            .write(&mut raid)
            .unwrap();
        self.stream_of(StreamHeader::new(StreamKind::Raid, 0, 32), &raid);
        self.pad(self.spec.device_block.max(1024));
        self.filemark(false);
    }

    fn set(&mut self, set: &SetSpec, number: u16) {
        self.start(set, number);
        for section in &set.sections {
            self.data_section(section, set.is_encrypted);
        }
        for log in &set.logs {
            self.log_section(log);
        }
        self.configuration(set, BlockKind::Msls);
        self.filemark(true);
        self.end(set, number);
        self.filemark(false);
    }

    fn start(&mut self, set: &SetSpec, number: u16) {
        let mut start = StartOfSet::new(number, Guid(set.guid), WRITTEN);
        start.name.clone_from(&set.name);
        start.user = "HOUSE\\somebody".into();
        start.fields.attributes = set.attributes.into();
        start.fields.position = (self.file.len() as u64).into();
        let _ = self.header(BlockKind::Sset);
        self.block(|to| start.write(to).unwrap());
        self.pad(1024);
        let mut volume = Volume::new("C:", "HOUSE", WRITTEN);
        let (address, control) = self.header(BlockKind::Volb);
        volume.fields.header.address = address.into();
        volume.fields.header.control_block = control.into();
        self.block(|to| volume.write(to).unwrap());
        self.pad(1024);
        self.configuration(set, BlockKind::Msci);
    }

    fn configuration(&mut self, set: &SetSpec, kind: BlockKind) {
        let mut section = ConfigurationSection::new(kind);
        let (address, control) = self.header(kind);
        section.header.address = address.into();
        section.header.control_block = control.into();
        self.block(|to| section.write(to).unwrap());
        let mut data = vec![0xEE; 64 << 10];
        let len = configuration(set, kind).write(&mut data).unwrap();
        let attributes = if set.is_encrypted { ENCRYPTED } else { 0 };
        self.stream_of(StreamHeader::new(StreamKind::Mqci, attributes, len as u64), &data[..len]);
        // The last block of a set ends where the filemark begins.
        self.pad(if kind == BlockKind::Msls { self.spec.device_block.max(1024) } else { 1024 });
    }

    fn data_section(&mut self, runs: &[Vec<Vec<u8>>], is_encrypted: bool) {
        let mut section = DataSection::new();
        let (address, control) = self.header(BlockKind::Msda);
        section.header.address = address.into();
        section.header.control_block = control.into();
        self.block(|to| section.write(to).unwrap());
        for run in runs {
            self.pad_payload();
            let attributes = if is_encrypted { VARIABLE | ENCRYPTED } else { VARIABLE };
            self.payload(StreamKind::Mqda, attributes, &run.concat());
        }
        self.stream_of(StreamHeader::new(StreamKind::Mqda, VARIABLE | VARIABLE_END, 0), &[]);
        self.pad(1024);
    }

    fn log_section(&mut self, log: &LogSpec) {
        let vlf = VlfDescription {
            sequence: log.sequence.into(),
            bytes: log.vlf_bytes.into(),
            offset: log.vlf_offset.into(),
            file: 2.into(),
            parity: log.parity[0],
            residue_23: log.parity[1],
            create_lsn: Lsn::ZERO.into(),
            format: 4.into(),
        };
        let end = log.first + log.bytes.len() as u64;
        let range = if log.bytes.is_empty() { (0, 0) } else { (log.first, end) };
        let mut section = LogSection::new(vlf, range.0, range.1);
        let (address, control) = self.header(BlockKind::Mstl);
        section.fields.header.address = address.into();
        section.fields.header.control_block = control.into();
        self.block(|to| section.write(to).unwrap());
        if log.is_here && !log.bytes.is_empty() {
            self.pad_payload();
            let mut payload = log.bytes.clone();
            payload.resize(payload.len().next_multiple_of(EXTENT_BYTES), 0);
            self.payload(StreamKind::Mqtl, 0, &payload);
        }
        self.pad(1024);
    }

    fn end(&mut self, set: &SetSpec, number: u16) {
        let block = self.spec.device_block.max(1024);
        let first_at = self.file.len() as u64;
        let first = EndOfSet::new(number, 0, WRITTEN);
        self.block(|to| first.write(to).unwrap());
        let after = self.stream + STREAM_HEADER_BYTES as u64;
        let bytes = after.next_multiple_of(block as u64) - after;
        self.stream_of(StreamHeader::new(StreamKind::Otcp, 0, bytes), &vec![0; bytes as usize]);
        let mut map = SetMap { family_id: 0x1234_5678, ..SetMap::default() };
        map.sets.push(set_map_entry(&set.name));
        let mut data = vec![0xEE; 4096];
        let len = map.write(&mut data).unwrap();
        self.stream_of(StreamHeader::new(StreamKind::Tsmp, 0, len as u64), &data[..len]);
        self.pad(block);
        let second = EndOfSet::new(number, first_at, WRITTEN);
        self.block(|to| second.write(to).unwrap());
        self.pad(block);
    }
}

/// An entry of the set map: one of zeros, as the parser reads it, with a name.
fn set_map_entry(name: &str) -> SetMapEntry {
    let mut data = vec![0; 8 + 92];
    (data[4], data[8]) = (1, 92);
    let mut entry = SetMap::parse(&data).0.sets.remove(0);
    entry.fields.string_type = 2;
    entry.name = name.to_owned();
    entry
}

/// The configuration of a set as MSCI or MSLS hold it.
fn configuration(set: &SetSpec, kind: BlockKind) -> Configuration {
    let mut info = SetInfo::new("Test", "HOUSE\\SQL");
    info.fields.flags = set.flags.into();
    info.fields.kind = set.kind.letter();
    info.fields.started = WRITTEN;
    info.fields.first_lsn = set.checkpoint.into();
    info.fields.checkpoint_lsn = set.checkpoint.into();
    if kind == BlockKind::Msls {
        info.fields.finished = MtfDate::new(2020, 2, 29, 12, 35, 0);
    }
    let mut config = Configuration {
        set: Some(info),
        filegroups: vec![FilegroupInfo::new(1, "PRIMARY")],
        files: vec![],
    };
    for (id, extents) in &set.files {
        let size = u64::from(*extents) * EXTENT_BYTES as u64;
        let mut file = FileInfo::new(
            u32::from(*id),
            FileKind::Data,
            size,
            &format!("data{id}"),
            &format!("D:\\data{id}.mdf"),
        );
        // At its end a backup names itself as the base of the next differential one.
        let base = if kind == BlockKind::Msls { Some(set.guid) } else { set.base };
        file.fields.differential_base = DiskGuid(base.unwrap_or_default());
        config.files.push(file);
    }
    config.files.push(FileInfo::new(2, FileKind::Log, 1 << 20, "log", "D:\\log.ldf"));
    config
}
