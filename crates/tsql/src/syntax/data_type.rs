//! Names of types.

use super::name::ObjectName;
use crate::span::Span;

/// `type [ ( parameter [ , … ] ) ]`
///
/// Types of several words have their short names: `char varying` is varchar, `national text` is
/// ntext, `double precision` is float.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    pub name: ObjectName,
    pub parameters: Vec<TypeParameter>,
    /// `xml ( [ CONTENT | DOCUMENT ] collection )`
    pub xml_schema: Option<Box<XmlSchema>>,
    pub span: Span,
}

/// A length, precision or scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeParameter {
    Number(u32),
    Max,
}

/// `[ CONTENT | DOCUMENT ] collection`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlSchema {
    pub is_document: bool,
    pub collection: ObjectName,
}
