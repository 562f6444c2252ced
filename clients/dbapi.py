"""The checks of the clients that follow Python's DB-API; what differs is in their Driver."""

import decimal
import threading
import time

from check import check, expect, line
from matrix import Report, cases, cut, differs

FIRST_LINES = "SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)"
MANY = 64
WAIT = "WAITFOR DELAY '00:00:30'"
ROWS = (
    "SELECT a.name, b.name FROM sys.all_objects AS a CROSS JOIN sys.all_objects AS b "
    "CROSS JOIN sys.all_objects AS c"
)
COMPUTE = f"SELECT COUNT_BIG(*) FROM ({ROWS} WHERE a.name < b.name + c.name) AS t (a, b)"


class Driver:
    """What a client must say of itself; a check whose method is None has no API there."""

    marker = "?"
    version = ""
    tls = True
    receives = []  # (start of the name of a value, why the client differs)
    sends = []
    strict = None
    output = None
    cancel = None
    cancelled = (WAIT, COMPUTE)
    bulk = None
    prepare = True
    counts = True  # rowcount is that of the result where the cursor is
    text_type = "nvarchar(40)"  # of a column that bulk fills
    letters = "Größe"  # in its texts

    def connect(self, tls=False, autocommit=True):
        raise NotImplementedError

    def failure(self, error):
        """(number, line, severity), each None where the client does not show it."""
        raise NotImplementedError

    def value(self, value):
        """A value as a parameter."""
        return value

    def mark(self, text):
        return text.replace("?", self.marker)

    def autocommit(self, connection, on):
        connection.autocommit = on

    def result(self, cursor):
        """Rows of the result that the cursor is at; None for one without columns."""
        if not cursor.description:
            return None
        return [tuple(row) for row in cursor.fetchall()]


