//! Binary XML, the stored form of the xml type ([MS-BINXML], an open specification of Microsoft),
//! as text.
//!
//! ```text
//! document  DF FF  version 01|02  B0 04 (code page 1200: UTF-16)  content
//! F0 text                         a name; names are numbered from 1
//! EF uri prefix local             a qualified name of three name numbers; numbered from 1, name 0
//!                                 is empty
//! F8 qname                        element; its attributes follow
//! F6 qname value                  attribute
//! F5                              end of attributes
//! F7                              end of element
//! F4 name text                    processing instruction
//! F3 text                         comment
//! F2 text (F2 text)* F1           CDATA section
//! EA length bytes                 extension, skipped
//! E9                              forget all names
//! 01..1B, 7A..8C                  values
//! number    7 bits per byte, lowest first, bit 7 = more follow
//! text      number of UTF-16 units, units
//! ```
//!
//! Unverified: no sample contains xml; written from public descriptions and tested on built bytes.
//! What is not certain (floats, dates, money, nested documents, DTDs) is an error, and the caller
//! shows the bytes instead.
//!
//! Invariants: no recursion; open elements and names are bounded; memory beyond the input is a few
//! words per name and per open element; the text is written as it is decoded.

use std::fmt::{self, Write};

use crate::datum::Datum;
use crate::sql_type::SqlType;

mod encode;
mod reader;
mod value;

pub use encode::{EncodeXmlError, encode_text};

use reader::Reader;

/// Elements that may be open at once. SQL Server refuses documents deeper than 128.
const MAX_DEPTH: usize = 1_024;
/// The text may be this many times longer than the bytes, plus a slack: a name is stored once and
/// written often.
const MAX_GROWTH: usize = 64;
const SLACK: usize = 1 << 20;

mod token {
    pub(super) const SQL_UDT: u8 = 0x1B;
    pub(super) const END_CDATA: u8 = 0xF1;
    pub(super) const NAME_FLUSH: u8 = 0xE9;
    pub(super) const EXTENSION: u8 = 0xEA;
    pub(super) const QNAME: u8 = 0xEF;
    pub(super) const NAME: u8 = 0xF0;
    pub(super) const CDATA: u8 = 0xF2;
    pub(super) const COMMENT: u8 = 0xF3;
    pub(super) const PI: u8 = 0xF4;
    pub(super) const END_ATTRIBUTES: u8 = 0xF5;
    pub(super) const ATTRIBUTE: u8 = 0xF6;
    pub(super) const END_ELEMENT: u8 = 0xF7;
    pub(super) const ELEMENT: u8 = 0xF8;
    pub(super) const ENCODING: u8 = 0xFD;
    pub(super) const XML_DECLARATION: u8 = 0xFE;
}

/// Why binary XML could not be written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// The first five bytes are not a document's.
    #[error("not binary XML: the signature is missing")]
    Signature,
    /// The bytes end inside a token.
    #[error("binary XML ends at byte {at} inside a token")]
    Truncated {
        /// Offset of the missing byte.
        at: usize,
    },
    /// A token of unknown or uncertain meaning.
    #[error("binary XML: token 0x{token:02X} at byte {at} is not supported")]
    Token {
        /// Number of the token.
        token: u8,
        /// Offset of the token in the value.
        at: usize,
    },
    /// A token that is known, in a place where it cannot be.
    #[error("binary XML: token 0x{token:02X} at byte {at} is out of place")]
    Misplaced {
        /// Number of the token.
        token: u8,
        /// Offset of the token in the value.
        at: usize,
    },
    /// A name, qualified name or value that does not exist or is not valid.
    #[error("binary XML: bad reference or value at byte {at}")]
    Value {
        /// Offset after the value.
        at: usize,
    },
    /// More open elements than any document has.
    #[error("binary XML: more than {MAX_DEPTH} open elements at byte {at}")]
    TooDeep {
        /// Offset of the element.
        at: usize,
    },
    /// The text grows out of proportion to the bytes.
    #[error("binary XML: the text is out of proportion to its {bytes} bytes")]
    TooLong {
        /// Length of the binary form.
        bytes: usize,
    },
    /// The output refused the text.
    #[error("the text could not be written")]
    Output,
}

