"""python-tds: the protocol in Python. It encrypts only with a certificate that it can verify: not here."""

import pytds
from check import HOST, PASSWORD, PORT, check, expect


def connect(**options):
    return pytds.connect(dsn=HOST, port=PORT, user="sa", password=PASSWORD, database="master",
                         **options)


def version(**options):
    with connect(**options) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@VERSION")
        return cursor.fetchone()[0].splitlines()[0]



def parameter():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT %s + 1 AS n, %s AS t", (41, "Grüße"))
        return expect(tuple(cursor.fetchone()), (42, "Grüße"))


def error():
    with connect() as connection, connection.cursor() as cursor:
        try:
            cursor.execute("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)")
            while cursor.nextset():
                pass
        except pytds.tds_base.Error as raised:
            return expect((raised.msg_no, raised.line), (50000, 3))
        raise AssertionError("no error")


def transaction():
    with connect(autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@TRANCOUNT")
        first = cursor.fetchone()[0]
        connection.rollback()
        connection.autocommit = True
        cursor.execute("SELECT @@TRANCOUNT")
        return expect((first, cursor.fetchone()[0]), (1, 0))


print(f"ok\tversion\t{pytds.__version__ if hasattr(pytds, '__version__') else '1.17'}")
check("clear", version)
check("parameter", parameter)
check("error", error)
check("transaction", transaction)
