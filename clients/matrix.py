"""The values of types.tsv for the Python clients: reads them, sends them and compares.

A value goes both ways: what the client received is sent back into a column of the same type, where
the server compares it with the literal, and read from there once more.
"""

import datetime
import decimal
import pathlib
import struct
import uuid
from typing import NamedTuple

from check import line


class Case(NamedTuple):
    type: str
    kind: str
    case: str
    ways: str
    text: str
    stored: str
    literal: str

    @property
    def name(self):
        return f"{self.type} {self.case}"

    @property
    def value(self):
        return f"CAST({self.literal} AS {self.type})"

    def found(self):
        """The condition on column v that holds where the value has been stored."""
        if self.case == "null":
            return "v IS NULL"
        return f"{self.stored.replace('$', 'v')} = {self.stored.replace('$', self.value)}"


def cases():
    path = pathlib.Path(__file__).with_name("types.tsv")
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    for case in (Case(*entry.split("\t")) for entry in lines):
        text = case.text
        if text.startswith("*"):
            count, part = text[1:].split(" ", 1)
            text = part * int(count)
        yield case._replace(text=text)


def differs(case, value):
    """What differs: None where the value is the one of the case."""
    if case.case == "null":
        return None if value is None else repr(value)
    text = shown(case, value)
    if text == wanted(case):
        return None
    return text if len(text) < 60 else f"{text[:40]}… of {len(text)}"


def wanted(case):
    """Python's times have six digits: the seventh is cut."""
    if case.kind in ("time", "datetime") and "." in case.text:
        head, digits = case.text.split(".")
        return f"{head}.{digits[:6]}"
    if case.kind == "offset" and "." in case.text:
        head, rest = case.text.split(".")
        digits, zone = rest.split(" ")
        return f"{head}.{digits[:6]} {zone}"
    return case.text


def cut(case):
    return wanted(case) != case.text


def shown(case, value):
    """The value in the notation of types.tsv; what it cannot be is shown by repr."""
    kind = case.kind
    if kind == "integer" and isinstance(value, int):
        return str(int(value))
    if kind == "decimal" and isinstance(value, decimal.Decimal):
        return case.text if value == decimal.Decimal(case.text) else str(value)
    if kind == "float" and isinstance(value, float):
        return case.text if value == float(case.text) else repr(value)
    if kind == "real" and isinstance(value, float):
        same = struct.pack("f", value) == struct.pack("f", float(case.text))
        return case.text if same else repr(value)
    if kind == "binary" and isinstance(value, (bytes, bytearray)):
        return value.hex().upper()
    if kind == "guid" and isinstance(value, (uuid.UUID, str)):
        return str(value).upper()
    if kind == "text" and isinstance(value, str):
        return value
    return moment(kind, value) or repr(value)


def moment(kind, value):
    if isinstance(value, str):
        return value
    if kind == "date" and type(value) is datetime.date:
        return value.isoformat()
    if kind == "time" and isinstance(value, datetime.time):
        return fraction(value.strftime("%H:%M:%S"), value.microsecond)
    if not isinstance(value, datetime.datetime):
        return None
    text = fraction(f"{value.year:04}{value.strftime('-%m-%d %H:%M:%S')}", value.microsecond)
    if kind == "datetime" and value.tzinfo is None:
        return text
    if kind == "offset" and value.tzinfo is not None:
        minutes = round(value.utcoffset().total_seconds()) // 60
        return f"{text} {'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    return None


def fraction(text, microsecond):
    return f"{text}.{microsecond:06}".rstrip("0") if microsecond else text


class Report:
    """Counts values; a difference that is known to be the client's is a note, others fail."""

    def __init__(self, check, known):
        self.check = check
        self.known = known
        self.good = 0
        self.notes = []
        self.failures = []

    def add(self, case, difference):
        if difference is None:
            self.good += 1
            return
        for name, reason in self.known:
            if case.name.startswith(name):
                self.notes.append(reason)
                return
        self.failures.append(f"{case.name}: {difference}")

    def finish(self):
        total = self.good + len(self.notes) + len(self.failures)
        for reason in dict.fromkeys(self.notes):
            line("note", self.check, f"{reason} ({self.notes.count(reason)})")
        state = "failed" if self.failures else "ok"
        line(state, self.check, "; ".join([f"{self.good} of {total}", *self.failures]))
