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

import asyncio
from dataclasses import dataclass

from sendonce_worker.providers.base import Clearance
from sendonce_worker.providers.deadlines import Deadlines
from sendonce_worker.providers.errors import PermanentSendError, UnknownOutcomeError
from sendonce_worker.providers.smtp.classification import Stage
from sendonce_worker.providers.smtp.connection import SmtpConnection, SmtpLostError, Waiter
from sendonce_worker.providers.smtp.mime import Mail
from sendonce_worker.providers.smtp.refusals import refusal
from sendonce_worker.providers.smtp.replies import Reply

_GO_AHEAD = 354
_ONE_WRITE = 64 * 1024
"""Bytes; a mail up to this leaves in one write together with its dot."""
_STAGES = (Stage.MAIL, Stage.RCPT, Stage.DATA)


@dataclass(slots=True, eq=False)
class HandOff:
    """One try of one mail on one connection.

    ``due``, on the loop's clock, is when the final dot must have left; ``patience``, in seconds, is for its answer.
    ``begun``: the message left, or may have, at least in part. ``writing``: a large one is leaving.
    ``refused_at``: the part of the envelope that was. ``withdrawn``: what the clearance raised.
    """

    connection: SmtpConnection
    mail: Mail
    clearance: Clearance
    deadlines: Deadlines
    due: float
    patience: float
    waiter: Waiter | None = None
    begun: bool = False
    writing: bool = False
    refused_at: Stage | None = None
    withdrawn: BaseException | None = None

    def go_on(self, replies: list[Reply]) -> bytes | None:
        """The message in one piece, if it may follow; None if not, or if it is too large for that."""
        good = len(replies) == len(_STAGES) and all(map(_is_good, _STAGES, replies))
        if not good or len(self.mail.data) > _ONE_WRITE or (self.waiter is not None and self.waiter.done()):
            return None
        if not self.is_cleared():
            return None
        self.begin()
        return self.mail.data + b".\r\n"

    def is_cleared(self) -> bool:
        """Ask whether the message may leave; a no is kept, to be raised where the caller waits."""
        try:
            if self.withdrawn is None:
                self.clearance()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the caller's own
            self.withdrawn = error
        return self.withdrawn is None

    def begin(self) -> None:
        """From here on only the answer to the final dot counts."""
        self.begun = True
        self.deadlines.start(self, asyncio.get_running_loop().time() + self.patience)

    def expire(self) -> None:
        """The deadline passed."""
        self.leave(SmtpLostError("timeout", "no answer within the time-out"))

    def leave(self, error: SmtpLostError) -> None:
        """Wait no longer; the connection ends when those before it have had their answers."""
        if self.waiter is not None and not self._is_over(self.waiter):
            self.connection.leave(self.waiter, error)

    def _is_over(self, waiter: Waiter) -> bool:
        """Say whether it has got its answer or its error, and only has not looked yet: others use the connection."""
        if not waiter.done() or waiter.cancelled():
            return False
        return waiter.exception() is not None or (self.begun and not self.writing)

    def ask(self, data: bytes) -> Waiter:
        """Ask for one reply on the connection that this hand-off holds."""
        self.waiter = waiter = self.connection.ask(data, 1)
        return waiter


async def transact(one: HandOff) -> Reply:
    """Hand one mail over."""
    one.connection.mails += 1
    commands = _commands(one.connection, one.mail)
    one.clearance()
    replies = await _envelope(one, commands)
    if not one.begun:
        await _require_go_ahead(one, replies)
        replies = await _message(one)
    if replies[0].is_success:
        return replies[0]
    raise refusal(Stage.MESSAGE, replies[0])


async def _require_go_ahead(one: HandOff, replies: list[Reply]) -> None:
    """Look at the replies to the envelope. Raises what is in the way of the message."""
    for stage, reply in zip(_STAGES, replies, strict=False):
        if not _is_good(stage, reply):
            one.refused_at = stage
            await _end_refused(one, data_accepted=replies[-1].code == _GO_AHEAD)
            one.connection.pass_on()
            raise refusal(stage, reply)
    if len(replies) < len(_STAGES) or not one.connection.usable:
        raise SmtpLostError("connection_lost", "the server hung up before the message")
    if one.is_cleared():
        return
    # DATA was answered: only hanging up ends the transaction without a message.
    one.connection.drop()
    if one.withdrawn is not None:
        raise one.withdrawn


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


async def _envelope(one: HandOff, commands: tuple[bytes, bytes, bytes]) -> list[Reply]:
    """Send MAIL, RCPT and DATA. Return their replies, or the message's where it has followed at once."""
    if "PIPELINING" not in one.connection.extensions:
        return await _step_by_step(one, commands)
    one.waiter = one.connection.begin(b"".join(commands), len(commands), one.go_on)
    try:
        return await one.waiter
    except SmtpLostError as error:
        raise _told(one, error) from error


async def _step_by_step(one: HandOff, commands: tuple[bytes, bytes, bytes]) -> list[Reply]:
    replies: list[Reply] = []
    for stage, command in zip(_STAGES, commands, strict=True):
        replies += await one.ask(command)
        if not _is_good(stage, replies[-1]):
            break
    return replies


def _is_good(stage: Stage, reply: Reply) -> bool:
    return reply.code == _GO_AHEAD if stage is Stage.DATA else reply.is_success


async def _end_refused(one: HandOff, *, data_accepted: bool) -> None:
    """Bring the session back to its start; a session that does not get there is dropped."""
    if not one.connection.usable:
        return
    try:
        if data_accepted and (await one.ask(b".\r\n"))[0].is_success:
            one.connection.drop()
            return
        if not (await one.ask(b"RSET\r\n"))[0].is_success:
            one.connection.drop()
    except SmtpLostError:
        one.connection.drop()


async def _message(one: HandOff) -> list[Reply]:
    data = one.mail.data
    if len(data) > _ONE_WRITE:
        one.begun = one.writing = True
        one.deadlines.start(one, one.due)
        await one.connection.write_out(data)
        one.writing = False
        data = b""
    one.begin()
    one.waiter = one.connection.finish(data + b".\r\n")
    try:
        return await one.waiter
    except SmtpLostError as error:
        raise _told(one, error) from error


def _told(one: HandOff, error: SmtpLostError) -> SmtpLostError | UnknownOutcomeError:
    """What a broken dialogue means: once the final dot may have left, nobody knows."""
    return UnknownOutcomeError(error.code, f"after the final dot: {error.message}") if one.begun else error
