"""Request bodies: JSON, Form or Text.

In: ``bodyFormat`` and ``bodyTemplate``, once; then messages. Out: the bytes of each body. The template is
taken apart once, when the provider is built, and only its strings are rendered, each encoded for its place:

* JSON: the template is a JSON document. Every string in it may hold ``{{ … }}`` and stays one string. An
  expression that is the whole string and ends in ``| tojson`` becomes that JSON value (an object, a
  number, null), with or without quotes around it. Absent template: ``{"to", "subject", "text", "html",
  "key"}`` without those that the message does not have.
* Form: ``name={{ … }}&name=…``. Names and values are percent-encoded here; text is written plainly.
* Text: the rendered template as it is; nothing is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring
from typing import Literal
from urllib.parse import quote_plus

from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import PermanentSendError, ProviderConfigError
from sendonce_worker.providers.http_api.leaves import (
    Leaf,
    Names,
    compile_json_leaf,
    compile_leaf,
    has_template,
    names_of,
)

BodyFormat = Literal["JSON", "Form", "Text"]
Body = Callable[[Message], bytes]

MAX_BODY = 4 * 1024 * 1024
"""Bytes; a body above is refused before it is sent."""
CONTENT_TYPES: Mapping[str, str] = {
    "JSON": "application/json",
    "Form": "application/x-www-form-urlencoded",
    "Text": "text/plain; charset=utf-8",
}
_FIELD = "http.bodyTemplate"
_DEFAULT_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compile_body(body_format: str, template: str | None, secrets: Mapping[str, str]) -> Body:
    """Return the function that builds a body. Raises ``ProviderConfigError`` for a template that cannot work."""
    if template is None:
        return _DEFAULTS[body_format]
    parts = _PARTS[body_format](template, secrets)

    def build(message: Message) -> bytes:
        names = names_of(message, secrets)
        return encode("".join([part if type(part) is str else part(names) for part in parts]))  # type: ignore[operator]

    return build


def encode(text: str) -> bytes:
    """Encode as UTF-8. Raises ``PermanentSendError`` for half characters and for a body above the limit."""
    try:
        body = text.encode()
    except UnicodeEncodeError as error:
        raise _half_character(error) from error
    if len(body) > MAX_BODY:
        raise PermanentSendError("body_too_large", f"the body has {len(body)} bytes, above {MAX_BODY}")
    return body


def _half_character(error: UnicodeEncodeError) -> PermanentSendError:
    return PermanentSendError("not_encodable", f"the body holds half of a character: {error.reason}")


# -- without a template


def _plain_parts(message: Message) -> dict[str, str]:
    content = message.content
    pairs = (("to", message.to), ("subject", content.subject), ("text", content.text), ("html", content.html))
    parts = {name: value for name, value in pairs if value is not None}
    parts["key"] = message.key
    return parts


_DEFAULTS: Mapping[str, Body] = {
    "JSON": lambda message: encode(_DEFAULT_JSON(_plain_parts(message))),
    "Form": lambda message: encode(_form(_plain_parts(message))),
    "Text": lambda message: encode(message.content.text or ""),
}


def _form(parts: Mapping[str, str]) -> str:
    return "&".join(f"{name}={_quoted(value)}" for name, value in parts.items())


def _quoted(value: str) -> str:
    try:
        return quote_plus(value)
    except UnicodeEncodeError as error:
        raise _half_character(error) from error


# -- JSON


def _json_parts(template: str, secrets: Mapping[str, str]) -> list[str | Leaf]:
    try:
        tree = json.loads(_quote_bare_expressions(template))
    except ValueError as error:
        raise ProviderConfigError(
            _FIELD,
            f"with bodyFormat JSON the template must be a JSON document, and it is not: {error}. "
            'Write expressions inside strings ("{{ text }}"); they are escaped for you',
        ) from error
    parts: list[str | Leaf] = []
    _flatten(tree, secrets, parts)
    return _merged(parts)


def _flatten(node: object, secrets: Mapping[str, str], parts: list[str | Leaf]) -> None:
    if isinstance(node, dict):
        for index, (key, value) in enumerate(node.items()):
            if has_template(key):
                raise ProviderConfigError(_FIELD, f"the name {key!r} holds a template: only values may")
            parts.append(("," if index else "{") + encode_basestring(key) + ":")
            _flatten(value, secrets, parts)
        parts.append("}" if node else "{}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            parts.append("," if index else "[")
            _flatten(value, secrets, parts)
        parts.append("]" if node else "[]")
    elif isinstance(node, str) and has_template(node):
        parts.append(compile_json_leaf(node, secrets) or _json_string(compile_leaf(node, secrets)))
    else:
        parts.append(json.dumps(node, ensure_ascii=False))


def _json_string(leaf: Leaf) -> Leaf:
    def render(names: Names) -> str:
        return encode_basestring(leaf(names))

    return render


def _quote_bare_expressions(template: str) -> str:
    """Put quotes around expressions that stand where a value stands: ``{"to": {{ to | tojson }}}``."""
    out: list[str] = []
    at, in_string = 0, False
    while at < len(template):
        end = template.find("}}", at) + 2
        if template.startswith("{{", at) and not in_string and end > 1:
            expression = template[at:end]
            if compile_json_leaf(expression, _AnySecret()) is None:
                raise ProviderConfigError(_FIELD, f"{expression} stands outside quotes: add quotes or `| tojson`")
            out.append(json.dumps(expression))
            at = end
            continue
        if in_string and template[at] == "\\":
            out.append(template[at : at + 2])
            at += 2
            continue
        in_string ^= template[at] == '"'
        out.append(template[at])
        at += 1
    return "".join(out)


class _AnySecret(dict[str, str]):
    """Secrets are checked when the leaf is compiled for good."""

    def __contains__(self, key: object) -> bool:
        return True


# -- Form and Text


def _form_parts(template: str, secrets: Mapping[str, str]) -> list[str | Leaf]:
    parts: list[str | Leaf] = []
    for index, pair in enumerate(_split_outside(template.strip(), "&")):
        name, *value = _split_outside(pair, "=")
        if not name or not value or has_template(name):
            raise ProviderConfigError(_FIELD, f"with bodyFormat Form write name={{{{ … }}}}&name=…, not {pair[:80]!r}")
        parts += ["&" if index else "", quote_plus(name.strip()), "="]
        text = "=".join(value).strip()
        parts.append(_form_value(compile_leaf(text, secrets)) if has_template(text) else quote_plus(text))
    return _merged(parts)


def _form_value(leaf: Leaf) -> Leaf:
    def render(names: Names) -> str:
        return _quoted(leaf(names))

    return render


def _split_outside(text: str, separator: str) -> list[str]:
    """Split where the separator stands outside of ``{{ }}`` and ``{% %}``."""
    pieces, depth = [""], 0
    for at, char in enumerate(text):
        depth += text[at : at + 2] in {"{{", "{%"}
        depth -= text[max(at - 2, 0) : at] in {"}}", "%}"}
        if char == separator and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


def _text_parts(template: str, secrets: Mapping[str, str]) -> list[str | Leaf]:
    return [compile_leaf(template, secrets) if has_template(template) else template]


def _merged(parts: list[str | Leaf]) -> list[str | Leaf]:
    merged: list[str | Leaf] = []
    for part in parts:
        if merged and isinstance(part, str) and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return merged


_PARTS: Mapping[str, Callable[[str, Mapping[str, str]], list[str | Leaf]]] = {
    "JSON": _json_parts,
    "Form": _form_parts,
    "Text": _text_parts,
}
