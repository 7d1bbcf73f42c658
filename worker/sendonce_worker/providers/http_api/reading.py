"""Reading an API's answer: the message id, the error's code and words.

In: an :class:`Answer`. Out: plain values. All of it is a stranger's input: nothing here raises.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from sendonce_worker.providers.errors import one_line
from sendonce_worker.providers.http1.connection import Answer

_CODES = ("code", "errorCode", "error_code", "ErrorCode", "name", "type", "error", "status")
_MESSAGES = ("message", "Message", "description", "detail", "error_description", "title", "error-text", "error")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Words:
    """An error's short code (the status if the body has none) and the far end's words."""

    code: str
    message: str


class MessageIdPath:
    """``sentMessages[0].id`` into a JSON answer, or ``header:X-Message-Id``."""

    def __init__(self, path: str) -> None:
        """Raises ``ValueError`` for a path that is neither."""
        self._text = path
        kind, _, name = path.partition(":")
        self._header = name.strip().lower().encode("latin-1", "replace") if kind.lower() == "header" else None
        trimmed = path.removeprefix("$")
        steps = list(_STEP.finditer(trimmed))
        if not steps or "".join(step[0] for step in steps) != trimmed:
            raise ValueError(f"cannot read {path!r}: write it like data.messages[0].id or header:X-Message-Id")
        self._steps = [int(step[2]) if step[2] else step[1] for step in steps]

    def __str__(self) -> str:
        """Return the path as configured."""
        return self._text

    def find(self, answer: Answer) -> str | None:
        """Return the id, or None where the answer has none."""
        if self._header is not None:
            return answer.header(self._header)
        node = _parse(answer.body)
        for step in self._steps:
            node = _member(node, step)
        return one_line(str(node)) or None if isinstance(node, (str, int)) and not isinstance(node, bool) else None


def words_of(answer: Answer) -> Words:
    """Find the code and the words of an error where APIs commonly put them; else the body itself."""
    parsed = _parse(answer.body)
    for node in _error_objects(parsed):
        message = _first(node, _MESSAGES, str)
        if message:
            code = _first(node, _CODES, (str, int))
            return Words(code if code and code != message else str(answer.status), f"{answer.status} {message}")
    text = one_line(answer.body[:4096].decode("utf-8", "replace"))
    return Words(str(answer.status), f"{answer.status} {text}".strip())


def _parse(body: bytes) -> object:
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return parsed


def _member(node: object, step: int | str) -> object:
    if isinstance(node, dict):
        return node.get(str(step))
    if isinstance(node, list) and str(step).isdecimal() and int(step) < len(node):
        item: object = node[int(step)]
        return item
    return None


def _error_objects(parsed: object) -> list[dict[str, object]]:
    """Return the objects that may describe the error, innermost first."""
    if isinstance(parsed, list):
        parsed = parsed[0] if parsed else None
    if not isinstance(parsed, dict):
        return []
    found = [parsed]
    for name in ("error", "errors", "messages"):
        inner = parsed.get(name)
        inner = inner[0] if isinstance(inner, list) and inner else inner
        if isinstance(inner, dict):
            found.insert(0, inner)
    return found


def _first(node: dict[str, object], names: tuple[str, ...], kinds: type | tuple[type, ...]) -> str | None:
    for name in names:
        value = node.get(name)
        if isinstance(value, kinds) and not isinstance(value, bool) and str(value).strip():
            return one_line(str(value))[:64] if names is _CODES else str(value)
    return None
