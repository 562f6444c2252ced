// tedious: the driver of Node.
const fs = require("fs");
const { Connection, ISOLATION_LEVEL, Request, TYPES } = require("tedious");
const {
  check,
  COMPUTE,
  differs,
  expect,
  isLossy,
  MANY,
  matrix,
  parameterOf,
  ROUNDED,
  row,
  say,
  WAIT,
} = require("./check.js");

function connect(encrypt = false) {
  return new Promise((resolve, reject) => {
    const connection = new Connection({
      server: process.env.EXTENTDB_HOST,
      authentication: {
        type: "default",
        options: { userName: "sa", password: process.env.EXTENTDB_PASSWORD },
      },
      options: {
        port: Number(process.env.EXTENTDB_PORT),
        encrypt,
        trustServerCertificate: encrypt !== "strict",
        serverName: "localhost",
        cryptoCredentialsDetails: { ca: fs.readFileSync(process.env.EXTENTDB_CERTIFICATE) },
        database: "master",
        connectTimeout: 30000,
        requestTimeout: 60000,
      },
    });
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

// Sends a request; rows, counts and values that come back.
function ask(connection, text, parameters = [], method = "execSql", prepare = () => {}) {
  return new Promise((resolve, reject) => {
    const answer = { sets: [], counts: [], outputs: {} };
    const done = (count) => count !== undefined && answer.counts.push(count);
    const request = new Request(text, (error) => (error ? reject(error) : resolve(answer)));
    for (const [name, type, value, options] of parameters)
      request.addParameter(name, type, value, options);
    prepare(request);
    request.on("columnMetadata", () => answer.sets.push([]));
    request.on("row", (columns) => answer.sets.at(-1).push(columns.map((column) => column.value)));
    request.on("returnValue", (name, value) => (answer.outputs[name] = value));
    request.on("done", done);
    request.on("doneInProc", done);
    request.on("doneProc", (count, more, status) => (answer.status = status));
    connection[method](request);
  });
}

const batch = (connection, text) => ask(connection, text, [], "execSqlBatch");
const value = async (connection, text) => (await batch(connection, text)).sets[0][0][0];
const called = (start) =>
  new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())));

const version = (encrypt) => async () => {
  const connection = await connect(encrypt);
  const encrypted = await value(
    connection,
    "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID",
  );
  expect(encrypted, encrypt ? "TRUE" : "FALSE");
  const text = await value(connection, "SELECT @@VERSION");
  connection.close();
  return text.split("\n")[0];
};

