// Lines of checks, and the checks of the types, for the clients of Node.
const { cases, differs, isLossy, parameterOf, ROUNDED } = require("./matrix.js");

const MANY = 64;
const WAIT = "WAITFOR DELAY '00:00:30'";
const COMPUTE =
  "SELECT COUNT_BIG(*) FROM sys.all_objects AS a CROSS JOIN sys.all_objects AS b " +
  "CROSS JOIN sys.all_objects AS c WHERE a.name < b.name + c.name";

function say(state, name, detail) {
  console.log(`${state}\t${name}\t${String(detail).replace(/\s+/g, " ").slice(0, 2000)}`);
}

async function check(name, work) {
  try {
    say("ok", name, await work());
  } catch (error) {
    say("failed", name, error.message || error);
  }
}

function expect(found, wanted) {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`${left}, not ${right}`);
  return found;
}

// Runs work on all values; known tells of differences that are the client's.
async function matrix(name, known, work) {
  const failures = [];
  const notes = new Map();
  let good = 0;
  let total = 0;
  for (const one of cases()) {
    if (name === "send" && one.ways !== "both") continue;
    total += 1;
    const difference = await work(one).catch((error) => String(error.message));
    const reason = (known.find(([start]) => one.name.startsWith(start)) || [])[1];
    if (!difference) good += 1;
    else if (reason) notes.set(reason, (notes.get(reason) || 0) + 1);
    else failures.push(`; ${one.name}: ${difference}`);
  }
  for (const [reason, count] of notes) say("note", name, `${reason} (${count})`);
  say(failures.length ? "failed" : "ok", name, `${good} of ${total}${failures.join("")}`);
}

const row = (n) => [n, n % 5 ? `Größe ${n}` : null, n % 3 ? n / 4 : null, n % 2 ? n / 100 : null];

module.exports = {
  check,
  differs,
  expect,
  isLossy,
  matrix,
  parameterOf,
  row,
  say,
  COMPUTE,
  MANY,
  ROUNDED,
  WAIT,
};
