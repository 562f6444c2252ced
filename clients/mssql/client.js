// mssql: pools, prepared statements and transactions over tedious.
const sql = require("mssql");
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

const connect = (encrypt = false, max = 1) =>
  new sql.ConnectionPool({
    server: process.env.EXTENTDB_HOST,
    port: Number(process.env.EXTENTDB_PORT),
    user: "sa",
    password: process.env.EXTENTDB_PASSWORD,
    database: "master",
    pool: { max, min: 0 },
    connectionTimeout: 30000,
    requestTimeout: 60000,
    options: { encrypt, trustServerCertificate: true },
  }).connect();

const batch = (pool, text) => pool.request().batch(text);
const value = async (pool, text) => Object.values((await batch(pool, text)).recordset[0])[0];

const version = (encrypt) => async () => {
  const pool = await connect(encrypt);
  const encrypted = await value(
    pool,
    "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID",
  );
  expect(encrypted, encrypt ? "TRUE" : "FALSE");
  const text = await value(pool, "SELECT @@VERSION");
  await pool.close();
  return text.split("\n")[0];
};

// The type of a parameter, which is the one of the column where the client has it.
function typeOf(one) {
  const name = one.type.replace(/\(.*/, "");
  const sizes = (/\(([^)]*)\)/.exec(one.type) || ["", ""])[1]
    .split(",")
    .map((size) => (size === "max" ? sql.MAX : Number(size)));
  const types = {
    bit: "Bit",
    tinyint: "TinyInt",
    smallint: "SmallInt",
    int: "Int",
    bigint: "BigInt",
    decimal: "Decimal",
    numeric: "Numeric",
    money: "Money",
    smallmoney: "SmallMoney",
    real: "Real",
    float: "Float",
    date: "Date",
    time: "Time",
    datetime: "DateTime",
    smalldatetime: "SmallDateTime",
    datetime2: "DateTime2",
    datetimeoffset: "DateTimeOffset",
    char: "Char",
    varchar: "VarChar",
    text: "Text",
    nchar: "NChar",
    nvarchar: "NVarChar",
    ntext: "NText",
    sysname: "NVarChar",
    xml: "Xml",
    binary: "Binary",
    varbinary: "VarBinary",
    image: "Image",
    uniqueidentifier: "UniqueIdentifier",
  };
  const kinds = {
    integer: sql.BigInt,
    float: sql.Float,
    text: sql.NVarChar(100),
    binary: sql.VarBinary(100),
  };
  if (name === "sql_variant") return kinds[one.kind];
  return one.type.includes("(") ? sql[types[name]](...sizes) : sql[types[name]];
}

async function sent(pool, one) {
  const received = await value(pool, `SELECT ${one.value} AS v`);
  await batch(pool, `DROP TABLE IF EXISTS #sent; CREATE TABLE #sent (v ${one.type} NULL)`);
  await pool
    .request()
    .input("v", typeOf(one), parameterOf(received))
    .query("INSERT #sent VALUES (@v)");
  const stored = await value(pool, `SELECT COUNT(*) FROM #sent WHERE ${one.found}`);
  const read = await value(pool, "SELECT v FROM #sent");
  return stored === 1 || isLossy(one, received) ? differs(one, read) : `stored as ${read}`;
}

async function parameter() {
  const pool = await connect();
  const found = (
    await pool.request().input("n", 41).input("t", "Grüße").query("SELECT @n + 1 AS n, @t AS t")
  ).recordset[0];
  await pool.close();
  return Object.values(expect(found, { n: 42, t: "Grüße" }));
}

async function prepare() {
  const pool = await connect(false, 2);
  await batch(
    pool,
    "DROP TABLE IF EXISTS clients_prepared; CREATE TABLE clients_prepared (n int PRIMARY KEY, t nvarchar(20) NULL)",
  );
  const statement = new sql.PreparedStatement(pool);
  statement.input("n", sql.Int).input("t", sql.NVarChar(20));
  await statement.prepare("INSERT clients_prepared VALUES (@n, @t)");
  for (let n = 0; n < 100; n += 1)
    expect((await statement.execute({ n, t: row(n)[1] })).rowsAffected, [1]);
  await statement.unprepare();
  const count = await value(pool, "SELECT COUNT(t) FROM clients_prepared");
  await pool.close();
  return expect(count, 80);
}

async function output() {
  const pool = await connect();
  await batch(
    pool,
    "CREATE OR ALTER PROCEDURE clients_output @n int, @twice int OUTPUT, " +
      "@text nvarchar(40) OUTPUT AS SET @twice = 2 * @n; SET @text = CONCAT(@text, N'ß'); SELECT @n AS n; RETURN 7",
  );
  const request = pool
    .request()
    .input("n", sql.Int, 21)
    .output("twice", sql.Int)
    .output("text", sql.NVarChar(40), "Stra");
  const answer = await request.execute("clients_output");
  await pool.close();
  return expect(
    [answer.recordset[0].n, answer.output.twice, answer.output.text, answer.returnValue],
    [21, 42, "Straß", 7],
  );
}

