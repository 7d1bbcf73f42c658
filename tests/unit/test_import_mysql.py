"""Values of a MySQL query as JSON, without a server."""

from datetime import timedelta

import pytest

from sendonce_rendering import compile_message
from sendonce_worker.importing import SourceUnreadableError
from sendonce_worker.importing.mysql_query import json_value


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(hours=8, minutes=30), "08:30:00"),
        (timedelta(hours=18, minutes=5, seconds=9, microseconds=500), "18:05:09.000500"),
        (timedelta(0), "00:00:00"),
        (timedelta(hours=838, minutes=59, seconds=59), "838:59:59"),
        (-timedelta(hours=1, minutes=30), "-01:30:00"),
    ],
)
def test_a_time_is_written_as_mysql_writes_it(span: timedelta, text: str) -> None:
    assert json_value(span, "at") == text


def test_a_time_of_day_can_be_written_in_the_readers_manner() -> None:
    message = compile_message({"text": "{{ at|time }}", "locale": "de"}, "SMS")
    assert message.render({"at": json_value(timedelta(hours=8, minutes=30), "at")}).text == "08:30"


def test_a_text_that_the_store_can_not_keep_ends_the_import_with_its_column() -> None:
    with pytest.raises(SourceUnreadableError, match=r"recipients\.mysql\.query: column name holds a NUL"):
        json_value("Ann\x00", "name")
