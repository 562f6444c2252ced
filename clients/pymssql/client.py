"""pymssql: FreeTDS and DB-Library."""

import pymssql
from check import HOST, PASSWORD, PORT, check, expect


def connect(encryption):
    return pymssql.connect(server=HOST, port=str(PORT), user="sa", password=PASSWORD,
                           database="master", encryption=encryption)


def version(encryption):
    with connect(encryption) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT @@VERSION")
        return cursor.fetchone()[0].splitlines()[0]


def parameter():
    with connect("off") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT %d + 1 AS n, %s AS t", (41, "Grüße"))
        return expect(cursor.fetchone(), (42, "Grüße"))


def error():
    with connect("off") as connection:
        cursor = connection.cursor()
        try:
            cursor.execute("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)")
            while cursor.nextset():
                pass
        except pymssql.DatabaseError as raised:
            number, text = raised.args[0], raised.args[1].decode()
            expect(number, 50000)
            # It keeps the line to itself.
            return expect("mine" in text or text, True)
        raise AssertionError("no error")


def transaction():
    with connect("off") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT @@TRANCOUNT")
        first = cursor.fetchone()[0]
        connection.rollback()
        connection.autocommit(True)
        cursor.execute("SELECT @@TRANCOUNT")
        return expect((first, cursor.fetchone()[0]), (1, 0))


print(f"ok\tversion\t{pymssql.__version__}")
check("clear", lambda: version("off"))
check("tls", lambda: version("require"))
check("parameter", parameter)
check("error", error)
check("transaction", transaction)
