"""What programs that serve people log: lines of JSON, in which nobody can be found."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from sendonce_store.environment import LogStyle, SettingsError, log_level, log_style, port_or_off
from sendonce_store.logs import configure_logging, without_words

WHO = "ada@example.com"
_logger = logging.getLogger("sendonce_console.test")


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def logging_to(style: LogStyle = "json") -> io.StringIO:
    stream = io.StringIO()
    configure_logging("INFO", style, filters=(without_words,), stream=stream)
    return stream


def only_line(stream: io.StringIO) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(stream.getvalue())
    return line


def _raise_with_recipient() -> None:
    message = f"duplicate key: ({WHO})"
    raise ValueError(message)


@pytest.mark.parametrize("style", ["json", "console"])
def test_an_exception_is_logged_with_its_kind_and_its_place_and_without_what_it_quotes(style: LogStyle) -> None:
    stream = logging_to(style)
    try:
        _raise_with_recipient()
    except ValueError:
        _logger.exception("a request failed", extra={"route": "/ns/{namespace}"}, stack_info=True)
    text = stream.getvalue()
    for kept in ("a request failed", "ValueError", "_raise_with_recipient", "/ns/{namespace}"):
        assert kept in text
    assert WHO not in text


def test_a_line_has_the_same_names_in_every_program() -> None:
    stream = logging_to()
    _logger.warning("the store is %s", "away", extra={"route": "/"})
    line = only_line(stream)
    assert line.pop("time")
    assert line == {
        "level": "WARNING",
        "logger": "sendonce_console.test",
        "message": "the store is away",
        "route": "/",
    }


def test_of_a_library_only_what_its_code_says_is_logged() -> None:
    stream = logging_to()
    logging.getLogger("aiohttp.server").error("Error handling request from %s", "192.0.2.7")
    assert only_line(stream)["message"] == "Error handling request from %s"
    assert "192.0.2.7" not in stream.getvalue()


def test_the_pool_says_why_no_connection_comes() -> None:
    stream = logging_to()
    logging.getLogger("psycopg.pool").warning("error connecting in %r: %s", "store", "connection refused")
    assert only_line(stream)["message"] == "error connecting in 'store': connection refused"


async def test_a_task_that_nobody_waits_for_says_nothing_of_what_its_exception_quotes() -> None:
    async def fail() -> None:
        _raise_with_recipient()

    stream = logging_to()
    task = asyncio.create_task(fail())
    await asyncio.wait({task})
    # as the loop does it when such a task is gone
    said = {"message": "Task exception was never retrieved", "exception": task.exception(), "future": task}
    asyncio.get_running_loop().default_exception_handler(said)
    line = only_line(stream)
    assert line["message"] == "Task exception was never retrieved"
    assert line["exception"].endswith("ValueError")
    assert WHO not in stream.getvalue()


def test_level_and_format_are_read_and_what_is_unknown_is_named() -> None:
    assert (log_level({}), log_style({})) == ("INFO", "json")
    assert (log_level({"SENDONCE_LOG_LEVEL": "debug"}), log_style({"SENDONCE_LOG_FORMAT": "plain"})) == (
        "DEBUG",
        "console",
    )
    with pytest.raises(SettingsError, match=r"SENDONCE_WORKER_LOG_LEVEL: 'LOUD' is unknown: use DEBUG, INFO"):
        log_level({"SENDONCE_WORKER_LOG_LEVEL": "loud"}, "SENDONCE_WORKER_LOG_LEVEL")
    with pytest.raises(SettingsError, match=r"SENDONCE_LOG_FORMAT: 'xml' is unknown: use json or plain"):
        log_style({"SENDONCE_LOG_FORMAT": "xml"})


def test_a_port_can_be_turned_off() -> None:
    assert port_or_off({}, "SENDONCE_OPS_PORT", 9090) == 9090
    assert port_or_off({"SENDONCE_OPS_PORT": "1"}, "SENDONCE_OPS_PORT", 9090) == 1
    assert port_or_off({"SENDONCE_OPS_PORT": ""}, "SENDONCE_OPS_PORT", 9090) is None
