"""The head of a request: its first line and header lines.

In: ``url``, ``method``, ``headers`` and the key's header, once; then messages. Out: bytes. What depends on nothing
but the Secret is rendered when the provider is built, which for most APIs is all of it. What depends on the message
is encoded for its place: percent-encoded in the URL, and refused in a header if it holds a line break.
The host of the URL is fixed: a recipient's variable cannot send a message, and its credentials, elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from sendonce_worker.providers.errors import PermanentSendError, ProviderConfigError
from sendonce_worker.providers.http1.target import Target, header_line, parse_target, quoted
from sendonce_worker.providers.http_api.leaves import Leaf, Names, compile_leaf, has_template, is_constant

_URL = "http.url"
_ORIGIN = re.compile(r"(https?://(?:\{\{.*?\}\}|[^/?#])+)(.*)", re.DOTALL)
_EXPRESSION = re.compile(r"(\{\{.*?\}\})", re.DOTALL)
_OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer", "keep-alive"}
)


class Path:
    """The origin, and the path of each message."""

    def __init__(self, url: str, secrets: Mapping[str, str]) -> None:
        """Raises ``ProviderConfigError``."""
        pieces = [piece for piece in _EXPRESSION.split(url) if piece]
        leaves = [_url_piece(piece, secrets) for piece in pieces]
        self._parts = leaves if any(callable(leaf) for leaf in leaves) else None
        if self._parts is None:
            self.target = _target("".join(str(leaf) for leaf in leaves))
            return
        origin = _ORIGIN.fullmatch(url)
        if origin is None or not all(map(is_constant, _EXPRESSION.findall(origin[1]))):
            raise ProviderConfigError(_URL, "the host must be the same for all messages: only path and query may vary")
        skipped = len([piece for piece in _EXPRESSION.split(origin[1]) if piece])
        self.target = _target("".join(str(leaf) for leaf in leaves[:skipped]))
        self._parts = self._after_origin(url[len(origin[1]) :], secrets)

    @staticmethod
    def _after_origin(rest: str, secrets: Mapping[str, str]) -> list[str | Leaf]:
        pieces = [_url_piece(piece, secrets) for piece in _EXPRESSION.split(rest) if piece]
        return [quoted(piece) if isinstance(piece, str) else piece for piece in pieces]

    @property
    def is_constant(self) -> bool:
        """Say whether all messages go to one URL."""
        return self._parts is None

    def render(self, names: Names) -> str:
        """Return the path and query of one message. Raises ``PermanentSendError``."""
        if self._parts is None:
            return self.target.path
        return "".join([part if isinstance(part, str) else _url_value(part(names)) for part in self._parts])


class Head:
    """Builds the head of each request, up to where the key and the length follow."""

    def __init__(
        self, method: str, path: Path, headers: Mapping[str, str], secrets: Mapping[str, str], *, absolute: bool
    ) -> None:
        """``absolute``: the request line names the whole URL, as proxies want it. Raises ``ProviderConfigError``."""
        self._method = method
        self._path = path
        self._prefix = f"{path.target.scheme}://{path.target.authority}" if absolute else ""
        self._host = header_line("Host", path.target.authority)
        self._leaves = [(name, _header_leaf(name, value, secrets)) for name, value in headers.items()]
        self._moving = [(name, leaf) for name, leaf in self._leaves if callable(leaf)]
        self._fixed = b"".join(_checked_line(name, leaf) for name, leaf in self._leaves if isinstance(leaf, str))
        self.constant = self._build({}) if path.is_constant and not self._moving else None

    def render(self, names: Names) -> bytes:
        """Return the head of one message. Raises ``PermanentSendError``."""
        return self.constant or self._build(names)

    def _build(self, names: Names) -> bytes:
        first = f"{self._method} {self._prefix}{self._path.render(names)} HTTP/1.1\r\n".encode("ascii")
        moving = [_message_line(name, leaf(names)) for name, leaf in self._moving]
        return b"".join([first, self._host, self._fixed, *moving])


def check_header_name(field: str, name: str) -> None:
    """Refuse names that are none and those that the client sets. Raises ``ProviderConfigError``."""
    if name.lower() in _OURS:
        raise ProviderConfigError(field, "is set by the client itself: leave it out")
    try:
        header_line(name, "")
    except ValueError as error:
        raise ProviderConfigError(field, str(error)) from error


def _target(url: str) -> Target:
    try:
        return parse_target(url)
    except ValueError as error:
        raise ProviderConfigError(_URL, str(error)) from error


def _url_piece(piece: str, secrets: Mapping[str, str]) -> str | Leaf:
    """Return text as it is, a Secret's value as it is (it may be a whole path), a message's value as a leaf."""
    if not has_template(piece):
        return piece
    if not _EXPRESSION.fullmatch(piece):
        raise ProviderConfigError(_URL, "only {{ … }} can be used in the URL")
    leaf = compile_leaf(piece, secrets, _URL)
    return leaf({"secret": secrets}).strip() if is_constant(piece) else leaf


def _url_value(value: str) -> str:
    if value in {"", ".", ".."}:
        raise PermanentSendError("provider_template", f"{value!r} cannot stand in the provider's http.url")
    try:
        return quote(value, safe="")
    except UnicodeEncodeError as error:
        raise PermanentSendError("not_encodable", "the URL would hold half of a character") from error


def _header_leaf(name: str, value: str, secrets: Mapping[str, str]) -> str | Leaf:
    field = f"http.headers.{name}"
    check_header_name(field, name)
    if not has_template(value):
        return value
    leaf = compile_leaf(value, secrets, field)
    return leaf({"secret": secrets}) if is_constant(value) else leaf


def _checked_line(name: str, value: str) -> bytes:
    try:
        return header_line(name, value)
    except ValueError as error:
        hint = " (does the Secret's value end with a line break? store it without one)" if "\n" in value else ""
        raise ProviderConfigError(f"http.headers.{name}", f"{error}{hint}") from error


def _message_line(name: str, value: str) -> bytes:
    try:
        return header_line(name, value)
    except ValueError as error:
        raise PermanentSendError("header_injection", f"the header {name} of this message: {error}") from error
