"""No secret and no full address gets into a log, by whatever way it tries."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sendonce_worker.logs import LogStyle, configure_logging, log_fields
from sendonce_worker.redaction import Redactor, mask_address

SECRET = 'hunter2/"+é'
_logger = logging.getLogger("sendonce_worker.test")


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def logging_to_text(style: LogStyle = "console", *, show_addresses: bool = False) -> io.StringIO:
    stream = io.StringIO()
    redactor = Redactor(show_addresses=show_addresses)
    redactor.register(SECRET)
    configure_logging("info", style, redactor, stream)
    return stream


def only_line(stream: io.StringIO) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(stream.getvalue())
    return line


@pytest.mark.parametrize(
    ("address", "masked"),
    [
        ("jane@example.com", "j***@example.com"),
        ("j@example.com", "***@example.com"),
        ('"a@b"@example.com', '"***@example.com'),
        ("+815055500678", "+81*******678"),
        ("+15005550006", "+15******006"),
        ("+123", "***"),
        ("U4af4980629c5a1d2", "U4af***"),
        ("short", "***"),
        ("", "***"),
    ],
)
def test_an_address_is_masked_by_its_kind(address: str, masked: str) -> None:
    assert mask_address(address) == masked


@pytest.mark.parametrize("style", ["json", "console"])
def test_a_secret_is_hidden_wherever_it_stands_in_a_record(style: LogStyle) -> None:
    stream = logging_to_text(style)
    try:
        _raise_with_secret()
    except ValueError:
        _logger.exception(
            "login with %s failed", SECRET, stack_info=True, extra={"header": {"auth": [SECRET.encode().decode()]}}
        )
    text = stream.getvalue()
    assert "login with *** failed" in text
    assert "ValueError" in text
    assert "_raise_with_secret" in text
    assert "hunter2" not in text


def _raise_with_secret() -> None:
    message = f"token {SECRET} was refused"
    raise ValueError(message)


@pytest.mark.parametrize(
    "written", [SECRET, "hunter2%2F%22%2B%C3%A9", json.dumps(SECRET), repr(SECRET), json.dumps({"key": SECRET})]
)
def test_a_secret_is_hidden_as_urls_json_and_python_write_it(written: str) -> None:
    redactor = Redactor()
    redactor.register(SECRET.encode())
    assert "hunter2" not in redactor.redact(f"x {written} y")


def test_each_line_of_a_key_file_is_a_secret() -> None:
    redactor = Redactor()
    redactor.register("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nshort\n")
    assert redactor.redact("cannot parse MIIEvQIBADANBgkqhkiG9w0 as a key") == "cannot parse *** as a key"
    assert redactor.redact("a short word") == "a short word"


def test_of_two_secrets_the_longer_one_is_hidden_whole() -> None:
    redactor = Redactor()
    redactor.register("abcd")
    redactor.register("abcdefgh")
    assert redactor.redact("abcdefgh abcd") == "*** ***"


@pytest.mark.parametrize("secret", ["", "abc", " \n"])
def test_a_secret_too_short_to_search_for_leaves_the_text_alone(secret: str) -> None:
    redactor = Redactor()
    redactor.register(secret)
    assert redactor.redact("abcdef and more") == "abcdef and more"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("postgresql://app:pa55@db.example.com:5432/x", "postgresql://app:***@db.example.com:5432/x"),
        ("postgres://app:pa@55@db/x?y=1", "postgres://app:***@db/x?y=1"),
        ("smtp://:pa55@mx", "smtp://:***@mx"),
        ("host=db password=pa55 user=app", "host=db password=*** user=app"),
        ("host=db PASSWORD = 'pa 55' user=app", "host=db PASSWORD = *** user=app"),
        ("?user=a&password=pa55&x=1", "?user=a&password=***&x=1"),
        ("https://example.com:8080/path", "https://example.com:8080/path"),
    ],
)
def test_the_password_of_a_url_or_dsn_is_hidden_without_being_registered(text: str, redacted: str) -> None:
    assert Redactor().redact(text) == redacted


def test_an_address_in_the_far_ends_words_is_masked() -> None:
    stream = logging_to_text("json")
    _logger.warning("refused: %s", "550 5.1.1 <jane.doe+x@mail.example.com>: no such user; call +15005550006")
    assert only_line(stream)["message"] == "refused: 550 5.1.1 <j***@mail.example.com>: no such user; call +15******006"


def test_addresses_are_shown_to_who_asks_for_them_but_secrets_are_not() -> None:
    stream = logging_to_text("json", show_addresses=True)
    _logger.info("%s with %s", "jane@example.com", SECRET)
    assert only_line(stream)["message"] == "jane@example.com with ***"


def test_a_json_line_has_level_logger_message_time_and_fields() -> None:
    stream = logging_to_text("json")
    with log_fields(campaign="spring"), log_fields(batch=7):
        _logger.info("claimed %d rows", 500, extra={"worker": "w1", "batch": 8})
    line = only_line(stream)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "INFO", "logger": "sendonce_worker.test", "message": "claimed 500 rows",
        "worker": "w1", "campaign": "spring", "batch": 8,
    }  # fmt: skip


def test_a_stack_that_is_logged_is_redacted() -> None:
    stream = io.StringIO()
    redactor = Redactor()
    redactor.register("stack_info=True")
    configure_logging("info", "console", redactor, stream)
    _logger.info("here", stack_info=True)
    assert '_logger.info("here", ***)' in stream.getvalue()


def test_a_json_line_carries_its_traceback_in_one_field() -> None:
    stream = logging_to_text("json")
    try:
        _raise_with_secret()
    except ValueError:
        _logger.exception("failed")
    assert only_line(stream)["exception"].endswith("ValueError: token *** was refused")


def test_a_console_line_ends_with_the_fields() -> None:
    stream = logging_to_text()
    with log_fields(campaign="spring"):
        _logger.info("claimed")
    assert stream.getvalue().endswith("INFO    claimed  campaign=spring\n")


async def test_fields_belong_to_their_task() -> None:
    stream = logging_to_text("json")

    async def work(campaign: str) -> None:
        with log_fields(campaign=campaign):
            await asyncio.sleep(0)
            _logger.info(campaign)

    await asyncio.gather(work("spring"), work("summer"))
    _logger.info("after")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["message"], line.get("campaign")) for line in lines] == [
        ("spring", "spring"), ("summer", "summer"), ("after", None),
    ]  # fmt: skip


def test_a_record_whose_arguments_do_not_fit_ends_nothing_and_leaks_nothing() -> None:
    stream = logging_to_text()
    _logger.info("%d rows of %s", SECRET)  # noqa: PLE1206  # the mistake under test
    assert "%d rows of %s (its arguments do not fit)" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


def test_configuring_again_writes_each_record_once() -> None:
    logging_to_text()
    stream = logging_to_text()
    _logger.info("once")
    assert stream.getvalue().count("once") == 1


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="LOUD"):
        configure_logging("loud", "json", Redactor(), sys.stderr)


@pytest.mark.parametrize("text", ["a" * 300_000 + "@", "://" * 30_000 + "@", "password=" * 30_000, "+1" * 100_000])
def test_a_huge_text_is_redacted_in_time(text: str) -> None:
    start = time.thread_time()
    Redactor().redact(text)
    assert time.thread_time() - start < 2
