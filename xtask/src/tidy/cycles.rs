//! Dependency cycles between the modules of a crate: sets of files that import one another, which
//! are the strongly connected components of the import graph.
//!
//! A module is a file. It depends on the modules that define what its `use` lines and its paths
//! from `crate::`, `super::` and `self::` name; a name that is imported from a module that itself
//! imports it leads to the module that defines it. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::{Complaint, House, SourceFile};

/// A parent and its children may need one another; a larger cycle is one module in disguise.
const CYCLE_MAX: usize = 5;
/// Imports followed from module to module before a name counts as defined where it is.
const IMPORTS_MAX: usize = 8;

pub(super) fn verify(house: &House, complaints: &mut Vec<Complaint>) {
    for package in house.packages() {
        let sources = format!("{package}/src/");
        let graph = Graph::of(house.rust().filter(|file| file.path.starts_with(&sources)));
        for cycle in graph.cycles().into_iter().filter(|cycle| cycle.len() > CYCLE_MAX) {
            let files: Vec<&str> = cycle.iter().map(|at| graph.modules[*at].file).collect();
            let text = format!(
                "a dependency cycle of {} modules; at most {CYCLE_MAX}: {}",
                cycle.len(),
                files.join(" ")
            );
            complaints.push(Complaint { path: files[0].to_owned(), line: 0, text });
        }
    }
}

/// Names from the crate's root: `["page", "header"]`.
type Path = Vec<String>;

/// The modules of a crate and what each imports.
struct Graph<'h> {
    modules: Vec<Module<'h>>,
    by_path: BTreeMap<Path, usize>,
}

struct Module<'h> {
    file: &'h str,
    path: Path,
    /// Names that `use` brings into the module, with what they stand for.
    imports: BTreeMap<String, Path>,
    /// Every path that the module names, from the crate's root.
    named: Vec<Path>,
}

impl<'h> Graph<'h> {
    fn of(files: impl Iterator<Item = &'h SourceFile>) -> Graph<'h> {
        let modules: Vec<Module<'h>> = files
            .filter(|file| file.product_lines().next().is_some())
            .filter(|file| !file.path.contains("/bin/"))
            .map(Module::of)
            .collect();
        let by_path = modules.iter().enumerate().map(|(at, it)| (it.path.clone(), at)).collect();
        Graph { modules, by_path }
    }

    /// The modules that a module depends on.
    fn targets(&self, at: usize) -> BTreeSet<usize> {
        let named = self.modules[at].named.iter();
        named.filter_map(|path| self.defining(path)).filter(|target| *target != at).collect()
    }

    /// The module that defines what a path names.
    fn defining(&self, path: &Path) -> Option<usize> {
        let mut path = path.clone();
        let mut at = None;
        for _ in 0..IMPORTS_MAX {
            let len =
                (0..=path.len()).rev().find(|len| self.by_path.contains_key(&path[..*len]))?;
            let module = self.by_path[&path[..len]];
            at = Some(module);
            let Some(name) = path.get(len) else { break };
            let Some(import) = self.modules[module].imports.get(name) else { break };
            path = import.iter().chain(&path[len + 1..]).cloned().collect();
        }
        at
    }

    /// Sets of more than one module that all depend on one another, each in order.
    fn cycles(&self) -> Vec<Vec<usize>> {
        let targets: Vec<BTreeSet<usize>> =
            (0..self.modules.len()).map(|at| self.targets(at)).collect();
        let reached: Vec<BTreeSet<usize>> =
            (0..targets.len()).map(|at| reached_from(at, &targets)).collect();
        let cycle_of = |at: usize| -> Vec<usize> {
            reached[at].iter().copied().filter(|other| reached[*other].contains(&at)).collect()
        };
        let cycles: BTreeSet<Vec<usize>> = (0..targets.len()).map(cycle_of).collect();
        cycles.into_iter().filter(|cycle| cycle.len() > 1).collect()
    }
}

/// The modules that a module depends on, over others too.
fn reached_from(at: usize, targets: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![at];
    while let Some(next) = open.pop() {
        open.extend(targets[next].iter().copied().filter(|target| reached.insert(*target)));
    }
    reached
}

impl<'h> Module<'h> {
    fn of(file: &'h SourceFile) -> Module<'h> {
        let path = module_path(&file.path);
        let mut module = Module {
            file: &file.path,
            path,
            imports: BTreeMap::new(),
            named: Vec::new(),
        };
        let text: Vec<&str> = file.product_lines().map(|(_, line)| line).collect();
        module.read(&text.join("\n"));
        module
    }

    /// Collects what `use` items import, and the paths in the rest of the code.
    fn read(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, tree, after)) = next_use(rest) {
            self.read_code(before);
            for (name, path) in leaves(tree) {
                let Some(path) = self.absolute(&path) else { continue };
                self.named.push(path.clone());
                self.imports.insert(name, path);
            }
            rest = after;
        }
        self.read_code(rest);
    }

