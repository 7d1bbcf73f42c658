"""Opening a session: connect, greeting, EHLO, TLS, login.

In: where the server is and who we are. Out: a connection that is ready for mail. Whatever goes wrong here
happened before any message: it is raised as a ``SendError`` that says "not accepted".
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from dataclasses import dataclass
from typing import Literal

from sendonce_worker.providers.dial import DialError, Endpoint, open_transport, upgrade_to_tls
from sendonce_worker.providers.errors import AccountError, TemporarySendError
from sendonce_worker.providers.smtp.classification import Stage
from sendonce_worker.providers.smtp.connection import SmtpConnection, SmtpLostError
from sendonce_worker.providers.smtp.refusals import refusal
from sendonce_worker.providers.smtp.replies import Reply

Tls = Literal["None", "StartTLS", "TLS"]
_NOT_KNOWN = {500, 501, 502, 504}


@dataclass(frozen=True, slots=True)
class Login:
    """User name and password."""

    username: str
    password: str


@dataclass(frozen=True, slots=True)
class Server:
    """How to reach the server; ``context`` is there unless ``tls`` is None."""

    host: str
    port: int
    tls: Tls
    context: ssl.SSLContext | None
    helo: str | None
    login: Login | None


async def open_session(server: Server) -> SmtpConnection:
    """Open one. Raises ``SendError``; cancelling it hangs up."""
    connection = await _connect(server)
    try:
        await _greet(connection, server)
        if server.tls == "StartTLS":
            await _start_tls(connection, server)
        if server.login is not None:
            await _log_in(connection, server.login)
    except SmtpLostError as error:
        raise TemporarySendError(error.code, f"while opening the session: {error.message}") from error
    except BaseException:
        connection.quit()
        raise
    return connection


async def _connect(server: Server) -> SmtpConnection:
    endpoint = Endpoint(server.host, server.port, server.context if server.tls == "TLS" else None)
    try:
        return (await open_transport(SmtpConnection, endpoint))[1]
    except DialError as error:
        raise TemporarySendError(error.code, error.message) from error


async def _greet(connection: SmtpConnection, server: Server) -> None:
    _require((await connection.greeting)[0], Stage.GREETING)
    await _say_hello(connection, server)


async def _say_hello(connection: SmtpConnection, server: Server) -> None:
    name = (server.helo or _address_literal(connection)).encode("ascii")
    reply = (await connection.ask(b"EHLO " + name + b"\r\n", 1))[0]
    if reply.code in _NOT_KNOWN:
        reply = (await connection.ask(b"HELO " + name + b"\r\n", 1))[0]
    _require(reply, Stage.HELLO)
    connection.extensions = _extensions(reply)


def _extensions(reply: Reply) -> dict[str, str]:
    """Return the names, in upper case, and parameters that EHLO listed (RFC 5321 §4.1.1.1)."""
    found = {}
    for line in reply.lines[1:]:
        name, _, parameters = line.decode("ascii", "replace").strip().replace("AUTH=", "AUTH ").partition(" ")
        found[name.upper()] = parameters
    return found


def _address_literal(connection: SmtpConnection) -> str:
    """Name ourselves by our address (RFC 5321 §4.1.3): a pod has no name that the server could look up."""
    transport = connection.transport
    address = str(transport.get_extra_info("sockname")[0]) if transport else "127.0.0.1"
    return f"[IPv6:{address.partition('%')[0]}]" if ":" in address else f"[{address}]"


async def _start_tls(connection: SmtpConnection, server: Server) -> None:
    if "STARTTLS" not in connection.extensions:
        raise AccountError("starttls_missing", f"{server.host} does not offer STARTTLS: use tls TLS or another port")
    _require((await connection.ask(b"STARTTLS\r\n", 1))[0], Stage.STARTTLS)
    if not connection.usable or connection.transport is None or server.context is None:
        raise SmtpLostError("garbage_answer", "something was sent in the clear after STARTTLS")
    endpoint = Endpoint(server.host, server.port, server.context)
    try:
        transport = await upgrade_to_tls(connection.transport, connection, server.context, endpoint)
    except DialError as error:
        raise TemporarySendError(error.code, error.message) from error
    connection.connection_made(transport)
    await _say_hello(connection, server)


async def _log_in(connection: SmtpConnection, login: Login) -> None:
    """AUTH PLAIN, or LOGIN where only that is offered (RFC 4954, RFC 4616)."""
    offered = connection.extensions.get("AUTH", "").upper().split()
    if "PLAIN" in offered:
        secret = b64encode(f"\0{login.username}\0{login.password}".encode())
        reply = (await connection.ask(b"AUTH PLAIN " + secret + b"\r\n", 1))[0]
    elif "LOGIN" in offered:
        reply = await _auth_login(connection, login)
    else:
        raise AccountError("auth_missing", f"the server offers no AUTH PLAIN or LOGIN here (it offers: {offered})")
    _require(reply, Stage.AUTH)


async def _auth_login(connection: SmtpConnection, login: Login) -> Reply:
    reply = (await connection.ask(b"AUTH LOGIN\r\n", 1))[0]
    for word in (login.username, login.password):
        if reply.code != 334:  # noqa: PLR2004 - "go on" of RFC 4954
            return reply
        reply = (await connection.ask(b64encode(word.encode()) + b"\r\n", 1))[0]
    return reply


def _require(reply: Reply, stage: Stage) -> None:
    if not reply.is_success:
        raise refusal(stage, reply)
