//! PostgreSQL's protocol, version 3, as far as a load needs it: no authentication, simple queries,
//! one prepared statement with one int4 parameter, COPY FROM STDIN.

use std::io::Read as _;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use anyhow::{Result, bail, ensure};

const PROTOCOL: i32 = 196_608;
/// Rows of COPY are sent in pieces of as many bytes.
const COPY_BYTES: usize = 64 << 10;

/// A connection.
pub(super) struct Wire {
    input: BufReader<TcpStream>,
    output: TcpStream,
    message: Vec<u8>,
}

impl Wire {
    pub(super) fn connect(port: u16, user: &str, database: &str) -> Result<Wire> {
        let output = TcpStream::connect(("127.0.0.1", port))?;
        output.set_nodelay(true)?;
        let input = BufReader::with_capacity(64 << 10, output.try_clone()?);
        let mut wire = Wire { input, output, message: Vec::new() };
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for word in ["user", user, "database", database, ""] {
            body.extend(word.as_bytes());
            body.push(0);
        }
        let length = body.len() as i32 + 4;
        wire.output.write_all(&[&length.to_be_bytes()[..], &body].concat())?;
        wire.until_ready()?;
        Ok(wire)
    }

    /// Runs statements; the number of rows.
    pub(super) fn query(&mut self, text: &str) -> Result<u64> {
        let mut out = Vec::new();
        put(&mut out, b'Q', &[text.as_bytes(), &[0]].concat());
        self.output.write_all(&out)?;
        self.until_ready()
    }

    /// Prepares the one statement, with an int4 parameter.
    pub(super) fn prepare(&mut self, text: &str) -> Result<()> {
        let mut body = b"s\0".to_vec();
        body.extend(text.as_bytes());
        // One type: int4.
        body.extend([0, 0, 1, 0, 0, 0, 23]);
        let mut out = Vec::new();
        put(&mut out, b'P', &body);
        put(&mut out, b'S', &[]);
        self.output.write_all(&out)?;
        self.until_ready().map(drop)
    }

    /// Executes it.
    pub(super) fn execute(&mut self, number: i32) -> Result<()> {
        // Portal and statement, formats (one, binary), one value of four bytes, binary results.
        let mut bind = b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x04".to_vec();
        bind.extend(number.to_be_bytes());
        bind.extend([0, 1, 0, 1]);
        let mut out = Vec::with_capacity(64);
        put(&mut out, b'B', &bind);
        put(&mut out, b'E', &[0, 0, 0, 0, 0]);
        put(&mut out, b'S', &[]);
        self.output.write_all(&out)?;
        self.until_ready().map(drop)
    }

    /// Sends lines to COPY FROM STDIN.
    pub(super) fn copy(&mut self, table: &str, rows: &mut dyn BufRead) -> Result<u64> {
        let text = format!("COPY {table} FROM STDIN\0");
        let mut out = Vec::new();
        put(&mut out, b'Q', text.as_bytes());
        self.output.write_all(&out)?;
        loop {
            match self.next()? {
                b'G' => break,
                b'E' => bail!("{}", self.error()),
                _ => {}
            }
        }
        let mut lines = 0;
        let mut piece = vec![0; COPY_BYTES];
        loop {
            let count = rows.read(&mut piece)?;
            if count == 0 {
                break;
            }
            lines += piece[..count].iter().filter(|byte| **byte == b'\n').count() as u64;
            out.clear();
            put(&mut out, b'd', &piece[..count]);
            self.output.write_all(&out)?;
        }
        out.clear();
        put(&mut out, b'c', &[]);
        self.output.write_all(&out)?;
        self.until_ready()?;
        Ok(lines)
    }

    /// Reads an answer to its end; the number of its rows.
    fn until_ready(&mut self) -> Result<u64> {
        let mut rows = 0;
        let mut failed = None;
        loop {
            match self.next()? {
                b'Z' => break,
                b'D' => rows += 1,
                b'R' => ensure!(self.message == [0, 0, 0, 0], "PostgreSQL asks for a password"),
                b'E' => {
                    let text = self.error();
                    if text.contains("FATAL") {
                        bail!("{text}");
                    }
                    failed = Some(text);
                }
                _ => {}
            }
        }
        failed.map_or(Ok(rows), |text| bail!("{text}"))
    }

    /// The next message: its kind; its body is in `message`.
    fn next(&mut self) -> Result<u8> {
        let mut head = [0; 5];
        self.input.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = (i32::from_be_bytes(length) - 4).max(0) as usize;
        self.message.resize(length, 0);
        self.input.read_exact(&mut self.message)?;
        Ok(kind)
    }

    fn error(&self) -> String {
        String::from_utf8_lossy(&self.message).replace('\0', " ")
    }
}

fn put(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend((body.len() as i32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}
