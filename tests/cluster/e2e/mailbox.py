"""A mail server on this machine that keeps what it gets: what a person finds in a mail, a test can press.

In: the address at which Pods reach this machine. Out: a Mailbox, and mails in it.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, Envelope, Session
from tests.cluster.e2e.outside import in_a_thread, until_stopped

TAKEN = "250 2.0.0 Ok"


@dataclass
class Mailbox:
    """All mails that came, with whom each was for, in the order of their arrival."""

    port: int = 0
    mails: list[tuple[str, EmailMessage]] = field(default_factory=list)

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's
        assert isinstance(envelope.content, bytes)
        mail = email.message_from_bytes(envelope.content, policy=email.policy.SMTP)
        self.mails.extend((to, mail) for to in envelope.rcpt_tos)
        return TAKEN

    def got(self, subject: str) -> Counter[str]:
        """How often each person got the mail of a subject."""
        return Counter(to for to, mail in self.mails if mail["Subject"] == subject)

    def header(self, to: str, subject: str, name: str) -> str:
        """A header of the one mail of a subject that a person got."""
        (found,) = [str(mail[name]) for who, mail in self.mails if (who, mail["Subject"]) == (to, subject)]
        return found


@contextmanager
def mailbox(host: str) -> Iterator[Mailbox]:
    """Run a mail server until the end of the block."""
    box = Mailbox()

    def session() -> SMTP:
        return SMTP(box, hostname="far-end.example")

    async def serve(listening: Future[int], stop: asyncio.Event) -> None:
        server = await asyncio.get_running_loop().create_server(session, host, 0)
        await until_stopped(server, listening, stop)

    with in_a_thread(serve) as port:
        box.port = port
        yield box
