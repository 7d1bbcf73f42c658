"""Values of single fields of a campaign's spec: some that are taken and some that are not."""

from __future__ import annotations

from typing import Any

LEAST: dict[str, Any] = {
    "category": "Marketing",
    "recipients": {"configMapKeyRef": {"name": "r", "key": "r.csv"}, "format": "CSV"},
    "messages": [{"channel": "SMS", "providerRef": {"name": "p"}, "template": {"text": "t"}}],
}

# field, values inside its bounds, values outside
VALUES: list[tuple[str, list[Any], list[Any]]] = [
    ("sendKey", ["a", "A.b_c-1", "a" * 63], ["", "-a", "a b", "a" * 64]),
    ("ttlSecondsAfterFinished", [0, 604800], [-1, 1.5, "5", True]),
    ("dataRetentionDays", [0, 90, 36500], [-1, 36501]),
    ("suspend", [True, False], ["true", 1, "yes"]),
    ("retry", [{"factor": 1}, {"maxAttempts": 50}], [{"factor": 0}, {"maxAttempts": 0}, {"maxAttempts": 51}]),
    ("rollout", [{}, {"canary": {"percent": 99}}], [{"canary": {"percent": 0}}, {"canary": {"percent": 100}}]),
    ("workers", [{"resources": {"limits": {"cpu": 2, "memory": "256Mi"}}}], [{"max": 0}, {"concurrency": 1001}]),
    ("messages", [], [[], [LEAST["messages"][0]] * 6]),
]
