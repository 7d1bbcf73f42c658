"""NDJSON of an import: one object on each line."""

import json

import pytest

from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.spec.recipients import RecipientFormat
from sendonce_worker.importing import SourceUnreadableError
from sendonce_worker.importing.stream import Layout, StreamImport


def read(data: str | bytes, *, secret: bool = False) -> tuple[list[Recipient], list[Rejected]]:
    layout = Layout(RecipientFormat.NDJSON, frozenset({"Email"}), "spec.recipients.http.url", secret)
    stream = StreamImport(layout, None, lambda: None)
    raw = data.encode() if isinstance(data, str) else data
    blocks = [*stream.feed(raw), *stream.finish()]
    return [r for block in blocks for r in block.recipients], [r for block in blocks for r in block.rejected]


def test_nested_values_are_kept_as_they_are() -> None:
    line = {"id": 7, "email": "ann@example.com", "items": [{"name": "é", "price": 1.5}], "vip": True, "none": None}
    (recipient,), _ = read(json.dumps(line) + "\n")
    assert recipient.ref == "7"
    assert recipient.variables == {"items": [{"name": "é", "price": 1.5}], "vip": True, "none": None}


def test_rows_may_differ_in_their_keys() -> None:
    recipients, rejected = read('{"email":"a@example.com","x":1}\n{"x":2}\n{"y":3,"email":"b@example.com"}')
    assert [(r.line, len(r.addresses), r.variables) for r in recipients] == [
        (1, 1, {"x": 1}),
        (2, 0, {"x": 2}),
        (3, 1, {"y": 3}),
    ]
    assert rejected == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"email":', "is not a JSON object"),
        (b'["a@example.com"]', "is not a JSON object"),
        (b'"a@example.com"', "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b'{"email":"a@example.com"} {"email":"b@example.com"}', "is not a JSON object"),
        (b'{"email":"a@example.com","n":NaN}', "NaN is not JSON"),
        (b'{"email":"a@example.com","n":-Infinity}', "-Infinity is not JSON"),
        (b'{"email":"a@example.com","n":1e999}', "the number 1e999 is too large"),
        (b'{"email":"a@example.com","n":' + b"9" * 5000 + b"}", "is not a JSON object"),
        (b'{"email":"a@example.com","n":"\xff"}', "is not valid UTF-8"),
        (b'{"email":"a@example.com","n":"\\u0000"}', "contains a NUL character"),
        (b'{"email":"a@example.com","n":{"m":"\\uD83d"}}', "half of a surrogate pair"),
        (b'{"email":"a@example.com","n":' + b"[" * 60 + b"]" * 60 + b"}", "nested more than 50 levels"),
        (b'{"n":' + b"[" * 100_000, "nested more than 50 levels"),
        (b'{"email":"a@example.com","Email":"b@example.com"}', "names a column twice"),
        (b'{"email":"a@example.com","":1}', "names a column twice or not at all"),
        (b'{"email":"a@example.com","n":"' + b"x" * 300_000 + b'"}', "is longer than 256 KiB"),
    ],
)
def test_a_bad_line_is_refused_with_its_number_and_the_rest_go_on(line: bytes, reason: str) -> None:
    good = b'{"email":"ann@example.com"}\n'
    recipients, (rejected,) = read(good + line + b"\n" + good)
    assert [recipient.line for recipient in recipients] == [1, 3]
    assert rejected.line == 2
    assert reason in rejected.reason
    assert len(rejected.excerpt) <= 121
    assert rejected.excerpt.isprintable()


def test_an_escaped_pair_of_surrogates_is_a_character() -> None:
    (recipient,), _ = read('{"email":"ann@example.com","n":"\\ud83d\\ude00"}\n')
    assert recipient.variables == {"n": "😀"}


def test_blank_lines_and_a_byte_order_mark_are_no_records() -> None:
    recipients, rejected = read(b'\xef\xbb\xbf{"email":"a@example.com"}\r\n\r\n  \n{"email":"b@example.com"}\n')
    assert [recipient.line for recipient in recipients] == [1, 4]
    assert rejected == []


def test_no_line_at_all_is_a_list_without_recipients() -> None:
    assert read("") == ([], [])


def test_a_json_array_is_told_what_ndjson_is() -> None:
    with pytest.raises(SourceUnreadableError, match="one object on each line"):
        read('[\n  {"email": "ann@example.com"}\n]')


def test_a_secret_shows_nothing_of_its_rows() -> None:
    _, rejected = read('hunter2\n{"email":"hunter2"}\n{"hunter2":"\\u0000"}\n{"hunter2":1,"hunter2 ":1}', secret=True)
    assert len(rejected) == 4
    assert "hunter2" not in repr(rejected)


def test_a_persons_channels_may_be_a_list() -> None:
    found, rejected = read(
        '{"email": "a@example.com", "channels": ["Email", "SMS"]}\n{"email": "b@example.com", "channels": [1]}\n'
    )
    assert [one.prefers for one in found] == [("Email", "SMS")]
    assert [row.field for row in rejected] == ["channels"]
