//! Lock modes: the compatibility matrix, and the result of a conversion.
//!
//! ```text
//!           NL ScS ScM   S   U   X  IS  IU  IX SIU SIX UIX  BU RSS RSU RIN RIS RIU RIX RXS RXU RXX   │ S- I- X-
//! NL         n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   │  n  n  n
//! Sch-S      n   n   C   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   n   │  n  n  n
//! Sch-M      n   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   │  C  C  C
//! S          n   n   C   n   n   C   n   n   C   n   C   C   C   n   n   n   n   n   C   n   n   C   │  n  n  n
//! U          n   n   C   n   C   C   n   C   C   C   C   C   C   n   C   n   n   C   C   n   C   C   │  n  n  n
//! X          n   n   C   C   C   C   C   C   C   C   C   C   C   C   C   n   C   C   C   C   C   C   │  n  n  n
//! IS         n   n   C   n   n   C   n   n   n   n   n   n   C   n   n   n   n   n   C   n   n   C   │  n  n  n
//! IU         n   n   C   n   C   C   n   n   n   n   n   C   C   n   C   n   n   C   C   n   C   C   │  n  n  n
//! IX         n   n   C   C   C   C   n   n   n   C   C   C   C   C   C   n   C   C   C   C   C   C   │  n  n  n
//! SIU        n   n   C   n   C   C   n   n   C   n   C   C   C   n   C   n   n   C   C   n   C   C   │  n  n  n
//! SIX        n   n   C   C   C   C   n   n   C   C   C   C   C   C   C   n   C   C   C   C   C   C   │  n  n  n
//! UIX        n   n   C   C   C   C   n   C   C   C   C   C   C   C   C   n   C   C   C   C   C   C   │  n  n  n
//! BU         n   n   C   C   C   C   C   C   C   C   C   C   n   C   C   n   C   C   C   C   C   C   │  n  n  n
//! RangeS-S   n   n   C   n   n   C   n   n   C   n   C   C   C   n   n   C   C   C   C   C   C   C   │  n  C  C
//! RangeS-U   n   n   C   n   C   C   n   C   C   C   C   C   C   n   C   C   C   C   C   C   C   C   │  n  C  C
//! RangeI-N   n   n   C   n   n   n   n   n   n   n   n   n   n   C   C   n   n   n   n   C   C   C   │  C  n  C
//! RangeI-S   n   n   C   n   n   C   n   n   C   n   C   C   C   C   C   n   n   n   C   C   C   C   │  C  n  C
//! RangeI-U   n   n   C   n   C   C   n   C   C   C   C   C   C   C   C   n   n   C   C   C   C   C   │  C  n  C
//! RangeI-X   n   n   C   C   C   C   C   C   C   C   C   C   C   C   C   n   C   C   C   C   C   C   │  C  n  C
//! RangeX-S   n   n   C   n   n   C   n   n   C   n   C   C   C   C   C   C   C   C   C   C   C   C   │  C  C  C
//! RangeX-U   n   n   C   n   C   C   n   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   │  C  C  C
//! RangeX-X   n   n   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   C   │  C  C  C
//!
//! n  does not conflict   C  conflicts   RSS … RXX  RangeS-S … RangeX-X   S- I- X-  a range alone
//! ```
//!
//! **Key-range modes** are locks on a key of an index and on the range between it and the key
//! before it: `RangeS-U` holds the range shared and the key for update. Two of them are compatible
//! when their range parts and their key parts are. The range part is shared after a read of the
//! whole range, `I` (insert) before an insert into it, and exclusive for both, or for a change of
//! its key. RangeI-S to RangeX-U come from conversions only. Ranges never meet intent locks, which
//! stand on what contains keys: there the table follows from the parts of the modes and is never
//! asked.
//!
//! **Conversion**: an owner that holds one mode and requests another gets the weakest mode that
//! conflicts with everything that either conflicts with. So S and IX make SIX, S and U make U, X
//! and anything below Sch-M stays X. The columns of range parts alone, which are no modes, serve
//! this purpose: every mode that conflicts with RangeI-X conflicts with X, too, and yet X and
//! RangeI-N make RangeI-X.

use std::fmt;

use extentdb_telemetry::WaitType;

