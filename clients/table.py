"""Writes the pass table of all clients from the lines of their checks."""

import pathlib
import sys

CHECKS = ["clear", "tls", "strict", "parameter", "error", "transaction"]

folder = pathlib.Path(sys.argv[1])
print("# Clients\n")
print("Written by `clients/run-all`; what each check is: [clients/README.md](../clients/README.md).\n")
print("| client | version | " + " | ".join(CHECKS) + " |")
print("|---|---|" + "---|" * len(CHECKS))
notes = []
for client in sys.argv[2:]:
    cells = {}
    version = ""
    for line in (folder / f"{client}.tsv").read_text().splitlines():
        state, check, detail = (line.split("\t") + ["", ""])[:3]
        if check == "version":
            version = detail
            continue
        cells[check] = state
        if state != "ok":
            notes.append(f"* {client}, {check}: {detail}")
    print(f"| {client} | {version} | " + " | ".join(cells.get(check, "–") for check in CHECKS) + " |")
if notes:
    print("\n" + "\n".join(notes))
