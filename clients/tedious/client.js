// tedious: the driver of Node.
const fs = require("fs");
const { Connection, Request, TYPES } = require("tedious");

function connect(encrypt) {
  return new Promise((resolve, reject) => {
    const connection = new Connection({
      server: process.env.EXTENTDB_HOST,
      authentication: {
        type: "default",
        options: { userName: "sa", password: process.env.EXTENTDB_PASSWORD },
      },
      options: {
        port: Number(process.env.EXTENTDB_PORT), encrypt, trustServerCertificate: encrypt !== "strict",
        serverName: "localhost",
        cryptoCredentialsDetails: { ca: fs.readFileSync(process.env.EXTENTDB_CERTIFICATE) },
        database: "master", connectTimeout: 8000,
      },
    });
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

function ask(connection, text, parameters = [], method = "execSql") {
  return new Promise((resolve, reject) => {
    const rows = [];
    const request = new Request(text, (error) => (error ? reject(error) : resolve(rows)));
    for (const [name, type, value] of parameters) request.addParameter(name, type, value);
    request.on("row", (columns) => rows.push(columns.map((column) => column.value)));
    connection[method](request);
  });
}

async function check(name, work) {
  try {
    console.log(`ok\t${name}\t${await work()}`);
  } catch (error) {
    console.log(`failed\t${name}\t${String(error.message).replace(/\s+/g, " ")}`);
  }
}

const version = (encrypt) => async () => {
  const connection = await connect(encrypt);
  const rows = await ask(connection, "SELECT @@VERSION");
  connection.close();
  return rows[0][0].split("\n")[0];
};

async function parameter() {
  const connection = await connect(false);
  const rows = await ask(connection, "SELECT @n + 1, @t",
    [["n", TYPES.Int, 41], ["t", TYPES.NVarChar, "Grüße"]]);
  connection.close();
  if (rows[0][0] !== 42 || rows[0][1] !== "Grüße") throw new Error(JSON.stringify(rows));
  return rows[0];
}

async function failure() {
  const connection = await connect(false);
  try {
    await ask(connection, "SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)", [], "execSqlBatch");
  } catch (error) {
    connection.close();
    if (error.number !== 50000 || error.lineNumber !== 3) throw error;
    return error.number;
  }
  throw new Error("no error");
}

async function transaction() {
  const connection = await connect(false);
  const done = (start) => new Promise((resolve, reject) =>
    start((error) => (error ? reject(error) : resolve())));
  await done((callback) => connection.beginTransaction(callback));
  const inside = (await ask(connection, "SELECT @@TRANCOUNT"))[0][0];
  await done((callback) => connection.rollbackTransaction(callback));
  const outside = (await ask(connection, "SELECT @@TRANCOUNT"))[0][0];
  await done((callback) => connection.reset(callback));
  connection.close();
  if (inside !== 1 || outside !== 0) throw new Error(`${inside} ${outside}`);
  return inside;
}

(async () => {
  console.log(`ok\tversion\t${require("tedious/package.json").version}`);
  await check("clear", version(false));
  await check("tls", version(true));
  await check("strict", version("strict"));
  await check("parameter", parameter);
  await check("error", failure);
  await check("transaction", transaction);
})();
