//! The report as DBCC's rowset `WITH TABLERESULTS` (`docs/check.md` 13, the columns of 2012 and
//! later), as CSV.
//!
//! One row per message, information included, in the order of the text. NULL is an empty field:
//! `RepairLevel` of messages that no repair removes. Numbers that a message does not have are 0, as
//! there.

use extentdb_check::{Finding, Location, Report};

use crate::lines::{Line, lines};

/// Columns of SQL Server 2012 and later, in order.
const COLUMNS: &str = "Error,Level,State,MessageText,RepairLevel,Status,DbId,DbFragId,ObjectId,IndexId,PartitionId,\
                       AllocUnitId,RidDbId,RidPruId,File,Page,Slot,RefDbId,RefPruId,RefFile,RefPage,RefSlot,Allocation\n";

/// The rowset as CSV with a header.
pub fn to_tableresults(report: &Report) -> String {
    let mut text = COLUMNS.to_owned();
    for line in lines(report) {
        text.push_str(&row(report, &line));
    }
    text
}

fn row(report: &Report, line: &Line<'_>) -> String {
    let Line { error, level, state, object, finding, .. } = line;
    let place = finding.map_or_else(Location::default, |finding| finding.location);
    let object = object.map_or(0, |object| object.0);
    let (index, partition, unit) =
        place.owner.map_or((0, 0, 0), |owner| (owner.index.0, owner.partition.0, owner.unit.0));
    let database = report.database_id;
    let fragment = 1;
    let fixed = 0;
    let (rid_database, file, page) =
        place.page.map_or((0, 0, 0), |page| (database, page.file.0, page.page));
    let slot = place.slot.map_or(0, |slot| slot.0);
    let other = finding.map(|finding| finding.related[0]).filter(|page| !page.is_none());
    let (ref_database, ref_file, ref_page) =
        other.map_or((0, 0, 0), |page| (database, page.file.0, page.page));
    let is_allocation =
        finding.is_some_and(|it| it.counts() == extentdb_messages::Counts::Allocation);
    format!(
        "{error},{level},{state},{},{},{fixed},{database},{fragment},{object},{index},{partition},{unit},\
         {rid_database},{fixed},{file},{page},{slot},{ref_database},{fixed},{ref_file},{ref_page},{fixed},{}\n",
        quoted(&line.text),
        finding.map_or("", repair),
        u8::from(is_allocation),
    )
}

fn repair(finding: &Finding) -> &'static str {
    use extentdb_messages::RepairLevel;

    match finding.repair {
        RepairLevel::None => "",
        RepairLevel::Rebuild => "repair_rebuild",
        RepairLevel::AllowDataLoss => "repair_allow_data_loss",
    }
}

/// A field between quotes: messages hold commas.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
