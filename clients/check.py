"""What the Python clients share: where the server is, and a line for each check."""

import os
import sys

HOST = os.environ["EXTENTDB_HOST"]
PORT = int(os.environ["EXTENTDB_PORT"])
PASSWORD = os.environ["EXTENTDB_PASSWORD"]


def check(name, work):
    try:
        line("ok", name, work())
    except Exception as error:  # every failure is a line of the table
        line("failed", name, f"{type(error).__name__}: {error}")


def line(state, name, detail):
    print(f"{state}\t{name}\t{' '.join(str(detail).split())[:2000]}", flush=True)


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r}, not {wanted!r}")
    return found
