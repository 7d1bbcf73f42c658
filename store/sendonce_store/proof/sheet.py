"""A proof as CSV (RFC 4180), for spreadsheets: a Proof in, one line per figure out. Pure.

Columns: section, name, channel, state, reason, code, count, value. Far ends' words are in it: what a spreadsheet would
take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from sendonce_store.proof.building import STATES, Proof, Tally
from sendonce_store.proof.document import DIGEST, moment, to_data

__all__ = ["COLUMNS", "to_csv"]

COLUMNS = ("section", "name", "channel", "state", "reason", "code", "count", "value")
# OWASP, "CSV injection": what Excel, LibreOffice and Sheets may begin a formula with
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
Line = dict[str, object]


def to_csv(proof: Proof) -> bytes:
    """The report as CSV, UTF-8, with a line of titles."""
    written = StringIO(newline="")
    sheet = csv.DictWriter(written, COLUMNS, lineterminator="\r\n")
    sheet.writeheader()
    for line in _lines(proof):
        sheet.writerow({name: _harmless(value) for name, value in line.items()})
    return written.getvalue().encode()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _lines(proof: Proof) -> Iterator[Line]:
    data = to_data(proof)
    for section in ("campaign", "made"):
        for name, value in data[section].items():
            yield {"section": section, "name": name, "value": value}
    yield {"section": "proof", "name": "holds", "value": "yes" if proof.holds else "no"}
    for name, count in data["people"].items():
        yield {"section": "people", "name": name, "count": count}
    for tally in (proof.deliveries, *proof.channels):
        yield from _tally(tally)
    for reason in data["reasons"]:
        yield {"section": "reason", "value": reason.pop("message"), **reason}
    yield from _duplicates(data["duplicates"])
    for one in proof.content:
        yield {"section": "content", "name": one.language, "channel": one.channel, "value": one.sha256}
    for act in proof.acts:
        words = f"{moment(act.at)} {act.type} by {act.by or 'somebody'}: {act.message}"
        yield {"section": "act", "name": act.name, "count": act.changed, "value": words}
    for one_sum in proof.sums:
        yield {"section": "sum", "name": one_sum.what, "count": one_sum.found, "value": one_sum.expected}
    for sentence in proof.unknown:
        yield {"section": "unknown", "value": sentence}
    yield {"section": "proof", "name": DIGEST, "value": data[DIGEST]}


def _tally(tally: Tally) -> Iterator[Line]:
    here: Line = {"section": "deliveries", "channel": tally.channel}
    yield here | {"name": "total", "count": tally.total}
    for state in STATES:
        yield here | {"state": state, "count": tally.states[state]}
    for name, when in (("firstHandOff", tally.first_hand_off), ("lastHandOff", tally.last_hand_off)):
        if when is not None:
            yield here | {"name": name, "value": moment(when)}


def _duplicates(found: dict[str, object]) -> Iterator[Line]:
    yield {"section": "duplicates", "name": "how", "value": found.pop("how")}
    for name, count in found.items():
        yield {"section": "duplicates", "name": name, "count": "not known" if count is None else count}
