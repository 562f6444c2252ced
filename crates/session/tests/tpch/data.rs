//! Rows of the TPC-H tables: the distributions of the benchmark's specification, other texts.
//!
//! The rows are a function of the scale: a row draws from a sequence of its own.

use std::fmt::Write;

/// Draws numbers.
struct Draw(u64);

impl Draw {
    fn of(table: u64, row: u64) -> Draw {
        let mut draw = Draw(table << 48 ^ row);
        draw.next();
        draw
    }

    /// splitmix64
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn number(&mut self, from: i64, to: i64) -> i64 {
        from + (self.next() % (to - from + 1) as u64) as i64
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.number(0, of.len() as i64 - 1) as usize]
    }

    fn words(&mut self, of: &[&str], count: i64) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.one(of)).collect();
        words.join(" ")
    }

    fn comment(&mut self) -> String {
        let count = self.number(3, 6);
        self.words(&WORDS, count)
    }

    fn phone(&mut self, nation: i64) -> String {
        let mut part = |from, to| self.number(from, to);
        let (area, first, second) = (part(100, 999), part(100, 999), part(1000, 9999));
        format!("{}-{area}-{first}-{second}", nation + 10)
    }
}

const WORDS: [&str; 24] = [
    "foxes",
    "ideas",
    "theodolites",
    "pinto beans",
    "instructions",
    "dependencies",
    "excuses",
    "platelets",
    "asymptotes",
    "courts",
    "accounts",
    "requests",
    "deposits",
    "packages",
    "special",
    "pending",
    "unusual",
    "express",
    "furiously",
    "sly",
    "careful",
    "blithely",
    "quickly",
    "final",
];
const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
const NATIONS: [(&str, i64); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];
const COLOURS: [&str; 20] = [
    "almond",
    "azure",
    "blue",
    "brown",
    "chocolate",
    "coral",
    "cream",
    "forest",
    "ghost",
    "green",
    "ivory",
    "lemon",
    "linen",
    "maroon",
    "navy",
    "olive",
    "peach",
    "plum",
    "salmon",
    "wheat",
];
const SIZES: [&str; 6] = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"];
const FINISHES: [&str; 5] = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"];
const METALS: [&str; 5] = ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"];
const CONTAINER_SIZES: [&str; 5] = ["SM", "LG", "MED", "JUMBO", "WRAP"];
const CONTAINERS: [&str; 8] = ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"];
const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"];
const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
const INSTRUCTIONS: [&str; 4] =
    ["DELIVER IN PERSON", "COLLECT COD", "NONE", concat!("TAKE", " BACK RETURN")];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

/// Numbers of rows.
pub(crate) struct Scale {
    suppliers: i64,
    parts: i64,
    customers: i64,
    orders: i64,
}

impl Scale {
    pub(crate) fn of(scale: f64) -> Scale {
        let rows = |of_one: f64| (of_one * scale) as i64;
        Scale {
            suppliers: rows(10_000.0).max(10),
            parts: rows(200_000.0),
            customers: rows(150_000.0),
            orders: rows(1_500_000.0),
        }
    }

    /// A supplier of a part, one of four.
    fn supplier(&self, part: i64, which: i64) -> i64 {
        let all = self.suppliers;
        (part + which * (all / 4 + (part - 1) / all)) % all + 1
    }
}

