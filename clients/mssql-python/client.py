"""mssql-python: Microsoft's ODBC driver 18."""

import importlib.metadata
import os

import mssql_python
from check import HOST, PASSWORD, PORT
from dbapi import Checks, Driver


class MssqlPython(Driver):
    sends = [("date min", "dates before 1753 are refused")]
    counts = False  # nextset leaves rowcount as it was
    version = importlib.metadata.version("mssql-python")

    def connect(self, tls=False, autocommit=True):
        return self.open(f"Encrypt={'yes' if tls else 'no'};TrustServerCertificate=yes", autocommit)

    def strict(self):
        certificate = os.environ["EXTENTDB_CERTIFICATE"]
        return self.open(
            f"Encrypt=strict;HostnameInCertificate=localhost;ServerCertificate={certificate}", True
        )

    def open(self, options, autocommit):
        return mssql_python.connect(
            f"Server={HOST},{PORT};UID=sa;PWD={PASSWORD};Database=master;{options}",
            autocommit=autocommit,
        )

    def failure(self, error):
        # Its errors are the texts alone.
        return None, None, None

    def cancel(self, connection, text):
        """The time-out of a query sends an attention."""
        connection.timeout = 1
        try:
            connection.cursor().execute(text)
        except mssql_python.Error:
            connection.timeout = 0
            return connection
        raise AssertionError("not cancelled")

    def bulk(self, connection, table, columns, rows):
        connection.cursor().bulkcopy(table, rows)


Checks(MssqlPython()).run()