// Types of parameters by those of columns.
function typeOf(one) {
  const name = one.type.replace(/\(.*/, "");
  const [precision, scale] = (/\((\d+),(\d+)\)/.exec(one.type) || []).slice(1).map(Number);
  const digits = Number((/\((\d)\)/.exec(one.type) || [])[1] ?? 7);
  const types = {
    bit: TYPES.Bit,
    tinyint: TYPES.TinyInt,
    smallint: TYPES.SmallInt,
    int: TYPES.Int,
    bigint: TYPES.BigInt,
    decimal: TYPES.Decimal,
    numeric: TYPES.Numeric,
    money: TYPES.Money,
    smallmoney: TYPES.SmallMoney,
    real: TYPES.Real,
    float: TYPES.Float,
    date: TYPES.Date,
    time: TYPES.Time,
    datetime: TYPES.DateTime,
    smalldatetime: TYPES.SmallDateTime,
    datetime2: TYPES.DateTime2,
    datetimeoffset: TYPES.DateTimeOffset,
    char: TYPES.Char,
    varchar: TYPES.VarChar,
    text: TYPES.Text,
    nchar: TYPES.NChar,
    nvarchar: TYPES.NVarChar,
    ntext: TYPES.NText,
    sysname: TYPES.NVarChar,
    xml: TYPES.NVarChar,
    binary: TYPES.Binary,
    varbinary: TYPES.VarBinary,
    image: TYPES.Image,
    uniqueidentifier: TYPES.UniqueIdentifier,
  };
  const kinds = {
    integer: TYPES.BigInt,
    float: TYPES.Float,
    text: TYPES.NVarChar,
    binary: TYPES.VarBinary,
  };
  const options = precision ? { precision, scale } : { scale: digits };
  const hasScale = /^(decimal|numeric)$|time/.test(name);
  return [name === "sql_variant" ? kinds[one.kind] : types[name], hasScale ? options : undefined];
}

async function sent(connection, one) {
  const received = await value(connection, `SELECT ${one.value} AS v`);
  const [type, options] = typeOf(one);
  await batch(connection, `DROP TABLE IF EXISTS #sent; CREATE TABLE #sent (v ${one.type} NULL)`);
  await ask(connection, "INSERT #sent VALUES (@v)", [["v", type, parameterOf(received), options]]);
  const stored = await value(connection, `SELECT COUNT(*) FROM #sent WHERE ${one.found}`);
  const read = await value(connection, "SELECT v FROM #sent");
  return stored === 1 || isLossy(one, received) ? differs(one, read) : `stored as ${read}`;
}

async function parameter() {
  const connection = await connect();
  const answer = await ask(connection, "SELECT @n + 1, @t", [
    ["n", TYPES.Int, 41],
    ["t", TYPES.NVarChar, "Grüße"],
  ]);
  connection.close();
  return expect(answer.sets, [[[42, "Grüße"]]]);
}

async function prepare() {
  const connection = await connect();
  await batch(connection, "CREATE TABLE #prepared (n int PRIMARY KEY, t nvarchar(20) NULL)");
  let finished;
  const request = new Request("INSERT #prepared VALUES (@n, @t)", (error) => finished(error));
  request.addParameter("n", TYPES.Int);
  request.addParameter("t", TYPES.NVarChar);
  const run = (start) => called((callback) => ((finished = callback), start()));
  await new Promise((resolve, reject) => {
    request.once("prepared", resolve);
    finished = (error) => error && reject(error);
    connection.prepare(request);
  });
  for (let n = 0; n < 100; n += 1) {
    await run(() => connection.execute(request, { n, t: row(n)[1] }));
  }
  await run(() => connection.unprepare(request));
  const counts = (await batch(connection, "SELECT COUNT(*), COUNT(t) FROM #prepared")).sets[0][0];
  connection.close();
  return expect(counts, [100, 80]);
}

async function output() {
  const connection = await connect();
  await batch(
    connection,
    "CREATE OR ALTER PROCEDURE clients_output @n int, @twice int OUTPUT, " +
      "@text nvarchar(40) OUTPUT AS SET @twice = 2 * @n; SET @text = CONCAT(@text, N'ß'); SELECT @n AS n; RETURN 7",
  );
  const answer = await ask(
    connection,
    "clients_output",
    [["n", TYPES.Int, 21]],
    "callProcedure",
    (request) => {
      request.addOutputParameter("twice", TYPES.Int);
      request.addOutputParameter("text", TYPES.NVarChar, "Stra", { length: 40 });
    },
  );
  connection.close();
  return expect(
    [answer.sets, answer.outputs.twice, answer.outputs.text, answer.status],
    [[[[21]]], 42, "Straß", 7],
  );
}

async function results() {
  const connection = await connect();
  const answer = await batch(
    connection,
    "CREATE TABLE #several (n int); SELECT 1 AS a; INSERT #several VALUES (1), (2), (3); " +
      "SELECT n, n * n FROM #several ORDER BY n; UPDATE #several SET n = 0 WHERE n > 1; SELECT 2 AS b WHERE 1 = 0; SELECT N'last' AS c",
  );
  connection.close();
  expect(answer.sets, [
    [[1]],
    [
      [1, 1],
      [2, 4],
      [3, 9],
    ],
    [],
    [["last"]],
  ]);
  return expect(answer.counts, [1, 3, 3, 2, 0, 1]);
}

async function transaction() {
  const connection = await connect();
  await batch(connection, "DROP TABLE IF EXISTS clients_rows; CREATE TABLE clients_rows (n int)");
  for (const [n, end] of [
    [1, "rollbackTransaction"],
    [2, "commitTransaction"],
  ]) {
    await called((callback) =>
      connection.beginTransaction(callback, "", ISOLATION_LEVEL.READ_COMMITTED),
    );
    await batch(connection, `INSERT clients_rows VALUES (${n})`);
    expect(await value(connection, "SELECT @@TRANCOUNT"), 1);
    await called((callback) => connection[end](callback));
  }
  expect(await value(connection, "SELECT @@TRANCOUNT"), 0);
  const sum = await value(connection, "SELECT SUM(n) FROM clients_rows");
  await called((callback) => connection.reset(callback));
  connection.close();
  return expect(sum, 2);
}

async function savepoint() {
  const connection = await connect();
  await batch(connection, "CREATE TABLE #saved (n int)");
  await called((callback) => connection.beginTransaction(callback));
  await batch(connection, "INSERT #saved VALUES (1)");
  await called((callback) => connection.saveTransaction(callback, "here"));
  await batch(connection, "INSERT #saved VALUES (2)");
  await called((callback) => connection.rollbackTransaction(callback, "here"));
  await batch(connection, "INSERT #saved VALUES (4)");
  await called((callback) => connection.commitTransaction(callback));
  const sum = await value(connection, "SELECT SUM(n) FROM #saved");
  connection.close();
  return expect(sum, 5);
}

async function raised(connection, text) {
  const error = await batch(connection, text).then(
    () => new Error(`no error: ${text}`),
    (own) => own,
  );
  return [error.number || error.message, error.lineNumber, error.class];
}

async function failure() {
  const connection = await connect();
  expect(await raised(connection, "SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)"), [50000, 3, 16]);
  expect(
    (await raised(connection, "SELECT 10 / (2 - n) FROM (VALUES (0), (1), (2), (3)) AS t (n)"))[0],
    8134,
  );
  expect((await raised(connection, "SELECT * FROM nowhere"))[0], 208);
  expect(await value(connection, "SELECT 1"), 1);
  connection.close();
  return "number line severity";
}

async function cancel() {
  const connection = await connect();
  for (const text of [WAIT, COMPUTE]) {
    const start = Date.now();
    setTimeout(() => connection.cancel(), 500);
    const error = await batch(connection, text).then(
      () => ({}),
      (own) => own,
    );
    expect(error.code, "ECANCEL");
    if (Date.now() - start > 10000) throw new Error(`${Date.now() - start} ms: ${text}`);
    expect(await value(connection, "SELECT 1"), 1);
  }
  connection.close();
  return "2 statements";
}

async function bulk() {
  const connection = await connect();
  await batch(
    connection,
    "DROP TABLE IF EXISTS clients_bulk; CREATE TABLE clients_bulk " +
      "(n int NOT NULL, t nvarchar(40) NULL, f float NULL, d decimal(9, 2) NULL)",
  );
  const rows = Array.from({ length: 2000 }, (_, n) => row(n));
  await new Promise((resolve, reject) => {
    const load = connection.newBulkLoad("clients_bulk", (error) =>
      error ? reject(error) : resolve(),
    );
    load.addColumn("n", TYPES.Int, { nullable: false });
    load.addColumn("t", TYPES.NVarChar, { length: 40, nullable: true });
    load.addColumn("f", TYPES.Float, { nullable: true });
    load.addColumn("d", TYPES.Decimal, { precision: 9, scale: 2, nullable: true });
    connection.execBulkLoad(load, rows);
  });
  const found = (await batch(connection, "SELECT n, t, f, d FROM clients_bulk ORDER BY n")).sets[0];
  connection.close();
  expect(found, rows);
  return `${found.length} rows`;
}

async function many() {
  const connection = await connect();
  await batch(connection, "DROP TABLE IF EXISTS clients_many; CREATE TABLE clients_many (n int)");
  const all = await Promise.all(Array.from({ length: MANY }, () => connect()));
  await Promise.all(all.map((own, n) => batch(own, `INSERT clients_many VALUES (${n})`)));
  const counts = await Promise.all(
    all.map((own) => value(own, "SELECT COUNT(*) FROM clients_many")),
  );
  [connection, ...all].forEach((own) => own.close());
  expect(counts, Array(MANY).fill(MANY));
  return `${MANY} connections`;
}

(async () => {
  say("ok", "version", require("tedious/package.json").version);
  await check("clear", version(false));
  await check("tls", version(true));
  await check("strict", version("strict"));
  const connection = await connect();
  await matrix("receive", [], async (one) =>
    differs(one, await value(connection, `SELECT ${one.value} AS v`)),
  );
  await matrix("send", ROUNDED, (one) => sent(connection, one));
  connection.close();
  await check("parameter", parameter);
  await check("prepare", prepare);
  await check("output", output);
  await check("results", results);
  await check("transaction", transaction);
  await check("savepoint", savepoint);
  await check("error", failure);
  await check("cancel", cancel);
  await check("bulk", bulk);
  await check("many", many);
})();
