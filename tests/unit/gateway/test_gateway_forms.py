"""Forms as browsers and mailbox providers post them."""

from __future__ import annotations

import pytest

from sendonce_gateway.forms import read_form
from sendonce_gateway.problems import Problem

BOUNDARY = "----b0"
MULTIPART = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--{BOUNDARY}--\r\n'
).encode()


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded", b"List-Unsubscribe=One-Click"),
        ("application/x-www-form-urlencoded; charset=UTF-8", b"List-Unsubscribe=One%2DClick&x=1"),
        ("", b"List-Unsubscribe=One-Click\r\n"),
        ("text/plain", b"List-Unsubscribe=One-Click"),
        (f"multipart/form-data; boundary={BOUNDARY}", MULTIPART),
        (f'Multipart/Form-Data; boundary="{BOUNDARY}"', MULTIPART),
        (f"multipart/form-data; boundary={BOUNDARY}", MULTIPART.replace(b"\r\n", b"\n")),
    ],
)
def test_a_one_click_request_is_read_in_each_of_its_forms(content_type: str, body: bytes) -> None:
    assert read_form(content_type, body)["List-Unsubscribe"] == ["One-Click"]


def test_fields_with_several_values_keep_all_in_order() -> None:
    assert read_form("", b"topic=b&topic=a&known=&topic=%C3%BC") == {"topic": ["b", "a", "ü"], "known": [""]}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("", b"\xff\xfe"),
        ("", b"a=%ff"),
        ("", b"&".join(b"a=%d" % no for no in range(500))),
        (f"multipart/form-data; boundary={BOUNDARY}", MULTIPART.replace(b"One-Click", b"\xff")),
        ("multipart/form-data; boundary=é", MULTIPART),
    ],
)
def test_a_form_that_is_none_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(Problem) as refused:
        read_form(content_type, body)
    assert (refused.value.status, refused.value.code) == (400, "unreadable_form")


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary=other"])
def test_a_multipart_form_without_its_boundary_has_no_fields(content_type: str) -> None:
    assert read_form(content_type, MULTIPART) == {}
