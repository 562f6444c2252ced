//! Lanes: the values of one step for all rows of a batch, one vector per representation.
//!
//! ```text
//! representation types
//! ints    i64    bit … bigint, predicates (0 or 1), money (1/10000), and the clocks:
//!                date      days since 0001-01-01        datetime       1/300 s since 1900-01-01
//!                time(n)   100 ns since midnight        smalldatetime  minutes since 1900-01-01
//!                datetime2(n) 100 ns since 0001-01-01
//! wides   i128   decimal, numeric: the value times 10^scale
//! floats  f64    float, and real, which is rounded to f32 after each step
//! spans          text, binary, uniqueidentifier: a place in the batch's arena
//! none           types whose values are not looked at (xml, text, sql_variant …): only NULL or not
//! ```
//!
//! Invariants
//! - Only the vector of the lane's representation is filled; it is as long as `state`, or all are
//!   at least as long as the batch has rows.
//! - A row whose state is not `VALUE` holds the default value, which nobody reads.

use crate::error::{EvalError, EvalResult, NULL, VALUE};

/// Number of a lane in its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reg(pub u16);

/// A place in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// How values of a type are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are the representations in the head of this module")]
pub enum LaneKind {
    Int,
    Wide,
    Float,
    Bytes,
    Opaque,
}

/// The rows of one step.
#[derive(Debug, Default)]
pub struct Lane {
    /// Value, NULL or an error: the bytes of [`error`](crate::error).
    pub state: Vec<u8>,
    /// Values that are integers.
    pub ints: Vec<i64>,
    /// Values that are decimals.
    pub wides: Vec<i128>,
    /// Values that are floats.
    pub floats: Vec<f64>,
    /// Values that are bytes.
    pub spans: Vec<Span>,
}

static EMPTY: Lane = Lane {
    state: Vec::new(),
    ints: Vec::new(),
    wides: Vec::new(),
    floats: Vec::new(),
    spans: Vec::new(),
};

impl Lane {
    /// Forgets all rows.
    #[inline]
    pub fn clear(&mut self) {
        self.state.clear();
        self.ints.clear();
        self.wides.clear();
        self.floats.clear();
        self.spans.clear();
    }

    /// Appends a row.
    #[inline]
    pub fn push<T: Element>(&mut self, outcome: EvalResult<T>) {
        let (state, value) = match outcome {
            Ok(value) => (VALUE, value),
            Err(error) => (error.state(), T::default()),
        };
        self.state.push(state);
        T::of_mut(self).push(value);
    }

    /// Appends a row for each stored value, read by `read`; NULL where there is none.
    #[inline]
    pub(crate) fn push_all<T: Element>(
        &mut self,
        values: &[Option<&[u8]>],
        read: impl Fn(&[u8]) -> EvalResult<T>,
    ) {
        self.extend(values.iter().map(|value| match value {
            Some(bytes) => settle(read(bytes)),
            None => (NULL, T::default()),
        }));
    }

    /// Appends a row for each stored value of `N` bytes, the low ones of a word, read by `read`.
    #[inline]
    pub(crate) fn push_words<T: Element, const N: usize>(
        &mut self,
        words: &[u64],
        read: impl Fn(&[u8]) -> EvalResult<T>,
    ) {
        self.extend(
            words.iter().map(|word| settle(read(word.to_le_bytes().get(..N).unwrap_or_default()))),
        );
    }

    #[inline]
    fn extend<T: Element>(&mut self, rows: impl ExactSizeIterator<Item = (u8, T)>) {
        let before = self.state.len();
        let (states, to) = self.slots::<T>(before + rows.len());
        for ((state, to), row) in states.iter_mut().zip(to).skip(before).zip(rows) {
            (*state, *to) = row;
        }
    }

    /// Appends a NULL.
    #[inline]
    pub fn push_null(&mut self, kind: LaneKind) {
        self.push_state(kind, NULL);
    }

    /// Appends a row without value.
    #[inline]
    pub fn push_state(&mut self, kind: LaneKind, state: u8) {
        self.state.push(state);
        match kind {
            LaneKind::Int => self.ints.push(0),
            LaneKind::Wide => self.wides.push(0),
            LaneKind::Float => self.floats.push(0.0),
            LaneKind::Bytes => self.spans.push(Span::default()),
            LaneKind::Opaque => {}
        }
    }

    /// Makes all rows alike.
    pub fn fill<T: Element>(&mut self, rows: usize, value: T) {
        self.state.clear();
        self.state.resize(rows, VALUE);
        let values = T::of_mut(self);
        values.clear();
        values.resize(rows, value);
    }

    /// Makes all rows NULL, for a reader of any representation.
    pub fn fill_null(&mut self, rows: usize) {
        self.state.clear();
        self.state.resize(rows, NULL);
        self.ints.resize(rows, 0);
        self.wides.resize(rows, 0);
        self.floats.resize(rows, 0.0);
        self.spans.resize(rows, Span::default());
    }

