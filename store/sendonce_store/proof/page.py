"""A proof as one page to read and to print: a Proof in, HTML out. Pure.

The page holds everything it needs, loads nothing and runs nothing; its policy says so, also when it is opened from a
disk. Whatever comes from outside is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from sendonce_store.proof.building import STATES, Act, Proof, Reason, Tally
from sendonce_store.proof.document import DIGEST, moment, to_data
from sendonce_store.proof.words import BASIS

__all__ = ["CONTENT_SECURITY_POLICY", "to_html"]

Cell = str | int | None
_NOT_KNOWN = "not known"


@cache
def _style() -> str:
    return (files("sendonce_store") / "proof" / "page.css").read_text("utf-8")


def _style_hash() -> str:
    return base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()


# for whoever serves the page: nothing but this style
CONTENT_SECURITY_POLICY = f"default-src 'none'; style-src 'sha256-{_style_hash()}'"


def to_html(proof: Proof) -> bytes:
    """The page, UTF-8."""
    title = f"Proof of campaign {proof.campaign.send_key}"
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(CONTENT_SECURITY_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · Sendonce</title>\n<style>{_style()}</style>\n</head>\n<body>\n<main>\n"
    )
    return (head + "\n".join(_parts(proof, title)) + "\n</main>\n</body>\n</html>\n").encode()


def _parts(proof: Proof, title: str) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    yield _verdict(proof)
    yield _facts(_campaign(proof))
    yield _section("People", _table(["what", "rows"], _people(proof)))
    yield _section(
        "Deliveries", _table(["channel", "total", *STATES, "first hand-off", "last hand-off"], _tallies(proof))
    )
    if proof.reasons:
        yield _section("Not sent, and why", _table(_REASON_TITLES, map(_reason, proof.reasons)))
    yield _section(
        "Duplicates", f"<p>{escape(proof.duplicates.how)}</p>", _table(["what", "deliveries"], _duplicates(proof))
    )
    yield _section("What is not known", _list(proof.unknown))
    content = [(one.channel, one.language or "–", one.sha256) for one in proof.content]
    yield _section("Content", _table(["channel", "language", "SHA-256 of the frozen template"], content))
    if proof.acts:
        yield _section("Orders by people", _table(_ACT_TITLES, map(_act, proof.acts)))
    sums = [(one.what, one.found, one.expected, "yes" if one.holds else "NO") for one in proof.sums]
    yield _section("Sums", _table(["what", "found", "expected", "same"], sums))
    yield _end(proof)


def _verdict(proof: Proof) -> str:
    if proof.holds:
        return '<p class="verdict holds">Every sum adds up, and nobody is known to have been sent to twice.</p>'
    return '<p class="verdict broken">This does not hold: see the sums and the duplicates below.</p>'


def _campaign(proof: Proof) -> Iterator[tuple[str, str]]:
    c, made = proof.campaign, proof.made
    yield "Namespace", c.namespace
    yield "Name, send key", c.name if c.name == c.send_key else f"{c.name}, {c.send_key}"
    yield "Category", c.category if c.topic is None else f"{c.category}, topic {c.topic}"
    yield "Ended", f"{c.reason}: {c.message}" if c.message else c.reason
    for name, when in (("Created", c.created_at), ("Begun", c.start_time), ("Complete", c.completion_time)):
        if when is not None:
            yield name, moment(when)
    if c.applied_by is not None:
        yield "Applied by", c.applied_by
    yield "Content", c.content_hash
    yield "Made", f"{moment(made.made_at)} by {made.software}, store {made.store_id}"


def _people(proof: Proof) -> Iterator[Sequence[Cell]]:
    p = proof.people
    yield "rows read: people + duplicates + refused", p.rows_read
    yield "people", p.total
    yield "rows whose addresses an earlier row had", p.duplicates
    yield "refused rows", p.rejected
    yield "people without an address on any channel", p.unreachable


def _tallies(proof: Proof) -> Iterator[Sequence[Cell]]:
    for one in (*proof.channels, proof.deliveries):
        yield one.channel, one.total, *(one.states[state] for state in STATES), *_hand_offs(one)


def _hand_offs(one: Tally) -> tuple[Cell, Cell]:
    first, last = one.first_hand_off, one.last_hand_off
    return (moment(first) if first else "–", moment(last) if last else "–")


def _duplicates(proof: Proof) -> Iterator[Sequence[Cell]]:
    d = proof.duplicates
    yield "accepted more than once", _known(d.count)
    yield "repeated under one key, within its time", _known(d.repeated_under_one_key)
    yield "possibly repeated", _known(d.possible)
    yield "uncertain", d.uncertain
    yield "sent by a person's decision", _known(d.sent_by_decision)


def _known(count: int | None) -> Cell:
    return _NOT_KNOWN if count is None else count


_REASON_TITLES = ["deliveries", "channel", "state", "reason", "code", "the far end's words, for one of them"]


def _reason(one: Reason) -> Sequence[Cell]:
    return one.count, one.channel, one.state, one.reason, one.code, one.message


_ACT_TITLES = ["when", "by, as they said", "what", "name", "changed", "result"]


def _act(one: Act) -> Sequence[Cell]:
    return (
        moment(one.at),
        one.by or "–",
        one.type,
        one.name,
        one.changed,
        one.message if one.done else f"not finished: {one.message}",
    )


def _end(proof: Proof) -> str:
    signed = "".join(f"<div><span></span>{what}</div>" for what in ("Name", "Date", "Signature"))
    digest = to_data(proof)[DIGEST]
    return f'<footer><p>{escape(BASIS)}</p><p class="digest">{digest}</p><div class="signed">{signed}</div></footer>'


def _section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(parts)}\n</section>"


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in pairs)}</dl>"


def _list(sentences: Sequence[str]) -> str:
    if not sentences:
        return "<p>Nothing of what is counted here.</p>"
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in sentences)}</ul>"


def _table(titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    # it may be wider than the screen: then it is moved with the arrow keys
    return f'<div class="wide" role="group" tabindex="0" aria-label="{escape(", ".join(titles))}">{table}</div>'


def _cell(value: Cell) -> str:
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(value or '')}</td>"
