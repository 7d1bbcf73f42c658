"""Looking into an answer's JSON. It is a stranger's input: nothing here raises."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sendonce_worker.providers.http1.connection import Answer

_NOTHING: Mapping[str, object] = {}
# thirty years
_MOST_SECONDS = 1e9


def json_object(answer: Answer) -> Mapping[str, object]:
    """Return the answer's JSON object; an empty one if its body is anything else."""
    parsed = _parsed(answer)
    return parsed if isinstance(parsed, dict) else _NOTHING


def json_list(answer: Answer) -> Sequence[object]:
    """Return the answer's JSON list; an empty one if its body is anything else."""
    parsed = _parsed(answer)
    return parsed if isinstance(parsed, list) else ()


def _parsed(answer: Answer) -> object:
    try:
        parsed: object = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return parsed


def member(node: object, *path: str | int) -> object:
    """Follow names and places into objects and lists; None where the way ends."""
    for step in path:
        if isinstance(node, dict) and isinstance(step, str):
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            return None
    return node


def text(node: object, *path: str | int) -> str:
    """Return the text or number at a path as text; empty where there is none."""
    found = member(node, *path)
    return str(found) if isinstance(found, (str, int)) and not isinstance(found, bool) else ""


def seconds(node: object, *path: str | int) -> float | None:
    """Return the number at a path; None where there is none, or one that is no time (NaN, 1e999)."""
    found = member(node, *path)
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        return None
    return float(found) if -_MOST_SECONDS < found < _MOST_SECONDS else None
