"""pyodbc over the ODBC driver of FreeTDS."""

import pyodbc
from check import HOST, PASSWORD, PORT, check, expect


def connect(encryption="off", autocommit=True):
    return pyodbc.connect(f"Driver={{FreeTDS}};Server={HOST};Port={PORT};UID=sa;PWD={PASSWORD};"
                          f"Database=master;TDS_Version=7.4;Encryption={encryption}",
                          autocommit=autocommit)


def version(encryption):
    with connect(encryption) as connection:
        return connection.execute("SELECT @@VERSION").fetchone()[0].splitlines()[0]


def parameter():
    with connect() as connection:
        row = connection.execute("SELECT ? + 1 AS n, ? AS t", 41, "Grüße").fetchone()
        return expect(tuple(row), (42, "Grüße"))


def error():
    with connect() as connection:
        try:
            cursor = connection.execute("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)")
            while cursor.nextset():
                pass
        except pyodbc.Error as raised:
            return expect("mine" in raised.args[1] and "(50000)" in raised.args[1]
                          or raised.args[1], True)
        raise AssertionError("no error")


def transaction():
    with connect(autocommit=False) as connection:
        first = connection.execute("SELECT @@TRANCOUNT").fetchone()[0]
        connection.rollback()
        connection.autocommit = True
        return expect((first, connection.execute("SELECT @@TRANCOUNT").fetchone()[0]), (1, 0))


print(f"ok\tversion\t{pyodbc.version}")
check("clear", lambda: version("off"))
check("tls", lambda: version("require"))
check("parameter", parameter)
check("error", error)
check("transaction", transaction)
