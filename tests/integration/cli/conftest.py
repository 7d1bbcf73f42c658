"""A campaign in a real store, sent by the store's own functions with fates that a test chooses; the `sendonce` program.

In: a fresh database (`dsn`). Out: `conn`; `sow`, which adopts a campaign and imports people; `sendonce`, which runs a
command in this process and gives its exit code and output.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from click.testing import CliRunner

from sendonce_cli.main import cli
from sendonce_rendering import compile_message
from sendonce_store import campaigns, imports, queue
from sendonce_store.addresses import NORMALISERS
from sendonce_store.conduct import conduct
from sendonce_store.connection import Connection, connect
from sendonce_store.queries import load
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.rows import Fallback, Holder, Repeats, Result, Row, Terms, Turn
from sendonce_store.spec import CampaignSpec, NotificationCampaign, NotificationProvider
from sendonce_store.variables import template_variables

REPEATS = Repeats(key_window=None, patience=32.0, resend=False, max_attempts=5)
TEMPLATES = {
    "Email": {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Dear {{ name }}, news!"},
    "SMS": {"text": "News for {{ name }}"},
}
SENT: Mapping[str, Any] = {"state": "sent", "message_id": "m-1"}
REFUSED: Mapping[str, Any] = {
    "state": "failed",
    "outcome": "permanent",
    "reason": "permanent",
    "code": "5.1.1",
    "error": "550 5.1.1 no such user",
    "used": 1,
}
LOST: Mapping[str, Any] = {
    "state": "uncertain",
    "outcome": "unknown",
    "reason": "unknown_outcome",
    "code": "timeout",
    "error": "no answer",
    "unknown": True,
    "used": 1,
}
LATER: Mapping[str, Any] = {
    "state": "pending",
    "outcome": "temporary",
    "code": "451",
    "error": "451 try again",
    "delay": 3600.0,
    "used": 1,
}


def campaign_document(name: str = "spring", channels: Sequence[str] = ("Email",), **spec: Any) -> NotificationCampaign:
    """A campaign over providers `email`, `sms`, …; `spec` fields are given as on the wire."""
    messages = [
        {"channel": c, "providerRef": {"name": c.lower()}, "template": TEMPLATES[c], **spec.pop(f"{c}_more", {})}
        for c in channels
    ]
    given = {
        "category": "Marketing",
        "recipients": {"inline": [{"email": "x@example.com", "phone": "+15005550006"}]},
        "messages": messages,
        **spec,
    }
    return NotificationCampaign.from_wire({"metadata": {"name": name}, "spec": given})


def provider_document(channel: str) -> NotificationProvider:
    spec = {"type": "HTTP", "http": {"url": "http://127.0.0.1:9/", "bodyTemplate": '{"to": "{{ to }}"}'}}
    return NotificationProvider.from_wire({"metadata": {"name": channel.lower()}, "spec": spec})


def make_person(line: int, name: str | None = None, ref: str | None = None, **addresses: str) -> Recipient:
    """`person(2, "Mia", Email="mia@example.com")`."""
    found = {channel: NORMALISERS[channel](text) for channel, text in addresses.items()}
    variables = {} if name is None else {"name": name}
    return Recipient(line, ref, found, None, None, variables)


@dataclass(slots=True)
class Sown:
    """A campaign in the store, with its people."""

    conn: Connection
    id: int
    spec: CampaignSpec
    worker: str

    @property
    def holder(self) -> Holder:
        return Holder(self.worker, "default", self.id)

    async def register_worker(self) -> None:
        """A worker process says that it is there."""
        parameters = {"worker": self.worker, "namespace": "default", "campaign": self.id}
        await self.conn.execute(load("campaigns")["register_worker"], parameters)

    async def send(self, fates: Mapping[str, Mapping[str, Any]] | None = None, *, most: int = 100) -> None:
        """Send what is due: address → how its attempt ends; others are sent. Then conduct."""
        terms = {name: await self._terms(name) for name in (message.channel.value for message in self.spec.messages)}
        repeats = {name: one.repeats for name, one in terms.items()}
        while most:
            most -= 1
            batch = await queue.claim(self.conn, self.holder, uuid.uuid4(), 60.0, repeats)
            if batch is None:
                break
            rows = await queue.due_rows(self.conn, batch)
            group = [(row.no, self._digest(batch.channel or "", row)) for row in rows]
            begun = await queue.take_turn(self.conn, batch, self.holder, Turn(group=group), terms[batch.channel or ""])
            addresses = {row.no: row.address for row in rows}
            results = [
                Result(one.no, one.attempt_seq, **(fates or {}).get(addresses[one.no], SENT))
                for one in begun.started
                if one.state == "sending"
            ]
            await queue.take_turn(self.conn, batch, self.holder, Turn(results=results), terms[batch.channel or ""])
            await queue.release(self.conn, batch)
        await conduct(self.conn, self.id, campaigns.policy_of(self.spec))

    async def _terms(self, channel: str) -> Terms:
        found = await campaigns.read_channels(self.conn, self.id)
        after = [Fallback(c.channel, c.provider_id, c.after_states) for c in found if c.after_channel == channel]
        return Terms(REPEATS, after)

    def _digest(self, channel: str, row: Row) -> bytes:
        message = next(one for one in self.spec.messages if one.channel.value == channel)
        return compile_message(message.template, channel).render(template_variables(row)).digest()


Sow = Callable[..., Awaitable[Sown]]


@pytest_asyncio.fixture
async def conn(dsn: str) -> AsyncIterator[Connection]:
    """Yield a connection to a fresh, migrated database."""
    connection = await connect(dsn)
    yield connection
    await connection.close()


@pytest.fixture
def sow(conn: Connection) -> Sow:
    """Return a function: campaign document, people and refused rows in, a campaign whose import is done out."""

    async def make(
        people: Sequence[Recipient], rejected: Sequence[Rejected] = (), document: NotificationCampaign | None = None
    ) -> Sown:
        document = document or campaign_document()
        for message in document.spec.messages:
            await campaigns.sync_provider(conn, provider_document(message.channel.value))
        adoption = await campaigns.adopt(conn, document, document.spec)
        sown = Sown(conn, adoption.campaign_id, document.spec, f"worker-{uuid.uuid4().hex[:8]}")
        batch = await queue.claim(conn, sown.holder, uuid.uuid4(), 60.0, {})
        assert batch is not None
        assert batch.kind == "import"
        plan = await imports.prepare(conn, sown.id)
        await imports.commit_chunk(conn, batch, sown.holder, plan.chunk(people, rejected, {}), 60.0)
        await imports.finish(conn, batch, sown.holder)
        return sown

    return make


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    @property
    def yaml(self) -> Any:
        return yaml.safe_load(self.out)


Sendonce = Callable[..., Awaitable[Ran]]


async def run_in_process(*arguments: str, stdin: str | bytes | None = None) -> Ran:
    """Run a command; it has an event loop of its own, in a thread of its own."""
    result = await asyncio.to_thread(CliRunner().invoke, cli, list(arguments), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def sendonce(dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sendonce:
    """Return the program, with the fresh database as its store."""
    monkeypatch.setenv("SENDONCE_DATABASE", dsn)
    monkeypatch.setenv("SENDONCE_DATA", str(tmp_path / "data"))
    return run_in_process


@pytest.fixture
def document() -> Callable[..., NotificationCampaign]:
    """Return the maker of campaign documents."""
    return campaign_document


@pytest.fixture
def person() -> Callable[..., Recipient]:
    """Return the maker of recipients: `person(2, "Mia", ref="c1", Email="mia@example.com")`."""
    return make_person


@dataclass(frozen=True, slots=True)
class Fates:
    """How an attempt may end."""

    sent: Mapping[str, Any]
    refused: Mapping[str, Any]
    lost: Mapping[str, Any]
    later: Mapping[str, Any]


@pytest.fixture
def fates() -> Fates:
    """Return the ends that an attempt may have."""
    return Fates(SENT, REFUSED, LOST, LATER)