/// How strongly something is locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum LockMode {
    /// No lock; a placeholder that conflicts with nothing.
    Nl,
    /// Schema stability: the definition must not change.
    SchS,
    /// Schema modification: conflicts with every other mode but NL.
    SchM,
    /// Shared: the resource is read.
    S,
    /// Update: read now, change later; one at a time.
    U,
    /// Exclusive: the resource is changed.
    X,
    /// Intent to lock parts S.
    Is,
    /// Intent to lock parts U.
    Iu,
    /// Intent to lock parts X.
    Ix,
    /// S, and intent to lock parts U.
    Siu,
    /// S, and intent to lock parts X.
    Six,
    /// U, and intent to lock parts X.
    Uix,
    /// Bulk update: several loads at once, no other access.
    Bu,
    /// Range shared, key S: a serializable scan.
    RsS,
    /// Range shared, key U: a serializable scan for update.
    RsU,
    /// Range tested before a key is inserted into it, key not locked.
    RiN,
    /// Range tested, key S.
    RiS,
    /// Range tested, key U.
    RiU,
    /// Range tested, key X.
    RiX,
    /// Range exclusive, key S.
    RxS,
    /// Range exclusive, key U.
    RxU,
    /// Range exclusive, key X: a change of a key in the range.
    RxX,
}

use LockMode::*;

/// Columns of the table: the modes in the order of [`LockMode::ALL`], then a range alone, S, I and
/// X.
const COLUMNS: usize = LockMode::COUNT + 3;

/// One letter per column.
const TABLE: [&[u8; COLUMNS]; LockMode::COUNT] = [
    b"nnnnnnnnnnnnnnnnnnnnnnnnn",
    b"nnCnnnnnnnnnnnnnnnnnnnnnn",
    b"nCCCCCCCCCCCCCCCCCCCCCCCC",
    b"nnCnnCnnCnCCCnnnnnCnnCnnn",
    b"nnCnCCnCCCCCCnCnnCCnCCnnn",
    b"nnCCCCCCCCCCCCCnCCCCCCnnn",
    b"nnCnnCnnnnnnCnnnnnCnnCnnn",
    b"nnCnCCnnnnnCCnCnnCCnCCnnn",
    b"nnCCCCnnnCCCCCCnCCCCCCnnn",
    b"nnCnCCnnCnCCCnCnnCCnCCnnn",
    b"nnCCCCnnCCCCCCCnCCCCCCnnn",
    b"nnCCCCnCCCCCCCCnCCCCCCnnn",
    b"nnCCCCCCCCCCnCCnCCCCCCnnn",
    b"nnCnnCnnCnCCCnnCCCCCCCnCC",
    b"nnCnCCnCCCCCCnCCCCCCCCnCC",
    b"nnCnnnnnnnnnnCCnnnnCCCCnC",
    b"nnCnnCnnCnCCCCCnnnCCCCCnC",
    b"nnCnCCnCCCCCCCCnnCCCCCCnC",
    b"nnCCCCCCCCCCCCCnCCCCCCCnC",
    b"nnCnnCnnCnCCCCCCCCCCCCCCC",
    b"nnCnCCnCCCCCCCCCCCCCCCCCC",
    b"nnCCCCCCCCCCCCCCCCCCCCCCC",
];
/// Bit *m* of entry *k* is set when mode *k* conflicts with what column *m* stands for.
const CONFLICTS: [u32; LockMode::COUNT] = conflicts();
/// Entry *k* of row *h*: what holding *h* and asking for *k* makes.
const CONVERSIONS: [[LockMode; LockMode::COUNT]; LockMode::COUNT] = conversions();

impl LockMode {
    /// How many modes there are.
    pub const COUNT: usize = 22;
    /// All modes, in the order of the table.
    pub const ALL: [LockMode; LockMode::COUNT] = [
        Nl, SchS, SchM, S, U, X, Is, Iu, Ix, Siu, Six, Uix, Bu, RsS, RsU, RiN, RiS, RiU, RiX, RxS,
        RxU, RxX,
    ];

    /// May two owners hold these two at the same time?
    pub const fn is_compatible(self, other: LockMode) -> bool {
        CONFLICTS[self as usize] & (1 << other as u32) == 0
    }

    /// The mode after a conversion: the owner holds `self` and is granted `asked`.
    pub const fn converted(self, asked: LockMode) -> LockMode {
        CONVERSIONS[self as usize][asked as usize]
    }

    /// Does holding `self` cover a request for `asked`?
    pub fn covers(self, asked: LockMode) -> bool {
        self.converted(asked) == self
    }

    /// The mode of a table lock that covers this mode on each of its keys. An insert into a range
    /// needs an intent lock on the table, so that a shared table has shared ranges only.
    pub const fn on_table(self) -> LockMode {
        match self {
            RsS => S,
            RsU => U,
            RiN | RiS | RiU | RiX | RxS | RxU | RxX => X,
            other => other,
        }
    }

