"""The error tree, the clock that many requests share, and the page that is written from the tables."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sendonce_worker.providers.deadlines import Deadlines
from sendonce_worker.providers.doc import BEGIN, classification, renewed
from sendonce_worker.providers.errors import (
    AccountError,
    HandOffRefusedError,
    Kind,
    PermanentSendError,
    RateLimitedError,
    SendError,
    TemporarySendError,
    UnknownOutcomeError,
    one_line,
    send_error,
)

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "providers.md"


def test_each_kind_has_one_error() -> None:
    errors = {kind: type(send_error(kind, "code", "words", 3.0)) for kind in Kind}
    assert errors == {
        Kind.PERMANENT: PermanentSendError,
        Kind.TEMPORARY: TemporarySendError,
        Kind.RATE_LIMITED: RateLimitedError,
        Kind.ACCOUNT: AccountError,
        Kind.UNKNOWN: UnknownOutcomeError,
    }
    assert not issubclass(HandOffRefusedError, SendError)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("two\r\n  lines\x00\x1b[31m ", "two lines [31m"),
        ("x" * 10_000, "x" * 500),
        (" a  b ", "a b"),
        ("日本語 ok", "日本語 ok"),
    ],
)
def test_words_are_kept_on_one_line_and_clipped(words: str, kept: str) -> None:
    assert one_line(words) == kept
    assert send_error(Kind.PERMANENT, "1", words).message == kept


def test_a_code_names_nobody_whatever_the_far_end_calls_a_code() -> None:
    error = send_error(Kind.PERMANENT, "ann@example.com unknown", "550 ann@example.com unknown")
    assert (error.code, error.message) == ("a***@example.com unknown", "550 ann@example.com unknown")
    assert "50055" not in send_error(Kind.PERMANENT, "+15005550006", "x").code
    for code in ("5.1.1", "21211", "validation_error", "personalizations.0.to.email", "invalid_idempotent_request"):
        assert send_error(Kind.PERMANENT, code, "x").code == code


class Late:
    def __init__(self) -> None:
        self.at: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def expire(self) -> None:
        self.at.set_result(asyncio.get_running_loop().time())


async def test_each_deadline_is_kept_whatever_the_order_in_which_they_were_started() -> None:
    now = asyncio.get_running_loop().time()
    deadlines = Deadlines()
    late, later, early, never = Late(), Late(), Late(), Late()
    deadlines.start(late, now + 0.10)
    deadlines.start(never, now + 0.11)
    deadlines.start(later, now + 0.15)
    deadlines.start(early, now + 0.05)
    deadlines.stop(never)
    passed = [await item.at - now for item in (early, late, later)]
    # how late they are is the machine's affair; one clock tick early is an event loop's
    assert all(at >= due - 0.002 for at, due in zip(passed, (0.05, 0.10, 0.15), strict=True))
    assert passed == sorted(passed)
    assert not never.at.done()


async def test_a_deadline_can_be_moved() -> None:
    now = asyncio.get_running_loop().time()
    deadlines = Deadlines()
    item = Late()
    deadlines.start(item, now + 0.02)
    deadlines.start(item, now + 0.10)
    assert await item.at - now >= 0.09


def test_the_tables_in_the_docs_are_those_of_the_code() -> None:
    text = DOCS.read_text("utf-8")
    assert renewed(text) == text, "run: make docs"


def test_the_console_shows_the_classification_that_decides() -> None:
    kept = json.loads((ROOT / "console/sendonce_console/classification.json").read_text("utf-8"))
    assert kept == classification(), "run: make docs"
    assert all(row["answer"] and row["verdict"] and row["why"] for rows in kept.values() for row in rows)


def test_a_page_without_its_marks_is_not_written_over() -> None:
    with pytest.raises(ValueError, match="needs the two marks"):
        renewed(f"words {BEGIN} no end")
