"""The programs of FreeTDS: tsql and bsqldb run texts, freebcp copies rows in and out."""

import os
import pathlib
import re
import struct
import subprocess
import tempfile

from check import HOST, PASSWORD, PORT, check, expect, line
from matrix import Report, cases

MANY = 64
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="extentdb-freetds-"))
LOGIN = ["-U", "sa", "-P", PASSWORD]
FILE = FOLDER / "rows"


def configure():
    """A server with TLS and one without: the programs have no option for it."""
    entry = "[{}]\nhost = {}\nport = {}\nencryption = {}\n"
    text = "[global]\ntds version = 7.4\nclient charset = UTF-8\ntext size = 2147483647\n"
    text += entry.format("clear", HOST, PORT, "off") + entry.format("tls", HOST, PORT, "require")
    (FOLDER / "freetds.conf").write_text(text)
    os.environ["FREETDSCONF"] = str(FOLDER / "freetds.conf")


def called(arguments, text=""):
    return subprocess.run(arguments, input=text, capture_output=True, text=True, timeout=120)


def tsql(text, server="clear"):
    return called(["tsql", "-S", server, *LOGIN, "-o", "fhq"], f"{text}\ngo\n")


def bsqldb(text, *options, server="clear"):
    return called(["bsqldb", "-S", server, *LOGIN, "-q", *options], text)


def ask(text):
    return bsqldb(text, "-h").stdout.strip()


def bcp(table, way, form):
    done = called(["freebcp", table, way, str(FILE), form, "-S", "clear", *LOGIN])
    if done.returncode or "failed" in done.stdout + done.stderr:
        raise AssertionError(done.stderr or done.stdout)


def version(server):
    text = (
        "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID "
        "SELECT @@VERSION"
    )
    for program in (tsql, bsqldb):
        shown = program(text, server=server).stdout
        expect(("TRUE" in shown, "FALSE" in shown), (server == "tls", server != "tls"))
    return re.search("Microsoft SQL Server.*", shown)[0].strip()


def written(case):
    """The value as freebcp writes it as text."""
    if case.case == "null":
        return ""
    if case.text == "":
        return "\0"
    if case.kind in ("real", "float"):
        return number(case, case.text)
    if case.kind == "binary":
        return case.text.lower()
    if case.kind in ("date", "time", "datetime", "offset"):
        return moment(case)
    return case.text


def number(case, text):
    """The nearest number of the type: both sides have different digits for it."""
    if case.kind == "real":
        return repr(struct.unpack("f", struct.pack("f", float(text)))[0])
    return repr(float(text))


def moment(case):
    """It writes all of them as a datetime of three digits, without an offset."""
    text = case.text[:-7] if case.kind == "offset" else case.text
    text = {"date": f"{text} 00:00:00", "time": f"1900-01-01 {text}"}.get(case.kind, text)
    whole, _, digits = text.partition(".")
    year, rest = whole.split("-", 1)
    return f"{int(year)}-{rest}.{digits:0<3.3}"


VARIANT = ("sql_variant", "freebcp has no sql_variant")
YEAR_1 = [
    (name, "freebcp reads the year 1 as 2001")
    for name in ("date min", "datetime2(0) min", "datetime2(7) min", "datetimeoffset(0) min")
]
FRACTION = [
    (name, "freebcp writes three digits of a second") for name in ("time(7)", "datetime2(7)")
]
OFFSET = ("datetimeoffset", "freebcp writes no offset")
XML = ("xml", "freebcp leaves xml columns out")


def receive():
    report = Report("receive", [VARIANT])
    for case in cases():
        try:
            bcp(f"SELECT {case.value} AS v", "queryout", "-c")
            found = FILE.read_bytes().decode().removesuffix("\n")
            if case.kind in ("real", "float") and found:
                found = number(case, found)
            report.add(case, None if found == written(case) else f"{found:.60}")
        except AssertionError as error:
            report.add(case, str(error))
    report.finish()


def send():
    """Out and in again, where the server compares."""
    report = Report("send", [VARIANT, *YEAR_1, *FRACTION, OFFSET, XML])
    for case in cases():
        if case.ways != "both":
            continue
        try:
            bcp(f"SELECT {case.value} AS v", "queryout", "-c")
            ask(
                f"DROP TABLE IF EXISTS clients_sent; CREATE TABLE clients_sent (v {case.type} NULL)"
            )
            bcp("master.dbo.clients_sent", "in", "-c")
            stored = ask(f"SELECT COUNT(*) FROM clients_sent WHERE {case.found()}")
            shown = (
                None
                if stored == "1"
                else ask("SELECT TOP 1 LEFT(CONVERT(nvarchar(max), v), 40) FROM clients_sent")
            )
            report.add(case, None if stored == "1" else f"stored as {shown}")
        except AssertionError as error:
            report.add(case, str(error))
    report.finish()


