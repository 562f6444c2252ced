//! geometry and geography as well-known text, by the serialisation of [MS-SSCLRT], an open
//! specification of Microsoft.
//!
//! ```text
//! +0  SRID i32
//! +4  version 1 or 2
//! +5  properties: 01 Z values, 02 M values, 04 valid, 08 single point, 10 single line, 20 larger
//!     than a hemisphere
//! single point: one point, single line: two points, then Z and M values; nothing else. Otherwise:
//!     point count u32, points of two f64 (geometry x, y; geography latitude, longitude), Z, M
//!     figure count u32, figures: attribute u8, first point i32
//!     shape count u32, shapes: parent i32 (-1 none), first figure i32 (-1 empty), type u8
//!     version 2 with a compound curve: segment count u32, segment types u8
//! ```
//!
//! Unverified: no sample contains a spatial value. Compound curves and curve polygons are refused
//! rather than guessed. `export` writes the bytes; this text is an extra.
//!
//! Invariants: every count is checked against the bytes that are left before it is used; shapes
//! come parents first; no recursion.

use std::fmt::{self, Write};

const HAS_Z: u8 = 0x01;
const HAS_M: u8 = 0x02;
const IS_POINT: u8 = 0x08;
const IS_LINE: u8 = 0x10;
/// Collections inside collections.
const MAX_DEPTH: usize = 256;

/// Which of the two types the bytes are: it decides the order of the coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpatialKind {
    /// Coordinates are x, y.
    Geometry,
    /// Stored latitude, longitude; text has longitude first.
    Geography,
}

/// A spatial value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spatial {
    /// Spatial reference id.
    pub srid: i32,
    /// Well-known text; Z and M values follow x and y, `NULL` where one of them is missing.
    pub text: String,
}

/// The well-known text, or `None` when the bytes are no spatial value whose text is certain.
#[must_use]
pub fn to_text(kind: SpatialKind, bytes: &[u8]) -> Option<Spatial> {
    let mut input = Input { rest: bytes };
    let srid = input.i32()?;
    let version = input.u8()?;
    if !(1..=2).contains(&version) {
        return None;
    }
    let value = Value::read(kind, &mut input)?;
    let mut text = String::new();
    value.write(&mut text).ok()?;
    input.rest.is_empty().then_some(Spatial { srid, text })
}

struct Input<'b> {
    rest: &'b [u8],
}

