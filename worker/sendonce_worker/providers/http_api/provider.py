"""The HTTP provider: a message in, one request, a verdict out.

Built once from the ``http`` block of a provider and its Secret; everything that does not depend on the
message (request line, headers, the body template, the rules) is worked out then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sendonce_worker.providers.base import Accepted, Clearance, Message
from sendonce_worker.providers.dial import client_tls_context
from sendonce_worker.providers.errors import PermanentSendError, ProviderConfigError, SendError
from sendonce_worker.providers.http1.client import Client
from sendonce_worker.providers.http1.proxy import Proxy, proxy_for
from sendonce_worker.providers.http1.target import Target
from sendonce_worker.providers.http1.trying import try_once
from sendonce_worker.providers.http_api.answers import Answers, ErrorRule
from sendonce_worker.providers.http_api.body import CONTENT_TYPES, Body, BodyFormat, compile_body
from sendonce_worker.providers.http_api.head import Head, Path, check_header_name
from sendonce_worker.providers.http_api.leaves import names_of
from sendonce_worker.providers.secrets_text import Blotter, as_text

_KEY = re.compile(r"[A-Za-z0-9_-]{1,256}")


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """The ``http`` block, with the fields shared by all provider types; ``timeout`` in seconds, ``ca`` as PEM."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body_template: str | None = None
    body_format: BodyFormat = "JSON"
    message_id_path: str | None = None
    key_header: str | None = None
    key_window: float | None = None
    rules: tuple[ErrorRule, ...] = ()
    ca: bytes | None = None
    verify_tls: bool = True
    timeout: float = 30.0
    max_in_flight: int = 64


class HttpProvider:
    """One HTTP API; see ``Provider``."""

    def __init__(self, settings: HttpSettings, secrets: Mapping[str, bytes]) -> None:
        """Raises ``ProviderConfigError`` for whatever can be known to be wrong before the first message."""
        self._secrets = as_text(secrets)
        self._blotter = Blotter(self._secrets)
        self.key_window = settings.key_window if settings.key_header else None
        self._key_name = _key_name(settings)
        self._body: Body = compile_body(settings.body_format, settings.body_template, self._secrets)
        self._answers = _answers(settings)
        path = Path(settings.url, self._secrets)
        proxy = _proxy(path.target)
        absolute = proxy is not None and not path.target.tls
        self._head = Head(settings.method, path, _headers(settings), self._secrets, absolute=absolute)
        self._client = _client(path.target, settings, proxy)

    async def send(self, message: Message, clearance: Clearance) -> Accepted:
        """Try once; see ``Provider.send``. This is the boundary: nothing but its errors gets out."""

        async def attempt(departure: Clearance) -> Accepted | SendError:
            return self._answers.judge(await self._client.exchange(self._request(message), departure))

        return await try_once(attempt, clearance, self._blotter.blot)

    async def aclose(self) -> None:
        """Close idle connections."""
        await self._client.aclose()

    def _request(self, message: Message) -> bytes:
        head = self._head.constant or self._head.render(names_of(message, self._secrets))
        body = self._body(message)
        if self._key_name is None:
            return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
        if not _KEY.fullmatch(message.key):
            raise PermanentSendError("bad_key", "the idempotency key must be letters, digits and hyphens")
        key = message.key.encode("ascii")
        return b"%b%b: %b\r\nContent-Length: %d\r\n\r\n%b" % (head, self._key_name, key, len(body), body)


def _answers(settings: HttpSettings) -> Answers:
    try:
        return Answers(settings.rules, settings.message_id_path)
    except ValueError as error:
        raise ProviderConfigError("http.messageIdPath", str(error)) from error


def _proxy(target: Target) -> Proxy | None:
    try:
        return proxy_for(target)
    except ValueError as error:
        raise ProviderConfigError("http.url", str(error)) from error


def _client(target: Target, settings: HttpSettings, proxy: Proxy | None) -> Client:
    try:
        tls = client_tls_context(verify=settings.verify_tls, ca=settings.ca) if target.tls else None
    except ValueError as error:
        raise ProviderConfigError("http.tls.caSecretRef", str(error)) from error
    return Client(target, tls, limit=settings.max_in_flight, timeout=settings.timeout, proxy=proxy)


def _headers(settings: HttpSettings) -> dict[str, str]:
    """Add ours, unless they are set."""
    headers = dict(settings.headers)
    named = {name.lower() for name in headers}
    ours = {"User-Agent": "sendonce", "Accept": "*/*", "Content-Type": CONTENT_TYPES[settings.body_format]}
    return {name: value for name, value in ours.items() if name.lower() not in named} | headers


def _key_name(settings: HttpSettings) -> bytes | None:
    if settings.key_header is None:
        return None
    if settings.key_header.lower() in {name.lower() for name in settings.headers}:
        raise ProviderConfigError("http.idempotencyKeyHeader", "is also set in http.headers: take it out there")
    check_header_name("http.idempotencyKeyHeader", settings.key_header)
    return settings.key_header.encode("ascii")
