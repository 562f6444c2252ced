//! Records: the rows, index entries and fragments on a page.