impl<'b> Input<'b> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn i32(&mut self) -> Option<i32> {
        self.take().map(i32::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// A count of things of `size` bytes that must all be there.
    fn count(&mut self, size: usize) -> Option<usize> {
        let count = usize::try_from(u32::from_le_bytes(self.take()?)).ok()?;
        (count.checked_mul(size)? <= self.rest.len()).then_some(count)
    }

    fn list<T>(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Input<'b>) -> Option<T>,
    ) -> Option<Vec<T>> {
        (0..count).map(|_| read(self)).collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    parent: Option<usize>,
    /// `None` = empty.
    first_figure: Option<usize>,
    kind: u8,
}

/// The parts of a value, all indexes checked.
struct Value {
    points: Vec<(f64, f64)>,
    z: Vec<f64>,
    m: Vec<f64>,
    /// First point of each figure.
    figures: Vec<usize>,
    shapes: Vec<Shape>,
}

impl Value {
    fn read(kind: SpatialKind, input: &mut Input<'_>) -> Option<Value> {
        let properties = input.u8()?;
        let count = match (properties & IS_POINT != 0, properties & IS_LINE != 0) {
            (true, true) => return None,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => input.count(16)?,
        };
        let points = input.list(count, |input| {
            let first = input.f64()?;
            let second = input.f64()?;
            Some(if kind == SpatialKind::Geography { (second, first) } else { (first, second) })
        })?;
        let values = |input: &mut Input<'_>, flag: u8| {
            input.list(if properties & flag != 0 { count } else { 0 }, Input::f64)
        };
        let z = values(input, HAS_Z)?;
        let m = values(input, HAS_M)?;
        let mut value = Value { points, z, m, figures: Vec::new(), shapes: Vec::new() };
        if properties & (IS_POINT | IS_LINE) != 0 {
            value.figures = vec![0];
            let kind = if properties & IS_POINT != 0 { 1 } else { 2 };
            value.shapes = vec![Shape { parent: None, first_figure: Some(0), kind }];
            return Some(value);
        }
        value.read_figures(input)?;
        value.read_shapes(input)?;
        Some(value)
    }

    fn read_figures(&mut self, input: &mut Input<'_>) -> Option<()> {
        let count = input.count(5)?;
        for _ in 0..count {
            let attribute = input.u8()?;
            let first = usize::try_from(input.i32()?).ok()?;
            let is_ascending = self.figures.last().is_none_or(|last| *last <= first);
            // Attribute 3: a compound curve, whose segments this text does not know.
            if !is_ascending || first > self.points.len() || attribute > 2 {
                return None;
            }
            self.figures.push(first);
        }
        Some(())
    }

    fn read_shapes(&mut self, input: &mut Input<'_>) -> Option<()> {
        let count = input.count(9)?;
        let mut last_figure = 0;
        for index in 0..count {
            let parent = input.i32()?;
            let figure = input.i32()?;
            let kind = input.u8()?;
            let parent = optional_index(parent)?;
            let first_figure = optional_index(figure)?;
            let is_parent_known = parent.map_or(index == 0, |parent| parent < index);
            if !is_parent_known
                || first_figure
                    .is_some_and(|figure| figure < last_figure || figure >= self.figures.len())
            {
                return None;
            }
            last_figure = first_figure.unwrap_or(last_figure);
            self.shapes.push(Shape { parent, first_figure, kind });
        }
        (count > 0).then_some(())
    }

    /// Figures of a shape: up to the first figure of the next shape that has one.
    fn figures_of(&self, index: usize) -> std::ops::Range<usize> {
        let Some(first) = self.shapes[index].first_figure else { return 0..0 };
        let next = self.shapes[index + 1..].iter().find_map(|shape| shape.first_figure);
        first..next.unwrap_or(self.figures.len())
    }

    fn points_of(&self, figure: usize) -> std::ops::Range<usize> {
        let end = self.figures.get(figure + 1).copied().unwrap_or(self.points.len());
        self.figures[figure]..end
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let mut open: Vec<usize> = Vec::new();
        for (index, shape) in self.shapes.iter().enumerate() {
            let mut is_first = true;
            // Children follow their parent at once: whatever is open and not the parent is
            // finished.
            while open.last().copied() != shape.parent {
                open.pop().ok_or(fmt::Error)?;
                out.write_char(')')?;
                is_first = false;
            }
            if let Some(parent) = shape.parent {
                out.write_str(if is_first && parent + 1 == index { "" } else { ", " })?;
            }
            let parent_kind = shape.parent.map(|parent| self.shapes[parent].kind);
            if self.write_shape(index, parent_kind, out)? {
                open.push(index);
            }
            if open.len() > MAX_DEPTH {
                return Err(fmt::Error);
            }
        }
        (0..open.len()).try_for_each(|_| out.write_char(')'))
    }

    /// Writes a shape; `true` when it is a collection whose parenthesis stays open for its
    /// children.
    fn write_shape(
        &self,
        index: usize,
        parent: Option<u8>,
        out: &mut String,
    ) -> Result<bool, fmt::Error> {
        let kind = self.shapes[index].kind;
        let name = name(kind).ok_or(fmt::Error)?;
        match (parent, kind) {
            // The parts of a multi-shape are written without their names.
            (Some(4), 1) | (Some(5), 2) | (Some(6), 3) => {}
            (None | Some(7), _) => out.write_str(name)?,
            _ => return Err(fmt::Error),
        }
        let is_named = matches!(parent, None | Some(7));
        if kind == 11 {
            return Ok(false);
        }
        if is_named {
            out.write_char(' ')?;
        }
        let has_children =
            self.shapes.get(index + 1).is_some_and(|next| next.parent == Some(index));
        if matches!(kind, 4..=7) && has_children {
            out.write_char('(')?;
            return Ok(true);
        }
        let figures = self.figures_of(index);
        match kind {
            _ if figures.is_empty() || matches!(kind, 4..=7) => out.write_str("EMPTY")?,
            3 => self.write_rings(figures, out)?,
            _ if figures.len() == 1 => self.write_points(self.points_of(figures.start), out)?,
            _ => return Err(fmt::Error),
        }
        Ok(false)
    }

    fn write_rings(&self, figures: std::ops::Range<usize>, out: &mut String) -> fmt::Result {
        out.write_char('(')?;
        for (number, figure) in figures.enumerate() {
            out.write_str(if number > 0 { ", " } else { "" })?;
            self.write_points(self.points_of(figure), out)?;
        }
        out.write_char(')')
    }

    fn write_points(&self, points: std::ops::Range<usize>, out: &mut String) -> fmt::Result {
        out.write_char('(')?;
        for (number, at) in points.enumerate() {
            let (x, y) = self.points.get(at).ok_or(fmt::Error)?;
            write!(out, "{}{x} {y}", if number > 0 { ", " } else { "" })?;
            self.write_z_and_m(at, out)?;
        }
        out.write_char(')')
    }

    fn write_z_and_m(&self, at: usize, out: &mut String) -> fmt::Result {
        let present = |values: &[f64]| values.get(at).copied().filter(|value| !value.is_nan());
        match (present(&self.z), present(&self.m)) {
            (None, None) => Ok(()),
            (Some(z), None) => write!(out, " {z}"),
            (Some(z), Some(m)) => write!(out, " {z} {m}"),
            (None, Some(m)) => write!(out, " NULL {m}"),
        }
    }
}

/// -1 is "none".
fn optional_index(index: i32) -> Option<Option<usize>> {
    match index {
        -1 => Some(None),
        index => usize::try_from(index).ok().map(Some),
    }
}

/// Names of the shapes whose text is certain.
fn name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        1 => "POINT",
        2 => "LINESTRING",
        3 => "POLYGON",
        4 => "MULTIPOINT",
        5 => "MULTILINESTRING",
        6 => "MULTIPOLYGON",
        7 => "GEOMETRYCOLLECTION",
        8 => "CIRCULARSTRING",
        11 => "FULLGLOBE",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