async function results() {
  const pool = await connect();
  const answer = await batch(
    pool,
    "CREATE TABLE #several (n int); SELECT 1 AS a; INSERT #several VALUES (1), (2), (3); " +
      "SELECT n * n AS q FROM #several ORDER BY n; UPDATE #several SET n = 0 WHERE n > 1; SELECT 2 AS b WHERE 1 = 0; SELECT N'last' AS c",
  );
  await pool.close();
  expect(answer.recordsets, [[{ a: 1 }], [{ q: 1 }, { q: 4 }, { q: 9 }], [], [{ c: "last" }]]);
  return expect(answer.rowsAffected, [1, 3, 3, 2, 0, 1]);
}

async function transaction() {
  const pool = await connect(false, 2);
  await batch(pool, "DROP TABLE IF EXISTS clients_rows; CREATE TABLE clients_rows (n int)");
  for (const [n, end] of [
    [1, "rollback"],
    [2, "commit"],
  ]) {
    const own = new sql.Transaction(pool);
    await own.begin();
    await own.request().query(`INSERT clients_rows VALUES (${n})`);
    expect((await own.request().query("SELECT @@TRANCOUNT AS n")).recordset, [{ n: 1 }]);
    await own[end]();
  }
  expect(await value(pool, "SELECT @@TRANCOUNT"), 0);
  const sum = await value(pool, "SELECT SUM(n) FROM clients_rows");
  await pool.close();
  return expect(sum, 2);
}

async function savepoint() {
  const pool = await connect(false, 2);
  const own = new sql.Transaction(pool);
  await own.begin();
  for (const text of [
    "CREATE TABLE #saved (n int)",
    "INSERT #saved VALUES (1)",
    "SAVE TRANSACTION here",
    "INSERT #saved VALUES (2)",
    "ROLLBACK TRANSACTION here",
    "INSERT #saved VALUES (4)",
  ])
    await own.request().batch(text);
  const sum = (await own.request().query("SELECT SUM(n) AS n FROM #saved")).recordset[0].n;
  await own.commit();
  await pool.close();
  return expect(sum, 5);
}

async function raised(pool, text) {
  const error = await batch(pool, text).then(
    () => new Error(`no error: ${text}`),
    (own) => own,
  );
  return [error.number || error.message, error.lineNumber, error.class];
}

async function failure() {
  const pool = await connect();
  expect(await raised(pool, "SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)"), [50000, 3, 16]);
  expect(
    (await raised(pool, "SELECT 10 / (2 - n) AS q FROM (VALUES (0), (1), (2), (3)) AS t (n)"))[0],
    8134,
  );
  expect((await raised(pool, "SELECT * FROM nowhere"))[0], 208);
  expect(await value(pool, "SELECT 1"), 1);
  await pool.close();
  return "number line severity";
}

async function cancel() {
  const pool = await connect();
  for (const text of [WAIT, COMPUTE]) {
    const start = Date.now();
    const request = pool.request();
    setTimeout(() => request.cancel(), 500);
    const error = await request.batch(text).then(
      () => ({}),
      (own) => own,
    );
    expect(error.code, "ECANCEL");
    if (Date.now() - start > 10000) throw new Error(`${Date.now() - start} ms: ${text}`);
    expect(await value(pool, "SELECT 1"), 1);
  }
  await pool.close();
  return "2 statements";
}

async function bulk() {
  const pool = await connect();
  await batch(pool, "DROP TABLE IF EXISTS clients_bulk");
  const table = new sql.Table("clients_bulk");
  table.create = true;
  table.columns.add("n", sql.Int, { nullable: false, primary: true });
  table.columns.add("t", sql.NVarChar(40), { nullable: true });
  table.columns.add("f", sql.Float, { nullable: true });
  table.columns.add("d", sql.Decimal(9, 2), { nullable: true });
  const rows = Array.from({ length: 2000 }, (_, n) => row(n));
  rows.forEach((own) => table.rows.add(...own));
  expect((await pool.request().bulk(table)).rowsAffected, rows.length);
  const found = (await batch(pool, "SELECT n, t, f, d FROM clients_bulk ORDER BY n")).recordset;
  await pool.close();
  expect(
    found.map((own) => Object.values(own)),
    rows,
  );
  return `${found.length} rows`;
}

async function many() {
  const pool = await connect(false, MANY);
  await batch(pool, "DROP TABLE IF EXISTS clients_many; CREATE TABLE clients_many (n int)");
  // A wait in each keeps all connections of the pool busy at once.
  const spids = await Promise.all(
    Array.from({ length: MANY }, (_, n) =>
      value(
        pool,
        `INSERT clients_many VALUES (${n}); WAITFOR DELAY '00:00:02'; SELECT @@SPID AS n`,
      ),
    ),
  );
  expect(new Set(spids).size, MANY);
  expect(await value(pool, "SELECT COUNT(*) FROM clients_many"), MANY);
  await pool.close();
  return `${MANY} connections`;
}

(async () => {
  say("ok", "version", require("mssql/package.json").version);
  await check("clear", version(false));
  await check("tls", version(true));
  const pool = await connect();
  await matrix("receive", [], async (one) =>
    differs(one, await value(pool, `SELECT ${one.value} AS v`)),
  );
  await matrix("send", ROUNDED, (one) => sent(pool, one));
  await pool.close();
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
