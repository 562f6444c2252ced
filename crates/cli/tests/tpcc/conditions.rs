//! What must hold after a crash: the consistency conditions of the benchmark (clause 3.3.2), and
//! that acknowledged commits are there.

use std::collections::BTreeMap;

use extentdb_client::Connection;

use crate::clients::{Outcome, Tally};
use crate::program::answer::rows;
use crate::transactions::Kind;

/// Each gives the rows that break it.
const CONDITIONS: [(&str, &str); 10] = [
    (
        "1: W_YTD is the sum of D_YTD",
        "SELECT w_id FROM warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)",
    ),
    (
        "2: D_NEXT_O_ID follows the last order",
        "SELECT d_w_id, d_id, d_next_o_id FROM district WHERE d_next_o_id - 1 <> (SELECT ISNULL(MAX(o_id), 0) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)",
    ),
    (
        "2: the last new order is the last order",
        "SELECT d_w_id, d_id, n FROM district JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS n FROM new_order GROUP BY no_w_id, no_d_id) AS last ON no_w_id = d_w_id AND no_d_id = d_id WHERE n <> d_next_o_id - 1",
    ),
    (
        "3: new orders have no gaps",
        "SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    (
        "4: orders count their lines",
        "SELECT d_w_id, d_id FROM district WHERE (SELECT ISNULL(SUM(o_ol_cnt), 0) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) <> (SELECT COUNT(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)",
    ),
    (
        "5: an order has a carrier when it is no new one",
        "SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
    ),
    (
        "7: lines are delivered with their order",
        "SELECT o_w_id, o_d_id, o_id, ol_number FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE (o_carrier_id IS NULL AND ol_delivery_d IS NOT NULL) OR (o_carrier_id IS NOT NULL AND ol_delivery_d IS NULL)",
    ),
    (
        "9: D_YTD is the sum of the payments",
        "SELECT d_w_id, d_id FROM district WHERE d_ytd <> (SELECT ISNULL(SUM(h_amount), 0) FROM history WHERE h_w_id = d_w_id AND h_d_id = d_id)",
    ),
    (
        "10: a balance is what was delivered less what was paid",
        "SELECT c_w_id, c_d_id, c_id FROM customer WHERE c_balance <> (SELECT ISNULL(SUM(ol_amount), 0) FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL) - (SELECT ISNULL(SUM(h_amount), 0) FROM history WHERE h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id)",
    ),
    (
        "stock counts what was ordered",
        "SELECT s_w_id, s_i_id FROM stock WHERE s_ytd <> (SELECT ISNULL(SUM(ol_quantity), 0) FROM order_line WHERE ol_w_id = s_w_id AND ol_i_id = s_i_id)",
    ),
];

/// Verifies the conditions and the transactions of all rounds.
pub(crate) fn verify(connection: &mut Connection, tallies: &[Tally]) {
    for (condition, query) in CONDITIONS {
        let broken = rows(connection, query);
        assert!(broken.is_empty(), "condition {condition} does not hold: {broken:?}");
    }
    let tags = |connection: &mut Connection, query: &str| {
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for row in rows(connection, query) {
            *counts.entry(row[0].parse().unwrap()).or_default() += 1;
        }
        counts
    };
    let orders = tags(connection, "SELECT o_tag FROM orders");
    let payments = tags(connection, "SELECT h_tag FROM history");
    let mut known = 0;
    for done in tallies.iter().flat_map(|tally| &tally.done) {
        let found = match done.kind {
            Kind::NewOrder | Kind::NewOrderRolledBack => orders.get(&done.tag),
            Kind::Payment => payments.get(&done.tag),
            _ => continue,
        };
        let found = found.copied().unwrap_or(0);
        known += u64::from(found);
        let is_right = match (done.kind, done.outcome) {
            (Kind::NewOrderRolledBack, _) => found == 0,
            (_, Outcome::Acknowledged) => found == 1,
            (_, Outcome::Unknown) => found <= 1,
        };
        assert!(is_right, "{found} rows of {done:?}");
    }
    let all: u64 = orders.values().chain(payments.values()).map(|count| u64::from(*count)).sum();
    assert_eq!(known, all, "rows that no client has committed");
}
