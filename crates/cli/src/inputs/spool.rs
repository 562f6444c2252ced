//! Stdin and compressed inputs become temporary files, because pages are read in no order that a
//! stream could follow.
//!
//! A folder that only its owner may enter holds them; it is removed at the end, and after a signal.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use crate::context::Context;
use crate::measure::bytes_text;
use crate::progress::Progress;
use crate::scratch::Scratch;

/// The path that means stdin.
const STDIN: &str = "-";
/// Bytes moved at a time.
const STEP: usize = 256 << 10;
/// The window of a zstd frame is memory: as much as `zstd -d` allows unless it is told otherwise.
const WINDOW_BYTES_MAX: u64 = 128 << 20;

/// How a file is compressed, by its first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            // A skippable frame, as parallel compressors write first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// True for a name that says the file is compressed.
pub(super) fn is_named_compressed(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["gz", "zst"].iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The temporary folder, made when the first file needs it.
#[derive(Default)]
pub(super) struct Spool {
    folder: Option<Scratch>,
    files: usize,
    has_read_stdin: bool,
}

impl Spool {
    /// Puts temporary files in the place of what cannot be read at any place.
    pub(super) fn replace(
        mut self,
        paths: &mut [PathBuf],
        context: &Context,
    ) -> anyhow::Result<Option<Scratch>> {
        for path in paths {
            let spooled = if path.as_os_str() == STDIN {
                self.stdin(context)?
            } else {
                self.compressed(path, context)?
            };
            if let Some(spooled) = spooled {
                *path = spooled;
            }
        }
        Ok(self.folder)
    }

    fn stdin(&mut self, context: &Context) -> anyhow::Result<Option<PathBuf>> {
        if std::mem::replace(&mut self.has_read_stdin, true) {
            bail!("stdin (-) can be read only once");
        }
        self.unpack(&mut BufReader::new(io::stdin().lock()), "stdin", "stdin.bak", 0, context)
            .map(Some)
    }

    /// `None` for a file that is not compressed, or cannot be read: opening it reports that.
    fn compressed(&mut self, path: &Path, context: &Context) -> anyhow::Result<Option<PathBuf>> {
        if !path.is_file() {
            return Ok(None);
        }
        let Ok(file) = fs::File::open(path) else { return Ok(None) };
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        let mut file = BufReader::with_capacity(STEP, file);
        if file.fill_buf().map_or(Compression::None, Compression::of) == Compression::None {
            return Ok(None);
        }
        let inner = if is_named_compressed(path) { path.file_stem() } else { path.file_name() };
        let name = inner.unwrap_or_default().to_string_lossy().into_owned();
        let display = path.display().to_string();
        self.unpack(&mut file, &display, &name, bytes, context).map(Some)
    }

    /// Writes a stream to a temporary file, unpacked.
    fn unpack(
        &mut self,
        stream: &mut dyn BufRead,
        display: &str,
        name: &str,
        bytes: u64,
        context: &Context,
    ) -> anyhow::Result<PathBuf> {
        let path = self.new_path(name)?;
        context.note(&format!("{display}: spooled to {}", path.display()));
        let failed = || format!("cannot write {}", path.display());
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).open(&path).with_context(failed)?;
        let progress = context.progress("unpack", bytes);
        let compression =
            stream.fill_buf().map(Compression::of).with_context(|| display.to_owned())?;
        let mut stream = Counted { stream, consumed: 0, progress: &progress };
        let mut copied = 0;
        let done = match compression {
            Compression::None => copy(&mut stream, &mut file, &mut copied),
            Compression::Gzip => {
                copy(&mut MultiGzDecoder::new(&mut stream), &mut file, &mut copied)
            }
            Compression::Zstd => zstd_frames(&mut stream, &mut file, &mut copied),
        };
        let consumed = stream.consumed;
        match done {
            Ok(()) => {}
            Err(Failure::Write(error)) => return Err(error).with_context(failed),
            Err(Failure::Read(error)) => {
                let how = match compression {
                    Compression::None => "cannot be read",
                    _ => "the compressed data is damaged or cut off",
                };
                let after = format!("after {} unpacked", bytes_text(copied));
                return Err(anyhow!("{display}: {how} at byte {consumed}, {after}: {error}"));
            }
        }
        Ok(path)
    }

    fn new_path(&mut self, name: &str) -> anyhow::Result<PathBuf> {
        if self.folder.is_none() {
            let path = std::env::temp_dir().join(format!("extentdb-{}", std::process::id()));
            create_private(&path).with_context(|| format!("cannot create {}", path.display()))?;
            self.folder = Some(Scratch::new(path));
        }
        let folder = self.folder.as_ref().map(Scratch::path).unwrap_or(Path::new(""));
        self.files += 1;
        // Two files of one name come from two folders.
        let folder = folder.join(self.files.to_string());
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder.join(name))
    }
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Which side of a copy failed.
enum Failure {
    Read(io::Error),
    Write(io::Error),
}

/// Copies all that there is; counts what was written.
fn copy(from: &mut dyn Read, to: &mut fs::File, copied: &mut u64) -> Result<(), Failure> {
    let mut buffer = vec![0; STEP];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Read(error)),
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        to.write_all(bytes).map_err(Failure::Write)?;
        *copied += read as u64;
    }
}

/// Frame after frame, with their checksums compared.
fn zstd_frames(
    stream: &mut Counted<'_>,
    to: &mut fs::File,
    copied: &mut u64,
) -> Result<(), Failure> {
    while !stream.fill_buf().map_err(Failure::Read)?.is_empty() {
        let mut decoder =
            match StreamingDecoder::new_with_max_window_size(&mut *stream, WINDOW_BYTES_MAX) {
                Ok(decoder) => decoder,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    skip(stream, length).map_err(Failure::Read)?;
                    continue;
                }
                Err(error) => return Err(Failure::Read(io::Error::other(error))),
            };
        copy(&mut decoder, to, copied)?;
        let frame = decoder.into_frame_decoder();
        let stored = frame.get_checksum_from_data();
        if stored.is_some() && stored != frame.get_calculated_checksum() {
            return Err(Failure::Read(io::Error::other("the checksum of a frame does not match")));
        }
    }
    Ok(())
}

fn skip(stream: &mut Counted<'_>, bytes: u32) -> io::Result<()> {
    let skipped = io::copy(&mut stream.take(bytes.into()), &mut io::sink())?;
    if skipped == u64::from(bytes) { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Knows how far a stream has been consumed.
struct Counted<'a> {
    stream: &'a mut dyn BufRead,
    consumed: u64,
    progress: &'a Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.consumed += read as u64;
        self.progress.add(read as u64, read as u64);
        Ok(read)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.stream.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.consumed += bytes as u64;
        self.progress.add(bytes as u64, bytes as u64);
        self.stream.consume(bytes);
    }
}