    /// The name in `sys.dm_tran_locks`.
    pub const fn name(self) -> &'static str {
        match self {
            Nl => "NL",
            SchS => "Sch-S",
            SchM => "Sch-M",
            S => "S",
            U => "U",
            X => "X",
            Is => "IS",
            Iu => "IU",
            Ix => "IX",
            Siu => "SIU",
            Six => "SIX",
            Uix => "UIX",
            Bu => "BU",
            RsS => "RangeS-S",
            RsU => "RangeS-U",
            RiN => "RangeI-N",
            RiS => "RangeI-S",
            RiU => "RangeI-U",
            RiX => "RangeI-X",
            RxS => "RangeX-S",
            RxU => "RangeX-U",
            RxX => "RangeX-X",
        }
    }

    /// The wait type. NL is never waited for; it counts as the weakest mode.
    pub const fn wait_type(self) -> WaitType {
        match self {
            Nl | SchS => WaitType::LockSchS,
            SchM => WaitType::LockSchM,
            S => WaitType::LockS,
            U => WaitType::LockU,
            X => WaitType::LockX,
            Is => WaitType::LockIs,
            Iu => WaitType::LockIu,
            Ix => WaitType::LockIx,
            Siu => WaitType::LockSiu,
            Six => WaitType::LockSix,
            Uix => WaitType::LockUix,
            Bu => WaitType::LockBu,
            RsS => WaitType::LockRsS,
            RsU => WaitType::LockRsU,
            RiN => WaitType::LockRinNl,
            RiS => WaitType::LockRinS,
            RiU => WaitType::LockRinU,
            RiX => WaitType::LockRinX,
            RxS => WaitType::LockRxS,
            RxU => WaitType::LockRxU,
            RxX => WaitType::LockRxX,
        }
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const fn conflicts() -> [u32; LockMode::COUNT] {
    let mut masks = [0; LockMode::COUNT];
    let mut row = 0;
    while row < LockMode::COUNT {
        let mut column = 0;
        while column < COLUMNS {
            if TABLE[row][column] == b'C' {
                masks[row] |= 1 << column;
            }
            column += 1;
        }
        row += 1;
    }
    masks
}

const fn conversions() -> [[LockMode; LockMode::COUNT]; LockMode::COUNT] {
    let mut table = [[Nl; LockMode::COUNT]; LockMode::COUNT];
    let mut held = 0;
    while held < LockMode::COUNT {
        let mut asked = 0;
        while asked < LockMode::COUNT {
            table[held][asked] = weakest_over(CONFLICTS[held] | CONFLICTS[asked]);
            asked += 1;
        }
        held += 1;
    }
    table
}

/// The mode with the fewest conflicts among those that have all conflicts in `needed`.
const fn weakest_over(needed: u32) -> LockMode {
    let mut best = SchM;
    let mut mode = 0;
    while mode < LockMode::COUNT {
        let mask = CONFLICTS[mode];
        if mask & needed == needed && mask.count_ones() < CONFLICTS[best as usize].count_ones() {
            best = LockMode::ALL[mode];
        }
        mode += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What modes are made of: simple modes, and how a range is held.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Part {
        /// A lock on the resource itself, or an intent lock for its parts.
        Mode(LockMode),
        /// Read by a serializable transaction.
        RangeS,
        /// About to be inserted into.
        RangeI,
        /// Both, or its key changed.
        RangeX,
    }

    use Part::{Mode, RangeI, RangeS, RangeX};

    fn parts(mode: LockMode) -> Vec<Part> {
        match mode {
            Nl => vec![],
            Siu => vec![Mode(S), Mode(Iu)],
            Six => vec![Mode(S), Mode(Ix)],
            Uix => vec![Mode(U), Mode(Ix)],
            RsS => vec![RangeS, Mode(S)],
            RsU => vec![RangeS, Mode(U)],
            RiN => vec![RangeI],
            RiS => vec![RangeI, Mode(S)],
            RiU => vec![RangeI, Mode(U)],
            RiX => vec![RangeI, Mode(X)],
            RxS => vec![RangeX, Mode(S)],
            RxU => vec![RangeX, Mode(U)],
            RxX => vec![RangeX, Mode(X)],
            simple => vec![Mode(simple)],
        }
    }

    /// Conflicts of simple modes, one direction.
    const SIMPLE: &[(LockMode, &[LockMode])] = &[
        (SchS, &[SchM]),
        (SchM, &[SchM, S, U, X, Is, Iu, Ix, Bu]),
        (S, &[X, Ix, Bu]),
        (U, &[U, X, Iu, Ix, Bu]),
        (X, &[X, Is, Iu, Ix, Bu]),
        (Is, &[Bu]),
        (Iu, &[Bu]),
        (Ix, &[Bu]),
    ];

    fn conflict(a: Part, b: Part) -> bool {
        let listed = |a, b| {
            SIMPLE
                .iter()
                .any(|(mode, others): &(LockMode, &[LockMode])| *mode == a && others.contains(&b))
        };
        match (a, b) {
            (Mode(a), Mode(b)) => listed(a, b) || listed(b, a),
            // Readers share a range, and so do inserts: they lock the new keys.
            (RangeS, RangeS) | (RangeI, RangeI) => false,
            (Mode(mode), _) | (_, Mode(mode)) => mode == SchM,
            _ => true,
        }
    }

    fn are_apart(a: &[Part], b: &[Part]) -> bool {
        a.iter().any(|a| b.iter().any(|b| conflict(*a, *b)))
    }

    #[test]
    fn the_table_follows_from_its_parts() {
        for a in LockMode::ALL {
            for b in LockMode::ALL {
                assert_eq!(a.is_compatible(b), !are_apart(&parts(a), &parts(b)), "{a} and {b}");
                assert_eq!(a.is_compatible(b), b.is_compatible(a), "{a} and {b}");
            }
            for (column, range) in [RangeS, RangeI, RangeX].into_iter().enumerate() {
                let letter = if are_apart(&parts(a), &[range]) { b'C' } else { b'n' };
                assert_eq!(
                    TABLE[a as usize][LockMode::COUNT + column],
                    letter,
                    "{a} and range {column}"
                );
            }
        }
    }

    /// "Key-Range Locking" of SQL Server's documentation, row by row.
    #[test]
    fn key_range_modes_conflict_as_documented() {
        let columns = [S, U, X, RsS, RsU, RiN, RxX];
        let documented = [
            (S, "yynyyyn"),
            (U, "ynnynyn"),
            (X, "nnnnnyn"),
            (RsS, "yynyynn"),
            (RsU, "ynnynnn"),
            (RiN, "yyynnyn"),
            (RxX, "nnnnnnn"),
        ];
        for (asked, row) in documented {
            for (held, letter) in columns.into_iter().zip(row.chars()) {
                assert_eq!(
                    asked.is_compatible(held),
                    letter == 'y',
                    "{asked} while {held} is held"
                );
            }
        }
    }

    #[test]
    fn conversions_are_the_known_ones() {
        let known = [
            (S, Ix, Six),
            (Ix, S, Six),
            (S, Iu, Siu),
            (U, Ix, Uix),
            (S, U, U),
            (S, X, X),
            (U, X, X),
            (Is, Ix, Ix),
            (Is, Iu, Iu),
            (Iu, Ix, Ix),
            (Is, S, S),
            (Siu, Ix, Six),
            (Six, U, Uix),
            (Siu, U, U),
            (SchS, X, X),
            (SchS, Bu, Bu),
            (Bu, Ix, X),
            (X, SchM, SchM),
            (Nl, Is, Is),
            // Those of ranges that are documented.
            (S, RiN, RiS),
            (U, RiN, RiU),
            (X, RiN, RiX),
            (RiN, RsS, RxS),
            (RiN, RsU, RxU),
            // And what follows from them.
            (S, RsS, RsS),
            (U, RsS, RsU),
            (X, RsS, RxX),
            (X, RsU, RxX),
            (RiX, RsS, RxX),
            (RxS, X, RxX),
            (RiX, X, RiX),
        ];
        for (held, asked, expected) in known {
            assert_eq!(held.converted(asked), expected, "{held} and {asked}");
            assert_eq!(asked.converted(held), expected, "{asked} and {held}");
        }
    }

    #[test]
    fn a_table_lock_gives_no_less_than_the_range_locks_it_stands_for() {
        for range in LockMode::ALL.into_iter().filter(|mode| mode.on_table() != *mode) {
            let key = parts(range)
                .into_iter()
                .find_map(|part| if let Mode(key) = part { Some(key) } else { None });
            assert!(key.is_none_or(|key| range.on_table().covers(key)), "{range}");
            assert!(!range.on_table().is_compatible(Ix), "{range}: others could insert");
        }
        assert_eq!((RsS.on_table(), RsU.on_table(), RiN.on_table(), U.on_table()), (S, U, X, U));
    }

    #[test]
    fn a_conversion_is_an_upper_bound_and_the_least_of_them() {
        for held in LockMode::ALL {
            assert_eq!(held.converted(held), held);
            for asked in LockMode::ALL {
                let got = held.converted(asked);
                assert!(got.covers(held) && got.covers(asked), "{held} and {asked} make {got}");
                for other in LockMode::ALL
                    .into_iter()
                    .filter(|other| other.covers(held) && other.covers(asked))
                {
                    assert!(
                        other.covers(got),
                        "{held} and {asked} make {got}, but {other} would do"
                    );
                }
                for third in LockMode::ALL {
                    let together = got.is_compatible(third);
                    let apart = held.is_compatible(third) && asked.is_compatible(third);
                    assert!(!together || apart, "{got} admits {third}, {held} and {asked} do not");
                }
            }
        }
    }
}