    /// Vectors of `rows` rows, to be overwritten.
    pub fn slots<T: Element>(&mut self, rows: usize) -> (&mut [u8], &mut [T]) {
        self.state.resize(rows, VALUE);
        T::of_mut(self).resize(rows, T::default());
        T::with_state(self)
    }

    /// The value of a row: `None` for NULL.
    pub fn row<T: Element>(&self, row: usize) -> EvalResult<Option<T>> {
        let state = self.state.get(row).copied().ok_or(EvalError::Row)?;
        match (state, EvalError::of_state(state)) {
            (_, Some(error)) => Err(error),
            (NULL, None) => Ok(None),
            _ => T::of(self).get(row).copied().map(Some).ok_or(EvalError::Row),
        }
    }
}

/// All lanes of a batch.
#[derive(Debug, Default)]
pub struct Lanes(Vec<Lane>);

impl Lanes {
    /// Empties all lanes, of which there are at least `count` from now on.
    pub fn reset(&mut self, count: usize) {
        self.0.resize_with(count.max(self.0.len()), Lane::default);
        self.0.iter_mut().for_each(Lane::clear);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// A lane; an empty one for a number out of range, which no program has.
    #[inline]
    pub fn at(&self, reg: Reg) -> &Lane {
        self.0.get(usize::from(reg.0)).unwrap_or(&EMPTY)
    }

    /// A lane to be filled; `None` for a number out of range.
    #[inline]
    pub fn at_mut(&mut self, reg: Reg) -> Option<&mut Lane> {
        self.0.get_mut(usize::from(reg.0))
    }
}

/// A representation of values in a lane.
pub trait Element: Copy + Default {
    /// The values of a lane.
    fn of(lane: &Lane) -> &[Self];
    /// The values of a lane, to be changed.
    fn of_mut(lane: &mut Lane) -> &mut Vec<Self>;
    /// The states and values of a lane, to be changed.
    fn with_state(lane: &mut Lane) -> (&mut [u8], &mut [Self]);
}

macro_rules! element {
    ($type:ty, $field:ident) => {
        impl Element for $type {
            #[inline]
            fn of(lane: &Lane) -> &[Self] {
                &lane.$field
            }
            #[inline]
            fn of_mut(lane: &mut Lane) -> &mut Vec<Self> {
                &mut lane.$field
            }
            #[inline]
            fn with_state(lane: &mut Lane) -> (&mut [u8], &mut [Self]) {
                (&mut lane.state, &mut lane.$field)
            }
        }
    };
}
element!(i64, ints);
element!(i128, wides);
element!(f64, floats);
element!(Span, spans);

/// `out = f(a)` for every row that has a value.
#[inline]
pub(crate) fn map<A: Element, O: Element>(
    out: &mut Lane,
    a: &Lane,
    mut f: impl FnMut(A) -> EvalResult<O>,
) {
    let (states, values) = out.slots::<O>(a.state.len());
    for (((state, value), &a_state), &a_value) in
        states.iter_mut().zip(values).zip(&a.state).zip(A::of(a))
    {
        (*state, *value) =
            if a_state == VALUE { settle(f(a_value)) } else { (a_state, O::default()) };
    }
}

/// `out = f(a, b)` for every row where both have a value.
#[inline]
pub(crate) fn zip<A: Element, B: Element, O: Element>(
    out: &mut Lane,
    (a, b): (&Lane, &Lane),
    mut f: impl FnMut(A, B) -> EvalResult<O>,
) {
    let (states, values) = out.slots::<O>(a.state.len().min(b.state.len()));
    let left = a.state.iter().zip(A::of(a));
    let right = b.state.iter().zip(B::of(b));
    for (((state, value), (&a_state, &a_value)), (&b_state, &b_value)) in
        states.iter_mut().zip(values).zip(left).zip(right)
    {
        let worst = a_state.max(b_state);
        (*state, *value) =
            if worst == VALUE { settle(f(a_value, b_value)) } else { (worst, O::default()) };
    }
}

/// `out = f(a, b, c)` for every row where all three have a value.
#[inline]
pub(crate) fn zip3<A: Element, B: Element, C: Element, O: Element>(
    out: &mut Lane,
    (a, b, c): (&Lane, &Lane, &Lane),
    mut f: impl FnMut(A, B, C) -> EvalResult<O>,
) {
    let (states, values) = out.slots::<O>(a.state.len().min(b.state.len()).min(c.state.len()));
    let operands = a
        .state
        .iter()
        .zip(A::of(a))
        .zip(b.state.iter().zip(B::of(b)))
        .zip(c.state.iter().zip(C::of(c)));
    for ((state, value), ((a, b), c)) in states.iter_mut().zip(values).zip(operands) {
        let worst = *a.0.max(b.0).max(c.0);
        (*state, *value) =
            if worst == VALUE { settle(f(*a.1, *b.1, *c.1)) } else { (worst, O::default()) };
    }
}

#[inline(always)]
fn settle<O: Element>(outcome: EvalResult<O>) -> (u8, O) {
    match outcome {
        Ok(value) => (VALUE, value),
        Err(error) => (error.state(), O::default()),
    }
}
