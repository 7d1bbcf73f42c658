"""Every reason that a delivery can end with is one that people can select by, whoever writes it.

Programs write `rows.Reason`, and the type checker holds them to it. SQL writes words: every word of a statement that
changes deliveries is a reason, or stands here as something else.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import get_args

import pytest

from sendonce_store.ordering import snake
from sendonce_store.rows import Reason, Wait
from sendonce_store.spec import DeliveryReason

SELECTABLE = {snake(reason.value) for reason in DeliveryReason}
STATES = {"pending", "sending", "sent", "failed", "uncertain", "suppressed", "expired", "cancelled"}
# what `gateway_receipt` is told and tells
RECEIPTS = {
    "accepted", "delivered", "complained", "bounced", "bounced_transient", "dropped", "settled", "marked", "noted",
}  # fmt: skip
BATCHES = {"done", "leased"}
_STATEMENT = re.compile(r"(?=CREATE (?:OR REPLACE )?FUNCTION)|(?=^-- name: )|;\n\n", re.MULTILINE)
_CHANGES_DELIVERIES = re.compile(r"(UPDATE|INSERT INTO|COPY)\s+sendonce\.deliveries\b")


def _texts() -> list[tuple[str, str]]:
    folders = [files("sendonce_store") / name for name in ("sql", "migrations")]
    return [(entry.name, entry.read_text("utf-8")) for folder in folders for entry in folder.iterdir()]


def _words(text: str) -> set[str]:
    """The words, in quotes, of the statements that change deliveries."""
    changing = [part for part in _STATEMENT.split(text) if _CHANGES_DELIVERIES.search(part)]
    return {word for part in changing for word in re.findall(r"'([a-z]+(?:_[a-z]+)*)'", re.sub(r"--.*", "", part))}


def test_every_reason_that_a_program_writes_can_be_selected() -> None:
    assert set(get_args(Reason)) <= SELECTABLE
    assert not set(get_args(Wait)) & SELECTABLE  # those have not ended


@pytest.mark.parametrize(("name", "text"), _texts(), ids=lambda value: value if len(value) < 60 else "")
def test_every_reason_that_sql_writes_can_be_selected(name: str, text: str) -> None:
    others = _words(text) - STATES - RECEIPTS - BATCHES
    assert others <= SELECTABLE, f"{name}: add these to DeliveryReason, or say above what they are"


def test_every_reason_that_can_be_selected_is_written_by_somebody() -> None:
    written = set(get_args(Reason)).union(*(_words(text) for _, text in _texts()))
    # no provider says so yet; the schema has it among the reasons of `failed`
    assert SELECTABLE - written == {"invalid_recipient"}
