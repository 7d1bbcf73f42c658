"""An answer's JSON is a stranger's input: what is read from it can be written into the store."""

from __future__ import annotations

import json

import pytest

from sendonce_worker.providers.api.reading import seconds


@pytest.mark.parametrize(
    ("number", "read"),
    [
        ("30", 30.0),
        ("0.5", 0.5),
        ("NaN", None),
        ("Infinity", None),
        ("1e999", None),
        ("1" + 400 * "0", None),
        ("true", None),
    ],
)
def test_only_a_number_that_is_a_time_is_read_as_one(number: str, read: float | None) -> None:
    assert seconds(json.loads(f'{{"retry_after": {number}}}'), "retry_after") == read
