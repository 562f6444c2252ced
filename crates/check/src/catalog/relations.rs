//! Which rows must have which others.

use super::report_unmatched;
use super::rows::{Attribute, Rows, Table};
use crate::finding::Findings;

/// Each row of one table names a row of another.
pub(super) struct Relation {
    pub(super) from: Table,
    attribute: Attribute,
    pub(super) to: Table,
    /// The name of the attribute, where it is not that of the other table's key.
    called: Option<&'static str>,
}

const fn relation(from: Table, attribute: Attribute, to: Table) -> Relation {
    Relation { from, attribute, to, called: None }
}

const fn called(from: Table, attribute: Attribute, to: Table, name: &'static str) -> Relation {
    Relation { from, attribute, to, called: Some(name) }
}

/// All of them.
pub(super) const RELATIONS: &[Relation] = &[
    relation(Table::Columns, Attribute::Object, Table::Objects),
    relation(Table::Columns, Attribute::Type, Table::Types),
    called(Table::Columns, Attribute::Default, Table::Objects, "default_object_id"),
    called(Table::Columns, Attribute::Rule, Table::Objects, "rule_object_id"),
    relation(Table::Objects, Attribute::Schema, Table::Schemas),
    called(Table::Objects, Attribute::Parent, Table::Objects, "parent_object_id"),
    relation(Table::Indexes, Attribute::Object, Table::Objects),
    relation(Table::IndexColumns, Attribute::Index, Table::Indexes),
    relation(Table::IndexColumns, Attribute::Column, Table::Columns),
    relation(Table::Partitions, Attribute::Index, Table::Indexes),
    called(Table::AllocationUnits, Attribute::Rowset, Table::Partitions, "container_id"),
    relation(Table::Files, Attribute::Filegroup, Table::Filegroups),
];

impl Relation {
    /// Reports every row without its match.
    pub(super) fn verify(&self, rows: &Rows, findings: &mut Findings) {
        let named = rows.named(self.from, self.attribute).iter();
        for missing in named.filter(|named| !rows.has(self.to, named.names)) {
            report_unmatched(
                self.called,
                self.from.row(missing.row),
                self.to.row(missing.names),
                findings,
            );
        }
    }
}
