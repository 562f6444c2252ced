"""What the Python clients share: lines of checks."""

import os
import sys

HOST = os.environ["EXTENTDB_HOST"]
PORT = int(os.environ["EXTENTDB_PORT"])
PASSWORD = os.environ["EXTENTDB_PASSWORD"]


def check(name, work):
    try:
        detail = work()
        print(f"ok\t{name}\t{detail}")
    except Exception as error:  # every failure is a line of the table
        text = " ".join(str(error).split())[:200]
        print(f"failed\t{name}\t{type(error).__name__}: {text}")
    sys.stdout.flush()


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r}, not {wanted!r}")
    return found
