"""From a URL to where a request goes and how its first lines begin.

In: the ``url`` of a provider. Out: a :class:`Target`, or ``ValueError`` with the cure. User names and
passwords in URLs are refused: they would end up in logs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True, slots=True)
class Target:
    """One origin and path. ``host`` is an ASCII name or a bare address; ``authority`` goes into ``Host``."""

    tls: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return the host as URLs write it, with the port where it is not the scheme's own."""
        return self.host_in_url if self.port == _DEFAULT_PORTS[self.scheme] else f"{self.host_in_url}:{self.port}"

    @property
    def scheme(self) -> str:
        """Return ``http`` or ``https``."""
        return "https" if self.tls else "http"

    @property
    def host_in_url(self) -> str:
        """Return the host, an IPv6 address in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_target(url: str) -> Target:
    """Parse an absolute http or https URL (RFC 3986). Raises ``ValueError``."""
    if not re.fullmatch(r"[!-~\x80-\U0010ffff]+", url):
        raise ValueError("a URL has no spaces or control characters: percent-encode them")
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("must be an absolute URL that begins with https:// or http://")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user name or password: put them into a header by {{ secret.NAME }}")
    query = f"?{parts.query}" if parts.query else ""
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    return Target(parts.scheme == "https", _ascii_host(parts.hostname), port, quoted(f"{parts.path or '/'}{query}"))


def quoted(path: str) -> str:
    """Percent-encode what a path with its query cannot hold, and leave what is encoded already."""
    return quote(path, safe="/%:@!$&'()*+,;=~-._?")


def header_line(name: str, value: str) -> bytes:
    """Encode one header line with its CRLF (RFC 9110 §5). Raises ``ValueError`` rather than split a line."""
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"{name!r} is no header name: use letters, digits and hyphens")
    if not _FIELD_VALUE.fullmatch(value):
        raise ValueError("a header value has no line breaks or control characters, and only Latin-1 characters")
    return f"{name}: {value.strip()}\r\n".encode("latin-1")


def _ascii_host(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise ValueError(f"the host name {host!r} cannot be written in ASCII: {error}") from error