def results():
    ask("DROP TABLE IF EXISTS clients_several; CREATE TABLE clients_several (n int)")
    shown = tsql(
        "SELECT 1 AS a; INSERT clients_several VALUES (1), (2), (3); "
        "SELECT n, n * n AS q FROM clients_several ORDER BY n; "
        "UPDATE clients_several SET n = 0 WHERE n > 1; SELECT 'last' AS c"
    ).stdout
    expect(shown.split(), ["1", "1", "1", "2", "4", "3", "9", "last"])
    return "3 sets"


def transaction():
    ask("DROP TABLE IF EXISTS clients_rows; CREATE TABLE clients_rows (n int)")
    ask(
        "BEGIN TRAN INSERT clients_rows VALUES (1) ROLLBACK BEGIN TRAN INSERT clients_rows VALUES (2) COMMIT"
    )
    return expect(ask("SELECT SUM(n) FROM clients_rows"), "2")


def savepoint():
    text = (
        "SET NOCOUNT ON CREATE TABLE #saved (n int) BEGIN TRAN INSERT #saved VALUES (1) SAVE TRAN here "
        "INSERT #saved VALUES (2) ROLLBACK TRAN here INSERT #saved VALUES (4) COMMIT SELECT SUM(n) FROM #saved"
    )
    return expect(ask(text), "5")


def output():
    ask(
        "CREATE OR ALTER PROCEDURE clients_output @n int, @twice int OUTPUT AS SET @twice = 2 * @n; RETURN 7"
    )
    text = "DECLARE @r int, @t int; EXEC @r = clients_output 21, @t OUTPUT; SELECT @r, @t"
    return expect(tsql(text).stdout.split()[-2:], ["7", "42"])


def error():
    found = tsql("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)\nSELECT 4")
    told = re.search(
        r"Msg (\d+) \(severity (\d+), state (\d+)\) from .* Line (\d+)", found.stderr + found.stdout
    )
    expect(told.groups() if told else found.stderr, ("50000", "16", "3", "3"))
    expect("4" in found.stdout.split(), True)
    amid = tsql("SELECT 10 / (2 - n) FROM (VALUES (0), (1), (2), (3)) AS t (n)\ngo\nSELECT 42")
    expect("Msg 8134" in amid.stderr + amid.stdout and "42" in amid.stdout, True)
    return "number line severity state"


def bulk():
    ask(
        "DROP TABLE IF EXISTS clients_bulk; CREATE TABLE clients_bulk (n int NOT NULL, t nvarchar(40) NULL, "
        "f float NULL, d decimal(9, 2) NULL)"
    )
    rows = [
        f"{n}\t{'' if n % 5 == 0 else f'Größe {n}'}\t{'' if n % 3 == 0 else n / 4}\t"
        f"{'' if n % 2 == 0 else f'{n / 100:.2f}'}\n"
        for n in range(2000)
    ]
    FILE.write_text("".join(rows))
    bcp("master.dbo.clients_bulk", "in", "-c")
    bcp("SELECT * FROM clients_bulk ORDER BY n", "queryout", "-c")
    found = [
        [row[0], row[1], float(row[2] or 0), row[3]]
        for row in (entry.split("\t") for entry in FILE.read_text().splitlines())
    ]
    wanted = [
        [row[0], row[1], float(row[2] or 0), row[3]]
        for row in (entry.rstrip("\n").split("\t") for entry in rows)
    ]
    expect(found, wanted)
    return f"{len(found)} rows"


def many():
    """64 programs at once; each waits, so that all are there."""
    ask("DROP TABLE IF EXISTS clients_many; CREATE TABLE clients_many (n int)")
    text = "INSERT clients_many VALUES (1) WAITFOR DELAY '00:00:05' SELECT COUNT(*) FROM clients_many\ngo\n"
    programs = [
        subprocess.Popen(
            ["tsql", "-S", "clear", *LOGIN, "-o", "fhq"],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(MANY)
    ]
    for program in programs:
        program.stdin.write(text)
        program.stdin.flush()
    counts = [program.communicate(timeout=120)[0].split() for program in programs]
    wrong = [count for count in counts if count != [str(MANY)]]
    return expect(wrong, []) or f"{MANY} connections"


configure()
version_line = re.search(r"freetds v(\S+)", called(["tsql", "-C"]).stdout)
line("ok", "version", version_line[1])
check("clear", lambda: version("clear"))
check("tls", lambda: version("tls"))
receive()
send()
check("output", output)
check("results", results)
check("transaction", transaction)
check("savepoint", savepoint)
check("error", error)
check("bulk", bulk)
check("many", many)
