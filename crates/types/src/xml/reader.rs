//! The bytes of a binary XML document, token by token, with the tables of names that tokens fill.

use std::fmt::Write;

use super::value::write_verbatim;
use super::{XmlError, token};

/// A qualified name: prefix and local name as ranges of UTF-16 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct QName {
    prefix: Span,
    local: Span,
}

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
}

pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Name 0 is the empty one.
    names: Vec<Span>,
    qnames: Vec<QName>,
}

impl<'b> Reader<'b> {
    /// A reader after the document's signature.
    pub(super) fn new(bytes: &'b [u8]) -> Result<Reader<'b>, XmlError> {
        match bytes {
            [0xDF, 0xFF, 0x01 | 0x02, 0xB0, 0x04, ..] => Ok(Reader {
                bytes,
                at: 5,
                names: vec![Span::default()],
                qnames: Vec::new(),
            }),
            _ => Err(XmlError::Signature),
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn byte(&mut self) -> Result<u8, XmlError> {
        let byte = self.peek().ok_or(XmlError::Truncated { at: self.at })?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'b [u8], XmlError> {
        let taken = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(XmlError::Truncated { at: self.bytes.len() })?;
        self.at += len;
        Ok(taken)
    }

    /// 7 bits per byte, lowest first, at most 32 bits.
    pub(super) fn number(&mut self) -> Result<usize, XmlError> {
        let mut number = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                let number = u32::try_from(number).map_err(|_| XmlError::Value { at: self.at })?;
                return Ok(number as usize);
            }
        }
        Err(XmlError::Value { at: self.at })
    }

    /// A counted text as UTF-16 bytes.
    pub(super) fn text(&mut self) -> Result<&'b [u8], XmlError> {
        let units = self.number()?;
        self.take(units.checked_mul(2).ok_or(XmlError::Value { at: self.at })?)
    }

    /// Reads name definitions and extensions up to the next other token, and takes it.
    pub(super) fn token(&mut self) -> Result<Option<(u8, usize)>, XmlError> {
        let Some(token) = self.next_token()? else { return Ok(None) };
        let at = self.at;
        self.at += 1;
        Ok(Some((token, at)))
    }

    /// The same without taking the token.
    pub(super) fn next_token(&mut self) -> Result<Option<u8>, XmlError> {
        while let Some(token) = self.peek() {
            match token {
                token::NAME => self.define_name()?,
                token::QNAME => self.define_qname()?,
                token::EXTENSION => {
                    self.at += 1;
                    let len = self.number()?;
                    self.take(len)?;
                }
                token::NAME_FLUSH => {
                    self.at += 1;
                    self.names.truncate(1);
                    self.qnames.clear();
                }
                other => return Ok(Some(other)),
            }
        }
        Ok(None)
    }

    fn define_name(&mut self) -> Result<(), XmlError> {
        self.at += 1;
        let len = self.text()?.len();
        self.names.push(Span { start: self.at - len, end: self.at });
        Ok(())
    }

    fn define_qname(&mut self) -> Result<(), XmlError> {
        self.at += 1;
        self.name_number()?; // The namespace's URI shows in xmlns attributes.
        let prefix = self.name_number()?;
        let local = self.name_number()?;
        self.qnames.push(QName { prefix, local });
        Ok(())
    }

    fn name_number(&mut self) -> Result<Span, XmlError> {
        let number = self.number()?;
        self.names.get(number).copied().ok_or(XmlError::Value { at: self.at })
    }

    /// A name by its number.
    pub(super) fn name(&mut self) -> Result<&'b [u8], XmlError> {
        let span = self.name_number()?;
        Ok(self.span(span))
    }

    /// A qualified name by its number, which starts at 1.
    pub(super) fn qname(&mut self) -> Result<QName, XmlError> {
        let number = self.number()?;
        number
            .checked_sub(1)
            .and_then(|at| self.qnames.get(at))
            .copied()
            .filter(|name| name.local.end > name.local.start)
            .ok_or(XmlError::Value { at: self.at })
    }

    pub(super) fn write_qname<W: Write>(&self, name: QName, out: &mut W) -> Result<(), XmlError> {
        let prefix = self.span(name.prefix);
        if !prefix.is_empty() {
            write_verbatim(prefix, self.at, out)?;
            out.write_char(':')?;
        }
        write_verbatim(self.span(name.local), self.at, out)
    }

    fn span(&self, span: Span) -> &'b [u8] {
        self.bytes.get(span.start..span.end).unwrap_or_default()
    }
}
