//! Trace flag 1204: the cycle, node by node.
//!
//! ```text
//! Node:1
//! KEY: 6:72057594057457664 (350007a4d329) Mode:X        the resource, and how it is held
//!  Grant List 0:                                        Convert List and Wait List: the blocker
//!                                                       itself waits, ahead
//!    Owner:0000:000003f1 Mode: X SPID:54
//!  Requested By:
//!    ResType:LockOwner Stype:'OR'Xdes:0000:000003f2 Mode: U SPID:55 Cost:(0/380)
//! ```

use super::{Blocker, DeadlockNode, DeadlockReport, Line, LockNames, LockStatus};

pub(super) fn lines(report: &DeadlockReport, names: &dyn LockNames) -> Vec<String> {
    let head = ["Deadlock encountered .... Printing deadlock information", "Wait-for graph"];
    let mut lines: Vec<String> = head.map(str::to_owned).into();
    for (at, node) in report.nodes.iter().enumerate() {
        lines.push(String::new());
        lines.push(format!("Node:{}", at + 1));
        lines.push(format!(
            "{} Mode:{}",
            node.request.resource.wait_text(node.database),
            node.granted
        ));
        lines.push(format!(" {}:", list_name(&node.blocker)));
        lines.push(owner_line(&node.blocker, names));
        lines.push(" Requested By:".to_owned());
        lines.push(format!("   {}", request_line(node, names)));
    }
    let victim = report.nodes.iter().find(|node| node.request.owner == report.victim);
    if let Some(victim) = victim {
        lines.extend([
            String::new(),
            "Victim Resource Owner:".to_owned(),
            format!(" {}", request_line(victim, names)),
        ]);
    }
    lines
}

/// The list of the resource that the blocker stands in.
fn list_name(blocker: &Blocker) -> &'static str {
    match blocker.status {
        LockStatus::Grant => "Grant List 0",
        LockStatus::Convert => "Convert List",
        LockStatus::Wait => "Wait List",
    }
}

fn owner_line(blocker: &Blocker, names: &dyn LockNames) -> String {
    let line = Line::new(format!("   Owner:{}", blocker.owner.xact)).with("Mode: ", blocker.mode);
    line.with_some("SPID:", names.session(blocker.owner)).0
}

fn request_line(node: &DeadlockNode, names: &dyn LockNames) -> String {
    let request = &node.request;
    let line = Line::new(format!("ResType:LockOwner Stype:'OR'Xdes:{}", request.owner.xact));
    let line = line.with("Mode: ", request.mode).with_some("SPID:", names.session(request.owner));
    line.with("Cost:", format!("({}/{})", request.priority, request.cost)).0
}
