"""pymssql: FreeTDS and DB-Library."""

import pymssql
from check import HOST, PASSWORD, PORT
from dbapi import ROWS, Checks, Driver


class Pymssql(Driver):
    marker = "%s"
    cancelled = (ROWS,)
    text_type = "varchar(40)"  # garbles nvarchar: issue 917 of pymssql
    version = pymssql.__version__

    def connect(self, tls=False, autocommit=True, timeout=0):
        return pymssql.connect(server=HOST, port=str(PORT), user="sa", password=PASSWORD,
                               database="master", encryption="require" if tls else "off",
                               autocommit=autocommit, timeout=timeout)

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
