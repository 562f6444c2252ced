"""go-sqlcmd: the program sqlcmd of Go. It shows values as text, so that types are those of go-mssqldb."""

import os
import re
import subprocess

from check import HOST, PASSWORD, PORT, check, expect, line

MANY = 64
COMMAND = [os.environ["SQLCMD"], "-S", f"tcp:{HOST},{PORT}", "-U", "sa", "-C", "-h", "-1", "-W"]
ENVIRONMENT = {**os.environ, "SQLCMDPASSWORD": PASSWORD}


def sqlcmd(text, *options):
    return subprocess.run(
        [*COMMAND, *options],
        input=f"{text}\nGO\n",
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=120,
    )


def ask(text):
    return sqlcmd(f"SET NOCOUNT ON\n{text}").stdout.strip()


def version(encrypt):
    encrypted = "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID"
    shown = sqlcmd(f"SET NOCOUNT ON {encrypted}", "-N", encrypt).stdout
    expect(shown.strip(), "FALSE" if encrypt == "disable" else "TRUE")
    return ask("SELECT @@VERSION").splitlines()[0]


def output():
    ask(
        "CREATE OR ALTER PROCEDURE clients_output @n int, @twice int OUTPUT AS SET @twice = 2 * @n; RETURN 7"
    )
    shown = ask("DECLARE @r int, @t int; EXEC @r = clients_output 21, @t OUTPUT; SELECT @r, @t")
    return expect(shown.split(), ["7", "42"])


def results():
    shown = sqlcmd(
        "CREATE TABLE #several (n int)\nGO\nSELECT 1\nINSERT #several VALUES (1), (2), (3)\n"
        "SELECT n * n FROM #several ORDER BY n\nUPDATE #several SET n = 0 WHERE n > 1"
    ).stdout
    expect(re.findall(r"\((\d+) rows? affected\)", shown), ["1", "3", "3", "2"])
    return "2 sets, counts"


def transaction():
    ask("DROP TABLE IF EXISTS clients_rows CREATE TABLE clients_rows (n int)")
    ask(
        "BEGIN TRAN\nINSERT clients_rows VALUES (1)\nROLLBACK\nBEGIN TRAN\nINSERT clients_rows VALUES (2)\nCOMMIT"
    )
    return expect(ask("SELECT SUM(n) FROM clients_rows"), "2")


def savepoint():
    return expect(
        ask(
            "CREATE TABLE #saved (n int) BEGIN TRAN INSERT #saved VALUES (1) SAVE TRAN here "
            "INSERT #saved VALUES (2) ROLLBACK TRAN here INSERT #saved VALUES (4) COMMIT "
            "SELECT SUM(n) FROM #saved"
        ),
        "5",
    )


def error():
    done = sqlcmd("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)\nGO\nSELECT 42", "-r", "1")
    told = re.search(
        r"Msg (\d+), Level (\d+), State (\d+), .*Line (\d+)", done.stderr + done.stdout
    )
    expect(told.groups() if told else done.stderr, ("50000", "16", "3", "3"))
    expect("42" in done.stdout.split(), True)
    expect(sqlcmd("SELECT * FROM nowhere", "-b").returncode, 1)
    return "number line severity state"


def many():
    ask("DROP TABLE IF EXISTS clients_many CREATE TABLE clients_many (n int)")
    text = "SET NOCOUNT ON INSERT clients_many VALUES (1) WAITFOR DELAY '00:00:05' SELECT COUNT(*) FROM clients_many"
    programs = [
        subprocess.Popen([*COMMAND, "-Q", text], text=True, stdout=subprocess.PIPE, env=ENVIRONMENT)
        for _ in range(MANY)
    ]
    counts = [program.communicate(timeout=120)[0].strip() for program in programs]
    return expect(set(counts), {str(MANY)}) and f"{MANY} connections"


shown = subprocess.run([COMMAND[0], "--version"], capture_output=True, text=True).stdout
line("ok", "version", (re.search(r"\d+\.\d+\.\d+", shown) or [""])[0])
check("clear", lambda: version("disable"))
check("tls", lambda: version("true"))
check("strict", lambda: version("strict"))
check("output", output)
check("results", results)
check("transaction", transaction)
check("savepoint", savepoint)
check("error", error)
check("many", many)
