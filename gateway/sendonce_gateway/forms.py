"""Forms as browsers and mailbox providers post them: a body in, its fields out. Pure; the body is bounded already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl

from sendonce_gateway.problems import Problem

__all__ = ["read_form"]

_MOST_FIELDS = 400


def read_form(content_type: str, body: bytes) -> Mapping[str, Sequence[str]]:
    """The fields with their values, in order. Raises Problem 400.

    RFC 8058 §3.1: a one-click request comes as multipart/form-data or as application/x-www-form-urlencoded; one that
    says nothing is read as the latter.
    """
    is_multipart = content_type.partition(";")[0].strip().lower() == "multipart/form-data"
    try:
        pairs = _multipart(content_type, body) if is_multipart else _urlencoded(body)
    except ValueError:
        raise Problem(400, "unreadable_form", "the form can't be read") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _urlencoded(body: bytes) -> list[tuple[str, str]]:
    text = body.decode("ascii").strip()
    return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)


def _multipart(content_type: str, body: bytes) -> list[tuple[str, str]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("ascii")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    pairs = []
    for part in message.iter_parts() if message.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(payload, bytes):
            pairs.append((name, payload.decode("utf-8").rstrip("\r\n")))
    return pairs
