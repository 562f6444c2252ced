//! Which records are wanted.

use anyhow::anyhow;
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_format::log::{Op, RecordRef};

use super::LogArgs;

/// Digits of an LSN as it is printed.
const PRINTED: [usize; 3] = [8, 8, 4];

/// The options that choose records.
pub(super) struct Filter {
    from: Lsn,
    to: Lsn,
    ops: Vec<OpPattern>,
    xact: Option<XactId>,
    page: Option<PageId>,
}

impl Filter {
    pub(super) fn new(args: &LogArgs) -> anyhow::Result<Filter> {
        Ok(Filter {
            from: args.from.unwrap_or(Lsn::ZERO),
            to: args.to.unwrap_or(Lsn::new(u32::MAX, u32::MAX, u16::MAX)),
            ops: args.op.clone(),
            xact: args.xact.as_deref().map(xact).transpose()?,
            page: args.page,
        })
    }

    /// True for a block whose records all come after the last one wanted.
    pub(super) fn is_past(&self, block: Lsn) -> bool {
        block > self.to
    }

    /// False for a block whose records all come before the first one wanted.
    pub(super) fn reaches(&self, block: Lsn) -> bool {
        (block.vlf, block.block) >= (self.from.vlf, self.from.block)
    }

    /// Is the record wanted?
    pub(super) fn takes(&self, lsn: Lsn, record: &RecordRef<'_>) -> bool {
        let header = record.header();
        (self.from..=self.to).contains(&lsn)
            && (self.ops.is_empty() || self.ops.iter().any(|pattern| pattern.matches(header.op)))
            && self.xact.is_none_or(|xact| header.xact == xact)
            && self.page.is_none_or(|page| {
                record.payload().page_part().is_some_and(|part| part.page == page)
            })
    }
}

/// Operations by name: a whole one, or all that contain a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpPattern(Vec<Op>);

impl OpPattern {
    fn matches(&self, op: Op) -> bool {
        self.0.contains(&op)
    }
}

/// Reads the name of an operation, or a part of one.
pub(super) fn operation(text: &str) -> Result<OpPattern, String> {
    if let Some(op) = Op::from_name(text) {
        return Ok(OpPattern(vec![op]));
    }
    let word = text.to_ascii_uppercase();
    let ops = (0..=u8::MAX).map(Op).filter(|op| op.name().is_some_and(|name| name.contains(&word)));
    let ops: Vec<Op> = ops.collect();
    if ops.is_empty() || word.is_empty() {
        return Err("no operation has this name, such as LOP_INSERT_ROWS".to_owned());
    }
    Ok(OpPattern(ops))
}

/// Reads an LSN: as printed (hexadecimal, eight, eight and four digits), hexadecimal after 0x, or
/// decimal as DBCC PAGE prints m_lsn; with or without brackets; also as the one decimal number of
/// backups.
pub(super) fn lsn(text: &str) -> Result<Lsn, String> {
    let wrong = || "an LSN is written as 00000031:000000b4:0003, 0x31:b4:3 or 49:180:3".to_owned();
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let (digits, has_prefix) =
        inner.strip_prefix("0x").map_or((inner, false), |digits| (digits, true));
    let parts: Vec<&str> = digits.split(':').collect();
    if let ([number], false) = (&parts[..], has_prefix) {
        return number.parse::<u128>().ok().and_then(from_decimal).ok_or_else(wrong);
    }
    let [vlf, block, slot] = parts[..] else { return Err(wrong()) };
    let is_printed = [vlf, block, slot].iter().zip(PRINTED).all(|(part, len)| part.len() == len);
    let radix = if has_prefix || is_printed { 16 } else { 10 };
    let part = |text: &str| {
        if text.starts_with(['+', '-']) {
            Err(wrong())
        } else {
            u32::from_str_radix(text, radix).map_err(|_| wrong())
        }
    };
    let slot = u16::try_from(part(slot)?).map_err(|_| wrong())?;
    Ok(Lsn::new(part(vlf)?, part(block)?, slot))
}

/// The reverse of [`Lsn::to_decimal`].
fn from_decimal(number: u128) -> Option<Lsn> {
    let vlf = number / 1_000_000_000_000_000;
    let rest = number % 1_000_000_000_000_000;
    let block = rest / 100_000;
    let slot = rest % 100_000;
    Some(Lsn::new(u32::try_from(vlf).ok()?, u32::try_from(block).ok()?, u16::try_from(slot).ok()?))
}

/// Reads a transaction id as fn_dblog prints it.
fn xact(text: &str) -> anyhow::Result<XactId> {
    let parsed = text.split_once(':').and_then(|(high, low)| {
        let high = u16::from_str_radix(high, 16).ok()?;
        let low = u32::from_str_radix(low, 16).ok()?;
        Some(XactId { high, low })
    });
    parsed.ok_or_else(|| anyhow!("{text}: a transaction is written as 0000:000003f1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lsn_may_be_typed_as_any_tool_prints_it() {
        let expected = Lsn::new(0x31, 0xb4, 3);
        for text in [
            "00000031:000000b4:0003",
            "0x31:b4:3",
            "0x00000031:000000b4:0003",
            "49:180:3",
            "(49:180:3)",
        ] {
            assert_eq!(lsn(text), Ok(expected), "{text}");
        }
        assert_eq!(lsn(&expected.to_decimal().to_string()), Ok(expected));
        for text in ["", "1:2", "1:2:3:4", "31:b4:3", "1:2:70000", "-1:2:3", "+1:2:3", "0x1"] {
            assert!(lsn(text).is_err(), "{text}");
        }
    }

    #[test]
    fn operations_are_found_by_name_and_by_a_part_of_it() {
        assert_eq!(operation("LOP_INSERT_ROWS"), Ok(OpPattern(vec![Op::INSERT_ROWS])));
        assert_eq!(operation("insert_rows"), Ok(OpPattern(vec![Op::INSERT_ROWS])));
        assert!(operation("delete").unwrap().matches(Op::DELETE_ROWS));
        assert!(!operation("delete").unwrap().matches(Op::INSERT_ROWS));
        assert!(operation("nothing like it").is_err());
        assert!(operation("").is_err());
    }
}
