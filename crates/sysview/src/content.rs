//! What a view says of its feature.

/// What a view says of its feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// It has the rows that there are.
    Filled,
    /// It is rightly empty: the server does not have its feature.
    Empty,
    /// The server has its feature, or may have it, and the view is not filled yet: reading it is
    /// refused by its name.
    Refused,
}
