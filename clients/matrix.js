// The values of types.tsv and what they are in JavaScript, for the clients of Node.
const fs = require("fs");
const path = require("path");

// Digits of a fraction of a second that a Date has; nanosecondsDelta says the rest, once received.
const DIGITS = 3;

function cases() {
  const lines = fs
    .readFileSync(path.join(process.env.EXTENTDB_CLIENTS, "types.tsv"), "utf8")
    .trimEnd()
    .split("\n");
  return lines.slice(1).map((line) => {
    const [type, kind, label, ways, text, stored, literal] = line.split("\t");
    const repeated = /^\*(\d+) (.*)$/.exec(text);
    const value = `CAST(${literal} AS ${type})`;
    const compared = `${stored.replace("$", "v")} = ${stored.replace("$", () => value)}`;
    return {
      type,
      kind,
      label,
      ways,
      value,
      name: `${type} ${label}`,
      text: repeated ? repeated[2].repeat(Number(repeated[1])) : text,
      // The condition on column v that holds where the value has been stored.
      found: label === "null" ? "v IS NULL" : compared,
    };
  });
}

// What differs: "" where the value is the one of the case.
function differs(one, value) {
  if (one.label === "null") return value === null ? "" : String(value);
  const text = shown(one, value);
  if (text === one.text) return "";
  return text.length < 60 ? text : `${text.slice(0, 40)}… of ${text.length}`;
}

function shown(one, value) {
  if (typeof value === "boolean") return value ? "1" : "0";
  // Numbers of all kinds are doubles here: what the text means as one must be the same.
  if (typeof value === "number") {
    const wanted = one.kind === "real" ? Math.fround(Number(one.text)) : Number(one.text);
    return wanted === value ? one.text : String(value);
  }
  if (Buffer.isBuffer(value)) return value.toString("hex").toUpperCase();
  if (value instanceof Date) return moment(one, value);
  return one.kind === "guid" ? String(value).toUpperCase() : String(value);
}

// A Date is UTC: offsets are lost, the moment is not.
function moment(one, value) {
  const pad = (number, width) => String(number).padStart(width, "0");
  const day = `${pad(value.getUTCFullYear(), 4)}-${pad(value.getUTCMonth() + 1, 2)}-${pad(value.getUTCDate(), 2)}`;
  const digits =
    pad(value.getUTCMilliseconds(), DIGITS) +
    pad(Math.round((value.nanosecondsDelta || 0) * 1e7), 4);
  const fraction = digits.replace(/0+$/, "");
  const time = [value.getUTCHours(), value.getUTCMinutes(), value.getUTCSeconds()]
    .map((part) => pad(part, 2))
    .join(":");
  const clock = fraction ? `${time}.${fraction}` : time;
  if (one.kind === "date") return day;
  if (one.kind === "time") return clock;
  if (one.kind === "datetime") return `${day} ${clock}`;
  return inZone(one, value, `${day} ${clock} +00:00`);
}

// The moment of a text with an offset, compared as one.
function inZone(one, value, shownInUtc) {
  const [, day, clock, sign, hours, minutes] = /^(\S+) (\S+) ([+-])(\d+):(\d+)$/.exec(one.text);
  const seconds = clock.split(".")[0];
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60000 : 60000);
  const wanted = Date.parse(`${day}T${seconds}Z`) - offset;
  const fraction = (clock.split(".")[1] || "").padEnd(7, "0");
  const found =
    String(value.getUTCMilliseconds()).padStart(3, "0") +
    String(Math.round((value.nanosecondsDelta || 0) * 1e7)).padStart(4, "0");
  return wanted === value.getTime() - value.getUTCMilliseconds() && fraction === found
    ? one.text
    : shownInUtc;
}

// Has a value more digits than a double?
function isLossy(one, value) {
  return (
    typeof value === "number" && one.kind === "decimal" && one.text.replace(/\D/g, "").length > 15
  );
}

// A value as a parameter: the rest of a fraction has another name than in what is received.
function parameterOf(value) {
  if (value instanceof Date) value.nanosecondDelta = value.nanosecondsDelta;
  return value;
}

// Values that doubles round beyond their type.
const ROUNDED = ["decimal(38,0) m", "decimal(38,38) m", "decimal(19,4) m", "money m"].map(
  (start) => [start, "numbers are doubles, which round beyond the type"],
);

module.exports = { cases, differs, isLossy, parameterOf, ROUNDED };
