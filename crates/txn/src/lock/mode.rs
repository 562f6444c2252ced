//! Lock modes: which of them get along, and what two of one owner make together.
//!
//! ```text
//!         NL ScS ScM  S   U   X  IS  IU  IX SIU SIX UIX  BU      n  does not conflict     C  conflicts
//! NL       n   n   n   n   n   n   n   n   n   n   n   n   n
//! Sch-S    n   n   C   n   n   n   n   n   n   n   n   n   n
//! Sch-M    n   C   C   C   C   C   C   C   C   C   C   C   C
//! S        n   n   C   n   n   C   n   n   C   n   C   C   C
//! U        n   n   C   n   C   C   n   C   C   C   C   C   C
//! X        n   n   C   C   C   C   C   C   C   C   C   C   C
//! IS       n   n   C   n   n   C   n   n   n   n   n   n   C
//! IU       n   n   C   n   C   C   n   n   n   n   n   C   C
//! IX       n   n   C   C   C   C   n   n   n   C   C   C   C
//! SIU      n   n   C   n   C   C   n   n   C   n   C   C   C
//! SIX      n   n   C   C   C   C   n   n   C   C   C   C   C
//! UIX      n   n   C   C   C   C   n   C   C   C   C   C   C
//! BU       n   n   C   C   C   C   C   C   C   C   C   C   n
//! ```
//!
//! **Conversion**: who holds one mode and asks for another gets the weakest mode that keeps out everything that either keeps out.
//! So S and IX make SIX, S and U make U, X and anything below Sch-M stays X.
//!
//! Key-range modes will add rows here; nothing outside this file knows how many modes there are.

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
    /// Schema modification: nobody else at all.
    SchM,
    /// Shared: read.
    S,
    /// Update: read now, change later; one at a time.
    U,
    /// Exclusive: change.
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
    /// Bulk update: loads beside each other, nobody else.
    Bu,
}

use LockMode::*;

/// One letter per mode, in the order of [`LockMode::ALL`].
const TABLE: [&[u8; LockMode::COUNT]; LockMode::COUNT] = [
    b"nnnnnnnnnnnnn",
    b"nnCnnnnnnnnnn",
    b"nCCCCCCCCCCCC",
    b"nnCnnCnnCnCCC",
    b"nnCnCCnCCCCCC",
    b"nnCCCCCCCCCCC",
    b"nnCnnCnnnnnnC",
    b"nnCnCCnnnnnCC",
    b"nnCCCCnnnCCCC",
    b"nnCnCCnnCnCCC",
    b"nnCCCCnnCCCCC",
    b"nnCCCCnCCCCCC",
    b"nnCCCCCCCCCCn",
];
/// Bit *m* of entry *k* is set when modes *k* and *m* conflict.
const CONFLICTS: [u16; LockMode::COUNT] = conflicts();
/// Entry *k* of row *h*: what holding *h* and asking for *k* makes.
const CONVERSIONS: [[LockMode; LockMode::COUNT]; LockMode::COUNT] = conversions();

impl LockMode {
    /// How many modes there are.
    pub const COUNT: usize = 13;
    /// All modes, in the order of the table.
    pub const ALL: [LockMode; LockMode::COUNT] = [Nl, SchS, SchM, S, U, X, Is, Iu, Ix, Siu, Six, Uix, Bu];

    /// May two owners hold these two at the same time?
    pub const fn is_compatible(self, other: LockMode) -> bool {
        CONFLICTS[self as usize] & (1 << other as u32) == 0
    }

    /// The mode of an owner that holds `self` and is granted `asked`.
    pub const fn converted(self, asked: LockMode) -> LockMode {
        CONVERSIONS[self as usize][asked as usize]
    }

    /// Does holding `self` already give what `asked` would?
    pub fn covers(self, asked: LockMode) -> bool {
        self.converted(asked) == self
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
        }
    }

    /// What waiting for it is called. NL is never waited for; it counts as the weakest mode.
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
        }
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const fn conflicts() -> [u16; LockMode::COUNT] {
    let mut masks = [0; LockMode::COUNT];
    let mut row = 0;
    while row < LockMode::COUNT {
        let mut column = 0;
        while column < LockMode::COUNT {
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

/// The mode with the fewest conflicts among those that have all of `needed`.
const fn weakest_over(needed: u16) -> LockMode {
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

    /// What a mode is made of: locks on the thing itself and intents for its parts.
    fn parts(mode: LockMode) -> &'static [LockMode] {
        match mode {
            Nl => &[],
            Siu => &[S, Iu],
            Six => &[S, Ix],
            Uix => &[U, Ix],
            SchS => &[SchS],
            SchM => &[SchM],
            S => &[S],
            U => &[U],
            X => &[X],
            Is => &[Is],
            Iu => &[Iu],
            Ix => &[Ix],
            Bu => &[Bu],
        }
    }

    /// Conflicts of the simple modes, one direction.
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

    #[test]
    fn the_table_follows_from_its_parts() {
        let simple = |a: LockMode, b: LockMode| {
            SIMPLE.iter().any(|(x, others)| *x == a && others.contains(&b) || *x == b && others.contains(&a))
        };
        for a in LockMode::ALL {
            for b in LockMode::ALL {
                let conflict = parts(a).iter().any(|x| parts(b).iter().any(|y| simple(*x, *y)));
                assert_eq!(a.is_compatible(b), !conflict, "{a} and {b}");
                assert_eq!(a.is_compatible(b), b.is_compatible(a), "{a} and {b}");
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
        ];
        for (held, asked, expected) in known {
            assert_eq!(held.converted(asked), expected, "{held} and {asked}");
            assert_eq!(asked.converted(held), expected, "{asked} and {held}");
        }
    }

    #[test]
    fn a_conversion_is_an_upper_bound_and_the_least_of_them() {
        for held in LockMode::ALL {
            assert_eq!(held.converted(held), held);
            for asked in LockMode::ALL {
                let got = held.converted(asked);
                assert!(got.covers(held) && got.covers(asked), "{held} and {asked} make {got}");
                for other in
                    LockMode::ALL.into_iter().filter(|other| other.covers(held) && other.covers(asked))
                {
                    assert!(other.covers(got), "{held} and {asked} make {got}, but {other} would do");
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