class Checks:
    def __init__(self, driver):
        self.driver = driver

    def run(self):
        driver = self.driver
        line("ok", "version", driver.version)
        check("clear", lambda: self.version(False))
        if driver.tls:
            check("tls", lambda: self.version(True))
        if driver.strict:
            check("strict", lambda: self.version(True, driver.strict()))
        self.receive()
        self.send()
        check("parameter", self.parameter)
        if driver.prepare:
            check("prepare", self.prepare)
        if driver.output:
            check("output", self.output)
        check("results", self.results)
        check("transaction", self.transaction)
        check("savepoint", self.savepoint)
        check("error", self.error)
        if driver.cancel:
            check("cancel", self.cancel)
        if driver.bulk:
            check("bulk", self.bulk)
        check("many", self.many)

    def rows(self, cursor, text, *values):
        if values:
            cursor.execute(self.driver.mark(text), values)
        else:
            cursor.execute(text)
        return [tuple(row) for row in cursor.fetchall()]

    def ask(self, text, *values, connection=None):
        """One value by a cursor, and a connection where none is given, of its own."""
        mine = connection or self.driver.connect()
        cursor = mine.cursor()
        value = self.rows(cursor, text, *values)[0][0]
        cursor.close()
        if connection is None:
            mine.close()
        return value

    def version(self, tls, connection=None):
        connection = connection or self.driver.connect(tls=tls)
        encrypted = self.ask(
            "SELECT encrypt_option FROM sys.dm_exec_connections " "WHERE session_id = @@SPID",
            connection=connection,
        )
        expect(encrypted, "TRUE" if tls else "FALSE")
        text = self.ask("SELECT @@VERSION", connection=connection)
        connection.close()
        return text.splitlines()[0]

    def receive(self):
        report = Report("receive", self.driver.receives)
        connection = self.driver.connect()
        for case in cases():
            try:
                value = self.ask(f"SELECT {case.value} AS v", connection=connection)
                report.add(case, differs(case, value))
            except Exception as error:
                report.add(case, f"{type(error).__name__}: {error}")
                connection = self.driver.connect()
        report.finish()

    def send(self):
        report = Report("send", self.driver.sends)
        connection = self.driver.connect()
        for case in cases():
            if case.ways != "both":
                continue
            try:
                report.add(case, self.sent(connection, case))
            except Exception as error:
                report.add(case, f"{type(error).__name__}: {error}")
                connection = self.driver.connect()
        report.finish()

    def sent(self, connection, case):
        value = self.ask(f"SELECT {case.value} AS v", connection=connection)
        cursor = connection.cursor()
        cursor.execute(f"DROP TABLE IF EXISTS #sent; CREATE TABLE #sent (v {case.type} NULL)")
        cursor.execute(self.driver.mark("INSERT #sent VALUES (?)"), (self.driver.value(value),))
        read = self.rows(cursor, "SELECT v FROM #sent")[0][0]
        stored = self.rows(cursor, f"SELECT COUNT(*) FROM #sent WHERE {case.found()}")[0][0]
        cursor.close()
        if stored != 1 and not cut(case):
            return f"stored as {read!r:.60}"
        return differs(case, read)

    def parameter(self):
        connection = self.driver.connect()
        row = self.rows(
            connection.cursor(),
            "SELECT ? + 1 AS n, ? AS t, ? AS m",
            41,
            "Grüße",
            decimal.Decimal("12.50"),
        )[0]
        return expect(row, (42, "Grüße", decimal.Decimal("12.50")))[0]

    def prepare(self):
        """The same text with other values, the way the client prepares it: by executemany, and by
        a cursor that keeps its statement."""
        cursor = self.driver.connect().cursor()
        cursor.execute("CREATE TABLE #prepared (n int PRIMARY KEY, t nvarchar(20) NULL)")
        insert = self.driver.mark("INSERT #prepared VALUES (?, ?)")
        cursor.executemany(insert, [(n, f"row {n}" if n % 7 else None) for n in range(100)])
        for n in range(100):
            text = self.rows(cursor, "SELECT t FROM #prepared WHERE n = ?", n)[0][0]
            expect(text, f"row {n}" if n % 7 else None)
        return expect(self.rows(cursor, "SELECT COUNT(*), COUNT(t) FROM #prepared")[0], (100, 85))

    def output(self):
        connection = self.driver.connect()
        cursor = connection.cursor()
        cursor.execute(
            "CREATE OR ALTER PROCEDURE clients_output @n int, @twice int OUTPUT, "
            "@text nvarchar(40) OUTPUT AS SET @twice = 2 * @n; "
            "SET @text = CONCAT(@text, N'ß'); RETURN 7"
        )
        return expect(
            self.driver.output(connection, "clients_output", 21, "Stra"), (42, "Straß", 7)
        )

    def results(self):
        """Several results, row counts between them."""
        cursor = self.driver.connect().cursor()
        cursor.execute("CREATE TABLE #several (n int)")
        cursor.execute(
            "SELECT 1 AS a; INSERT #several VALUES (1), (2), (3); "
            "SELECT n, n * n FROM #several ORDER BY n; UPDATE #several SET n = 0 "
            "WHERE n > 1; SELECT 2 AS b WHERE 1 = 0; SELECT N'last' AS c"
        )
        found = []
        while True:
            rows = self.driver.result(cursor)
            found.append(cursor.rowcount if rows is None else rows)
            if not cursor.nextset():
                break
        sets = [result for result in found if isinstance(result, list)]
        expect(sets, [[(1,)], [(1, 1), (2, 4), (3, 9)], [], [("last",)]])
        counts = [result for result in found if isinstance(result, int)]
        if counts and self.driver.counts:  # DB-Library's clients go from rows to rows
            expect(counts, [3, 2])
        return f"{len(sets)} sets, counts {counts}"

    def transaction(self):
        connection = self.driver.connect()
        cursor = connection.cursor()
        cursor.execute("DROP TABLE IF EXISTS clients_rows; CREATE TABLE clients_rows (n int)")
        self.driver.autocommit(connection, False)
        cursor.execute("INSERT clients_rows VALUES (1)")
        expect(self.rows(cursor, "SELECT @@TRANCOUNT")[0][0], 1)
        connection.rollback()
        cursor.execute("INSERT clients_rows VALUES (2)")
        connection.commit()
        self.driver.autocommit(connection, True)
        expect(self.rows(cursor, "SELECT @@TRANCOUNT")[0][0], 0)
        return expect(self.ask("SELECT SUM(n) FROM clients_rows"), 2)

    def savepoint(self):
        connection = self.driver.connect()
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE #saved (n int)")
        self.driver.autocommit(connection, False)
        cursor.execute("INSERT #saved VALUES (1)")
        cursor.execute("SAVE TRANSACTION here")
        cursor.execute("INSERT #saved VALUES (2)")
        cursor.execute("ROLLBACK TRANSACTION here")
        cursor.execute("INSERT #saved VALUES (4)")
        connection.commit()
        return expect(self.rows(cursor, "SELECT SUM(n) FROM #saved")[0][0], 5)

    def error(self):
        """An error in the third line, one amid the rows of a result, and the connection after."""
        connection = self.driver.connect()
        seen = self.raised(connection, FIRST_LINES)
        for found, wanted in zip(seen, (50000, 3, 16)):
            expect(found, None if found is None else wanted)
        amid = self.raised(
            connection, "SELECT 10 / (2 - n) FROM (VALUES (0), (1), (2), (3)) AS t (n)"
        )
        expect(amid[0], 8134 if amid[0] else None)
        expect(self.raised(connection, "SELECT * FROM nowhere")[0], 208 if seen[0] else None)
        expect(self.ask("SELECT 1", connection=connection), 1)
        names = ("number", "line", "severity")
        return " ".join(name for name, found in zip(names, seen) if found is not None)

    def raised(self, connection, text):
        cursor = connection.cursor()
        try:
            cursor.execute(text)
            while True:
                self.driver.result(cursor)
                if not cursor.nextset():
                    break
        except Exception as error:
            cursor.close()
            return self.driver.failure(error)
        raise AssertionError(f"no error: {text}")

    def cancel(self):
        """Attention while the server waits, while it computes and while it sends rows."""
        connection = self.driver.connect()
        for text in self.driver.cancelled:
            start = time.monotonic()
            connection = self.driver.cancel(connection, text)
            took = time.monotonic() - start
            if took > 10:
                raise AssertionError(f"{took:.1f} s until {text} ended")
            expect(self.ask("SELECT 1", connection=connection), 1)
        return f"{len(self.driver.cancelled)} statements"

    def bulk(self):
        connection = self.driver.connect()
        cursor = connection.cursor()
        cursor.execute(
            "DROP TABLE IF EXISTS clients_bulk; CREATE TABLE clients_bulk (n int NOT NULL, "
            f"t {self.driver.text_type} NULL, f float NULL, d decimal(9, 2) NULL)"
        )
        rows = [
            (
                n,
                f"{self.driver.letters} {n}" if n % 5 else None,
                n / 4 if n % 3 else None,
                decimal.Decimal(n) / 100 if n % 2 else None,
            )
            for n in range(2000)
        ]
        cursor.close()
        self.driver.bulk(connection, "clients_bulk", ["n", "t", "f", "d"], rows)
        cursor = connection.cursor()
        found = self.rows(cursor, "SELECT n, t, f, d FROM clients_bulk ORDER BY n")
        expect(len(found), len(rows))
        for read, wanted in zip(found, rows):
            expect(read, wanted)
        return f"{len(found)} rows"

    def many(self):
        """64 connections at once: each adds a row, waits for all, and reads what all have added."""
        setup = self.driver.connect().cursor()
        setup.execute("DROP TABLE IF EXISTS clients_many; CREATE TABLE clients_many (n int)")
        barrier = threading.Barrier(MANY, timeout=120)
        counts = []

        def work(n):
            try:
                connection = self.driver.connect()
                cursor = connection.cursor()
                barrier.wait()
                cursor.execute(self.driver.mark("INSERT clients_many VALUES (?)"), (n,))
                barrier.wait()
                counts.append(self.rows(cursor, "SELECT COUNT(*) FROM clients_many")[0][0])
                connection.close()
            except Exception as error:
                counts.append(f"{type(error).__name__}: {error}")
                barrier.abort()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(MANY)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wrong = [count for count in counts if count != MANY]
        if wrong:
            raise AssertionError(f"{len(wrong)}: {wrong[0]}")
        return f"{MANY} connections"


def later(seconds, work):
    """Runs work after a while, on a thread of its own."""
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()
    return timer
