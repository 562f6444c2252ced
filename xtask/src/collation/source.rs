//! The tables of weights as their files hold them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Class of a character in the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Mark,
    Kana,
    Jamo,
    Ideograph,
    Special,
    Letter,
}

/// A line of a table of weights.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) class: Class,
    /// `None` where the table does not know SM and AW, or they mean nothing.
    pub(super) aw: Option<u8>,
    /// SM is not known: only the rank was measured.
    pub(super) is_doubted: bool,
    pub(super) rank: u32,
    pub(super) dw: u8,
    pub(super) cw: u8,
    pub(super) note: String,
}

/// One generation of tables.
#[derive(Default)]
pub(super) struct Table {
    pub(super) lines: BTreeMap<u16, Line>,
    pub(super) expansions: BTreeMap<u16, [u16; 2]>,
    /// Characters whose measured key was not understood.
    pub(super) not_understood: Vec<u16>,
}

/// What a language says of a character or a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Own {
    Weight { sm: u8, aw: u8, dw: u8, cw: u8 },
    Expansion([u16; 2]),
}

/// A language with letters of its own.
#[derive(Default)]
pub(super) struct Language {
    pub(super) name: String,
    pub(super) entries: Vec<(Vec<u16>, Own)>,
}

/// An order of ideographs.
pub(super) struct Ideographs {
    pub(super) name: String,
    /// Primary weights of SM C0 to F9 have three bytes: DW is the third.
    pub(super) has_three_bytes: bool,
    /// SM, AW and DW.
    pub(super) weights: BTreeMap<u16, [u8; 3]>,
}

/// All of it.
pub(super) struct Source {
    pub(super) win2000: Table,
    pub(super) win2008: Table,
    pub(super) win10: Table,
    pub(super) languages: Vec<Language>,
    pub(super) ideographs: Vec<Ideographs>,
    /// Class, accent, case and a mark per byte: see `sql_order`.
    pub(super) sql_order: Vec<[u8; 4]>,
}

impl Source {
    pub(super) fn read(folder: &Path) -> Result<Source> {
        let table = |name: &str| -> Result<Table> {
            let mut table = weights(&text(folder, &format!("weights-{name}.tsv"))?)?;
            table.expansions = expansions(&text(folder, &format!("expansions-{name}.tsv"))?)?;
            Ok(table)
        };
        Ok(Source {
            win2000: table("win2000")?,
            win2008: table("win2008")?,
            win10: table("win10")?,
            languages: languages(&text(folder, "tailoring-win10.tsv")?)?,
            ideographs: ideographs(folder)?,
            sql_order: sql_order(&text(folder, "sqlorder-52.tsv")?)?,
        })
    }
}

fn text(folder: &Path, name: &str) -> Result<String> {
    std::fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"))
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn unit(text: &str) -> Result<u16> {
    u16::from_str_radix(text, 16).with_context(|| format!("no code unit: {text}"))
}

fn weights(text: &str) -> Result<Table> {
    let mut table = Table::default();
    for row in rows(text) {
        let [code, class, sm, aw, rank, dw, cw, note @ ..] = row.as_slice() else {
            bail!("a line of weights has too few columns: {row:?}");
        };
        let class = match *class {
            "1" => Class::Mark,
            "3" => Class::Kana,
            "4" => Class::Jamo,
            "5" => Class::Ideograph,
            "6" => Class::Special,
            "7" => Class::Letter,
            other => bail!("no class: {other}"),
        };
        let line = Line {
            class,
            aw: aw.parse().ok(),
            is_doubted: *sm == "?",
            rank: rank.parse()?,
            dw: dw.parse()?,
            cw: cw.parse()?,
            note: note.first().copied().unwrap_or_default().to_owned(),
        };
        table.lines.insert(unit(code)?, line);
    }
    for line in text.lines().filter(|line| line.contains("not understood")) {
        table
            .not_understood
            .push(unit(line.trim_start_matches("# ").get(..4).unwrap_or_default())?);
    }
    Ok(table)
}

fn expansions(text: &str) -> Result<BTreeMap<u16, [u16; 2]>> {
    rows(text)
        .map(|row| match row.as_slice() {
            [code, first, second, ..] => Ok((unit(code)?, [unit(first)?, unit(second)?])),
            _ => bail!("an expansion has too few columns: {row:?}"),
        })
        .collect()
}

fn languages(text: &str) -> Result<Vec<Language>> {
    let mut languages: Vec<Language> = Vec::new();
    for row in rows(text) {
        let [name, _, sequence, sm, aw, dw, cw, ..] = row.as_slice() else {
            bail!("a line of a language has too few columns: {row:?}");
        };
        let units = sequence.split('+').map(unit).collect::<Result<Vec<u16>>>()?;
        let own = if *sm == "=" || *sm == "2" {
            Own::Expansion([unit(aw)?, unit(dw)?])
        } else {
            Own::Weight {
                sm: sm.parse()?,
                aw: aw.parse()?,
                dw: dw.parse()?,
                cw: cw.parse()?,
            }
        };
        if languages.last().is_none_or(|last| last.name != *name) {
            languages.push(Language { name: (*name).to_owned(), ..Language::default() });
        }
        if let Some(last) = languages.last_mut() {
            last.entries.push((units, own));
        }
    }
    languages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(languages)
}

fn ideographs(folder: &Path) -> Result<Vec<Ideographs>> {
    let mut orders = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        let name =
            file.strip_prefix("ideographs-win10-").and_then(|rest| rest.strip_suffix(".tsv"));
        let Some(name) = name else { continue };
        let text = text(folder, &file)?;
        let mut weights = BTreeMap::new();
        for row in rows(&text) {
            let [code, sm, aw, dw, ..] = row.as_slice() else {
                bail!("an ideograph has too few columns: {row:?}");
            };
            weights.insert(unit(code)?, [sm.parse()?, aw.parse()?, dw.parse()?]);
        }
        orders.push(Ideographs {
            name: name.to_owned(),
            has_three_bytes: text.contains("flags=1"),
            weights,
        });
    }
    orders.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(orders)
}

/// Class, accent and case of each byte; marked 1 where the position is inferred, 2 for a ligature,
/// 3 for a byte without a row.
fn sql_order(text: &str) -> Result<Vec<[u8; 4]>> {
    let mut order = vec![[0, 0, 0, 3]; 256];
    for row in rows(text) {
        let [byte, class, accent, case, note @ ..] = row.as_slice() else {
            bail!("a byte has too few columns: {row:?}");
        };
        let mark = match note.first().copied().unwrap_or_default() {
            "" => 0,
            "inferred" => 1,
            note if note.starts_with("after ") => 2,
            other => bail!("a byte has an unknown note: {other}"),
        };
        order[usize::from(unit(byte)?)] = [class.parse()?, accent.parse()?, case.parse()?, mark];
    }
    Ok(order)
}
