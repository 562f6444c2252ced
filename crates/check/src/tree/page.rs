//! A page of a tree, read once more and kept apart from its bytes.

use std::collections::HashSet;

use extentdb_base::PageId;

use super::collector::{Node, children_of, has_keys_of};
use super::key::Key;
use super::order::has_key;
use super::plan::{Tree, Trees};
use crate::collector::Collector;
use crate::partial::Partial;
use crate::scan::PageVisitor;
use crate::sound::{LinkedPage, SoundPage};
use crate::unit::UnitIndex;

/// What is known of a sound page.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) id: PageId,
    pub(super) unit: UnitIndex,
    pub(super) prev: PageId,
    pub(super) next: PageId,
    pub(super) level: u8,
    pub(super) is_leaf: bool,
    /// With their slots.
    pub(super) children: Vec<(u16, PageId)>,
    /// The key of each child's slot; empty when keys were not asked for or cannot be read.
    pub(super) separators: Vec<Key>,
    pub(super) low: Option<Key>,
    pub(super) high: Option<Key>,
}

impl Page {
    fn new(page: &LinkedPage<'_>) -> Page {
        let Node { id, unit, prev, next, level, is_leaf, .. } = Node::new(page, &[]);
        Page {
            id,
            unit,
            prev,
            next,
            level,
            is_leaf,
            children: Vec::new(),
            separators: Vec::new(),
            low: None,
            high: None,
        }
    }

    pub(super) fn rung(&self) -> u16 {
        Tree::rung(self.level, self.is_leaf)
    }
}

/// Keeps the page it was shown last.
pub(super) struct TreePageReader<'t> {
    trees: &'t Trees,
    has_keys: bool,
    scratch: Vec<PageId>,
    seen: Option<Page>,
}

impl<'t> TreePageReader<'t> {
    /// With the keys of the pages, or with their links only.
    pub(super) fn new(trees: &'t Trees, has_keys: bool) -> TreePageReader<'t> {
        TreePageReader { trees, has_keys, scratch: Vec::new(), seen: None }
    }

    fn take_keys(&self, page: &SoundPage<'_>, tree: &Tree, seen: &mut Page) {
        let Some(plan) = tree.key.as_ref().filter(|plan| has_keys_of(page, plan)) else { return };
        let key = |entry: crate::sound::Entry<'_>| {
            let mut key = Key::default();
            plan.take(&entry.record(), page.is_leaf, &mut key);
            key
        };
        // The first key of the leftmost page of an upper level means nothing.
        let has_first = page.is_leaf || !seen.prev.is_none();
        let skipped = usize::from(!has_first);
        seen.low = page.entries().find(has_key).filter(|_| has_first).map(key);
        seen.high = page.entries().skip(skipped).rev().find(has_key).map(key);
        if !page.is_leaf {
            seen.separators =
                page.entries().filter(|entry| entry.record().child().is_some()).map(key).collect();
        }
    }
}

impl Collector for TreePageReader<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        let Some(tree) = self.trees.get(page.index) else { return };
        let mut seen = Page::new(&page.linked());
        children_of(page, tree, &mut self.scratch);
        if !self.scratch.is_empty() {
            let child =
                |entry: crate::sound::Entry<'_>| Some((entry.slot, entry.record().child()?));
            seen.children = page.entries().filter_map(child).collect();
        }
        if self.has_keys {
            self.take_keys(page, tree, &mut seen);
        }
        self.seen = Some(seen);
    }

    fn linked(&mut self, page: &LinkedPage<'_>, _: &mut Partial) {
        if self.trees.get(page.index).is_some() {
            self.seen = Some(Page::new(page));
        }
    }
}

/// The page, when it is a sound page of some tree.
pub(super) fn read_page(
    visitor: &mut PageVisitor<'_, TreePageReader<'_>>,
    page: PageId,
) -> Option<Page> {
    visitor.page(page).seen.take()
}

/// Pages that are left out of comparisons, because it is not clear where they belong.
pub(super) type Ambiguous = HashSet<PageId>;
