"""pyodbc over the ODBC driver of FreeTDS."""

import re

import pyodbc
from check import HOST, PASSWORD, PORT
from dbapi import Checks, Driver, later


class Pyodbc(Driver):
    version = pyodbc.version
    receives = [
        ("datetimeoffset", "the driver has no datetimeoffset"),
        ("sql_variant", "the driver has no sql_variant"),
    ]
    sends = [
        *receives,
        *(
            (f"{name} min", "year 1 is sent as a day before it")
            for name in ("date", "datetime2(0)", "datetime2(7)")
        ),
        ("time(", "times are sent without a fraction"),
        *(
            (f"{name} null", "a NULL is sent as varchar")
            for name in ("binary(4)", "varbinary(16)", "varbinary(8000)", "varbinary(max)", "image")
        ),
    ]

    def connect(self, tls=False, autocommit=True):
        return pyodbc.connect(
            f"Driver={{FreeTDS}};Server={HOST};Port={PORT};UID=sa;PWD={PASSWORD};"
            "Database=master;TDS_Version=7.4;ClientCharset=UTF-8;"
            f"Encryption={'require' if tls else 'off'}",
            autocommit=autocommit,
        )

    def failure(self, error):
        return int(re.search(r"\((\d+)\) \(SQL", error.args[1])[1]), None, None

    def cancel(self, connection, text):
        cursor = connection.cursor()
        later(0.5, cursor.cancel)
        try:
            cursor.execute(text)
        except pyodbc.Error:
            return connection
        raise AssertionError("not cancelled")


Checks(Pyodbc()).run()
