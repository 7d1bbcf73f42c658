"""The SMTP side: one session per connection, one recipient per message.

In: commands of RFC 5321 with PIPELINING, SIZE, 8BITMIME, SMTPUTF8, STARTTLS and AUTH. A hand-off is
what has been read up to its final dot; a sender that goes away earlier has handed nothing over.
Out: the replies that ``far_end`` decided, or a reset connection.
"""

import base64
import binascii
import contextlib
import hashlib
import re
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import replace
from hmac import compare_digest

from sendonce_cli.simulate.answers import GARBAGE, Verdict, smtp_answer
from sendonce_cli.simulate.behaviour import Outage
from sendonce_cli.simulate.far_end import FarEnd
from sendonce_cli.simulate.hand_off import HandOff, Plan
from sendonce_cli.simulate.outcomes import Reply
from sendonce_cli.simulate.settings import RefuseAt, SimulatorSettings, SmtpTls
from sendonce_cli.simulate.smtp_wire import TooLongError, Wire
from sendonce_cli.simulate.sockets import reset

_CLOSING = 421
_PATH = re.compile(r'(?:FROM|TO):\s*<((?:"(?:[^"\\]|\\.)*"|[^">])*)>\s*(.*)', re.IGNORECASE)
_MESSAGE_ID = re.compile(rb"^message-id:\s*<([^@>\r\n]+)@", re.IGNORECASE | re.MULTILINE)
_PARAMETERS = frozenset({"SIZE", "BODY", "SMTPUTF8", "AUTH"})
_ORDER = "5.5.1 Bad sequence of commands"


