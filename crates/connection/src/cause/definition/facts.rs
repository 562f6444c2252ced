//! Number and severity of each message, and what it ends.

use super::DefinitionCause;
use crate::cause::Effect;

/// What clients are told beside the text.
struct Facts {
    number: i32,
    severity: u8,
    effect: Effect,
}

const fn facts(number: i32, severity: u8, effect: Effect) -> Facts {
    Facts { number, severity, effect }
}

impl DefinitionCause {
    fn facts(&self) -> Facts {
        use Effect::{Rollback, Scope, Statement};
        match self {
            DefinitionCause::ColumnNameInDefault { .. } => facts(128, 15, Scope),
            DefinitionCause::SizeBeyondAll { .. } => facts(131, 15, Scope),
            DefinitionCause::UnknownObject { .. } => facts(208, 16, Scope),
            DefinitionCause::TypeNotFound { .. } => facts(218, 16, Statement),
            DefinitionCause::TypeExists { .. } => facts(219, 16, Statement),
            DefinitionCause::UnknownCollation { .. } => facts(448, 16, Scope),
            DefinitionCause::CollationOfType => facts(452, 16, Scope),
            DefinitionCause::NullInRows { .. } => facts(515, 16, Statement),
            DefinitionCause::DefinitionConflict { .. } => facts(547, 16, Rollback),
            DefinitionCause::NoTableOfIndex { .. } => facts(1088, 16, Statement),
            DefinitionCause::DuplicateInBuild { .. } => facts(1505, 16, Rollback),
            DefinitionCause::RowTooWide { .. } => facts(1701, 16, Statement),
            DefinitionCause::TooManyColumns { .. } => facts(1702, 16, Statement),
            DefinitionCause::NotCreated => facts(1750, 16, Statement),
            DefinitionCause::LengthInKey { .. } => facts(1753, 16, Statement),
            DefinitionCause::DefaultOfIdentity { .. } => facts(1754, 16, Statement),
            DefinitionCause::DefaultOfTimestamp { .. } => facts(1755, 16, Statement),
            DefinitionCause::CollationInKey { .. } => facts(1757, 16, Statement),
            DefinitionCause::ComputedOfComputed { .. } => facts(1759, 16, Statement),
            DefinitionCause::SetNullOfNotNull { .. } => facts(1761, 16, Statement),
            DefinitionCause::SetDefaultWithoutDefault { .. } => facts(1762, 16, Statement),
            DefinitionCause::CrossDatabaseKey { .. } => facts(1763, 16, Statement),
            DefinitionCause::NotPersistedInKey { .. } => facts(1764, 16, Statement),
            DefinitionCause::TemporaryInKey { .. } => facts(1766, 16, Statement),
            DefinitionCause::NoReferencedTable { .. } => facts(1767, 16, Statement),
            DefinitionCause::ReferencedNotTable { .. } => facts(1768, 16, Rollback),
            DefinitionCause::NoReferencingColumn { .. } => facts(1769, 16, Statement),
            DefinitionCause::NoReferencedColumn { .. } => facts(1770, 16, Statement),
            DefinitionCause::NoPrimaryKeyReferenced { .. } => facts(1773, 16, Statement),
            DefinitionCause::KeyColumnCount { .. } => facts(1774, 16, Statement),
            DefinitionCause::NoCandidateKey { .. } => facts(1776, 16, Statement),
            DefinitionCause::TypeInKey { .. } => facts(1778, 16, Rollback),
            DefinitionCause::PrimaryKeyExists { .. } => facts(1779, 16, Statement),
            DefinitionCause::DefaultExists => facts(1781, 16, Statement),
            DefinitionCause::ComputedReferenced { .. } => facts(1784, 16, Statement),
            DefinitionCause::CascadePaths { .. } => facts(1785, 16, Statement),
            DefinitionCause::SecondClustered { .. } => facts(1902, 16, Statement),
            DefinitionCause::IndexColumnCount { .. } => facts(1904, 16, Statement),
            DefinitionCause::OtherThanConstraint { .. } => facts(1907, 16, Statement),
            DefinitionCause::ColumnTwice { .. } => facts(1909, 16, Statement),
            DefinitionCause::NoColumnInIndex { .. } => facts(1911, 16, Statement),
            DefinitionCause::IndexExists { .. } => facts(1913, 16, Statement),
            DefinitionCause::TypeInIndex { .. } => facts(1919, 16, Statement),
            DefinitionCause::NoFilegroup { .. } => facts(1921, 16, Statement),
            DefinitionCause::StatisticsExist { .. } => facts(1927, 16, Statement),
            DefinitionCause::SetOptions { .. } => facts(1934, 16, Statement),
            DefinitionCause::KeyTooLong { .. } => facts(1944, 16, Statement),
            DefinitionCause::IncompatibleObject { .. } => facts(2010, 16, Statement),
            DefinitionCause::TriggerSchema { .. } => facts(2103, 15, Statement),
            DefinitionCause::ColumnTwiceInTable { .. } => facts(2705, 16, Statement),
            DefinitionCause::NoTableOfStatistics { .. } => facts(2706, 11, Statement),
            DefinitionCause::ObjectExists { .. } => facts(2714, 16, Rollback),
            DefinitionCause::WidthOfType { .. } => facts(2716, 16, Scope),
            DefinitionCause::SizeBeyond { .. } => facts(2717, 16, Scope),
            DefinitionCause::NoIndexNamed { .. } => facts(2727, 11, Statement),
            DefinitionCause::NondeterministicInIndex { .. } => facts(2729, 16, Statement),
            DefinitionCause::SecondTimestamp { .. } => facts(2738, 16, Statement),
            DefinitionCause::SecondIdentity { .. } => facts(2744, 16, Statement),
            DefinitionCause::IdentityType { .. } => facts(2749, 16, Statement),
            DefinitionCause::PrecisionBeyond { .. } => facts(2750, 16, Scope),
            DefinitionCause::ScaleBeyond { .. } => facts(2751, 16, Scope),
            DefinitionCause::SchemaNotCreated => facts(2759, 16, Statement),
            DefinitionCause::NoSchema { .. } => facts(2760, 16, Statement),
            DefinitionCause::RowGuidType => facts(2761, 16, Statement),
            DefinitionCause::NoTableInDrop { .. } => facts(3701, 11, Statement),
            DefinitionCause::WrongKindInDrop { .. } => facts(3705, 16, Statement),
            DefinitionCause::ConstraintIndex { .. } => facts(3723, 16, Statement),
            DefinitionCause::ReferencedConstraint { .. } => facts(3725, 16, Statement),
            DefinitionCause::ReferencedTable { .. } => facts(3726, 16, Rollback),
            DefinitionCause::ConstraintNotDropped => facts(3727, 16, Statement),
            DefinitionCause::NotAConstraint { .. } => facts(3728, 16, Rollback),
            DefinitionCause::ReferencedObject { .. } => facts(3729, 16, Statement),
            DefinitionCause::ReferencedType { .. } => facts(3732, 16, Rollback),
            DefinitionCause::ForeignConstraint { .. } => facts(3733, 16, Statement),
            DefinitionCause::NotStatistics { .. } => facts(3739, 11, Statement),
            DefinitionCause::CannotFind { .. } => facts(4701, 16, Statement),
            DefinitionCause::TruncateReferenced { .. } => facts(4712, 16, Rollback),
            DefinitionCause::NotNullWithoutValue { .. } => facts(4901, 16, Statement),
            DefinitionCause::NoTableToAlter { .. } => facts(4902, 16, Statement),
            DefinitionCause::NotATable { .. } => facts(4909, 16, Statement),
            DefinitionCause::ConstraintNotSwitched => facts(4916, 16, Statement),
            DefinitionCause::NoConstraint { .. } => facts(4917, 16, Statement),
            DefinitionCause::NoTriggerOfTable { .. } => facts(4920, 16, Statement),
            DefinitionCause::Accessed { .. } => facts(4922, 16, Statement),
            DefinitionCause::OnlyColumn { .. } => facts(4923, 16, Statement),
            DefinitionCause::NoColumnToAlter { .. } => facts(4924, 16, Statement),
            DefinitionCause::RowGuidExists { .. } => facts(4925, 16, Statement),
            DefinitionCause::CannotAlterToType { .. } => facts(4927, 16, Statement),
            DefinitionCause::CannotAlter { .. } => facts(4928, 16, Statement),
            DefinitionCause::PersistedNondeterministic { .. } => facts(4936, 16, Statement),
            DefinitionCause::Dependent { .. } => facts(5074, 16, Statement),
            DefinitionCause::NoServer { .. } => facts(7202, 11, Scope),
            DefinitionCause::NoIndexToRecreate { .. } => facts(7999, 16, Statement),
            DefinitionCause::SecondPrimaryKey { .. } => facts(8110, 16, Statement),
            DefinitionCause::NullablePrimaryKey { .. } => facts(8111, 16, Statement),
            DefinitionCause::SecondClusteredConstraint { .. } => facts(8112, 16, Statement),
            DefinitionCause::ReferencingCount { .. } => facts(8139, 16, Statement),
            DefinitionCause::ColumnConstraintColumns { .. } => facts(8140, 16, Statement),
            DefinitionCause::OtherColumnInConstraint { .. } => facts(8141, 16, Statement),
            DefinitionCause::NotNullTwice { .. } => facts(8147, 16, Statement),
            DefinitionCause::SecondColumnConstraint { .. } => facts(8148, 16, Statement),
            DefinitionCause::Truncated => facts(8152, 16, Statement),
            DefinitionCause::ComputedConstraint => facts(8183, 16, Statement),
            DefinitionCause::NoTriggerTarget { .. } => facts(8197, 16, Statement),
            DefinitionCause::SequenceIncrement { .. } => facts(11700, 16, Statement),
            DefinitionCause::SequenceStep { .. } => facts(11701, 16, Statement),
            DefinitionCause::SequenceType { .. } => facts(11702, 16, Statement),
            DefinitionCause::SequenceStart { .. } => facts(11703, 16, Statement),
            DefinitionCause::SequenceValue { .. } => facts(11704, 16, Statement),
            DefinitionCause::SequenceLimits { .. } => facts(11705, 16, Statement),
            DefinitionCause::SequenceCache { .. } => facts(11706, 16, Statement),
            DefinitionCause::SequenceEnd { .. } => facts(11728, 16, Statement),
            DefinitionCause::CannotDrop { .. } => facts(15150, 16, Statement),
            DefinitionCause::CannotFindToDrop { .. } => facts(15151, 16, Statement),
            DefinitionCause::CannotFindPrincipal { .. } => facts(15151, 16, Statement),
            DefinitionCause::NothingToRename { .. } => facts(15225, 11, Statement),
            DefinitionCause::AmbiguousRename { .. } => facts(15248, 11, Statement),
            DefinitionCause::RenameType { .. } => facts(15249, 11, Statement),
            DefinitionCause::NameInUse { .. } => facts(15335, 11, Statement),
            DefinitionCause::RenameDependent { .. } => facts(15336, 16, Statement),
        }
    }

    /// The message's number.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.facts().number
    }

    /// Severity of its message.
    pub fn severity(&self) -> u8 {
        self.facts().severity
    }

    /// What it ends.
    pub fn effect(&self) -> Effect {
        self.facts().effect
    }
}