/// Can these bytes be written as text?
pub fn verify(bytes: &[u8]) -> Result<(), XmlError> {
    struct Nowhere;
    impl Write for Nowhere {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Ok(())
        }
    }
    write_text(bytes, &mut Nowhere)
}

/// Writes a document as XML text. An error may come after part of the text: see [`verify`].
pub fn write_text<W: Write + ?Sized>(bytes: &[u8], out: &mut W) -> Result<(), XmlError> {
    let limit = bytes.len().saturating_mul(MAX_GROWTH).saturating_add(SLACK);
    let mut decoder = Decoder {
        reader: Reader::new(bytes)?,
        out: Limited { out, left: limit, is_full: false },
        open: Vec::new(),
        is_tag_open: false,
    };
    let result = decoder.document();
    match result {
        Err(XmlError::Output) if decoder.out.is_full => {
            Err(XmlError::TooLong { bytes: bytes.len() })
        }
        other => other,
    }
}

/// Passes text on until a limit.
struct Limited<'o, W: ?Sized> {
    out: &'o mut W,
    left: usize,
    is_full: bool,
}

impl<W: Write + ?Sized> Write for Limited<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let Some(left) = self.left.checked_sub(text.len()) else {
            self.is_full = true;
            return Err(fmt::Error);
        };
        self.left = left;
        self.out.write_str(text)
    }
}

impl From<fmt::Error> for XmlError {
    fn from(_: fmt::Error) -> XmlError {
        XmlError::Output
    }
}

struct Decoder<'b, 'o, W: ?Sized> {
    reader: Reader<'b>,
    out: Limited<'o, W>,
    /// Qualified names of the open elements.
    open: Vec<reader::QName>,
    /// The last start tag lacks its `>`: its element may turn out to be empty.
    is_tag_open: bool,
}

impl<W: Write + ?Sized> Decoder<'_, '_, W> {
    fn document(&mut self) -> Result<(), XmlError> {
        self.declaration()?;
        while let Some((token, at)) = self.reader.token()? {
            match token {
                token::ELEMENT => self.element(at)?,
                token::END_ELEMENT => self.end_element(at)?,
                token::COMMENT => self.comment()?,
                token::PI => self.processing_instruction()?,
                token::CDATA => self.cdata()?,
                token::ATTRIBUTE | token::END_ATTRIBUTES | token::END_CDATA => {
                    return Err(XmlError::Misplaced { token, at });
                }
                _ => self.text(token, at)?,
            }
        }
        if self.open.is_empty() {
            Ok(())
        } else {
            Err(XmlError::Truncated { at: self.reader.at() })
        }
    }

    /// `FE version [FD encoding] standalone`: the text needs no declaration.
    fn declaration(&mut self) -> Result<(), XmlError> {
        if self.reader.peek() != Some(token::XML_DECLARATION) {
            return Ok(());
        }
        self.reader.byte()?;
        self.reader.text()?;
        if self.reader.peek() == Some(token::ENCODING) {
            self.reader.byte()?;
            self.reader.text()?;
        }
        match self.reader.byte()? {
            0..=2 => Ok(()),
            _ => Err(XmlError::Value { at: self.reader.at() }),
        }
    }

    fn element(&mut self, at: usize) -> Result<(), XmlError> {
        self.close_tag()?;
        if self.open.len() >= MAX_DEPTH {
            return Err(XmlError::TooDeep { at });
        }
        let name = self.reader.qname()?;
        self.out.write_char('<')?;
        self.reader.write_qname(name, &mut self.out)?;
        self.open.push(name);
        self.is_tag_open = true;
        self.attributes()
    }

