//! Frames that slide over the rows: each row enters a frame once and leaves it once.

use extentdb_bind::logical::Frame;

use crate::batch::BATCH_ROWS;
use crate::context::Context;
use crate::error::Error;
use crate::operator::poll;
use crate::operator::window::layout::Layout;

/// An aggregate of the rows in a frame.
pub(super) trait Slider {
    /// No row is in the frame.
    fn clear(&mut self);

    /// The row after the last one enters the frame.
    fn add(&mut self, row: usize);

    /// The first row leaves the frame.
    fn remove(&mut self, row: usize);

    /// The result for the rows that are in the frame now, as that of the next row.
    ///
    /// # Errors
    /// It is not in the range of its type.
    fn push_result(&mut self) -> Result<(), Error>;
}

/// Computes the results of all rows. Both ends of a frame move forward only, from row to row.
///
/// # Errors
/// A result is out of range; cancelled.
pub(super) fn slide(
    layout: &Layout,
    frame: &Frame,
    slider: &mut dyn Slider,
    context: &Context<'_>,
) -> Result<(), Error> {
    let mut start = 0;
    let mut end = 0;
    for row in 0..layout.rows() {
        if row % BATCH_ROWS == 0 {
            poll(context)?;
        }
        let rows = layout.frame(frame, row);
        if rows.start >= end {
            slider.clear();
            start = rows.start;
            end = rows.start;
        }
        (start..rows.start).for_each(|row| slider.remove(row));
        (end..rows.end).for_each(|row| slider.add(row));
        start = rows.start;
        end = end.max(rows.end);
        slider.push_result()?;
    }
    Ok(())
}
