//! Transactions.

use super::literal::StringLiteral;
use super::name::NameOrVariable;

/// `BEGIN [ DISTRIBUTED ] TRAN [ name [ WITH MARK [ 'description' ] ] ]`
#[derive(Debug, Clone, PartialEq)]
pub struct BeginTransaction {
    pub is_distributed: bool,
    pub name: Option<NameOrVariable>,
    /// `WITH MARK [ 'description' ]`
    pub mark: Option<Option<StringLiteral>>,
}

/// `COMMIT [ TRAN [ name ] | WORK ] [ WITH ( DELAYED_DURABILITY = … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub name: Option<NameOrVariable>,
    pub delayed_durability: Option<bool>,
}

/// `ROLLBACK [ TRAN [ name ] | WORK ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Rollback {
    pub name: Option<NameOrVariable>,
}

/// `SAVE TRAN name`
#[derive(Debug, Clone, PartialEq)]
pub struct SaveTransaction {
    pub name: NameOrVariable,
}
