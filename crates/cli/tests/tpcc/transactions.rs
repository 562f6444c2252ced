//! The five transactions as batches. Errors roll them back (XACT_ABORT) and are the caller's.

use std::fmt::Write;

use crate::Scale;

/// Draws numbers: splitmix64.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn number(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (x ^ x >> 31) % (to - from + 1)
    }
}

/// What the row of a transaction with a tag proves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A row of `orders`.
    NewOrder,
    /// Rolled back by the client: no row.
    NewOrderRolledBack,
    /// A row of `history`.
    Payment,
    Delivery,
    OrderStatus,
    StockLevel,
    /// The sums of YTD within one transaction: answers whether they are equal.
    Audit,
}

/// A transaction to run.
pub(crate) struct Transaction {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// The next transaction, in the mix of the benchmark; `tag` is its own.
pub(crate) fn next(draw: &mut Draw, scale: &Scale, tag: u64) -> Transaction {
    let warehouse = draw.number(1, scale.warehouses);
    let district = draw.number(1, scale.districts);
    let customer = draw.number(1, scale.customers);
    let (kind, body) = match draw.number(1, 100) {
        1..=44 => (Kind::NewOrder, new_order(draw, scale, customer, tag, "COMMIT")),
        45 => (Kind::NewOrderRolledBack, new_order(draw, scale, customer, tag, "ROLLBACK")),
        46..=88 => (Kind::Payment, payment(draw, customer, tag)),
        89..=92 => (Kind::Delivery, delivery(draw, scale)),
        93..=95 => (Kind::OrderStatus, order_status(customer)),
        96..=98 => (Kind::StockLevel, STOCK_LEVEL.to_owned()),
        _ => (Kind::Audit, AUDIT.to_owned()),
    };
    let text = format!("DECLARE @w int = {warehouse}, @d int = {district}\n{body}");
    Transaction { kind, text }
}

fn new_order(draw: &mut Draw, scale: &Scale, customer: u64, tag: u64, end: &str) -> String {
    let lines = draw.number(3, 8);
    let mut text = format!(
        "DECLARE @o int, @price decimal(5, 2)
BEGIN TRANSACTION
UPDATE district SET @o = d_next_o_id, d_next_o_id = d_next_o_id + 1 WHERE d_w_id = @w AND d_id = @d
INSERT INTO orders VALUES (@w, @d, @o, {customer}, SYSDATETIME(), NULL, {lines}, {tag})
INSERT INTO new_order VALUES (@w, @d, @o)\n"
    );
    // Items in ascending order, each once, as the benchmark recommends against deadlocks; now and
    // then in any order, so that there are some.
    let mut items: Vec<u64> = (0..lines).map(|_| draw.number(1, scale.items)).collect();
    if draw.number(1, 4) > 1 {
        items.sort_unstable();
    }
    for (at, item) in items.iter().enumerate() {
        let quantity = draw.number(1, 10);
        let number = at + 1;
        write!(
            text,
            "SELECT @price = i_price FROM item WHERE i_id = {item}
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= {quantity} + 10 THEN s_quantity - {quantity} ELSE s_quantity - {quantity} + 91 END, s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = @w AND s_i_id = {item}
INSERT INTO order_line VALUES (@w, @d, @o, {number}, {item}, NULL, {quantity}, {quantity} * @price)\n"
        )
        .unwrap();
    }
    text + end
}

fn payment(draw: &mut Draw, customer: u64, tag: u64) -> String {
    let amount = draw.number(100, 500_000);
    let cents = amount % 100;
    let amount = format!("{}.{cents:02}", amount / 100);
    // Six in ten name the customer by his last name: the one in the middle.
    let by_name = "SELECT @c = c_id FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_id) AS n, \
                   COUNT(*) OVER () AS c FROM customer WHERE c_w_id = @w AND c_d_id = @d AND \
                   c_last = (SELECT c_last FROM customer WHERE c_w_id = @w AND c_d_id = @d AND \
                   c_id = @c)) AS found WHERE n = (c + 1) / 2";
    let choice = if draw.number(1, 10) <= 6 { by_name } else { "" };
    format!(
        "DECLARE @c int = {customer}
BEGIN TRANSACTION
UPDATE warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = @w
UPDATE district SET d_ytd = d_ytd + {amount} WHERE d_w_id = @w AND d_id = @d
{choice}
UPDATE customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}, c_payment_cnt = c_payment_cnt + 1, c_data = CASE c_credit WHEN 'BC' THEN LEFT(CONCAT(@c, ' ', {tag}, ' ', {amount}, '|', c_data), 500) ELSE c_data END WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c
IF @@ROWCOUNT <> 1 THROW 50001, 'the customer is not there', 1
INSERT INTO history VALUES (@c, @d, @w, @d, @w, SYSDATETIME(), {amount}, {tag})
COMMIT"
    )
}

fn delivery(draw: &mut Draw, scale: &Scale) -> String {
    let carrier = draw.number(1, 10);
    let districts = scale.districts;
    format!(
        "DECLARE @o int, @c int, @sum decimal(12, 2)
BEGIN TRANSACTION
SET @d = 1
WHILE @d <= {districts}
BEGIN
    SET @o = NULL
    SELECT TOP 1 @o = no_o_id FROM new_order WHERE no_w_id = @w AND no_d_id = @d ORDER BY no_o_id
    IF @o IS NOT NULL
    BEGIN
        DELETE FROM new_order WHERE no_w_id = @w AND no_d_id = @d AND no_o_id = @o
        IF @@ROWCOUNT <> 1 THROW 50002, 'the new order was delivered by another transaction', 1
        SELECT @c = o_c_id FROM orders WHERE o_w_id = @w AND o_d_id = @d AND o_id = @o
        UPDATE orders SET o_carrier_id = {carrier} WHERE o_w_id = @w AND o_d_id = @d AND o_id = @o
        UPDATE order_line SET ol_delivery_d = SYSDATETIME() WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id = @o
        SELECT @sum = SUM(ol_amount) FROM order_line WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id = @o
        UPDATE customer SET c_balance = c_balance + @sum, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c
        IF @@ROWCOUNT <> 1 THROW 50003, 'the customer of an order is not there', 1
    END
    SET @d = @d + 1
END
COMMIT"
    )
}

fn order_status(customer: u64) -> String {
    format!(
        "DECLARE @o int, @lines int, @found int
BEGIN TRANSACTION
SELECT TOP 1 @o = o_id, @lines = o_ol_cnt FROM orders WHERE o_w_id = @w AND o_d_id = @d AND o_c_id = {customer} ORDER BY o_id DESC
SELECT @found = COUNT(*) FROM order_line WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id = @o
IF @o IS NOT NULL AND @found <> @lines THROW 50004, 'an order has not all of its lines', 1
COMMIT"
    )
}

const STOCK_LEVEL: &str = "DECLARE @next int
BEGIN TRANSACTION
SELECT @next = d_next_o_id FROM district WHERE d_w_id = @w AND d_id = @d
SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id < @next AND ol_o_id >= @next - 20 AND s_quantity < 15
COMMIT";

/// Condition 1 while the others work: a transaction sees payments whole.
const AUDIT: &str = "DECLARE @one decimal(18, 2), @other decimal(18, 2)
BEGIN TRANSACTION
SELECT @one = w_ytd FROM warehouse WHERE w_id = @w
SELECT @other = SUM(d_ytd) FROM district WHERE d_w_id = @w
IF @one <> @other THROW 50005, 'a transaction sees half of a payment', 1
COMMIT";
