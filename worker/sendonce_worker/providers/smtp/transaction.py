"""One mail on one open session.

In: a ready connection, a mail, and the caller's clearance. Out: the reply that accepted it, or:

* ``SendError``: the server refused;
* what the clearance raised: it is asked before MAIL, and again before the message itself;
* ``SmtpLostError``: the dialogue broke before the final dot, so nothing was accepted;
* ``UnknownOutcomeError``: it broke after the dot had left.

With PIPELINING (RFC 2920) MAIL, RCPT and DATA travel together. Then DATA can be accepted although RCPT was
refused; such a transaction is ended by a lone dot, as §3.1 there asks: an empty message to nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from sendonce_worker.providers.base import Clearance
from sendonce_worker.providers.errors import PermanentSendError, SendError, UnknownOutcomeError
from sendonce_worker.providers.smtp.classification import Stage
from sendonce_worker.providers.smtp.connection import MAX_MAILS, SmtpConnection, SmtpLostError
from sendonce_worker.providers.smtp.mime import Mail
from sendonce_worker.providers.smtp.refusals import refusal
from sendonce_worker.providers.smtp.replies import Reply

_GO_AHEAD = 354
_ONE_WRITE = 64 * 1024
"""Bytes; a mail up to this leaves in one write together with its dot."""
_STAGES = (Stage.MAIL, Stage.RCPT, Stage.DATA)


async def transact(
    connection: SmtpConnection, mail: Mail, clearance: Clearance, dot_leaves: Callable[[SmtpConnection], None]
) -> Reply:
    """Hand one mail over; ``dot_leaves`` is called when only the answer to the final dot is waited for."""
    connection.mails += 1
    connection.message_begun = False
    commands = _commands(connection, mail)
    clearance()
    refused = await _envelope(connection, commands)
    if refused is not None:
        raise refused
    try:
        clearance()
    except BaseException:
        # DATA was answered: only hanging up ends the transaction without a message.
        connection.drop()
        raise
    connection.message_begun = True
    reply = await _message(connection, mail.data, dot_leaves)
    if connection.mails >= MAX_MAILS:
        connection.quit()
    if reply.is_success:
        return reply
    raise refusal(Stage.MESSAGE, reply)


def _commands(connection: SmtpConnection, mail: Mail) -> tuple[bytes, bytes, bytes]:
    offered = connection.extensions
    parameters = ""
    if "SIZE" in offered:
        _check_size(offered["SIZE"], len(mail.data))
        parameters = f" SIZE={len(mail.data)}"
    if mail.utf8:
        if "SMTPUTF8" not in offered:
            raise PermanentSendError("smtputf8_missing", "the address needs SMTPUTF8, which the server does not offer")
        parameters += " BODY=8BITMIME SMTPUTF8"
    return (
        f"MAIL FROM:<{mail.sender.text}>{parameters}\r\n".encode(),
        f"RCPT TO:<{mail.to.text}>\r\n".encode(),
        b"DATA\r\n",
    )


def _check_size(limit: str, size: int) -> None:
    if limit.isdecimal() and 0 < int(limit) < size:
        raise PermanentSendError("5.3.4", f"the mail has {size} bytes, the server takes {limit}")


async def _envelope(connection: SmtpConnection, commands: tuple[bytes, bytes, bytes]) -> SendError | None:
    """Send MAIL, RCPT and DATA. Return None when the message may follow, else the refusal."""
    if "PIPELINING" in connection.extensions:
        replies = await connection.ask(b"".join(commands), len(commands))
    else:
        replies = []
        for stage, command in zip(_STAGES, commands, strict=True):
            replies += await connection.ask(command, 1)
            if not _is_good(stage, replies[-1]):
                break
    for stage, reply in zip(_STAGES, replies, strict=False):
        if not _is_good(stage, reply):
            await _end_refused(connection, data_accepted=replies[-1].code == _GO_AHEAD)
            return refusal(stage, reply)
    if len(replies) < len(_STAGES):
        raise SmtpLostError("connection_lost", "the server hung up in the middle of the envelope")
    return None


def _is_good(stage: Stage, reply: Reply) -> bool:
    return reply.code == _GO_AHEAD if stage is Stage.DATA else reply.is_success


async def _end_refused(connection: SmtpConnection, *, data_accepted: bool) -> None:
    """Bring the session back to its start; a session that does not get there is dropped."""
    if not connection.usable:
        return
    try:
        if data_accepted and (await connection.ask(b".\r\n", 1))[0].is_success:
            connection.drop()
            return
        if not (await connection.ask(b"RSET\r\n", 1))[0].is_success:
            connection.drop()
    except SmtpLostError:
        connection.drop()


async def _message(connection: SmtpConnection, data: bytes, dot_leaves: Callable[[SmtpConnection], None]) -> Reply:
    if len(data) > _ONE_WRITE:
        await connection.write_out(data)
        data = b""
    dot_leaves(connection)
    try:
        return (await connection.ask(data + b".\r\n", 1))[0]
    except SmtpLostError as error:
        raise UnknownOutcomeError(error.code, f"after the final dot: {error.message}") from error
