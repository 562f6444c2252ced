"""python-tds: the protocol in Python."""

import importlib.metadata
import os

import pytds
from check import HOST, PASSWORD, PORT
from dbapi import ROWS, Checks, Driver


class PythonTds(Driver):
    sends = [
        ("sql_variant nvarchar", "texts are sent as nvarchar(max)"),
        ("sql_variant varchar", "texts are sent as nvarchar(max)"),
    ]
    cancelled = (ROWS,)  # a cursor that waits for its first row reads alone
    marker = "%s"
    described = None
    version = importlib.metadata.version("python-tds")

    def connect(self, tls=False, autocommit=True):
        options = {"cafile": os.environ["EXTENTDB_CERTIFICATE"]} if tls else {}
        return pytds.connect(
            dsn="localhost" if tls else HOST,
            port=PORT,
            user="sa",
            password=PASSWORD,
            database="master",
            autocommit=autocommit,
            **options
        )

    def failure(self, error):
        return error.msg_no, error.line, error.severity

    def value(self, value):
        return pytds.Binary(value) if isinstance(value, bytes) else value

    def output(self, connection, name, number, text):
        cursor = connection.cursor()
        twice = pytds.output(param_type="int")
        said = pytds.output(value=text, param_type="nvarchar(40)")
        values = cursor.callproc(name, (number, twice, said))
        return values[1], values[2], cursor.get_proc_return_status()

    def cancel(self, connection, text):
        cursor = connection.cursor()
        cursor.execute(text)
        cursor.fetchone()
        cursor.cancel()
        return connection

    def result(self, cursor):
        """A row count leaves the description of the result before it."""
        described = cursor.description
        if described is self.described:
            return None
        self.described = described
        return super().result(cursor)

    def bulk(self, connection, table, columns, rows):
        kinds = [
            pytds.tds_types.IntType(),
            pytds.tds_types.NVarCharType(size=40),
            pytds.tds_types.FloatType(),
            pytds.tds_types.DecimalType(9, 2),
        ]
        described = [
            pytds.tds_base.Column(name=name, type=kind, flags=pytds.tds_base.Column.fNullable)
            for name, kind in zip(columns, kinds)
        ]
        cursor = connection.cursor()
        cursor.copy_to(table_or_view=table, columns=described, data=rows)


Checks(PythonTds()).run()
