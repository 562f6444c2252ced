"""mssql-python: Microsoft's ODBC driver 18."""

import importlib.metadata

import mssql_python
from check import HOST, PASSWORD, PORT, check, expect


def connect(encrypt="no", autocommit=True):
    return mssql_python.connect(f"Server={HOST},{PORT};UID=sa;PWD={PASSWORD};Database=master;"
                                f"Encrypt={encrypt};TrustServerCertificate=yes",
                                autocommit=autocommit)


def version(encrypt):
    connection = connect(encrypt)
    row = connection.cursor().execute("SELECT @@VERSION").fetchone()
    connection.close()
    return row[0].splitlines()[0]


def parameter():
    cursor = connect().cursor()
    cursor.execute("SELECT ? + 1 AS n, ? AS t", 41, "Grüße")
    return expect(tuple(cursor.fetchone()), (42, "Grüße"))


def error():
    cursor = connect().cursor()
    try:
        cursor.execute("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)")
        while cursor.nextset():
            pass
    except Exception as raised:
        return expect("mine" in str(raised) or str(raised), True)
    raise AssertionError("no error")


def transaction():
    connection = connect(autocommit=False)
    cursor = connection.cursor()
    first = cursor.execute("SELECT @@TRANCOUNT").fetchone()[0]
    connection.rollback()
    connection.autocommit = True
    return expect((first, cursor.execute("SELECT @@TRANCOUNT").fetchone()[0]), (1, 0))


print(f"ok\tversion\t{importlib.metadata.version('mssql-python')}")
check("clear", lambda: version("no"))
check("tls", lambda: version("yes"))
check("parameter", parameter)
check("error", error)
check("transaction", transaction)
