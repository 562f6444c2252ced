"""pymssql: FreeTDS and DB-Library."""

import os
import pathlib
import tempfile

import pymssql
from check import HOST, PASSWORD, PORT
from dbapi import ROWS, Checks, Driver

CONFIGURATION = pathlib.Path(tempfile.mkdtemp(prefix="extentdb-pymssql-"))
for name, encryption in (("clear", "off"), ("tls", "require")):
    (CONFIGURATION / name).write_text(f"[global]\nencryption = {encryption}\n")


class Pymssql(Driver):
    marker = "%s"
    cancelled = (ROWS,)
    text_type = "varchar(40)"  # nvarchar is garbled by bulk_copy: pymssql's issue 917
    letters = "size"
    version = pymssql.__version__
    receives = [
        ("varchar(20)", "texts of other code pages are read as those of the login"),
        ("sql_variant", "sql_variant is received as bytes"),
    ]
    sends = [
        ("datetime2(7)", "times are sent with three digits"),
        ("datetimeoffset(7) max", "times are sent with three digits"),
        *(
            (f"{name} empty", "an empty value is sent as an empty text")
            for name in ("varbinary(16)", "varbinary(8000)", "varbinary(max)", "image")
        ),
        ("sql_variant", "sql_variant is received as bytes"),
    ]

    def connect(self, tls=False, autocommit=True):
        """What `encryption` asks for is the login alone: the file of FreeTDS says more."""
        os.environ["FREETDSCONF"] = str(CONFIGURATION / ("tls" if tls else "clear"))
        return pymssql.connect(
            server=HOST,
            port=str(PORT),
            user="sa",
            password=PASSWORD,
            database="master",
            autocommit=autocommit,
        )

    def autocommit(self, connection, on):
        connection.autocommit(on)

    def failure(self, error):
        # The line is not in its errors.
        return error.args[0], None, None

    def output(self, connection, name, number, text):
        cursor = connection.cursor()
        twice = pymssql.output(int)
        said = pymssql.output(str, text)
        values = cursor.callproc(name, (number, twice, said))
        return values[1], values[2], cursor.returnvalue

    def cancel(self, connection, text):
        """Its time-out closes the connection; what cancels is the layer below."""
        connection._conn.execute_query(text)
        next(iter(connection._conn))
        connection._conn.cancel()
        return connection

    def bulk(self, connection, table, columns, rows):
        connection.bulk_copy(table, rows)


Checks(Pymssql()).run()
