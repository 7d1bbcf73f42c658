"""The SMTP provider: a message in, one transaction, a verdict out.

Two clocks: ``timeout`` seconds in all until the final dot has left, then ``patience`` seconds for its answer.
RFC 5321 §4.5.3.2.6 asks for ten minutes there, because a server that was slow and is not waited for sends a
duplicate.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from sendonce_worker.providers.base import Accepted, Clearance, Message
from sendonce_worker.providers.deadlines import Deadlines
from sendonce_worker.providers.dial import client_tls_context
from sendonce_worker.providers.errors import (
    HandOffRefusedError,
    Kind,
    ProviderConfigError,
    SendError,
    TemporarySendError,
    UnknownOutcomeError,
    one_line,
    send_error,
)
from sendonce_worker.providers.pool import Pool, PoolClosedError
from sendonce_worker.providers.secrets_text import Blotter, as_text
from sendonce_worker.providers.smtp.classification import Stage
from sendonce_worker.providers.smtp.connection import (
    IDLE_SECONDS,
    MAX_MAILS,
    QUICK_SECONDS,
    SmtpConnection,
    SmtpLostError,
)
from sendonce_worker.providers.smtp.mime import Mail, build_mail
from sendonce_worker.providers.smtp.replies import Reply
from sendonce_worker.providers.smtp.session import Login, Server, Tls, open_session
from sendonce_worker.providers.smtp.transaction import HandOff, transact

_LOG = logging.getLogger(__name__)
_ONE_WORD = re.compile(r"[!-~]{1,255}")
DOT_PATIENCE = 600.0
"""Seconds to wait for the answer to the final dot (RFC 5321 §4.5.3.2.6)."""
LINE_PATIENCE = 0.5
"""Seconds that a mail stands in line for a connection with others on it, before it asks for one of its own."""
LINE_PAUSE = 60.0
"""Seconds for which nobody stands in line after that went wrong."""


@dataclass(frozen=True, slots=True)
class SmtpSettings:
    """The ``smtp`` block, with the fields shared by all provider types."""

    host: str
    port: int = 587
    tls: Tls = "StartTLS"
    helo: str | None = None
    ca: bytes | None = None
    verify_tls: bool = True
    timeout: float = 30.0
    patience: float = DOT_PATIENCE
    max_in_flight: int = 64
    quick: float = QUICK_SECONDS
    line_patience: float = LINE_PATIENCE


class SmtpProvider:
    """One SMTP server. It remembers no keys, so it is never asked twice after an unknown outcome."""

    key_window: float | None = None

    def __init__(self, settings: SmtpSettings, secrets: Mapping[str, bytes]) -> None:
        """Raises ``ProviderConfigError``. Secret keys: ``username`` and ``password``, both or none."""
        texts = as_text(secrets)
        self._settings = settings
        self._blotter = Blotter(texts)
        self._server = _server(settings, texts)
        self._deadlines = Deadlines()
        self._shared: list[SmtpConnection] = []  # those in use, the last that got room on top
        self._no_line_before = 0.0
        self._pool: Pool[SmtpConnection] = Pool(self._open, settings.max_in_flight, IDLE_SECONDS)

    async def send(self, message: Message, clearance: Clearance) -> Accepted:
        """Try once; see ``Provider.send``. This is the boundary: nothing but its errors gets out."""
        left = False

        def note_departure() -> None:
            nonlocal left
            clearance()
            left = True

        try:
            mail = build_mail(message)
            reply = await self._hand_over(mail, note_departure)
        except HandOffRefusedError:
            raise
        except SendError as error:
            raise self._without_secrets(error) from error.__cause__
        except SmtpLostError as error:
            raise TemporarySendError(error.code, f"before the final dot: {error.message}") from error
        except Exception as error:
            _LOG.exception("a bug in the SMTP provider, or in the caller's clearance")
            outcome = UnknownOutcomeError if left else TemporarySendError
            raise outcome("internal_error", f"{type(error).__name__} inside the provider") from error
        return Accepted(mail.message_id, one_line(f"{reply.code} {reply.text}"))

    async def aclose(self) -> None:
        """Say QUIT on idle connections and close them."""
        await self._pool.aclose()

    async def _hand_over(self, mail: Mail, clearance: Clearance) -> Reply:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._settings.timeout
        may_join = True
        while True:
            now = loop.time()
            connection = self._joinable(now) if may_join else None
            joined = connection is not None
            if connection is None:
                connection = self._pool.take(now) or await self._connect(due)
            reused = connection.mails > 0
            one = HandOff(connection, mail, clearance, self._deadlines, due, self._settings.patience)
            try:
                return await self._use(one, min(due, now + self._settings.line_patience) if joined else due)
            except (SmtpLostError, SendError) as error:
                # A kept session that the server has closed meanwhile says nothing about this mail. Once the message
                # was begun, whatever comes is the answer to it: a provider tries once.
                if one.begun or not (self._disliked(one, error, due) if joined else reused and _is_stale(error)):
                    raise
                may_join = False

    async def _use(self, one: HandOff, first_due: float) -> Reply:
        connection = one.connection
        connection.users += 1
        if not connection.listed:
            connection.listed = True
            self._shared.append(connection)
        self._deadlines.start(one, first_due)
        try:
            return await transact(one)
        except asyncio.CancelledError:
            one.leave(SmtpLostError("connection_lost", "the hand-off was cancelled"))
            raise
        finally:
            self._deadlines.stop(one)
            self._end_use(connection)

    def _joinable(self, now: float) -> SmtpConnection | None:
        """A busy connection in whose line the next mail will be written at once with the one before it."""
        if now < self._no_line_before:
            return None
        while self._shared:
            if self._shared[-1].users and self._shared[-1].has_room(now, self._settings.quick):
                return self._shared[-1]
            self._shared.pop().listed = False
        return None

    def _disliked(self, one: HandOff, error: SmtpLostError | SendError, due: float) -> bool:
        """Say whether standing in line was the trouble, so that the mail deserves a connection of its own.

        Not all servers that offer PIPELINING bear it. Whatever is not about this recipient is put down to that, and
        nobody stands in line for a while.
        """
        now = asyncio.get_running_loop().time()
        out_of_step = one.refused_at in (Stage.MAIL, Stage.DATA)
        trouble = isinstance(error, SmtpLostError) or out_of_step or _is_stale(error)
        if trouble:
            self._no_line_before = now + LINE_PAUSE
        return trouble and now < due

    def _end_use(self, connection: SmtpConnection) -> None:
        connection.users -= 1
        if connection.users:
            if not connection.listed:
                connection.listed = True
                self._shared.append(connection)
            return
        if connection.mails >= MAX_MAILS:
            connection.quit()
        self._pool.give_back(connection, asyncio.get_running_loop().time())

    async def _connect(self, due: float) -> SmtpConnection:
        try:
            async with asyncio.timeout_at(due):
                return await self._pool.open()
        except TimeoutError as error:
            raise TemporarySendError("connect_timeout", f"{self._settings.host}: no session in time") from error
        except PoolClosedError as error:
            raise TemporarySendError("closed", "the provider is being closed") from error

    async def _open(self) -> SmtpConnection:
        return await open_session(self._server)

    def _without_secrets(self, error: SendError) -> SendError:
        return send_error(error.kind, error.code, self._blotter.blot(error.message), error.retry_after)


def _is_stale(error: SmtpLostError | SendError) -> bool:
    """Say whether the session, not the mail, was the trouble. A lost dialogue here is one before the final dot."""
    if isinstance(error, SmtpLostError):
        return error.code == "connection_lost"
    return error.kind is Kind.TEMPORARY and error.message.startswith("421")


def _server(settings: SmtpSettings, secrets: Mapping[str, str]) -> Server:
    login = _login(secrets)
    if login is not None and settings.tls == "None" and not _is_loopback(settings.host):
        raise ProviderConfigError("smtp.tls", "a password never crosses a network in the clear: use StartTLS or TLS")
    if settings.helo is not None and not _ONE_WORD.fullmatch(settings.helo):
        raise ProviderConfigError("smtp.heloName", "must be one word in ASCII: a host name or an address literal")
    return Server(settings.host, settings.port, settings.tls, _context(settings), settings.helo, login)


def _context(settings: SmtpSettings) -> ssl.SSLContext | None:
    if settings.tls == "None":
        return None
    try:
        return client_tls_context(verify=settings.verify_tls, ca=settings.ca)
    except ValueError as error:
        raise ProviderConfigError("smtp.caSecretRef", str(error)) from error


def _login(secrets: Mapping[str, str]) -> Login | None:
    return Login(_credential("username", secrets), _credential("password", secrets)) if secrets else None


def _credential(key: str, secrets: Mapping[str, str]) -> str:
    value = secrets.get(key)
    if not value:
        raise ProviderConfigError("credentialsSecretRef", f"the Secret has no {key!r}: it needs username and password")
    if any(char in value for char in "\r\n\0"):
        raise ProviderConfigError(
            "credentialsSecretRef", f"the Secret's key {key!r} holds a line break: store it without one"
        )
    return value


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
