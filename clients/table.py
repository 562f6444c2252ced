"""Writes the pass table of all clients from the lines of their checks."""

import pathlib
import sys

CHECKS = [
    "clear",
    "tls",
    "strict",
    "receive",
    "send",
    "parameter",
    "prepare",
    "output",
    "results",
    "transaction",
    "savepoint",
    "error",
    "cancel",
    "bulk",
    "many",
]
# Characters of a failure that are shown.
LONG = 400
# Checks whose details are figures.
COUNTED = ("receive", "send")


def cell(check, states):
    state, detail = states.get(check, ("–", ""))
    if check in COUNTED and state != "–":
        return f"{detail.split(';')[0]}{'' if state == 'ok' else ' **failed**'}"
    return state if state == "ok" or state == "–" else f"**{state}**"


folder = pathlib.Path(sys.argv[1])
print("# Clients\n")
print(
    "Written by `clients/run-all`; what each check is: [clients/README.md](../clients/README.md). `–`: the client has"
)
print(
    "no API for it. `receive` and `send` count values of [types.tsv](../clients/types.tsv); what the clients themselves"
)
print("lack is told below.\n")
print("| client | version | " + " | ".join(CHECKS) + " | others |")
print("|---|---|" + "---|" * (len(CHECKS) + 1))
notes = []
failures = []
for client in sys.argv[2:]:
    states = {}
    for line in (folder / f"{client}.tsv").read_text(encoding="utf-8").splitlines():
        state, check, detail = (line.split("\t") + ["", ""])[:3]
        if state == "note":
            notes.append(f"* {client}, {check}: {detail}")
            continue
        states[check] = (state, detail)
        if state != "ok":
            failures.append(f"* {client}, {check}: {detail if len(detail) < LONG else detail[:LONG] + '…'}")
    version = states.pop("version", ("", ""))[1]
    cells = [cell(check, states) for check in CHECKS]
    others = [f"{check} {cell(check, states)}" for check in states if check not in CHECKS]
    print(f"| {client} | {version} | " + " | ".join(cells) + f" | {', '.join(others)} |")
for title, lines in (("Failures", failures), ("What clients lack", notes)):
    if lines:
        print(f"\n## {title}\n\n" + "\n".join(lines))