    /// Attributes, when the element has any, up to their end token.
    fn attributes(&mut self) -> Result<(), XmlError> {
        let mut has_any = false;
        while let Some(token @ (token::ATTRIBUTE | token::END_ATTRIBUTES)) =
            self.reader.next_token()?
        {
            self.reader.byte()?;
            if token == token::END_ATTRIBUTES {
                return Ok(());
            }
            has_any = true;
            let name = self.reader.qname()?;
            self.out.write_char(' ')?;
            self.reader.write_qname(name, &mut self.out)?;
            self.out.write_str("=\"")?;
            // An empty attribute has no value token; more than one value has no certain text.
            if let Some(token) = self.reader.next_token()?.filter(|token| is_value(*token)) {
                let at = self.reader.at();
                self.reader.byte()?;
                self.value(token, at, value::TextContext::Attribute)?;
            }
            self.out.write_char('"')?;
        }
        if has_any { Err(XmlError::Truncated { at: self.reader.at() }) } else { Ok(()) }
    }

    fn end_element(&mut self, at: usize) -> Result<(), XmlError> {
        let name = self.open.pop().ok_or(XmlError::Misplaced { token: token::END_ELEMENT, at })?;
        if self.is_tag_open {
            self.is_tag_open = false;
            return Ok(self.out.write_str("/>")?);
        }
        self.out.write_str("</")?;
        self.reader.write_qname(name, &mut self.out)?;
        Ok(self.out.write_char('>')?)
    }

    fn close_tag(&mut self) -> Result<(), XmlError> {
        if std::mem::take(&mut self.is_tag_open) {
            self.out.write_char('>')?;
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), XmlError> {
        self.close_tag()?;
        let text = self.reader.text()?;
        self.out.write_str("<!--")?;
        value::write_verbatim(text, self.reader.at(), &mut self.out)?;
        Ok(self.out.write_str("-->")?)
    }

    fn processing_instruction(&mut self) -> Result<(), XmlError> {
        self.close_tag()?;
        let target = self.reader.name()?;
        let text = self.reader.text()?;
        self.out.write_str("<?")?;
        value::write_verbatim(target, self.reader.at(), &mut self.out)?;
        if !text.is_empty() {
            self.out.write_char(' ')?;
            value::write_verbatim(text, self.reader.at(), &mut self.out)?;
        }
        Ok(self.out.write_str("?>")?)
    }

    fn cdata(&mut self) -> Result<(), XmlError> {
        self.close_tag()?;
        self.out.write_str("<![CDATA[")?;
        loop {
            let text = self.reader.text()?;
            value::write_verbatim(text, self.reader.at(), &mut self.out)?;
            let at = self.reader.at();
            match self.reader.byte()? {
                token::CDATA => {}
                token::END_CDATA => return Ok(self.out.write_str("]]>")?),
                token => return Err(XmlError::Misplaced { token, at }),
            }
        }
    }

    fn text(&mut self, token: u8, at: usize) -> Result<(), XmlError> {
        if !is_value(token) {
            return Err(XmlError::Token { token, at });
        }
        self.close_tag()?;
        self.value(token, at, value::TextContext::Content)
    }

    fn value(&mut self, token: u8, at: usize, context: value::TextContext) -> Result<(), XmlError> {
        value::write(token, at, context, &mut self.reader, &mut self.out)
    }
}

fn is_value(token: u8) -> bool {
    matches!(token, 0x01..=token::SQL_UDT | 0x7A..=0x8C)
}

/// The stored bytes of a number as its plain text.
fn write_number<W: Write + ?Sized>(ty: SqlType, bytes: &[u8], out: &mut W) -> Option<fmt::Result> {
    Some(match Datum::decode(&ty, bytes).ok()? {
        Datum::TinyInt(value) => write!(out, "{value}"),
        Datum::SmallInt(value) => write!(out, "{value}"),
        Datum::Int(value) => write!(out, "{value}"),
        Datum::BigInt(value) => write!(out, "{value}"),
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests;
