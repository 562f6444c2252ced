//! The merge of sorted runs, by a heap of their first rows.

use extentdb_base::sync::Arc;
use extentdb_engine::Vector;
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::error::Error;
use crate::key::{KeyEncoder, KeyRows};
use crate::memory::Reservation;
use crate::operator::sort::runs::{Runs, SortedRun};
use crate::spill::RunReader;

/// Runs that are merged.
///
/// Invariant: a heap: the run of a node comes before those of its children. Runs with equal keys
/// come in their order, so that the merge is stable.
pub(super) struct Merge {
    types: Arc<[SqlType]>,
    heads: Vec<Head>,
    /// Numbers of the heads that have rows.
    heap: Vec<usize>,
    /// The root of the heap has no rows in memory: its next ones are read first.
    is_root_empty: bool,
    /// Rows that are taken, and where those of one head end among them.
    taken: Vec<u32>,
    segments: Vec<Segment>,
    _memory: Option<Reservation>,
}

struct Head {
    /// What follows; `None`: all rows are there.
    rest: Option<RunReader>,
    rows: Batch,
    keys: KeyRows,
    /// `None`: rows are in order.
    order: Option<Vec<u32>>,
    at: usize,
}

/// Rows of one head that follow each other.
struct Segment {
    head: usize,
    end: usize,
}

impl Merge {
    pub(super) fn new(runs: Runs, encoder: &mut KeyEncoder) -> Result<Merge, Error> {
        let (runs, types, memory) = runs.into_parts();
        let merge = Merge::of(runs, &types, encoder)?;
        Ok(Merge { _memory: Some(memory), ..merge })
    }

    /// Of runs in the order of the input.
    pub(super) fn of(
        runs: Vec<SortedRun>,
        types: &Arc<[SqlType]>,
        encoder: &mut KeyEncoder,
    ) -> Result<Merge, Error> {
        let mut merge = Merge {
            types: types.clone(),
            heads: Vec::with_capacity(runs.len()),
            heap: Vec::new(),
            is_root_empty: false,
            taken: Vec::new(),
            segments: Vec::new(),
            _memory: None,
        };
        for run in runs {
            let mut head = Head::of(run);
            if !head.is_empty() || head.load(encoder)? {
                merge.heap.push(merge.heads.len());
                merge.heads.push(head);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        Ok(merge)
    }

    /// The next rows.
    pub(super) fn next(&mut self, encoder: &mut KeyEncoder) -> Result<Option<Batch>, Error> {
        self.load_root(encoder)?;
        self.taken.clear();
        self.segments.clear();
        while self.taken.len() < BATCH_ROWS
            && let Some(root) = self.heap.first().copied()
            && let Some(head) = self.heads.get_mut(root)
        {
            self.taken.push(head.row());
            head.at += 1;
            let end = self.taken.len();
            match self.segments.last_mut() {
                Some(last) if last.head == root => last.end = end,
                _ => self.segments.push(Segment { head: root, end }),
            }
            if head.is_empty() {
                self.is_root_empty = true;
                break;
            }
            self.sift_down(0);
        }
        Ok((!self.taken.is_empty()).then(|| self.gathered()))
    }

    fn load_root(&mut self, encoder: &mut KeyEncoder) -> Result<(), Error> {
        if !std::mem::take(&mut self.is_root_empty) {
            return Ok(());
        }
        let root = self.heap.first().and_then(|root| self.heads.get_mut(*root));
        let has_rows = root.map(|head| head.load(encoder)).transpose()?;
        if has_rows != Some(true) && !self.heap.is_empty() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn gathered(&self) -> Batch {
        let column = |(at, ty): (usize, &SqlType)| {
            let mut column = Vector::computed(*ty);
            let mut begin = 0;
            for segment in &self.segments {
                let head = self.heads.get(segment.head);
                let from = head.and_then(|head| head.rows.columns.get(at));
                if let (Some(from), Some(rows)) = (from, self.taken.get(begin..segment.end)) {
                    column.append_rows(from, rows);
                }
                begin = segment.end;
            }
            column
        };
        Batch {
            rows: self.taken.len(),
            columns: self.types.iter().enumerate().map(column).collect(),
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.comes_before(child, first) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }

    /// Does the row of one node of the heap come before that of another one?
    fn comes_before(&self, one: usize, other: usize) -> bool {
        let head = |node: usize| {
            let number = *self.heap.get(node)?;
            Some((self.heads.get(number)?.key(), number))
        };
        head(one) < head(other)
    }
}

impl Head {
    fn of(run: SortedRun) -> Head {
        match run {
            SortedRun::Memory(sorted) => Head {
                rest: None,
                rows: sorted.rows,
                keys: sorted.keys,
                order: Some(sorted.order),
                at: 0,
            },
            SortedRun::File(rest) => Head {
                rest: Some(rest),
                rows: Batch::default(),
                keys: KeyRows::default(),
                order: None,
                at: 0,
            },
        }
    }

    /// Have all rows that are there been taken?
    fn is_empty(&self) -> bool {
        self.at >= self.order.as_ref().map_or(self.rows.rows, Vec::len)
    }

    /// Reads more rows; false: there are none.
    fn load(&mut self, encoder: &mut KeyEncoder) -> Result<bool, Error> {
        let Some(rest) = &mut self.rest else { return Ok(false) };
        let Some(rows) = rest.read()? else { return Ok(false) };
        self.keys = KeyRows::of(encoder, &rows);
        self.rows = rows;
        self.at = 0;
        Ok(true)
    }

    /// The row at hand.
    fn row(&self) -> u32 {
        match &self.order {
            Some(order) => order.get(self.at).copied().unwrap_or_default(),
            None => self.at as u32,
        }
    }

    fn key(&self) -> &[u8] {
        self.keys.get(self.row() as usize)
    }
}
