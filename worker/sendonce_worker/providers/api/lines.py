"""The connections of a provider: one origin for most, one per recipient's host where addresses are URLs.

In: a :class:`Call`. Out: the client to use and the bytes to send.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from sendonce_worker.providers.api.base import Call
from sendonce_worker.providers.dial import client_tls_context
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.http1.client import Client
from sendonce_worker.providers.http1.proxy import proxy_for
from sendonce_worker.providers.http1.target import Target, header_line, parse_target

MOST_ORIGINS = 256
"""Hosts to which connections are kept; the one that was used longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Wire:
    """``timeout`` in seconds; ``ca``: PEM of the authorities to trust instead of the system's."""

    timeout: float = 30.0
    max_in_flight: int = 64
    ca: bytes | None = None


class Line:
    """One origin: where requests go and how they begin."""

    def __init__(self, url: str, headers: Mapping[str, str], wire: Wire) -> None:
        """Raises ``ValueError`` for a URL or header that cannot be."""
        target = parse_target(url)
        proxy = proxy_for(target)
        tls = client_tls_context(ca=wire.ca) if target.tls else None
        self.client = Client(target, tls, limit=wire.max_in_flight, timeout=wire.timeout, proxy=proxy)
        self._before = f"{target.scheme}://{target.authority}" if proxy is not None and not target.tls else ""
        self._base = "" if target.path == "/" else target.path.rstrip("/")
        self._fixed = header_line("Host", target.authority)
        self._fixed += b"".join(header_line(name, value) for name, value in headers.items())

    def request(self, call: Call, path: str) -> bytes:
        """Return the bytes of a POST. Raises ``ValueError`` for a header that cannot be."""
        own = b"".join([header_line(name, value) for name, value in call.headers])
        first = f"POST {self._before}{self._base}{path} HTTP/1.1\r\n".encode("ascii")
        return b"%b%b%bContent-Length: %d\r\n\r\n%b" % (first, self._fixed, own, len(call.body), call.body)

    def post(self, body: bytes) -> bytes:
        """Return the bytes of a POST to the line's own URL."""
        return self.request(Call("", body), "")


class Lines:
    """All lines of one provider."""

    def __init__(self, origin: str | None, headers: Mapping[str, str], wire: Wire) -> None:
        """``origin`` None: each call has its own. Raises ``ProviderConfigError``."""
        self._headers = {"User-Agent": "sendonce", "Accept": "*/*"} | dict(headers)
        self._wire = wire
        self._kept: OrderedDict[str, Line] = OrderedDict()
        self._one = None if origin is None else self._configured(origin)
        self._leaving: list[Line] = []

    def of(self, call: Call) -> tuple[Client, bytes]:
        """Return where to send the call, and its bytes."""
        if self._one is not None:
            return self._one.client, self._one.request(call, call.path)
        target = parse_target(call.path)
        line = self._line(target)
        return line.client, line.request(call, target.path)

    async def aclose(self) -> None:
        """Close idle connections."""
        lines = [*self._leaving, *self._kept.values(), *([self._one] if self._one else [])]
        for line in lines:
            await line.client.aclose()

    async def tidy(self) -> None:
        """Close what has been dropped for others."""
        while self._leaving:
            await self._leaving.pop().client.aclose()

    def _line(self, target: Target) -> Line:
        origin = f"{target.scheme}://{target.authority}"
        line = self._kept.get(origin)
        if line is None:
            line = self._kept[origin] = Line(origin, self._headers, self._wire)
            if len(self._kept) > MOST_ORIGINS:
                self._leaving.append(self._kept.popitem(last=False)[1])
        self._kept.move_to_end(origin)
        return line

    def _configured(self, origin: str) -> Line:
        try:
            return Line(origin, self._headers, self._wire)
        except ValueError as error:
            raise ProviderConfigError("baseURL", str(error)) from error


def origin_of(url: str) -> str:
    """Return scheme and authority of a URL, as the audience of a token (RFC 6454, section 6.2)."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
