"""Answers of DuckDB to the queries of TPC-H over rows that `tpch.rs` has written (TPCH_DUMP).

    python3 answers.py FOLDER > answers-0.1.txt
"""

import pathlib
import re
import sys

import duckdb

HERE = pathlib.Path(__file__).parent
TABLES = "region nation supplier part partsupp customer orders lineitem".split()


def standard(query):
    """TOP, DATEADD and YEAR are T-SQL's."""
    query = re.sub(
        r"DATEADD\((\w+), (-?\d+), (CAST\('[-\d]+' AS date\))\)",
        r"CAST(\3 + INTERVAL '\2 \1' AS date)",
        query,
    )
    query = query.replace("YEAR(", "EXTRACT(YEAR FROM ")
    top = re.search(r"SELECT TOP (\d+) ", query)
    if top:
        query = query.replace(top.group(0), "SELECT ", 1) + f"\nLIMIT {top.group(1)}"
    return query


def main(folder):
    database = duckdb.connect()
    for line in (HERE / "tables.sql").read_text().splitlines():
        database.execute(line)
    for name in TABLES:
        options = r"(DELIMITER '\t', HEADER false, QUOTE '')"
        database.execute(f"COPY {name} FROM '{folder}/{name}.tsv' {options}")
    answers = []
    for query in (HERE / "queries.sql").read_text().rstrip("\n").split("\n\n"):
        rows = database.execute(standard(query)).fetchall()
        answers.append("\n".join("|".join(str(field).strip() for field in row) for row in rows))
    print("\n\n".join(answers))


main(sys.argv[1])