    /// Paths from `crate::`, `super::` and `self::` outside of `use` items.
    fn read_code(&mut self, text: &str) {
        for start in ["crate::", "super::", "self::"] {
            for (at, _) in text.match_indices(start) {
                let is_whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':');
                let end = text[at..]
                    .find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                    .map_or(text.len(), |len| at + len);
                let names = text[at..end].split("::").filter(|name| !name.is_empty());
                let path: Path = names.map(str::to_owned).collect();
                self.named.extend(self.absolute(&path).filter(|_| is_whole));
            }
        }
    }

    /// A path as seen from the crate's root; `None` when it leads to another crate.
    fn absolute(&self, path: &[String]) -> Option<Path> {
        let mut base = self.path.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            "std" | "core" | "alloc" => return None,
            name if name.starts_with("extentdb_") => return None,
            // A child of this module, or another crate: that leads back here and counts as nothing.
            _ => {}
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }
}

/// `["page", "header"]` of `crates/format/src/page/header.rs`.
fn module_path(file: &str) -> Path {
    let inside = file.split_once("/src/").map_or(file, |(_, inside)| inside);
    let names = inside.strip_suffix(".rs").unwrap_or(inside).split('/');
    names.filter(|name| !matches!(*name, "lib" | "main" | "mod")).map(str::to_owned).collect()
}

/// The first `use` item: the text before it, its tree, the text after it.
fn next_use(text: &str) -> Option<(&str, &str, &str)> {
    let is_start = |at: &usize| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line == "pub" || (line.starts_with("pub(") && line.ends_with(')'))
    };
    let at = text.match_indices("use ").map(|(at, _)| at).find(is_start)?;
    let end = at + text[at..].find(';')?;
    Some((&text[..at], &text[at + "use ".len()..end], &text[end + 1..]))
}

/// The names that a tree of imports brings in, each with its path.
fn leaves(tree: &str) -> Vec<(String, Path)> {
    let tree = tree.trim();
    if let Some((head, group)) = tree.split_once('{') {
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        let head: Path =
            head.split("::").map(str::trim).filter(|it| !it.is_empty()).map(Into::into).collect();
        let inner = branches(group).into_iter().flat_map(leaves);
        return inner
            .map(|(name, path)| (name, head.iter().cloned().chain(path).collect()))
            .collect();
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim())),
        None => (tree, None),
    };
    let path: Path = path.split("::").map(|name| name.trim().to_owned()).collect();
    let Some(name) = alias.or(path.last().map(String::as_str)) else { return Vec::new() };
    let name = name.to_owned();
    // `use a::{self, B}` names `a`.
    let path = match path.as_slice() {
        [only] if only == "self" => Vec::new(),
        _ => path,
    };
    vec![(name, path)]
}

/// Parts of a group, split at the commas outside of inner groups.
fn branches(group: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let house = House::of(files);
        let graph = Graph::of(house.rust());
        let name = |at: usize| graph.modules[at].path.join("::");
        graph.cycles().into_iter().map(|cycle| cycle.into_iter().map(name).collect()).collect()
    }

    #[test]
    fn modules_that_import_one_another_are_a_cycle() {
        let found = cycles(&[
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;"),
            ("crates/x/src/a.rs", "use crate::b::{self, B};\nuse std::fmt;"),
            ("crates/x/src/b.rs", "fn f() -> crate::c::C {}"),
            ("crates/x/src/c.rs", "use super::a::A as Other;"),
        ]);
        assert_eq!(found, [["a", "b", "c"]]);
    }

    #[test]
    fn a_name_that_is_passed_on_belongs_to_the_module_that_defines_it() {
        let found = cycles(&[
            ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;"),
            ("crates/x/src/a.rs", "use crate::B;"),
            ("crates/x/src/b.rs", "struct B;"),
        ]);
        assert_eq!(found, Vec::<Vec<String>>::new());
    }

    #[test]
    fn tests_and_comments_import_nothing() {
        let found = cycles(&[
            ("crates/x/src/a.rs", "use crate::b::B;"),
            (
                "crates/x/src/b.rs",
                "// use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }",
            ),
        ]);
        assert_eq!(found, Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_parent_and_its_child_may_need_one_another() {
        let found = cycles(&[
            ("crates/x/src/a.rs", "use b::B;\nuse c::C;"),
            ("crates/x/src/a/b.rs", "use super::A;"),
            ("crates/x/src/a/c.rs", "use super::A;"),
            ("crates/x/src/a/d.rs", "use super::A;"),
        ]);
        assert_eq!(found, [["a", "a::b", "a::c"]]);
    }

    /// The complaints about a crate whose modules import one another in a ring.
    fn complaints_about_ring(modules: usize) -> Vec<Complaint> {
        let file = |at: usize| {
            let next = (at + 1) % modules;
            (format!("crates/x/src/m{at}.rs"), format!("use crate::m{next}::M{next};"))
        };
        let files: Vec<(String, String)> = (0..modules).map(file).collect();
        let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        let files: Vec<(&str, &str)> = files.chain([("crates/x/Cargo.toml", "")]).collect();
        let mut complaints = Vec::new();
        verify(&House::of(&files), &mut complaints);
        complaints
    }

    #[test]
    fn a_cycle_of_six_modules_is_a_complaint_and_one_of_five_is_not() {
        assert_eq!(complaints_about_ring(CYCLE_MAX), []);
        let complaints = complaints_about_ring(CYCLE_MAX + 1);
        assert_eq!(complaints.len(), 1);
        assert_eq!(complaints[0].path, "crates/x/src/m0.rs");
        assert!(complaints[0].text.starts_with("a dependency cycle of 6 modules; at most 5: "));
    }
}