class SmtpSession:
    """One connection from greeting to end."""

    def __init__(self, wire: Wire, far_end: FarEnd, settings: SimulatorSettings, tls: ssl.SSLContext | None) -> None:
        self._wire = wire
        self._far_end = far_end
        self._settings = settings
        self._tls = tls if settings.smtp_tls is SmtpTls.STARTTLS else None
        self._authenticated = settings.smtp_user is None
        self._sender: str | None = None
        self._hand_off: HandOff | None = None
        self._plan: Plan | None = None
        self._waiting = False
        self._ending = False
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "EHLO": self._ehlo,
            "HELO": self._helo,
            "STARTTLS": self._starttls,
            "AUTH": self._auth,
            "MAIL": self._mail,
            "RCPT": self._rcpt,
            "DATA": self._data,
            "RSET": self._rset,
            "NOOP": self._noop,
            "VRFY": self._vrfy,
            "QUIT": self._quit,
        }

    async def run(self) -> None:
        """Serve the connection to its end; going away, on either side, is no error."""
        try:
            if self._far_end.behaviour.outage is Outage.ANSWER:
                self._close("4.3.2 Service not available")
            else:
                self._wire.reply(220, "far-end.example ESMTP simulated")
            while not self._ending:
                await self._command()
        except ConnectionError:
            pass
        finally:
            self._wire.end()

    def stop(self) -> None:
        """End the session now if it is between commands, else after the present one."""
        self._ending = True
        if self._waiting:
            self._wire.writer.write(b"421 4.3.2 Shutting down\r\n")
            self._wire.writer.close()

    def cut(self) -> None:
        """Reset the connection; a hand-off that has been read goes on."""
        self._ending = True
        reset(self._wire.writer.transport)

    async def _command(self) -> None:
        self._waiting = True
        try:
            line = (await self._wire.line()).decode("utf-8", "replace")
        except TooLongError:
            self._wire.reply(500, "5.5.2 Line too long")
            return
        finally:
            self._waiting = False
        verb, _, rest = line.partition(" ")
        await self._commands.get(verb.upper(), self._unknown)(rest.strip())

    async def _ehlo(self, _: str) -> None:
        self._forget()
        size = f"SIZE {self._settings.max_bytes}"
        offers = ["PIPELINING", size, "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES"]
        if self._tls is not None:
            offers.append("STARTTLS")
        elif self._settings.smtp_user is not None:
            offers.append("AUTH PLAIN LOGIN")
        self._wire.reply(250, "far-end.example", *offers)

    async def _helo(self, _: str) -> None:
        self._forget()
        self._wire.reply(250, "far-end.example")

    async def _starttls(self, _: str) -> None:
        if self._tls is None:
            self._wire.reply(502, "5.5.1 STARTTLS not offered")
        elif self._wire.pipelined:
            # Plain text behind STARTTLS would be read as if it had come inside TLS (RFC 3207).
            self._close("4.7.0 Commands behind STARTTLS")
        else:
            self._wire.reply(220, "2.0.0 Ready to start TLS")
            await self._wire.start_tls(self._tls)
            self._forget()
            self._tls = None

    async def _auth(self, rest: str) -> None:
        if self._settings.smtp_user is None or self._tls is not None:
            self._wire.reply(503, "5.5.1 AUTH not offered here")
            return
        mechanism, _, first = rest.partition(" ")
        if mechanism.upper() == "PLAIN":
            pair = _plain(first or await self._asked(""))
        elif mechanism.upper() == "LOGIN":
            user = first or await self._asked("VXNlcm5hbWU6")
            pair = (_decoded(user), _decoded(await self._asked("UGFzc3dvcmQ6")))
        else:
            self._wire.reply(504, "5.5.4 Mechanism not offered")
            return
        expected = (self._settings.smtp_user, self._settings.smtp_password)
        self._authenticated = all(map(_same, pair, expected))
        if self._authenticated:
            self._wire.reply(235, "2.7.0 Authentication successful")
        else:
            self._wire.reply(535, "5.7.8 Authentication credentials invalid")

    async def _asked(self, challenge: str) -> str:
        self._wire.reply(334, challenge)
        with contextlib.suppress(TooLongError):
            return (await self._wire.line()).decode("ascii", "replace")
        return ""

    async def _mail(self, rest: str) -> None:
        match = _PATH.fullmatch(rest)
        if self._sender is not None:
            self._wire.reply(503, _ORDER)
        elif not self._authenticated:
            self._wire.reply(530, "5.7.0 Authentication required")
        elif match is None or not rest.upper().startswith("FROM:"):
            self._wire.reply(501, "5.5.4 MAIL FROM:<address> is needed")
        else:
            self._take_sender(match[1], match[2].split())

    def _take_sender(self, sender: str, parameters: list[str]) -> None:
        named = {name.upper(): value for name, _, value in (p.partition("=") for p in parameters)}
        if unknown := named.keys() - _PARAMETERS:
            self._wire.reply(555, f"5.5.4 {min(unknown)} not recognized")
        elif not (size := named.get("SIZE", "0")).isdecimal():
            self._wire.reply(501, "5.5.4 SIZE needs a number")
        elif int(size) > self._settings.max_bytes:
            self._wire.reply(552, f"5.3.4 At most {self._settings.max_bytes} bytes")
        else:
            self._sender = sender
            self._wire.reply(250, "2.1.0 Ok")

    async def _rcpt(self, rest: str) -> None:
        match = _PATH.fullmatch(rest)
        if self._sender is None:
            self._wire.reply(503, _ORDER)
        elif match is None or not rest.upper().startswith("TO:") or not match[1]:
            self._wire.reply(501, "5.5.4 RCPT TO:<address> is needed")
        elif self._hand_off is not None:
            self._wire.reply(452, "4.5.3 One recipient per message here")
        else:
            await self._take_recipient(HandOff("smtp", "", match[1]))

    async def _take_recipient(self, hand_off: HandOff) -> None:
        if self._settings.refuse_at is RefuseAt.RCPT:
            plan = self._far_end.plan(hand_off)
            if plan.refuses:
                self._answer(await self._far_end.carry_out(plan, hand_off))
                return
            self._plan = plan
        self._hand_off = hand_off
        self._wire.reply(250, "2.1.5 Ok")

    async def _data(self, _: str) -> None:
        if self._sender is None:
            self._wire.reply(503, _ORDER)
        elif self._hand_off is None:
            self._wire.reply(554, "5.5.1 No valid recipients")
        else:
            await self._take_message(self._hand_off)

    async def _take_message(self, envelope: HandOff) -> None:
        self._wire.reply(354, "End data with <CR><LF>.<CR><LF>")
        try:
            content = await self._wire.message(self._settings.max_bytes)
        except TooLongError:
            self._wire.reply(552, f"5.3.4 At most {self._settings.max_bytes} bytes")
            self._forget()
            return
        digest = hashlib.sha256(content).hexdigest()
        hand_off = replace(envelope, key=message_key(content), payload_sha256=digest)
        plan = self._plan or self._far_end.plan(hand_off)
        self._forget()
        self._wire.send()
        self._answer(await self._far_end.carry_out(plan, hand_off))

    def _answer(self, verdict: Verdict) -> None:
        if verdict.reply is Reply.ANSWERED:
            code, text = smtp_answer(verdict)
            self._wire.reply(code, text)
            self._ending = self._ending or code == _CLOSING
        elif verdict.reply is Reply.GARBAGE:
            self._wire.raw(GARBAGE)
            self._ending = True
        else:
            self.cut()

    async def _rset(self, _: str) -> None:
        self._forget()
        self._wire.reply(250, "2.0.0 Ok")

    async def _noop(self, _: str) -> None:
        self._wire.reply(250, "2.0.0 Ok")

    async def _vrfy(self, _: str) -> None:
        self._wire.reply(252, "2.5.2 Send some mail, I'll try my best")

    async def _unknown(self, _: str) -> None:
        self._wire.reply(500, "5.5.2 Command not recognized")

    async def _quit(self, _: str) -> None:
        self._wire.reply(221, "2.0.0 Bye")
        self._ending = True

    def _close(self, text: str) -> None:
        self._wire.reply(_CLOSING, text)
        self._ending = True

    def _forget(self) -> None:
        self._sender = self._hand_off = self._plan = None


def message_key(content: bytes) -> str | None:
    """Return the part before the @ of the Message-ID header, or None without one."""
    header, _, _ = content.partition(b"\r\n\r\n")
    match = _MESSAGE_ID.search(header)
    return None if match is None else match[1].decode("utf-8", "replace")


def _plain(text: str) -> tuple[str, str]:
    parts = _decoded(text).split("\0")
    return (parts[1], parts[2]) if len(parts) == 3 else ("", "")  # noqa: PLR2004 - RFC 4616


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _same(given: str, expected: str) -> bool:
    return compare_digest(given.encode(), expected.encode())