/// A date by its distance from 1 January 1992.
fn date(day: i64) -> String {
    let mut year = 1992;
    let mut rest = day;
    loop {
        let length = if year % 4 == 0 { 366 } else { 365 };
        if rest < length {
            break;
        }
        rest -= length;
        year += 1;
    }
    let february = if year % 4 == 0 { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", rest + 1)
}

fn cents(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

/// Price of a part, in cents.
fn price(part: i64) -> i64 {
    90_000 + (part / 10) % 20_001 + 100 * (part % 1_000)
}

/// Last day of the orders, and the day that is today in the rows.
const LAST_ORDER: i64 = 2405;
const TODAY: i64 = 1263;

/// Gives the rows of each table, as lists of literals.
pub(crate) fn rows(scale: &Scale, give: &mut dyn FnMut(&str, String)) {
    for (at, name) in REGIONS.iter().enumerate() {
        give("region", format!("{at},'{name}','{}'", Draw::of(1, at as u64).comment()));
    }
    for (at, (name, region)) in NATIONS.iter().enumerate() {
        let comment = Draw::of(2, at as u64).comment();
        give("nation", format!("{at},'{name}',{region},'{comment}'"));
    }
    (1..=scale.suppliers).for_each(|key| give("supplier", supplier(key)));
    (1..=scale.parts).for_each(|key| give("part", part(key)));
    for part in 1..=scale.parts {
        for which in 0..4 {
            let mut draw = Draw::of(5, (part * 4 + which) as u64);
            let supplier = scale.supplier(part, which);
            let quantity = draw.number(1, 9_999);
            let cost = cents(draw.number(100, 100_000));
            give("partsupp", format!("{part},{supplier},{quantity},{cost},'{}'", draw.comment()));
        }
    }
    (1..=scale.customers).for_each(|key| give("customer", customer(key)));
    (1..=scale.orders).for_each(|number| order(scale, number, give));
}

fn supplier(key: i64) -> String {
    let mut draw = Draw::of(3, key as u64);
    let nation = draw.number(0, 24);
    let phone = draw.phone(nation);
    let balance = cents(draw.number(-99_999, 999_999));
    let comment = match key % 25 {
        7 => format!("{} Customer {} Complaints", draw.one(&WORDS), draw.one(&WORDS)),
        _ => draw.comment(),
    };
    let address = draw.words(&WORDS, 2);
    format!("{key},'Supplier#{key:09}','{address}',{nation},'{phone}',{balance},'{comment}'")
}

fn part(key: i64) -> String {
    let mut draw = Draw::of(4, key as u64);
    let name = draw.words(&COLOURS, 5);
    let maker = draw.number(1, 5);
    let brand = maker * 10 + draw.number(1, 5);
    let kind = format!("{} {} {}", draw.one(&SIZES), draw.one(&FINISHES), draw.one(&METALS));
    let size = draw.number(1, 50);
    let container = format!("{} {}", draw.one(&CONTAINER_SIZES), draw.one(&CONTAINERS));
    let price = cents(price(key));
    let comment = draw.words(&WORDS, 1);
    format!(
        "{key},'{name}','Manufacturer#{maker}','Brand#{brand}','{kind}',{size},'{container}',\
         {price},'{comment}'"
    )
}

fn customer(key: i64) -> String {
    let mut draw = Draw::of(6, key as u64);
    let nation = draw.number(0, 24);
    let phone = draw.phone(nation);
    let balance = cents(draw.number(-99_999, 999_999));
    let (segment, address) = (draw.one(&SEGMENTS), draw.words(&WORDS, 2));
    let comment = draw.comment();
    format!(
        "{key},'Customer#{key:09}','{address}',{nation},'{phone}',{balance},'{segment}','{comment}'"
    )
}

/// An order and its lines.
fn order(scale: &Scale, number: i64, give: &mut dyn FnMut(&str, String)) {
    let mut draw = Draw::of(7, number as u64);
    let key = (number / 8) * 32 + number % 8;
    // A third of the customers have no order.
    let mut customer = draw.number(1, scale.customers);
    if customer % 3 == 0 {
        customer -= 1;
    }
    let day = draw.number(0, LAST_ORDER - 151);
    let lines = draw.number(1, 7);
    let mut total = 0;
    let mut shipped = 0;
    for line in 1..=lines {
        let (text, amount, is_shipped) = order_line(scale, &mut draw, key, line, day);
        total += amount;
        shipped += i64::from(is_shipped);
        give("lineitem", text);
    }
    let status = match shipped {
        0 => "O",
        all if all == lines => "F",
        _ => "P",
    };
    let priority = draw.one(&PRIORITIES);
    let clerk = draw.number(1, 1_000);
    let comment = draw.comment();
    let (total, day) = (cents(total), date(day));
    give(
        "orders",
        format!(
            "{key},{customer},'{status}',{total},'{day}','{priority}','Clerk#{clerk:09}',0,\
             '{comment}'"
        ),
    );
}

/// A line of an order, its price with tax and discount in cents, and whether it is shipped.
fn order_line(
    scale: &Scale,
    draw: &mut Draw,
    order: i64,
    line: i64,
    day: i64,
) -> (String, i64, bool) {
    let part = draw.number(1, scale.parts);
    let which = draw.number(0, 3);
    let supplier = scale.supplier(part, which);
    let quantity = draw.number(1, 50);
    let amount = quantity * price(part);
    let (discount, tax) = (draw.number(0, 10), draw.number(0, 8));
    let ship = day + draw.number(1, 121);
    let commit = day + draw.number(30, 90);
    let receipt = ship + draw.number(1, 30);
    let returned = if receipt <= TODAY { draw.one(&["R", "A"]) } else { "N" };
    let status = if ship > TODAY { "O" } else { "F" };
    let (instruction, mode) = (draw.one(&INSTRUCTIONS), draw.one(&MODES));
    let comment = draw.words(&WORDS, 2);
    let mut text = format!("{order},{part},{supplier},{line},{quantity},{},", cents(amount));
    write!(text, "0.{discount:02},0.{tax:02},'{returned}','{status}',").unwrap();
    write!(text, "'{}','{}','{}',", date(ship), date(commit), date(receipt)).unwrap();
    write!(text, "'{instruction}','{mode}','{comment}'").unwrap();
    let total = amount * (100 - discount) / 100 * (100 + tax) / 100;
    (text, total, status == "F")
}
