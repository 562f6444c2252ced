//! The file of tables, section by section.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Result, ensure};

use super::alike::alike;
use super::source::{Class, Ideographs, Language, Own, Source, Table};

const UNITS_PER_PAGE: usize = 32;
const PAGES: usize = 0x1_0000 / UNITS_PER_PAGE;
const ENTRY_BYTES: usize = 5;
const NAME_BYTES: usize = 24;
const SECTIONS: usize = 9;
const SURROGATES: std::ops::Range<u16> = 0xD800..0xE000;
/// Weights of dense ranks: two bytes, neither below 2 nor above 255.
const BYTE_VALUES: usize = 254;

// Classes of an entry, 0 being no weight, and how much of it is doubted: see
// `docs/format/collation.md`.
const MARK: u8 = 1;
const LETTER: u8 = 2;
const SPECIAL: u8 = 3;
const IDEOGRAPH: u8 = 4;
const REPEAT: u8 = 5;
const KANA: u8 = 6;
const EXPANSION: u8 = 7;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Doubt {
    #[default]
    None = 0,
    /// Primary weights are certain.
    Ties = 1,
    /// It has a primary weight.
    Position = 2,
    All = 3,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Entry {
    weight: [u8; 2],
    dw: u8,
    cw: u8,
    class: u8,
    doubts: [u8; 2],
}

impl Entry {
    fn bytes(self) -> [u8; ENTRY_BYTES] {
        let flags = self.class | self.doubts[0] << 4 | self.doubts[1] << 6;
        [self.weight[0], self.weight[1], self.dw, self.cw, flags]
    }

    fn next(self) -> Entry {
        let weight = u16::from_be_bytes(self.weight).wrapping_add(1).to_be_bytes();
        Entry { weight, ..self }
    }
}

/// All expansions of all tables, each once.
#[derive(Default)]
struct Expansions {
    pairs: Vec<[u16; 2]>,
    known: HashMap<[u16; 2], usize>,
}

impl Expansions {
    fn entry(&mut self, pair: [u16; 2]) -> Entry {
        let next = self.pairs.len();
        let at = *self.known.entry(pair).or_insert(next);
        if at == next {
            self.pairs.push(pair);
        }
        Entry {
            weight: (at as u16).to_be_bytes(),
            class: EXPANSION,
            ..Entry::default()
        }
    }
}

type Entries = BTreeMap<u16, Entry>;

/// The bytes of the file.
pub(super) fn build(source: &Source) -> Result<Vec<u8>> {
    let mut expansions = Expansions::default();
    let ranks = Ranks::new(source);
    let tables = [
        entries_2000(source, &ranks, &mut expansions),
        entries_2008(source, &mut expansions)?,
        entries_10(source, &mut expansions)?,
    ];
    let languages: Vec<u8> = languages(&source.languages, &ranks, &mut expansions)?;
    let mut pool = Pool::default();
    let mut file = File::default();
    for table in &tables {
        let index = pool.index(table);
        file.section(&index);
    }
    file.section(&pool.full);
    file.section(&pool.linear);
    file.section(
        &expansions.pairs.iter().flatten().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>(),
    );
    file.section(&languages);
    file.section(&ideographs(&source.ideographs)?);
    file.section(&source.sql_order.concat());
    file.finish()
}

#[derive(Default)]
struct File {
    offsets: Vec<u32>,
    body: Vec<u8>,
}

impl File {
    const HEAD_BYTES: usize = 8 + 4 * SECTIONS;

    fn section(&mut self, bytes: &[u8]) {
        self.offsets.push((Self::HEAD_BYTES + self.body.len()) as u32);
        self.body.extend_from_slice(bytes);
    }

    fn finish(self) -> Result<Vec<u8>> {
        ensure!(self.offsets.len() == SECTIONS, "the file has {SECTIONS} sections");
        let mut bytes = b"EDBCOLL1".to_vec();
        bytes.extend(self.offsets.iter().flat_map(|offset| offset.to_le_bytes()));
        bytes.extend(self.body);
        Ok(bytes)
    }
}

/// Pages of entries, shared by the tables.
#[derive(Default)]
struct Pool {
    full: Vec<u8>,
    linear: Vec<u8>,
    known: HashMap<Vec<Entry>, u16>,
    lines: HashMap<Entry, u16>,
}

impl Pool {
    /// Per page a number: 0 is empty, with the highest bit a linear page, else a full page, counted
    /// from 1.
    fn index(&mut self, entries: &Entries) -> Vec<u8> {
        let mut index = Vec::with_capacity(PAGES * 2);
        for page in 0..PAGES {
            let first = page * UNITS_PER_PAGE;
            let of = |at: usize| entries.get(&(at as u16)).copied().unwrap_or_default();
            let page: Vec<Entry> = (first..first + UNITS_PER_PAGE).map(of).collect();
            index.extend(self.number(page).to_le_bytes());
        }
        index
    }

    fn number(&mut self, page: Vec<Entry>) -> u16 {
        if page.iter().all(|entry| *entry == Entry::default()) {
            return 0;
        }
        if page.windows(2).all(|pair| pair[1] == pair[0].next())
            && matches!(page[0].class, LETTER | IDEOGRAPH)
        {
            let next = self.lines.len() as u16;
            return 0x8000
                | *self.lines.entry(page[0]).or_insert_with(|| {
                    self.linear.extend(page[0].bytes());
                    next
                });
        }
        let next = self.known.len() as u16 + 1;
        let full = &mut self.full;
        *self.known.entry(page).or_insert_with_key(|page| {
            full.extend(page.iter().flat_map(|entry| entry.bytes()));
            next
        })
    }
}

/// The dense ranks of the table of 2000, with room for the letters of languages, which only the
/// newest table places.
struct Ranks {
    /// Weights of its own characters by rank.
    own: HashMap<u32, [u8; 2]>,
    /// Weights of letters of languages by SM and AW of the newest table.
    tailored: HashMap<u16, [u8; 2]>,
}

impl Ranks {
    fn new(source: &Source) -> Ranks {
        let anchors = anchors(source);
        let mut keys: BTreeSet<(u32, u16)> = BTreeSet::new();
        keys.extend(
            source
                .win2000
                .lines
                .values()
                .filter(|line| has_rank(line.class))
                .map(|line| (line.rank, 0)),
        );
        let mut tailored: BTreeMap<u16, (u32, u16)> = BTreeMap::new();
        for (_, own) in source.languages.iter().flat_map(|language| &language.entries) {
            let Own::Weight { sm: sm @ 7.., aw, .. } = *own else { continue };
            let wanted = u16::from_be_bytes([sm, aw]);
            let Some((&known, &rank)) = anchors.range(..=wanted).next_back() else { continue };
            tailored.insert(wanted, (rank, if known == wanted { 0 } else { wanted }));
        }
        keys.extend(tailored.values());
        let weight = |at: usize| [(2 + at / BYTE_VALUES) as u8, (2 + at % BYTE_VALUES) as u8];
        let dense: HashMap<(u32, u16), [u8; 2]> =
            keys.into_iter().enumerate().map(|(at, key)| (key, weight(at))).collect();
        let own = dense
            .iter()
            .filter(|(key, _)| key.1 == 0)
            .map(|(key, weight)| (key.0, *weight))
            .collect();
        let tailored = tailored
            .into_iter()
            .filter_map(|(wanted, key)| Some((wanted, *dense.get(&key)?)))
            .collect();
        Ranks { own, tailored }
    }
}

fn has_rank(class: Class) -> bool {
    matches!(class, Class::Letter | Class::Kana)
}

/// SM and AW of the newest table with the rank of 2000, for characters that both order alike.
fn anchors(source: &Source) -> BTreeMap<u16, u32> {
    let alike = alike(&common_ranks(&source.win2000, &source.win10));
    let mut anchors = BTreeMap::new();
    for code in alike {
        if let (Some(old), Some(new)) =
            (source.win2000.lines.get(&code), source.win10.lines.get(&code))
            && new.class == Class::Letter
        {
            anchors.insert(new.rank as u16, old.rank);
        }
    }
    anchors
}

/// Ranks in both tables of the characters that have one there.
fn common_ranks(a: &Table, b: &Table) -> BTreeMap<u16, [u32; 2]> {
    let has_rank = |class: Class| has_rank(class) || class == Class::Ideograph;
    let of = |(code, line): (&u16, &super::source::Line)| {
        let other =
            b.lines.get(code).filter(|other| has_rank(other.class) && has_rank(line.class))?;
        Some((*code, [line.rank, other.rank]))
    };
    a.lines.iter().filter_map(of).collect()
}

/// Characters of one table, and how far another one agrees with what it says of them.
fn differences(table: &Table, other: &Table) -> BTreeMap<u16, Doubt> {
    let alike = alike(&common_ranks(table, other));
    let codes: BTreeSet<u16> = table.lines.keys().chain(other.lines.keys()).copied().collect();
    let of = |code: u16| match (table.lines.get(&code), other.lines.get(&code)) {
        (Some(a), Some(b)) if has_position(a.class) && has_position(b.class) => {
            let is_tied = a.dw == b.dw && a.cw == b.cw;
            match (alike.contains(&code), is_tied) {
                (false, _) => Doubt::Position,
                (true, false) => Doubt::Ties,
                (true, true) => Doubt::None,
            }
        }
        (Some(a), Some(b))
            if a.class == b.class && a.dw == b.dw && (a.class == Class::Mark || a.aw == b.aw) =>
        {
            Doubt::None
        }
        _ => Doubt::All,
    };
    let has_expansion =
        |code: u16| table.expansions.contains_key(&code) || other.expansions.contains_key(&code);
    let mut found: BTreeMap<u16, Doubt> = codes
        .into_iter()
        .filter(|code| !has_expansion(*code))
        .map(|code| (code, of(code)))
        .collect();
    let expanding: BTreeSet<u16> =
        table.expansions.keys().chain(other.expansions.keys()).copied().collect();
    for code in expanding {
        let is_same = table.expansions.get(&code) == other.expansions.get(&code);
        found.insert(code, if is_same { Doubt::None } else { Doubt::All });
    }
    found
}

fn has_position(class: Class) -> bool {
    has_rank(class) || class == Class::Ideograph
}

fn is_han(code: u16) -> bool {
    matches!(code, 0x2E80..=0x2FDF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF)
}

/// Entries of the table of 2000: the first doubts are those of version 80, the second ones those of
/// version 90.
fn entries_2000(source: &Source, ranks: &Ranks, expansions: &mut Expansions) -> Entries {
    let table = &source.win2000;
    let differing = differences(table, &source.win2008);
    let mut entries = Entries::new();
    for (&code, line) in &table.lines {
        let repeats = source.win10.lines.get(&code).is_some_and(is_repeat);
        let class = if repeats { REPEAT } else { class_of(line.class) };
        let weight = match class {
            SPECIAL => [0, line.aw.unwrap_or(0)],
            REPEAT => [0, 0],
            _ => ranks.own.get(&line.rank).copied().unwrap_or_default(),
        };
        let doubt = match class {
            REPEAT => Doubt::All,
            _ if is_han(code) => Doubt::Position,
            // Measured, but not confirmed: the next table does that or does not.
            _ if line.is_doubted => differing.get(&code).copied().unwrap_or_default(),
            _ => Doubt::None,
        };
        let newer = doubt.max(differing.get(&code).copied().unwrap_or_default());
        let doubts = [doubt as u8, newer as u8];
        entries.insert(code, Entry { weight, dw: line.dw, cw: line.cw, class, doubts });
    }
    for (&code, &pair) in &table.expansions {
        let newer = differing.get(&code).copied().unwrap_or_default() as u8;
        entries.insert(code, Entry { doubts: [0, newer], ..expansions.entry(pair) });
    }
    for (code, doubt) in differing {
        entries.entry(code).or_insert(Entry { doubts: [0, doubt as u8], ..Entry::default() });
    }
    // Version 80 skips surrogates; version 90 is said to order them.
    entries.extend(surrogates(source, [0, Doubt::All as u8]));
    entries
}

fn entries_2008(source: &Source, expansions: &mut Expansions) -> Result<Entries> {
    let differing = differences(&source.win2008, &source.win2000);
    let mut entries =
        entries_new(&source.win2008, expansions, |code, line| match line.note.as_str() {
            "w10" if line.class == Class::Kana && !is_repeat(line) => Doubt::None,
            // Taken from the newest table: certain where the oldest one says the same.
            "w10" => differing.get(&code).copied().unwrap_or_default(),
            "08 jamo" => Doubt::Position,
            _ if line.class == Class::Kana && is_repeat(line) => Doubt::All,
            _ => Doubt::None,
        })?;
    for code in &source.win2008.not_understood {
        if let Some(line) = source.win10.lines.get(code) {
            let doubts = [Doubt::All as u8; 2];
            entries.insert(*code, Entry { doubts, ..entry_new(line)? });
        }
    }
    entries.extend(surrogates(source, [Doubt::All as u8; 2]));
    Ok(entries)
}

fn entries_10(source: &Source, expansions: &mut Expansions) -> Result<Entries> {
    let differing = differences(&source.win10, &source.win2008);
    let mut entries = entries_new(&source.win10, expansions, |code, line| {
        let differing = differing.get(&code).copied().unwrap_or_default();
        if is_repeat(line) || SURROGATES.contains(&code) { Doubt::All } else { differing }
    })?;
    // Jamo follow rules of their own here; the older table has plain weights for most of them.
    for (code, line) in source.win10.lines.iter().filter(|(_, line)| line.class == Class::Jamo) {
        let plain = source.win2008.lines.get(code).unwrap_or(line);
        let doubts = [Doubt::All as u8; 2];
        entries.insert(*code, Entry { doubts, class: LETTER, ..entry_new(plain)? });
    }
    for (code, doubt) in differing {
        let doubts = [doubt as u8; 2];
        entries.entry(code).or_insert(Entry { doubts, ..Entry::default() });
    }
    Ok(entries)
}

fn surrogates(source: &Source, doubts: [u8; 2]) -> Entries {
    let lines = source.win10.lines.range(SURROGATES);
    lines
        .filter_map(|(code, line)| Some((*code, Entry { doubts, ..entry_new(line).ok()? })))
        .collect()
}

fn entries_new(
    table: &Table,
    expansions: &mut Expansions,
    doubt: impl Fn(u16, &super::source::Line) -> Doubt,
) -> Result<Entries> {
    let mut entries = Entries::new();
    for (&code, line) in &table.lines {
        let doubts = [doubt(code, line) as u8; 2];
        entries.insert(code, Entry { doubts, ..entry_new(line)? });
    }
    for (&code, &pair) in &table.expansions {
        entries.insert(code, expansions.entry(pair));
    }
    Ok(entries)
}

fn entry_new(line: &super::source::Line) -> Result<Entry> {
    let class = if is_repeat(line) { REPEAT } else { class_of(line.class) };
    let weight = match class {
        SPECIAL => [0, line.aw.unwrap_or(0)],
        REPEAT => [0, 0],
        _ => (line.rank as u16).to_be_bytes(),
    };
    let is_prefix = matches!(class, LETTER | KANA) && matches!(weight, [0xFD | 0xFE, 0xFF]);
    ensure!(!is_prefix, "the weight of a letter begins those of ideographs: {line:?}");
    let has_zero = matches!(class, LETTER | KANA | IDEOGRAPH) && weight.contains(&0);
    ensure!(!has_zero || line.class == Class::Jamo, "a weight has a zero byte: {line:?}");
    Ok(Entry { weight, dw: line.dw, cw: line.cw, class, doubts: [0; 2] })
}

fn is_repeat(line: &super::source::Line) -> bool {
    line.class == Class::Kana && line.aw.is_some_and(|aw| aw < 2)
}

fn class_of(class: Class) -> u8 {
    match class {
        Class::Mark => MARK,
        Class::Kana => KANA,
        Class::Ideograph => IDEOGRAPH,
        Class::Special => SPECIAL,
        Class::Letter | Class::Jamo => LETTER,
    }
}

/// Per language its name and the offsets of its entries by the weights of 2000 and by those of 2008
/// and later.
fn languages(
    languages: &[Language],
    ranks: &Ranks,
    expansions: &mut Expansions,
) -> Result<Vec<u8>> {
    let mut directory = (languages.len() as u32).to_le_bytes().to_vec();
    let head = directory.len() + languages.len() * (NAME_BYTES + 32);
    let mut body = Vec::new();
    for language in languages {
        directory.extend(name(&language.name)?);
        directory.extend(ascii_filter(language).to_le_bytes());
        directory.extend(row_filter(language).to_le_bytes());
        for is_old in [true, false] {
            directory.extend(((head + body.len()) as u32).to_le_bytes());
            body.extend(entries_of_language(language, is_old.then_some(ranks), expansions)?);
        }
    }
    directory.extend(body);
    Ok(directory)
}

/// A bit per ASCII character that has an entry or begins a sequence of ASCII characters.
fn ascii_filter(language: &Language) -> u128 {
    let is_ascii = |units: &&[u16]| units.iter().all(|unit| *unit < 0x80);
    let units = language.entries.iter().map(|(units, _)| units.as_slice());
    units.filter(is_ascii).fold(0, |filter, units| filter | 1 << units[0])
}

/// A bit per row of 32 code units below U+07E0 in which an entry or a sequence begins; the highest
/// bit for all others.
fn row_filter(language: &Language) -> u64 {
    let units = language.entries.iter().map(|(units, _)| units[0]);
    units.fold(0, |filter, unit| filter | 1 << (unit / 32).min(63))
}

fn name(text: &str) -> Result<[u8; NAME_BYTES]> {
    ensure!(text.len() <= NAME_BYTES, "the name {text} is too long");
    let mut name = [0; NAME_BYTES];
    name[..text.len()].copy_from_slice(text.as_bytes());
    Ok(name)
}

/// Counts of single units and of sequences, then both: units in order; sequences by first unit,
/// long ones first.
fn entries_of_language(
    language: &Language,
    ranks: Option<&Ranks>,
    expansions: &mut Expansions,
) -> Result<Vec<u8>> {
    let mut entries = language.entries.clone();
    entries.sort_by_key(|(units, _)| (units[0], std::cmp::Reverse(units.len()), units.clone()));
    let mut singles = Vec::new();
    let mut sequences = Vec::new();
    for (units, own) in &entries {
        ensure!(units.len() <= 4, "a sequence of {language} is too long", language = language.name);
        let entry = match *own {
            Own::Expansion(pair) => expansions.entry(pair),
            Own::Weight { sm: 1, dw, cw, .. } => Entry { dw, cw, class: MARK, ..Entry::default() },
            Own::Weight { sm: 3, dw, cw, .. } => {
                Entry { dw, cw, class: REPEAT, doubts: [3; 2], ..Entry::default() }
            }
            Own::Weight { sm, aw, dw, cw } => {
                let weight = match ranks {
                    None => [sm, aw],
                    Some(ranks) => ranks.tailored[&u16::from_be_bytes([sm, aw])],
                };
                Entry { weight, dw, cw, class: LETTER, ..Entry::default() }
            }
        };
        if let [unit] = units.as_slice() {
            singles.push((*unit, entry));
        } else {
            sequences.push((units, entry));
        }
    }
    let mut bytes = Vec::new();
    bytes.extend((singles.len() as u16).to_le_bytes());
    bytes.extend((sequences.len() as u16).to_le_bytes());
    for (unit, entry) in singles {
        bytes.extend(unit.to_le_bytes());
        bytes.extend(entry.bytes());
    }
    for (units, entry) in sequences {
        for at in 0..4 {
            bytes.extend(units.get(at).copied().unwrap_or(0).to_le_bytes());
        }
        bytes.push(units.len() as u8);
        bytes.extend(entry.bytes());
    }
    Ok(bytes)
}

/// Per order of ideographs its name, offset and number of bytes of a primary weight; then its
/// pages.
fn ideographs(orders: &[Ideographs]) -> Result<Vec<u8>> {
    let mut directory = (orders.len() as u32).to_le_bytes().to_vec();
    let head = directory.len() + orders.len() * (NAME_BYTES + 8);
    let mut body: Vec<u8> = Vec::new();
    for order in orders {
        directory.extend(name(&order.name)?);
        directory.extend(((head + body.len()) as u32).to_le_bytes());
        directory.extend(if order.has_three_bytes { 3u32 } else { 2 }.to_le_bytes());
        let mut index: Vec<u8> = Vec::new();
        let mut pages: Vec<u8> = Vec::new();
        for page in 0..PAGES {
            let first = page * UNITS_PER_PAGE;
            let units = (first..first + UNITS_PER_PAGE)
                .map(|unit| order.weights.get(&(unit as u16)).copied());
            let units: Vec<[u8; 3]> = units.map(Option::unwrap_or_default).collect();
            let number = if units.iter().all(|unit| *unit == [0; 3]) {
                0u16
            } else {
                pages.extend(units.iter().flatten());
                (pages.len() / (3 * UNITS_PER_PAGE)) as u16
            };
            index.extend(number.to_le_bytes());
        }
        body.extend(index);
        body.extend(pages);
    }
    directory.extend(body);
    Ok(directory)
}
